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
	uint32_t depth;			/* of srx */
	struct dofi_msg_prefixes prefixes;	/* one per descriptor up to `depth` */
	DAT_COUNT max_dtos, max_iov;
	struct dofi_dto **block;	/* descriptors, one block per enlargement */
	size_t blocks;
	uint32_t room;			/* descriptors in all of them */
	struct dofi_dto *spare;		/* free ones; lock */
	_Atomic(struct dofi_dto *) returned;	/* free ones, not yet moved to `spare` */
	_Atomic uint32_t posted;	/* lock */
	_Atomic uint32_t taken, dequeued;
	_Atomic int32_t low_mark;	/* 0: none */
	_Atomic bool low_armed, low_passed;
	struct dofi_list eps;		/* ep->shared.link; lock */
	unsigned int users;		/* EPs; lock */
	uint32_t seen_stalls;		/* of ia->stalls; lock */
};

static inline struct dofi_srq *dofi_srq_live(DAT_SRQ_HANDLE handle)
{
	return (struct dofi_srq *)dofi_obj_live(handle, DAT_HANDLE_TYPE_SRQ);
}

/* Attach the EP to the SRQ from which it receives; detach it. */
void dofi_srq_attach(struct dofi_srq *srq, struct dofi_ep *ep);
void dofi_srq_detach(struct dofi_ep *ep);
void dofi_srq_destroy(struct dofi_srq *srq);

/* Posts a buffer to the fabric. */
int dofi_srq_hand_over(struct dofi_srq *srq, struct dofi_dto *dto);

/* ---- data/srq_cq.c: completions. Caller holds the lock of the EP's receive EVD. ---- */

/* Reposts a buffer that the fabric returned without a message. */
void dofi_srq_unfilled(struct dofi_dto *dto);
/* Returns the EP to which a completed buffer belongs. NULL: none; the buffer was reposted. */
struct dofi_ep *dofi_srq_owner(struct dofi_dto *dto, struct dofi_evd *evd, uint64_t data);
/* Reports the completed operation, or queues it until the EP opens. */
void dofi_srq_finish(struct dofi_ep *ep, struct dofi_dto *dto, struct dofi_evd *evd);
/* Reports the operations queued by dofi_srq_finish. */
void dofi_srq_report(struct dofi_ep *ep, struct dofi_evd *evd);
/* Returns the number of operations that wait for the EP to open. */
uint32_t dofi_srq_unreported(const struct dofi_ep *ep);
/* Discards the operations queued by dofi_srq_finish. */
void dofi_srq_forget(struct dofi_ep *ep);
/* Accounts for the dequeued completion of an SRQ buffer. */
void dofi_srq_dequeued(struct dofi_srq *srq, struct dofi_ep *ep);
/* Stops counting the receives in the EVD, for the SRQ and for a new EP with this handle. */
void dofi_srq_disown(struct dofi_ep *ep, struct dofi_evd *evd);

/* Accounts for a message that has consumed a receive of an EP without SRQ that has watermarks; `e`
 * is its event (data/srq_watermark.c). */
void dofi_ep_watermark_taken(struct dofi_ep *ep, struct dofi_event *e);
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

/* Raises the events of watermarks that were passed. Caller holds no lock other than cm_lock. */
void dofi_srq_raise(struct dofi_ep *ep);

#endif
