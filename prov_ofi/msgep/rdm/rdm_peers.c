/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is at the other end: addresses in use, and the table of connections.
 *
 * An address is shared by all connections to that peer. A connection that has been closed keeps
 * its index until nothing of it is being sent any more, and the peer has told that it has arrived
 * or been given time for that; then both may serve another.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "msgep/rdm/rdm.h"

/* Indexes are 32 bits on the wire; this is where a table would be absurd. */
#define CONNS_MAX (1u << 20)

static struct wfab_peer **bucket(struct wfab *net, const uint8_t *name, size_t len)
{
	uint32_t hash = 2166136261u;

	while (len--)
		hash = (hash ^ *name++) * 16777619u;
	return &net->peers[(hash ^ hash >> 16) % WFAB_PEER_BUCKETS];
}

int wfab_peer_get(struct wfab *net, const uint8_t *name, size_t len, struct wfab_peer **out)
{
	struct wfab_peer **head = bucket(net, name, len), *peer;
	int ret;

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
	/* Providers read as much as their addresses have: the place is larger than any. */
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

/* The address of a peer that has just gone is kept for a while: some providers close a connection
 * of their own with it, and throw away what is on its way. */
static void forget_idle(struct wfab *net)
{
	uint64_t now = dofi_now();

	for (size_t i = 0; net->idle_peers && i < WFAB_PEER_BUCKETS; i++) {
		struct wfab_peer **at = &net->peers[i], *peer;

		while ((peer = *at)) {
			if (peer->users || now - peer->idle_since < DOFI_MS(WFAB_LINGER_MS)) {
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

void wfab_peer_put(struct wfab *net, struct wfab_peer *peer)
{
	if (!--peer->users) {
		peer->idle_since = dofi_now();
		net->idle_peers++;
	}
	forget_idle(net);
}

void wfab_peers_free(struct wfab *net)
{
	for (size_t i = 0; i < WFAB_PEER_BUCKETS; i++) {
		struct wfab_peer *peer;

		while ((peer = net->peers[i])) {
			net->peers[i] = peer->next;
			free(peer);
		}
	}
}

static struct rdm_conn *new_conn(struct wfab *net)
{
	struct rdm_conn *conn;

	if (net->n_conns == net->conns_room) {
		uint32_t room = net->conns_room ? 2 * net->conns_room : 64;
		struct rdm_conn **more;

		if (room > CONNS_MAX)
			return NULL;
		more = realloc(net->conns, room * sizeof(struct rdm_conn *));
		if (!more)
			return NULL;
		net->conns = more;
		net->conns_room = room;
	}
	conn = calloc(1, sizeof(*conn) + RDM_CHANNELS * net->window * sizeof(conn->slot[0]));
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

/* As new, but for what a late cell must not find again. */
static void reset(struct rdm_conn *conn)
{
	conn->generation++;
	if (getrandom(&conn->token, sizeof(conn->token), 0) < 0)
		conn->token = conn->token * 6364136223846793005u + dofi_now();
	conn->broken = conn->violated = conn->deaf = false;
	conn->adopted = false;
	conn->proven = conn->probing = conn->hear_owed = false;
	conn->credit_flying = conn->credit_owed = conn->ended = false;
	conn->asking = false;
	wfab_bulk_init_conn(conn);
	conn->confirmed = 0;
	conn->message_end = conn->asked = 0;
	conn->arrived = conn->arrived_told = conn->peer_asks = 0;
	conn->acked = conn->acked_taken = conn->acks = conn->acks_told = 0;
	conn->several = false;
	conn->end_since = 0;
	for (int ch = 0; ch < RDM_CHANNELS; ch++) {
		conn->sent[ch] = 0;
		conn->granted[ch] = 0;
		conn->wanted[ch] = false;
		conn->expected[ch] = 0;
		conn->returned[ch] = conn->told[ch] = 0;
	}
}

static uint32_t rx_cells(const struct wfab *net)
{
	return (RDM_CHANNELS + 1) * net->window + WFAB_CREDIT_CELLS;
}

static uint32_t tx_cells(const struct wfab *net)
{
	return RDM_CHANNELS * net->window + WFAB_TX_EXTRA;
}

struct rdm_conn *wfab_conn_get(struct wfab *net, struct rdm_ep *ep)
{
	struct rdm_conn *conn;

	if (dofi_list_empty(&net->unused)) {
		conn = new_conn(net);
		if (!conn)
			return NULL;
		dofi_list_append(&net->unused, &conn->link);
	}
	conn = dofi_container(net->unused.next, struct rdm_conn, link);
	net->want_rx += rx_cells(net);
	net->want_tx += tx_cells(net);
	if (wfab_cells_add(net)) {
		net->want_rx -= rx_cells(net);
		net->want_tx -= tx_cells(net);
		return NULL;
	}
	dofi_list_remove(&conn->link);
	reset(conn);
	conn->ep = ep;
	wfab_post(net);
	/* Those who slept without a connection look each millisecond from now on. */
	if (net->cq_fd < 0 && !net->timer_due)
		wfab_set_timer(net);
	return conn;
}

/* What has arrived and what was being filled. */
static void give_back(struct rdm_conn *conn)
{
	struct wfab *net = conn->net;
	struct wfab_cell *cell;

	while ((cell = conn->done)) {
		conn->done = cell->next;
		wfab_unhold(conn, cell);
		wfab_cell_free(net, cell);
	}
	for (uint32_t i = 0; i < RDM_CHANNELS * net->window; i++) {
		cell = atomic_exchange(&conn->slot[i], NULL);
		if (!cell)
			continue;
		wfab_unhold(conn, cell);
		wfab_cell_free(net, cell);
	}
	for (int ch = 0; ch < RDM_CHANNELS; ch++) {
		cell = conn->bulk.filling[ch];
		conn->bulk.filling[ch] = NULL;
		if (cell) {
			conn->bulk.flying--;
			wfab_cell_free(net, cell);
		}
		cell = conn->filling[ch];
		conn->filling[ch] = NULL;
		if (!cell)
			continue;
		atomic_fetch_sub(&conn->taken, 1);
		wfab_cell_free(net, cell);
	}
}

/* Has all come that the peer has sent, and it sends no more? */
static bool has_all(const struct rdm_conn *conn)
{
	bool all = conn->ended && !conn->violated;

	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		all = all && conn->expected[ch] == conn->final[ch];
	return all;
}

void wfab_conn_close(struct rdm_conn *conn)
{
	struct wfab *net = conn->net;

	conn->ep = NULL;
	give_back(conn);
	net->want_rx -= rx_cells(net);
	dofi_list_remove(&conn->touch);
	dofi_list_remove(&conn->gap);
	dofi_list_remove(&conn->owe);
	wfab_bulk_close(conn, has_all(conn));
	conn->closed_at = dofi_now();
	dofi_list_append(&net->closed, &conn->link);
	wfab_send_last(conn);
	wfab_conns_reap(net);
	wfab_post(net);
}

/* The fabric has not told what became of the cells: they are not used again before it does. */
static void give_up(struct rdm_conn *conn)
{
	struct wfab *net = conn->net;
	struct wfab_cell *cell;

	dofi_log(DOFI_LOG_DEBUG, "connection %u: %u cells were not sent in time", conn->index,
		 atomic_load(&conn->taken) + conn->bulk.flying);
	while ((cell = conn->waiting)) {
		conn->waiting = cell->next;
		wfab_cell_free(net, cell);
	}
	conn->waiting_end = &conn->waiting;
	for (struct wfab_slab *slab = net->slabs; slab; slab = slab->next) {
		for (uint32_t i = 0; i < slab->count; i++) {
			cell = &slab->cells[i];
			if (cell->conn != conn)
				continue;
			cell->conn = NULL;
			cell->use = WFAB_LOST;
			net->lost += !cell->bulk;
		}
	}
	conn->taken = 0;
	conn->bulk.flying = 0;
}

static bool waited_enough(const struct rdm_conn *conn)
{
	return dofi_now() - conn->closed_at > DOFI_MS(WFAB_LINGER_MS);
}

/* Cells that the peer has not told of, and may yet? It is given time from when they have gone.
 * Until it is over there is one cell left, to ask with. */
static bool awaits_peer(struct rdm_conn *conn)
{
	uint64_t now = dofi_now();

	if (!conn->adopted || conn->broken || conn->deaf ||
	    atomic_load(&conn->confirmed) == atomic_load(&conn->sent[RDM_REQ]))
		return false;
	if (!conn->all_sent_at) {
		conn->all_sent_at = now;
		conn->net->want_tx -= tx_cells(conn->net) - 1;
	}
	return now - conn->all_sent_at < DOFI_MS(WFAB_CONFIRM_MS);
}

void wfab_conns_reap(struct wfab *net)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &net->closed) {
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, link);

		bool sending = conn->taken || conn->bulk.flying;

		if (sending && !waited_enough(conn))
			continue;
		if (sending)
			give_up(conn);
		else if (awaits_peer(conn))
			continue;
		dofi_list_remove(&conn->owe);
		dofi_list_remove(&conn->blocked);
		dofi_list_remove(&conn->link);
		if (conn->peer)
			wfab_peer_put(net, conn->peer);
		conn->peer = NULL;
		net->want_tx -= conn->all_sent_at ? 1 : tx_cells(net);
		conn->closed_at = conn->all_sent_at = 0;
		dofi_list_append(&net->unused, &conn->link);
	}
}

void wfab_conns_free(struct wfab *net)
{
	for (uint32_t i = 0; i < net->n_conns; i++)
		free(net->conns[i]);
	free(net->conns);
	net->conns = NULL;
	net->n_conns = net->conns_room = 0;
}
