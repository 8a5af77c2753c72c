/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends packets: those with frames, credit packets, and those that had to wait for the fabric. */
#include <errno.h>
#include <string.h>

#include "msgep/rdm/rdm_int.h"

static void rdm_fill_probe(struct rdm_conn *conn, struct rdm_hdr *hdr)
{
	if (conn->probing)
		hdr->flags |= RDM_PROBES;
	if (conn->probe_reply_due)
		hdr->flags |= RDM_PROBE_REPLY;
	conn->probing = conn->probe_reply_due = false;
}

static void rdm_fill_header(struct rdm_conn *conn, struct rdm_packet *packet, uint8_t channel,
			    uint32_t seq)
{
	struct rdm_hdr *hdr = packet->hdr;

	memset(hdr, 0, sizeof(*hdr));
	hdr->index = htole32(conn->peer_index);
	hdr->generation = htole32(conn->peer_generation);
	hdr->token = htole64(conn->peer_token);
	hdr->seq = htole32(seq);
	hdr->channel = channel;
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		conn->reported[ch] = conn->returned[ch];
		hdr->consumed[ch] = htole32(conn->reported[ch]);
	}
	conn->arrived_reported = rdm_delivered(conn);
	hdr->arrived = (uint8_t)(conn->arrived_reported - conn->returned[MSGEP_REQ]);
	conn->acks_reported = conn->acks;
	hdr->done = htole32(conn->acks_reported);
	rdm_large_fill(conn, hdr);
	if (channel == RDM_CREDIT)
		rdm_fill_probe(conn, hdr);
	if (channel == RDM_CREDIT && conn->closing) {
		conn->closing = false;
		hdr->flags |= RDM_CLOSES;
	}
	if (!rdm_request_due(conn) || channel == MSGEP_ANS)
		return;
	conn->requesting_arrived = true;
	conn->arrived_requested = channel == MSGEP_REQ ? seq + 1 : conn->message_end;
	if (channel == RDM_CREDIT)
		hdr->seq = htole32(conn->arrived_requested);
	hdr->flags |= RDM_WANTS_ARRIVED;
}

static ssize_t rdm_post_packet(struct rdm_net *net, struct rdm_packet *packet)
{
	ssize_t ret;

	if (net->constrained.on && rdm_constrained_refuse(net))
		return -FI_EAGAIN;
	if (packet->len > net->register_above) {
		ret = rdm_register_fetched(net, packet, packet->len, FI_SEND);
		if (ret)
			return ret;
	}
	packet->state = RDM_PACKET_SENDING;
	if (packet->large)
		ret = fi_tsend(net->ep, packet->hdr, packet->len, packet->desc,
			       packet->conn->peer->addr, RDM_LARGE_TAG, &packet->context);
	else
		ret = fi_send(net->ep, packet->hdr, packet->len, packet->desc,
			      packet->conn->peer->addr, &packet->context);
	if (ret)
		packet->state = RDM_PACKET_QUEUED;
	return ret;
}

static void rdm_queue(struct rdm_conn *conn, struct rdm_packet *packet)
{
	packet->state = RDM_PACKET_QUEUED;
	packet->next = NULL;
	*conn->waiting_end = packet;
	conn->waiting_end = &packet->next;
	if (dofi_list_empty(&conn->blocked))
		dofi_list_append(&conn->net->blocked, &conn->blocked);
}

void rdm_send(struct rdm_conn *conn, struct rdm_packet *packet, uint8_t channel, uint32_t seq,
	      uint32_t len)
{
	ssize_t ret;

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	rdm_fill_header(conn, packet, channel, seq);
	packet->len = len;
	if (channel != RDM_CREDIT) {
		rdm_frame(packet)->len = htole32(rdm_frame(packet)->len);
		msgep_frame_swap(rdm_frame(packet));
	}
	if (conn->waiting) {
		rdm_queue(conn, packet);
		return;
	}
	ret = conn->broken ? -FI_ECANCELED : rdm_post_packet(conn->net, packet);
	if (ret == -FI_EAGAIN)
		rdm_queue(conn, packet);
	else if (ret)
		rdm_sent(conn->net, packet, (int)-ret);
}

/* One at a time: if another becomes due meanwhile, it is sent when this one has completed. */
void rdm_send_credit(struct rdm_conn *conn)
{
	struct rdm_packet *packet;

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	conn->credit_owed = true;
	if (conn->credit_sending)
		return;
	packet = rdm_packet_get(conn);
	if (!packet)
		return;
	packet->credit = true;
	conn->credit_owed = false;
	conn->credit_sending = true;
	rdm_send(conn, packet, RDM_CREDIT, 0, RDM_HDR);
}

void rdm_credit_if_due(struct rdm_conn *conn)
{
	bool due = false;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		due |= conn->returned[ch] - conn->reported[ch] >= (conn->net->window + 1) / 2;
	if (due && conn->has_peer_params && !conn->broken)
		rdm_send_credit(conn);
}

void rdm_send_last(struct rdm_conn *conn)
{
	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	conn->message_end = atomic_load(&conn->sent[MSGEP_REQ]);
	if (rdm_conn_owes(conn))
		rdm_send_credit(conn);
}

/* A poll has found nothing. True: what is owed waits for a reply of the consumer. */
static bool rdm_waits_for_reply(struct rdm_conn *conn)
{
	uint32_t polls = conn->net->empty_polls;

	if (rdm_conn_owes_now(conn))
		return false;
	if (msgep_reply_is_awaited(&conn->reply, polls))
		return true;
	msgep_reply_sent_alone(&conn->reply, polls);
	return false;
}

void rdm_send_owed(struct rdm_net *net, enum rdm_owed what)
{
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	dofi_list_each_safe(pos, tmp, &net->owing)
	{
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, owe);

		if (what == RDM_OWED_LARGE && !rdm_large_due(conn))
			continue;
		if (!rdm_conn_owes(conn)) {
			dofi_list_remove(pos);
			continue;
		}
		if (what == RDM_OWED_IDLE && rdm_waits_for_reply(conn))
			continue;
		dofi_list_remove(pos);
		rdm_send_credit(conn);
	}
	net->large.report = false;
}

/* False: the fabric has no room yet. */
static bool rdm_send_waiting_of(struct rdm_conn *conn)
{
	struct rdm_packet *packet;
	ssize_t ret;

	while ((packet = conn->waiting)) {
		struct rdm_packet *next = packet->next;

		conn->net->retries += !conn->broken;
		ret = conn->broken ? -FI_ECANCELED : rdm_post_packet(conn->net, packet);
		if (ret == -FI_EAGAIN)
			return false;
		conn->waiting = next;
		if (!next)
			conn->waiting_end = &conn->waiting;
		if (ret)
			rdm_sent(conn->net, packet, (int)-ret);
	}
	return true;
}

/* If there is no room for an ordinary packet, there is none for other connections with that peer.
 *
 * QUIRK libfabric rxm: each attempt to send to an unreachable peer opens a socket and connects
 * again. After the death of a peer with 256 connections an attempt for each of them in each poll
 * occupied the adapter for seconds; one per peer and poll is made. */
void rdm_send_waiting(struct rdm_net *net)
{
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	net->rounds++;
	dofi_list_each_safe(pos, tmp, &net->blocked)
	{
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, blocked);

		if (!conn->broken && conn->peer->refused == net->rounds)
			continue;
		if (rdm_send_waiting_of(conn))
			dofi_list_remove(pos);
		else if (!conn->waiting->large)
			conn->peer->refused = net->rounds;
	}
}

void rdm_sent(struct rdm_net *net, struct rdm_packet *packet, int err)
{
	struct rdm_conn *conn = packet->conn;
	bool credit = packet->credit, large = packet->large;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	if (packet->state == RDM_PACKET_ABANDONED && !large)
		net->lost--;
	rdm_packet_free(net, packet);
	if (!conn)
		return;
	if (large)
		conn->large.sending--;
	else
		atomic_fetch_sub(&conn->taken, 1);
	if (credit)
		conn->credit_sending = false;
	if (err)
		rdm_break(conn, err);
	if (conn->broken)
		return;
	if (conn->credit_owed && (conn->ep || rdm_conn_owes(conn)))
		rdm_send_credit(conn);
	if (!conn->ep)
		return;
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		if (conn->wanted[ch] && rdm_has_credit(conn, ch))
			rdm_touch_conn(conn);
}
