/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of groups: their descriptions and service points. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/dat_error.h"
#include "cm/cm.h"
#include "coll/coll_int.h"

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
	m->ident.eager = coll->ia->fab.desc->answers_late ? COLL_EAGER_MOST : COLL_EAGER_LEAST;
	if (getrandom(m->ident.token, COLL_TOKEN, 0) == COLL_TOKEN)
		return m;
	free(m);
	return NULL;
}

DAT_RETURN dofi_coll_create_member(struct dofi_coll *coll, DAT_IB_COLLECTIVE_MEMBER *member,
				   DAT_COUNT *size)
{
	struct coll_member *m;
	DAT_RETURN ret;

	pthread_mutex_lock(&coll->lock);
	m = member_make(coll);
	if (!m) {
		dofi_coll_unlock(coll);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	ret = dofi_psp_create_any(coll->ia, &m->ident.qual, coll->evd, DAT_PSP_CONSUMER_FLAG,
				  &m->psp);
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

DAT_RETURN dofi_coll_free_member(struct dofi_coll *coll, DAT_IB_COLLECTIVE_MEMBER member)
{
	struct coll_member *found = NULL;
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_list *pos;

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
