/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts data transfer operations. */
#ifndef DOFI_DTO_H
#define DOFI_DTO_H

#include "object/ep.h"

/* Checks the segments of a receive into the given PZ (NULL: not known yet) and writes them into the
 * operation. */
DAT_RETURN dofi_dto_segments(struct dofi_ia *ia, const struct dofi_pz *pz, struct dofi_dto *dto,
			     DAT_COUNT n, const DAT_LMR_TRIPLET *seg);

/* Calls of 2.0 only; both versions compile them. */
DAT_RETURN dofi_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					     DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context);
DAT_RETURN dofi_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
					 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					 DAT_COMPLETION_FLAGS flags);
/* Operations of the InfiniBand extension, where the fabric supports them. */
DAT_RETURN dofi_ep_post_write_immed(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    uint32_t immed, DAT_COMPLETION_FLAGS flags);
/* Adds the operand or, with `swap`, replaces a value equal to the operand by *swap. */
DAT_RETURN dofi_ep_post_atomic(DAT_EP_HANDLE ep, uint64_t operand, const uint64_t *swap,
			       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			       const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);
/* Sends a datagram to the endpoint of that number. The EP is a datagram endpoint. */
DAT_RETURN dofi_ep_post_send_ud(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				const union dofi_addr *to, uint32_t qpn, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);
/* Checks that the EP's state allows binds, before a window is created. */
DAT_RETURN dofi_dto_may_bind(struct dofi_ep *ep);
/* Queues a bind (window NULL: unbind), whose key is registered already. */
DAT_RETURN dofi_dto_post_bind(struct dofi_ep *ep, struct dofi_rmr *rmr, struct dofi_window *window,
			      DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

#endif
