/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions: from libfabric's CQ to DAT events, in posting order, each exactly once. */
#ifndef DOFI_CQ_H
#define DOFI_CQ_H

#include "object/ep.h"

#define DOFI_CQ_BATCH 16
/* libfabric (verbs) asks a device once for each completion, and once more in vain if there are
 * fewer than it was asked for. So it is asked for one (evd->least), until it had one so often in a
 * row. */
#define DOFI_CQ_HITS 4

/* What a look at the CQ brought: `n` is what fi_cq_read returned. */
unsigned int dofi_cq_process(struct dofi_evd *evd, const struct fi_cq_data_entry *entry, ssize_t n);

/* Reads one batch of evd's CQ; there is one, and evd->lock is held. Returns what fi_cq_read does.
 * Inline, since looks at an empty queue are what a program that polls does most. */
static inline __attribute__((always_inline)) ssize_t
dofi_cq_read(struct dofi_evd *evd, struct fi_cq_data_entry *entry)
{
	size_t most = evd->batch;
	ssize_t n = fi_cq_read(evd->cq, entry, most);

	if (n != (ssize_t)most) {
		evd->full_batches = 0;
		evd->batch = evd->min_batch;
	} else if (++evd->full_batches == DOFI_CQ_HITS) {
		evd->batch = DOFI_CQ_BATCH;
	}
	return n;
}

/* Reads one batch into the ring; evd->lock held. Returns the number of entries read. */
static inline unsigned int dofi_cq_read_batch(struct dofi_evd *evd)
{
	struct fi_cq_data_entry entry[DOFI_CQ_BATCH];
	ssize_t n;

	if (!evd->cq)
		return 0;
	n = dofi_cq_read(evd, entry);
	return n == -FI_EAGAIN ? 0 : dofi_cq_process(evd, entry, n);
}

/* May one sleep on the CQ's descriptor? evd->lock held. */
bool dofi_cq_may_sleep(struct dofi_evd *evd);
/* The event of a completed operation, if it is due one. */
enum dofi_event_state {
	DOFI_EVENT_NONE,	/* no event: nothing will be dequeued */
	DOFI_EVENT_QUEUED,
	DOFI_EVENT_DEFERRED,	/* no memory: DOFI_DEFERRED_REPORT tries again */
};
enum dofi_event_state dofi_dto_queue_event(struct dofi_ep *ep, const struct dofi_dto *dto, struct dofi_evd *evd);
/* Reports what is done at the head of a queue; the lock of its EVD held. */
void dofi_dto_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd);
/* Both queues, if the EP is open; ep->lock may be held. */
void dofi_dto_report_rest(struct dofi_ep *ep);
/* Both queues, locks taken here; opens the gate (ep->open) first. */
void dofi_dto_open(struct dofi_ep *ep);
/* Completes whatever is still outstanding as flushed. The fabric has let go of it. */
void dofi_dto_flush(struct dofi_ep *ep);
/* The receives that the fabric had before the connection was up wait for the next one again. */
void dofi_dto_requeue(struct dofi_ep *ep);
/* Forgets whatever is outstanding without reporting it. */
void dofi_dto_forget(struct dofi_ep *ep);

#endif
