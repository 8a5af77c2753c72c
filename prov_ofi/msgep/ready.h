/* SPDX-License-Identifier: BSD-2-Clause */
/* Ready rings: report to a reader which of many connections to the same peer have news. (hot)
 *
 * All connections between the same queues of two processes, except for the first few, have a ready
 * ring per direction in memory that both map. A writer that has put a frame into a connection's
 * ring, or has returned credits, appends the connection's number, which its reader has chosen. So a
 * reader polls one word instead of each connection, and visits the connections in the order in
 * which they became ready.
 *
 * The writers do not wait for the reader and do not know its position: an entry contains its own
 * number, counted from 1, and a reader that finds a later one than it expects has been overtaken,
 * and visits all connections of the ring. Entries become visible in order, each after the frame
 * that it announces (release, acquire). They are hints: a false one causes a visit that finds
 * nothing, and a peer that writes none delays its own connections only.
 *
 * A reader that is about to block sets `asleep`, makes the kernel drain the writers' store buffers,
 * and reads its ring again; a writer loads `asleep` after it has stored its entry.
 *
 * Locks: read_lock ranks between cq->poll and ep->lock, write_lock below ep->lock.
 */
#ifndef DOFI_MSGEP_READY_H
#define DOFI_MSGEP_READY_H

#include <sys/types.h>

#include "msgep/msgep.h"

#define MSGEP_READY_ROOM 4096u
/* Maximum number of connections of a ring. */
#define MSGEP_READY_EPS (1u << 24)

/* One direction, in shared memory. */
struct msgep_ready_ring {
	_Alignas(64) _Atomic uint32_t asleep; /* the reader; its writer clears it, and wakes it */
	/* Number of the entry in the high half, of the connection in the low half. */
	_Alignas(64) _Atomic uint64_t entries[MSGEP_READY_ROOM];
};

struct msgep_ready_ep {
	struct msgep_ep *ep; /* NULL: the number is free */
	bool active;         /* in `active` */
	bool due;            /* has to be processed, whatever `ready` returns */
};

/* The connections between the same queues of two processes. */
struct msgep_ready {
	struct dofi_list link; /* rx_cq->ready_pairs; its poll lock */
	uint32_t refs;         /* connections; rx_cq->poll */
	struct msgep_cq *rx_cq, *tx_cq;
	const struct msgep_transport *transport;
	/* the peer: known to the passive side, and to the active one */
	bool active_side;
	pid_t pid;
	uint64_t peer_rx, peer_tx;
	dev_t dev;
	ino_t ino;
	void *map; /* NULL: there are too few connections */
	int fd;    /* passive side: of the memory; else -1 */

	struct dofi_lock write_lock;
	uint32_t tail; /* number of the last entry */
	struct msgep_ready_ring *out;

	_Alignas(64) struct dofi_lock read_lock;
	_Atomic uint32_t head;     /* number of the last entry that was read */
	_Atomic uint32_t n_active; /* written under read_lock, like all that follow */
	struct msgep_ready_ring *in;
	struct msgep_ready_ep *eps; /* by number */
	uint32_t *active;           /* numbers of connections that are polled each time */
	uint32_t n_eps, capacity;   /* numbers in use or free; of both arrays */
	uint32_t free_numbers;      /* of n_eps */
};

/* Announces a connection of the peer. Returns true if the peer has to be woken. fences: one side's
 * kernel lacks membarrier. */
static inline bool msgep_ready_put(struct msgep_ready *r, uint32_t number, bool fences)
{
	uint32_t tail;

	dofi_lock(&r->write_lock);
	tail = ++r->tail;
	atomic_store_explicit(&r->out->entries[tail % MSGEP_READY_ROOM],
			      (uint64_t)tail << 32 | number, memory_order_release);
	dofi_unlock(&r->write_lock);
	if (fences)
		atomic_fetch_add(&r->out->asleep, 0);
	atomic_signal_fence(memory_order_seq_cst);
	return atomic_load_explicit(&r->out->asleep, memory_order_relaxed) &&
	       atomic_exchange(&r->out->asleep, 0);
}

/* The entry after the last one that was read; *ahead: how many entries it is ahead of that, 0 or
 * less: nothing has been written. */
static inline uint64_t msgep_ready_next(const struct msgep_ready *r, int32_t *ahead)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t entry = atomic_load_explicit(&r->in->entries[(head + 1) % MSGEP_READY_ROOM],
					      memory_order_acquire);

	*ahead = (int32_t)((uint32_t)(entry >> 32) - head);
	return entry;
}

/* True if a poll would find nothing. Without a lock. */
static inline bool msgep_ready_is_empty(const struct msgep_ready *r)
{
	int32_t ahead;

	msgep_ready_next(r, &ahead);
	return ahead <= 0 && !atomic_load_explicit(&r->n_active, memory_order_relaxed);
}

/* cq_ready.c. Processes connections that have become ready, or still were at the last poll. False:
 * some were skipped, because other threads held their locks. */
bool msgep_ready_poll(struct msgep_ready *r, struct msgep_cq_direct *direct);
/* True if a thread may block; after `asleep` has been set and the stores have been drained. */
bool msgep_ready_is_quiet(struct msgep_ready *r);
/* The connection ep, which is up, is visited when it is announced, and no more polled. Without
 * memory nothing changes. Caller holds eq->lock. */
void msgep_ready_add(struct msgep_ep *ep);
/* No thread visits it after this. Caller holds eq->lock. */
void msgep_ready_remove(struct msgep_ep *ep);

#endif
