/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of groups: their service points, and the connection requests that arrive there. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/dat_error.h"
#include "base/log.h"
#include "cm/cm.h"
#include "coll/coll_int.h"

/* Requests that wait until their group is created here. */
#define WAITING_MOST 8192u

static struct coll_member *member_make(struct dofi_coll *coll)
{
	struct coll_member *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->coll = coll;
	dofi_list_init(&m->link);
	dofi_list_init(&m->waiting);
	m->ident.fabric = coll->ia->fab.desc->wire_id;
	m->ident.addr = coll->ia->fab.addr;
	if (getrandom(m->ident.token, COLL_TOKEN, 0) == COLL_TOKEN)
		return m;
	free(m);
	return NULL;
}

DAT_RETURN dofi_coll_create_member(struct dofi_ia *ia, DAT_IB_COLLECTIVE_MEMBER *member,
				   DAT_COUNT *size)
{
	struct dofi_coll *coll = dofi_coll_of(ia);
	struct coll_member *m = NULL;
	DAT_RETURN ret;

	if (coll) {
		pthread_mutex_lock(&coll->lock);
		m = member_make(coll);
	}
	if (!m) {
		if (coll)
			dofi_coll_unlock(coll);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	ret = dofi_psp_create_any(ia, &m->ident.qual, coll->evd, DAT_PSP_CONSUMER_FLAG, &m->psp);
	if (ret) {
		free(m);
	} else {
		((struct dofi_obj *)m->psp)->context.as_ptr = m;
		dofi_coll_put_blob(m->blob, &m->ident);
		dofi_list_append(&coll->members, &m->link);
		*member = m->blob;
		*size = COLL_BLOB;
	}
	dofi_coll_unlock(coll);
	return ret;
}

void dofi_coll_member_destroy(struct coll_member *m)
{
	/* Requests that arrive from here on are refused, those in the queue, too. */
	((struct dofi_obj *)m->psp)->context.as_ptr = NULL;
	while (!dofi_list_empty(&m->waiting)) {
		struct coll_waiting *w = dofi_container(m->waiting.next, struct coll_waiting, link);

		dofi_list_remove(&w->link);
		dofi_cr_refuse(w->cr, 0, NULL);
		free(w);
	}
	dofi_coll_process(m->coll);
	dofi_psp_free(m->psp);
	/* What the freed service point has delivered meanwhile. */
	dofi_coll_process(m->coll);
	dofi_list_remove(&m->link);
	free(m);
}

DAT_RETURN dofi_coll_free_member(struct dofi_ia *ia, DAT_IB_COLLECTIVE_MEMBER member)
{
	struct dofi_coll *coll = ia->coll;
	struct coll_member *found = NULL;
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_list *pos;

	if (!coll)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	pthread_mutex_lock(&coll->lock);
	dofi_list_each(pos, &coll->members)
	{
		struct coll_member *m = dofi_container(pos, struct coll_member, link);

		if (m->blob == (uint8_t *)member)
			found = m;
	}
	if (!found)
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else if (found->groups)
		ret = DOFI_ERR(DAT_INVALID_STATE, 0);
	else
		dofi_coll_member_destroy(found);
	dofi_coll_unlock(coll);
	return ret;
}

struct coll_member *dofi_coll_find_member(struct dofi_coll *coll, const uint8_t *token)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &coll->members)
	{
		struct coll_member *m = dofi_container(pos, struct coll_member, link);

		if (!memcmp(m->ident.token, token, COLL_TOKEN))
			return m;
	}
	return NULL;
}

/* ---- requests ---- */

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
