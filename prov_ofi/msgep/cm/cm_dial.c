/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways to a service point: a connection of the transport's own, a unix socket, TCP. */
#include <errno.h>
#include <string.h>

#include "fabric/netif.h"
#include "msgep/cm/cm_int.h"

/* A listener on this host whose queue is full for so long is sought over the network, if its port
 * is there. */
#define LOCAL_FULL DOFI_MS(1000)

/* Unix sockets, and connections without a socket, have no ports of their own. */
void rdm_cm_name_local(struct rdm_ep *ep, const union dofi_addr *to)
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

/* As rdm_cm_dial_local. Without a network there is no other way to the listener, and to a secret
 * that it knows there is no better proof. */
static int dial_local(struct rdm_ep *ep, const struct rdm_wire *wire, const union dofi_addr *to,
		      bool *done)
{
	bool network = !ep->domain->fabric->wire->local;
	const struct rdm_cm *cm = ep->eq->cm;

	*done = true;
	rdm_cm_choose(ep, wire);
	return rdm_cm_dial_local(wire, to, ep->has_qual ? &ep->qual : NULL,
				 network ? RDM_CM_BY_PORT :
				 cm->secret ? RDM_CM_BY_SECRET : RDM_CM_BY_NOTHING);
}

/* True if the listener's queue has been full for long, perhaps because a process of another user has
 * taken the name, and the network leads to the service point. */
static bool left_for_network(const union dofi_addr *to, uint64_t since)
{
	uid_t uid;

	return dofi_now() - since > LOCAL_FULL && rdm_cm_port_owner(to, &uid);
}

/* Listeners throw out peers that connect and say nothing (RDM_CM_HALF_PEER). A process that has no
 * processor for a while, after a thousand calls to connect, must not look like one of these. */
static bool crowded(const struct rdm_ep *ep, const union dofi_addr *to)
{
	struct rdm_cm *cm = ep->eq->cm;
	unsigned int silent = 0;
	struct dofi_list *pos;

	if (cm->n_early < RDM_CM_HALF_PEER)
		return false;
	dofi_list_each(pos, &cm->conns) {
		const struct rdm_cm_conn *conn = dofi_container(pos, struct rdm_cm_conn, link);

		silent += (conn->step == RDM_CM_DIALLING || conn->step == RDM_CM_GREETING) &&
			  conn->fd >= 0 && dofi_addr_same_host(&conn->peer.sa, &to->sa);
		if (silent == RDM_CM_HALF_PEER)
			return true;
	}
	return false;
}

/* Like rdm_cm_dial, on the wire that leads there; the endpoint is on that from here on. A local
 * listener that is believed, however busy, is the one that is meant. since: of the first try. */
static int dial(struct rdm_ep *ep, const union dofi_addr *to, uint64_t since, struct rdm_cm_way *way)
{
	const struct rdm_fabric *fabric = ep->domain->fabric;
	int fd;

	if (fabric->wire->local) {
		fd = dial_local(ep, fabric->wire, to, &way->done);
		return fd == -EACCES ? -ECONNREFUSED : fd;
	}
	if (fabric->local_wire && rdm_cm_is_here(to)) {
		fd = dial_local(ep, fabric->local_wire, to, &way->done);
		if (fd >= 0 || (fd == -EAGAIN && !left_for_network(to, since)))
			return fd;
	}
	rdm_cm_choose(ep, fabric->wire);
	if (way->route)
		return 0;
	return rdm_cm_dial(dofi_netif_source(fabric->fab, to), to, &way->done);
}

int rdm_cm_reach(struct rdm_ep *ep, const union dofi_addr *to, uint64_t since,
		 struct rdm_cm_way *way)
{
	const struct rdm_wire *wire = ep->domain->fabric->wire;
	int ret = -EAGAIN;

	memset(way, 0, sizeof(*way));
	if (wire->route)
		way->route = wire->route(ep->domain, to, &way->local);
	if (way->route || !crowded(ep, to))
		ret = dial(ep, to, since, way);
	if (ep->wire->local)
		way->route = 0;
	way->fd = ret < 0 || way->route ? -1 : ret;
	return ret < 0 ? ret : 0;
}
