/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues.
 *
 * The fabric's shared receive context holds the buffers and gives them to connections in posting
 * order. This room keeps what the fabric does not: descriptors, counts, watermarks, and which EP
 * a completion belongs to (object/conn_id.h).
 *
 *   posted - taken     available: still in the queue
 *   posted - dequeued  outstanding: the consumer has not seen the completion yet; max_dtos at most
 *   taken - dequeued   held, each by one EP
 *
 * Locks: srq->lock is a leaf; it guards posting and the list of EPs. Completions come under the
 * lock of the EVD concerned and give their descriptors back without a lock.
 */
#ifndef DOFI_SRQ_H
#define DOFI_SRQ_H

#include "progress/deferred_work.h"

struct dofi_srq {
	struct dofi_obj obj;
	struct dofi_lock lock;
	struct dofi_pz *pz;
	struct fid_ep *srx;
	uint32_t depth;			/* of srx */
	struct dofi_msg_prefixes prefixes;	/* one per descriptor it may ever have */
	DAT_COUNT max_dtos, max_iov;
	struct dofi_dto **block;	/* descriptors, in as many blocks as it was ever enlarged */
	size_t blocks;
	uint32_t room;			/* descriptors in all of them */
	struct dofi_dto *spare;		/* free ones; lock */
	_Atomic(struct dofi_dto *) returned;	/* free ones that nobody has collected yet */
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

/* The EP receives from the SRQ from now on; and no longer. */
void dofi_srq_attach(struct dofi_srq *srq, struct dofi_ep *ep);
void dofi_srq_detach(struct dofi_ep *ep);
void dofi_srq_destroy(struct dofi_srq *srq);

/* Gives a buffer to the fabric. */
int dofi_srq_hand_over(struct dofi_srq *srq, struct dofi_dto *dto);

/* ---- data/srq_cq.c: what completions do; evd->lock of the EP's receive EVD held ---- */

/* A buffer of the SRQ came back from the fabric without a message: it is posted again. */
void dofi_srq_unfilled(struct dofi_dto *dto);
/* A buffer of the SRQ came back from the fabric. NULL: to nobody, and it was posted again. */
struct dofi_ep *dofi_srq_owner(struct dofi_dto *dto, struct dofi_evd *evd, uint64_t data);
/* The operation, status known, waits for the EP to open or is reported at once. */
void dofi_srq_finish(struct dofi_ep *ep, struct dofi_dto *dto, struct dofi_evd *evd);
/* Reports what waited. */
void dofi_srq_report(struct dofi_ep *ep, struct dofi_evd *evd);
/* How many wait for the EP to open. */
uint32_t dofi_srq_unreported(const struct dofi_ep *ep);
/* Forgets what waited. */
void dofi_srq_forget(struct dofi_ep *ep);
/* The consumer takes an event of an SRQ's receive. */
void dofi_srq_dequeued(struct dofi_srq *srq, struct dofi_ep *ep);
/* The receives in the EVD do not count any more, for the SRQ nor for a new EP with this handle. */
void dofi_srq_disown(struct dofi_ep *ep, struct dofi_evd *evd);

/* data/srq_watermark.c: a message has taken a receive of an EP without SRQ that has watermarks; `e` is its
 * event. */
void dofi_ep_watermark_taken(struct dofi_ep *ep, struct dofi_event *e);
/* One more buffer is with this EP. */
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

/* There is a connection to break, which there is not yet when a message comes in early. */
static inline void dofi_srq_check_hard_mark(struct dofi_ep *ep)
{
	int32_t hard = atomic_load_explicit(&ep->shared.hard, memory_order_relaxed);

	if (hard < 0 || atomic_load_explicit(&ep->shared.held, memory_order_relaxed) <= hard)
		return;
	ep->faulted = true;
	dofi_deferred_add(ep, DOFI_DEFERRED_BREAK);
}

/* Raises what passed watermarks; no lock held but cm_lock. */
void dofi_srq_raise(struct dofi_ep *ep);

DAT_RETURN dofi_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *nbufs, DAT_COUNT *span);
DAT_RETURN dofi_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);

DAT_RETURN dofi_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *srq);
DAT_RETURN dofi_srq_free(DAT_SRQ_HANDLE srq);
DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie);
DAT_RETURN dofi_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN dofi_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT n);
DAT_RETURN dofi_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT lw);

#endif
