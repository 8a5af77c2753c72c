/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers of long data over bulk endpoints. (hot) */
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error_text.h"
#include "base/log.h"
#include "msgep/iov.h"
#include "msgep/pair/pair_message.h"
#include "msgep/pair/pair_unsolicited.h"

static struct pair_transfer *transfer_get(struct pair_net *net)
{
	struct pair_transfer *t;

	dofi_lock(&net->leaf);
	t = net->transfers;
	if (t)
		net->transfers = t->next;
	dofi_unlock(&net->leaf);
	return t ? t : malloc(sizeof(*t));
}

static void transfer_put(struct pair_net *net, struct pair_transfer *t)
{
	dofi_lock(&net->leaf);
	t->next = net->transfers;
	net->transfers = t;
	dofi_unlock(&net->leaf);
}

void pair_transfers_free(struct pair_net *net)
{
	while (net->transfers) {
		struct pair_transfer *t = net->transfers;

		net->transfers = t->next;
		free(t);
	}
}

/* A transfer is posted to libfabric. */
static void bulk_post(struct pair_bulk *bulk)
{
	atomic_fetch_add_explicit(&bulk->net->n_transfers, 1, memory_order_relaxed);
	atomic_fetch_add(&bulk->users, 1);
}

static void bulk_unpost(struct pair_bulk *bulk)
{
	atomic_fetch_sub_explicit(&bulk->net->n_transfers, 1, memory_order_relaxed);
	pair_bulk_put(bulk);
}

/* The next of those that have been kept; NULL: there are none. */
static struct pair_transfer *bulk_first_kept(const struct pair_bulk *bulk)
{
	return bulk->kept_head == bulk->kept_tail ? NULL
						  : bulk->kept[bulk->kept_head % PAIR_TRANSFERS];
}

/* The data of a read: the program whose memory it is posts nothing for it, and may seldom poll. */
static bool bulk_is_of_read(const struct pair_transfer *t)
{
	return t->mr;
}

/* ---------------------------------------------------------------- posting; ep->lock held */

size_t pair_bulk_from(struct msgep_ep *ep)
{
	struct pair_conn *conn = ep->w.pair;

	DOFI_ASSERT_LOCKED(&ep->lock);
	return conn && pair_has_bulk(conn) ? PAIR_BULK_FROM : SIZE_MAX;
}

bool pair_bulk_send(struct msgep_ep *ep, const struct iovec *iov, size_t n, struct msgep_mr *mr,
		    uint64_t *id)
{
	struct pair_conn *conn = ep->w.pair;
	struct pair_transfer *t, **slot = &conn->out[conn->next_out % PAIR_TRANSFERS];

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (*slot || conn->broken || conn->lost)
		return false;
	t = transfer_get(pair_net_of(ep->domain));
	if (!t)
		return false;
	t->op.kind = PAIR_OP_BULK_SEND;
	t->bulk = NULL;
	t->going = false;
	t->conn = conn;
	t->mr = mr;
	t->id = conn->next_out++;
	t->n = n;
	t->len = msgep_iov_total(iov, n);
	memcpy(t->iov, iov, n * sizeof(*iov));
	*slot = t;
	conn->n_out++;
	conn->n_awaiting++;
	*id = t->id;
	return true;
}

/* The memory is not needed any more. */
static void transfer_end(struct pair_conn *conn, struct pair_transfer *t)
{
	if (t->mr)
		atomic_fetch_sub(&t->mr->transfers, 1);
	t->mr = NULL;
	conn->out[t->id % PAIR_TRANSFERS] = NULL;
	conn->n_out--;
}

static void bulk_send(struct pair_conn *conn, struct pair_transfer *t)
{
	struct pair_bulk *bulk = conn->bulk;
	struct iovec iov[MSGEP_IOV_INLINE];
	struct fi_msg msg;
	ssize_t ret;

	memset(&msg, 0, sizeof(msg));
	memcpy(iov, t->iov, t->n * sizeof(*iov));
	msg.msg_iov = iov;
	msg.iov_count = t->n;
	if (t->room && t->n < MSGEP_IOV_INLINE && pair_carry_take(conn, t, &iov[t->n]))
		msg.iov_count++;
	msg.context = t;
	t->bulk = bulk;
	bulk_post(bulk);
	bulk->in_flight += t->len;
	ret = fi_sendmsg(bulk->ep, &msg, FI_COMPLETION);
	if (!ret)
		return;
	bulk->in_flight -= t->len;
	bulk_unpost(bulk);
	t->bulk = NULL;
	dofi_log(DOFI_LOG_INFO, "long data could not be sent: %s", dofi_error_text((int)-ret));
	pair_bulk_lost(conn, (int)-ret);
}

static bool bulk_may_send(const struct pair_conn *conn)
{
	return !conn->lost && conn->bulk->state == PAIR_UP &&
	       atomic_load_explicit(&conn->ep->state, memory_order_relaxed) == MSGEP_UP;
}

/* Sends as many of those that have been kept. True if the next poll can send others: data of reads
 * waits until libfabric has sent that before it, and other connections are served meanwhile. */
static bool bulk_send_kept(struct pair_conn *conn, uint32_t most)
{
	struct pair_bulk *bulk = conn->bulk;
	struct pair_transfer *t;

	while (bulk && (t = bulk_first_kept(bulk))) {
		if (!bulk_may_send(conn)) {
			bulk->kept_head = bulk->kept_tail;
			break;
		}
		if (bulk_is_of_read(t) && bulk->in_flight >= PAIR_READ_PART)
			break;
		if (!most--)
			return true;
		bulk->kept_head++;
		bulk_send(conn, t);
	}
	return false;
}

/* Data of reads is left to the next poll of this thread. */
static void bulk_note_read(struct pair_conn *conn)
{
	const struct pair_transfer *first = bulk_first_kept(conn->bulk);

	if (first && bulk_is_of_read(first) && conn->dispatching)
		pair_net_of(conn->ep->domain)->has_kept_read = true;
}

/* They are sent by the next polls: what the program posts until then is announced with them. */
static void bulk_keep(struct pair_conn *conn)
{
	struct pair_net *net = pair_net_of(conn->ep->domain);

	dofi_lock(&net->leaf);
	if (dofi_list_empty(&conn->keep))
		dofi_list_append(&net->kept, &conn->keep);
	atomic_store_explicit(&net->has_kept, true, memory_order_relaxed);
	dofi_unlock(&net->leaf);
	bulk_note_read(conn);
	if (!conn->dispatching)
		pair_leave_work(net);
}

void pair_bulk_send_kept(struct pair_net *net, uint32_t most)
{
	struct dofi_list todo;

	DOFI_ASSERT_LOCKED(&net->lock);
	pair_take_all(net, &net->kept, &net->has_kept, &todo);
	for (;;) {
		struct pair_conn *conn;

		dofi_lock(&net->leaf);
		conn = dofi_list_pop(&todo, struct pair_conn, keep);
		dofi_unlock(&net->leaf);
		if (!conn)
			return;
		dofi_lock(&conn->ep->lock);
		conn->dispatching = true;
		if (bulk_send_kept(conn, most))
			bulk_keep(conn);
		conn->dispatching = false;
		dofi_unlock(&conn->ep->lock);
	}
}

bool pair_bulk_go(struct msgep_ep *ep, uint64_t id, bool room)
{
	struct pair_conn *conn = ep->w.pair;
	struct pair_transfer *t = conn->out[id % PAIR_TRANSFERS];
	struct pair_bulk *bulk = conn->bulk;

	DOFI_ASSERT_LOCKED(&ep->lock);
	DOFI_NO_CANCEL();

	if (conn->lost)
		return true;
	if (!t || t->id != id || t->going || !bulk || bulk->state != PAIR_UP)
		return false;
	t->going = true;
	conn->n_awaiting--;
	t->room = room;
	bulk->kept[bulk->kept_tail++ % PAIR_TRANSFERS] = t;
	if (conn->n_out > PAIR_CARRIERS && !bulk_is_of_read(t)) {
		bulk_keep(conn);
	} else {
		bulk_send_kept(conn, PAIR_TRANSFERS);
		bulk_note_read(conn);
	}
	return true;
}

bool pair_bulk_recv(struct msgep_ep *ep, const struct iovec *iov, size_t n)
{
	struct pair_conn *conn = ep->w.pair;
	struct pair_bulk *bulk = conn->bulk;
	struct iovec with_room[MSGEP_IOV_INLINE];
	struct pair_transfer *t;
	struct fi_msg msg;

	DOFI_ASSERT_LOCKED(&ep->lock);
	/* Transfers announced before it closed do not arrive. */
	if (conn->lost || (!bulk && conn->had_bulk)) {
		pair_bulk_lost(conn, FI_ENOTCONN);
		return true;
	}
	/* The peer may report earlier that it is established. */
	if (!bulk || !bulk->ep || bulk->state == PAIR_BROKEN)
		return false;
	t = transfer_get(bulk->net);
	if (!t)
		return false;
	t->op.kind = PAIR_OP_BULK_RECV;
	t->bulk = bulk;
	t->mr = NULL;
	t->len = msgep_iov_total(iov, n);
	memset(&msg, 0, sizeof(msg));
	msg.msg_iov = iov;
	msg.iov_count = n;
	if (n < MSGEP_IOV_INLINE) {
		memcpy(with_room, iov, n * sizeof(*iov));
		with_room[n] = (struct iovec){ t->carried, sizeof(t->carried) };
		msg.msg_iov = with_room;
		msg.iov_count++;
	}
	msg.context = t;
	if (fi_recvmsg(bulk->ep, &msg, FI_COMPLETION)) {
		transfer_put(bulk->net, t);
		return false;
	}
	bulk_post(bulk);
	return true;
}

/* ---------------------------------------------------------------- completion; net->lock held */

/* Bytes of packets that have followed the data of a receive, which are subtracted from *len. */
static uint32_t transfer_carried(const struct pair_transfer *t, uint64_t *len)
{
	uint32_t more;

	if (t->op.kind != PAIR_OP_BULK_RECV || *len <= t->len || *len - t->len > PAIR_CARRY)
		return 0;
	more = (uint32_t)(*len - t->len);
	*len = t->len;
	return more;
}

static void bulk_sent(struct pair_conn *conn, struct pair_transfer *t)
{
	const struct pair_transfer *next = conn->bulk ? bulk_first_kept(conn->bulk) : NULL;

	t->bulk->in_flight -= t->len;
	transfer_end(conn, t);
	if (next && bulk_is_of_read(next))
		bulk_keep(conn);
}

static void bulk_completed_of(struct pair_conn *conn, struct pair_transfer *t, uint64_t len,
			      int err, struct msgep_cq_direct *direct)
{
	struct pair_net *net = t->bulk->net;
	struct msgep_ep *ep = conn->ep;
	uint32_t n_carried = err ? 0 : transfer_carried(t, &len);
	bool ok = true;

	dofi_lock(&ep->lock);
	ep->cq_direct = direct;
	conn->dispatching = true;
	if (t->op.kind == PAIR_OP_BULK_SEND) {
		bulk_sent(conn, t);
	} else if (!err) {
		net->has_news = true;
		ok = msgep_bulk_done(ep, len);
	}
	if (!ok)
		msgep_ep_fail(ep, "long data of another length than announced");
	pair_unhold(conn, t->op.kind == PAIR_OP_BULK_SEND ? conn->n_out : pair_n_in(conn));
	pair_carry_check(conn);
	ep->cq_direct = NULL;
	conn->dispatching = false;
	dofi_unlock(&ep->lock);
	if (n_carried && ok && t->bulk->conn && conn->pair)
		pair_recv_carried(conn, t->carried, n_carried, direct);
	pair_touch(conn);
}

void pair_bulk_completed(struct pair_net *net, struct pair_transfer *t, uint64_t len, int err,
			 struct msgep_cq_direct *direct)
{
	struct pair_bulk *bulk = t->bulk;
	struct pair_conn *conn = bulk->conn;

	DOFI_ASSERT_LOCKED(&net->lock);
	/* The endpoint may be closed by this; then the bulk has no connection any more. */
	if (err)
		pair_bulk_down(bulk, err);
	if (conn)
		bulk_completed_of(conn, t, len, err, direct);
	if (bulk->conn) {
		dofi_list_remove(&bulk->link);
		dofi_list_append(&net->bulks, &bulk->link);
		bulk->used_at = net->eq_read_at;
	}
	transfer_put(net, t);
	bulk_unpost(bulk);
}

/* The connection ends: unsent transfers are dropped. Its bulk endpoint has been closed. */
void pair_bulk_drop(struct pair_conn *conn)
{
	struct pair_net *net = pair_net_of(conn->ep->domain);

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	if (conn->bulk)
		conn->bulk->kept_head = conn->bulk->kept_tail;
	for (int i = 0; i < PAIR_TRANSFERS; i++) {
		struct pair_transfer *t = conn->out[i];

		if (!t)
			continue;
		conn->n_awaiting -= !t->going;
		transfer_end(conn, t);
		/* libfabric returns those that it had. */
		if (!t->bulk)
			transfer_put(net, t);
	}
}

void pair_bulk_stop(struct msgep_ep *ep)
{
	struct pair_conn *conn = ep->w.pair;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!conn || !conn->bulk || !conn->bulk->ep)
		return;
	conn->bulk->kept_head = conn->bulk->kept_tail;
	fi_shutdown(conn->bulk->ep, 0);
}

/* A region is deregistered. Caller holds ep->lock and mr_lock (for writing). */
bool pair_bulk_abort(struct msgep_ep *ep, const struct msgep_mr *mr)
{
	struct pair_conn *conn = ep->w.pair;
	bool any = msgep_bulk_forget(ep, mr);

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!conn)
		return any;
	for (int i = 0; i < PAIR_TRANSFERS; i++)
		any |= conn->out[i] && conn->out[i]->mr == mr;
	if (!any)
		return false;
	pair_bulk_stop(ep);
	for (int i = 0; i < PAIR_TRANSFERS; i++) {
		struct pair_transfer *t = conn->out[i];

		if (!t || t->mr != mr)
			continue;
		atomic_fetch_sub(&t->mr->transfers, 1);
		t->mr = NULL;
	}
	msgep_ep_fail(ep, "a region was freed while it was accessed");
	return true;
}
