/* SPDX-License-Identifier: BSD-2-Clause */
/* Half-open handshakes over libfabric's own connections: their limits and their expiry. */
#include <stdlib.h>

#include "base/param.h"
#include "cm/cm.h"
#include "cm/diag_cm.h"
#include "cm/half_open.h"
#include "object/progress_wakeup.h"

struct dofi_half_opens {
	struct dofi_ia *ia;
	struct dofi_timer timer;
	struct dofi_list entries[DOFI_HALF_OPEN_KINDS]; /* the oldest first */
	unsigned int n[DOFI_HALF_OPEN_KINDS];
};

static struct dofi_half_open *half_open_of(struct dofi_list *link)
{
	return dofi_container(link, struct dofi_half_open, link);
}

/* Clients that sent no REQUEST, as with a wrong secret, are logged: one message for all. */
static void half_open_expire(struct dofi_timer *timer)
{
	struct dofi_half_opens *all = dofi_container(timer, struct dofi_half_opens, timer);
	uint64_t now = dofi_now(), next = DOFI_NEVER;

	for (int kind = 0; kind < DOFI_HALF_OPEN_KINDS; kind++) {
		struct dofi_half_open last, *e;
		struct dofi_list *pos, *tmp;
		unsigned int gone = 0;

		dofi_list_each_safe(pos, tmp, &all->entries[kind])
		{
			e = half_open_of(pos);
			if (e->until > now) {
				next = e->until < next ? e->until : next;
				break;
			}
			last = *e;
			gone++;
			dofi_half_open_drop(all->ia, e);
		}
		if (gone && kind == DOFI_HALF_OPEN_HELLO)
			dofi_diag_no_proof(&last.from, last.from_port, gone);
	}
	if (next != DOFI_NEVER)
		dofi_timer_arm(&all->ia->timers, timer, next);
}

static struct dofi_half_opens *half_open_all(struct dofi_ia *ia)
{
	struct dofi_half_opens *all = ia->half_opens;

	if (all)
		return all;
	all = calloc(1, sizeof(*all));
	if (!all || dofi_timer_add(&ia->timers, &all->timer, half_open_expire)) {
		free(all);
		return NULL;
	}
	all->ia = ia;
	for (int kind = 0; kind < DOFI_HALF_OPEN_KINDS; kind++)
		dofi_list_init(&all->entries[kind]);
	ia->half_opens = all;
	return all;
}

void *dofi_half_open_add(struct dofi_listener *l, enum dofi_half_open_kind kind, size_t size,
			 const union dofi_addr *from, uint16_t from_port)
{
	struct dofi_half_opens *all = half_open_all(l->ia);
	struct dofi_half_open *e = all ? calloc(1, size) : NULL;

	DOFI_ASSERT_LOCKED(&l->ia->cm_lock);
	if (!e)
		return NULL;
	e->kind = kind;
	e->port = l->port;
	e->from = *from;
	e->from_port = from_port;
	e->until = DOFI_NEVER;
	if (kind != DOFI_HALF_OPEN_ACCEPTANCE) {
		if (all->n[kind] == DOFI_HALF_OPEN_MAX)
			dofi_half_open_drop(l->ia, half_open_of(all->entries[kind].next));
		e->until = dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS));
	}
	if (e->until < all->timer.when) {
		dofi_timer_arm(&l->ia->timers, &all->timer, e->until);
		dofi_progress_wakeup(l->ia);
	}
	all->n[kind]++;
	dofi_list_append(&all->entries[kind], &e->link);
	return e;
}

void *dofi_half_open_next(const struct dofi_listener *l, enum dofi_half_open_kind kind,
			  const union dofi_addr *from, const void *e)
{
	const struct dofi_half_open *last = e;
	struct dofi_half_opens *all = l->ia->half_opens;
	struct dofi_list *pos;

	if (!all)
		return NULL;
	for (pos = last ? last->link.next : all->entries[kind].next; pos != &all->entries[kind];
	     pos = pos->next) {
		struct dofi_half_open *next = half_open_of(pos);

		if (next->port == l->port && dofi_addr_same_host(&next->from.sa, &from->sa))
			return next;
	}
	return NULL;
}

void dofi_half_open_drop(struct dofi_ia *ia, void *entry)
{
	struct dofi_half_open *e = entry;

	ia->half_opens->n[e->kind]--;
	dofi_list_remove(&e->link);
	if (e->listener)
		dofi_listener_unref(e->listener);
	free(e);
}

void dofi_half_open_fini(struct dofi_ia *ia)
{
	struct dofi_half_opens *all = ia->half_opens;
	struct dofi_list *pos, *tmp;

	if (!all)
		return;
	for (int kind = 0; kind < DOFI_HALF_OPEN_KINDS; kind++)
		dofi_list_each_safe(pos, tmp, &all->entries[kind])
			dofi_half_open_drop(ia, half_open_of(pos));
	dofi_timer_drop(&ia->timers, &all->timer);
	free(all);
	ia->half_opens = NULL;
}
