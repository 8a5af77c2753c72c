/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections whose handshake takes a route: a connection of the transport's own instead of a socket.
 *
 * The first connection between two adapters is made over a socket. Once the transport has attached
 * it, the passive side is up and sends MOVED by the route, with which the active side is up and both
 * close the socket; what is left to say (BYE) takes the route, and so does every later handshake for
 * the same service point. The route keeps the order: no end of a connection overtakes what brings
 * another one up. A side without that service point or connection answers GONE; the client of a
 * request then tries a socket.
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

/* Items of one round, so that others get the lock. */
#define ROUND 256
/* Requests that have come by routes and are not decided. */
#define ROUTED_MOST 16384

/* What has been handed to the transport leaves: at once, or at the end of a round. */
static void send_off(struct rdm_cm *cm, struct rdm_domain *domain)
{
	if (cm->busy && cm->told == domain)
		return;
	if (cm->told)
		rdm_cm_send_off(cm);
	cm->told = domain;
	if (!cm->busy)
		rdm_cm_send_off(cm);
}

void rdm_cm_send_off(struct rdm_cm *cm)
{
	struct rdm_domain *domain = cm->told;

	cm->told = NULL;
	domain->fabric->wire->told(domain);
}

/* To the peer of ep, or of the number `to`. */
static bool tell(struct rdm_domain *domain, struct rdm_ep *ep, uint64_t route, uint64_t to,
		 enum rdm_cm_kind kind)
{
	const struct rdm_wire *wire = domain->fabric->wire;
	struct rdm_cm_msg msg = { .kind = kind, .wire = wire->id };
	uint8_t buf[RDM_CM_MAX];

	return wire->tell(domain, ep, route, to, 0, buf, rdm_cm_build(buf, &msg));
}

/* The message in conn->bufs->out. 1 or negative, like rdm_cm_send. */
int rdm_cm_tell(struct rdm_cm_conn *conn)
{
	const struct rdm_wire *wire = conn->wire;
	bool request = conn->step == RDM_CM_ASKING;

	if (conn->bufs->out_done == conn->bufs->out_len)
		return 1;
	if (conn->gone ||
	    !wire->tell(conn->domain, conn->ep, conn->route, conn->peer_mark,
			request ? dofi_addr_port(&conn->peer.sa) : 0, conn->bufs->out, conn->bufs->out_len))
		return -ECONNRESET;
	conn->bufs->out_done = conn->bufs->out_len;
	send_off(conn->cm, conn->domain);
	return 1;
}

void rdm_cm_tell_last(struct rdm_cm_conn *conn, const struct rdm_cm_msg *msg)
{
	uint8_t buf[RDM_CM_MAX];

	if (conn->gone)
		return;
	conn->wire->tell(conn->domain, conn->ep, conn->route, conn->peer_mark, 0, buf,
			 rdm_cm_build(buf, msg));
	send_off(conn->cm, conn->domain);
}

void rdm_cm_tell_gone(struct rdm_cm_conn *conn)
{
	bool given = conn->step == RDM_CM_GIVEN, proving = conn->step == RDM_CM_PROVING;

	if (proving && !conn->route && conn->wire->tell) {
		conn->route = conn->wire->route_of(conn->ep);
		conn->domain = conn->ep->domain;
	}
	if (!conn->route || conn->gone || (conn->step != RDM_CM_ASKING && !proving && !given))
		return;
	tell(conn->domain, conn->ep, conn->route, given ? conn->peer_mark : 0, RDM_CM_GONE);
	send_off(conn->cm, conn->domain);
}

/* ---------------------------------------------------------------- requests */

static struct rdm_pep *service_point(struct rdm_cm *cm, const struct rdm_wire *wire, uint16_t port,
				     const union dofi_addr *to)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->listeners) {
		struct rdm_cm_listener *l = dofi_container(pos, struct rdm_cm_listener, link);

		if (l->wire == wire && dofi_addr_port(&l->addr.sa) == port &&
		    (dofi_addr_is_any(&l->addr) || dofi_addr_same_host(&l->addr.sa, &to->sa)))
			return l->pep;
	}
	return NULL;
}

static void take_request(struct rdm_cm *cm, struct rdm_domain *domain, const struct rdm_item *item)
{
	const struct rdm_wire *wire = domain->fabric->wire;
	struct rdm_cm_conn *conn;
	struct rdm_cm_msg msg;
	struct rdm_pep *pep;

	if (rdm_cm_parse(item->data, item->len, &msg) || msg.kind != RDM_CM_REQUEST || msg.has_fd ||
	    msg.sealed || msg.wire != wire->id) {
		dofi_log(DOFI_LOG_WARN, "dropped a malformed connection request of a peer");
		return;
	}
	pep = service_point(cm, wire, item->port, &msg.to);
	if (!pep) {
		tell(domain, NULL, item->route, item->from, RDM_CM_GONE);
		return;
	}
	conn = cm->n_routed < ROUTED_MOST ? rdm_cm_conn_new(cm, -1, wire, RDM_CM_HALF) : NULL;
	if (!conn) {
		tell(domain, NULL, item->route, item->from, RDM_CM_BUSY);
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
	wire->route_peer(domain, item->route, &conn->peer);
	dofi_addr_set_port(&conn->peer.sa, msg.port);
	memcpy(conn->bufs->in.buf, item->data, item->len);
	conn->bufs->in.have = item->len;
	rdm_cm_give(conn, &msg);
}

/* The client of a request that is not decided has gone. */
static void forget_request(struct rdm_cm *cm, const struct rdm_item *item)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->conns) {
		struct rdm_cm_conn *conn = dofi_container(pos, struct rdm_cm_conn, link);

		if (conn->step == RDM_CM_GIVEN && conn->route == item->route &&
		    conn->peer_mark == item->from)
			conn->gone = true;
	}
}

/* ---------------------------------------------------------------- from the socket to the route */

static void use_route(struct rdm_cm_conn *conn, uint64_t route)
{
	struct rdm_ep *ep = conn->ep;

	conn->route = route;
	conn->domain = ep->domain;
	rdm_lock(&ep->lock);
	ep->sock = -1;
	rdm_unlock(&ep->lock);
}

/* The endpoint has been attached: data passes, unless the connection was given up meanwhile. */
static void take_attached(struct rdm_cm *cm, struct rdm_domain *domain,
			  const struct rdm_item *item)
{
	struct rdm_ep *ep = domain->fabric->wire->owner(domain, item->to);

	if (!ep || !ep->cm)
		tell(domain, NULL, item->route, item->from, RDM_CM_GONE);
	else if (ep->eq->cm == cm)
		rdm_cm_settled(ep);
}

void rdm_cm_move(struct rdm_cm_conn *conn)
{
	struct rdm_ep *ep = conn->ep;
	uint64_t route;

	if (conn->active || conn->route || !conn->wire->tell)
		return;
	route = conn->wire->route_of(ep);
	if (!route)
		return;
	if (tell(ep->domain, ep, route, 0, RDM_CM_MOVED)) {
		use_route(conn, route);
		send_off(conn->cm, conn->domain);
	} else {
		/* The end of the socket is that of the connection. */
		shutdown(conn->fd, SHUT_RDWR);
	}
}

static void take_moved(struct rdm_cm_conn *conn, uint64_t route)
{
	if (conn->step != RDM_CM_PROVING || !rdm_cm_awaits_moved(conn))
		return;
	use_route(conn, route);
	rdm_cm_close_socket(conn);
	rdm_cm_settled(conn->ep);
}

/* ---------------------------------------------------------------- messages */

static void end(struct rdm_cm_conn *conn, bool bye)
{
	conn->over = true;
	conn->bye = bye;
	rdm_cm_peer_end(conn);
}

static void take_for(struct rdm_ep *ep, const struct rdm_item *item, const struct rdm_cm_msg *msg)
{
	bool ends = msg->kind == RDM_CM_BYE || msg->kind == RDM_CM_GONE;
	struct rdm_cm_conn *conn;

	/* It may have been attached before. */
	rdm_cm_settled(ep);
	conn = ep->cm;
	if (!conn)
		return;

	if (msg->kind == RDM_CM_MOVED) {
		take_moved(conn, item->route);
		return;
	}
	if (conn->step == RDM_CM_PROVING && ends) {
		rdm_cm_fail(conn, ECONNRESET, NULL, 0);
		return;
	}
	if (conn->step == RDM_CM_LIVE && ends && !conn->over) {
		rdm_lock(&conn->ep->lock);
		if (msg->kind == RDM_CM_BYE)
			conn->ep->wire->finished(conn->ep, msg->offer, msg->offer_len);
		rdm_unlock(&conn->ep->lock);
		end(conn, msg->kind == RDM_CM_BYE);
	} else if (conn->step == RDM_CM_ASKING && conn->route == item->route) {
		memcpy(conn->bufs->in.buf, item->data, item->len);
		conn->bufs->in.have = item->len;
		if (msg->kind == RDM_CM_GONE)
			conn->wire->unlearn(conn->domain, conn->route, &conn->peer);
		rdm_cm_take_answer(conn, msg->kind == RDM_CM_BUSY || msg->kind == RDM_CM_GONE);
	}
}

static void take_message(struct rdm_cm *cm, struct rdm_domain *domain, const struct rdm_item *item)
{
	const struct rdm_wire *wire = domain->fabric->wire;
	struct rdm_ep *ep = wire->owner(domain, item->to);
	struct rdm_cm_msg msg;

	if (rdm_cm_parse(item->data, item->len, &msg) || msg.has_fd || msg.sealed) {
		dofi_log(DOFI_LOG_WARN, "dropped a malformed message of a peer");
		return;
	}
	if (!item->to && msg.kind == RDM_CM_GONE)
		forget_request(cm, item);
	else if (ep && ep->cm && ep->eq->cm == cm)
		take_for(ep, item, &msg);
	else if (msg.kind == RDM_CM_ACCEPT)
		tell(domain, NULL, item->route, item->from, RDM_CM_GONE);
}

/* ---------------------------------------------------------------- the end of a route */

static void lose(struct rdm_cm *cm, uint64_t route)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &cm->conns) {
		struct rdm_cm_conn *conn = dofi_container(pos, struct rdm_cm_conn, link);

		if (conn->route != route)
			continue;
		if (conn->step == RDM_CM_GIVEN)
			conn->gone = true;
		else if (conn->step == RDM_CM_LIVE)
			end(conn, false);
		else if (conn->step == RDM_CM_ASKING)
			rdm_cm_take_answer(conn, true);
		else if (conn->step == RDM_CM_PROVING)
			rdm_cm_fail(conn, ECONNRESET, NULL, 0);
	}
}

void rdm_cm_forget_routes(struct rdm_cm *cm, const struct rdm_domain *domain)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->conns) {
		struct rdm_cm_conn *conn = dofi_container(pos, struct rdm_cm_conn, link);

		if (conn->domain == domain && !conn->ep)
			conn->gone = true;
	}
}

/* The connection cannot go on, and has no socket that would tell. */
void rdm_cm_cut_routed(struct rdm_cm_conn *conn)
{
	if (conn->step != RDM_CM_LIVE || !conn->route || conn->over)
		return;
	tell(conn->domain, conn->ep, conn->route, 0, RDM_CM_GONE);
	send_off(conn->cm, conn->domain);
	end(conn, false);
}

void rdm_cm_take_items(struct rdm_cm *cm, struct rdm_domain *domain)
{
	struct rdm_item *item;

	for (int i = 0; i < ROUND && (item = rdm_inbox_take(domain)); i++) {
		switch (item->kind) {
		case RDM_ITEM_REQUEST:
			take_request(cm, domain, item);
			break;
		case RDM_ITEM_MESSAGE:
			take_message(cm, domain, item);
			break;
		case RDM_ITEM_ATTACHED:
			take_attached(cm, domain, item);
			break;
		case RDM_ITEM_LOST:
			lose(cm, item->route);
			break;
		}
		rdm_inbox_free(domain, item);
	}
	domain->fabric->wire->told(domain);
}
