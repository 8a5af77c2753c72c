/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues.
 *
 * The fabric's shared receive context holds the buffers and assigns them to connections in posting
 * order. This module keeps descriptors, counts, watermarks, and the EP to which a completion
 * belongs (object/conn_id.h).
 *
 *   posted - taken     available: still in the queue
 *   posted - dequeued  outstanding: the completion is not dequeued; at most max_dtos
 *   taken - dequeued   held, each by one EP
 *
 * srq->lock guards posting and the list of EPs. Completions are processed under the lock of their
 * EVD and return their descriptors without srq->lock.
 */
#ifndef DOFI_SRQ_H
#define DOFI_SRQ_H

#include "object/deferred_work.h"

struct dofi_srq {
	struct dofi_obj obj;
	struct dofi_lock lock;
	struct dofi_pz *pz;
	struct fid_ep *srx;
	struct fid_ep *post_to; /* srx, or what stands for it (fabrics/verbs/srq_stand_in.h) */
	uint32_t depth;         /* the most that srx can hold */
	struct dofi_msg_prefixes
		prefixes; /* one per descriptor up to `depth`, where messages have them */
	DAT_COUNT max_dtos, max_iov;
	struct dofi_dto **block; /* descriptors, one block per enlargement */
	size_t blocks;
	uint32_t capacity;                   /* descriptors in all of them */
	struct dofi_dto *spare;              /* free ones; lock */
	_Atomic(struct dofi_dto *) returned; /* free ones, not yet moved to `spare` */
	_Atomic uint32_t posted;             /* lock */
	_Atomic uint32_t taken, dequeued;
	_Atomic int32_t low_mark; /* 0: none */
	_Atomic bool low_armed, low_passed;
	struct dofi_list eps; /* ep->shared.link; lock */
	unsigned int users;   /* EPs; lock */
};

static inline struct dofi_srq *dofi_srq_live(DAT_SRQ_HANDLE handle)
{
	return (struct dofi_srq *)dofi_obj_live(handle, DAT_HANDLE_TYPE_SRQ);
}

/* Accounts for the dequeued completion of an SRQ buffer. */
static inline void dofi_srq_dequeued(struct dofi_srq *srq, struct dofi_ep *ep)
{
	atomic_fetch_add_explicit(&srq->dequeued, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&ep->shared.held, 1, memory_order_relaxed);
}

/* Checks the soft watermark after the EP has received one more buffer. */
static inline void dofi_srq_check_soft_mark(struct dofi_ep *ep)
{
	int32_t soft = atomic_load_explicit(&ep->shared.soft, memory_order_relaxed);
	int32_t held = atomic_fetch_add(&ep->shared.held, 1) + 1;

	if (soft >= 0 && held > soft &&
	    atomic_compare_exchange_strong(&ep->shared.soft, &soft, -1)) {
		atomic_store(&ep->shared.soft_passed, true);
		dofi_deferred_add(ep, DOFI_DEFERRED_MARKS);
	}
}

/* Checks the hard watermark. Call once the connection exists, which exceeding the watermark breaks:
 * a message may complete before. */
static inline void dofi_srq_check_hard_mark(struct dofi_ep *ep)
{
	int32_t hard = atomic_load_explicit(&ep->shared.hard, memory_order_relaxed);

	if (hard < 0 || atomic_load_explicit(&ep->shared.held, memory_order_relaxed) <= hard)
		return;
	ep->faulted = true;
	dofi_deferred_add(ep, DOFI_DEFERRED_BREAK);
}

#endif
