/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous EVDs: opened by an IA, shared by others. */
#include <errno.h>

#include "object/async_evd.h"

/* IAs that report on the EVD of another one. */
static struct dofi_list sharers = { &sharers, &sharers };

struct dofi_evd *dofi_async_find(DAT_EVD_HANDLE handle)
{
	struct dofi_obj *obj = dofi_obj_any(handle);

	if (!obj || obj->type != DAT_HANDLE_TYPE_EVD)
		return NULL;
	return ((struct dofi_evd *)obj)->flags & DAT_EVD_ASYNC_FLAG ? (struct dofi_evd *)obj : NULL;
}

/* Shares the asynchronous EVD of an earlier open. */
static int async_share(struct dofi_ia *ia, DAT_EVD_HANDLE handle)
{
	struct dofi_evd *evd;

	pthread_mutex_lock(&dofi_async_lock);
	evd = dofi_async_find(handle);
	if (evd) {
		evd->feeds++;
		ia->async_evd = evd;
		dofi_list_append(&sharers, &ia->async_link);
	}
	pthread_mutex_unlock(&dofi_async_lock);
	return evd ? 0 : -EBADF; /* closed after the arguments were checked */
}

int dofi_async_open(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE handle)
{
	struct dofi_evd *evd;
	int ret;

	if (handle != DAT_HANDLE_NULL)
		return async_share(ia, handle);
	ret = dofi_evd_new(ia, qlen, DAT_EVD_ASYNC_FLAG, NULL, DOFI_EVD_OF_PROGRAM, &evd);
	if (ret)
		return ret;
	ia->async_evd = evd;
	ia->own_async_evd = true;
	return 0;
}

/* Stops reporting on another IA's EVD. Caller holds dofi_async_lock. */
static void async_leave(struct dofi_ia *ia)
{
	DOFI_ASSERT_LOCKED(&dofi_async_lock);
	ia->async_evd->feeds--;
	ia->async_evd = NULL;
	dofi_list_remove(&ia->async_link);
}

void dofi_async_retire(struct dofi_ia *ia)
{
	struct dofi_list *pos, *tmp;

	if (!ia->own_async_evd)
		return;
	atomic_store(&ia->async_evd->obj.magic, 0);
	pthread_mutex_lock(&dofi_async_lock);
	dofi_list_each_safe(pos, tmp, &sharers)
	{
		struct dofi_ia *sharer = dofi_container(pos, struct dofi_ia, async_link);

		if (sharer->async_evd == ia->async_evd)
			async_leave(sharer);
	}
	pthread_mutex_unlock(&dofi_async_lock);
}

void dofi_async_close(struct dofi_ia *ia)
{
	struct dofi_evd *own;

	pthread_mutex_lock(&dofi_async_lock);
	own = ia->own_async_evd ? ia->async_evd : NULL;
	if (own)
		ia->async_evd = NULL;
	else if (ia->async_evd)
		async_leave(ia);
	pthread_mutex_unlock(&dofi_async_lock);
	ia->own_async_evd = false;
	if (own)
		dofi_evd_destroy(own);
}
