/* SPDX-License-Identifier: BSD-2-Clause */
/* An opened interface adapter: fabric, domain, event queue, objects, progress.
 *
 * Locks, in the order in which they may be taken:
 *   prog_lock   the progress thread's round; freeing an EVD
 *   cm_lock     connections: event queue, service points, requests, timers, endpoint states
 *   ep->lock    posting; state of one endpoint
 *   srq->lock   posting to a shared receive queue
 *   the lock of asynchronous EVDs (object/ia.c), which all IAs share
 *   evd->lock   one event dispatcher: its completion queue and its events; who has cm_lock may
 *               take those of both queues of an EP, the lower address first
 *   cno->lock   one notification object
 *   obj_lock, work_lock, mr_lock, lmr.lock: nothing is taken under them, but obj_lock and
 *   lmr.lock under mr_lock
 * No lock is held while a consumer's agent is called.
 */
#ifndef DOFI_IA_H
#define DOFI_IA_H

#include <pthread.h>
#include <stdbool.h>

#include "base/timer.h"
#include "fabric/fab.h"
#include "object/key_table.h"
#include "object/lmr_table.h"
#include "object/obj.h"
#include "fabric/verbs/device_events.h"
#include "object/conn_id.h"

struct dofi_evd;
struct dofi_cm_hellos;

struct dofi_provider {			/* one per IA name, kept for ever (freed handles) */
	DAT_PROVIDER vtable;		/* first: objects point here */
	DAT_PROVIDER_INFO info;
	char params[256];
	bool registered;
	struct dofi_provider *next;
};

struct dofi_progress {
	pthread_t thread;
	_Atomic uintptr_t self;		/* the thread, as it sees itself; 0: none yet */
	bool running;
	_Atomic bool stop;
	int epfd;			/* what the thread sleeps on */
	int wakeup_fd;			/* eventfd: something changed */
	_Atomic bool wakeup_pending;
	_Atomic bool long_tick;		/* long ticks: who has reason to rings */
	uint32_t idle_rounds;			/* rounds in a row in which nothing was taken over */
	bool consumer_polled;			/* some CQ is left to its consumer; the thread's own */
	uint32_t waiting_rounds;		/* rounds in a row in which all those consumers waited */
	void (*end)(struct dofi_ia *ia);	/* what the thread does last; NULL: nothing */
};

/* Provider-specific attributes. */
#define DOFI_NAMED 11

struct dofi_ia {
	struct dofi_obj obj;
	struct dofi_fab fab;		/* fabric, domain, EQ, limits */
	_Atomic(DAT_IA_HANDLE) consumer_handle;	/* see dofi_api_ia_handle */
	struct dofi_lmr_table lmrs;
	pthread_mutex_t mr_lock;	/* what RMRs are bound to */
	struct dofi_key_table keys;	/* of the fabric's choosing, for peers */
	struct dofi_conn_ids conn_ids;		/* connections of EPs with an SRQ */
	_Atomic uint32_t stalls;	/* times that an EVD was found stalled */

	pthread_mutex_t obj_lock;
	struct dofi_list objs[DOFI_KINDS];
	unsigned int obj_count[DOFI_KINDS];

	struct dofi_evd *_Atomic async_evd;	/* see dofi_async_push */
	bool own_async_evd;
	struct dofi_list async_link;	/* of those that use another IA's */
	struct dofi_evd *internal_evd;		/* completions of directions without an EVD */

	pthread_mutex_t prog_lock;
	struct dofi_progress prog;
	struct dofi_list evds;		/* all EVDs, for progress; prog_lock */

	pthread_mutex_t cm_lock;
	struct dofi_timers timers;
	size_t timer_users;
	struct dofi_list listeners;	/* fabric listeners, shared by service points */
	struct dofi_list conns;		/* fabric connections */
	unsigned int probes;		/* connect calls that probe a host (fabric/verbs/host_probe.h) */
	pthread_cond_t probes_done;	/* none is left; with cm_lock */
	struct dofi_device_events device_events;

	DAT_NAMED_ATTR named[DOFI_NAMED];	/* see dofi_attr_name */
	char mtu[24];

	bool early_ends;		/* some connection has ended_early */
	struct dofi_cm_hellos *hellos;	/* see cm/cm_hello.c; NULL: none so far */

	pthread_mutex_t deferred_lock;
	_Atomic bool deferred_pending;
	struct dofi_list deferred;		/* endpoints that need attention outside EVD locks */
	struct dofi_list agents;	/* those that have to be called (object/agent.h) */
	struct dofi_cno *calling;	/* whose agent the progress thread calls; NULL: none */
	uint32_t called;		/* counts the calls that have returned */
	pthread_cond_t call_over;	/* a call has returned */
};

/* Live IA behind a handle, or NULL. */
static inline struct dofi_ia *dofi_ia_live(DAT_IA_HANDLE handle)
{
	return (struct dofi_ia *)dofi_obj_live(handle, DAT_HANDLE_TYPE_IA);
}

/* One for each thread-safety under which a name may be registered: the registry tells them apart
 * by the jump table alone. */
DAT_RETURN dofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia);
DAT_RETURN dofi_ia_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
				   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);
DAT_RETURN dofi_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags);
/* Sets the provider-specific attributes; the fabric is open. */
void dofi_attr_name(struct dofi_ia *ia);
DAT_RETURN dofi_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			 DAT_PROVIDER_ATTR_MASK prov_mask, DAT_PROVIDER_ATTR *prov_attr);

/* The record of an IA name, by which its objects are dispatched. */
struct dofi_provider *dofi_provider_find(const char *name, DAT_BOOLEAN thread_safe);

#endif
