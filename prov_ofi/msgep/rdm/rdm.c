/* SPDX-License-Identifier: BSD-2-Clause */
/* The wire over an RDM endpoint of libfabric: what an endpoint calls.
 *
 * See rdm.h for what travels and who locks what. A frame is put where it is sent from, and is
 * read where it was received; posting and taking a frame copies nothing and allocates nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/be_bytes.h"
#include "msgep/rdm/rdm.h"

/* What takes so many ordinary cells is worth a bulk cell. */
#define BULK_FROM 4

void wfab_break(struct rdm_conn *conn, int err)
{
	if (atomic_exchange(&conn->broken, true) || !conn->ep)
		return;
	dofi_log(DOFI_LOG_DEBUG, "connection %u cannot go on: %s", conn->index,
		 dofi_lib.strerror(err));
	rdm_ep_broken(conn->ep, err);
	wfab_touch(conn);
}

void wfab_violate(struct rdm_conn *conn)
{
	atomic_store(&conn->violated, true);
	wfab_break(conn, FI_EINVAL);
}

/* ---- handshake ---- */

/* The connection of an endpoint; made by whichever comes first, offer or adopt. */
static struct rdm_conn *own_conn(struct rdm_ep *ep)
{
	if (!ep->w.conn)
		ep->w.conn = wfab_conn_get(wfab_of(ep->domain), ep);
	return ep->w.conn;
}

static int fab_offer(struct rdm_ep *ep, bool active, struct rdm_offer *out)
{
	struct wfab *net = wfab_of(ep->domain);
	struct rdm_conn *conn;
	uint8_t *p = out->data;

	(void)active;
	if (net->name_len > WFAB_NAME_MAX)
		return -FI_ETOOSMALL;
	pthread_mutex_lock(&ep->domain->wire_lock);
	conn = own_conn(ep);
	if (conn && ep->rx_cq && rdm_cq_several(ep->rx_cq))
		conn->several = true;
	pthread_mutex_unlock(&ep->domain->wire_lock);
	if (!conn)
		return -FI_ENOMEM;
	p = dofi_put(p, WFAB_VERSION, 1);
	p = dofi_put(p, net->name_len, 1);
	p = dofi_put(p, net->window, 2);
	p = dofi_put(p, net->cell_size, 4);
	p = dofi_put(p, net->bulk.size, 4);
	p = dofi_put(p, net->copied, 4);
	p = dofi_put(p, conn->index, 4);
	p = dofi_put(p, conn->generation, 4);
	p = dofi_put(p, conn->token, 8);
	memcpy(p, net->name, net->name_len);
	out->len = (uint16_t)(WFAB_OFFER_HDR + net->name_len);
	out->fd = -1;
	return 0;
}

static int check_offer(const struct rdm_offer *in)
{
	uint32_t window, cell, bulk;
	size_t name;

	if (in->len > RDM_OFFER_MAX || in->len <= WFAB_OFFER_HDR || in->data[0] != WFAB_VERSION)
		return -FI_EINVAL;
	name = in->data[1];
	window = (uint32_t)dofi_get(in->data + 2, 2);
	cell = (uint32_t)dofi_get(in->data + 4, 4);
	bulk = (uint32_t)dofi_get(in->data + 8, 4);
	if (name > WFAB_NAME_MAX || name != in->len - (size_t)WFAB_OFFER_HDR || !window ||
	    window > WFAB_WINDOW_MAX || cell < 2 * WFAB_CELL_HDR || cell > WFAB_CELL_MAX ||
	    (bulk && bulk < cell) || bulk > WFAB_BULK_MAX)
		return -FI_EINVAL;
	return 0;
}

/* Half a window is owed, and no cell goes that would take the counts along. */
static void credit_if_due(struct rdm_conn *conn)
{
	bool due = false;

	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		due |= conn->returned[ch] - conn->told[ch] >= (conn->net->window + 1) / 2;
	if (due && conn->adopted && !conn->broken)
		wfab_send_credit(conn);
}

/* An address of another kind or length is none of this provider. */
static bool may_be_name(const struct wfab *net, const uint8_t *name, size_t len)
{
	uint32_t format = net->info->addr_format;

	if (len != net->name_len)
		return false;
	if (format != FI_SOCKADDR && format != FI_SOCKADDR_IN && format != FI_SOCKADDR_IN6)
		return true;
	return len >= sizeof(sa_family_t) && !memcmp(name, net->name, sizeof(sa_family_t));
}

static int take_offer(struct rdm_conn *conn, const struct rdm_offer *in)
{
	struct wfab *net = conn->net;
	uint32_t cell = (uint32_t)dofi_get(in->data + 4, 4);
	uint32_t bulk = (uint32_t)dofi_get(in->data + 8, 4);
	uint32_t copied = (uint32_t)dofi_get(in->data + 12, 4);
	int ret;

	if (copied != net->copied) {
		dofi_log(DOFI_LOG_WARN, "a peer's libfabric copies messages of up to %u bytes, ours "
			 "of up to %u: they do not talk to each other. Has a program used libfabric "
			 "before, with FI_OFI_RXM_BUFFER_SIZE set?", copied, net->copied);
		return -FI_EINVAL;
	}
	if (conn->adopted || !may_be_name(net, in->data + WFAB_OFFER_HDR, in->data[1]))
		return -FI_EINVAL;
	ret = wfab_peer_get(net, in->data + WFAB_OFFER_HDR, in->data[1], &conn->peer);
	if (ret)
		return ret;
	conn->peer_window = (uint32_t)dofi_get(in->data + 2, 2);
	conn->payload = (cell < net->cell_size ? cell : net->cell_size) - (uint32_t)WFAB_CELL_HDR;
	if (bulk > net->bulk.size)
		bulk = net->bulk.size;
	conn->bulk_payload = bulk ? bulk - (uint32_t)WFAB_CELL_HDR : 0;
	conn->peer_index = (uint32_t)dofi_get(in->data + 16, 4);
	conn->peer_generation = (uint32_t)dofi_get(in->data + 20, 4);
	conn->peer_token = dofi_get(in->data + 24, 8);
	atomic_store(&conn->adopted, true);
	/* The peer may have sent something meanwhile. */
	credit_if_due(conn);
	wfab_bulk_note(conn);
	wfab_bulk_give(net);
	if (wfab_probe_due(conn))
		wfab_send_credit(conn);
	wfab_note_owing(conn);
	return 0;
}

static int fab_adopt(struct rdm_ep *ep, bool active, struct rdm_offer *in)
{
	struct rdm_conn *conn;
	int ret = check_offer(in);

	(void)active;
	if (ret) {
		dofi_log(DOFI_LOG_DEBUG, "an offer of %u bytes was refused", in->len);
		return ret;
	}
	pthread_mutex_lock(&ep->domain->wire_lock);
	conn = own_conn(ep);
	ret = conn ? take_offer(conn, in) : -FI_ENOMEM;
	pthread_mutex_unlock(&ep->domain->wire_lock);
	return ret;
}

static void fab_close(struct rdm_ep *ep)
{
	if (!ep->w.conn)
		return;
	pthread_mutex_lock(&ep->domain->wire_lock);
	wfab_conn_close(ep->w.conn);
	ep->w.conn = NULL;
	pthread_mutex_unlock(&ep->domain->wire_lock);
}

/* ---- the end ---- */

static size_t fab_finish(struct rdm_ep *ep, uint8_t *out)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn)
		return 0;
	pthread_mutex_lock(&ep->domain->wire_lock);
	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		out = dofi_put(out, conn->sent[ch], 4);
	out = dofi_put(out, conn->arrived, 4);
	dofi_put(out, conn->acks, 4);
	pthread_mutex_unlock(&ep->domain->wire_lock);
	return WFAB_BYE;
}

static void fab_finished(struct rdm_ep *ep, const uint8_t *in, size_t len)
{
	struct rdm_conn *conn = ep->w.conn;
	bool sound = len == WFAB_BYE;

	if (!conn)
		return;
	pthread_mutex_lock(&ep->domain->wire_lock);
	for (int ch = 0; sound && ch < RDM_CHANNELS; ch++) {
		conn->final[ch] = (uint32_t)dofi_get(in + 4 * ch, 4);
		conn->end_at[ch] = conn->expected[ch];
		sound = conn->final[ch] - conn->expected[ch] <= conn->net->window;
	}
	conn->end_since = dofi_now();
	sound = sound && wfab_confirm(conn, (uint32_t)dofi_get(in + 4 * RDM_CHANNELS, 4));
	if (sound)
		wfab_acknowledged(conn, (uint32_t)dofi_get(in + 4 * RDM_CHANNELS + 4, 4));
	conn->ended = sound;
	atomic_store(&conn->deaf, true);
	if (!sound)
		wfab_violate(conn);
	pthread_mutex_unlock(&ep->domain->wire_lock);
}

/* What was sent before the end may not have been read from the fabric yet. */
static void read_all(struct rdm_domain *domain)
{
	unsigned int rounds = 64;

	pthread_mutex_lock(&domain->wire_lock);
	while (wfab_poll(wfab_of(domain)) && --rounds)
		;
	pthread_mutex_unlock(&domain->wire_lock);
}

/* Is the peer's last cell still on its way? Without news it is waited for WFAB_GAP_MS. */
static bool more_will_come(struct rdm_conn *conn)
{
	bool missing = false, moved = false;

	for (int ch = 0; ch < RDM_CHANNELS; ch++) {
		missing |= conn->expected[ch] != conn->final[ch];
		moved |= conn->expected[ch] != conn->end_at[ch];
		conn->end_at[ch] = conn->expected[ch];
	}
	if (moved)
		conn->end_since = dofi_now();
	return missing && dofi_now() - conn->end_since < DOFI_MS(WFAB_GAP_MS);
}

static bool acks_arrived(struct rdm_conn *conn)
{
	return atomic_load(&conn->acked) !=
	       atomic_load_explicit(&conn->acked_taken, memory_order_relaxed);
}

static bool fab_drained(struct rdm_ep *ep, bool died)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn || conn->violated)
		return true;
	if (died)
		atomic_store(&conn->deaf, true);
	read_all(ep->domain);
	if (wfab_next(conn, RDM_REQ) || wfab_next(conn, RDM_ANS) || acks_arrived(conn)) {
		conn->end_since = dofi_now();
		return false;
	}
	if (died || conn->broken)
		return true;
	return conn->ended && !more_will_come(conn);
}

/* ---- frames ---- */

/* A place to send from. */
static bool get_cell(struct rdm_conn *conn, int ch)
{
	pthread_mutex_t *lock = &conn->net->domain->wire_lock;

	if (conn->filling[ch])
		return true;
	pthread_mutex_lock(lock);
	if (conn->taken < wfab_tx_limit(conn))
		conn->filling[ch] = wfab_cell_take(conn);
	pthread_mutex_unlock(lock);
	return conn->filling[ch] != NULL;
}

/* A large one, if that pays and the peer has given leave. */
static bool get_bulk(struct rdm_conn *conn, int ch, size_t want)
{
	pthread_mutex_t *lock = &conn->net->domain->wire_lock;

	if (!conn->bulk_payload || want < (size_t)BULK_FROM * conn->payload)
		return false;
	if (conn->bulk.filling[ch])
		return true;
	pthread_mutex_lock(lock);
	conn->bulk.filling[ch] = wfab_bulk_take(conn);
	pthread_mutex_unlock(lock);
	return conn->bulk.filling[ch] != NULL;
}

static struct rdm_frame *fab_reserve(struct rdm_ep *ep, int channel, size_t want, size_t *room)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn || !conn->adopted || conn->broken)
		return NULL;
	if (!wfab_room(conn, channel) || !get_cell(conn, channel)) {
		/* Remembered, so that whoever makes room wakes us. */
		atomic_store(&conn->wanted[channel], true);
		/* It may have been made between the two. */
		if (!wfab_room(conn, channel) || !get_cell(conn, channel))
			return NULL;
	}
	atomic_store(&conn->wanted[channel], false);
	if (get_bulk(conn, channel, want)) {
		*room = conn->bulk_payload;
		return wfab_frame(conn->bulk.filling[channel]);
	}
	*room = conn->payload;
	return wfab_frame(conn->filling[channel]);
}

/* Released cells receive again, and from then on they count as consumed. */
static void return_done(struct rdm_conn *conn)
{
	struct wfab *net = conn->net;
	struct wfab_cell *cell;
	bool bulk = false;

	while ((cell = conn->done)) {
		conn->done = cell->next;
		bulk |= cell->bulk;
		wfab_unhold(conn, cell);
		wfab_cell_return(net, cell);
	}
	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		conn->returned[ch] = atomic_load(&conn->expected[ch]);
	if (!bulk)
		return;
	wfab_bulk_note(conn);
	wfab_bulk_give(net);
}

static void fab_commit(struct rdm_ep *ep, int channel, struct rdm_frame *frame)
{
	struct rdm_conn *conn = ep->w.conn;
	struct wfab_cell *bulk = conn->bulk.filling[channel];
	struct wfab_cell *cell = conn->filling[channel];
	uint32_t len = (uint32_t)WFAB_CELL_HDR + frame->len;
	uint32_t seq;

	DOFI_NO_CANCEL();
	pthread_mutex_lock(&ep->domain->wire_lock);
	return_done(conn);
	seq = atomic_fetch_add(&conn->sent[channel], 1);
	if (channel == RDM_REQ && frame->kind == RDM_MSG && (frame->flags & RDM_LAST))
		conn->message_end = seq + 1;
	if (bulk && frame == wfab_frame(bulk)) {
		conn->bulk.filling[channel] = NULL;
		wfab_send(conn, bulk, (uint8_t)channel, seq, len);
	} else {
		conn->filling[channel] = NULL;
		wfab_send(conn, cell, (uint8_t)channel, seq, len);
	}
	/* The next one at the same time: reserving then takes no lock. */
	if (!conn->filling[channel] && conn->taken < wfab_tx_limit(conn))
		conn->filling[channel] = wfab_cell_take(conn);
	pthread_mutex_unlock(&ep->domain->wire_lock);
}

static const struct rdm_frame *fab_peek(struct rdm_ep *ep, int channel, const void **payload)
{
	struct rdm_conn *conn = ep->w.conn;
	struct wfab_cell *cell = conn && !conn->violated ? wfab_next(conn, channel) : NULL;

	if (!cell)
		return NULL;
	*payload = rdm_payload(wfab_frame(cell));
	return wfab_frame(cell);
}

/* The sequence number goes first: a repeated cell then finds its place taken, or is an old one. */
static void fab_release(struct rdm_ep *ep, int channel)
{
	struct rdm_conn *conn = ep->w.conn;
	uint32_t seq = atomic_load(&conn->expected[channel]);
	_Atomic(struct wfab_cell *) *slot = wfab_slot(conn, channel, seq);
	struct wfab_cell *cell = atomic_load(slot);

	atomic_store(&conn->expected[channel], seq + 1);
	atomic_store(slot, NULL);
	cell->next = conn->done;
	conn->done = cell;
}

static uint32_t fab_arrived(struct rdm_ep *ep)
{
	return ep->w.conn ? atomic_load(&ep->w.conn->confirmed) : 0;
}

static void fab_acknowledge(struct rdm_ep *ep, uint32_t count)
{
	if (ep->w.conn)
		atomic_store_explicit(&ep->w.conn->acks, count, memory_order_relaxed);
}

static uint32_t fab_acknowledged(struct rdm_ep *ep)
{
	struct rdm_conn *conn = ep->w.conn;
	uint32_t count = conn ? atomic_load(&conn->acked) : 0;

	if (conn)
		atomic_store_explicit(&conn->acked_taken, count, memory_order_relaxed);
	return count;
}

static void fab_flush(struct rdm_ep *ep)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn || !conn->done)
		return;
	DOFI_NO_CANCEL();
	pthread_mutex_lock(&ep->domain->wire_lock);
	return_done(conn);
	credit_if_due(conn);
	/* Who sent them may be waiting for that, or for the acknowledgement. */
	if (conn->several || conn->acks != conn->acks_told)
		wfab_note_owing(conn);
	pthread_mutex_unlock(&ep->domain->wire_lock);
}

/* The receive queue has several endpoints. */
static void fab_several(struct rdm_ep *ep)
{
	if (!ep->w.conn)
		return;
	pthread_mutex_lock(&ep->domain->wire_lock);
	ep->w.conn->several = true;
	pthread_mutex_unlock(&ep->domain->wire_lock);
}

/* Somebody waits for room, and there is some. */
static bool room_made(struct rdm_conn *conn)
{
	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		if (atomic_load(&conn->wanted[ch]) && wfab_room(conn, ch) &&
		    atomic_load(&conn->taken) < wfab_tx_limit(conn))
			return true;
	return false;
}

/* Anything that can be taken now? A request behind a message without receive cannot. */
static bool arrived(struct rdm_ep *ep, struct rdm_conn *conn)
{
	if (conn->broken && !ep->cut)
		return true;
	if (conn->violated)
		return false;
	return wfab_next(conn, RDM_ANS) ||
	       (!atomic_load_explicit(&ep->stalled, memory_order_relaxed) &&
		wfab_next(conn, RDM_REQ)) ||
	       acks_arrived(conn) || rdm_ep_awaits(ep, atomic_load(&conn->confirmed));
}

static bool fab_ready(struct rdm_ep *ep)
{
	struct rdm_conn *conn;

	/* Before that it may still be made. */
	if (atomic_load_explicit(&ep->state, memory_order_acquire) != RDM_UP)
		return false;
	conn = ep->w.conn;
	return conn && (arrived(ep, conn) || room_made(conn));
}

/* Whatever comes is seen by wait_fds; the peer need not be told. */
static bool fab_quiet(struct rdm_ep *ep, bool room)
{
	struct rdm_conn *conn = ep->w.conn;

	return !conn || !(arrived(ep, conn) || (room && room_made(conn)));
}

const struct rdm_wire rdm_wire_fab = {
	.name = "cells",
	.id = 2,
	.getinfo = wfab_getinfo,
	.domain_open = wfab_open,
	.domain_close = wfab_close,
	.wait_fds = wfab_wait_fds,
	.progress = wfab_progress,
	.may_sleep = wfab_may_sleep,
	.busy = wfab_busy,
	.offer = fab_offer,
	.adopt = fab_adopt,
	.close = fab_close,
	.prove = wfab_probe,
	.proved = wfab_proven,
	.counts = wfab_counts,
	.missing = wfab_missing,
	.finish = fab_finish,
	.finished = fab_finished,
	.drained = fab_drained,
	.reserve = fab_reserve,
	.commit = fab_commit,
	.peek = fab_peek,
	.release = fab_release,
	.flush = fab_flush,
	.arrived = fab_arrived,
	.acknowledge = fab_acknowledge,
	.acknowledged = fab_acknowledged,
	.several = fab_several,
	.ready = fab_ready,
	.quiet = fab_quiet,
};
