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

/* Limits pending connects to one host: listeners close half-open connections
 * (MSGEP_CM_HALF_OPEN_PEER), and a process that is not scheduled after a thousand calls to connect
 * must not exceed their limit. */
static bool cm_backlog_full(const struct msgep_ep *ep, const union dofi_addr *to)
{
	struct msgep_cm *cm = ep->eq->cm;
	unsigned int unsent = 0;
	struct dofi_list *pos;

	if (cm->n_early < MSGEP_CM_HALF_OPEN_PEER)
		return false;
	dofi_list_each(pos, &cm->conns)
	{
		const struct msgep_cm_conn *conn = dofi_container(pos, struct msgep_cm_conn, link);

		unsent += (conn->state == MSGEP_CM_CONNECTING ||
			   conn->state == MSGEP_CM_HELLO_SENT) &&
			  conn->fd >= 0 && dofi_addr_same_host(&conn->peer.sa, &to->sa);
		if (unsent == MSGEP_CM_HALF_OPEN_PEER)
			return true;
	}
	return false;
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

int msgep_cm_find_path(struct msgep_ep *ep, const union dofi_addr *to, uint64_t since,
		       struct msgep_cm_path *way)
{
	const struct msgep_transport *transport = ep->domain->fabric->transport;
	int ret = -EAGAIN;

	memset(way, 0, sizeof(*way));
	if (transport->route)
		way->route = transport->route(ep, to, &way->local);
	if (way->route || !cm_backlog_full(ep, to))
		ret = cm_dial_network(ep, to, since, way);
	if (ep->transport->local)
		way->route = 0;
	way->fd = ret < 0 || way->route ? -1 : ret;
	return ret < 0 ? ret : 0;
}
