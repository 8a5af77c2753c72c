/* SPDX-License-Identifier: BSD-2-Clause */
/* Event dispatchers: one ring of events fed by a completion queue and by software.
 *
 * An EVD with DTO streams owns a libfabric CQ. Whoever looks at the EVD (a consumer inside a DAT
 * call, or the progress thread) reads the CQ in batches and puts DAT events into the ring, under
 * evd->lock. Completions are never lost: the ring grows for them. Other streams obey the length
 * that was granted and overflow as the specification says.
 *
 * Waiting: at most one thread. `sleeping` tells those who push that it sleeps on `wake_fd` (and on
 * the CQ's descriptor) and has to be woken.
 *
 * Bare queues (fab->bare): evd->lock stands for the lock that libfabric would take for the CQ.
 * Every call that touches the CQ holds it: reading, asking whether one may sleep, posting to an
 * endpoint that is bound to it, binding and closing such an endpoint.
 */
#ifndef DOFI_EVD_H
#define DOFI_EVD_H

#include <stdbool.h>

#include "base/lock.h"
#include "object/evd_models.h"
#include "object/ia.h"

/* Who makes progress on the CQ while no consumer reads it; owned by the progress thread. */
enum dofi_evd_progress {
	DOFI_EVD_UNKNOWN,		/* not looked at yet */
	DOFI_EVD_ARMED,	/* its descriptor is in the thread's epoll set */
	DOFI_EVD_CONSUMER_POLLED,	/* a consumer reads it; looked at every tick */
	DOFI_EVD_STALLED,	/* readable for ever: a message waits for a receive */
};

struct dofi_event {
	DAT_EVENT_NUMBER number;
	bool notify;		/* releases a waiter or triggers the CNO */
	bool recv;		/* completion of a receive */
	uint32_t immed;		/* immediate data that came with it */
	struct dofi_srq *srq;	/* whose buffer it was; NULL: no SRQ's, and nothing counts it */
	DAT_EVENT_DATA data;
};

struct dofi_evd {
	struct dofi_obj obj;
	_Atomic uint32_t life;		/* counts the lives of this piece of memory */
	struct dofi_lock lock;
	struct dofi_signal left;	/* the waiter has left, for those who destroy the EVD */
	DAT_EVD_FLAGS flags;
	DAT_COUNT qlen;			/* granted */
	struct fid_cq *cq;		/* NULL: no DTO stream */
	int cq_fd;
	uint32_t cq_size, cq_held;	/* of a device: entries, and those set aside; cm_lock */

	struct dofi_event *ring;	/* room is a power of two */
	uint32_t room, head, tail;
	uint32_t notified;		/* notifying events ever pushed */
	uint32_t extra;			/* places beyond qlen that the ring has (dofi_evd_reserve) */

	struct dofi_cno *cno;
	bool enabled, waitable;
	bool waiter, sleeping, dying;
	bool dead;			/* asynchronous EVD that overflowed */
	bool overflowed;		/* reported; armed again when there is room */
	int wake_fd;			/* eventfd, -1 until the first sleep */
	uint32_t spin_ns;		/* adaptive */
	unsigned int unsignalled_streams;	/* EPs whose flags rule out thresholds above 1 */

	struct dofi_models models;	/* of its DTO streams; cm_lock */
	_Atomic unsigned int feeds;	/* streams that keep it from being freed */
	_Atomic uint32_t polls;		/* how often consumers read the CQ, or (device)
					 * looked at all; evd->lock to write */
	_Atomic uint64_t bytes_completed;		/* bytes of its completions; evd->lock to write */
	_Atomic uint64_t bytes_posted;	/* bytes of long sends and writes */
	bool served;			/* somebody else filled the ring since a consumer's look */
	uint8_t full_batches;			/* looks at the CQ in a row that found all they asked for */
	uint8_t batch, min_batch;		/* what the next look asks for; one after a failure does */
	_Atomic bool stalled;		/* post_recv rings the wakeup */

	struct dofi_list link;		/* ia->evds */
	enum dofi_evd_progress progress;
	bool covered_by_peer_cq;			/* napping because of consumers at the EPs' other CQs */
	unsigned int empty_polls;		/* looks in a row at a readable CQ that gave nothing */
	uint32_t seen_polls;		/* `polls` when last looked at, */
	uint64_t seen_posted;		/* `posted`, */
	uint64_t seen_completed;		/* `moved`, */
	uint64_t last_check;		/* and when that was */
	uint64_t next_check;		/* next look while napping or stalled */
	bool internal;			/* no handle: ia->sink */
};

static inline struct dofi_evd *dofi_evd_live(DAT_EVD_HANDLE handle)
{
	return (struct dofi_evd *)dofi_obj_live(handle, DAT_HANDLE_TYPE_EVD);
}

/* Around a call of libfabric that touches the CQ, for those who do not hold the lock anyway. */
static inline __attribute__((always_inline)) void dofi_evd_enter(struct dofi_evd *evd, bool bare)
{
	if (bare)
		dofi_lock(&evd->lock);
}

static inline __attribute__((always_inline)) void dofi_evd_leave(struct dofi_evd *evd, bool bare)
{
	if (bare)
		dofi_unlock(&evd->lock);
}

static inline void dofi_evd_polled(struct dofi_evd *evd)
{
	uint32_t n = atomic_load_explicit(&evd->polls, memory_order_relaxed);

	atomic_store_explicit(&evd->polls, n + 1, memory_order_relaxed);
}

static inline void dofi_evd_moved(struct dofi_evd *evd, uint64_t bytes)
{
	uint64_t n = atomic_load_explicit(&evd->bytes_completed, memory_order_relaxed);

	atomic_store_explicit(&evd->bytes_completed, n + bytes, memory_order_relaxed);
}

/* Software fabrics copy in the posting call, and so much takes as long as several polls. */
#define DOFI_LONG_COPY 32768

static inline void dofi_evd_posted(struct dofi_evd *evd, uint64_t bytes)
{
	if (bytes >= DOFI_LONG_COPY)
		atomic_fetch_add_explicit(&evd->bytes_posted, bytes, memory_order_relaxed);
}

static inline uint32_t dofi_evd_count(const struct dofi_evd *evd)
{
	return evd->tail - evd->head;
}

int dofi_evd_new(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct dofi_cno *cno,
		 bool internal, struct dofi_evd **out);
/* Nothing feeds it any more; a waiter is sent away with DAT_ABORT first. */
void dofi_evd_destroy(struct dofi_evd *evd);

/* Room for `room` events, at least as many as are queued; evd->lock held. False: no memory. */
bool dofi_evd_grow(struct dofi_evd *evd, uint32_t room);

/* Completions of DTOs are written where they are queued; evd->lock held. NULL: no memory. */
static inline struct dofi_event *dofi_evd_slot(struct dofi_evd *evd)
{
	if (dofi_evd_count(evd) == evd->room && !dofi_evd_grow(evd, evd->room * 2))
		return NULL;
	return &evd->ring[evd->tail & (evd->room - 1)];
}

/* The event in that place is complete. */
static inline void dofi_evd_commit(struct dofi_evd *evd, const struct dofi_event *event)
{
	evd->tail++;
	evd->notified += event->notify;
}

/* Every other stream; takes evd->lock. False: the queue is full and, but for software events and
 * connection requests, the overflow was reported. */
bool dofi_evd_push(struct dofi_evd *evd, const struct dofi_event *event);
/* The same, and *gate becomes true when the event is queued but nobody can have taken it yet: who
 * has the event finds the gate open, and who finds it open comes behind the event. */
void dofi_evd_push_opening(struct dofi_evd *evd, const struct dofi_event *event,
			   _Atomic bool *gate);
/* Beyond the granted length, up to `most` events, since a program waits for each; takes the
 * lock. */
void dofi_evd_push_extra(struct dofi_evd *evd, const struct dofi_event *event, uint32_t most);
/* Memory for one such event that cannot fail to come; given back by the other. False: there is
 * none. */
bool dofi_evd_reserve(struct dofi_evd *evd);
void dofi_evd_unreserve(struct dofi_evd *evd);
bool dofi_evd_has_room(struct dofi_evd *evd);
/* Copies the head of the ring, which is not empty, out; evd->lock held. */
void dofi_evd_pop(struct dofi_evd *evd, DAT_EVENT *event);
/* Wakes the waiter or triggers the CNO if a notifying event came since `notified_before`;
 * evd->lock held. */
void dofi_evd_notify(struct dofi_evd *evd, uint32_t notified_before);
/* Reads the CQ to its end (at most a few hundred entries); for the progress thread and teardown.
 * Returns the number of completions seen. */
unsigned int dofi_evd_service(struct dofi_evd *evd);
/* Reads it until everything that was there has been seen. */
void dofi_evd_drain(struct dofi_evd *evd);
void dofi_evd_wake_locked(struct dofi_evd *evd);
/* Queues an event on the IA's asynchronous EVD, if it has one still; most 0: within the granted
 * length, else as dofi_evd_push_extra. */
void dofi_async_push(struct dofi_ia *ia, const struct dofi_event *event, uint32_t most);
/* Event about the IA or one of its objects on the asynchronous EVD. */
void dofi_async_event(struct dofi_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle,
		      DAT_COUNT reason);

DAT_RETURN dofi_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN dofi_evd_free(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN dofi_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno);
DAT_RETURN dofi_evd_enable(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_disable(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_set_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_clear_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen);
DAT_RETURN dofi_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event);
DAT_RETURN dofi_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);
DAT_RETURN dofi_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *nmore);

#endif
