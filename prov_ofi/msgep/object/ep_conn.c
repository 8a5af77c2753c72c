/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection of an endpoint begins, and is ended by the peer. */
#include "msgep/ready.h"

/* Batches processed in one poll after the peer's end. */
#define LAST_ROUNDS 1024

static void ep_count_local(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->eq->lock);
	ep->counts_as_local = true;
	atomic_fetch_add(&ep->rx_cq->n_local, 1);
	if (ep->tx_cq != ep->rx_cq)
		atomic_fetch_add(&ep->tx_cq->n_local, 1);
}

void msgep_ep_up(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->eq->lock);
	dofi_lock(&ep->lock);
	atomic_store(&ep->state, MSGEP_UP);
	atomic_store(&ep->watch.used, !!ep->watch.done);
	/* Its parameters announced the order, unless other receivers have been added since. */
	if (ep->transport->keep_order && msgep_cq_is_shared(ep->rx_cq))
		ep->transport->keep_order(ep);
	/* Frames that arrived earlier have not been processed. */
	if (ep->transport->touch)
		ep->transport->touch(ep);
	dofi_unlock(&ep->lock);
	if (ep->transport->doorbell &&
	    !(msgep_cq_add_doorbell(ep->rx_cq, ep) && msgep_cq_add_doorbell(ep->tx_cq, ep))) {
		dofi_lock(&ep->lock);
		msgep_ep_abort(ep, "the kernel refuses to watch its doorbell");
		dofi_unlock(&ep->lock);
	}
	if (ep->transport->local && !ep->closing)
		ep_count_local(ep);
	if (ep->ready && !ep->closing)
		msgep_ready_add(ep);
	if (ep->transport->reports_news && !ep->closing) {
		msgep_cq_rely_on_reports(ep->rx_cq, ep);
		if (ep->tx_cq != ep->rx_cq)
			msgep_cq_rely_on_reports(ep->tx_cq, ep);
	}
	/* Blocked threads have not armed this peer's doorbell. */
	msgep_cq_wake(ep->rx_cq);
	msgep_cq_wake(ep->tx_cq);
}

/* Bounded: a peer that keeps writing, against the protocol, must not block the event queue. The
 * next poll processes the rest. */
bool msgep_ep_peer_ended(struct msgep_ep *ep, bool died)
{
	const struct msgep_transport *transport = ep->transport;
	unsigned int rounds = LAST_ROUNDS;
	bool over;

	DOFI_ASSERT_LOCKED(&ep->eq->lock);
	if (transport->progress)
		transport->progress(ep->domain, NULL);
	dofi_lock(&ep->lock);
	while (msgep_proto_progress(ep) && --rounds)
		;
	over = !ep->w.any || transport->drained(ep, died);
	if (over)
		atomic_store(&ep->state, MSGEP_DOWN);
	dofi_unlock(&ep->lock);
	return over;
}
