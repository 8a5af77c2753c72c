/* SPDX-License-Identifier: BSD-2-Clause */
/* What every DAT object has in common, and how a handle is checked.
 *
 * Objects live in type-stable slabs (base/slab.h). `tag` names the kind while the object is
 * alive and is 0 otherwise, so a freed handle, one of another kind, or any handle in a forked
 * child fails the check.
 */
#ifndef DOFI_OBJ_H
#define DOFI_OBJ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/dat_version.h"

struct dofi_ia;

struct dofi_obj {
	DAT_PROVIDER *provider;		/* ABI: first word of every object */
	_Atomic uint32_t magic;
	DAT_HANDLE_TYPE type;
	struct dofi_ia *ia;
	DAT_CONTEXT context;		/* the consumer's */
	struct dofi_list link;		/* ia->objs[type], under ia->obj_lock */
};

#define DOFI_KINDS 16
#define DOFI_OBJ_MAGIC(type) (0xda70f100u + (uint32_t)(type))

/* Hot path check: the registry already loaded the provider through the handle. */
static inline struct dofi_obj *dofi_obj_live(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct dofi_obj *obj = handle;

	if (!obj || ((uintptr_t)obj & 7) ||
	    atomic_load_explicit(&obj->magic, memory_order_relaxed) != DOFI_OBJ_MAGIC(type))
		return NULL;
	return obj;
}

/* Full check for handles that did not select the provider: is it ours at all, and of this IA
 * (NULL: of any)? */
struct dofi_obj *dofi_obj_check(DAT_HANDLE handle, DAT_HANDLE_TYPE type, struct dofi_ia *ia);
/* Any live object of ours, whatever its kind. */
struct dofi_obj *dofi_obj_any(DAT_HANDLE handle);

/* For people: what kind of handle is, or was, that, and which one? False: none of ours. */
bool dofi_obj_name(DAT_HANDLE handle, DAT_HANDLE_TYPE *type, unsigned int *number, bool *alive);

/* Takes an object of the kind; it is not alive yet. NULL: no memory. */
void *dofi_obj_new(struct dofi_ia *ia, DAT_HANDLE_TYPE type);
/* Makes it visible: from here on the handle is valid. */
void dofi_obj_publish(struct dofi_obj *obj);
/* Invalidates the handle. False: somebody else did it before. */
bool dofi_obj_retire(struct dofi_obj *obj);
/* Gives the memory back; the handle must be invalid. */
void dofi_obj_release(struct dofi_obj *obj);

/* From now on the handles of a forked child are invalid. */
void dofi_obj_init_fork(void);

DAT_RETURN dofi_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN dofi_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);
DAT_RETURN dofi_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type);

#endif
