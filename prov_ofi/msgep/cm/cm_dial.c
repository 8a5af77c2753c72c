/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the path to a service point: a connection of the transport, a unix socket, or TCP. */
#include <errno.h>
#include <string.h>

#include "fabric/netif.h"
#include "msgep/cm/cm_int.h"

/* A listener on this host whose queue is full for this long is tried over the network, if its TCP
 * port has a listener. */
#define LOCAL_FULL DOFI_MS(1000)

/* Unix sockets, and connections without a socket, have no ports of their own. */
void msgep_cm_name_local(struct msgep_ep *ep, const union dofi_addr *to)
{
	uint16_t port;

	if (ep->local.sa.sa_family)
		return;
	do {
		port = atomic_fetch_add(&ep->domain->next_port, 1);
	} while (!port);
	ep->local = *to;
	dofi_addr_set_port(&ep->local.sa, port);
}

/* Like msgep_cm_dial_local. Without a network there is no other path to the listener, and the
 * shared secret is the strongest proof of its identity. */
static int cm_dial_local(struct msgep_ep *ep, const struct msgep_transport *transport,
			 const union dofi_addr *to, bool *done)
{
	bool network = !ep->domain->fabric->transport->local;
	const struct msgep_cm *cm = ep->eq->cm;

	*done = true;
	msgep_cm_set_transport(ep, transport);
	return msgep_cm_dial_local(transport, to, ep->has_qual ? &ep->qual : NULL,
				   network      ? MSGEP_CM_PROOF_PORT
				   : cm->secret ? MSGEP_CM_PROOF_SECRET
						: MSGEP_CM_PROOF_NONE);
}

/* True if the listener's queue has been full for long, perhaps because a process of another user
 * has taken the name, and the service point can be reached over the network. */
static bool cm_falls_back(const union dofi_addr *to, uint64_t since)
{
	uid_t uid;

	return dofi_now() - since > LOCAL_FULL && msgep_cm_port_owner(to, &uid);
}

/* Like msgep_cm_dial, with the transport that reaches the address; the endpoint uses it afterwards.
 * A trusted local listener, however busy, is the right one. since: time of the first attempt. */
static int cm_dial_network(struct msgep_ep *ep, const union dofi_addr *to, uint64_t since,
			   struct msgep_cm_path *way)
{
	const struct msgep_fabric *fabric = ep->domain->fabric;
	int fd;

	if (fabric->transport->local) {
		fd = cm_dial_local(ep, fabric->transport, to, &way->done);
		return fd == -EACCES ? -ECONNREFUSED : fd;
	}
	if (fabric->local_transport && msgep_cm_is_here(to)) {
		fd = cm_dial_local(ep, fabric->local_transport, to, &way->done);
		if (fd >= 0 || (fd == -EAGAIN && !cm_falls_back(to, since)))
			return fd;
	}
	msgep_cm_set_transport(ep, fabric->transport);
	if (way->route)
		return 0;
	return msgep_cm_dial(dofi_netif_source(fabric->fab, to), to, ep->dscp, &way->done);
}

int msgep_cm_find_path(struct msgep_cm_conn *conn, struct msgep_cm_path *way)
{
	struct msgep_ep *ep = conn->ep;
	const struct msgep_transport *transport = ep->domain->fabric->transport;
	int ret = 0;

	memset(way, 0, sizeof(*way));
	way->fd = -1;
	if (transport->route)
		way->route = transport->route(ep, &conn->peer, &way->local);
	if (!way->route)
		ret = msgep_cm_take_place(conn);
	if (ret)
		return ret;
	ret = cm_dial_network(ep, &conn->peer, conn->started, way);
	if (ep->transport->local)
		way->route = 0;
	if (ret >= 0 && !way->route)
		way->fd = ret;
	else
		msgep_cm_leave_place(conn);
	return ret < 0 ? ret : 0;
}
