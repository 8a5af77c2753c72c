/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes a peer's atomic operations and receives its immediate data.
 *
 * The side that owns the memory executes an atomic operation with an atomic instruction, so it is
 * atomic with respect to other connections and to the program itself.
 */
#include <string.h>

#include "msgep/peer_memory.h"
#include "msgep/object/proto.h"

static bool proto_out_of_order(const struct msgep_ep *ep, const struct msgep_frame *f, uint32_t len)
{
	return ep->in_message || ep->in_write || f->len != len ||
	       (f->flags & (MSGEP_FIRST | MSGEP_LAST)) != (MSGEP_FIRST | MSGEP_LAST);
}

bool msgep_recv_imm_frame(struct msgep_ep *ep, const struct msgep_frame *f)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	if (proto_out_of_order(ep, f, 0) || !ep->after_write || f->total != ep->expected) {
		msgep_ep_fail(ep, "an immediate frame out of order");
		return true;
	}
	if (!msgep_claim_receive(ep))
		return false;
	ep->after_write = false;
	ep->messages++;
	ep->done++;
	msgep_ep_done(ep, ep->rx_cq, ep->cur.context, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
		      f->total, f->value, 0);
	return true;
}

static uint64_t proto_operate(uint64_t *at, const struct msgep_frame *f, const void *payload)
{
	uint64_t operand[2];

	memcpy(operand, payload, f->len);
	if (f->kind == MSGEP_ADD)
		return __atomic_fetch_add(at, operand[0], __ATOMIC_SEQ_CST);
	/* On failure, the compare operand becomes the current value. */
	__atomic_compare_exchange_n(at, &operand[0], operand[1], false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return operand[0];
}

/* False: too many are being answered. */
bool msgep_recv_atomic(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload)
{
	struct msgep_target_read *s = msgep_target_read_next(ep);
	void *at;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!s)
		return false;
	if (proto_out_of_order(ep, f, f->kind == MSGEP_ADD ? 8 : 16) ||
	    f->total != sizeof(uint64_t)) {
		msgep_ep_fail(ep, "an invalid atomic operation");
		return true;
	}
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	ep->granted &= ~msgep_target_read_bit(ep->target_read_tail);
	*s = (struct msgep_target_read){ .total = sizeof(uint64_t) };
	at = msgep_mr_access(ep, f->key, f->value, sizeof(uint64_t), FI_ATOMIC, &s->refused);
	if (at && (uintptr_t)at % sizeof(uint64_t))
		s->refused = FI_EINVAL;
	if (!s->refused) {
		msgep_peer_memory_begin();
		s->value = proto_operate(at, f, payload);
		msgep_peer_memory_end();
		s->has_value = true;
	}
	pthread_rwlock_unlock(&ep->domain->mr_lock);
	/* Requests after a refused one must not take effect. */
	if (s->refused)
		ep->refused = true;
	ep->target_read_tail++;
	return true;
}
