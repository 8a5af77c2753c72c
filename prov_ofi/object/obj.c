/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates objects and validates handles. */
#include <pthread.h>

#include "base/forkfd.h"
#include "object/ia.h"
#include "object/limits.h"

struct dofi_obj *dofi_obj_check(DAT_HANDLE handle, DAT_HANDLE_TYPE type, struct dofi_ia *ia)
{
	struct dofi_obj *obj = handle;

	if (!obj || !dofi_slab_owns(&dofi_slabs[type], obj) || !dofi_obj_live(obj, type))
		return NULL;
	return !ia || dofi_obj_remains(obj, ia) ? obj : NULL;
}

struct dofi_obj *dofi_obj_any(DAT_HANDLE handle)
{
	struct dofi_obj *obj = handle;

	if (!obj || ((uintptr_t)obj & 7))
		return NULL;
	for (int type = 0; type < DOFI_KINDS; type++)
		if (dofi_slabs[type].size && atomic_load(&obj->magic) == DOFI_OBJ_MAGIC(type))
			return obj;
	return NULL;
}

bool dofi_obj_name(DAT_HANDLE handle, DAT_HANDLE_TYPE *type, unsigned int *number, bool *alive)
{
	for (int i = 0; i < DOFI_KINDS; i++) {
		if (!dofi_slabs[i].size || !dofi_slab_number(&dofi_slabs[i], handle, number))
			continue;
		*type = (DAT_HANDLE_TYPE)i;
		*alive = dofi_obj_live(handle, *type) != NULL;
		return true;
	}
	return false;
}

DAT_RETURN dofi_obj_limit(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	static const struct {
		unsigned int most;
		DAT_RETURN_SUBTYPE none_left;
	} limits[DOFI_KINDS] = {
		[DAT_HANDLE_TYPE_EP] = { DOFI_MAX_EPS, DAT_RESOURCE_TEP },
		[DAT_HANDLE_TYPE_EVD] = { DOFI_MAX_EVDS, DAT_RESOURCE_TEVD },
		[DAT_HANDLE_TYPE_PZ] = { DOFI_MAX_PZS, DAT_RESOURCE_PROTECTION_DOMAIN },
		[DAT_HANDLE_TYPE_SRQ] = { DOFI_MAX_SRQS, DAT_RESOURCE_SRQ },
	};
	bool full;

	pthread_mutex_lock(&ia->obj_lock);
	full = ia->obj_count[type] >= limits[type].most;
	pthread_mutex_unlock(&ia->obj_lock);
	return full ? DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, limits[type].none_left) : DAT_SUCCESS;
}

void *dofi_obj_new(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	return dofi_obj_new_for(ia, type, false);
}

void *dofi_obj_new_for(struct dofi_ia *ia, DAT_HANDLE_TYPE type, bool internal)
{
	struct dofi_obj *obj = dofi_slab_get(&dofi_slabs[type], internal);

	if (!obj)
		return NULL;
	/* A thread may be using the handle of a former object. An IA refers to itself; its caller
	 * sets the provider. */
	__atomic_store_n(&obj->ia, ia ? ia : (struct dofi_ia *)obj, __ATOMIC_RELAXED);
	if (ia) {
		__atomic_store_n(&obj->provider, ia->obj.provider, __ATOMIC_RELAXED);
		dofi_count_memory(ia->counts, dofi_slabs[type].size, true);
	}
	if (obj->type != (uint16_t)type)
		obj->type = (uint16_t)type;
	if (obj->internal != internal)
		obj->internal = internal;
	__atomic_store_n(&obj->context.as_64, 0, __ATOMIC_RELAXED);
	dofi_list_init(&obj->link);
	return obj;
}

void dofi_obj_publish(struct dofi_obj *obj)
{
	struct dofi_ia *ia = obj->ia;

	pthread_mutex_lock(&ia->obj_lock);
	if (obj != &ia->obj) {
		dofi_list_append(&ia->objs[obj->type], &obj->link);
		ia->obj_count[obj->type]++;
		dofi_count_object(ia->counts, obj->type, true);
	}
	atomic_store_explicit(&obj->magic, DOFI_OBJ_MAGIC(obj->type), memory_order_release);
	pthread_mutex_unlock(&ia->obj_lock);
}

bool dofi_obj_retire(struct dofi_obj *obj)
{
	struct dofi_ia *ia = obj->ia;
	bool mine;

	pthread_mutex_lock(&ia->obj_lock);
	mine = atomic_exchange(&obj->magic, 0) || !dofi_list_empty(&obj->link);
	if (mine && obj != &ia->obj) {
		dofi_list_remove(&obj->link);
		ia->obj_count[obj->type]--;
		dofi_count_object(ia->counts, obj->type, false);
	}
	pthread_mutex_unlock(&ia->obj_lock);
	return mine;
}

void dofi_obj_withdraw(struct dofi_ia *ia, DAT_HANDLE_TYPE type, dofi_obj_test keep)
{
	struct dofi_list *pos;

	pthread_mutex_lock(&ia->obj_lock);
	dofi_list_each(pos, &ia->objs[type])
	{
		struct dofi_obj *obj = dofi_container(pos, struct dofi_obj, link);

		if (!keep(obj))
			atomic_store(&obj->magic, 0);
	}
	pthread_mutex_unlock(&ia->obj_lock);
}

void dofi_obj_release(struct dofi_obj *obj)
{
	if (obj != &obj->ia->obj)
		dofi_count_memory(obj->ia->counts, 0, false);
	dofi_slab_put(&dofi_slabs[obj->type], obj, obj->internal);
}

DAT_RETURN dofi_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct dofi_obj *obj = dofi_obj_any(handle);

	if (!obj)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	__atomic_store_n(&obj->context.as_64, context.as_64, __ATOMIC_RELAXED);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	struct dofi_obj *obj = dofi_obj_any(handle);

	if (!obj)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!context)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	context->as_64 = __atomic_load_n(&obj->context.as_64, __ATOMIC_RELAXED);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	struct dofi_obj *obj = dofi_obj_any(handle);

	if (!obj)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!type)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*type = (DAT_HANDLE_TYPE)obj->type;
	return DAT_SUCCESS;
}

/* A forked child has the objects' memory but not the threads, and cannot use the fabric safely: its
 * inherited handles become invalid, and their descriptors are closed. Async-signal-safe; takes no
 * lock. */
static void obj_kill_object(void *p)
{
	atomic_store(&((struct dofi_obj *)p)->magic, 0);
}

static void obj_in_child(void)
{
	for (int type = 0; type < DOFI_KINDS; type++)
		if (dofi_slabs[type].size)
			dofi_slab_each(&dofi_slabs[type], obj_kill_object);
	dofi_counters_in_child();
	dofi_forkfd_close_all();
}

static void obj_register_once(void)
{
	pthread_atfork(NULL, NULL, obj_in_child);
}

void dofi_obj_init_fork(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, obj_register_once);
}
