/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of libfabric for one operation; for messages inline, since every post makes one. */
#ifndef DOFI_FI_POST_H
#define DOFI_FI_POST_H

#include "base/inline.h"
#include "data/cq_data.h"
#include "fabric/fab_ops.h"
#include "object/ep.h"

/* A message of one segment uses the short calls: on devices the others cost more and copy small
 * messages twice. `single` is a constant in some callers. */
static inline __attribute__((always_inline)) ssize_t dofi_fab_recv(const struct dofi_ep *ep,
								   struct fid_ep *fid,
								   struct dofi_dto *dto,
								   bool single)
{
	struct fi_msg msg;

	if (ep->has_msg_prefix)
		return ep->obj.ia->fab.desc->ops->recv_prefixed(fid, &ep->rq.prefixes,
								(size_t)(dto - ep->rq.dto), dto);
	if (single)
		return fi_recv(fid, dto->iov[0].iov_base, dto->iov[0].iov_len, dto->desc[0],
			       FI_ADDR_UNSPEC, &dto->ctx);
	msg = dofi_fab_msg(dto);
	return fi_recvmsg(fid, &msg, FI_COMPLETION);
}

static inline __attribute__((always_inline)) ssize_t dofi_fab_send(const struct dofi_ep *ep,
								   struct fid_ep *fid,
								   struct dofi_dto *dto,
								   bool single, uint64_t data)
{
	struct fi_msg msg;

	if (ep->has_msg_prefix)
		return ep->obj.ia->fab.desc->ops->send_prefixed(
			fid, &ep->sq.prefixes, (size_t)(dto - ep->sq.dto), dto, data);
	if (single && !data)
		return fi_send(fid, dto->iov[0].iov_base, dto->iov[0].iov_len, dto->desc[0],
			       FI_ADDR_UNSPEC, &dto->ctx);
	if (dofi_cq_data_is_announced(ep, data)) {
		ssize_t ret = ep->obj.ia->fab.desc->ops->announce(fid, dto);

		if (ret)
			return ret;
	}
	msg = dofi_fab_msg(dto);
	msg.data = data;
	return fi_sendmsg(fid, &msg, data ? FI_COMPLETION | FI_REMOTE_CQ_DATA : FI_COMPLETION);
}

/* Uses the calls that describe the operation in a structure. */
ssize_t dofi_fab_rdma_msg(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);

static inline __attribute__((always_inline)) ssize_t dofi_fab_rdma(const struct dofi_ep *ep,
								   struct fid_ep *fid,
								   struct dofi_dto *dto,
								   bool single,
								   enum dofi_dto_kind kind)
{
	void *base = dto->iov[0].iov_base;
	size_t len = dto->iov[0].iov_len;

	if (!single)
		return dofi_fab_rdma_msg(ep, fid, dto);
	if (kind == DOFI_READ)
		return fi_read(fid, base, len, dto->desc[0], FI_ADDR_UNSPEC, dto->remote_addr,
			       dto->remote_key, &dto->ctx);
	return fi_write(fid, base, len, dto->desc[0], FI_ADDR_UNSPEC, dto->remote_addr,
			dto->remote_key, &dto->ctx);
}

/* Operations of the InfiniBand extension. */
ssize_t dofi_fab_write_immed(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);
ssize_t dofi_fab_atomic(struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);

#endif
