/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives messages over routes (cm_route.c), in the order in which the transport received them. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

/* Items per round, so that other threads can acquire the lock. */
#define ROUND 256
/* Limit of pending requests that arrived over routes. */
#define MAX_ROUTED 16384

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
		msgep_cm_route_send(domain, NULL, item->route, item->from, MSGEP_CM_GONE);
		return;
	}
	conn = cm->n_routed < MAX_ROUTED ? msgep_cm_conn_new(cm, -1, transport, MSGEP_CM_HALF_OPEN)
					 : NULL;
	if (!conn) {
		msgep_cm_route_send(domain, NULL, item->route, item->from, MSGEP_CM_BUSY);
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

/* The endpoint has been attached: data passes, unless the connection was given up meanwhile. */
static void cm_recv_attached(struct msgep_cm *cm, struct msgep_domain *domain,
			     const struct msgep_item *item)
{
	struct msgep_ep *ep = domain->fabric->transport->find_ep(domain, item->to);

	if (!ep || !ep->cm)
		msgep_cm_route_send(domain, NULL, item->route, item->from, MSGEP_CM_GONE);
	else if (ep->eq->cm == cm)
		msgep_cm_path_checked(ep);
}

static void cm_recv_moved(struct msgep_cm_conn *conn, uint64_t route)
{
	if (conn->state != MSGEP_CM_PATH_CHECK || !msgep_cm_awaits_moved(conn))
		return;
	msgep_cm_use_route(conn, route);
	msgep_cm_close_socket(conn);
	msgep_cm_path_checked(conn->ep);
}

/* ---------------------------------------------------------------- messages */

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
		msgep_cm_end_routed(conn, msg->kind == MSGEP_CM_BYE);
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
		msgep_cm_route_send(domain, NULL, item->route, item->from, MSGEP_CM_GONE);
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
			msgep_cm_end_routed(conn, false);
		else if (conn->state == MSGEP_CM_REQUEST_SENT)
			msgep_cm_recv_answer(conn, true);
		else if (conn->state == MSGEP_CM_PATH_CHECK)
			msgep_cm_fail(conn, ECONNRESET, NULL, 0);
	}
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
