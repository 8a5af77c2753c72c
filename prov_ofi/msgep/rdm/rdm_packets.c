/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools of cells, sent and received.
 *
 * The ordinary cells of a domain are of one size and serve for both directions. There are enough of
 * them for what all connections together may have under way, so none has to wait for another's.
 * For bulk cells see rdm_large.c, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "msgep/rdm/rdm.h"
#include "diag/diag.h"

/* Cells are made in lots of so many at least. */
#define LOT 64

_Static_assert(sizeof(struct wfab_hdr) == WFAB_HDR, "header of a cell");
_Static_assert(sizeof(struct rdm_frame) == 40, "header of a frame");

static int register_slab(struct wfab *net, struct wfab_slab *slab)
{
	static _Atomic uint64_t next_key;
	int ret;

	ret = fi_mr_reg(net->inner, slab->memory, slab->bytes, FI_SEND | FI_RECV, 0,
			atomic_fetch_add(&next_key, 1), 0, &slab->mr, NULL);
	if (ret) {
		dofi_why_memory(net->domain->fabric->fab, slab->bytes, ret);
		return ret;
	}
	if (net->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		ret = fi_mr_bind(slab->mr, &net->ep->fid, 0);
		if (!ret)
			ret = fi_mr_enable(slab->mr);
		if (ret)
			fi_close(&slab->mr->fid);
	}
	return ret;
}

int wfab_add_slab(struct wfab *net, uint32_t count, size_t bytes, size_t lead,
		  struct wfab_cell **pool)
{
	struct wfab_slab *slab = calloc(1, sizeof(*slab));
	int ret = -FI_ENOMEM;

	if (!slab)
		return ret;
	slab->count = count;
	slab->bytes = count * bytes;
	slab->cells = calloc(count, sizeof(*slab->cells));
	slab->memory = mmap(NULL, slab->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slab->memory == MAP_FAILED)
		slab->memory = NULL;
	if (!slab->cells || !slab->memory)
		goto failed;
	if (net->register_cells) {
		ret = register_slab(net, slab);
		if (ret)
			goto failed;
	}
	for (uint32_t i = count; i--;) {
		struct wfab_cell *cell = &slab->cells[i];

		cell->hdr = (void *)((char *)slab->memory + i * bytes + lead);
		cell->desc = slab->mr ? fi_mr_desc(slab->mr) : NULL;
		cell->next = *pool;
		*pool = cell;
	}
	slab->next = net->slabs;
	net->slabs = slab;
	return 0;
failed:
	if (slab->memory)
		munmap(slab->memory, slab->bytes);
	free(slab->cells);
	free(slab);
	return ret;
}

/* Receives that were posted for connections that have gone stay posted. */
int wfab_cells_add(struct wfab *net)
{
	uint32_t rx = net->posted + net->held, need;
	int ret;

	if (rx < net->want_rx)
		rx = net->want_rx;
	need = rx + net->want_tx + net->lost;
	if (net->cells >= need)
		return 0;
	need -= net->cells;
	if (need < LOT)
		need = LOT;
	ret = wfab_add_slab(net, need, net->cell_size, 0, &net->pool);
	if (!ret)
		net->cells += need;
	return ret;
}

void wfab_cells_close_mrs(struct wfab *net)
{
	for (struct wfab_slab *slab = net->slabs; slab; slab = slab->next) {
		if (slab->mr)
			fi_close(&slab->mr->fid);
		slab->mr = NULL;
	}
}

void wfab_cells_free(struct wfab *net)
{
	struct wfab_slab *slab;

	while ((slab = net->slabs)) {
		net->slabs = slab->next;
		munmap(slab->memory, slab->bytes);
		free(slab->cells);
		free(slab);
	}
}

static struct wfab_cell *pop(struct wfab *net)
{
	struct wfab_cell *cell = net->pool;

	if (cell)
		net->pool = cell->next;
	return cell;
}

struct wfab_cell *wfab_cell_take(struct rdm_conn *conn)
{
	struct wfab_cell *cell = pop(conn->net);

	if (!cell)
		return NULL;
	cell->use = WFAB_FILLING;
	cell->conn = conn;
	cell->credit = false;
	atomic_fetch_add(&conn->taken, 1);
	return cell;
}

void wfab_cell_free(struct wfab *net, struct wfab_cell *cell)
{
	struct wfab_cell **pool = cell->bulk ? &net->bulk.pool : &net->pool;

	if (cell->bulk && cell->use >= WFAB_FILLING)
		net->bulk.sending--;
	cell->use = WFAB_FREE;
	cell->conn = NULL;
	cell->next = *pool;
	*pool = cell;
}

void wfab_post(struct wfab *net)
{
	while (net->posted + net->held < net->want_rx && net->posted < net->post_max &&
	       !net->post_full && net->pool) {
		struct wfab_cell *cell = pop(net);
		ssize_t ret = fi_recv(net->ep, cell->hdr, net->cell_size, cell->desc,
				      FI_ADDR_UNSPEC, &cell->context);

		if (ret) {
			wfab_cell_free(net, cell);
			net->post_full = true;
			if (ret != -FI_EAGAIN)
				dofi_log(DOFI_LOG_ERROR, "posting a receive for cells: %s",
					 dofi_lib.strerror((int)-ret));
			return;
		}
		cell->use = WFAB_POSTED;
		net->posted++;
	}
}

void wfab_cell_return(struct wfab *net, struct wfab_cell *cell)
{
	bool bulk = cell->bulk;

	wfab_cell_free(net, cell);
	if (bulk)
		wfab_bulk_post(net);
	else
		wfab_post(net);
}

void wfab_unhold(struct rdm_conn *conn, struct wfab_cell *cell)
{
	if (cell->bulk) {
		conn->bulk.held--;
		conn->net->bulk.held--;
	} else {
		conn->net->held--;
	}
}

/* Frames are little-endian on the way. */
static void swap_frame(struct rdm_frame *f)
{
	f->mark = htole64(f->mark);
	f->len = htole32(f->len);
	f->key = htole32(f->key);
	f->total = htole64(f->total);
	f->value = htole64(f->value);
}

static bool ask_due(const struct rdm_conn *conn)
{
	return !conn->asking && (int32_t)(conn->message_end - conn->confirmed) > 0 &&
	       (conn->ep || !conn->deaf);
}

static bool answer_due(const struct rdm_conn *conn)
{
	return (int32_t)(conn->peer_asks - conn->arrived_told) > 0 &&
	       (int32_t)(wfab_in_hand(conn) - conn->peer_asks) >= 0;
}

static bool acks_due(const struct rdm_conn *conn)
{
	return conn->ep && conn->acks != conn->acks_told && !conn->deaf;
}

static void fill_header(struct rdm_conn *conn, struct wfab_cell *cell, uint8_t channel,
			uint32_t seq)
{
	struct wfab_hdr *hdr = cell->hdr;

	memset(hdr, 0, sizeof(*hdr));
	hdr->index = htole32(conn->peer_index);
	hdr->generation = htole32(conn->peer_generation);
	hdr->token = htole64(conn->peer_token);
	hdr->seq = htole32(seq);
	hdr->channel = channel;
	for (int ch = 0; ch < RDM_CHANNELS; ch++) {
		conn->told[ch] = conn->returned[ch];
		hdr->consumed[ch] = htole32(conn->told[ch]);
	}
	conn->arrived_told = wfab_in_hand(conn);
	hdr->arrived = (uint8_t)(conn->arrived_told - conn->returned[RDM_REQ]);
	conn->acks_told = conn->acks;
	hdr->done = htole32(conn->acks_told);
	wfab_bulk_fill(conn, hdr);
	if (channel == WFAB_CREDIT)
		wfab_probe_fill(conn, hdr);
	if (!ask_due(conn) || channel == RDM_ANS)
		return;
	conn->asking = true;
	conn->asked = channel == RDM_REQ ? seq + 1 : conn->message_end;
	if (channel == WFAB_CREDIT)
		hdr->seq = htole32(conn->asked);
	hdr->flags |= WFAB_ASKS;
}

static ssize_t hand_over(struct wfab *net, struct wfab_cell *cell)
{
	ssize_t ret;

	if (net->shake.on && wfab_test_refuse(net))
		return -FI_EAGAIN;
	cell->use = WFAB_FLYING;
	if (cell->bulk)
		ret = fi_tsend(net->ep, cell->hdr, cell->len, cell->desc, cell->conn->peer->addr,
			       WFAB_BULK_TAG, &cell->context);
	else
		ret = fi_send(net->ep, cell->hdr, cell->len, cell->desc, cell->conn->peer->addr,
			      &cell->context);
	if (ret)
		cell->use = WFAB_WAITING;
	return ret;
}

static void queue(struct rdm_conn *conn, struct wfab_cell *cell)
{
	cell->use = WFAB_WAITING;
	cell->next = NULL;
	*conn->waiting_end = cell;
	conn->waiting_end = &cell->next;
	if (dofi_list_empty(&conn->blocked))
		dofi_list_append(&conn->net->blocked, &conn->blocked);
}

void wfab_send(struct rdm_conn *conn, struct wfab_cell *cell, uint8_t channel, uint32_t seq,
	       uint32_t len)
{
	ssize_t ret;

	fill_header(conn, cell, channel, seq);
	cell->len = len;
	if (channel != WFAB_CREDIT)
		swap_frame(wfab_frame(cell));
	if (conn->waiting) {
		queue(conn, cell);
		return;
	}
	ret = conn->broken ? -FI_ECANCELED : hand_over(conn->net, cell);
	if (ret == -FI_EAGAIN)
		queue(conn, cell);
	else if (ret)
		wfab_sent(conn->net, cell, (int)-ret);
}

/* One at a time: if another is due meanwhile, it goes when this one has gone. */
void wfab_send_credit(struct rdm_conn *conn)
{
	struct wfab_cell *cell;

	conn->credit_owed = true;
	if (conn->credit_flying)
		return;
	cell = wfab_cell_take(conn);
	if (!cell)
		return;
	cell->credit = true;
	conn->credit_owed = false;
	conn->credit_flying = true;
	wfab_send(conn, cell, WFAB_CREDIT, 0, WFAB_HDR);
}

static bool owes(const struct rdm_conn *conn)
{
	return (conn->ep || conn->closed_at) && conn->adopted && !conn->broken &&
	       (ask_due(conn) || answer_due(conn) || acks_due(conn) || wfab_bulk_due(conn) ||
		(conn->ep && wfab_probe_due(conn)));
}

void wfab_note_owing(struct rdm_conn *conn)
{
	if (dofi_list_empty(&conn->owe) && owes(conn))
		dofi_list_append(&conn->net->owing, &conn->owe);
}

void wfab_send_last(struct rdm_conn *conn)
{
	conn->message_end = atomic_load(&conn->sent[RDM_REQ]);
	if (owes(conn))
		wfab_send_credit(conn);
}

void wfab_send_owed(struct wfab *net, bool urgent)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &net->owing) {
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, owe);

		if (urgent && !wfab_bulk_due(conn))
			continue;
		dofi_list_remove(pos);
		if (owes(conn))
			wfab_send_credit(conn);
	}
	net->bulk.tell = false;
}

/* False: the fabric has no room yet. */
static bool send_waiting_of(struct rdm_conn *conn)
{
	struct wfab_cell *cell;
	ssize_t ret;

	while ((cell = conn->waiting)) {
		struct wfab_cell *next = cell->next;

		ret = conn->broken ? -FI_ECANCELED : hand_over(conn->net, cell);
		if (ret == -FI_EAGAIN)
			return false;
		conn->waiting = next;
		if (!next)
			conn->waiting_end = &conn->waiting;
		if (ret)
			wfab_sent(conn->net, cell, (int)-ret);
	}
	return true;
}

void wfab_send_waiting(struct wfab *net)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &net->blocked) {
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, blocked);

		if (send_waiting_of(conn))
			dofi_list_remove(pos);
	}
}

/* The fabric is done with a cell that was sent. err: positive; the peer may not have got it. */
void wfab_sent(struct wfab *net, struct wfab_cell *cell, int err)
{
	struct rdm_conn *conn = cell->conn;
	bool credit = cell->credit, bulk = cell->bulk;

	if (cell->use == WFAB_LOST && !bulk)
		net->lost--;
	wfab_cell_free(net, cell);
	if (!conn)
		return;
	if (bulk)
		conn->bulk.flying--;
	else
		atomic_fetch_sub(&conn->taken, 1);
	if (credit)
		conn->credit_flying = false;
	if (err)
		wfab_break(conn, err);
	if (conn->broken)
		return;
	if (conn->credit_owed && (conn->ep || owes(conn)))
		wfab_send_credit(conn);
	if (!conn->ep)
		return;
	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		if (conn->wanted[ch] && wfab_room(conn, ch))
			wfab_touch(conn);
}
