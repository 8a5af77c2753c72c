/* SPDX-License-Identifier: BSD-2-Clause */
/* Peer addresses in use, and the table of connections.
 *
 * All connections to a peer share an address. A closed connection keeps its index until none of its
 * packets is being sent any more and the peer has confirmed their arrival, or a time limit has
 * passed; then both can be reused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "msgep/rdm/rdm_int.h"

/* Limit of the table of connections. */
#define CONNS_MAX (1u << 20)

static struct rdm_peer **rdm_peer_bucket(struct rdm_net *net, const uint8_t *name, size_t len)
{
	uint32_t hash = 2166136261u;

	while (len--)
		hash = (hash ^ *name++) * 16777619u;
	return &net->peers[(hash ^ hash >> 16) % RDM_PEER_BUCKETS];
}

int rdm_peer_get(struct rdm_net *net, const uint8_t *name, size_t len, struct rdm_peer **out)
{
	struct rdm_peer **head = rdm_peer_bucket(net, name, len), *peer;
	int ret;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	for (peer = *head; peer; peer = peer->next) {
		if (peer->len != len || memcmp(peer->name, name, len))
			continue;
		if (!peer->users++)
			net->idle_peers--;
		*out = peer;
		return 0;
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -FI_ENOMEM;
	/* Providers read as many bytes as their addresses have: the buffer is larger than any. */
	memcpy(peer->name, name, len);
	peer->len = (uint8_t)len;
	ret = fi_av_insert(net->av, peer->name, 1, &peer->addr, 0, NULL);
	if (ret != 1) {
		free(peer);
		return ret < 0 ? ret : -FI_EADDRNOTAVAIL;
	}
	peer->users = 1;
	peer->next = *head;
	*head = peer;
	*out = peer;
	return 0;
}

/* The address of a peer that has just gone is kept for a while: some providers close their own
 * connection with it, and drop what is in transit. */
static void rdm_forget_idle(struct rdm_net *net)
{
	uint64_t now = dofi_now();

	for (size_t i = 0; net->idle_peers && i < RDM_PEER_BUCKETS; i++) {
		struct rdm_peer **at = &net->peers[i], *peer;

		while ((peer = *at)) {
			if (peer->users || now - peer->idle_since < DOFI_MS(RDM_LINGER_MS)) {
				at = &peer->next;
				continue;
			}
			*at = peer->next;
			fi_av_remove(net->av, &peer->addr, 1, 0);
			free(peer);
			net->idle_peers--;
		}
	}
}

static void rdm_peer_put(struct rdm_net *net, struct rdm_peer *peer)
{
	if (!--peer->users) {
		peer->idle_since = dofi_now();
		net->idle_peers++;
	}
	rdm_forget_idle(net);
}

void rdm_peers_free(struct rdm_net *net)
{
	for (size_t i = 0; i < RDM_PEER_BUCKETS; i++) {
		struct rdm_peer *peer;

		while ((peer = net->peers[i])) {
			net->peers[i] = peer->next;
			free(peer);
		}
	}
}

static struct rdm_conn *rdm_conn_new(struct rdm_net *net)
{
	struct rdm_conn *conn;

	if (!DOFI_TABLE_RESERVE(net->conns, net->conns_capacity, net->n_conns + 1, 64, CONNS_MAX))
		return NULL;
	conn = calloc(1, sizeof(*conn) + MSGEP_CHANNELS * net->window * sizeof(conn->slot[0]));
	if (!conn)
		return NULL;
	conn->net = net;
	conn->index = net->n_conns;
	conn->waiting_end = &conn->waiting;
	if (getrandom(&conn->generation, sizeof(conn->generation), 0) < 0)
		conn->generation = (uint32_t)dofi_now();
	dofi_list_init(&conn->link);
	dofi_list_init(&conn->blocked);
	dofi_list_init(&conn->touch);
	dofi_list_init(&conn->gap);
	dofi_list_init(&conn->owe);
	net->conns[net->n_conns++] = conn;
	return conn;
}

/* Resets it, except for what a late packet must not match again. */
static void rdm_conn_reset(struct rdm_conn *conn)
{
	conn->generation++;
	if (getrandom(&conn->token, sizeof(conn->token), 0) < 0)
		conn->token = conn->token * 6364136223846793005u + dofi_now();
	conn->closing = conn->peer_closed = false;
	conn->broken = conn->violated = conn->peer_gone = conn->peer_died = false;
	conn->has_peer_params = false;
	conn->path_ok = conn->probing = conn->probe_reply_due = false;
	conn->credit_sending = conn->credit_owed = conn->ended = false;
	conn->requesting_arrived = false;
	rdm_large_init_conn(conn);
	conn->confirmed = 0;
	conn->message_end = conn->arrived_requested = 0;
	conn->arrived = conn->arrived_reported = conn->peer_wants_arrived = 0;
	conn->acked = conn->acked_processed = conn->acks = conn->acks_reported = 0;
	conn->keep_order = false;
	conn->reply = (struct msgep_reply){ 0 };
	conn->end_since = 0;
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		conn->sent[ch] = 0;
		conn->granted[ch] = 0;
		conn->wanted[ch] = false;
		conn->expected[ch] = 0;
		conn->returned[ch] = conn->reported[ch] = 0;
	}
}

static uint32_t rdm_rx_packets(const struct rdm_net *net)
{
	return (MSGEP_CHANNELS + 1) * net->window + RDM_CREDIT_PACKETS;
}

static uint32_t rdm_tx_packets(const struct rdm_net *net)
{
	return MSGEP_CHANNELS * net->window + RDM_TX_EXTRA;
}

struct rdm_conn *rdm_conn_get(struct rdm_net *net, struct msgep_ep *ep)
{
	struct rdm_conn *conn;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	if (dofi_list_empty(&net->unused)) {
		conn = rdm_conn_new(net);
		if (!conn)
			return NULL;
		dofi_list_append(&net->unused, &conn->link);
	}
	conn = dofi_container(net->unused.next, struct rdm_conn, link);
	net->want_rx += rdm_rx_packets(net);
	net->want_tx += rdm_tx_packets(net);
	if (rdm_packets_add(net)) {
		net->want_rx -= rdm_rx_packets(net);
		net->want_tx -= rdm_tx_packets(net);
		return NULL;
	}
	dofi_list_remove(&conn->link);
	rdm_conn_reset(conn);
	conn->ep = ep;
	rdm_post(net);
	/* Threads that blocked without a connection now poll each millisecond. */
	if (net->inner.cq_fd < 0 && !net->timer_due)
		rdm_set_timer(net);
	return conn;
}

/* Returns packets that have arrived or were being filled. */
static void rdm_conn_return_packets(struct rdm_conn *conn)
{
	struct rdm_net *net = conn->net;
	struct rdm_packet *packet;

	while ((packet = conn->done)) {
		conn->done = packet->next;
		rdm_packet_release(conn, packet);
		rdm_packet_free(net, packet);
	}
	for (uint32_t i = 0; i < MSGEP_CHANNELS * net->window; i++) {
		packet = atomic_exchange(&conn->slot[i], NULL);
		if (!packet)
			continue;
		rdm_packet_release(conn, packet);
		rdm_packet_free(net, packet);
	}
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		packet = conn->large.filling[ch];
		conn->large.filling[ch] = NULL;
		if (packet) {
			conn->large.sending--;
			rdm_packet_free(net, packet);
		}
		packet = conn->filling[ch];
		conn->filling[ch] = NULL;
		if (!packet)
			continue;
		atomic_fetch_sub(&conn->taken, 1);
		rdm_packet_free(net, packet);
	}
}

/* True if the peer sends nothing more and all that it has sent has arrived. */
static bool rdm_has_all(const struct rdm_conn *conn)
{
	bool all = conn->ended && !conn->violated;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		all = all && conn->expected[ch] == conn->final[ch];
	return all;
}

/* False if the connection has not been established. */
static bool rdm_has_sent(struct rdm_conn *conn)
{
	return conn->path_ok || atomic_load(&conn->sent[MSGEP_REQ]) ||
	       atomic_load(&conn->sent[MSGEP_ANS]);
}

void rdm_conn_close(struct rdm_conn *conn)
{
	struct rdm_net *net = conn->net;

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	conn->ep = NULL;
	rdm_conn_return_packets(conn);
	net->want_rx -= rdm_rx_packets(net);
	dofi_list_remove(&conn->touch);
	dofi_list_remove(&conn->gap);
	dofi_list_remove(&conn->owe);
	rdm_large_close(conn, rdm_has_all(conn));
	conn->closed_at = dofi_now();
	/* Drops what waits to be sent if the peer has died, or if there are only probes. */
	if (conn->peer_died || !rdm_has_sent(conn))
		atomic_store(&conn->broken, true);
	dofi_list_append(&net->closed, &conn->link);
	conn->closing = !conn->peer_died &&
			(!conn->ended || conn->final[MSGEP_REQ] != conn->arrived_reported);
	rdm_send_last(conn);
	rdm_conns_reap(net);
	rdm_post(net);
}

/* The fabric has not reported completions of these packets: they are not reused before it does. */
static void rdm_conn_abandon(struct rdm_conn *conn)
{
	struct rdm_net *net = conn->net;
	struct rdm_packet *packet;

	dofi_log(DOFI_LOG_DEBUG, "connection %u: %u packets were not sent in time", conn->index,
		 atomic_load(&conn->taken) + conn->large.sending);
	while ((packet = conn->waiting)) {
		conn->waiting = packet->next;
		rdm_packet_free(net, packet);
	}
	conn->waiting_end = &conn->waiting;
	for (struct rdm_slab *slab = net->slabs; slab; slab = slab->next) {
		for (uint32_t i = 0; i < slab->count; i++) {
			packet = &slab->packets[i];
			if (packet->conn != conn)
				continue;
			packet->conn = NULL;
			packet->state = RDM_PACKET_ABANDONED;
			net->lost += !packet->large;
		}
	}
	conn->taken = 0;
	conn->large.sending = 0;
}

/* rxm reports nothing about packets to an adapter that has closed. */
static bool rdm_conn_timed_out(const struct rdm_conn *conn)
{
	unsigned int ms = conn->peer_closed || conn->peer_gone ? RDM_GONE_MS : RDM_LINGER_MS;

	return dofi_now() - conn->closed_at > DOFI_MS(ms);
}

/* True if the peer may still confirm packets; the time limit starts when they have been sent. Until
 * then one packet is kept for the query. */
static bool rdm_awaits_peer(struct rdm_conn *conn)
{
	uint64_t now = dofi_now();

	if (!conn->has_peer_params || conn->broken || conn->peer_gone || conn->peer_closed ||
	    atomic_load(&conn->confirmed) == atomic_load(&conn->sent[MSGEP_REQ]))
		return false;
	if (!conn->all_sent_at) {
		conn->all_sent_at = now;
		conn->net->want_tx -= rdm_tx_packets(conn->net) - 1;
	}
	return now - conn->all_sent_at < DOFI_MS(RDM_CONFIRM_MS);
}

void rdm_conns_reap(struct rdm_net *net)
{
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	dofi_list_each_safe(pos, tmp, &net->closed)
	{
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, link);

		bool sending = conn->taken || conn->large.sending;

		if (sending && !rdm_conn_timed_out(conn))
			continue;
		if (sending)
			rdm_conn_abandon(conn);
		else if (rdm_awaits_peer(conn))
			continue;
		dofi_list_remove(&conn->owe);
		dofi_list_remove(&conn->blocked);
		dofi_list_remove(&conn->link);
		if (conn->peer)
			rdm_peer_put(net, conn->peer);
		conn->peer = NULL;
		net->want_tx -= conn->all_sent_at ? 1 : rdm_tx_packets(net);
		conn->closed_at = conn->all_sent_at = 0;
		dofi_list_append(&net->unused, &conn->link);
	}
}

void rdm_conns_free(struct rdm_net *net)
{
	for (uint32_t i = 0; i < net->n_conns; i++)
		free(net->conns[i]);
	free(net->conns);
	net->conns = NULL;
	net->n_conns = net->conns_capacity = 0;
}
