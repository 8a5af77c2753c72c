/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends of DAT connections on pairs: parameters, attachment, the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/be_bytes.h"
#include "base/grow.h"
#include "msgep/cm/inbox.h"
#include "msgep/pair/pair_message.h"
#include "msgep/pair/pair_unsolicited.h"

/* Limit of the table of connections. */
#define CONNS_MAX (1u << 20)
#define BYE (4 * MSGEP_CHANNELS + 4)

static struct pair_conn *pair_conn_new(struct pair_net *net)
{
	struct pair_conn *conn;

	if (!DOFI_TABLE_RESERVE(net->conns, net->conns_capacity, net->n_conns + 1, 16, CONNS_MAX))
		return NULL;
	conn = msgep_inbox_spare(net->domain) ? NULL : calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->mark = pair_mark(net->n_conns, 0);
	net->conns[net->n_conns++] = conn;
	return conn;
}

static struct pair_conn *pair_conn_get(struct pair_net *net, struct msgep_ep *ep)
{
	struct pair_conn *conn;
	uint64_t mark;

	conn = dofi_list_pop(&net->unused, struct pair_conn, link);
	if (!conn)
		conn = pair_conn_new(net);
	if (!conn)
		return NULL;
	mark = conn->mark;
	memset(conn, 0, sizeof(*conn));
	conn->mark = pair_mark((uint32_t)mark, (uint32_t)(mark >> 32) + 1);
	dofi_list_init(&conn->link);
	dofi_list_init(&conn->owe);
	dofi_list_init(&conn->starve);
	dofi_list_init(&conn->touch);
	dofi_list_init(&conn->want);
	dofi_list_init(&conn->keep);
	pair_queues_free(conn);
	conn->ep = ep;
	atomic_fetch_add(&net->users, 1);
	return conn;
}

static int pair_conn_make(struct pair_net *net, struct msgep_ep *ep)
{
	if (!ep->w.pair)
		ep->w.pair = pair_conn_get(net, ep);
	return ep->w.pair ? 0 : -FI_ENOMEM;
}

/* ---------------------------------------------------------------- handshake */

static int pair_get_params(struct msgep_ep *ep, bool active, struct msgep_params *out)
{
	struct pair_net *net = pair_net_of(ep->domain);
	uint8_t *p = out->data;
	int ret;

	memset(out->data, 0, PAIR_PARAMS);
	dofi_lock(&net->lock);
	ret = pair_conn_make(net, ep);
	if (!ret && active && !ep->w.pair->expects) {
		ret = msgep_inbox_expect(net->domain);
		ep->w.pair->expects = !ret;
	}
	if (!ret && !active && !pair_is_up(net, ep->w.pair->peer_name, ep->dscp))
		ret = pair_grant(net, ep->w.pair->peer_name, ep->dscp, out->data + 32, NULL);
	if (!ret) {
		p = dofi_put_be(p, PAIR_VERSION, 1);
		p = dofi_put_be(p, 0, 1);
		p = dofi_put_be(p, pair_port(net, &ep->local), 2);
		p = dofi_put_be(p, PAIR_WINDOW, 4);
		p = dofi_put_be(p, (uint32_t)ep->w.pair->mark, 4);
		p = dofi_put_be(p, ep->w.pair->mark >> 32, 4);
		memcpy(p, net->name, PAIR_NAME);
	}
	dofi_unlock(&net->lock);
	out->len = PAIR_PARAMS;
	out->fd = -1;
	return ret;
}

/* The answer to the request has arrived, or none will. */
static void pair_answered(struct pair_conn *conn)
{
	if (conn->expects)
		msgep_inbox_expected(conn->ep->domain);
	conn->expects = false;
}

static int pair_parse_params(struct pair_net *net, struct pair_conn *conn, bool active,
			     const uint8_t *data)
{
	struct pair *pair;
	int ret;

	conn->peer_window = (uint32_t)dofi_get_be(data + 4, 4);
	if (conn->peer_window > PAIR_WINDOW)
		conn->peer_window = PAIR_WINDOW;
	conn->peer_mark =
		pair_mark((uint32_t)dofi_get_be(data + 8, 4), (uint32_t)dofi_get_be(data + 12, 4));
	memcpy(conn->peer_name, data + 16, PAIR_NAME);
	conn->peer_port = (uint16_t)dofi_get_be(data + 2, 2);
	conn->active = active;
	conn->has_peer_params = true;
	pair_answered(conn);
	if (!active)
		return 0;
	ret = pair_get(net, conn->ep, data, &pair);
	if (ret)
		return ret;
	dofi_list_append(&pair->conns, &conn->link);
	if (pair->state == PAIR_UP)
		pair_attach(conn, pair);
	/* Otherwise when it is up. */
	return 0;
}

static int pair_set_peer_params(struct msgep_ep *ep, bool active, struct msgep_params *in)
{
	struct pair_net *net = pair_net_of(ep->domain);
	int ret;

	if (in->len != PAIR_PARAMS || in->data[0] != PAIR_VERSION ||
	    dofi_get_be(in->data + 4, 4) < 2 * PAIR_PAYLOAD)
		return -FI_EINVAL;
	dofi_lock(&net->lock);
	ret = pair_conn_make(net, ep);
	if (!ret && ep->w.pair->has_peer_params)
		ret = -FI_EINVAL;
	if (!ret)
		ret = pair_parse_params(net, ep->w.pair, active, in->data);
	dofi_unlock(&net->lock);
	return ret;
}

static bool pair_path_ok(struct msgep_ep *ep)
{
	bool attached;

	dofi_lock(&ep->lock);
	attached = ep->w.pair && ep->w.pair->pair;
	dofi_unlock(&ep->lock);
	return attached;
}

/* Packets pass once the connection is attached, which only depends on the pair. */
static void pair_path_check(struct msgep_ep *ep)
{
	if (pair_path_ok(ep))
		msgep_ep_path_checked(ep);
}

/* ---------------------------------------------------------------- the end */

/* Committed packets are still sent with the pair. */
static void pair_conn_close(struct msgep_ep *ep)
{
	struct pair_net *net = pair_net_of(ep->domain);
	struct pair_conn *conn = ep->w.pair;
	struct pair *pair;

	if (!conn)
		return;
	dofi_lock(&net->lock);
	pair_answered(conn);
	pair_bulk_close(conn);
	pair_revoke(net, conn, NULL);
	dofi_list_remove(&conn->want);
	dofi_lock(&ep->lock);
	pair_bulk_drop(conn);
	dofi_unlock(&ep->lock);
	pair = conn->pair;
	if (pair) {
		dofi_lock(&pair->lock);
		dofi_list_remove(&conn->owe);
		dofi_list_remove(&conn->starve);
		dofi_unlock(&pair->lock);
	}
	dofi_lock(&net->leaf);
	dofi_list_remove(&conn->touch);
	dofi_list_remove(&conn->keep);
	dofi_unlock(&net->leaf);
	dofi_lock(&ep->lock);
	ep->w.pair = NULL;
	dofi_unlock(&ep->lock);
	pair_queues_free(conn);
	dofi_list_remove(&conn->link);
	conn->ep = NULL;
	conn->pair = NULL;
	dofi_list_append(&net->unused, &conn->link);
	atomic_fetch_sub(&net->users, 1);
	pair_flush_dirty(net, PAIR_HELD);
	dofi_unlock(&net->lock);
}

static size_t pair_finish(struct msgep_ep *ep, uint8_t *out)
{
	struct pair_conn *conn = ep->w.pair;

	if (!conn)
		return 0;
	pair_carry_drop(conn);
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		out = dofi_put_be(out, conn->sent[ch], 4);
	dofi_put_be(out, atomic_load(&conn->taken), 4);
	if (!conn->pair)
		return BYE;
	dofi_lock(&conn->pair->lock);
	pair_flush(conn->pair, PAIR_HELD);
	dofi_unlock(&conn->pair->lock);
	return BYE;
}

static void pair_finished(struct msgep_ep *ep, const uint8_t *in, size_t len)
{
	struct pair_conn *conn = ep->w.pair;

	if (!conn)
		return;
	conn->ended = len == BYE;
	for (int ch = 0; conn->ended && ch < MSGEP_CHANNELS; ch++)
		conn->final[ch] = (uint32_t)dofi_get_be(in + 4 * ch, 4);
	if (conn->ended &&
	    !pair_advance(&conn->arrived, (uint32_t)dofi_get_be(in + 4 * MSGEP_CHANNELS, 4),
			  conn->packets))
		conn->ended = false;
}

/* True if transfers to this side are missing. libfabric has returned all that it had. */
static bool pair_is_cut(const struct msgep_ep *ep)
{
	const struct pair_conn *conn = ep->w.pair;

	return conn->lost && (!conn->bulk || atomic_load(&conn->bulk->users) == 1);
}

static bool pair_drained(struct msgep_ep *ep, bool died)
{
	struct pair_conn *conn = ep->w.pair;

	if (!conn || ep->failed)
		return true;
	/* Frames that wait for such a transfer are lost with it. */
	if (ep->bulk.requests && pair_is_cut(ep))
		return true;
	if (conn->queue[MSGEP_REQ].head || conn->queue[MSGEP_ANS].head)
		return false;
	if (ep->bulk.head != ep->bulk.tail && !died && !conn->broken && !pair_is_cut(ep))
		return false;
	if (died || conn->broken || !conn->ended)
		return true;
	/* Announcements may have been lost with a transfer. */
	return pair_is_cut(ep) || (conn->came[MSGEP_REQ] == conn->final[MSGEP_REQ] &&
				   conn->came[MSGEP_ANS] == conn->final[MSGEP_ANS]);
}

/* ---------------------------------------------------------------- state */

static uint32_t pair_arrived(struct msgep_ep *ep)
{
	return ep->w.pair ? atomic_load(&ep->w.pair->arrived) : 0;
}

static void pair_set_consumed(struct msgep_ep *ep)
{
	if (ep->w.pair && ep->w.pair->pair)
		pair_owe(ep->w.pair);
}

static void pair_touch_ep(struct msgep_ep *ep)
{
	if (ep->w.pair)
		pair_touch(ep->w.pair);
}

/* The poll of the pairs processes every connection: none is polled individually. */
static bool pair_ready(struct msgep_ep *ep)
{
	(void)ep;
	return false;
}

static bool pair_quiet(struct msgep_ep *ep, bool space)
{
	(void)ep;
	(void)space;
	return true;
}

const struct msgep_transport msgep_transport_pair = {
	.name = "pairs",
	.id = 3,
	.dispatches = true,
	.traffic_classes = true,
	.find_inner = pair_find_inner,
	.domain_open = pair_open,
	.domain_close = pair_close,
	.wait_fds = pair_wait_fds,
	.progress = pair_progress,
	.may_sleep = pair_may_sleep,
	.busy = pair_busy,
	.get_params = pair_get_params,
	.set_peer_params = pair_set_peer_params,
	.close = pair_conn_close,
	.check_path = pair_path_check,
	.path_checked = pair_path_ok,
	.route = pair_route,
	.route_peer = pair_route_peer,
	.route_of = pair_route_of,
	.add_route = pair_add_route,
	.remove_route = pair_unlearn,
	.cm_send = pair_cm_send,
	.cm_flush = pair_cm_flush,
	.find_ep = pair_owner,
	.check_hosts = pair_check_hosts,
	.reap = pair_reap_strays,
	.retry = pair_retry,
	.finish = pair_finish,
	.finished = pair_finished,
	.drained = pair_drained,
	.reserve = pair_reserve,
	.commit = pair_commit,
	.unreserve = pair_unreserve,
	.peek = pair_peek,
	.release = pair_release,
	.flush = pair_set_consumed,
	.arrived = pair_arrived,
	.ready = pair_ready,
	.quiet = pair_quiet,
	.touch = pair_touch_ep,
	.bulk_from = pair_bulk_from,
	.bulk_mode = pair_bulk_mode,
	.bulk_send = pair_bulk_send,
	.bulk_reserve = pair_reserve_announcement,
	.bulk_go = pair_bulk_go,
	.bulk_recv = pair_bulk_recv,
	.bulk_finish = pair_bulk_finish,
	.bulk_abort = pair_bulk_abort,
	.bulk_stop = pair_bulk_stop,
};
