/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of libfabric for operations other than plain messages. */
#include "data/fi_post.h"

ssize_t dofi_fab_rdma_msg(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto)
{
	struct fi_rma_iov target = { dto->remote_addr, dto->length, dto->remote_key };
	struct fi_msg_rma msg = { .msg_iov = dofi_dto_iov(dto),
				  .desc = dto->iov_count ? dofi_dto_desc(dto) : NULL,
				  .iov_count = dto->iov_count,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = &dto->ctx };

	if (dto->kind == DOFI_READ)
		return dto->iov_count > ep->obj.ia->fab.max_read_iov
			       ? ep->obj.ia->fab.desc->ops->split_read(fid, dto, &msg)
			       : fi_readmsg(fid, &msg, FI_COMPLETION);
	return fi_writemsg(fid, &msg, FI_COMPLETION);
}

ssize_t dofi_fab_write_immed(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto)
{
	struct fi_rma_iov target = { dto->remote_addr, dto->length, dto->remote_key };
	struct fi_msg_rma msg = { .msg_iov = dofi_dto_iov(dto),
				  .desc = dto->iov_count ? dofi_dto_desc(dto) : NULL,
				  .iov_count = dto->iov_count,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = &dto->ctx,
				  .data = dofi_cq_data_immed(ep, dto) };

	return fi_writemsg(fid, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA);
}

ssize_t dofi_fab_atomic(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto)
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

	if (ops->adapt_atomic)
		ops->adapt_atomic(&ep->obj.ia->fab, dto, &msg, &compare);
	if (swap)
		return fi_compare_atomicmsg(fid, &msg, &compare, dto->desc, 1, &result, dto->desc,
					    1, FI_COMPLETION);
	return fi_fetch_atomicmsg(fid, &msg, &result, dto->desc, 1, FI_COMPLETION);
}
