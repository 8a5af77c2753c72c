/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes software atomic operations of peers. */
#include "data/amo.h"
#include "fabric/fab_ops.h"
#include "msgep/peer_memory.h"
#include "object/rmr.h"

/* True if the peer of the EP may operate on the word. The region is held. */
static bool amo_may_access(const struct dofi_ep *ep, const struct dofi_region *r, uint64_t addr)
{
	if (!(r->priv & DOFI_PRIV_ATOMIC) || !dofi_region_covers(r, addr, sizeof(uint64_t)))
		return false;
	if (r->window && r->window->only && r->window->only != ep)
		return false;
	return !ep->obj.ia->fab.checks_pz || r->pz == ep->pz;
}

static uint64_t amo_operate(uint64_t *at, const struct dofi_amo_request *r)
{
	uint64_t expected = r->operand[0];

	if (r->op == DOFI_AMO_ADD)
		return __atomic_fetch_add(at, expected, __ATOMIC_SEQ_CST);
	/* On failure, `expected` becomes the current value. */
	__atomic_compare_exchange_n(at, &expected, r->operand[1], false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return expected;
}

static enum dofi_amo_result amo_execute(const struct dofi_ep *ep, const struct dofi_amo_request *r,
					uint64_t *value)
{
	struct dofi_ia *ia = ep->obj.ia;
	uint32_t context = ia->fab.desc->ops->find_mr(ia, r->key);
	enum dofi_amo_result result = DOFI_AMO_NO_ACCESS;
	const struct dofi_region *region = NULL;
	uintptr_t at = 0;

	*value = 0;
	if (dofi_region_hold(&ia->lmrs, context))
		region = dofi_region_find(&ia->lmrs, context);
	if (region && amo_may_access(ep, region, r->addr)) {
		at = (uintptr_t)(r->addr + region->bias);
		result = at % sizeof(uint64_t) ? DOFI_AMO_MISALIGNED : DOFI_AMO_DONE;
	}
	if (result == DOFI_AMO_DONE) {
		msgep_peer_memory_begin();
		*value = amo_operate((uint64_t *)at, r);
		msgep_peer_memory_end();
	}
	dofi_region_release(&ia->lmrs);
	return result;
}

void dofi_amo_serve(struct dofi_amo_sock *s)
{
	enum dofi_amo_result result = DOFI_AMO_NO_ACCESS;
	uint8_t buf[DOFI_AMO_ANSWER];
	struct dofi_amo_request r;
	uint64_t value = 0;
	int got = dofi_amo_sock_recv(s, DOFI_AMO_REQUEST);

	if (!got)
		return;
	if (got < 0 || !dofi_amo_get_request(s->buf, &r)) {
		dofi_amo_sock_close(s);
		return;
	}
	result = amo_execute(s->ep, &r, &value);
	/* A peer whose access was refused cannot try again: its side ends the connection. */
	if (result != DOFI_AMO_DONE)
		atomic_store(&s->ep->amo.refused, true);
	if (!dofi_amo_sock_send(s, buf, dofi_amo_put_answer(buf, result, value)) ||
	    result != DOFI_AMO_DONE)
		dofi_amo_sock_close(s);
}
