/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes cells that arrive.
 *
 * A cell comes from the network: nothing in it is believed before it is checked. One that does
 * not name a living connection by index, generation and token is dropped. One that does, and
 * breaks the rules of the wire, comes from a peer that cannot be talked to: it ends the connection.
 */
#include <errno.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/log.h"
#include "msgep/rdm/rdm.h"

#define BATCH 16
/* A poll reads no more completions than this, so that those who wait for the lock get it. */
#define POLL_MAX 64
#define GAP_CHECK_MS 100
/* Looks in a row that found something, with something owed. */
#define OWED_LOOKS 16

static void drop(struct wfab *net, struct wfab_cell *cell, const char *why)
{
	net->dropped++;
	dofi_log(DOFI_LOG_DEBUG, "a cell of %u bytes was dropped: %s", cell->len, why);
	wfab_cell_return(net, cell);
}

void wfab_touch(struct rdm_conn *conn)
{
	if (dofi_list_empty(&conn->touch))
		dofi_list_append(&conn->net->touched, &conn->touch);
}

static void wake_touched(struct wfab *net)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &net->touched) {
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, touch);

		dofi_list_remove(pos);
		if (!conn->ep)
			continue;
		if (conn->ep->rx_cq)
			rdm_cq_wake(conn->ep->rx_cq);
		if (conn->ep->tx_cq && conn->ep->tx_cq != conn->ep->rx_cq)
			rdm_cq_wake(conn->ep->tx_cq);
	}
}

/* The endpoint has gone, but what it sent is still waited for. */
static void confirm_late(struct rdm_conn *conn, const struct wfab_hdr *hdr)
{
	if (!conn->closed_at || conn->violated || conn->token != le64toh(hdr->token))
		return;
	if (!wfab_confirm(conn, le32toh(hdr->consumed[RDM_REQ]) + hdr->arrived))
		wfab_violate(conn);
}

/* The open connection that the cell is for, or NULL. */
static struct rdm_conn *find_conn(struct wfab *net, const struct wfab_hdr *hdr, const char **why)
{
	uint32_t index = le32toh(hdr->index);
	struct rdm_conn *conn;

	*why = "no such connection";
	if (index >= net->n_conns)
		return NULL;
	conn = net->conns[index];
	if (conn->generation != le32toh(hdr->generation) || !conn->ep) {
		if (conn->generation == le32toh(hdr->generation))
			confirm_late(conn, hdr);
		net->late++;
		*why = "its connection has been closed";
		return NULL;
	}
	*why = "wrong token";
	return conn->token == le64toh(hdr->token) ? conn : NULL;
}

/* Counts of cells that the peer has consumed, perhaps older ones than are known already. */
static bool take_counts(struct rdm_conn *conn, const struct wfab_hdr *hdr)
{
	for (int ch = 0; ch < RDM_CHANNELS; ch++) {
		uint32_t known = atomic_load(&conn->granted[ch]);
		uint32_t count = le32toh(hdr->consumed[ch]);

		if ((int32_t)(count - known) <= 0)
			continue;
		if (count - known > atomic_load(&conn->sent[ch]) - known)
			return false;
		atomic_store(&conn->granted[ch], count);
		if (atomic_load(&conn->wanted[ch]))
			wfab_touch(conn);
	}
	wfab_acknowledged(conn, le32toh(hdr->done));
	return wfab_confirm(conn, le32toh(hdr->consumed[RDM_REQ]) + hdr->arrived);
}

/* Whether there are so many is checked where they are known (rdm_take_acks). */
void wfab_acknowledged(struct rdm_conn *conn, uint32_t count)
{
	if ((int32_t)(count - atomic_load(&conn->acked)) <= 0)
		return;
	atomic_store(&conn->acked, count);
	wfab_touch(conn);
}

bool wfab_confirm(struct rdm_conn *conn, uint32_t count)
{
	uint32_t known = atomic_load(&conn->confirmed);

	if ((int32_t)(count - known) <= 0)
		return true;
	if (count - known > atomic_load(&conn->sent[RDM_REQ]) - known)
		return false;
	atomic_store(&conn->confirmed, count);
	if (conn->asking && (int32_t)(count - conn->asked) >= 0)
		conn->asking = false;
	wfab_note_owing(conn);
	if (conn->ep && rdm_ep_awaits(conn->ep, count))
		wfab_touch(conn);
	return true;
}

/* The peer wants to be told when so many cells have come; false: it cannot have sent them. */
static bool asked_about(struct rdm_conn *conn, uint32_t count)
{
	if ((int32_t)(count - conn->peer_asks) <= 0)
		return true;
	if ((int32_t)(count - conn->arrived) > (int32_t)conn->net->window)
		return false;
	conn->peer_asks = count;
	wfab_note_owing(conn);
	return true;
}

/* The first cell that is missing before one that has come. */
static bool missing(struct rdm_conn *conn, int ch, uint32_t *which)
{
	uint32_t seq = atomic_load(&conn->expected[ch]), i = 0;

	while (i < conn->net->window && atomic_load(wfab_slot(conn, ch, seq + i)))
		i++;
	*which = seq + i;
	while (++i < conn->net->window)
		if (atomic_load(wfab_slot(conn, ch, seq + i)))
			return true;
	return false;
}

uint32_t wfab_first_missing(struct rdm_conn *conn, int ch)
{
	uint32_t which;

	missing(conn, ch, &which);
	return which;
}

static void note_gap(struct rdm_conn *conn, uint64_t now)
{
	if (!dofi_list_empty(&conn->gap))
		return;
	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		missing(conn, ch, &conn->gap_at[ch]);
	conn->gap_since = now;
	dofi_list_append(&conn->net->gaps, &conn->gap);
}

static void check_gap(struct rdm_conn *conn, uint64_t now)
{
	bool any = false, same = false;
	uint32_t which, limit;

	for (int ch = 0; ch < RDM_CHANNELS; ch++) {
		if (!missing(conn, ch, &which))
			continue;
		any = true;
		same |= which == conn->gap_at[ch];
	}
	limit = wfab_bulk_missing(conn) ? WFAB_BULK_GAP_MS : WFAB_GAP_MS;
	if (same && now < conn->gap_since + DOFI_MS(limit))
		return;
	dofi_list_remove(&conn->gap);
	if (same)
		wfab_break(conn, FI_ETIMEDOUT);
	else if (any)
		note_gap(conn, now);
}

static void check_gaps(struct wfab *net)
{
	struct dofi_list *pos, *tmp;
	uint64_t now;

	if (dofi_list_empty(&net->gaps))
		return;
	now = dofi_now();
	if (now < net->gap_check)
		return;
	net->gap_check = now + DOFI_MS(GAP_CHECK_MS);
	dofi_list_each_safe(pos, tmp, &net->gaps)
		check_gap(dofi_container(pos, struct rdm_conn, gap), now);
}

static void violated(struct wfab *net, struct rdm_conn *conn, struct wfab_cell *cell,
		     const char *why)
{
	drop(net, cell, why);
	wfab_violate(conn);
}

static void unswap_frame(struct rdm_frame *f)
{
	f->mark = le64toh(f->mark);
	f->len = le32toh(f->len);
	f->key = le32toh(f->key);
	f->total = le64toh(f->total);
	f->value = le64toh(f->value);
}

/* The cell of that number, which is about to be there, and all that follow it without a gap. What
 * else may be in a place is a cell of the window before, which stays readable under wire_lock. */
static uint32_t run_from(struct rdm_conn *conn, uint32_t seq)
{
	struct wfab_cell *cell;
	uint32_t n = 1;

	while ((cell = atomic_load(wfab_slot(conn, RDM_REQ, seq + n))) &&
	       le32toh(cell->hdr->seq) == seq + n)
		n++;
	return n;
}

static void into_window(struct wfab *net, struct rdm_conn *conn, struct wfab_cell *cell)
{
	int ch = cell->hdr->channel;
	bool asks = cell->hdr->flags & WFAB_ASKS;
	uint32_t seq = le32toh(cell->hdr->seq);
	uint32_t ahead = seq - atomic_load(&conn->expected[ch]);
	_Atomic(struct wfab_cell *) *slot = wfab_slot(conn, ch, seq);

	if ((int32_t)ahead >= 0 && ahead >= net->window) {
		violated(net, conn, cell, "beyond the window");
		return;
	}
	if ((int32_t)ahead < 0 || atomic_load(slot)) {
		net->repeated++;
		drop(net, cell, "it has come before");
		return;
	}
	if (!cell->bulk) {
		net->held++;
	} else if (!wfab_bulk_came(conn)) {
		violated(net, conn, cell, "a bulk cell without leave");
		return;
	}
	unswap_frame(wfab_frame(cell));
	cell->use = WFAB_HELD;
	/* Looked at first: once it is in its place, it and those behind it can be consumed. */
	if (ch == RDM_REQ && seq == conn->arrived)
		conn->arrived += run_from(conn, seq);
	atomic_store(slot, cell);
	if (ch == RDM_REQ && asks && !asked_about(conn, seq + 1)) {
		wfab_violate(conn);
		return;
	}
	wfab_probe_frame(conn);
	wfab_note_owing(conn);
	if (wfab_next(conn, ch))
		wfab_touch(conn);
	if (ahead && !atomic_load(wfab_slot(conn, ch, seq - 1)))
		note_gap(conn, dofi_now());
}

static void take_credit(struct wfab *net, struct rdm_conn *conn, struct wfab_cell *cell)
{
	if ((cell->hdr->flags & WFAB_ASKS) && !asked_about(conn, le32toh(cell->hdr->seq))) {
		violated(net, conn, cell, "a question about what was never sent");
		return;
	}
	wfab_probe_credit(conn, cell->hdr);
	wfab_cell_return(net, cell);
}

static bool flags_ok(const struct wfab_hdr *hdr)
{
	uint8_t known = WFAB_ASKS | WFAB_RECALLS;

	if (hdr->channel == WFAB_CREDIT)
		known |= WFAB_PROBES | WFAB_HEARD;
	return !(hdr->flags & ~known);
}

void wfab_arrive(struct wfab *net, struct wfab_cell *cell)
{
	const struct wfab_hdr *hdr = cell->hdr;
	struct rdm_conn *conn;
	const char *why;

	if (cell->bulk) {
		net->bulk.posted--;
		net->bulk.post_full = false;
	} else {
		net->posted--;
		net->post_full = false;
	}
	if (cell->len < WFAB_HDR) {
		drop(net, cell, "too short");
		return;
	}
	conn = find_conn(net, hdr, &why);
	if (!conn) {
		drop(net, cell, why);
		return;
	}
	if (conn->violated) {
		drop(net, cell, "its connection is broken");
		return;
	}
	if (hdr->zero || hdr->zero_end || !flags_ok(hdr) || !take_counts(conn, hdr) ||
	    !wfab_bulk_counts(conn, hdr)) {
		violated(net, conn, cell, "impossible counts");
		return;
	}
	if (hdr->channel == WFAB_CREDIT && cell->len == WFAB_HDR && !cell->bulk)
		take_credit(net, conn, cell);
	else if (hdr->channel >= RDM_CHANNELS || cell->len < WFAB_CELL_HDR)
		violated(net, conn, cell, "no such channel, or no frame");
	else if (le32toh(wfab_frame(cell)->len) != cell->len - WFAB_CELL_HDR)
		violated(net, conn, cell, "its frame has another length");
	else
		into_window(net, conn, cell);
}

static void completed(struct wfab *net, struct fi_cq_msg_entry *entry)
{
	struct wfab_cell *cell = entry->op_context;

	if (!cell)
		return;
	if (cell->use != WFAB_POSTED) {
		wfab_sent(net, cell, 0);
		return;
	}
	cell->len = entry->len <= (cell->bulk ? net->bulk.size : net->cell_size) ?
			    (uint32_t)entry->len : 0;
	if (net->shake.on)
		wfab_test_hold(net, cell);
	else
		wfab_arrive(net, cell);
}

/* A stranger's message that is too long, or a send to a peer that has gone. False: the queue
 * itself does not work. */
static bool completed_badly(struct wfab *net)
{
	struct fi_cq_err_entry entry;
	struct wfab_cell *cell;

	memset(&entry, 0, sizeof(entry));
	if (fi_cq_readerr(net->cq, &entry, 0) <= 0)
		return false;
	cell = entry.op_context;
	dofi_log(DOFI_LOG_DEBUG, "a %s failed: %s",
		 cell && cell->use == WFAB_POSTED ? "receive" : "send",
		 dofi_lib.strerror(entry.err < 0 ? -entry.err : entry.err));
	if (!cell)
		return true;
	if (cell->use == WFAB_POSTED) {
		cell->len = 0;
		wfab_arrive(net, cell);
	} else {
		wfab_sent(net, cell, entry.err < 0 ? -entry.err : entry.err ? entry.err : FI_EIO);
	}
	return true;
}

/* What is owed waits for a look that finds nothing, so that other cells can take it along; but not
 * for long where there is always something. */
static void send_owed(struct wfab *net, bool got)
{
	if (dofi_list_empty(&net->owing))
		net->owed_looks = 0;
	if (!dofi_list_empty(&net->owing) && (!got || ++net->owed_looks >= OWED_LOOKS)) {
		wfab_send_owed(net, false);
		net->owed_looks = 0;
	} else if (net->bulk.tell) {
		wfab_send_owed(net, got);
	}
}

unsigned int wfab_poll(struct wfab *net)
{
	struct fi_cq_msg_entry entries[BATCH];
	unsigned int got = 0;

	net->post_full = net->bulk.post_full = false;
	while (got < POLL_MAX) {
		ssize_t n = fi_cq_read(net->cq, entries, BATCH);

		if (n == -FI_EAVAIL && completed_badly(net)) {
			got++;
			continue;
		}
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			completed(net, &entries[i]);
		got += (unsigned int)n;
		/* More may wait than a read yields. A descriptor brings one back for it. */
		if (n < BATCH && net->cq_fd >= 0)
			break;
	}
	net->fruitful = got;
	if (got && net->cq_fd < 0)
		net->fruit_at = dofi_now();
	if (net->shake.on)
		wfab_test_deliver(net);
	wfab_post(net);
	wfab_bulk_post(net);
	if (!dofi_list_empty(&net->bulk.wanting))
		wfab_bulk_give(net);
	if (!dofi_list_empty(&net->blocked))
		wfab_send_waiting(net);
	if (!dofi_list_empty(&net->closed))
		wfab_conns_reap(net);
	check_gaps(net);
	send_owed(net, got);
	/* It has been looked. Others may be asleep, and still rely on the timer. */
	if (net->timer_due && dofi_now() >= net->timer_due)
		wfab_set_timer(net);
	wake_touched(net);
	return got + net->shake.count;
}

/* Who finds the lock taken leaves it to its holder, who wakes those that something came for. */
void wfab_progress(struct rdm_domain *domain, struct rdm_sink *sink)
{
	DOFI_NO_CANCEL();

	(void)sink;
	if (pthread_mutex_trylock(&domain->wire_lock))
		return;
	wfab_poll(wfab_of(domain));
	pthread_mutex_unlock(&domain->wire_lock);
}
