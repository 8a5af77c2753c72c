/* SPDX-License-Identifier: BSD-2-Clause */
/* Collectives (coll/) as the layers below see them: handles, and when they run. */
#ifndef DOFI_COLL_HANDLE_H
#define DOFI_COLL_HANDLE_H

#include "object/ia.h"

struct coll_group;

/* The handle of a group. */
struct dofi_coll_handle {
	struct dofi_obj obj;
	struct coll_group *group;
};

/* What an EVD holds of a DAT_IB_COLLECTIVE_EVENT, in place of its DAT_EVENT_DATA. */
struct dofi_coll_event {
	DAT_CONTEXT context;
	DAT_HANDLE handle;
	int type, status; /* DAT_IB_EXT_TYPE, DAT_IB_STATUS */
};

/* Set when the IA has collectives. */
struct dofi_coll_hooks {
	/* Processes events that have arrived. Caller holds no lock. */
	void (*run)(struct dofi_ia *ia);
	/* The IA is being closed: ends all groups and frees everything. */
	void (*close)(struct dofi_ia *ia);
};

/* Until dofi_coll_leave the collectives of the IA remain. NULL: they have ended or not
 * begun. */
static inline const struct dofi_coll_hooks *dofi_coll_enter(struct dofi_ia *ia)
{
	const struct dofi_coll_hooks *hooks;

	atomic_fetch_add(&ia->coll_users, 1);
	hooks = atomic_load(&ia->coll_hooks);
	if (!hooks)
		atomic_fetch_sub(&ia->coll_users, 1);
	return hooks;
}

static inline void dofi_coll_leave(struct dofi_ia *ia)
{
	atomic_fetch_sub(&ia->coll_users, 1);
}

static inline void dofi_coll_run(struct dofi_ia *ia)
{
	const struct dofi_coll_hooks *hooks;

	if (!atomic_load_explicit(&ia->coll_hooks, memory_order_relaxed))
		return;
	hooks = dofi_coll_enter(ia);
	if (!hooks)
		return;
	hooks->run(ia);
	dofi_coll_leave(ia);
}

#endif
