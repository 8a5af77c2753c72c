/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the calls for which closing an IA waits. */
#include "object/ia.h"

bool dofi_ia_enter(DAT_HANDLE handle, bool uses, struct dofi_ia **out)
{
	const struct dofi_obj *obj = dofi_obj_any(handle);
	struct dofi_ia *ia = obj ? dofi_obj_ia(obj) : NULL;
	bool alive = true;

	if (ia) {
		pthread_mutex_lock(&ia->obj_lock);
		alive = dofi_ia_live(ia) != NULL;
		ia->calls += alive;
		pthread_mutex_unlock(&ia->obj_lock);
	}
	if (ia && alive && uses)
		pthread_rwlock_rdlock(&ia->uses);
	*out = ia;
	return alive;
}

void dofi_ia_leave(struct dofi_ia *ia, bool uses)
{
	if (!ia)
		return;
	if (uses)
		pthread_rwlock_unlock(&ia->uses);
	pthread_mutex_lock(&ia->obj_lock);
	if (!--ia->calls)
		pthread_cond_broadcast(&ia->calls_over);
	pthread_mutex_unlock(&ia->obj_lock);
}
