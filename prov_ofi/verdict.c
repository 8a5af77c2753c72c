/* SPDX-License-Identifier: BSD-2-Clause */
/* How is it found out whether a target refused an access? */
#include "base/log.h"
#include "cm.h"
#include "cq.h"
#include "verdict.h"

#define PATIENCE DOFI_MS(500)

bool dofi_verdict_allowed(struct dofi_ia *ia, const struct dofi_access *access)
{
	const struct dofi_region *r = dofi_region_find(&ia->lmrs, access->key);
	DAT_MEM_PRIV_FLAGS need = access->kind == DOFI_ACCESS_WRITE
				  ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG
				  : DAT_MEM_PRIV_REMOTE_READ_FLAG;

	return r && (r->priv & need) && dofi_region_covers(r, access->address, access->length);
}

/* Calls fn for each suspect, oldest first, req_evd's lock held. */
static size_t each_suspect(struct dofi_ep *ep, size_t most,
			   void (*fn)(void *arg, size_t i, struct dofi_dto *dto), void *arg)
{
	uint32_t tail = atomic_load(&ep->sq.tail);
	size_t n = 0;

	for (uint32_t i = atomic_load(&ep->sq.head); ep->sq.dto && i != tail && n < most; i++) {
		struct dofi_dto *dto = dofi_queue_at(&ep->sq, i);

		if (atomic_load(&dto->state) == DOFI_DTO_SUSPECT)
			fn(arg, n++, dto);
	}
	return n;
}

static void describe(void *arg, size_t i, struct dofi_dto *dto)
{
	struct dofi_access *a = (struct dofi_access *)arg + i;

	a->kind = dto->kind == DOFI_READ ? DOFI_ACCESS_READ : DOFI_ACCESS_WRITE;
	a->key = (uint32_t)dto->remote_key;
	a->address = dto->remote_addr;
	a->length = dto->length;
}

struct sentence {
	uint64_t refused;
	bool found;
};

/* The first access that the target refuses ended the connection; the others went with it. */
static void pronounce(void *arg, size_t i, struct dofi_dto *dto)
{
	struct sentence *s = arg;
	bool guilty = !s->found && i < 64 && (s->refused >> i & 1);

	dto->status = guilty ? DAT_DTO_ERR_REMOTE_ACCESS : DAT_DTO_ERR_FLUSHED;
	s->found |= guilty;
	atomic_store_explicit(&dto->state, DOFI_DTO_DONE, memory_order_release);
}

/* Clears all suspects; true if one was found guilty. */
static bool judge(struct dofi_ep *ep, uint64_t refused)
{
	struct sentence s = { refused, false };

	dofi_lock(&ep->req_evd->lock);
	each_suspect(ep, SIZE_MAX, pronounce, &s);
	dofi_unlock(&ep->req_evd->lock);
	return s.found;
}

static size_t list_accesses(struct dofi_ep *ep, struct dofi_access *access)
{
	size_t n;

	dofi_lock(&ep->req_evd->lock);
	n = each_suspect(ep, DOFI_LINK_ACCESSES, describe, access);
	dofi_unlock(&ep->req_evd->lock);
	return n;
}

static bool ask(struct dofi_ep *ep)
{
	struct dofi_access access[DOFI_LINK_ACCESSES];
	size_t n = list_accesses(ep, access);

	return n && dofi_link_ask(ep->obj.ia, ep->verdict.peer, ep->verdict.number, access, n);
}

/* Connected to itself: the adapter knows the answer. */
static bool judge_self(struct dofi_ep *ep)
{
	struct dofi_access access[DOFI_LINK_ACCESSES];
	size_t n = list_accesses(ep, access);
	uint64_t refused = 0;

	for (size_t i = 0; i < n; i++)
		if (!dofi_verdict_allowed(ep->obj.ia, &access[i]))
			refused |= (uint64_t)1 << i;
	return judge(ep, refused);
}

static bool has_suspects(struct dofi_ep *ep)
{
	struct dofi_access access[DOFI_LINK_ACCESSES];

	return list_accesses(ep, access);
}

bool dofi_verdict_seek(struct dofi_ep *ep, uint64_t peer, DAT_EVENT_NUMBER *number)
{
	struct dofi_ia *ia = ep->obj.ia;
	enum dofi_link_state link;

	if (!has_suspects(ep))
		return false;
	if (peer == ia->number) {
		if (judge_self(ep))
			*number = DAT_CONNECTION_EVENT_BROKEN;
		return false;
	}
	link = peer ? dofi_link_to(ia, peer) : DOFI_LINK_NONE;
	/* It is the side that connected which brings the link, soon after the connection. */
	if (link == DOFI_LINK_NONE && peer && !ep->active)
		link = DOFI_LINK_COMING;
	ep->verdict.peer = peer;
	ep->verdict.event = *number;
	ep->verdict.number = ++ia->questions;
	if (link == DOFI_LINK_NONE || (link == DOFI_LINK_UP && !ask(ep))) {
		judge(ep, 0);
		return false;
	}
	dofi_list_append(&ia->verdicts, &ep->verdict.link);
	ep->verdict.waiting = true;
	dofi_timer_arm(&ia->timers, &ep->timer, dofi_now() + PATIENCE);
	return true;
}

void dofi_verdict_drop(struct dofi_ep *ep)
{
	if (ep->verdict.waiting)
		dofi_list_remove(&ep->verdict.link);
	ep->verdict.waiting = false;
	judge(ep, 0);
}

static void settle(struct dofi_ep *ep, uint64_t refused)
{
	DAT_EVENT_NUMBER event = ep->verdict.event;

	dofi_list_remove(&ep->verdict.link);
	ep->verdict.waiting = false;
	dofi_timer_cancel(&ep->obj.ia->timers, &ep->timer);
	if (judge(ep, refused)) {
		dofi_log(DOFI_LOG_INFO, "the target refused a remote access");
		event = DAT_CONNECTION_EVENT_BROKEN;
	}
	dofi_cm_conclude(ep, event);
}

void dofi_verdict_timeout(struct dofi_ep *ep)
{
	settle(ep, 0);
}

void dofi_verdict_link_up(struct dofi_ia *ia, uint64_t peer)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &ia->verdicts) {
		struct dofi_ep *ep = dofi_container(pos, struct dofi_ep, verdict.link);

		if (ep->verdict.peer == peer && !ask(ep))
			settle(ep, 0);
	}
}

void dofi_verdict_lost(struct dofi_ia *ia, uint64_t peer)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &ia->verdicts) {
		struct dofi_ep *ep = dofi_container(pos, struct dofi_ep, verdict.link);

		if (ep->verdict.peer == peer)
			settle(ep, 0);
	}
}

void dofi_verdict_answer(struct dofi_ia *ia, uint64_t number, uint64_t refused)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->verdicts) {
		struct dofi_ep *ep = dofi_container(pos, struct dofi_ep, verdict.link);

		if (ep->verdict.number == number) {
			settle(ep, refused);
			return;
		}
	}
}
