/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection requests of other members. Those for a group that has not been created yet wait. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cm/cm.h"
#include "coll/coll_int.h"

/* Requests that wait until their group is created here. */
#define WAITING_MOST 8192u

struct coll_group *dofi_coll_find_group(struct coll_member *m, uint32_t id)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &m->coll->groups)
	{
		struct coll_group *g = dofi_container(pos, struct coll_group, link);

		if (g->member == m && g->id == id)
			return g;
	}
	return NULL;
}

/* Members connect to those of higher rank, once for each group. A request that is still pending has
 * been given up if its sender makes another one. */
static bool member_may_accept(const struct coll_group *g, const struct coll_hello *hello)
{
	return g->state == COLL_CREATING && hello->size == g->size && hello->rank < g->self &&
	       g->peers[hello->rank].state <= COLL_PEER_PENDING;
}

static void member_accept(struct coll_group *g, const struct coll_hello *hello, DAT_CR_HANDLE cr)
{
	struct coll_peer *p = &g->peers[hello->rank];

	if (!member_may_accept(g, hello)) {
		dofi_cr_refuse(cr, 0, NULL);
		return;
	}
	if (p->state == COLL_PEER_PENDING)
		dofi_coll_peer_reset(p);
	dofi_coll_peer_accept(p, cr);
}

/* A member that has given up, and tries again, replaces its former request. */
static void member_drop_former(struct coll_member *m, const struct coll_hello *hello)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &m->waiting)
	{
		struct coll_waiting *w = dofi_container(pos, struct coll_waiting, link);

		if (w->hello.group != hello->group || w->hello.rank != hello->rank)
			continue;
		dofi_list_remove(&w->link);
		m->waiting_count--;
		dofi_cr_refuse(w->cr, 0, NULL);
		free(w);
	}
}

static void member_keep(struct coll_member *m, const struct coll_hello *hello, DAT_CR_HANDLE cr)
{
	struct coll_waiting *w = NULL;

	member_drop_former(m, hello);
	if (m->waiting_count < WAITING_MOST)
		w = malloc(sizeof(*w));
	if (!w) {
		dofi_cr_refuse(cr, 0, NULL);
		return;
	}
	w->cr = cr;
	w->hello = *hello;
	dofi_list_append(&m->waiting, &w->link);
	m->waiting_count++;
}

void dofi_coll_request(struct coll_member *m, DAT_CR_HANDLE cr)
{
	struct coll_hello hello;
	struct coll_group *g;
	DAT_CR_PARAM param;

	if (dofi_cr_query(cr, DAT_CR_FIELD_ALL, &param))
		return;
	if (!m || !dofi_coll_get_hello(param.private_data, param.private_data_size, &hello) ||
	    memcmp(hello.token, m->ident.token, COLL_TOKEN)) {
		dofi_log(DOFI_LOG_WARN, "rejected a connection request to a collective member: "
					"expected its token");
		dofi_cr_refuse(cr, 0, NULL);
		return;
	}
	g = dofi_coll_find_group(m, hello.group);
	if (!g) {
		member_keep(m, &hello, cr);
		return;
	}
	member_accept(g, &hello, cr);
	dofi_coll_settle(g);
}

void dofi_coll_take_waiting(struct coll_group *g)
{
	struct coll_member *m = g->member;
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &m->waiting)
	{
		struct coll_waiting *w = dofi_container(pos, struct coll_waiting, link);

		if (w->hello.group != g->id)
			continue;
		dofi_list_remove(&w->link);
		m->waiting_count--;
		if (g->cause)
			dofi_cr_refuse(w->cr, 0, NULL);
		else
			member_accept(g, &w->hello, w->cr);
		free(w);
	}
}
