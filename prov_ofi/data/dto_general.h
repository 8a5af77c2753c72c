/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts an operation of any kind, with all checks: what is not ordinary (data/dto_post.h). */
#ifndef DOFI_DTO_GENERAL_H
#define DOFI_DTO_GENERAL_H

#include "object/ep.h"

/* Arguments of a post. */
struct dofi_dto_order {
	enum dofi_dto_kind kind;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
	const DAT_RMR_TRIPLET *remote;
	uint32_t inv_key;     /* send with invalidation; immediate data */
	bool into_rmr;        /* read: the segment is named by the key of an RMR */
	DAT_RETURN bad_flags; /* subtype naming the flags' argument; 0: that of the rule */
	struct dofi_rmr *rmr; /* bind */
	struct dofi_window *window;
	uint64_t operand[2];       /* atomic operations */
	const union dofi_addr *to; /* datagram */
	uint32_t qpn;
};

/* Posts an operation. Caller holds ep->lock. */
DAT_RETURN dofi_dto_post_general(struct dofi_ep *ep, const struct dofi_dto_order *o);
/* The same with a handle, which is checked; takes the lock. */
DAT_RETURN dofi_dto_post_order(DAT_EP_HANDLE handle, const struct dofi_dto_order *o);

#endif
