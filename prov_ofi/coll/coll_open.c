/* SPDX-License-Identifier: BSD-2-Clause */
/* The collectives of an adapter begin with their first use, and end with the adapter. */
#include <stdlib.h>
#include <unistd.h>

#include "base/fork_lock.h"
#include "coll/coll_int.h"

/* Interval of looking whether other threads have left. */
#define CLOSE_TICK_US 100

static void coll_close(struct dofi_ia *ia)
{
	struct dofi_coll *coll = ia->coll;

	atomic_store(&ia->coll_hooks, NULL);
	while (atomic_load(&ia->coll_users))
		usleep(CLOSE_TICK_US);
	pthread_mutex_lock(&coll->lock);
	while (!dofi_list_empty(&coll->groups))
		dofi_coll_group_destroy(dofi_container(coll->groups.next, struct coll_group, link));
	while (!dofi_list_empty(&coll->members))
		dofi_coll_member_destroy(
			dofi_container(coll->members.next, struct coll_member, link));
	while (atomic_load(&coll->evd->borrowers))
		usleep(CLOSE_TICK_US);
	atomic_store(&coll->evd->obj.magic, 0);
	dofi_evd_destroy(coll->evd);
	pthread_mutex_unlock(&coll->lock);
	pthread_mutex_destroy(&coll->lock);
	ia->coll = NULL;
	ia->coll_evd = NULL;
	free(coll);
}

static const struct dofi_coll_hooks hooks = { dofi_coll_turn, coll_close };

static struct dofi_coll *coll_open(struct dofi_ia *ia)
{
	struct dofi_coll *coll = calloc(1, sizeof(*coll));

	if (!coll)
		return NULL;
	if (dofi_evd_new(ia, COLL_EVENTS_FIRST,
			 DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, NULL,
			 DOFI_EVD_OF_COLLECTIVES, &coll->evd)) {
		free(coll);
		return NULL;
	}
	/* Alive, but not the consumer's: not in the list of objects. */
	atomic_store(&coll->evd->obj.magic, DOFI_OBJ_MAGIC(DAT_HANDLE_TYPE_EVD));
	coll->ia = ia;
	pthread_mutex_init(&coll->lock, NULL);
	dofi_list_init(&coll->members);
	dofi_list_init(&coll->groups);
	ia->coll = coll;
	ia->coll_evd = coll->evd;
	atomic_store_explicit(&ia->coll_hooks, &hooks, memory_order_release);
	return coll;
}

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(opening, DOFI_FORK_COLL)

struct dofi_coll *dofi_coll_of(struct dofi_ia *ia)
{
	struct dofi_coll *coll;

	pthread_mutex_lock(&opening);
	coll = ia->coll ? ia->coll : coll_open(ia);
	pthread_mutex_unlock(&opening);
	return coll;
}

struct dofi_coll *dofi_coll_opened(const struct dofi_ia *ia)
{
	struct dofi_coll *coll;

	pthread_mutex_lock(&opening);
	coll = ia->coll;
	pthread_mutex_unlock(&opening);
	return coll;
}
