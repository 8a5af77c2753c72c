/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes a peer's atomic operations and takes its immediate data.
 *
 * Like everything else, an atomic operation is carried out by the side that owns the memory, with
 * an instruction that is atomic for all its threads: so operations of several connections, and
 * those of the program itself, do not get in between.
 */
#include <string.h>

#include "msgep/peer_memory.h"
#include "msgep/proto.h"

static bool in_disorder(const struct rdm_ep *ep, const struct rdm_frame *f, uint32_t len)
{
	return ep->in_message || ep->in_write || f->len != len ||
	       (f->flags & (RDM_FIRST | RDM_LAST)) != (RDM_FIRST | RDM_LAST);
}

bool rdm_take_note(struct rdm_ep *ep, const struct rdm_frame *f)
{
	if (in_disorder(ep, f, 0) || !ep->wrote || f->total != ep->expected) {
		rdm_ep_fail(ep, "a note in disorder");
		return true;
	}
	if (!rdm_take_receive(ep))
		return false;
	ep->wrote = false;
	ep->messages++;
	ep->done++;
	rdm_ep_done(ep, ep->rx_cq, ep->cur.context, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
		    f->total, f->value, 0);
	return true;
}

static uint64_t operate(uint64_t *at, const struct rdm_frame *f, const void *payload)
{
	uint64_t operand[2];

	memcpy(operand, payload, f->len);
	if (f->kind == RDM_ADD)
		return __atomic_fetch_add(at, operand[0], __ATOMIC_SEQ_CST);
	/* Fails: the operand to be compared becomes what is there. */
	__atomic_compare_exchange_n(at, &operand[0], operand[1], false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return operand[0];
}

/* False: too much is being answered. */
bool rdm_take_atomic(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload)
{
	struct rdm_serve *s = rdm_serve_next(ep);
	void *at;

	if (!s)
		return false;
	if (in_disorder(ep, f, f->kind == RDM_ADD ? 8 : 16) || f->total != sizeof(uint64_t)) {
		rdm_ep_fail(ep, "an atomic operation in disorder");
		return true;
	}
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	ep->granted &= ~rdm_serve_bit(ep->serve_tail);
	*s = (struct rdm_serve){ .total = sizeof(uint64_t) };
	at = rdm_mr_access(ep, f->key, f->value, sizeof(uint64_t), FI_ATOMIC, &s->refused);
	if (at && (uintptr_t)at % sizeof(uint64_t))
		s->refused = FI_EINVAL;
	if (!s->refused) {
		rdm_foreign_begin();
		s->value = operate(at, f, payload);
		rdm_foreign_end();
		s->known = true;
	}
	pthread_rwlock_unlock(&ep->domain->mr_lock);
	/* What comes behind a refused request must not take effect. */
	if (s->refused)
		ep->refused = true;
	ep->serve_tail++;
	return true;
}
