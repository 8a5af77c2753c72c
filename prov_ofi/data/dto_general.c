/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts operations of all kinds, with all checks. */
#include <string.h>

#include "base/dat_error.h"
#include "data/cq.h"
#include "data/dto.h"
#include "data/dto_general.h"
#include "data/dto_post.h"
#include "object/mr.h"
#include "object/rmr.h"

#define REQUEST_FLAGS \
	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
	 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define SEND_FLAGS (REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)
#define RECV_FLAGS DAT_COMPLETION_UNSIGNALLED_FLAG

/* Requirements of a kind of operation on its arguments. */
struct rule {
	unsigned int flags;               /* completion flags allowed */
	DAT_RETURN bad_flags;             /* subtype naming the flags' argument */
	DAT_MEM_PRIV_FLAGS need;          /* any of these local rights */
	DAT_RETURN privilege, protection; /* subtypes */
};

static const struct rule rules[] = {
	[DOFI_SEND] = { SEND_FLAGS, DAT_INVALID_ARG5, DOFI_READABLE, DAT_PRIVILEGES_READ,
			DAT_PROTECTION_READ },
	[DOFI_WRITE] = { REQUEST_FLAGS, DAT_INVALID_ARG6, DOFI_READABLE, DAT_PRIVILEGES_READ,
			 DAT_PROTECTION_READ },
	[DOFI_READ] = { REQUEST_FLAGS, DAT_INVALID_ARG6, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			DAT_PRIVILEGES_WRITE, DAT_PROTECTION_WRITE },
	[DOFI_BIND] = { REQUEST_FLAGS, DAT_INVALID_ARG4, 0, 0, 0 },
	[DOFI_RECV] = { RECV_FLAGS, DAT_INVALID_ARG5, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			DAT_PRIVILEGES_WRITE, DAT_PROTECTION_WRITE },
	[DOFI_WRITE_IMMED] = { SEND_FLAGS, DAT_INVALID_ARG6, DOFI_READABLE, DAT_PRIVILEGES_READ,
			       DAT_PROTECTION_READ },
	[DOFI_FETCH_ADD] = { REQUEST_FLAGS, DAT_INVALID_ARG6, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			     DAT_PRIVILEGES_WRITE, DAT_PROTECTION_WRITE },
	[DOFI_CMP_SWAP] = { REQUEST_FLAGS, DAT_INVALID_ARG6, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			    DAT_PRIVILEGES_WRITE, DAT_PROTECTION_WRITE },
	[DOFI_SEND_UD] = { SEND_FLAGS, DAT_INVALID_ARG6, DOFI_READABLE, DAT_PRIVILEGES_READ,
			   DAT_PROTECTION_READ },
};

/* Removes segments at the end. */
static void dto_set_count(struct dofi_dto *dto, uint32_t count)
{
	if (dto->iov_count > DOFI_IOV_INLINE && count <= DOFI_IOV_INLINE) {
		memcpy(dto->iov, dto->long_iov, count * sizeof(*dto->iov));
		memcpy(dto->desc, dto->long_desc, count * sizeof(*dto->desc));
	}
	dto->iov_count = count;
}

/* `need`: one of these rights to the memory suffices. */
ALWAYS_INLINE DAT_RETURN dto_take_segments(struct dofi_ia *ia, const struct dofi_pz *pz,
					   struct dofi_dto *dto, enum dofi_dto_kind kind,
					   DAT_COUNT n, const DAT_LMR_TRIPLET *seg,
					   DAT_MEM_PRIV_FLAGS need)
{
	const struct rule *rule = &rules[kind];
	struct iovec *iov = n > DOFI_IOV_INLINE ? dto->long_iov : dto->iov;
	void **desc = n > DOFI_IOV_INLINE ? dto->long_desc : dto->desc;
	struct dofi_pz *first = NULL;
	uint32_t count = 0;
	uint64_t total = 0;

	for (DAT_COUNT i = 0; i < n; i++, seg++) {
		const struct dofi_region *r = dofi_region_at(&ia->lmrs, seg->lmr_context);
		struct dofi_pz *zone = DOFI_REGION_GET(r->pz);
		bool may = DOFI_REGION_GET(r->priv) & need;
		bool covers = dofi_region_covers(r, seg->virtual_address, seg->segment_length);
		uint64_t bias = DOFI_REGION_GET(r->bias);
		void *memory = DOFI_REGION_GET(r->desc);

		if (!may || !dofi_region_is_valid(r, seg->lmr_context))
			return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, rule->privilege);
		if (!covers)
			return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		if ((pz && zone != pz) || (first && zone != first))
			return DOFI_ERR(DAT_PROTECTION_VIOLATION, rule->protection);
		first = zone;
		if (!seg->segment_length)
			continue;
		iov[count].iov_base = (void *)(uintptr_t)(seg->virtual_address + bias);
		iov[count].iov_len = seg->segment_length;
		desc[count++] = memory;
		total += seg->segment_length;
	}
	dto->pz = first;
	dto->iov_count = (uint32_t)n;
	if (count != (uint32_t)n)
		dto_set_count(dto, count);
	dto->length = total;
	return DAT_SUCCESS;
}

ALWAYS_INLINE DAT_RETURN dto_reserve_slot(struct dofi_ia *ia, const struct dofi_pz *pz,
					  struct dofi_dto *dto, DAT_COUNT n,
					  const DAT_LMR_TRIPLET *seg)
{
	DAT_RETURN ret = dto_take_segments(ia, pz, dto, DOFI_RECV, n, seg, rules[DOFI_RECV].need);

	/* A message is not longer than an event can report; a buffer may be. */
	if (!ret && dto->length > DOFI_LEN_MAX)
		dto->length = DOFI_LEN_MAX;
	return ret;
}

DAT_RETURN dofi_dto_segments(struct dofi_ia *ia, const struct dofi_pz *pz, struct dofi_dto *dto,
			     DAT_COUNT n, const DAT_LMR_TRIPLET *seg)
{
	return dto_reserve_slot(ia, pz, dto, n, seg);
}

/* True if the queue has a free slot; unread completions may free some. Caller holds ep->lock. */
static __attribute__((noinline)) bool dto_alloc_slot(struct dofi_ep *ep, struct dofi_queue *q)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!q->limit)
		return false;
	dofi_evd_service(q == &ep->rq ? ep->recv_evd : ep->req_evd, NULL);
	return dofi_queue_count(q) < q->limit;
}

ALWAYS_INLINE bool dto_queue_has_slot(struct dofi_ep *ep, struct dofi_queue *q)
{
	return dofi_queue_count(q) < q->limit || dto_alloc_slot(ep, q);
}

ALWAYS_INLINE bool dto_flags_ok(const struct dofi_ep *ep, enum dofi_dto_kind kind,
				DAT_COMPLETION_FLAGS flags)
{
	DAT_COMPLETION_FLAGS allowed = kind == DOFI_RECV ? ep->attr.recv_completion_flags
							 : ep->attr.request_completion_flags;

	if ((unsigned int)flags & ~rules[kind].flags)
		return false;
	return !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG) ||
	       (allowed & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/* Arguments that do not depend on the queue. */
ALWAYS_INLINE DAT_RETURN dto_check_args(const struct dofi_ep *ep, const struct dofi_dto_order *o)
{
	if (o->n < 0 || o->n > dofi_ep_max_iov(ep, o->kind))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (o->n && !o->iov)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!dofi_cq_data_fits(ep, o->kind, o->inv_key))
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (!dto_flags_ok(ep, o->kind, o->flags))
		return DOFI_ERR(DAT_INVALID_PARAMETER,
				o->bad_flags ? o->bad_flags : rules[o->kind].bad_flags);
	return DAT_SUCCESS;
}

/* An RDMA operation transfers the remote length (read) or the local length (write). */
ALWAYS_INLINE DAT_RETURN dto_take_remote(struct dofi_dto *dto, enum dofi_dto_kind kind,
					 const DAT_RMR_TRIPLET *remote)
{
	uint64_t len = remote->segment_length, left;
	struct iovec *iov;

	dto->remote_addr = dofi_rmr_addr(remote);
	dto->remote_key = remote->rmr_context;
	dto->handed_over = 0;
	if (kind == DOFI_WRITE || kind == DOFI_WRITE_IMMED)
		return dto->length > len ? DOFI_ERR(DAT_LENGTH_ERROR, 0) : DAT_SUCCESS;
	if (dto->length < len)
		return DOFI_ERR(DAT_LENGTH_ERROR, 0);
	dto->length = left = len;
	iov = dofi_dto_iov(dto);
	for (uint32_t i = 0; i < dto->iov_count; i++) {
		if (iov[i].iov_len >= left) {
			iov[i].iov_len = left;
			dto_set_count(dto, left ? i + 1 : i);
			break;
		}
		left -= iov[i].iov_len;
	}
	return DAT_SUCCESS;
}

ALWAYS_INLINE DAT_RETURN dto_check_state(const struct dofi_ep *ep, enum dofi_dto_kind kind)
{
	if (kind == DOFI_SEND_UD)
		return ep->ud ? DAT_SUCCESS : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (kind == DOFI_RECV)
		return ep->srq ? DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE)
			       : DAT_SUCCESS;
	/* The peer's library cannot listen for atomic operations. */
	if (kind >= DOFI_FETCH_ADD && ep->amo.on && !ep->amo.port &&
	    ep->state == DAT_EP_STATE_CONNECTED)
		return DOFI_ERR(DAT_NOT_IMPLEMENTED, 0);
	if (ep->state == DAT_EP_STATE_CONNECTED || ep->state == DAT_EP_STATE_DISCONNECTED)
		return DAT_SUCCESS;
	return dofi_ret_ep_state(ep->state);
}

/* Operands are 8 bytes on both sides; the remote segment may be longer than the operand. */
ALWAYS_INLINE DAT_RETURN dto_take_operands(struct dofi_dto *dto, const struct dofi_dto_order *o)
{
	if (dto->length < sizeof(uint64_t) || o->remote->segment_length < sizeof(uint64_t))
		return DOFI_ERR(DAT_LENGTH_ERROR, 0);
	dto->iov[0].iov_len = dto->length = sizeof(uint64_t);
	/* Checked here: soft-RoCE would not respond. */
	if (dofi_rmr_addr(o->remote) % sizeof(uint64_t))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	dto->remote_addr = dofi_rmr_addr(o->remote);
	dto->remote_key = o->remote->rmr_context;
	dto->operand[0] = o->operand[0];
	dto->operand[1] = o->operand[1];
	return DAT_SUCCESS;
}

/* Limits the size of one request; a receive may be larger than any message. */
ALWAYS_INLINE DAT_RETURN dto_check_size(const struct dofi_ep *ep, const struct dofi_dto *dto)
{
	return dto->length > ep->max_size ? DOFI_ERR(DAT_LENGTH_ERROR, 0) : DAT_SUCCESS;
}

ALWAYS_INLINE DAT_RETURN dto_fill(struct dofi_ep *ep, struct dofi_dto *dto,
				  const struct dofi_dto_order *o)
{
	DAT_MEM_PRIV_FLAGS need = rules[o->kind].need;
	DAT_LMR_TRIPLET dest;
	DAT_RETURN ret;

	if (o->kind == DOFI_BIND) {
		dto->length = 0;
		dto->rmr = o->rmr;
		dto->window = o->window;
		return DAT_SUCCESS;
	}
	if (o->kind == DOFI_RECV) {
		dto->memory = o->n == 1 ? o->iov->lmr_context : 0;
		return dto_reserve_slot(ep->obj.ia, ep->pz, dto, o->n, o->iov);
	}
	/* The key must be a remote key: iWARP sends it to the peer, which writes with it. */
	if (o->into_rmr) {
		need = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
		dest = *o->iov;
		dest.lmr_context = ep->obj.ia->fab.desc->ops->find_mr(ep->obj.ia, dest.lmr_context);
	}
	ret = dto_take_segments(ep->obj.ia, ep->pz, dto, o->kind, o->n,
				o->into_rmr ? &dest : o->iov, need);
	/* The local triplet is the second argument there. */
	if (o->into_rmr && DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (o->kind == DOFI_SEND_UD) {
		dto->to = *o->to;
		dto->qpn = o->qpn;
		return ret ? ret : dto_check_size(ep, dto);
	}
	if (!ret && o->kind >= DOFI_FETCH_ADD)
		return dto_take_operands(dto, o);
	dto->announced = 0;
	if (!ret && o->kind != DOFI_SEND)
		ret = dto_take_remote(dto, o->kind, o->remote);
	return ret ? ret : dto_check_size(ep, dto);
}

/* Hands an operation that need not wait to the fabric at once. */
ALWAYS_INLINE void dto_submit(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_dto *dto,
			      enum dofi_dto_kind kind, DAT_COMPLETION_FLAGS flags, uint32_t pos)
{
	/* A connection that is being opened sets the depth without ep->lock. */
	if (kind == DOFI_BIND || q->sent != pos || !dofi_dto_may_submit(ep, q) ||
	    dofi_queue_holds(q, pos) >= q->depth ||
	    (kind != DOFI_RECV && dofi_dto_must_wait(ep, kind, flags))) {
		dofi_dto_submit_queue(ep, q);
		return;
	}
	dofi_dto_submit_any(ep, q, dto, kind);
}

ALWAYS_INLINE void dto_enqueue(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_dto *dto,
			       enum dofi_dto_kind kind, DAT_DTO_COOKIE cookie,
			       DAT_COMPLETION_FLAGS flags)
{
	bool dead = ep->state == DAT_EP_STATE_DISCONNECTED;
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	dofi_dto_append(ep, q, tail, dto, kind, cookie, flags, dto->length,
			dead ? DOFI_DTO_DONE : DOFI_DTO_QUEUED);
	/* Only this call completes operations posted to a disconnected EP. It keeps the lock:
	 * otherwise another thread could free the EP and detach its EVDs. */
	if (dead)
		dofi_dto_report_done(ep, q);
	else
		dto_submit(ep, q, dto, kind, flags, tail);
}

DAT_RETURN dofi_dto_post_general(struct dofi_ep *ep, const struct dofi_dto_order *o)
{
	struct dofi_queue *q = o->kind == DOFI_RECV ? &ep->rq : &ep->sq;
	struct dofi_dto *dto;
	DAT_RETURN ret = dto_check_state(ep, o->kind);

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!ret)
		ret = dto_check_args(ep, o);
	if (ret)
		return ret;
	if (!dto_queue_has_slot(ep, q))
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, 0);
	dto = dofi_queue_at(q, atomic_load_explicit(&q->tail, memory_order_relaxed));
	ret = dto_fill(ep, dto, o);
	if (ret)
		return ret;
	dto->inv_key = o->inv_key;
	dto_enqueue(ep, q, dto, o->kind, o->cookie, o->flags);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_dto_post_order(DAT_EP_HANDLE handle, const struct dofi_dto_order *o)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	DAT_RETURN ret;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	dofi_lock(&ep->lock);
	ret = dofi_dto_post_general(ep, o);
	dofi_unlock(&ep->lock);
	return ret;
}

DAT_RETURN dofi_dto_may_bind(struct dofi_ep *ep)
{
	DAT_RETURN ret;

	dofi_lock(&ep->lock);
	ret = dto_check_state(ep, DOFI_BIND);
	dofi_unlock(&ep->lock);
	return ret;
}
