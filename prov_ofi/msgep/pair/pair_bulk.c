/* SPDX-License-Identifier: BSD-2-Clause */
/* Bulk endpoints: a separate libfabric connection of a DAT connection, for long data
 * (proto_bulk.c).
 *
 * It is created when a side has long data to send and a slot is free (pair_share.c); until it is
 * established, data travels in packets. The active side of the DAT connection creates it, with a
 * token that the passive side has sent on the pair. Closing it ends every access to memory at once;
 * disconnects and the deregistration of a region stop transfers that way. Its end may overtake
 * packets sent earlier on the pair, and BYE: a connection that loses data with it ends when BYE has
 * arrived, or after a time limit (msgep_ep_data_lost). */
#include <stdlib.h>

#include "base/error_text.h"
#include "base/log.h"
#include "msgep/pair/pair_unsolicited.h"

static struct pair_bulk *bulk_new(struct pair_conn *conn)
{
	struct pair_net *net = pair_net_of(conn->ep->domain);
	struct pair_bulk *bulk = calloc(1, sizeof(*bulk));

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	if (!bulk)
		return NULL;
	bulk->net = net;
	bulk->fd = -1;
	bulk->conn = conn;
	atomic_init(&bulk->users, 1);
	dofi_list_append(&net->bulks, &bulk->link);
	bulk->used_at = net->eq_read_at;
	net->n_bulks++;
	net->connecting++;
	dofi_lock(&conn->ep->lock);
	conn->bulk = bulk;
	conn->had_bulk = false;
	/* Requests before this were not noted. */
	conn->clear = PAIR_NOT_CLEAR;
	dofi_unlock(&conn->ep->lock);
	return bulk;
}

static void bulk_set_ep(struct pair_bulk *bulk, struct fid_ep *ep)
{
	dofi_lock(&bulk->conn->ep->lock);
	bulk->ep = ep;
	dofi_unlock(&bulk->conn->ep->lock);
}

void pair_bulk_close(struct pair_conn *conn)
{
	struct pair_bulk *bulk = conn->bulk;
	struct pair_net *net;
	struct fid_ep *ep;

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	if (!bulk)
		return;
	net = bulk->net;
	/* No operation is posted to it after this. */
	dofi_lock(&conn->ep->lock);
	ep = bulk->ep;
	bulk->ep = NULL;
	conn->bulk = NULL;
	dofi_unlock(&conn->ep->lock);
	pair_sock_release(&bulk->fd);
	if (ep)
		fi_close(&ep->fid);
	net->connecting -= bulk->state == PAIR_CONNECTING;
	/* Completions that fail after this do not decrement the count of connecting endpoints. */
	bulk->state = PAIR_BROKEN;
	net->n_bulks--;
	net->n_leaving -= bulk->leave != BULK_KEPT;
	dofi_list_remove(&bulk->link);
	bulk->conn = NULL;
	pair_bulk_put(bulk);
}

/* Returns how many transfers are outstanding. */
static uint32_t bulk_set_state(struct pair_bulk *bulk, enum pair_state state)
{
	struct pair_conn *conn = bulk->conn;
	uint32_t outstanding = 0;

	bulk->net->connecting -= bulk->state == PAIR_CONNECTING;
	if (!conn) {
		bulk->state = state;
		return 0;
	}
	dofi_lock(&conn->ep->lock);
	bulk->state = state;
	outstanding = atomic_load(&bulk->users) - 1 + conn->n_out + !pair_is_solicited(conn);
	dofi_unlock(&conn->ep->lock);
	return outstanding;
}

/* QUIRK libfabric<1.20 tcp: an endpoint that has ended accepts receives, and returns them only when
 * it is closed (seen in 1.17, 1.18). Those posted before its event is read would keep the
 * connection from ending until the peer's last data is given up (DAPL_OFI_GRACE_MS). */
static void bulk_close_ep(struct pair_bulk *bulk)
{
	struct fid_ep *ep = bulk->ep;

	DOFI_ASSERT_LOCKED(&bulk->net->lock);
	if (!ep)
		return;
	bulk_set_ep(bulk, NULL);
	pair_sock_release(&bulk->fd);
	fi_close(&ep->fid);
}

void pair_bulk_lost(struct pair_conn *conn, int err)
{
	atomic_store(&conn->lost, true);
	msgep_ep_data_lost(conn->ep, err);
}

void pair_bulk_down(struct pair_bulk *bulk, int err)
{
	struct pair_conn *conn = bulk->conn;

	if (bulk->state == PAIR_BROKEN)
		return;
	if (!bulk_set_state(bulk, PAIR_BROKEN)) {
		/* Nothing is lost with it. The connection continues without one, unless it was
		 * closed for others. */
		if (!conn)
			return;
		dofi_lock(&conn->ep->lock);
		conn->had_bulk = true;
		if (bulk->leave != BULK_KEPT)
			conn->requested_bulk = false;
		dofi_unlock(&conn->ep->lock);
		pair_bulk_close(conn);
		return;
	}
	bulk_close_ep(bulk);
	pair_bulk_lost(conn, err);
	pair_touch(conn);
}

bool pair_bulk_event(struct pair_net *net, struct fid *fid, uint32_t event, int err)
{
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each(pos, &net->bulks)
	{
		struct pair_bulk *bulk = dofi_container(pos, struct pair_bulk, link);

		if (!bulk->ep || &bulk->ep->fid != fid)
			continue;
		if (event == FI_CONNECTED && bulk->state == PAIR_CONNECTING) {
			bulk_set_state(bulk, PAIR_UP);
			bulk->fd = pair_sock_claim(bulk->ep, bulk->conn ? bulk->conn->ep->dscp : 0);
			dofi_log(DOFI_LOG_DEBUG, "a bulk endpoint is up");
		} else if (event != FI_CONNECTED) {
			pair_bulk_down(bulk, err);
		}
		return true;
	}
	return false;
}

/* The passive side has sent a token. False: it is not used. */
bool pair_bulk_connect(struct pair_conn *conn, uint64_t first, uint64_t second)
{
	uint64_t token[2] = { first, second };
	union dofi_addr to = conn->ep->peer;
	struct fid_ep *ep = NULL;
	struct pair_bulk *bulk;
	int ret;

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	bulk = bulk_new(conn);
	if (!bulk)
		return false;
	dofi_addr_set_port(&to.sa, conn->peer_port);
	ret = pair_connect(bulk->net, NULL, &to, conn->ep->dscp, (const uint8_t *)token, &ep);
	bulk_set_ep(bulk, ep);
	if (!ret)
		return true;
	dofi_log(DOFI_LOG_INFO, "no bulk endpoint: %s; long data goes in packets",
		 dofi_error_text(-ret));
	pair_bulk_close(conn);
	return false;
}

/* The active side presents the token. */
int pair_bulk_accept(struct pair_conn *conn, struct fi_info *info)
{
	struct pair_bulk *bulk = bulk_new(conn);
	struct fid_ep *ep = NULL;
	int ret;

	DOFI_ASSERT_LOCKED(&pair_net_of(conn->ep->domain)->lock);
	if (!bulk)
		return -FI_ENOMEM;
	ret = pair_make_ep(bulk->net, info, true, &ep);
	bulk_set_ep(bulk, ep);
	if (!ret)
		ret = fi_accept(ep, NULL, 0);
	if (ret)
		pair_bulk_close(conn);
	return ret;
}
