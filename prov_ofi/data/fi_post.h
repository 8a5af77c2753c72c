/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of libfabric for one operation; for messages inline, since every post makes one. */
#ifndef DOFI_FI_POST_H
#define DOFI_FI_POST_H

#include "base/inline.h"
#include "data/cq_data.h"
#include "fabric/fab_ops.h"
#include "object/ep.h"

/* The only segment of an operation. Its members are in registers when the operation has just been
 * described: the compiler would load them again from there. */
struct dofi_segment {
	void *base;
	size_t len;
	void *desc;
};

/* Uses the call that describes the receive in a structure. */
ssize_t dofi_fab_recv_msg(struct fid_ep *fid, struct dofi_dto *dto);

/* An operation of one segment (`only`, else NULL) uses the short calls: on devices the others cost
 * more and copy small messages twice. */
ALWAYS_INLINE ssize_t dofi_fab_recv(const struct dofi_ep *ep, struct fid_ep *fid,
				    struct dofi_dto *dto, const struct dofi_segment *only)
{
	if (ep->has_msg_prefix)
		return ep->obj.ia->fab.desc->ops->recv_prefixed(fid, &ep->rq.prefixes,
								(size_t)(dto - ep->rq.dto), dto);
	if (only)
		return fi_recv(fid, only->base, only->len, only->desc, FI_ADDR_UNSPEC, &dto->ctx);
	return dofi_fab_recv_msg(fid, dto);
}

/* Uses the call that describes the message in a structure. */
ssize_t dofi_fab_send_msg(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto,
			  uint64_t data);

ALWAYS_INLINE ssize_t dofi_fab_send(const struct dofi_ep *ep, struct fid_ep *fid,
				    struct dofi_dto *dto, const struct dofi_segment *only,
				    uint64_t data)
{
	if (ep->has_msg_prefix)
		return ep->obj.ia->fab.desc->ops->send_prefixed(
			fid, &ep->sq.prefixes, (size_t)(dto - ep->sq.dto), dto, data);
	if (only && DOFI_LIKELY(!data))
		return fi_send(fid, only->base, only->len, only->desc, FI_ADDR_UNSPEC, &dto->ctx);
	return dofi_fab_send_msg(ep, fid, dto, data);
}

/* Uses the calls that describe the operation in a structure. */
ssize_t dofi_fab_rdma_msg(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);

ALWAYS_INLINE ssize_t dofi_fab_rdma(const struct dofi_ep *ep, struct fid_ep *fid,
				    struct dofi_dto *dto, const struct dofi_segment *only,
				    enum dofi_dto_kind kind)
{
	if (!only)
		return dofi_fab_rdma_msg(ep, fid, dto);
	if (kind == DOFI_READ)
		return fi_read(fid, only->base, only->len, only->desc, FI_ADDR_UNSPEC,
			       dto->remote_addr, dto->remote_key, &dto->ctx);
	return fi_write(fid, only->base, only->len, only->desc, FI_ADDR_UNSPEC, dto->remote_addr,
			dto->remote_key, &dto->ctx);
}

/* Operations of the InfiniBand extension. */
ssize_t dofi_fab_write_immed(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);
ssize_t dofi_fab_atomic(struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);

#endif
