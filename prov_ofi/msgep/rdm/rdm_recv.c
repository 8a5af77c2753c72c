/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes packets that arrive.
 *
 * Packets come from the network: every field is checked before use. A packet that does not name an
 * open connection by index, generation and token is dropped. One that does, and violates the
 * protocol, ends the connection.
 */
#include <errno.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "msgep/rdm/rdm_int.h"

/* Consecutive polls that found something while something was owed. */
#define OWED_POLLS 16

static void rdm_drop_packet(struct rdm_net *net, struct rdm_packet *packet, const char *why)
{
	net->dropped++;
	dofi_log(DOFI_LOG_DEBUG, "dropped a packet of %u bytes: %s", packet->len, why);
	rdm_packet_return(net, packet);
}

static void rdm_report_touched(struct rdm_net *net)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &net->touched)
	{
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, touch);

		dofi_list_remove(pos);
		if (!conn->ep)
			continue;
		msgep_ep_touch(conn->ep);
		if (conn->ep->rx_cq)
			msgep_cq_wake(conn->ep->rx_cq);
		if (conn->ep->tx_cq && conn->ep->tx_cq != conn->ep->rx_cq)
			msgep_cq_wake(conn->ep->tx_cq);
	}
}

/* The endpoint is closed, but its packets are still awaiting confirmation. */
static void rdm_confirm_closed(struct rdm_conn *conn, const struct rdm_hdr *hdr)
{
	if (!conn->closed_at || conn->violated || conn->token != le64toh(hdr->token))
		return;
	if (!rdm_confirm(conn, le32toh(hdr->consumed[MSGEP_REQ]) + hdr->arrived))
		rdm_violate(conn);
	if (hdr->channel == RDM_CREDIT && hdr->flags & RDM_CLOSES)
		conn->peer_closed = true;
}

/* The open connection that the packet is for, or NULL. */
static struct rdm_conn *rdm_find_conn(struct rdm_net *net, const struct rdm_hdr *hdr,
				      const char **why)
{
	uint32_t index = le32toh(hdr->index);
	struct rdm_conn *conn;

	*why = "no such connection";
	if (index >= net->n_conns)
		return NULL;
	conn = net->conns[index];
	if (conn->generation != le32toh(hdr->generation) || !conn->ep) {
		if (conn->generation == le32toh(hdr->generation))
			rdm_confirm_closed(conn, hdr);
		net->late++;
		*why = "its connection has been closed";
		return NULL;
	}
	*why = "wrong token";
	return conn->token == le64toh(hdr->token) ? conn : NULL;
}

/* Counts of packets that the peer has consumed; they may be older than the known ones. */
static bool rdm_recv_counts(struct rdm_conn *conn, const struct rdm_hdr *hdr)
{
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		uint32_t known = atomic_load(&conn->granted[ch]);
		uint32_t count = le32toh(hdr->consumed[ch]);

		if ((int32_t)(count - known) <= 0)
			continue;
		if (count - known > atomic_load(&conn->sent[ch]) - known)
			return false;
		atomic_store(&conn->granted[ch], count);
		if (atomic_load(&conn->wanted[ch]))
			rdm_touch_conn(conn);
	}
	rdm_acknowledged(conn, le32toh(hdr->done));
	return rdm_confirm(conn, le32toh(hdr->consumed[MSGEP_REQ]) + hdr->arrived);
}

/* The number is checked where the requests are known (proto_take_acks). */
void rdm_acknowledged(struct rdm_conn *conn, uint32_t count)
{
	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if ((int32_t)(count - atomic_load(&conn->acked)) <= 0)
		return;
	atomic_store(&conn->acked, count);
	rdm_touch_conn(conn);
}

bool rdm_confirm(struct rdm_conn *conn, uint32_t count)
{
	uint32_t known = atomic_load(&conn->confirmed);

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if ((int32_t)(count - known) <= 0)
		return true;
	if (count - known > atomic_load(&conn->sent[MSGEP_REQ]) - known)
		return false;
	atomic_store(&conn->confirmed, count);
	if (conn->requesting_arrived && (int32_t)(count - conn->arrived_requested) >= 0)
		conn->requesting_arrived = false;
	rdm_list_owing(conn);
	if (conn->ep && msgep_ep_completes_at(conn->ep, count))
		rdm_touch_conn(conn);
	return true;
}

/* The peer queries the arrival of this many packets; false: it cannot have sent them. */
static bool rdm_arrived_requested(struct rdm_conn *conn, uint32_t count)
{
	if ((int32_t)(count - conn->peer_wants_arrived) <= 0)
		return true;
	if ((int32_t)(count - conn->arrived) > (int32_t)conn->net->window)
		return false;
	conn->peer_wants_arrived = count;
	rdm_list_owing(conn);
	return true;
}

static void rdm_violated(struct rdm_net *net, struct rdm_conn *conn, struct rdm_packet *packet,
			 const char *why)
{
	char text[DOFI_ADDR_TEXT];

	if (conn->ep)
		dofi_log(DOFI_LOG_WARN,
			 "ended the connection with %s: it violated the protocol: %s",
			 dofi_peer_text(&conn->ep->peer, text), why);
	rdm_drop_packet(net, packet, why);
	rdm_violate(conn);
}

/* Length of the gapless run from that packet, which is about to arrive. Any other packet in a slot
 * belongs to the previous window and stays readable under transport_lock. */
static uint32_t rdm_run_length(struct rdm_conn *conn, uint32_t seq)
{
	struct rdm_packet *packet;
	uint32_t n = 1;

	while ((packet = atomic_load(rdm_slot(conn, MSGEP_REQ, seq + n))) &&
	       le32toh(packet->hdr->seq) == seq + n)
		n++;
	return n;
}

static void rdm_store_in_window(struct rdm_net *net, struct rdm_conn *conn,
				struct rdm_packet *packet)
{
	int ch = packet->hdr->channel;
	bool wants_arrived = packet->hdr->flags & RDM_WANTS_ARRIVED;
	uint32_t seq = le32toh(packet->hdr->seq);
	uint32_t ahead = seq - atomic_load(&conn->expected[ch]);
	_Atomic(struct rdm_packet *) *slot = rdm_slot(conn, ch, seq);

	if ((int32_t)ahead >= 0 && ahead >= net->window) {
		rdm_violated(net, conn, packet, "beyond the window");
		return;
	}
	if ((int32_t)ahead < 0 || atomic_load(slot)) {
		net->repeated++;
		rdm_drop_packet(net, packet, "it has arrived before");
		return;
	}
	if (!packet->large) {
		net->held++;
	} else if (!rdm_large_received(conn)) {
		rdm_violated(net, conn, packet, "a large packet without a credit");
		return;
	}
	rdm_frame(packet)->len = le32toh(rdm_frame(packet)->len);
	msgep_frame_swap(rdm_frame(packet));
	packet->state = RDM_PACKET_RECEIVED;
	/* Checked first: once it is in its slot, it and those after it can be consumed. */
	if (ch == MSGEP_REQ && seq == conn->arrived)
		conn->arrived += rdm_run_length(conn, seq);
	atomic_store(slot, packet);
	if (ch == MSGEP_REQ && wants_arrived && !rdm_arrived_requested(conn, seq + 1)) {
		rdm_violate(conn);
		return;
	}
	rdm_probe_frame(conn);
	rdm_list_owing(conn);
	if (rdm_next(conn, ch))
		rdm_touch_conn(conn);
	if (ahead && !atomic_load(rdm_slot(conn, ch, seq - 1)))
		rdm_record_gap(conn, dofi_now());
}

static void rdm_recv_credit(struct rdm_net *net, struct rdm_conn *conn, struct rdm_packet *packet)
{
	if ((packet->hdr->flags & RDM_WANTS_ARRIVED) &&
	    !rdm_arrived_requested(conn, le32toh(packet->hdr->seq))) {
		rdm_violated(net, conn, packet, "a query about packets that were never sent");
		return;
	}
	if (packet->hdr->flags & RDM_CLOSES)
		conn->peer_closed = true;
	rdm_probe_credit(conn, packet->hdr);
	rdm_packet_return(net, packet);
}

static bool rdm_flags_ok(const struct rdm_hdr *hdr)
{
	uint8_t known = RDM_WANTS_ARRIVED | RDM_REVOKES;

	if (hdr->channel == RDM_CREDIT)
		known |= RDM_PROBES | RDM_PROBE_REPLY | RDM_CLOSES;
	return !(hdr->flags & ~known);
}

static void rdm_packet_arrived(struct rdm_net *net, struct rdm_packet *packet)
{
	const struct rdm_hdr *hdr = packet->hdr;
	struct rdm_conn *conn;
	const char *why;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	if (packet->large) {
		net->large.posted--;
		net->large.post_full = false;
	} else {
		net->posted--;
		net->post_full = false;
	}
	if (packet->len < RDM_HDR) {
		rdm_drop_packet(net, packet, "too short");
		return;
	}
	conn = rdm_find_conn(net, hdr, &why);
	if (!conn) {
		rdm_drop_packet(net, packet, why);
		return;
	}
	if (conn->violated) {
		rdm_drop_packet(net, packet, "its connection is broken");
		return;
	}
	msgep_reply_received(&conn->reply);
	if (hdr->zero || hdr->zero_end || !rdm_flags_ok(hdr) || !rdm_recv_counts(conn, hdr) ||
	    !rdm_large_counts(conn, hdr)) {
		rdm_violated(net, conn, packet, "impossible counts");
		return;
	}
	if (hdr->channel == RDM_CREDIT && packet->len == RDM_HDR && !packet->large)
		rdm_recv_credit(net, conn, packet);
	else if (hdr->channel >= MSGEP_CHANNELS || packet->len < RDM_PACKET_HDR)
		rdm_violated(net, conn, packet, "no such channel, or no frame");
	else if (le32toh(rdm_frame(packet)->len) != packet->len - RDM_PACKET_HDR)
		rdm_violated(net, conn, packet, "its frame has another length");
	else
		rdm_store_in_window(net, conn, packet);
}

static void rdm_completed(void *arg, const struct fi_cq_msg_entry *entry)
{
	struct rdm_packet *packet = entry->op_context;
	struct rdm_net *net = arg;

	if (packet->state != RDM_PACKET_POSTED) {
		rdm_sent(net, packet, 0);
		return;
	}
	net->received = true;
	packet->len = entry->len <= (packet->large ? net->large.size : net->packet_size)
			      ? (uint32_t)entry->len
			      : 0;
	if (net->constrained.on)
		packet = rdm_constrained_hold(net, packet);
	if (packet)
		rdm_packet_arrived(net, packet);
}

/* A message that is too long, from an unknown sender, or a send to a peer that has gone. */
static void rdm_failed(void *arg, void *op_context, int err)
{
	struct rdm_packet *packet = op_context;

	if (packet->state == RDM_PACKET_POSTED) {
		packet->len = 0;
		rdm_packet_arrived(arg, packet);
	} else {
		rdm_sent(arg, packet, err);
	}
}

/* Owed counts wait for a poll that finds nothing, so that other packets can carry them; but only
 * for a limited number of polls. */
static void rdm_poll_owed(struct rdm_net *net, bool got)
{
	net->empty_polls += !got;
	net->owed_polls = got && !dofi_list_empty(&net->owing) ? net->owed_polls + 1 : 0;
	if (net->owed_polls == OWED_POLLS) {
		net->owed_polls = 0;
		rdm_send_owed(net, RDM_OWED_ALL);
	} else if (!got && !dofi_list_empty(&net->owing)) {
		rdm_send_owed(net, RDM_OWED_IDLE);
	} else if (net->large.report) {
		rdm_send_owed(net, RDM_OWED_LARGE);
	}
}

/* What the constrained mode has delayed for long enough. */
static void rdm_deliver_held(struct rdm_net *net)
{
	struct rdm_packet *packet;

	rdm_constrained_shuffle(net);
	while ((packet = rdm_constrained_next(net)))
		rdm_packet_arrived(net, packet);
}

unsigned int rdm_poll(struct rdm_net *net)
{
	unsigned int got;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	net->post_full = net->large.post_full = false;
	/* A descriptor triggers the next poll. */
	got = msgep_inner_poll(&net->inner, net->inner.cq_fd < 0, net, rdm_completed, rdm_failed);
	net->found_any = got;
	if (got && net->inner.cq_fd < 0)
		net->found_at = dofi_now();
	if (net->received)
		atomic_store_explicit(&net->received_at, dofi_now(), memory_order_relaxed);
	net->received = false;
	if (net->constrained.on)
		rdm_deliver_held(net);
	rdm_post(net);
	rdm_large_post(net);
	if (!dofi_list_empty(&net->large.waiting))
		rdm_large_grant(net);
	if (!dofi_list_empty(&net->blocked))
		rdm_send_waiting(net);
	if (!dofi_list_empty(&net->closed))
		rdm_conns_reap(net);
	if (!dofi_list_empty(&net->gaps))
		rdm_check_gaps(net);
	rdm_poll_owed(net, got);
	/* The timer has fired. Other threads may be blocked, and still rely on it. */
	if (net->timer_due && dofi_now() >= net->timer_due)
		rdm_set_timer(net);
	rdm_report_touched(net);
	return got + net->constrained.count;
}

/* True for the next poll of a consumer after one that has received packets. A program usually
 * empties its queue before it replies: its reply does not wait for a system call that usually finds
 * nothing. */
static bool rdm_is_fresh(struct rdm_net *net)
{
	uint64_t at = atomic_load_explicit(&net->received_at, memory_order_relaxed);

	if (!at)
		return false;
	atomic_store_explicit(&net->received_at, 0, memory_order_relaxed);
	return dofi_now() - at < RDM_FRESH_NS;
}

/* A thread that finds the lock taken leaves the poll to its holder, which wakes the threads for
 * which something has arrived. */
void rdm_progress(struct msgep_domain *domain, struct msgep_cq_direct *direct)
{
	struct rdm_net *net = rdm_net_of(domain);

	if (direct && rdm_is_fresh(net))
		return;
	DOFI_NO_CANCEL();
	if (!dofi_trylock(&domain->transport_lock))
		return;
	rdm_poll(net);
	dofi_unlock(&domain->transport_lock);
}
