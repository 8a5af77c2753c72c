/* SPDX-License-Identifier: BSD-2-Clause */
/* Consumer notification objects: one pending trigger for many EVDs.
 *
 * A trigger stays pending until a waiter or dat_cno_trigger consumes it, whether or not an agent is
 * called for it; further triggers merge into it. Each waiter sleeps on a semaphore of its own, so
 * that a trigger wakes one of them: a descriptor wakes all, and all but one in vain. While a
 * trigger is pending, a waiter that was woken for it has yet to run, or none sleeps. A woken one
 * that leaves without the trigger therefore wakes the next.
 */
#ifndef DOFI_CNO_H
#define DOFI_CNO_H

#include "base/lock.h"
#include "object/evd.h"

/* The EVD of a trigger, which may have been destroyed since, and its memory reused. */
struct dofi_cause {
	struct dofi_evd *evd;
	uint32_t life;
};

struct dofi_cno {
	struct dofi_obj obj;
	pthread_mutex_t lock;
	pthread_cond_t left; /* a waiter has left */
	int fd; /* of dat_cno_fd_create: an eventfd, readable while a trigger is pending; or -1 */
	bool pending, dying;
	struct dofi_cause cause;   /* of the pending trigger */
	struct dofi_list evd_list; /* the EVDs that refer to it; who triggered last is first */
	struct dofi_list sleepers; /* waiters that nothing has woken yet; who came first is first */
	unsigned int waiters;
	unsigned int round; /* counts detachments of the last EVD, which dismiss the waiters */
	_Atomic unsigned int evds; /* EVDs that refer to the CNO */
	struct dofi_agent *agent;  /* called for the next trigger; NULL: none */
};

static inline struct dofi_cno *dofi_cno_live(DAT_CNO_HANDLE handle)
{
	return (struct dofi_cno *)dofi_obj_live(handle, DAT_HANDLE_TYPE_CNO);
}

/* Caller holds evd->lock. */
void dofi_cno_fire(struct dofi_cno *cno, struct dofi_evd *evd);
/* Adds an EVD's reference; the caller holds evd->lock, also in the next. False: it was freed. */
bool dofi_cno_attach(struct dofi_cno *cno, struct dofi_evd *evd);
/* Drops an EVD's reference; the last one releases the waiters with a NULL EVD. */
void dofi_cno_detach(struct dofi_cno *cno, struct dofi_evd *evd);
/* The handle to report for a trigger: an EVD that exists, so of another one if that of the trigger
 * has been destroyed; NULL: no EVD refers to the CNO. Triggers merge: another EVD may have an event
 * that was to be reported by this one. Caller holds cno->lock. */
static inline DAT_EVD_HANDLE dofi_cno_cause(const struct dofi_cno *cno,
					    const struct dofi_cause *cause)
{
	DOFI_ASSERT_LOCKED(&cno->lock);
	if (cause->evd->life == cause->life)
		return cause->evd;
	if (dofi_list_empty(&cno->evd_list))
		return NULL;
	return dofi_container(cno->evd_list.next, struct dofi_evd, cno_link);
}
/* Releases the waiters and destroys the CNO even if EVDs refer to it. */
void dofi_cno_destroy(struct dofi_cno *cno);

/* What dat_cno_query reports. */
struct dofi_cno_param {
	DAT_IA_HANDLE ia;
	DAT_OS_WAIT_PROXY_AGENT agent; /* without a function: none */
	int fd;                        /* -1: none */
};
/* False: the CNO has been freed. Takes its lock. */
bool dofi_cno_read(struct dofi_cno *cno, struct dofi_cno_param *param);

/* Calls of 2.0 only; both versions compile them. */
DAT_RETURN dofi_cno_fd_create(DAT_IA_HANDLE ia, int *fd, DAT_CNO_HANDLE *cno);
DAT_RETURN dofi_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd);

#endif
