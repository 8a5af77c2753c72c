/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshakes over a route: a connection of the transport instead of a socket.
 *
 * The first connection between two adapters is established over a socket. Once the transport has
 * attached it, the passive side is up and sends MOVED over the route; on its receipt the active
 * side is up, and both close the socket. BYE takes the route, and so does every later handshake for
 * the same service point. The route preserves order: the end of one connection never overtakes the
 * handshake of another. A side without that service point or connection answers GONE; the client of
 * a request then tries a socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

/* Items per round, so that other threads can acquire the lock. */
#define ROUND 256
/* Limit of pending requests that arrived over routes. */
#define MAX_ROUTED 16384

/* Flushes the transport's messages: at once, or at the end of a round. */
static void cm_begin_flush(struct msgep_cm *cm, struct msgep_domain *domain)
{
	if (cm->busy && cm->flush_domain == domain)
		return;
	if (cm->flush_domain)
		msgep_cm_flush_routed(cm);
	cm->flush_domain = domain;
	if (!cm->busy)
		msgep_cm_flush_routed(cm);
}

void msgep_cm_flush_routed(struct msgep_cm *cm)
{
	struct msgep_domain *domain = cm->flush_domain;

	cm->flush_domain = NULL;
	domain->fabric->transport->cm_flush(domain);
}

/* Sends to the peer of ep, or to the peer's connection `to`. */
static bool cm_route_send(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route,
			  uint64_t to, enum msgep_cm_kind kind)
{
	const struct msgep_transport *transport = domain->fabric->transport;
	struct msgep_cm_msg msg = { .kind = kind, .transport = transport->id };
	uint8_t buf[MSGEP_CM_MAX];

	return transport->cm_send(domain, ep, route, to, 0, buf, msgep_cm_build(buf, &msg));
}

/* Sends the message in conn->bufs->out. 1 or negative, like msgep_cm_send. */
int msgep_cm_send_routed(struct msgep_cm_conn *conn)
{
	const struct msgep_transport *transport = conn->transport;
	bool request = conn->state == MSGEP_CM_REQUEST_SENT;

	if (conn->bufs->out_done == conn->bufs->out_len)
		return 1;
	if (conn->gone || !transport->cm_send(conn->domain, conn->ep, conn->route, conn->peer_mark,
					      request ? dofi_addr_port(&conn->peer.sa) : 0,
					      conn->bufs->out, conn->bufs->out_len))
		return -ECONNRESET;
	conn->bufs->out_done = conn->bufs->out_len;
	cm_begin_flush(conn->cm, conn->domain);
	return 1;
}

void msgep_cm_send_last(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	uint8_t buf[MSGEP_CM_MAX];

	if (conn->gone)
		return;
	conn->transport->cm_send(conn->domain, conn->ep, conn->route, conn->peer_mark, 0, buf,
				 msgep_cm_build(buf, msg));
	cm_begin_flush(conn->cm, conn->domain);
}

void msgep_cm_send_gone(struct msgep_cm_conn *conn)
{
	bool given = conn->state == MSGEP_CM_REQUEST_PENDING,
	     proving = conn->state == MSGEP_CM_PATH_CHECK;

	if (proving && !conn->route && conn->transport->cm_send) {
		conn->route = conn->transport->route_of(conn->ep);
		conn->domain = conn->ep->domain;
	}
	if (!conn->route || conn->gone ||
	    (conn->state != MSGEP_CM_REQUEST_SENT && !proving && !given))
		return;
	cm_route_send(conn->domain, conn->ep, conn->route, given ? conn->peer_mark : 0,
		      MSGEP_CM_GONE);
	cm_begin_flush(conn->cm, conn->domain);
}

/* ---------------------------------------------------------------- requests */

static struct msgep_pep *cm_service_point(struct msgep_cm *cm,
					  const struct msgep_transport *transport, uint16_t port,
					  const union dofi_addr *to)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->listeners)
	{
		struct msgep_cm_listener *l = dofi_container(pos, struct msgep_cm_listener, link);

		if (l->transport == transport && dofi_addr_port(&l->addr.sa) == port &&
		    (dofi_addr_is_any(&l->addr) || dofi_addr_same_host(&l->addr.sa, &to->sa)))
			return l->pep;
	}
	return NULL;
}

static void cm_log_dropped(struct msgep_domain *domain, const struct msgep_item *item,
			   const char *expected)
{
	union dofi_addr peer = { .sa.sa_family = AF_UNSPEC };
	char text[DOFI_ADDR_TEXT], got[MSGEP_CM_GOT_TEXT];
	struct msgep_cm_msg msg;
	int ret = msgep_cm_parse(item->data, item->len, &msg);

	domain->fabric->transport->route_peer(domain, item->route, &peer);
	dofi_log(DOFI_LOG_WARN, "dropped a message from %s: expected %s, got %s",
		 dofi_addr_text(&peer, 0, text, sizeof(text)), expected,
		 msgep_cm_got_text(item->data, item->len, ret, got));
}

static void cm_recv_request(struct msgep_cm *cm, struct msgep_domain *domain,
			    const struct msgep_item *item)
{
	const struct msgep_transport *transport = domain->fabric->transport;
	struct msgep_cm_conn *conn;
	struct msgep_cm_msg msg;
	struct msgep_pep *pep;

	if (msgep_cm_parse(item->data, item->len, &msg) || msg.kind != MSGEP_CM_REQUEST ||
	    msg.has_fd || msg.sealed || msg.transport != transport->id) {
		cm_log_dropped(domain, item, "a connection request");
		return;
	}
	pep = cm_service_point(cm, transport, item->port, &msg.to);
	if (!pep) {
		cm_route_send(domain, NULL, item->route, item->from, MSGEP_CM_GONE);
		return;
	}
	conn = cm->n_routed < MAX_ROUTED ? msgep_cm_conn_new(cm, -1, transport, MSGEP_CM_HALF_OPEN)
					 : NULL;
	if (!conn) {
		cm_route_send(domain, NULL, item->route, item->from, MSGEP_CM_BUSY);
		return;
	}
	cm->n_routed++;
	conn->routed = true;
	conn->pep = pep;
	conn->domain = domain;
	conn->route = item->route;
	conn->peer_mark = item->from;
	conn->local = msg.to;
	dofi_addr_set_port(&conn->local.sa, item->port);
	transport->route_peer(domain, item->route, &conn->peer);
	dofi_addr_set_port(&conn->peer.sa, msg.port);
	memcpy(conn->bufs->in.buf, item->data, item->len);
	conn->bufs->in.have = item->len;
	msgep_cm_report_request(conn, &msg);
}

/* Marks a pending request whose client has gone. */
static void cm_forget_request(struct msgep_cm *cm, const struct msgep_item *item)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->conns)
	{
		struct msgep_cm_conn *conn = dofi_container(pos, struct msgep_cm_conn, link);

		if (conn->state == MSGEP_CM_REQUEST_PENDING && conn->route == item->route &&
		    conn->peer_mark == item->from)
			conn->gone = true;
	}
}

/* ---------------------------------------------------------------- from the socket to the route */

static void cm_use_route(struct msgep_cm_conn *conn, uint64_t route)
{
	struct msgep_ep *ep = conn->ep;

	conn->route = route;
	conn->domain = ep->domain;
	dofi_lock(&ep->lock);
	ep->sock = -1;
	dofi_unlock(&ep->lock);
}

/* The endpoint has been attached: data passes, unless the connection was given up meanwhile. */
static void cm_recv_attached(struct msgep_cm *cm, struct msgep_domain *domain,
			     const struct msgep_item *item)
{
	struct msgep_ep *ep = domain->fabric->transport->find_ep(domain, item->to);

	if (!ep || !ep->cm)
		cm_route_send(domain, NULL, item->route, item->from, MSGEP_CM_GONE);
	else if (ep->eq->cm == cm)
		msgep_cm_path_checked(ep);
}

void msgep_cm_move(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;
	uint64_t route;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	if (conn->active || conn->route || !conn->transport->cm_send)
		return;
	route = conn->transport->route_of(ep);
	if (!route)
		return;
	if (cm_route_send(ep->domain, ep, route, 0, MSGEP_CM_MOVED)) {
		cm_use_route(conn, route);
		cm_begin_flush(conn->cm, conn->domain);
	} else {
		/* The end of the socket is that of the connection. */
		shutdown(conn->fd, SHUT_RDWR);
	}
}

static void cm_recv_moved(struct msgep_cm_conn *conn, uint64_t route)
{
	if (conn->state != MSGEP_CM_PATH_CHECK || !msgep_cm_awaits_moved(conn))
		return;
	cm_use_route(conn, route);
	msgep_cm_close_socket(conn);
	msgep_cm_path_checked(conn->ep);
}

/* ---------------------------------------------------------------- messages */

static void cm_end(struct msgep_cm_conn *conn, bool bye)
{
	conn->eof = true;
	conn->bye_received = bye;
	msgep_cm_peer_end(conn);
}

static void cm_recv_for_conn(struct msgep_ep *ep, const struct msgep_item *item,
			     const struct msgep_cm_msg *msg)
{
	bool ends = msg->kind == MSGEP_CM_BYE || msg->kind == MSGEP_CM_GONE;
	struct msgep_cm_conn *conn;

	/* The endpoint may have been attached already. */
	msgep_cm_path_checked(ep);
	conn = ep->cm;
	if (!conn)
		return;

	if (msg->kind == MSGEP_CM_MOVED) {
		cm_recv_moved(conn, item->route);
		return;
	}
	if (conn->state == MSGEP_CM_PATH_CHECK && ends) {
		msgep_cm_fail(conn, ECONNRESET, NULL, 0);
		return;
	}
	if (conn->state == MSGEP_CM_LIVE && ends && !conn->eof) {
		dofi_lock(&conn->ep->lock);
		if (msg->kind == MSGEP_CM_BYE)
			conn->ep->transport->finished(conn->ep, msg->params, msg->params_len);
		dofi_unlock(&conn->ep->lock);
		cm_end(conn, msg->kind == MSGEP_CM_BYE);
	} else if (conn->state == MSGEP_CM_REQUEST_SENT && conn->route == item->route) {
		memcpy(conn->bufs->in.buf, item->data, item->len);
		conn->bufs->in.have = item->len;
		if (msg->kind == MSGEP_CM_GONE)
			conn->transport->remove_route(conn->domain, conn->route, &conn->peer);
		msgep_cm_recv_answer(conn,
				     msg->kind == MSGEP_CM_BUSY || msg->kind == MSGEP_CM_GONE);
	}
}

static void cm_recv_message(struct msgep_cm *cm, struct msgep_domain *domain,
			    const struct msgep_item *item)
{
	const struct msgep_transport *transport = domain->fabric->transport;
	struct msgep_ep *ep = transport->find_ep(domain, item->to);
	struct msgep_cm_msg msg;

	if (msgep_cm_parse(item->data, item->len, &msg) || msg.has_fd || msg.sealed) {
		cm_log_dropped(domain, item, "an unsealed message without a descriptor");
		return;
	}
	if (!item->to && msg.kind == MSGEP_CM_GONE)
		cm_forget_request(cm, item);
	else if (ep && ep->cm && ep->eq->cm == cm)
		cm_recv_for_conn(ep, item, &msg);
	else if (msg.kind == MSGEP_CM_ACCEPT)
		cm_route_send(domain, NULL, item->route, item->from, MSGEP_CM_GONE);
}

/* ---------------------------------------------------------------- the end of a route */

/* One that waits for MOVED is attached to its route already. */
static bool cm_uses_route(const struct msgep_cm_conn *conn, uint64_t route)
{
	return conn->route == route ||
	       (conn->state == MSGEP_CM_PATH_CHECK && msgep_cm_awaits_moved(conn) &&
		conn->transport->route_of(conn->ep) == route);
}

static void cm_route_lost(struct msgep_cm *cm, uint64_t route)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &cm->conns)
	{
		struct msgep_cm_conn *conn = dofi_container(pos, struct msgep_cm_conn, link);

		if (!cm_uses_route(conn, route))
			continue;
		if (conn->state == MSGEP_CM_REQUEST_PENDING)
			conn->gone = true;
		else if (conn->state == MSGEP_CM_LIVE)
			cm_end(conn, false);
		else if (conn->state == MSGEP_CM_REQUEST_SENT)
			msgep_cm_recv_answer(conn, true);
		else if (conn->state == MSGEP_CM_PATH_CHECK)
			msgep_cm_fail(conn, ECONNRESET, NULL, 0);
	}
}

void msgep_cm_forget_routes(struct msgep_cm *cm, const struct msgep_domain *domain)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->conns)
	{
		struct msgep_cm_conn *conn = dofi_container(pos, struct msgep_cm_conn, link);

		if (conn->domain == domain && !conn->ep)
			conn->gone = true;
	}
}

/* A failed connection without a socket: signals its end over the route. */
void msgep_cm_abort_routed(struct msgep_cm_conn *conn)
{
	if (conn->state != MSGEP_CM_LIVE || !conn->route || conn->eof)
		return;
	cm_route_send(conn->domain, conn->ep, conn->route, 0, MSGEP_CM_GONE);
	cm_begin_flush(conn->cm, conn->domain);
	cm_end(conn, false);
}

void msgep_cm_process_inbox(struct msgep_cm *cm, struct msgep_domain *domain)
{
	struct msgep_item *item;

	DOFI_ASSERT_LOCKED(&cm->eq->lock);
	for (int i = 0; i < ROUND && (item = msgep_inbox_take(domain)); i++) {
		switch (item->kind) {
		case MSGEP_ITEM_REQUEST:
			cm_recv_request(cm, domain, item);
			break;
		case MSGEP_ITEM_MESSAGE:
			cm_recv_message(cm, domain, item);
			break;
		case MSGEP_ITEM_ATTACHED:
			cm_recv_attached(cm, domain, item);
			break;
		case MSGEP_ITEM_LOST:
			cm_route_lost(cm, item->route);
			break;
		}
		msgep_inbox_free(domain, item);
	}
	domain->fabric->transport->cm_flush(domain);
}
