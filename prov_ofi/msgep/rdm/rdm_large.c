/* SPDX-License-Identifier: BSD-2-Clause */
/* Leave to send bulk cells, and the receives that they arrive in.
 *
 * Bulk cells are large, so there are few: not enough for all that connections together might have
 * under way. Leave is what keeps them from waiting for each other: as many receives are posted as
 * there is leave, and one that is used, or given back, goes to another connection when its cell has
 * been consumed. A connection has, leave and unconsumed cells together, a quarter of them at most.
 *
 * Leave is kept while nothing is sent, so that the next long message starts with it. Who wants some
 * while there is none left makes that connection give back which has not used its own for longest.
 * A peer that does not answer, being stopped, keeps what it has, and others do with ordinary
 * cells.
 *
 * What a closed connection had leave for may still come; it stays promised for a while.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/param.h"
#include "msgep/rdm/rdm.h"

/* Made in lots of so many. */
#define LOT 4
/* The header stands in front of a page, where the payload begins. */
#define PAGE 4096
#define SHARE 4
#define RECALL_MS 1

static bool later(uint16_t count, uint16_t known)
{
	return (int16_t)(count - known) > 0;
}

void wfab_bulk_init(struct wfab *net)
{
	struct wfab_bulk *b = &net->bulk;
	uint32_t bytes = (uint32_t)dofi_param(DOFI_NUM_BULK_KIB) * 1024;

	dofi_list_init(&b->wanting);
	dofi_list_init(&b->holding);
	if (bytes < 2 * net->cell_size || !(net->info->caps & FI_TAGGED) ||
	    net->info->ep_attr->max_msg_size < bytes + WFAB_CELL_HDR)
		return;
	b->size = bytes + (uint32_t)WFAB_CELL_HDR;
	b->most = WFAB_BULK_BYTES / bytes;
}

void wfab_bulk_init_conn(struct rdm_conn *conn)
{
	memset(&conn->bulk, 0, sizeof(conn->bulk));
	dofi_list_init(&conn->bulk.wanting);
	dofi_list_init(&conn->bulk.holding);
}

static struct wfab_cell *pop(struct wfab *net)
{
	struct wfab_bulk *b = &net->bulk;
	size_t bytes = b->size - WFAB_CELL_HDR + PAGE;
	struct wfab_cell *cell;

	if (!b->pool && b->cells < 2 * b->most) {
		if (wfab_add_slab(net, LOT, bytes, PAGE - WFAB_CELL_HDR, &b->pool))
			return NULL;
		for (cell = b->pool; cell; cell = cell->next)
			cell->bulk = true;
		b->cells += LOT;
	}
	cell = b->pool;
	if (cell)
		b->pool = cell->next;
	return cell;
}

/* ---- what we send ---- */

/* The peer waits for what is to be said, or others do: it goes with the next look, if no cell has
 * taken it along before. */
static void tell(struct rdm_conn *conn)
{
	wfab_note_owing(conn);
	if (wfab_bulk_due(conn))
		conn->net->bulk.tell = true;
}

static uint16_t unused(const struct wfab_leave *l)
{
	return (uint16_t)(l->leave - l->used - l->back);
}

struct wfab_cell *wfab_bulk_take(struct rdm_conn *conn)
{
	struct wfab_leave *l = &conn->bulk;
	struct wfab_bulk *b = &conn->net->bulk;
	struct wfab_cell *cell = NULL;

	if (unused(l) && b->sending < b->most)
		cell = pop(conn->net);
	if (cell) {
		cell->use = WFAB_FILLING;
		cell->conn = conn;
		cell->credit = false;
		b->sending++;
		b->sent++;
		l->flying++;
		l->used++;
	}
	/* As many as the window takes, for what may follow. */
	l->wishes = (uint16_t)(l->used + l->back + conn->peer_window);
	return cell;
}

static void give_back(struct rdm_conn *conn)
{
	struct wfab_leave *l = &conn->bulk;

	if (!unused(l))
		return;
	l->back = (uint16_t)(l->leave - l->used);
	l->back_due = true;
	tell(conn);
}

/* ---- what we receive ---- */

static bool post_one(struct wfab *net)
{
	struct wfab_bulk *b = &net->bulk;
	struct wfab_cell *cell;
	ssize_t ret;

	if (b->posted + b->held >= b->most || b->post_full)
		return false;
	cell = pop(net);
	if (!cell)
		return false;
	ret = fi_trecv(net->ep, cell->hdr, b->size, cell->desc, FI_ADDR_UNSPEC, WFAB_BULK_TAG, 0,
		       &cell->context);
	if (ret) {
		wfab_cell_free(net, cell);
		b->post_full = true;
		if (ret != -FI_EAGAIN)
			dofi_log(DOFI_LOG_ERROR, "posting a receive for bulk cells: %s",
				 dofi_lib.strerror((int)-ret));
		return false;
	}
	cell->use = WFAB_POSTED;
	b->posted++;
	return true;
}

void wfab_bulk_post(struct wfab *net)
{
	while (net->bulk.posted < net->bulk.promised && post_one(net))
		;
}

/* Leave that the peer has, or that is on its way to it. */
static uint16_t outstanding(const struct wfab_leave *l)
{
	return (uint16_t)(l->given - l->came - l->peer_back);
}

static bool wants(const struct rdm_conn *conn)
{
	const struct wfab_leave *l = &conn->bulk;
	uint32_t share = (conn->net->bulk.most + SHARE - 1) / SHARE;

	return conn->ep && conn->adopted && !conn->broken && !l->recalled &&
	       later(l->peer_wishes, l->given) && outstanding(l) + (uint32_t)l->held < share;
}

void wfab_bulk_note(struct rdm_conn *conn)
{
	if (dofi_list_empty(&conn->bulk.wanting) && wants(conn))
		dofi_list_append(&conn->net->bulk.wanting, &conn->bulk.wanting);
}

/* Last in the list of those that have some. */
static void note_holding(struct rdm_conn *conn)
{
	dofi_list_remove(&conn->bulk.holding);
	if (outstanding(&conn->bulk))
		dofi_list_append(&conn->net->bulk.holding, &conn->bulk.holding);
	else
		conn->bulk.recalled = conn->bulk.recall_due = false;
}

/* One more may come. */
static bool promise(struct wfab *net)
{
	struct wfab_bulk *b = &net->bulk;

	if (b->posted <= b->promised && !post_one(net))
		return false;
	b->promised++;
	return true;
}

static void age(struct wfab_bulk *b)
{
	uint64_t now;

	if (!b->lapse_at)
		return;
	now = dofi_now();
	if (now < b->lapse_at)
		return;
	b->promised -= b->lapsing[1];
	b->lapsing[1] = b->lapsing[0];
	b->lapsing[0] = 0;
	b->lapse_at = b->lapsing[1] ? now + DOFI_MS(WFAB_LINGER_MS) : 0;
}

/* For one that has nothing. One at a time: it gives its own back before long, or is stopped. */
static void recall(struct wfab *net)
{
	uint64_t now = dofi_now();
	struct dofi_list *pos;

	if (now < net->bulk.recall_at)
		return;
	net->bulk.recall_at = now + DOFI_MS(RECALL_MS);
	dofi_list_each(pos, &net->bulk.holding) {
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, bulk.holding);

		if (conn->bulk.recalled || conn->broken)
			continue;
		conn->bulk.recalled = conn->bulk.recall_due = true;
		dofi_list_remove(&conn->bulk.wanting);
		tell(conn);
		return;
	}
}

void wfab_bulk_give(struct wfab *net)
{
	struct wfab_bulk *b = &net->bulk;

	age(b);
	while (!dofi_list_empty(&b->wanting)) {
		struct rdm_conn *conn = dofi_container(b->wanting.next, struct rdm_conn,
						       bulk.wanting);
		uint16_t before = conn->bulk.given;

		while (wants(conn) && promise(net))
			conn->bulk.given++;
		if (conn->bulk.given != before) {
			dofi_list_remove(&conn->bulk.wanting);
			note_holding(conn);
			tell(conn);
		}
		if (wants(conn)) {
			wfab_bulk_note(conn);
			if (!outstanding(&conn->bulk) && !conn->bulk.held)
				recall(net);
			return;
		}
		dofi_list_remove(&conn->bulk.wanting);
	}
}

bool wfab_bulk_came(struct rdm_conn *conn)
{
	struct wfab_leave *l = &conn->bulk;
	struct wfab_bulk *b = &conn->net->bulk;

	if (!outstanding(l))
		return false;
	l->came++;
	l->held++;
	b->promised--;
	b->held++;
	b->came++;
	note_holding(conn);
	tell(conn);
	return true;
}

bool wfab_bulk_missing(const struct rdm_conn *conn)
{
	return later(conn->bulk.peer_used, conn->bulk.came);
}

/* ---- what is said about it ---- */

void wfab_bulk_fill(struct rdm_conn *conn, struct wfab_hdr *hdr)
{
	struct wfab_leave *l = &conn->bulk;

	hdr->wishes = htole16(l->wishes);
	hdr->used = htole16(l->used);
	hdr->back = htole16(l->back);
	hdr->leave = htole16(l->given);
	if (l->recall_due)
		hdr->flags |= WFAB_RECALLS;
	l->told = l->given;
	l->back_due = l->recall_due = false;
}

/* Of leave, the peer is told at once if it has none: unless it is little, and as long as there are
 * cells that take it along when they have been consumed. */
bool wfab_bulk_due(const struct rdm_conn *conn)
{
	const struct wfab_leave *l = &conn->bulk;
	uint16_t fresh = (uint16_t)(l->given - l->told);

	return l->back_due || l->recall_due ||
	       (fresh && fresh == outstanding(l) && (!l->held || fresh > l->held));
}

/* Older counts than those that are known say nothing. */
static bool take_back(struct rdm_conn *conn, uint16_t used, uint16_t back)
{
	struct wfab_leave *l = &conn->bulk;

	if (later((uint16_t)(used + back), l->given))
		return false;
	if (later(used, l->peer_used))
		l->peer_used = used;
	if (!later(back, l->peer_back))
		return true;
	if (later((uint16_t)(back + l->came), l->given))
		return false;
	conn->net->bulk.promised -= (uint16_t)(back - l->peer_back);
	l->peer_back = back;
	l->recalled = l->recall_due = false;
	note_holding(conn);
	return true;
}

static bool take_wishes(struct rdm_conn *conn, uint16_t wishes)
{
	struct wfab_leave *l = &conn->bulk;

	if (!later(wishes, l->peer_wishes))
		return true;
	/* A window, and what may be under way in each channel. */
	if ((uint16_t)(wishes - l->came - l->peer_back) > (1 + RDM_CHANNELS) * conn->net->window)
		return false;
	l->peer_wishes = wishes;
	return true;
}

bool wfab_bulk_counts(struct rdm_conn *conn, const struct wfab_hdr *hdr)
{
	struct wfab_leave *l = &conn->bulk;
	uint16_t leave = le16toh(hdr->leave);

	if (!conn->net->bulk.size)
		return !(hdr->wishes | hdr->used | hdr->back | hdr->leave) &&
		       !(hdr->flags & WFAB_RECALLS);
	if (!take_back(conn, le16toh(hdr->used), le16toh(hdr->back)) ||
	    !take_wishes(conn, le16toh(hdr->wishes)))
		return false;
	if (later(leave, l->leave)) {
		if (later(leave, l->wishes))
			return false;
		l->leave = leave;
	}
	if (hdr->flags & WFAB_RECALLS)
		give_back(conn);
	wfab_bulk_note(conn);
	wfab_bulk_give(conn->net);
	return true;
}

/* ---- the end ---- */

void wfab_bulk_close(struct rdm_conn *conn, bool settled)
{
	struct wfab_leave *l = &conn->bulk;
	struct wfab_bulk *b = &conn->net->bulk;

	dofi_list_remove(&l->wanting);
	dofi_list_remove(&l->holding);
	if (settled) {
		b->promised -= outstanding(l);
	} else if (outstanding(l)) {
		b->lapsing[0] += outstanding(l);
		if (!b->lapse_at)
			b->lapse_at = dofi_now() + DOFI_MS(WFAB_LINGER_MS);
	}
	l->given = (uint16_t)(l->came + l->peer_back);
	wfab_bulk_give(conn->net);
}
