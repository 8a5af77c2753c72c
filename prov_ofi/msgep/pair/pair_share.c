/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares the bulk endpoints of an adapter, PAIR_BULKS at most, among its connections.
 *
 * A connection with long data requests an endpoint, and sends in packets until it has one. The side
 * that connected requests (PAIR_WANT_BULK), the other one grants a token (PAIR_BULK) when it has a
 * free slot. If there is none, connections queue in FIFO order, and the least recently used
 * endpoint that is idle is closed:
 *
 *   one side                       the other side
 *   PAIR_END_ASKED      ->                           neither announces anything on it any more
 *                       <-         PAIR_END_AGREED   all data of both sides has arrived
 *   closes it
 *   PAIR_END_CLOSED     ->         closes it
 *
 * so no transfer is lost, and the side that requested the end closes the endpoint when it has
 * received the other one's last transfer. If both request it, the side that connected prevails.
 *
 * Adapters cannot deadlock: nothing holds a slot while it waits for one of another adapter. A
 * request holds none. A token holds a slot of the side that granted it, until the peer connects or,
 * without a free slot itself, returns it at once, or, if the peer is stopped, until it expires. And
 * data does not wait for an endpoint: a connection without one sends everything in packets.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "msgep/pair/pair_message.h"
#include "msgep/pair/pair_unsolicited.h"

static bool share_has_place(const struct pair_net *net)
{
	return net->n_bulks + net->n_granted < PAIR_BULKS;
}

/* True if there may be data for which the connection needs an endpoint. */
static bool share_has_data(struct pair_conn *conn)
{
	struct msgep_ep *ep = conn->ep;
	bool any;

	dofi_lock(&ep->lock);
	any = msgep_queued(&ep->txq) || ep->target_read_head != ep->target_read_tail;
	dofi_unlock(&ep->lock);
	return any;
}

/* Allows another request. */
static void share_forget(struct pair_conn *conn)
{
	dofi_lock(&conn->ep->lock);
	conn->requested_bulk = false;
	dofi_unlock(&conn->ep->lock);
}

/* ---------------------------------------------------------------- closing one that is idle */

/* True if every announced transfer is complete on this side, no request or answer is partly
 * announced, and the peer has posted the memory of what was unsolicited. Caller holds ep->lock. */
static bool share_is_quiet(struct pair_conn *conn)
{
	struct msgep_ep *ep = conn->ep;
	const struct msgep_tx *tx = msgep_queued(&ep->txq) ? msgep_tx_at(&ep->txq, ep->txq.head)
							   : NULL;

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	if (conn->n_out || ep->bulk.head != ep->bulk.tail || (tx && tx->pulled && tx->done) ||
	    !pair_is_solicited(conn))
		return false;
	for (uint32_t i = ep->target_read_head; i != ep->target_read_tail; i++)
		if (ep->target_reads[i & (ep->target_read_capacity - 1)].pulled)
			return false;
	return true;
}

/* Advances to that step. False: it is too early. */
static bool share_leave(struct pair_bulk *bulk, enum pair_bulk_end leave)
{
	struct pair_conn *conn = bulk->conn;
	bool may;

	dofi_lock(&conn->ep->lock);
	may = leave == BULK_LEAVING || leave == BULK_GRANTED || share_is_quiet(conn);
	if (may) {
		bulk->net->n_leaving += bulk->leave == BULK_KEPT;
		bulk->leave = leave;
	}
	dofi_unlock(&conn->ep->lock);
	return may;
}

static void share_close(struct pair_conn *conn)
{
	pair_bulk_close(conn);
	share_forget(conn);
	conn->peer_wants = false;
	dofi_log(DOFI_LOG_DEBUG, "a bulk endpoint is closed for others");
}

static void share_go_on(struct pair_bulk *bulk)
{
	struct pair_conn *conn = bulk->conn;

	if (bulk->leave == BULK_LEAVING && share_leave(bulk, BULK_AGREED)) {
		pair_control(conn, PAIR_BULK_END, PAIR_END_AGREED, 0);
	} else if (bulk->leave == BULK_GRANTED && share_leave(bulk, BULK_AGREED)) {
		share_close(conn);
		pair_control(conn, PAIR_BULK_END, PAIR_END_CLOSED, 0);
	}
}

void pair_share_end(struct pair_conn *conn, uint64_t value)
{
	struct pair_bulk *bulk = conn->bulk;

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	/* It has failed meanwhile. */
	if (!bulk || bulk->state == PAIR_BROKEN)
		return;
	if (value == PAIR_END_ASKED && bulk->leave == BULK_ASKED && conn->active)
		return;
	if (value == PAIR_END_ASKED && (bulk->leave == BULK_KEPT || bulk->leave == BULK_ASKED)) {
		share_leave(bulk, BULK_LEAVING);
		share_go_on(bulk);
	} else if (value == PAIR_END_AGREED && bulk->leave == BULK_ASKED) {
		share_leave(bulk, BULK_GRANTED);
		share_go_on(bulk);
	} else if (value == PAIR_END_CLOSED && bulk->leave == BULK_AGREED) {
		share_close(conn);
	} else {
		pair_conn_violate(conn, "an end of an endpoint out of turn");
	}
}

/* Requests the end of the least recently used one, if it has been idle for a while. */
static void share_free_one(struct pair_net *net)
{
	uint64_t now = dofi_now();
	struct dofi_list *pos;

	if (now - net->left_at < PAIR_BULK_NEXT_NS)
		return;
	net->left_at = now;
	dofi_list_each(pos, &net->bulks)
	{
		struct pair_bulk *bulk = dofi_container(pos, struct pair_bulk, link);

		if (now - bulk->used_at < PAIR_BULK_IDLE_NS)
			return;
		if (bulk->state != PAIR_UP || bulk->leave != BULK_KEPT || bulk->conn->broken ||
		    !share_leave(bulk, BULK_ASKED))
			continue;
		pair_control(bulk->conn, PAIR_BULK_END, PAIR_END_ASKED, 0);
		return;
	}
}

/* ---------------------------------------------------------------- granting */

/* It is the connection's turn. */
static void share_serve(struct pair_conn *conn)
{
	struct pair_net *net = pair_net_of(conn->ep->domain);
	uint64_t token[2];

	if (!conn->pair || conn->bulk || conn->broken || conn->sent_token)
		return;
	if (conn->active) {
		conn->wanted_at = net->eq_read_at;
		pair_control(conn, PAIR_WANT_BULK, 0, 0);
	} else if (!pair_grant(net, conn->peer_name, conn->ep->dscp, (uint8_t *)token, conn)) {
		conn->sent_token = true;
		pair_control(conn, PAIR_BULK, token[0], token[1]);
	}
}

static void share_enter(struct pair_conn *conn)
{
	struct pair_net *net = pair_net_of(conn->ep->domain);

	if (dofi_list_empty(&net->wanted) && share_has_place(net))
		share_serve(conn);
	else if (dofi_list_empty(&conn->want))
		dofi_list_append(&net->wanted, &conn->want);
}

void pair_share_want(struct pair_conn *conn)
{
	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	if (conn->bulk || conn->requested_bulk)
		return;
	conn->requested_bulk = true;
	conn->wants_bulk = true;
	pair_touch(conn);
	pair_leave_work(conn->pair->net);
}

void pair_share_ask(struct pair_conn *conn)
{
	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	conn->wants_bulk = false;
	if (!conn->pair || conn->bulk || conn->broken)
		return;
	if (conn->active)
		share_enter(conn);
	else
		pair_control(conn, PAIR_WANT_BULK, 0, 0);
}

void pair_share_wanted(struct pair_conn *conn, uint64_t value)
{
	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	if (conn->active)
		conn->peer_wants = true;
	if (value)
		pair_revoke(pair_net_of(conn->ep->domain), conn, NULL);
	else if (!conn->bulk && !conn->sent_token)
		share_enter(conn);
}

/* A token that arrives late is returned if its data has been sent already. */
void pair_share_granted(struct pair_conn *conn, uint64_t first, uint64_t second)
{
	struct pair_net *net = pair_net_of(conn->ep->domain);
	bool late = net->eq_read_at - conn->wanted_at > PAIR_BULK_IDLE_NS;

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	if (conn->bulk || conn->broken) {
		/* It needs none. */
	} else if (late && !conn->peer_wants && !share_has_data(conn)) {
		share_forget(conn);
	} else if (!share_has_place(net)) {
		share_enter(conn);
	} else if (pair_bulk_connect(conn, first, second)) {
		conn->peer_wants = false;
		return;
	}
	pair_control(conn, PAIR_WANT_BULK, 1, 0);
}

void pair_share_look(struct pair_net *net)
{
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&net->lock);
	if (net->n_leaving) {
		dofi_list_each_safe(pos, tmp, &net->bulks)
			share_go_on(dofi_container(pos, struct pair_bulk, link));
	}
	if (dofi_list_empty(&net->wanted))
		return;
	if (net->n_granted && !share_has_place(net))
		pair_expire(net);
	while (!dofi_list_empty(&net->wanted) && share_has_place(net)) {
		struct pair_conn *conn = dofi_container(net->wanted.next, struct pair_conn, want);

		dofi_list_remove(&conn->want);
		if (conn->active && !conn->peer_wants && !share_has_data(conn))
			share_forget(conn);
		else
			share_serve(conn);
	}
	if (!dofi_list_empty(&net->wanted))
		share_free_one(net);
}
