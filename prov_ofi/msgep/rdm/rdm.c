/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport over an RDM endpoint of libfabric: operations called for an endpoint.
 *
 * See rdm.h for the protocol and the locks. A frame is written where it is sent from, and read
 * where it was received; posting and receiving a frame copies nothing and allocates nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/be_bytes.h"
#include "msgep/rdm/rdm_int.h"

/* Smallest number of ordinary packets that a large packet replaces. */
#define BULK_FROM 4

/* ---- handshake ---- */

/* The connection of an endpoint; created by the first call, get_params or set_peer_params. */
static struct rdm_conn *rdm_own_conn(struct msgep_ep *ep)
{
	if (!ep->w.conn)
		ep->w.conn = rdm_conn_get(rdm_net_of(ep->domain), ep);
	return ep->w.conn;
}

static int rdm_get_params(struct msgep_ep *ep, bool active, struct msgep_params *out)
{
	struct rdm_net *net = rdm_net_of(ep->domain);
	struct rdm_conn *conn;
	uint8_t *p = out->data;

	(void)active;
	if (net->name_len > RDM_NAME_MAX)
		return -FI_ETOOSMALL;
	dofi_lock(&ep->domain->transport_lock);
	conn = rdm_own_conn(ep);
	if (conn && ep->rx_cq && msgep_cq_is_shared(ep->rx_cq))
		conn->keep_order = true;
	dofi_unlock(&ep->domain->transport_lock);
	if (!conn)
		return -FI_ENOMEM;
	p = dofi_put_be(p, RDM_VERSION, 1);
	p = dofi_put_be(p, net->name_len, 1);
	p = dofi_put_be(p, net->window, 2);
	p = dofi_put_be(p, net->packet_size, 4);
	p = dofi_put_be(p, net->large.size, 4);
	p = dofi_put_be(p, net->copied, 4);
	p = dofi_put_be(p, conn->index, 4);
	p = dofi_put_be(p, conn->generation, 4);
	p = dofi_put_be(p, conn->token, 8);
	memcpy(p, net->name, net->name_len);
	out->len = (uint16_t)(RDM_PARAMS_HDR + net->name_len);
	out->fd = -1;
	return 0;
}

static int rdm_check_params(const struct msgep_params *in)
{
	uint32_t window, packet, large;
	size_t name;

	if (in->len > MSGEP_PARAMS_MAX || in->len <= RDM_PARAMS_HDR || in->data[0] != RDM_VERSION)
		return -FI_EINVAL;
	name = in->data[1];
	window = (uint32_t)dofi_get_be(in->data + 2, 2);
	packet = (uint32_t)dofi_get_be(in->data + 4, 4);
	large = (uint32_t)dofi_get_be(in->data + 8, 4);
	if (name > RDM_NAME_MAX || name != in->len - (size_t)RDM_PARAMS_HDR || !window ||
	    window > RDM_WINDOW_MAX || packet < 2 * RDM_PACKET_HDR || packet > RDM_PACKET_MAX ||
	    (large && large < packet) || large > RDM_LARGE_MAX)
		return -FI_EINVAL;
	return 0;
}

/* Sends a credit packet if half a window is owed and no other packet carries the counts. */
static void rdm_credit_if_due(struct rdm_conn *conn)
{
	bool due = false;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		due |= conn->returned[ch] - conn->reported[ch] >= (conn->net->window + 1) / 2;
	if (due && conn->has_peer_params && !conn->broken)
		rdm_send_credit(conn);
}

/* An address of another format or length does not belong to this provider. */
static bool rdm_is_valid_name(const struct rdm_net *net, const uint8_t *name, size_t len)
{
	uint32_t format = net->inner.info->addr_format;

	if (len != net->name_len)
		return false;
	if (format != FI_SOCKADDR && format != FI_SOCKADDR_IN && format != FI_SOCKADDR_IN6)
		return true;
	return len >= sizeof(sa_family_t) && !memcmp(name, net->name, sizeof(sa_family_t));
}

static int rdm_parse_params(struct rdm_conn *conn, const struct msgep_params *in)
{
	struct rdm_net *net = conn->net;
	uint32_t packet = (uint32_t)dofi_get_be(in->data + 4, 4);
	uint32_t large = (uint32_t)dofi_get_be(in->data + 8, 4);
	uint32_t copied = (uint32_t)dofi_get_be(in->data + 12, 4);
	char text[DOFI_ADDR_TEXT];
	int ret;

	if (copied != net->copied) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a libfabric that copies messages of up to %u "
			 "bytes, got one with a limit of %u; try: libfabric from 1.18 on both "
			 "sides, or before 1.18 on both; unset FI_OFI_RXM_BUFFER_SIZE in programs "
			 "that use libfabric themselves",
			 dofi_peer_text(&conn->ep->peer, text), net->copied, copied);
		return -FI_EINVAL;
	}
	if (conn->has_peer_params ||
	    !rdm_is_valid_name(net, in->data + RDM_PARAMS_HDR, in->data[1]))
		return -FI_EINVAL;
	ret = rdm_peer_get(net, in->data + RDM_PARAMS_HDR, in->data[1], &conn->peer);
	if (ret)
		return ret;
	conn->peer_window = (uint32_t)dofi_get_be(in->data + 2, 2);
	conn->payload =
		(packet < net->packet_size ? packet : net->packet_size) - (uint32_t)RDM_PACKET_HDR;
	if (large > net->large.size)
		large = net->large.size;
	conn->large_payload = large ? large - (uint32_t)RDM_PACKET_HDR : 0;
	conn->peer_index = (uint32_t)dofi_get_be(in->data + 16, 4);
	conn->peer_generation = (uint32_t)dofi_get_be(in->data + 20, 4);
	conn->peer_token = dofi_get_be(in->data + 24, 8);
	atomic_store(&conn->has_peer_params, true);
	/* The peer may have sent something meanwhile. */
	rdm_credit_if_due(conn);
	rdm_large_update(conn);
	rdm_large_grant(net);
	if (rdm_probe_due(conn))
		rdm_send_credit(conn);
	rdm_list_owing(conn);
	return 0;
}

static int rdm_set_peer_params(struct msgep_ep *ep, bool active, struct msgep_params *in)
{
	struct rdm_conn *conn;
	int ret = rdm_check_params(in);

	(void)active;
	if (ret) {
		dofi_log(DOFI_LOG_DEBUG, "rejected connection parameters of %u bytes", in->len);
		return ret;
	}
	dofi_lock(&ep->domain->transport_lock);
	conn = rdm_own_conn(ep);
	ret = conn ? rdm_parse_params(conn, in) : -FI_ENOMEM;
	dofi_unlock(&ep->domain->transport_lock);
	return ret;
}

static void rdm_conn_end(struct msgep_ep *ep)
{
	if (!ep->w.conn)
		return;
	dofi_lock(&ep->domain->transport_lock);
	rdm_conn_close(ep->w.conn);
	ep->w.conn = NULL;
	dofi_unlock(&ep->domain->transport_lock);
}

/* ---- the end ---- */

static size_t rdm_finish(struct msgep_ep *ep, uint8_t *out)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn)
		return 0;
	dofi_lock(&ep->domain->transport_lock);
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		out = dofi_put_be(out, conn->sent[ch], 4);
	out = dofi_put_be(out, conn->arrived, 4);
	dofi_put_be(out, conn->acks, 4);
	dofi_unlock(&ep->domain->transport_lock);
	return RDM_BYE;
}

static void rdm_finished(struct msgep_ep *ep, const uint8_t *in, size_t len)
{
	struct rdm_conn *conn = ep->w.conn;
	bool sound = len == RDM_BYE;

	if (!conn)
		return;
	dofi_lock(&ep->domain->transport_lock);
	for (int ch = 0; sound && ch < MSGEP_CHANNELS; ch++) {
		conn->final[ch] = (uint32_t)dofi_get_be(in + 4 * ch, 4);
		conn->end_at[ch] = conn->expected[ch];
		sound = conn->final[ch] - conn->expected[ch] <= conn->net->window;
	}
	conn->end_since = dofi_now();
	sound = sound && rdm_confirm(conn, (uint32_t)dofi_get_be(in + 4 * MSGEP_CHANNELS, 4));
	if (sound)
		rdm_acknowledged(conn, (uint32_t)dofi_get_be(in + 4 * MSGEP_CHANNELS + 4, 4));
	conn->ended = sound;
	atomic_store(&conn->peer_gone, true);
	if (!sound)
		rdm_violate(conn);
	dofi_unlock(&ep->domain->transport_lock);
}

/* What was sent before the end may not have been read from the fabric yet. */
static void rdm_read_all(struct msgep_domain *domain)
{
	unsigned int rounds = 64;

	dofi_lock(&domain->transport_lock);
	while (rdm_poll(rdm_net_of(domain)) && --rounds)
		;
	dofi_unlock(&domain->transport_lock);
}

/* True if the peer's last packet may still arrive: the limit is RDM_GAP_MS without progress. */
static bool rdm_more_expected(struct rdm_conn *conn)
{
	bool missing = false, moved = false;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		missing |= conn->expected[ch] != conn->final[ch];
		moved |= conn->expected[ch] != conn->end_at[ch];
		conn->end_at[ch] = conn->expected[ch];
	}
	if (moved)
		conn->end_since = dofi_now();
	return missing && dofi_now() - conn->end_since < DOFI_MS(RDM_GAP_MS);
}

static bool rdm_acks_arrived(struct rdm_conn *conn)
{
	return atomic_load(&conn->acked) !=
	       atomic_load_explicit(&conn->acked_processed, memory_order_relaxed);
}

static bool rdm_drained(struct msgep_ep *ep, bool died)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn || conn->violated)
		return true;
	if (died) {
		atomic_store(&conn->peer_gone, true);
		atomic_store(&conn->peer_died, true);
	}
	rdm_read_all(ep->domain);
	if (rdm_next(conn, MSGEP_REQ) || rdm_next(conn, MSGEP_ANS) || rdm_acks_arrived(conn)) {
		conn->end_since = dofi_now();
		return false;
	}
	if (died || conn->broken)
		return true;
	return conn->ended && !rdm_more_expected(conn);
}

/* ---- frames ---- */

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
};
