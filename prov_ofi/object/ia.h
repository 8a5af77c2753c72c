/* SPDX-License-Identifier: BSD-2-Clause */
/* An opened interface adapter: fabric, domain, event queue, objects, progress.
 *
 * Locks, in the order in which they may be taken:
 *   uses        held shared by calls that create objects or change what an EP uses; exclusively to
 *               find that an EVD, PZ or SRQ is not used, and to invalidate its handle
 *   coll->lock  members, groups and operations of collectives (coll/coll_int.h)
 *   prog_lock   the progress thread's round; freeing an EVD
 *   cm_lock     connections: event queue, service points, requests, timers, endpoint states
 *   amo->lock   sockets of software atomic operations (object/amo.h)
 *   ep->lock    posting; state of one endpoint
 *   srq->lock   posting to a shared receive queue
 *   dofi_async_lock  asynchronous EVDs (async_evd.h), shared by all IAs
 *   evd->lock   one event dispatcher: its completion queue and its events; with cm_lock held, a
 *               thread may take those of both queues of an EP, the lower address first
 *   cno->lock   one notification object
 *   dofi_count_base_lock   values of counters at their last reset; before evd->lock
 *   obj_lock, deferred_lock, mr_lock, lmr.lock: leaf locks, except that obj_lock and lmr.lock may
 *   be taken under mr_lock
 * Those of EPs, EVDs and SRQs are of the type in base/lock.h. The others are mutexes, because they
 * are held during system calls or allocations, or used with condition variables.
 * No lock is held while a consumer's agent is called.
 */
#ifndef DOFI_IA_H
#define DOFI_IA_H

#include <pthread.h>
#include <stdbool.h>

#include "base/counters.h"
#include "base/lock.h"
#include "base/timer.h"
#include "fabric/fab.h"
#include "object/amo.h"
#include "object/key_table.h"
#include "object/lmr_table.h"
#include "object/mem_check.h"
#include "object/obj.h"
#include "object/conn_id.h"

struct dofi_evd;
struct dofi_coll;
struct dofi_coll_hooks;
struct dofi_half_opens;
struct dofi_ud_hosts;

struct dofi_provider {       /* one per IA name, never freed (freed handles) */
	DAT_PROVIDER vtable; /* first: objects point to it */
	DAT_PROVIDER_INFO info;
	char params[256];
	bool registered;
	struct dofi_provider *next;
};

struct dofi_progress {
	pthread_t thread;
	_Atomic uintptr_t self; /* pthread_self of the thread; 0: not running yet */
	bool running;
	_Atomic bool stop;
	_Atomic bool lost; /* the program has closed the descriptors: see dofi_progress_lost */
	int epfd;          /* epoll set on which the thread sleeps */
	int wakeup_fd;     /* eventfd: wakes the thread */
	_Atomic bool wakeup_pending;
	bool automatic; /* operations proceed without a thread that calls the fabric */
	/* The consumers' lease (progress/progress_cq.c). */
	int timer_fd;                    /* timerfd: expires at the end of a period */
	_Atomic uint64_t period;         /* of the lease, in ns; 0: none */
	_Atomic uint64_t used_at;        /* last look of a consumer's call at the clock */
	int retry_ms;                    /* until refused requests are tried again; private */
	uint32_t pass, passed;           /* calls that gain no lease; those so far; private */
	uint64_t tried_at;               /* when they gained the last one; private */
	bool granted;                    /* the lease, in this round; private */
	unsigned int requests;           /* whose completions it has read; private */
	_Atomic bool left_to_waiter;     /* some CQ: the end of a wait starts the timer */
	_Atomic uint64_t extend_at;      /* polls restart the timer after that time */
	_Atomic uint64_t extend_until;   /* but not after this one, when the thread looks */
	void (*end)(struct dofi_ia *ia); /* last action of the thread; NULL: none */
};

/* What ia->deferred_pending contains (object/deferred_work.h). */
#define DOFI_PENDING_EPS 1u  /* the list of EPs */
#define DOFI_PENDING_COLL 2u /* the next call of a consumer for an EVD runs the collectives */

/* Provider-specific attributes. */
#define DOFI_NAMED 33

struct dofi_ia {
	struct dofi_obj obj;
	struct dofi_fab fab;                    /* fabric, domain, EQ, limits */
	_Atomic(DAT_IA_HANDLE) consumer_handle; /* see dofi_api_ia_handle */
	struct dofi_ia_slot *counts;
	struct dofi_count_base *count_base;
	struct dofi_mem_maps maps;
	struct dofi_lmr_table lmrs;
	pthread_mutex_t mr_lock;       /* bindings of RMRs */
	struct dofi_key_table keys;    /* remote keys that the fabric chose */
	struct dofi_conn_ids conn_ids; /* connections of EPs with an SRQ */

	pthread_mutex_t obj_lock;
	struct dofi_list objs[DOFI_KINDS];
	unsigned int obj_count[DOFI_KINDS];
	unsigned int calls;        /* see dofi_ia_enter; obj_lock */
	pthread_cond_t calls_over; /* no such call is left; with obj_lock */
	pthread_rwlock_t uses;

	struct dofi_evd *_Atomic async_evd; /* see dofi_async_push */
	bool own_async_evd;
	bool query_only;               /* of dat_ib_open_query (api/ext_query.c) */
	struct dofi_list async_link;   /* in the list of IAs that use another IA's EVD */
	struct dofi_evd *internal_evd; /* completions of directions without an EVD */

	pthread_mutex_t prog_lock;
	struct dofi_progress prog;
	struct dofi_list evds; /* all EVDs, for progress; prog_lock */
	struct dofi_amo amo;

	pthread_mutex_t cm_lock;
	struct dofi_timers timers;
	struct dofi_list listeners;     /* fabric listeners, shared by service points */
	struct dofi_list conns;         /* fabric connections */
	unsigned int probes;            /* connect calls that probe a host (cm_connect.c) */
	pthread_cond_t probes_done;     /* no probe is left; with cm_lock */
	struct dofi_list ahs;           /* address handles (object/ud.h) */
	struct dofi_ud_hosts *ud_hosts; /* NULL: no datagram endpoint was created; cm_lock */
	struct {                        /* an outage of the device or its address (cm/outage.c) */
		int fd;                 /* readable when addresses change; -1: not watched */
		bool reported;
		struct dofi_timer timer; /* armed while the address is away */
	} outage;

	DAT_NAMED_ATTR named[DOFI_NAMED]; /* see dofi_attr_name */
	char mtu[24];

	bool early_ends;                    /* some connection has ended_early */
	struct dofi_half_opens *half_opens; /* cm/half_open.c; NULL: none */

	struct dofi_coll *coll;            /* collectives; NULL: none (object/coll_handle.h) */
	struct dofi_evd *_Atomic coll_evd; /* its EVD */
	const struct dofi_coll_hooks *_Atomic coll_hooks;
	_Atomic unsigned int coll_users; /* threads inside: see coll_handle.h; never reset */
	_Atomic uint64_t coll_due_at;    /* when a consumer's call is to run them */

	pthread_mutex_t deferred_lock;
	_Atomic unsigned int deferred_pending; /* DOFI_PENDING_ bits */
	struct dofi_list deferred; /* endpoints with deferred work, done without EVD locks */
	void (*run_deferred)(struct dofi_ia *ia); /* set by dofi_progress_open */
	struct dofi_list agents;                  /* queued calls (object/agent.h) */
	_Atomic bool has_agents;                  /* some CNO has had one */
	struct dofi_cno *calling;                 /* CNO whose agent is being called; NULL: none */
	uint32_t called;                          /* number of calls that have returned */
	pthread_cond_t call_over;                 /* a call has returned */
};

/* Returns the live IA of a handle, or NULL. */
static inline struct dofi_ia *dofi_ia_live(DAT_IA_HANDLE handle)
{
	return (struct dofi_ia *)dofi_obj_live(handle, DAT_HANDLE_TYPE_IA);
}

/* Around calls that create or free objects, or connect: closing the IA waits for them, so that none
 * of them leaves an object behind or uses the fabric when it is closed. enter stores the IA of the
 * handle, or NULL if the handle is invalid, which the call reports. False: the IA is being closed.
 * While a call that `uses` other objects is in progress, no EVD, PZ or SRQ is freed. */
bool dofi_ia_enter(DAT_HANDLE handle, bool uses, struct dofi_ia **ia);
void dofi_ia_leave(struct dofi_ia *ia, bool uses);

/* One function for each thread safety with which a name may be registered: only the jump table
 * distinguishes them for the registry. */
DAT_RETURN dofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia);
DAT_RETURN dofi_ia_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
				   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);
DAT_RETURN dofi_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags);
/* Sets the provider-specific attributes. Call after the fabric is opened. */
void dofi_attr_name(struct dofi_ia *ia);

/* Returns the record of a registered IA name, through which calls on its objects are dispatched. */
struct dofi_provider *dofi_provider_find(const char *name, DAT_BOOLEAN thread_safe);

#endif
