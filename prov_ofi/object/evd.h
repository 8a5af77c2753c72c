/* SPDX-License-Identifier: BSD-2-Clause */
/* Event dispatchers: one ring of events fed by a completion queue and by software.
 *
 * An EVD with DTO streams owns a libfabric CQ. A consumer inside a DAT call, or the progress
 * thread, reads the CQ in batches and appends DAT events to the ring, under evd->lock. Completions
 * are never lost: the ring grows for them. Other streams are limited to the granted length and
 * overflow as specified.
 *
 * Waiting: at most one thread. `sleeping` means that it sleeps on `wake_fd` (and on the CQ's
 * descriptor) and that a push must wake it.
 *
 * fab->cq_external_lock: evd->lock replaces the lock that libfabric would take for the CQ. The
 * caller of every function that accesses the CQ holds it: reading, checking whether it may sleep
 * (fi_trywait), posting to an endpoint that is bound to the CQ, binding and closing such an
 * endpoint.
 */
#ifndef DOFI_EVD_H
#define DOFI_EVD_H

#include <stdbool.h>

#include "base/inline.h"
#include "base/lock.h"
#include "object/ia.h"

/* How the progress thread drives the CQ while no consumer reads it; owned by that thread. */
enum dofi_evd_progress {
	DOFI_EVD_LEFT,    /* left to consumers, new, or freed: the creation does not store it */
	DOFI_EVD_ARMED,   /* its descriptor is in the thread's epoll set */
	DOFI_EVD_STALLED, /* refuses the sleep; checked at intervals */
};

/* DTO streams on an EVD by notification model (evd_models.h); cm_lock. */
struct dofi_models {
	unsigned int unsignalled, solicited, threshold;
	unsigned int requests; /* of any model */
};

struct dofi_ah;

/* The peer that has sent a received datagram (object/ud.h). */
struct dofi_ud_source {
	uint32_t qpn;
	uint32_t host; /* IPv4 address, or its number in ia->ud_hosts; `immed` is the family */
};

struct dofi_event {
	DAT_EVENT_NUMBER number;
	bool notify;          /* wakes a waiter or triggers the CNO */
	bool recv;            /* completion of a receive */
	uint32_t immed;       /* immediate data that came with it */
	struct dofi_srq *srq; /* owner of the buffer; NULL: no SRQ, not counted */
	union {
		DAT_EVENT_DATA data;
		struct { /* of datagram endpoints: what these events have besides */
			DAT_DTO_COMPLETION_EVENT_DATA dto;
			struct dofi_ud_source source;
		};
		struct {
			DAT_CONNECTION_EVENT_DATA connect;
			struct dofi_ah *ah; /* NULL: none */
		};
	};
};

struct dofi_evd {
	struct dofi_obj obj;
	_Atomic uint32_t life; /* generation of the object in this memory */
	struct dofi_lock lock;
	struct dofi_signal left; /* the waiter has left; awaited by dofi_evd_destroy */
	DAT_EVD_FLAGS flags;
	DAT_COUNT qlen;    /* granted */
	struct fid_cq *cq; /* NULL: no DTO stream */
	int cq_fd;
	uint32_t cq_size, cq_held; /* RDMA device: entries, and those reserved; cm_lock */

	struct dofi_event *ring; /* `capacity` entries, a power of two */
	uint32_t capacity, head, tail;
	uint32_t notified; /* notifying events pushed so far */
	uint32_t extra;    /* ring entries reserved beyond qlen (dofi_evd_reserve) */

	struct dofi_cno *cno;
	union {
		/* no_read: it has no DTO stream, or `awaited`; dead: an asynchronous EVD that
		 * overflowed. */
		struct {
			bool waiter, dying, dead, no_read;
		};
		uint32_t barred; /* any of them: dat_evd_dequeue does not read the CQ */
	};
	bool enabled, waitable, sleeping;
	bool overflowed;                  /* reported; cleared when there is room */
	int wake_fd;                      /* eventfd, -1 until the first sleep */
	uint32_t spin_ns;                 /* adaptive */
	uint32_t yield_skip;              /* adaptive: polls between two yields of the waiter */
	uint32_t yield_skipped;           /* those since the last one */
	unsigned int unsignalled_streams; /* EPs whose flags rule out thresholds above 1 */

	struct dofi_models models;      /* of its DTO streams; cm_lock */
	_Atomic unsigned int feeds;     /* streams that keep it from being freed */
	_Atomic unsigned int groups;    /* groups of collectives among them */
	_Atomic unsigned int borrowers; /* ia->coll_evd: waits for EVDs with groups */
	struct dofi_evd_slot *counts;
	struct dofi_count_base *count_base;
	uint32_t more_polls;       /* see dofi_evd_polls; evd->lock to write */
	bool has_msg_prefix;       /* a prefix leads each message (fab->has_msg_prefix) */
	uint8_t full_batches;      /* consecutive reads of the CQ that filled the batch */
	uint8_t batch, min_batch;  /* entries of the next read; after a partial one */
	uint8_t calls_left, calls; /* until dequeuing looks at the clock; between two looks */
	uint64_t clock_at;         /* the last look */

	struct fi_cq_data_entry entry[DOFI_CQ_BATCH]; /* of the last read of the CQ */
	/* A message of this EP has arrived before the event that establishes its connection was
	 * read; it is reported behind that event, and everything that follows it in the CQ waits
	 * until dofi_cq_resume. NULL: none. */
	struct dofi_ep *awaited;
	uint8_t rest, rest_end; /* those of `entry` that wait, too */

	struct dofi_list link;     /* ia->evds */
	struct dofi_list cno_link; /* cno->evd_list; cno->lock */
	enum dofi_evd_progress progress;
	bool polled;              /* by a consumer between the thread's last two looks */
	uint32_t seen_polls;      /* dofi_evd_polls at the last look */
	unsigned int empty_polls; /* consecutive empty reads of a CQ that refuses the sleep */
	uint64_t next_check;      /* of a stalled EVD */
	bool internal;            /* ia->internal_evd, without a handle */
};

static inline struct dofi_evd *dofi_evd_live(DAT_EVD_HANDLE handle)
{
	return (struct dofi_evd *)dofi_obj_live(handle, DAT_HANDLE_TYPE_EVD);
}

/* Bracket a libfabric call that accesses the CQ, for callers that do not hold evd->lock. */
static inline __attribute__((always_inline)) void dofi_evd_enter(struct dofi_evd *evd,
								 bool external_lock)
{
	if (external_lock)
		dofi_lock(&evd->lock);
}

static inline __attribute__((always_inline)) void dofi_evd_leave(struct dofi_evd *evd,
								 bool external_lock)
{
	if (external_lock)
		dofi_unlock(&evd->lock);
}

/* Counts a consumer's poll other than a dequeue. */
static inline void dofi_evd_polled(struct dofi_evd *evd)
{
	DOFI_COUNT(evd->more_polls, 1);
}

/* Polls by consumers. Dequeues from the ring count, too: if another thread reads the CQ, there are
 * no others. */
static inline uint32_t dofi_evd_polls(const struct dofi_evd *evd)
{
	return DOFI_COUNT_READ(evd->more_polls) + (uint32_t)DOFI_COUNT_READ(evd->counts->polls) +
	       (uint32_t)DOFI_COUNT_READ(evd->counts->takes);
}

/* The next call of dat_evd_dequeue looks at the clock. Caller holds evd->lock. */
static inline void dofi_evd_look_next(struct dofi_evd *evd)
{
	evd->calls_left = evd->calls = 1;
}

static inline uint32_t dofi_evd_count(const struct dofi_evd *evd)
{
	return evd->tail - evd->head;
}

/* The capacity of a ring for that many events. */
static inline uint32_t dofi_evd_pow2(uint32_t n)
{
	uint32_t p = 8;

	while (p < n)
		p *= 2;
	return p;
}

/* Who takes the events of an EVD. All but the first are internal (dofi_obj_new_for). */
enum dofi_evd_owner {
	DOFI_EVD_OF_PROGRAM,
	DOFI_EVD_OF_COLLECTIVES,
	DOFI_EVD_OF_NOBODY, /* of requests and receives whose EP has no EVD for them */
};

/* evd.c */
int dofi_evd_new(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct dofi_cno *cno,
		 enum dofi_evd_owner owner, struct dofi_evd **out);
/* Attaches it to a CNO; NULL: to none. Takes evd->lock. False: the CNO was freed meanwhile. */
bool dofi_evd_set_cno(struct dofi_evd *evd, struct dofi_cno *cno);
/* Destroys an EVD that no stream feeds any more; its waiter returns DAT_ABORT first. */
void dofi_evd_destroy(struct dofi_evd *evd);

/* Removes the CQ from the progress thread's epoll set. Caller holds prog_lock. */
void dofi_evd_disarm(struct dofi_evd *evd, enum dofi_evd_progress to);

/* evd_push.c */
/* Resizes the ring to `capacity` entries, at least the number queued. False: no memory. Caller
 * holds evd->lock. */
bool dofi_evd_grow(struct dofi_evd *evd, uint32_t capacity);

/* Returns the next ring entry, in which DTO completions are built in place; NULL: no memory. Caller
 * holds evd->lock. */
static inline struct dofi_event *dofi_evd_slot(struct dofi_evd *evd)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	if (dofi_evd_count(evd) == evd->capacity && !dofi_evd_grow(evd, evd->capacity * 2))
		return NULL;
	return &evd->ring[evd->tail & (evd->capacity - 1)];
}

/* Queues the completed entry. */
static inline void dofi_evd_commit(struct dofi_evd *evd, const struct dofi_event *event)
{
	evd->tail++;
	DOFI_COUNT(evd->counts->queued, 1);
	evd->notified += event->notify;
}

/* Pushes an event of any other stream; takes evd->lock. False: the queue is full; the overflow was
 * reported unless the event is a software event or a connection request. */
bool dofi_evd_push(struct dofi_evd *evd, const struct dofi_event *event);
/* The same; sets *gate after the event is queued and before it can be dequeued. A thread that has
 * the event finds the gate open, and events of a thread that finds it open follow this event. */
void dofi_evd_push_opening(struct dofi_evd *evd, const struct dofi_event *event,
			   _Atomic bool *gate);
/* Pushes beyond the granted length, up to `most` events, since a program waits for each; takes
 * evd->lock. */
void dofi_evd_push_extra(struct dofi_evd *evd, const struct dofi_event *event, uint32_t most);
/* Reserves memory for one such event, so that its push cannot fail; dofi_evd_unreserve releases it,
 * or dofi_evd_push_reserved uses it. False: no memory. */
bool dofi_evd_reserve(struct dofi_evd *evd);
void dofi_evd_push_reserved(struct dofi_evd *evd, const struct dofi_event *event);
void dofi_evd_unreserve(struct dofi_evd *evd);
bool dofi_evd_has_slot(struct dofi_evd *evd);
/* Wakes the waiter or triggers the CNO if a notifying event was pushed since `notified_before`.
 * Caller holds evd->lock. */
void dofi_evd_notify(struct dofi_evd *evd, uint32_t notified_before);
void dofi_evd_wake_locked(struct dofi_evd *evd);
#endif
