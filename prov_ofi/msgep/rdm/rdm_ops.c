/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport over an RDM endpoint of libfabric: operations called for an endpoint.
 *
 * See rdm.h for the protocol and the locks. A frame is written where it is sent from, and read
 * where it was received; posting and receiving a frame copies nothing and allocates nothing.
 */
#include "base/cancel.h"
#include "msgep/rdm/rdm_int.h"

/* Smallest number of ordinary packets that a large packet replaces. */
#define BULK_FROM 4

/* Gets a packet to send from. */
static bool rdm_get_packet(struct rdm_conn *conn, int ch)
{
	struct dofi_lock *lock = &conn->net->domain->transport_lock;

	if (conn->filling[ch])
		return true;
	dofi_lock(lock);
	if (conn->taken < rdm_tx_limit(conn))
		conn->filling[ch] = rdm_packet_get(conn);
	dofi_unlock(lock);
	return conn->filling[ch] != NULL;
}

/* A large one, if that pays and the peer has granted a credit. */
static bool rdm_get_large(struct rdm_conn *conn, int ch, size_t want)
{
	struct dofi_lock *lock = &conn->net->domain->transport_lock;

	if (!conn->large_payload || want < (size_t)BULK_FROM * conn->payload)
		return false;
	if (conn->large.filling[ch])
		return true;
	dofi_lock(lock);
	conn->large.filling[ch] = rdm_large_get(conn);
	dofi_unlock(lock);
	return conn->large.filling[ch] != NULL;
}

static struct msgep_frame *rdm_reserve(struct msgep_ep *ep, int channel, size_t want, size_t *space)
{
	struct rdm_conn *conn = ep->w.conn;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!conn || !conn->has_peer_params || conn->broken)
		return NULL;
	if (!rdm_has_credit(conn, channel) || !rdm_get_packet(conn, channel)) {
		/* Recorded, so that the thread that makes room wakes the sender. */
		atomic_store(&conn->wanted[channel], true);
		/* Room may have been made before that. */
		if (!rdm_has_credit(conn, channel) || !rdm_get_packet(conn, channel))
			return NULL;
	}
	atomic_store(&conn->wanted[channel], false);
	if (rdm_get_large(conn, channel, want)) {
		*space = conn->large_payload;
		return rdm_frame(conn->large.filling[channel]);
	}
	*space = conn->payload;
	return rdm_frame(conn->filling[channel]);
}

/* Posts released packets as receives again; after that they count as consumed. */
static void rdm_return_done(struct rdm_conn *conn)
{
	struct rdm_net *net = conn->net;
	struct rdm_packet *packet;
	bool large = false;

	while ((packet = conn->done)) {
		conn->done = packet->next;
		large |= packet->large;
		rdm_packet_release(conn, packet);
		rdm_packet_return(net, packet);
	}
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		conn->returned[ch] = atomic_load(&conn->expected[ch]);
	if (!large)
		return;
	rdm_large_update(conn);
	rdm_large_grant(net);
}

static void rdm_commit(struct msgep_ep *ep, int channel, struct msgep_frame *frame)
{
	struct rdm_conn *conn = ep->w.conn;
	struct rdm_packet *large = conn->large.filling[channel];
	struct rdm_packet *packet = conn->filling[channel];
	uint32_t len = (uint32_t)RDM_PACKET_HDR + frame->len;
	uint32_t seq;

	DOFI_ASSERT_LOCKED(&ep->lock);
	DOFI_NO_CANCEL();
	dofi_lock(&ep->domain->transport_lock);
	rdm_return_done(conn);
	msgep_reply_posted(&conn->reply, conn->net->empty_polls);
	seq = atomic_fetch_add(&conn->sent[channel], 1);
	if (channel == MSGEP_REQ && frame->kind == MSGEP_MSG && (frame->flags & MSGEP_LAST))
		conn->message_end = seq + 1;
	if (large && frame == rdm_frame(large)) {
		conn->large.filling[channel] = NULL;
		rdm_send(conn, large, (uint8_t)channel, seq, len);
	} else {
		conn->filling[channel] = NULL;
		rdm_send(conn, packet, (uint8_t)channel, seq, len);
	}
	/* Gets the next one at the same time: reserving then takes no lock. */
	if (!conn->filling[channel] && conn->taken < rdm_tx_limit(conn))
		conn->filling[channel] = rdm_packet_get(conn);
	dofi_unlock(&ep->domain->transport_lock);
}

static const struct msgep_frame *rdm_peek(struct msgep_ep *ep, int channel, const void **payload)
{
	struct rdm_conn *conn = ep->w.conn;
	struct rdm_packet *packet = conn && !conn->violated ? rdm_next(conn, channel) : NULL;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!packet)
		return NULL;
	*payload = msgep_payload(rdm_frame(packet));
	return rdm_frame(packet);
}

/* Advances the sequence number first: a repeated packet then finds its slot taken, or is an old
 * one. */
static void rdm_release(struct msgep_ep *ep, int channel)
{
	struct rdm_conn *conn = ep->w.conn;
	uint32_t seq = atomic_load(&conn->expected[channel]);
	_Atomic(struct rdm_packet *) *slot = rdm_slot(conn, channel, seq);
	struct rdm_packet *packet = atomic_load(slot);

	DOFI_ASSERT_LOCKED(&ep->lock);
	atomic_store(&conn->expected[channel], seq + 1);
	atomic_store(slot, NULL);
	packet->next = conn->done;
	conn->done = packet;
}

static uint32_t rdm_arrived(struct msgep_ep *ep)
{
	return ep->w.conn ? atomic_load(&ep->w.conn->confirmed) : 0;
}

static void rdm_acknowledge(struct msgep_ep *ep, uint32_t count)
{
	if (ep->w.conn)
		atomic_store_explicit(&ep->w.conn->acks, count, memory_order_relaxed);
}

static uint32_t rdm_acknowledged_count(struct msgep_ep *ep)
{
	struct rdm_conn *conn = ep->w.conn;
	uint32_t count = conn ? atomic_load(&conn->acked) : 0;

	if (conn)
		atomic_store_explicit(&conn->acked_processed, count, memory_order_relaxed);
	return count;
}

static void rdm_flush(struct msgep_ep *ep)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn || !conn->done)
		return;
	DOFI_NO_CANCEL();
	dofi_lock(&ep->domain->transport_lock);
	rdm_return_done(conn);
	rdm_credit_if_due(conn);
	/* Their sender may be waiting for that, or for the acknowledgement. */
	if (conn->keep_order || conn->acks != conn->acks_reported)
		rdm_list_owing(conn);
	dofi_unlock(&ep->domain->transport_lock);
}

/* The receive queue has several endpoints. */
static void rdm_keep_order(struct msgep_ep *ep)
{
	if (!ep->w.conn)
		return;
	dofi_lock(&ep->domain->transport_lock);
	ep->w.conn->keep_order = true;
	dofi_unlock(&ep->domain->transport_lock);
}

/* True if a sender waits for room, and there is some. */
static bool rdm_credits_arrived(struct rdm_conn *conn)
{
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		if (atomic_load(&conn->wanted[ch]) && rdm_has_credit(conn, ch) &&
		    atomic_load(&conn->taken) < rdm_tx_limit(conn))
			return true;
	return false;
}

/* True if anything can be processed now. A request after a message without a receive cannot. */
static bool rdm_arrived_count(struct msgep_ep *ep, struct rdm_conn *conn)
{
	if (conn->broken && !ep->aborted)
		return true;
	if (conn->violated)
		return false;
	return rdm_next(conn, MSGEP_ANS) ||
	       (!atomic_load_explicit(&ep->stalled, memory_order_relaxed) &&
		rdm_next(conn, MSGEP_REQ)) ||
	       rdm_acks_arrived(conn) || msgep_ep_completes_at(ep, atomic_load(&conn->confirmed));
}

static bool rdm_ready(struct msgep_ep *ep)
{
	struct rdm_conn *conn;

	/* Before MSGEP_UP it may still be created. */
	if (atomic_load_explicit(&ep->state, memory_order_acquire) != MSGEP_UP)
		return false;
	conn = ep->w.conn;
	return conn && (rdm_arrived_count(ep, conn) || rdm_credits_arrived(conn));
}

/* wait_fds report all arrivals; the peer needs no notification. */
static bool rdm_quiet(struct msgep_ep *ep, bool space)
{
	struct rdm_conn *conn = ep->w.conn;

	return !conn || !(rdm_arrived_count(ep, conn) || (space && rdm_credits_arrived(conn)));
}

const struct msgep_transport msgep_transport_rdm = {
	.name = "packets",
	.id = 2,
	.find_inner = rdm_find_inner,
	.domain_open = rdm_open,
	.domain_close = rdm_close,
	.wait_fds = rdm_wait_fds,
	.progress = rdm_progress,
	.may_sleep = rdm_may_sleep,
	.busy = rdm_busy,
	.get_params = rdm_get_params,
	.set_peer_params = rdm_set_peer_params,
	.close = rdm_conn_end,
	.check_path = rdm_probe,
	.path_checked = rdm_path_ok,
	.counts = rdm_counts,
	.reports_news = true,
	.awaits_peer = true,
	.lost = rdm_missing,
	.finish = rdm_finish,
	.finished = rdm_finished,
	.drained = rdm_drained,
	.reserve = rdm_reserve,
	.commit = rdm_commit,
	.peek = rdm_peek,
	.release = rdm_release,
	.flush = rdm_flush,
	.arrived = rdm_arrived,
	.acknowledge = rdm_acknowledge,
	.acknowledged = rdm_acknowledged_count,
	.keep_order = rdm_keep_order,
	.ready = rdm_ready,
	.quiet = rdm_quiet,
	.touch = msgep_ep_touch,
};
