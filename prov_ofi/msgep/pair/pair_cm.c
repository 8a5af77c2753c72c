/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshake messages on a pair: routes to service points, sending and receiving (cm_route.c).
 *
 * A route is a pair's index and serial number. A peer may name any connection of this adapter in a
 * message: it reaches only those of its own pair, or that are to be attached to it.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "msgep/cm/inbox.h"
#include "msgep/pair/pair_message.h"

/* Maximum of recorded service points of a peer. */
#define POINTS_MOST 256

/* NULL: it has ended. Caller holds net->lock. */
static struct pair *pair_cm_pair_numbered(const struct pair_net *net, uint64_t route)
{
	uint32_t index = (uint32_t)route;
	struct pair *pair = index < net->n_pairs ? net->pair_table[index] : NULL;

	DOFI_ASSERT_LOCKED(&net->lock);
	return pair && pair->serial == route >> 32 && pair->state == PAIR_UP ? pair : NULL;
}

static bool pair_cm_same_point(const union dofi_addr *a, const union dofi_addr *b)
{
	return dofi_addr_port(&a->sa) == dofi_addr_port(&b->sa) &&
	       dofi_addr_same_host(&a->sa, &b->sa);
}

static bool pair_cm_leads_to(const struct pair *pair, const union dofi_addr *to)
{
	for (uint32_t i = 0; i < pair->n_points; i++)
		if (pair_cm_same_point(&pair->points[i], to))
			return true;
	return false;
}

uint64_t pair_route(struct msgep_ep *ep, const union dofi_addr *to, union dofi_addr *local)
{
	struct pair_net *net = pair_net_of(ep->domain);
	struct dofi_list *pos;
	uint64_t route = 0;

	dofi_lock(&net->lock);
	dofi_list_each(pos, &net->pairs)
	{
		const struct pair *pair = dofi_container(pos, struct pair, link);

		if (pair->state != PAIR_UP || pair->dscp != ep->dscp || !pair_cm_leads_to(pair, to))
			continue;
		*local = pair->local;
		route = pair_route_number(pair);
		break;
	}
	dofi_unlock(&net->lock);
	return route;
}

void pair_route_peer(struct msgep_domain *domain, uint64_t route, union dofi_addr *peer)
{
	struct pair_net *net = pair_net_of(domain);
	const struct pair *pair;

	memset(peer, 0, sizeof(*peer));
	peer->sa.sa_family = domain->fabric->fab->addr.sa.sa_family;
	dofi_lock(&net->lock);
	pair = pair_cm_pair_numbered(net, route);
	if (pair && pair->peer.sa.sa_family)
		*peer = pair->peer;
	dofi_unlock(&net->lock);
}

uint64_t pair_route_of(struct msgep_ep *ep)
{
	struct pair_net *net = pair_net_of(ep->domain);
	struct pair_conn *conn = ep->w.pair;
	uint64_t route = 0;

	dofi_lock(&net->lock);
	if (conn && conn->pair)
		route = pair_route_number(conn->pair);
	dofi_unlock(&net->lock);
	return route;
}

/* The pair of the connection's DSCP with the peer's adapter: up, or connecting. */
static struct pair *pair_cm_pair_to(struct pair_net *net, const struct pair_conn *conn)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &net->pairs)
	{
		struct pair *pair = dofi_container(pos, struct pair, link);

		if (pair->state != PAIR_BROKEN && pair->dscp == conn->ep->dscp &&
		    !memcmp(pair->name, conn->peer_name, PAIR_NAME))
			return pair;
	}
	return NULL;
}

void pair_add_route(struct msgep_ep *ep, const union dofi_addr *to, const union dofi_addr *local)
{
	struct pair_net *net = pair_net_of(ep->domain);
	struct pair_conn *conn = ep->w.pair;
	union dofi_addr *points;
	struct pair *pair;

	dofi_lock(&net->lock);
	pair = conn ? pair_cm_pair_to(net, conn) : NULL;
	if (!pair || pair->n_points >= POINTS_MOST || pair_cm_leads_to(pair, to))
		goto out;
	points = realloc(pair->points, (pair->n_points + 1) * sizeof(*points));
	if (!points)
		goto out;
	pair->points = points;
	points[pair->n_points++] = *to;
	pair->local = *local;
	pair->peer = *to;
out:
	dofi_unlock(&net->lock);
}

void pair_unlearn(struct msgep_domain *domain, uint64_t route, const union dofi_addr *to)
{
	struct pair_net *net = pair_net_of(domain);
	struct pair *pair;

	dofi_lock(&net->lock);
	pair = pair_cm_pair_numbered(net, route);
	for (uint32_t i = 0; pair && i < pair->n_points; i++)
		if (pair_cm_same_point(&pair->points[i], to))
			pair->points[i--] = pair->points[--pair->n_points];
	dofi_unlock(&net->lock);
}

/* ---------------------------------------------------------------- sending */

bool pair_cm_send(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route, uint64_t to,
		  uint16_t port, const uint8_t *msg, size_t len)
{
	struct pair_net *net = pair_net_of(domain);
	struct pair_conn *conn = ep ? ep->w.pair : NULL;
	uint64_t from = conn ? conn->mark : 0;
	struct pair *pair;
	bool sent;

	if (!to && conn && conn->has_peer_params)
		to = conn->peer_mark;
	dofi_lock(&net->lock);
	pair = pair_cm_pair_numbered(net, route);
	sent = pair && pair_send_control(pair, port ? PAIR_CM_REQUEST : PAIR_CM_MESSAGE, to, from,
					 port, msg, len);
	/* The peer would wait for a message that is not sent. */
	if (pair && !sent && !port)
		pair_break(pair, FI_ENOMEM);
	dofi_unlock(&net->lock);
	return sent;
}

void pair_cm_flush(struct msgep_domain *domain)
{
	struct pair_net *net = pair_net_of(domain);

	DOFI_NO_CANCEL();

	dofi_lock(&net->lock);
	pair_flush_dirty(net, PAIR_URGENT);
	dofi_unlock(&net->lock);
}

/* ---------------------------------------------------------------- receiving */

/* True if the pair may send messages for that connection. */
static bool pair_cm_concerns(const struct pair *pair, uint64_t mark)
{
	const struct pair_conn *conn = pair_marked(pair->net, mark);

	if (!conn)
		return false;
	return conn->pair
		       ? conn->pair == pair
		       : !conn->has_peer_params || !memcmp(conn->peer_name, pair->name, PAIR_NAME);
}

static void pair_cm_refuse(struct pair *pair, uint64_t to, enum msgep_cm_kind kind)
{
	const struct msgep_transport *transport = pair->net->domain->fabric->transport;
	struct msgep_cm_msg msg = { .kind = kind, .transport = transport->id };
	uint8_t buf[MSGEP_CM_MAX];

	pair_send_control(pair, PAIR_CM_MESSAGE, to, 0, 0, buf, msgep_cm_build(buf, &msg));
}

void pair_cm_not_attached(struct pair *pair, const struct msgep_frame *f)
{
	DOFI_ASSERT_LOCKED(&pair->net->lock);
	pair_cm_refuse(pair, le64toh(f->value), MSGEP_CM_GONE);
}

void pair_cm_received(struct pair *pair, const struct msgep_frame *f)
{
	struct msgep_item item = { .kind = f->kind == PAIR_CM_REQUEST ? MSGEP_ITEM_REQUEST
								      : MSGEP_ITEM_MESSAGE,
				   .route = pair_route_number(pair),
				   .to = le64toh(f->mark),
				   .from = le64toh(f->value),
				   .port = (uint16_t)le64toh(f->total),
				   .len = (uint16_t)f->len };

	DOFI_ASSERT_LOCKED(&pair->net->lock);
	if (item.to && !pair_cm_concerns(pair, item.to)) {
		/* An acceptance of an abandoned request is answered. */
		item.to = (uint64_t)UINT32_MAX;
	}
	if (msgep_inbox_put(pair->net->domain, &item, f + 1))
		return;
	if (item.kind == MSGEP_ITEM_REQUEST)
		pair_cm_refuse(pair, item.from, MSGEP_CM_BUSY);
	else if (!pair->net->closing)
		pair_break(pair, FI_ENOMEM);
}

void pair_cm_attached(struct pair_conn *conn)
{
	struct msgep_item item = { .kind = MSGEP_ITEM_ATTACHED,
				   .route = pair_route_number(conn->pair),
				   .to = conn->mark,
				   .from = conn->peer_mark };

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	if (!msgep_inbox_put(conn->ep->domain, &item, NULL) && !conn->pair->net->closing)
		pair_break(conn->pair, FI_ENOMEM);
}

struct msgep_ep *pair_owner(struct msgep_domain *domain, uint64_t mark)
{
	struct pair_net *net = pair_net_of(domain);
	struct pair_conn *conn;
	struct msgep_ep *ep;

	dofi_lock(&net->lock);
	conn = pair_marked(net, mark);
	ep = conn ? conn->ep : NULL;
	dofi_unlock(&net->lock);
	return ep;
}
