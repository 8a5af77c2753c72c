/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends messages over a route: a connection of the transport instead of a socket.
 *
 * The first connection between two adapters is established over a socket. Once the transport has
 * attached it, the passive side is up and sends MOVED over the route; on its receipt the active
 * side is up, and both close the socket. BYE takes the route, and so does every later handshake for
 * the same service point. The route preserves order: the end of one connection never overtakes the
 * handshake of another. A side without that service point or connection answers GONE; the client of
 * a request then tries a socket.
 */
#include <errno.h>
#include <sys/socket.h>

#include "msgep/cm/cm_int.h"

void msgep_cm_begin_flush(struct msgep_cm *cm, struct msgep_domain *domain)
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

bool msgep_cm_route_send(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route,
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
	msgep_cm_begin_flush(conn->cm, conn->domain);
	return 1;
}

void msgep_cm_send_last(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	uint8_t buf[MSGEP_CM_MAX];

	if (conn->gone)
		return;
	conn->transport->cm_send(conn->domain, conn->ep, conn->route, conn->peer_mark, 0, buf,
				 msgep_cm_build(buf, msg));
	msgep_cm_begin_flush(conn->cm, conn->domain);
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
	msgep_cm_route_send(conn->domain, conn->ep, conn->route, given ? conn->peer_mark : 0,
			    MSGEP_CM_GONE);
	msgep_cm_begin_flush(conn->cm, conn->domain);
}

/* ---------------------------------------------------------------- from the socket to the route */

void msgep_cm_use_route(struct msgep_cm_conn *conn, uint64_t route)
{
	struct msgep_ep *ep = conn->ep;

	conn->route = route;
	conn->domain = ep->domain;
	dofi_lock(&ep->lock);
	ep->sock = -1;
	dofi_unlock(&ep->lock);
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
	if (msgep_cm_route_send(ep->domain, ep, route, 0, MSGEP_CM_MOVED)) {
		msgep_cm_use_route(conn, route);
		msgep_cm_begin_flush(conn->cm, conn->domain);
	} else {
		/* The end of the socket is that of the connection. */
		shutdown(conn->fd, SHUT_RDWR);
	}
}
