/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts operations. (hot)
 *
 * A post takes ep->lock, fills a slot of the queue's ring and, if no earlier operation waits, hands
 * it to libfabric at once (data/dto_submit.c). Ordinary operations are the first branch: each kind
 * has its own copy of that code (data/dto_post.h), specialised at compile time. All others, errors
 * above all, are posted in data/dto_general.c.
 */
#include <string.h>

#include "base/dat_error.h"
#include "data/dto.h"
#include "data/dto_general.h"
#include "data/dto_post.h"
#include "object/mr.h"
#include "object/rmr.h"

/* How to post, in one register: completion flags, the kind, and whether the caller has taken the
 * lock of the EP. */
#define HOW(flags, kind, locked) \
	((uint32_t)(flags) | (uint64_t)(kind) << 32 | (uint64_t)(locked) << 40)

/* Posts an operation that is not ordinary; releases the lock. The caller jumps here: the arguments
 * have the registers in which it got them. */
static __attribute__((noinline)) DAT_RETURN dto_post_other(DAT_EP_HANDLE handle, DAT_COUNT n,
							   const DAT_LMR_TRIPLET *iov,
							   DAT_DTO_COOKIE cookie, uint64_t how,
							   const DAT_RMR_TRIPLET *remote)
{
	const struct dofi_dto_order o = { .kind = how >> 32 & 0xff,
					  .n = n,
					  .iov = iov,
					  .cookie = cookie,
					  .flags = (DAT_COMPLETION_FLAGS)(uint32_t)how,
					  .remote = remote };
	struct dofi_ep *ep = handle;
	DAT_RETURN ret;

	if (!(how >> 40))
		return dofi_dto_post_order(handle, &o);
	ret = dofi_dto_post_general(ep, &o);
	dofi_unlock(&ep->lock);
	return ret;
}

/* Posts an operation of a kind that may be ordinary; `kind` is a constant in each caller. Only an
 * ordinary one whose locks are free is posted here: nothing on this branch must be saved from calls
 * except the EP. The compiler would compute a conjunction of adjacent comparisons, which takes
 * longer than their branches; those of arguments therefore alternate with atomic accesses. */
ALWAYS_INLINE DAT_RETURN dto_post(DAT_EP_HANDLE handle, enum dofi_dto_kind kind, DAT_COUNT n,
				  const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  DAT_COMPLETION_FLAGS flags, const DAT_RMR_TRIPLET *remote)
{
	struct dofi_ep *ep = handle;
	bool locked = n == 1 && dofi_obj_is_live(handle, DAT_HANDLE_TYPE_EP) && iov &&
		      dofi_trylock(&ep->lock);

	if (locked && dofi_dto_post_ordinary(ep, kind, iov, cookie, flags, remote)) {
		dofi_unlock(&ep->lock);
		return DAT_SUCCESS;
	}
	return dto_post_other(handle, n, iov, cookie, HOW(flags, kind, locked), remote);
}

DAT_RETURN dofi_dto_post_bind(struct dofi_ep *ep, struct dofi_rmr *rmr, struct dofi_window *window,
			      DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_dto_order o = { .kind = DOFI_BIND,
				    .flags = flags,
				    .bad_flags = window ? DAT_INVALID_ARG4 : DAT_INVALID_ARG2,
				    .rmr = rmr,
				    .window = window };

	memcpy(&o.cookie, &cookie, sizeof(o.cookie));
	return dofi_dto_post_order(ep, &o);
}

DAT_RETURN dofi_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return dto_post(ep, DOFI_SEND, n, iov, cookie, flags, NULL);
}

DAT_RETURN dofi_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					     DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
	if (invalidate && !context && dofi_ep_live(ep))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	return dofi_dto_post_order(ep,
				   &(struct dofi_dto_order){ .kind = DOFI_SEND,
							     .n = n,
							     .iov = iov,
							     .cookie = cookie,
							     .flags = flags,
							     .inv_key = invalidate ? context : 0 });
}

DAT_RETURN dofi_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return dto_post(handle, DOFI_RECV, n, iov, cookie, flags, NULL);
}

/* A bad handle is reported before a bad pointer. */
static DAT_RETURN dto_is_null(DAT_EP_HANDLE ep, DAT_RETURN arg)
{
	return dofi_ep_live(ep) ? DOFI_ERR(DAT_INVALID_PARAMETER, arg)
				: DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}

DAT_RETURN dofi_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	if (!remote)
		return dto_is_null(ep, DAT_INVALID_ARG5);
	return dto_post(ep, DOFI_READ, n, iov, cookie, flags, remote);
}

DAT_RETURN dofi_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
					 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					 DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET dest;

	if (!local)
		return dto_is_null(ep, DAT_INVALID_ARG2);
	if (!remote)
		return dto_is_null(ep, DAT_INVALID_ARG4);
	memset(&dest, 0, sizeof(dest));
	dest.lmr_context = local->rmr_context;
	dest.virtual_address = dofi_rmr_addr(local);
	dest.segment_length = local->segment_length;
	return dofi_dto_post_order(ep, &(struct dofi_dto_order){ .kind = DOFI_READ,
								 .n = 1,
								 .iov = &dest,
								 .cookie = cookie,
								 .flags = flags,
								 .remote = remote,
								 .into_rmr = true,
								 .bad_flags = DAT_INVALID_ARG5 });
}

DAT_RETURN dofi_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	if (!remote)
		return dto_is_null(ep, DAT_INVALID_ARG5);
	return dto_post(ep, DOFI_WRITE, n, iov, cookie, flags, remote);
}

DAT_RETURN dofi_ep_post_write_immed(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    uint32_t immed, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = dofi_ep_live(handle);

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!remote)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!ep->obj.ia->fab.immed)
		return DOFI_ERR(DAT_NOT_IMPLEMENTED, 0);
	return dofi_dto_post_order(handle, &(struct dofi_dto_order){ .kind = DOFI_WRITE_IMMED,
								     .n = n,
								     .iov = iov,
								     .cookie = cookie,
								     .flags = flags,
								     .remote = remote,
								     .inv_key = immed });
}

/* swap NULL: adds `operand`; else compares with it. */
DAT_RETURN dofi_ep_post_atomic(DAT_EP_HANDLE handle, uint64_t operand, const uint64_t *swap,
			       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			       const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = dofi_ep_live(handle);

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!ep->obj.ia->fab.atomics)
		return DOFI_ERR(DAT_NOT_IMPLEMENTED, 0);
	if (!iov)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!remote)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	return dofi_dto_post_order(
		handle, &(struct dofi_dto_order){ .kind = swap ? DOFI_CMP_SWAP : DOFI_FETCH_ADD,
						  .n = 1,
						  .iov = iov,
						  .cookie = cookie,
						  .flags = flags,
						  .remote = remote,
						  .operand = { operand, swap ? *swap : 0 } });
}

DAT_RETURN dofi_ep_post_send_ud(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				const union dofi_addr *to, uint32_t qpn, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags)
{
	return dofi_dto_post_order(handle, &(struct dofi_dto_order){ .kind = DOFI_SEND_UD,
								     .n = n,
								     .iov = iov,
								     .cookie = cookie,
								     .flags = flags,
								     .to = to,
								     .qpn = qpn });
}
