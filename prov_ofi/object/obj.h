/* SPDX-License-Identifier: BSD-2-Clause */
/* Common head of every DAT object; validation of handles.
 *
 * Objects live in type-stable slabs (base/slab.h). `magic` encodes the kind while the object is
 * alive and is 0 otherwise, so a freed handle, one of another kind, or any handle in a forked
 * child fails the check.
 */
#ifndef DOFI_OBJ_H
#define DOFI_OBJ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/slab.h"
#include "base/dat_version.h"

struct dofi_ia;

struct dofi_obj {
	DAT_PROVIDER *provider; /* ABI: first member of every object */
	_Atomic uint32_t magic;
	/* These two are the same as long as the memory exists. */
	uint16_t type;         /* DAT_HANDLE_TYPE */
	bool internal;         /* no program has had a handle of it */
	struct dofi_ia *ia;    /* of a handle that may have been freed: dofi_obj_ia */
	DAT_CONTEXT context;   /* the consumer's; threads may read and set it at the same time */
	struct dofi_list link; /* ia->objs[type], under ia->obj_lock */
};

#define DOFI_KINDS 16
#define DOFI_OBJ_MAGIC(type) (0xda70f100u + (uint32_t)(type))

/* Memory of the objects of each kind (object/kinds.c). */
extern struct dofi_slab dofi_slabs[DOFI_KINDS];

/* Check of the handle that has selected this provider: any libdat has loaded `provider` through it,
 * so it is not NULL. One load and one comparison. */
static inline bool dofi_obj_is_live(const void *handle, DAT_HANDLE_TYPE type)
{
	const struct dofi_obj *obj = handle;

	return atomic_load_explicit(&obj->magic, memory_order_acquire) == DOFI_OBJ_MAGIC(type);
}

/* The same for any handle, which may be NULL: a caller that has found the provider elsewhere passes
 * what it wants. NULL: it is not. */
static inline struct dofi_obj *dofi_obj_live(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	return handle && !((uintptr_t)handle & 7) && dofi_obj_is_live(handle, type) ? handle : NULL;
}

/* The IA of a handle that another thread may have freed since it was found live: its memory may
 * become an object of another IA meanwhile (dofi_obj_remains). */
static inline struct dofi_ia *dofi_obj_ia(const struct dofi_obj *obj)
{
	return __atomic_load_n(&obj->ia, __ATOMIC_ACQUIRE);
}

/* True if an object whose IA the caller has read, and then locked, still belongs to it: another
 * thread may have freed it in between, and its memory may have become an object of another IA. With
 * the lock under which objects of the kind are freed, it remains until that is released: one that
 * is live before and after its IA was read has belonged to that IA at the end. */
static inline bool dofi_obj_remains(const struct dofi_obj *obj, const struct dofi_ia *ia)
{
	return dofi_obj_is_live(obj, obj->type) && dofi_obj_ia(obj) == ia &&
	       dofi_obj_is_live(obj, obj->type);
}

/* Full check for handles that did not select the provider: NULL unless the object belongs to this
 * library and to this IA (NULL: to any). */
struct dofi_obj *dofi_obj_check(DAT_HANDLE handle, DAT_HANDLE_TYPE type, struct dofi_ia *ia);
/* Returns the live object of a handle, of any kind, or NULL. */
struct dofi_obj *dofi_obj_any(DAT_HANDLE handle);

/* Returns kind, number and liveness of a handle, for messages. False: not an object of this
 * library. */
bool dofi_obj_name(DAT_HANDLE handle, DAT_HANDLE_TYPE *type, unsigned int *number, bool *alive);

/* Fails with DAT_INSUFFICIENT_RESOURCES once the IA has as many objects of the kind as dat_ia_query
 * reports (object/limits.h). Two calls at the same time can each get the last one. */
DAT_RETURN dofi_obj_limit(struct dofi_ia *ia, DAT_HANDLE_TYPE type);
/* Allocates an object of the kind, not alive yet. NULL: no memory. */
void *dofi_obj_new(struct dofi_ia *ia, DAT_HANDLE_TYPE type);
/* The same if `internal` is false. Otherwise no program gets a handle of it, nor has had one of
 * another object in this memory, through which it would change this one. */
void *dofi_obj_new_for(struct dofi_ia *ia, DAT_HANDLE_TYPE type, bool internal);
/* Publishes the object: makes the handle valid. */
void dofi_obj_publish(struct dofi_obj *obj);
/* Invalidates the handle. False: another thread has already done so. */
bool dofi_obj_retire(struct dofi_obj *obj);
/* Invalidates the handles of all objects of the kind except those to `keep`; they are retired
 * later. `keep` is called with obj_lock held. */
typedef bool (*dofi_obj_test)(const struct dofi_obj *obj);
void dofi_obj_withdraw(struct dofi_ia *ia, DAT_HANDLE_TYPE type, dofi_obj_test keep);
/* Frees the memory; the handle must be invalid. */
void dofi_obj_release(struct dofi_obj *obj);

/* Installs the handler that invalidates the handles in a forked child. */
void dofi_obj_init_fork(void);

#endif
