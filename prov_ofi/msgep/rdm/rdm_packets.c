/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools of packets, sent and received.
 *
 * The ordinary packets of a domain have one size and serve both directions. There are enough for
 * the windows of all connections together, so no connection waits for a packet of another. For
 * large packets see rdm_large.c, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error_text.h"
#include "base/log.h"
#include "msgep/rdm/rdm.h"
#include "diag/diag.h"

/* Least number of packets allocated at a time. */
#define LOT 64

_Static_assert(sizeof(struct rdm_hdr) == RDM_HDR, "header of a packet");
_Static_assert(sizeof(struct msgep_frame) == 40, "header of a frame");

static int rdm_register(struct rdm_net *net, void *memory, size_t bytes, uint64_t access,
			struct fid_mr **mr)
{
	static _Atomic uint64_t next_key;
	int ret;

	ret = fi_mr_reg(net->inner.domain, memory, bytes, access, 0, atomic_fetch_add(&next_key, 1),
			0, mr, NULL);
	if (ret) {
		*mr = NULL;
		dofi_diag_memory(net->domain->fabric->fab, bytes, ret);
		return ret;
	}
	if (net->inner.info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		ret = fi_mr_bind(*mr, &net->ep->fid, 0);
		if (!ret)
			ret = fi_mr_enable(*mr);
		if (ret) {
			fi_close(&(*mr)->fid);
			*mr = NULL;
		}
	}
	return ret;
}

static void rdm_close_mr(struct fid_mr **mr)
{
	if (*mr)
		fi_close(&(*mr)->fid);
	*mr = NULL;
}

/* For one transfer: the peer that fetches it learns the key, and the next user of the packet may be
 * another one. Of exactly the message, at whose beginning it reads. */
int rdm_register_fetched(struct rdm_net *net, struct rdm_packet *packet, uint32_t bytes,
			 uint64_t access)
{
	int ret;

	if (packet->mr)
		return 0;
	ret = rdm_register(net, packet->hdr, bytes, access, &packet->mr);
	if (!ret)
		packet->desc = fi_mr_desc(packet->mr);
	return ret;
}

int rdm_add_slab(struct rdm_net *net, uint32_t count, size_t bytes, size_t lead,
		 struct rdm_packet **pool)
{
	struct rdm_slab *slab = calloc(1, sizeof(*slab));
	int ret = -FI_ENOMEM;

	if (!slab)
		return ret;
	slab->count = count;
	slab->bytes = count * bytes;
	slab->packets = calloc(count, sizeof(*slab->packets));
	slab->memory =
		mmap(NULL, slab->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slab->memory == MAP_FAILED)
		slab->memory = NULL;
	if (!slab->packets || !slab->memory)
		goto failed;
	if (net->register_packets) {
		ret = rdm_register(net, slab->memory, slab->bytes, FI_SEND | FI_RECV, &slab->mr);
		if (ret)
			goto failed;
	}
	for (uint32_t i = count; i--;) {
		struct rdm_packet *packet = &slab->packets[i];

		packet->hdr = (void *)((char *)slab->memory + i * bytes + lead);
		packet->desc = slab->mr ? fi_mr_desc(slab->mr) : NULL;
		packet->next = *pool;
		*pool = packet;
	}
	slab->next = net->slabs;
	net->slabs = slab;
	return 0;
failed:
	if (slab->memory)
		munmap(slab->memory, slab->bytes);
	free(slab->packets);
	free(slab);
	return ret;
}

/* Receives that were posted for closed connections stay posted. */
int rdm_packets_add(struct rdm_net *net)
{
	uint32_t rx = net->posted + net->held, need;
	int ret;

	if (rx < net->want_rx)
		rx = net->want_rx;
	need = rx + net->want_tx + net->lost;
	if (net->packets >= need)
		return 0;
	need -= net->packets;
	if (need < LOT)
		need = LOT;
	ret = rdm_add_slab(net, need, net->packet_size, 0, &net->pool);
	if (!ret)
		net->packets += need;
	return ret;
}

void rdm_packets_close_mrs(struct rdm_net *net)
{
	for (struct rdm_slab *slab = net->slabs; slab; slab = slab->next) {
		rdm_close_mr(&slab->mr);
		for (uint32_t i = 0; i < slab->count; i++)
			rdm_close_mr(&slab->packets[i].mr);
	}
}

void rdm_packets_free(struct rdm_net *net)
{
	struct rdm_slab *slab;

	while ((slab = net->slabs)) {
		net->slabs = slab->next;
		munmap(slab->memory, slab->bytes);
		free(slab->packets);
		free(slab);
	}
}

static struct rdm_packet *rdm_pop(struct rdm_net *net)
{
	struct rdm_packet *packet = net->pool;

	if (packet)
		net->pool = packet->next;
	return packet;
}

struct rdm_packet *rdm_packet_get(struct rdm_conn *conn)
{
	struct rdm_packet *packet = rdm_pop(conn->net);

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (!packet)
		return NULL;
	packet->state = RDM_PACKET_RESERVED;
	packet->conn = conn;
	packet->credit = false;
	atomic_fetch_add(&conn->taken, 1);
	return packet;
}

void rdm_packet_free(struct rdm_net *net, struct rdm_packet *packet)
{
	struct rdm_packet **pool = packet->large ? &net->large.pool : &net->pool;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	DOFI_ASSERT(packet->state != RDM_PACKET_FREE || !packet->conn, "packet %p is free already",
		    (void *)packet);
	if (packet->large && packet->state >= RDM_PACKET_RESERVED)
		net->large.sending--;
	if (packet->mr) {
		/* What is copied next needs none. */
		packet->desc = NULL;
		rdm_close_mr(&packet->mr);
	}
	packet->state = RDM_PACKET_FREE;
	packet->conn = NULL;
	packet->next = *pool;
	*pool = packet;
}

void rdm_post(struct rdm_net *net)
{
	while (net->posted + net->held < net->want_rx && net->posted < net->post_max &&
	       !net->post_full && net->pool) {
		struct rdm_packet *packet = rdm_pop(net);
		ssize_t ret = 0;

		if (net->packet_size > net->register_above)
			ret = rdm_register_fetched(net, packet, net->packet_size, FI_RECV);
		if (!ret)
			ret = fi_recv(net->ep, packet->hdr, net->packet_size, packet->desc,
				      FI_ADDR_UNSPEC, &packet->context);
		if (ret) {
			rdm_packet_free(net, packet);
			net->post_full = true;
			if (ret != -FI_EAGAIN)
				dofi_log(DOFI_LOG_ERROR, "posting a receive for packets: %s",
					 dofi_error_text((int)-ret));
			return;
		}
		packet->state = RDM_PACKET_POSTED;
		net->posted++;
	}
}

void rdm_packet_return(struct rdm_net *net, struct rdm_packet *packet)
{
	bool large = packet->large;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	rdm_packet_free(net, packet);
	if (large)
		rdm_large_post(net);
	else
		rdm_post(net);
}

void rdm_packet_release(struct rdm_conn *conn, struct rdm_packet *packet)
{
	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (packet->large) {
		conn->large.held--;
		conn->net->large.held--;
	} else {
		conn->net->held--;
	}
}

static bool rdm_request_due(const struct rdm_conn *conn)
{
	return !conn->requesting_arrived && (int32_t)(conn->message_end - conn->confirmed) > 0 &&
	       (conn->ep || !(conn->peer_gone || conn->peer_closed));
}

static bool rdm_answer_due(const struct rdm_conn *conn)
{
	return (int32_t)(conn->peer_wants_arrived - conn->arrived_reported) > 0 &&
	       (int32_t)(rdm_delivered(conn) - conn->peer_wants_arrived) >= 0;
}

static bool rdm_acks_due(const struct rdm_conn *conn)
{
	return conn->ep && conn->acks != conn->acks_reported && !conn->peer_gone;
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
		rdm_probe_fill(conn, hdr);
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

/* Something that does not wait for a reply of the consumer. */
static bool rdm_conn_owes_now(const struct rdm_conn *conn)
{
	return rdm_request_due(conn) || rdm_large_due(conn) || conn->closing ||
	       (conn->ep ? rdm_probe_due(conn) : rdm_answer_due(conn));
}

static bool rdm_conn_owes(const struct rdm_conn *conn)
{
	return (conn->ep || conn->closed_at) && conn->has_peer_params && !conn->broken &&
	       (rdm_conn_owes_now(conn) || rdm_answer_due(conn) || rdm_acks_due(conn));
}

void rdm_list_owing(struct rdm_conn *conn)
{
	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (!dofi_list_empty(&conn->owe) || !rdm_conn_owes(conn))
		return;
	dofi_list_append(&conn->net->owing, &conn->owe);
	msgep_reply_owed(&conn->reply, conn->net->empty_polls);
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

/* A sent packet has completed. err: positive; the peer may not have received it. */
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
