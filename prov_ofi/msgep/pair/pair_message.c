/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects packets into messages, and sends these. (hot)
 *
 * libfabric's tcp provider makes one system call per message, so the packets of a burst share one,
 * except the first, which are sent at once (pair_send.c).
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/log.h"
#include "msgep/cm/inbox.h"
#include "msgep/pair/pair_message.h"

struct pair_buf *pair_buf_alloc(struct pair_net *net, enum pair_op_kind kind)
{
	struct pair_buf *buf = aligned_alloc(64, sizeof(*buf));

	if (!buf)
		return NULL;
	buf->op.kind = kind;
	dofi_lock(&net->leaf);
	buf->all = net->all_bufs;
	net->all_bufs = buf;
	dofi_unlock(&net->leaf);
	return buf;
}

static struct pair_buf *pair_buf_get(struct pair_net *net)
{
	struct pair_buf *buf;

	dofi_lock(&net->leaf);
	buf = net->pool;
	if (buf)
		net->pool = buf->next;
	dofi_unlock(&net->leaf);
	return buf ? buf : pair_buf_alloc(net, PAIR_OP_SEND);
}

static void pair_buf_put(struct pair_net *net, struct pair_buf *buf)
{
	dofi_lock(&net->leaf);
	buf->next = net->pool;
	net->pool = buf;
	dofi_unlock(&net->leaf);
}

void pair_drop_unsent(struct pair *pair)
{
	if (pair->open)
		pair_buf_put(pair->net, pair->open);
	while (pair->waiting) {
		struct pair_buf *buf = pair->waiting;

		pair->waiting = buf->next;
		pair_buf_put(pair->net, buf);
	}
}

int pair_buf_new(struct pair_net *net)
{
	struct pair_buf *buf = pair_buf_alloc(net, PAIR_OP_SEND);

	if (!buf)
		return -FI_ENOMEM;
	pair_buf_put(net, buf);
	return 0;
}

void pair_bufs_free(struct pair_net *net)
{
	while (net->all_bufs) {
		struct pair_buf *buf = net->all_bufs;

		net->all_bufs = buf->all;
		free(buf);
	}
}

void pair_mark_dirty(struct pair *pair, enum pair_need need)
{
	struct pair_net *net = pair->net;

	DOFI_ASSERT_LOCKED(&pair->lock);
	/* Every poll checks whether libfabric has room, and for how long packets have been held. */
	if (pair->waiting || pair->held)
		need = PAIR_URGENT;
	if (pair->is_dirty && atomic_load_explicit(&net->dirty_need, memory_order_relaxed) >= need)
		return;
	dofi_lock(&net->leaf);
	if (!pair->is_dirty)
		dofi_list_append(&net->dirty, &pair->dirty);
	pair->is_dirty = true;
	if (atomic_load_explicit(&net->dirty_need, memory_order_relaxed) < need)
		atomic_store_explicit(&net->dirty_need, need, memory_order_relaxed);
	dofi_unlock(&net->leaf);
}

uint8_t *pair_open_space(struct pair *pair, uint32_t need, bool must)
{
	struct pair_buf *buf = pair->open;

	DOFI_ASSERT_LOCKED(&pair->lock);
	if (DOFI_LIKELY(buf && buf->len + need <= PAIR_MESSAGE))
		return buf->data + buf->len;
	if (!must && (pair->in_flight >= PAIR_IN_FLIGHT || pair->waiting))
		return NULL;
	if (buf) {
		DOFI_NO_CANCEL();
		pair_flush(pair, PAIR_HELD);
		buf = pair->open;
	}
	if (!buf) {
		buf = pair_buf_get(pair->net);
		if (!buf)
			return NULL;
		buf->pair = pair;
		memcpy(buf->data, &pair->head, sizeof(pair->head));
		buf->len = sizeof(pair->head);
		pair->open = buf;
	}
	return buf->data + buf->len;
}

static void pair_put_control(struct pair_conn *conn, uint8_t *at, uint8_t kind, uint64_t value,
			     uint64_t total)
{
	struct msgep_frame f = { .mark = htole64(conn->peer_mark),
				 .total = htole64(total),
				 .value = htole64(value),
				 .kind = kind };

	memcpy(at, &f, sizeof(f));
	conn->pair->open->len += PAIR_HDR;
}

static void pair_put_credit(struct pair_conn *conn, uint8_t *at)
{
	uint32_t count[MSGEP_CHANNELS];
	uint64_t receives;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		count[ch] = atomic_load_explicit(&conn->consumed[ch], memory_order_relaxed);
		atomic_store_explicit(&conn->reported[ch], count[ch], memory_order_relaxed);
	}
	conn->taken_reported = atomic_load_explicit(&conn->taken, memory_order_relaxed);
	receives = atomic_load_explicit(&conn->receives, memory_order_relaxed);
	pair_put_control(conn, at, PAIR_CREDIT, (uint64_t)count[MSGEP_REQ] << 32 | count[MSGEP_ANS],
			 receives << 32 | conn->taken_reported);
}

void pair_put_counts(struct pair_conn *conn, struct msgep_frame *f)
{
	uint8_t *p = f->counts;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		uint32_t count = atomic_load_explicit(&conn->consumed[ch], memory_order_relaxed);

		atomic_store_explicit(&conn->reported[ch], count, memory_order_relaxed);
		count /= PAIR_UNIT;
		*p++ = (uint8_t)count;
		*p++ = (uint8_t)(count >> 8);
	}
	conn->taken_reported = atomic_load_explicit(&conn->taken, memory_order_relaxed);
	*p = (uint8_t)conn->taken_reported;
	dofi_list_remove(&conn->owe);
}

void pair_put_credits(struct pair *pair)
{
	while (!dofi_list_empty(&pair->owing)) {
		struct pair_conn *conn = dofi_container(pair->owing.next, struct pair_conn, owe);

		if (pair->open->len + PAIR_HDR > PAIR_MESSAGE)
			return;
		dofi_list_remove(&conn->owe);
		pair_put_credit(conn, pair->open->data + pair->open->len);
	}
}

/* The buffer of a message that has been sent collects the next packets. */
static void pair_buf_reuse(struct pair *pair, struct pair_buf *buf)
{
	DOFI_ASSERT_LOCKED(&pair->lock);
	buf->len = sizeof(struct pair_head);
	if (pair->open)
		pair_buf_put(pair->net, buf);
	else
		pair->open = buf;
}

/* Caller has disabled cancellation. */
static ssize_t pair_submit(struct pair *pair, struct pair_buf *buf)
{
	ssize_t ret;

	DOFI_ASSERT_LOCKED(&pair->lock);
	if (buf->len <= pair->net->inject) {
		ret = fi_inject(pair->ep, buf->data, buf->len, FI_ADDR_UNSPEC);
		if (!ret)
			pair_buf_reuse(pair, buf);
		return ret;
	}
	ret = fi_send(pair->ep, buf->data, buf->len, NULL, FI_ADDR_UNSPEC, buf);
	if (!ret)
		pair->in_flight++;
	return ret;
}

static void pair_send_waiting(struct pair *pair)
{
	struct pair_buf *buf;

	DOFI_ASSERT_LOCKED(&pair->lock);
	while ((buf = pair->waiting)) {
		struct pair_buf *next = buf->next;
		ssize_t ret = pair->state == PAIR_UP ? pair_submit(pair, buf) : -FI_ENOTCONN;

		if (ret == -FI_EAGAIN || ret == -FI_ENOMEM) {
			pair_mark_dirty(pair, PAIR_URGENT);
			/* No completion will resume it. */
			if (!pair->in_flight)
				msgep_inbox_retry(pair->net->domain);
			return;
		}
		pair->waiting = next;
		if (!next)
			pair->waiting_end = &pair->waiting;
		if (!ret)
			continue;
		pair_buf_put(pair->net, buf);
		pair->send_error = (int)-ret;
		pair_mark_dirty(pair, PAIR_URGENT);
	}
}

static bool pair_awaits_reply(const struct pair *pair)
{
	return pair->need == PAIR_LAZY &&
	       msgep_reply_is_awaited(&pair->reply, pair_empty_polls(pair));
}

/* The open message is complete, if it has packets. */
static void pair_end_open(struct pair *pair, enum pair_need least)
{
	struct pair_buf *buf;

	if (!dofi_list_empty(&pair->owing) &&
	    (pair->open || pair_open_space(pair, PAIR_HDR, false)))
		pair_put_credits(pair);
	if (pair_is_empty(pair))
		return;
	buf = pair->open;
	if (least == PAIR_LAZY && pair->need == PAIR_LAZY)
		msgep_reply_sent_alone(&pair->reply, pair_empty_polls(pair));
	pair->open = NULL;
	/* A message has room for the credits of 818 connections; others may owe more. */
	pair->need = dofi_list_empty(&pair->owing) ? PAIR_EMPTY : PAIR_URGENT;
	pair->held = 0;
	buf->next = NULL;
	*pair->waiting_end = buf;
	pair->waiting_end = &buf->next;
}

void pair_flush(struct pair *pair, enum pair_need least)
{
	if (pair->state == PAIR_UP && pair->need >= least &&
	    !(least == PAIR_LAZY && pair_awaits_reply(pair)))
		pair_end_open(pair, least);
	if (pair->waiting)
		pair_send_waiting(pair);
}

static void pair_raise(struct pair *pair, enum pair_need need)
{
	pair_set_need(pair, need);
	pair_mark_dirty(pair, need);
}

/* Connections that waited for a buffer continue. */
static void pair_feed(struct pair *pair)
{
	struct pair_conn *conn;

	DOFI_ASSERT_LOCKED(&pair->lock);
	while ((conn = dofi_list_pop(&pair->starved, struct pair_conn, starve)))
		pair_touch(conn);
}

void pair_flush_all(struct pair_net *net, enum pair_need least)
{
	struct dofi_list todo;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_lock(&net->leaf);
	dofi_list_move(&net->dirty, &todo);
	atomic_store_explicit(&net->dirty_need, PAIR_EMPTY, memory_order_relaxed);
	dofi_unlock(&net->leaf);
	while (!dofi_list_empty(&todo)) {
		struct pair *pair = dofi_container(todo.next, struct pair, dirty);
		int err;

		dofi_lock(&pair->lock);
		dofi_list_remove(&pair->dirty);
		pair->is_dirty = false;
		if (pair->held && dofi_now() - pair->held_at >= PAIR_HELD_NS)
			pair->need = PAIR_URGENT;
		pair_flush(pair, least);
		/* Injected messages have no completion that would do it. */
		if (!pair->waiting)
			pair_feed(pair);
		if (pair->waiting || pair->need != PAIR_EMPTY) {
			pair_mark_dirty(pair, pair->need);
			/* There was no memory, and no completion will resume it. */
			if (least == PAIR_HELD && !pair->in_flight)
				msgep_inbox_retry(net->domain);
		}
		err = pair->state == PAIR_UP ? pair->send_error : 0;
		dofi_unlock(&pair->lock);
		if (err)
			pair_break(pair, err);
	}
}

void pair_unhold(struct pair_conn *conn, uint32_t left)
{
	struct pair *pair = conn->pair;

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	if (!pair)
		return;
	dofi_lock(&pair->lock);
	if (pair->held && 2 * pair->held >= left)
		pair_raise(pair, PAIR_URGENT);
	dofi_unlock(&pair->lock);
}

void pair_starve(struct pair_conn *conn)
{
	struct pair *pair = conn->pair;

	DOFI_ASSERT_LOCKED(&pair->lock);
	if (dofi_list_empty(&conn->starve))
		dofi_list_append(&pair->starved, &conn->starve);
	/* For lack of memory: no completion will resume it. */
	if (pair->state == PAIR_UP && !pair->in_flight) {
		pair_mark_dirty(pair, PAIR_URGENT);
		msgep_inbox_retry(pair->net->domain);
	}
}

bool pair_put_packets(struct pair_conn *conn, const uint8_t *packets, uint32_t len)
{
	struct pair *pair = conn->pair;
	uint8_t *at, *end;

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	dofi_lock(&pair->lock);
	at = pair->state == PAIR_UP ? pair_open_space(pair, len, true) : NULL;
	if (at) {
		memcpy(at, packets, len);
		pair->open->len += len;
		for (end = at + len; at != end;) {
			struct msgep_frame *f = (void *)at;

			pair_put_counts(conn, f);
			at += PAIR_HDR + pair_padded(le32toh(f->len));
		}
		pair_raise(pair, PAIR_URGENT);
	} else {
		pair_starve(conn);
	}
	dofi_unlock(&pair->lock);
	return at;
}

bool pair_send_control(struct pair *pair, uint8_t kind, uint64_t mark, uint64_t value,
		       uint64_t total, const void *data, size_t len)
{
	struct msgep_frame f = { .mark = htole64(mark),
				 .len = htole32((uint32_t)len),
				 .total = htole64(total),
				 .value = htole64(value),
				 .kind = kind };
	uint32_t size = PAIR_HDR + pair_padded((uint32_t)len);
	uint8_t *at;

	dofi_lock(&pair->lock);
	at = pair->state == PAIR_UP ? pair_open_space(pair, size, true) : NULL;
	if (at) {
		memset(at + size - 8, 0, 8);
		memcpy(at, &f, sizeof(f));
		if (len)
			memcpy(at + sizeof(f), data, len);
		pair->open->len += size;
		pair_raise(pair, PAIR_URGENT);
	}
	dofi_unlock(&pair->lock);
	return at;
}

void pair_control(struct pair_conn *conn, uint8_t kind, uint64_t value, uint64_t total)
{
	struct pair *pair = conn->pair;

	if (!pair_send_control(pair, kind, conn->peer_mark, value, total, NULL, 0))
		return;
	dofi_lock(&pair->lock);
	pair_flush(pair, PAIR_URGENT);
	dofi_unlock(&pair->lock);
}

void pair_owe(struct pair_conn *conn)
{
	struct pair *pair = conn->pair;
	bool awaited, urgent;

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	atomic_store_explicit(&conn->receives, conn->ep->rx_tail, memory_order_relaxed);
	dofi_lock(&pair->lock);
	awaited = (int32_t)(atomic_load(&conn->awaited) - conn->taken_reported) > 0;
	/* Half a window is owed: the peer may be waiting for it. */
	urgent = atomic_load(&conn->taken) - conn->taken_reported >= PAIR_PACKETS / 2;
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		urgent |= atomic_load(&conn->consumed[ch]) - atomic_load(&conn->reported[ch]) >=
			  PAIR_WINDOW / 2;
	if (awaited || urgent) {
		if (dofi_list_empty(&conn->owe))
			dofi_list_append(&pair->owing, &conn->owe);
		pair_raise(pair, urgent ? PAIR_URGENT : PAIR_LAZY);
		if (!conn->dispatching)
			pair_leave_work(pair->net);
	}
	dofi_unlock(&pair->lock);
}

void pair_sent(struct pair_buf *buf)
{
	struct pair *pair = buf->pair;

	DOFI_ASSERT_LOCKED(&pair->net->lock);
	dofi_lock(&pair->lock);
	DOFI_ASSERT(pair->in_flight, "pair %p: a buffer completes twice", (void *)pair);
	pair->in_flight--;
	pair_buf_reuse(pair, buf);
	if (pair->waiting)
		pair_send_waiting(pair);
	pair_feed(pair);
	dofi_unlock(&pair->lock);
}
