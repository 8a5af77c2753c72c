/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of libfabric for operations other than plain messages. */
#include "data/amo.h"
#include "data/fi_post.h"

ssize_t dofi_fab_recv_msg(struct fid_ep *fid, struct dofi_dto *dto)
{
	struct fi_msg msg = dofi_fab_msg(dto);

	return fi_recvmsg(fid, &msg, FI_COMPLETION);
}

ssize_t dofi_fab_send_msg(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto,
			  uint64_t data)
{
	struct fi_msg msg = dofi_fab_msg(dto);

	if (dofi_cq_data_is_announced(ep, data)) {
		ssize_t ret = ep->obj.ia->fab.desc->ops->announce(fid, dto);

		if (ret)
			return ret;
	}
	msg.data = data;
	return fi_sendmsg(fid, &msg, data ? FI_COMPLETION | FI_REMOTE_CQ_DATA : FI_COMPLETION);
}

ssize_t dofi_fab_rdma_msg(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto)
{
	const struct dofi_fab *fab = &ep->obj.ia->fab;
	size_t most = dto->kind == DOFI_READ ? fab->max_read_iov : fab->max_write_iov;
	struct fi_rma_iov target = { dto->remote_addr, dto->length, dto->remote_key };
	struct fi_msg_rma msg = { .msg_iov = dofi_dto_iov(dto),
				  .desc = dto->iov_count ? dofi_dto_desc(dto) : NULL,
				  .iov_count = dto->iov_count,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = &dto->ctx };

	if (dto->iov_count > most)
		return fab->desc->ops->split_rdma(fid, dto, &msg, most, FI_COMPLETION);
	return dto->kind == DOFI_READ ? fi_readmsg(fid, &msg, FI_COMPLETION)
				      : fi_writemsg(fid, &msg, FI_COMPLETION);
}

ssize_t dofi_fab_write_immed(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto)
{
	const struct dofi_fab *fab = &ep->obj.ia->fab;
	uint64_t flags = FI_COMPLETION | FI_REMOTE_CQ_DATA;
	struct fi_rma_iov target = { dto->remote_addr, dto->length, dto->remote_key };
	struct fi_msg_rma msg = { .msg_iov = dofi_dto_iov(dto),
				  .desc = dto->iov_count ? dofi_dto_desc(dto) : NULL,
				  .iov_count = dto->iov_count,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = &dto->ctx,
				  .data = dofi_cq_data_immed(ep, dto) };

	if (ep->has_msg_prefix)
		return fab->desc->ops->write_and_send(
			fid, &ep->sq.prefixes, (size_t)(dto - ep->sq.dto), dto, &msg, msg.data);
	if (dofi_cq_data_is_announced(ep, msg.data)) {
		ssize_t ret = fab->desc->ops->announce(fid, dto);

		if (ret)
			return ret;
	}
	return dto->iov_count > fab->max_write_iov
		       ? fab->desc->ops->split_rdma(fid, dto, &msg, fab->max_write_iov, flags)
		       : fi_writemsg(fid, &msg, flags);
}

ssize_t dofi_fab_atomic(struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto)
{
	const struct dofi_fabric_ops *ops = ep->obj.ia->fab.desc->ops;
	bool swap = dto->kind == DOFI_CMP_SWAP;
	struct fi_ioc operand = { .addr = &dto->operand[swap], .count = 1 };
	struct fi_ioc compare = { .addr = &dto->operand[0], .count = 1 };
	struct fi_ioc result = { .addr = dto->iov[0].iov_base, .count = 1 };
	struct fi_rma_ioc target = { .addr = dto->remote_addr, .count = 1, .key = dto->remote_key };
	struct fi_msg_atomic msg = { .msg_iov = &operand,
				     .desc = dto->desc,
				     .iov_count = 1,
				     .rma_iov = &target,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = swap ? FI_CSWAP : FI_SUM,
				     .context = &dto->ctx };

	if (ep->amo.on)
		return dofi_amo_post(ep, fid, dto);
	if (ops->adapt_atomic)
		ops->adapt_atomic(&ep->obj.ia->fab, dto, &msg, &compare);
	if (swap)
		return fi_compare_atomicmsg(fid, &msg, &compare, dto->desc, 1, &result, dto->desc,
					    1, FI_COMPLETION);
	return fi_fetch_atomicmsg(fid, &msg, &result, dto->desc, 1, FI_COMPLETION);
}
