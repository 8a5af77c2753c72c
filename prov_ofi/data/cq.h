/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions: from libfabric's CQ to DAT events, in posting order, each exactly once.
 *
 * A source of this folder calls those above it in this list:
 *
 *   amo_sock.c       software atomic operations: sockets,
 *   amo_target.c     execution,
 *   amo_post.c       handing over
 *   fi_post.c        calls of libfabric
 *   dto_event.c      events of operations
 *   srq_cq.c         SRQ buffers that messages have consumed
 *   cq.c             completions
 *   dto_flush.c      queues when a connection begins and ends
 *   ud_message.c     messages of datagram endpoints
 *   dto_submit.c     submission to the fabric
 *   amo_answer.c     software atomic operations: answers, completion
 *   evd_dequeue.c    dequeuing
 *   dto_general.c    posts of all kinds, with all checks
 *   dto.c, rmr_bind.c, srq_calls.c, srq_watermark.c
 *                    other calls of the API
 */
#ifndef DOFI_CQ_H
#define DOFI_CQ_H

#include "object/ep.h"

/* QUIRK libfabric verbs: polls a device once per completion, and once more in vain if there are
 * fewer than requested. The batch is therefore one entry (evd->min_batch) until this number of
 * consecutive reads has filled it. */
#define DOFI_CQ_HITS 4

/* Processes the result of dofi_cq_read. Caller holds evd->lock. */
unsigned int dofi_cq_process(struct dofi_evd *evd, ssize_t n);

/* Reads one batch of evd->cq, which is not NULL, into evd->entry; returns the result of fi_cq_read.
 * Inline, since a polling program usually reads an empty CQ. Caller holds evd->lock. */
ALWAYS_INLINE ssize_t dofi_cq_read(struct dofi_evd *evd)
{
	ssize_t n = fi_cq_read(evd->cq, evd->entry, evd->batch);

	DOFI_ASSERT_LOCKED(&evd->lock);
	if (n == -FI_EAGAIN && !evd->full_batches)
		return n;
	if (n == evd->batch) {
		if (evd->full_batches < DOFI_CQ_HITS && ++evd->full_batches == DOFI_CQ_HITS)
			evd->batch = DOFI_CQ_BATCH;
	} else if (DOFI_UNLIKELY(evd->full_batches)) {
		evd->full_batches = 0;
		evd->batch = evd->min_batch;
	}
	return n;
}

/* Reads one batch into the ring; returns the number of entries read. Caller holds evd->lock. */
static inline unsigned int dofi_cq_read_batch(struct dofi_evd *evd)
{
	ssize_t n = evd->no_read ? -FI_EAGAIN : dofi_cq_read(evd);

	return n == -FI_EAGAIN ? 0 : dofi_cq_process(evd, n);
}

/* data/evd_dequeue.c */
/* Copies and removes the head of the ring, which is not empty. Caller holds evd->lock. */
void dofi_evd_pop(struct dofi_evd *evd, DAT_EVENT *event);
/* Reading for others than the taker of an event. */
/* Reads the CQ until it is empty (at most a few hundred entries); for the progress thread and
 * teardown. Returns the number of completions read; *requests, which may be NULL, grows by those of
 * requests that have events. */
unsigned int dofi_evd_service(struct dofi_evd *evd, unsigned int *requests);
/* Reads the CQ until all completions present at the call have been processed. */
void dofi_evd_drain(struct dofi_evd *evd);
/* The EP whose establishment the CQ awaits (evd->awaited); *since: when its message arrived. NULL:
 * none. */
struct dofi_ep *dofi_cq_awaited(struct dofi_evd *evd, uint64_t *since);
/* Ends that: processes what the last read has returned behind the message, up to the next such
 * message. The next reader reads the rest. */
void dofi_cq_resume(struct dofi_evd *evd);
/* True if the caller may sleep on the CQ's descriptor. Caller holds evd->lock. */
bool dofi_cq_may_sleep(struct dofi_evd *evd);

/* Reports completed operations at the head of a queue. Caller holds the lock of its EVD. */
void dofi_dto_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd);
/* The same of an open EP, without the buffers of its SRQ. */
void dofi_queue_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd);
/* The same as the first; takes that lock. Operations that the fabric does not execute, or that are
 * posted to a disconnected EP, complete at once, after all earlier ones. */
void dofi_dto_report_done(struct dofi_ep *ep, struct dofi_queue *q);
/* Completes a request that the fabric does not execute. Caller holds ep->lock. */
void dofi_dto_finish(struct dofi_dto *dto, uint8_t status);
/* The same for both queues, if the EP is open; ep->lock may be held. */
void dofi_dto_report_rest(struct dofi_ep *ep);
/* Opens the gate (ep->open), then reports on both queues; takes the locks. */
void dofi_dto_open(struct dofi_ep *ep);
/* Completes all outstanding operations as flushed. The fabric no longer uses them. */
void dofi_dto_flush(struct dofi_ep *ep);
/* Requeues receives posted to the fabric before the connection was established, for the next
 * connection. */
void dofi_dto_requeue(struct dofi_ep *ep);
/* Discards all outstanding operations without reporting them. */
void dofi_dto_forget(struct dofi_ep *ep);

#endif
