/* SPDX-License-Identifier: BSD-2-Clause */
/* Breaks DAT connections, and the libfabric connections between adapters with all of theirs. */
#include "base/error_text.h"
#include "base/log.h"
#include "msgep/cm/inbox.h"
#include "msgep/pair/pair_int.h"

void pair_conn_break(struct pair_conn *conn, int err)
{
	atomic_store(&conn->broken, err);
	msgep_ep_broken(conn->ep, err);
	pair_touch(conn);
}

void pair_conn_violate(struct pair_conn *conn, const char *what)
{
	char text[DOFI_ADDR_TEXT];

	dofi_log(DOFI_LOG_WARN, "ended the connection with %s: it violated the protocol: %s",
		 dofi_peer_text(&conn->ep->peer, text), what);
	pair_conn_break(conn, FI_EIO);
}

/* The peer's listener cannot be reached, although the service point could. Returns the error for
 * the connections: ECONNREFUSED would mean that there is no service point. */
static int pair_unreached(const struct pair *pair, int err)
{
	char text[DOFI_ADDR_TEXT];

	dofi_log(DOFI_LOG_WARN,
		 "cannot connect to port %u, at which the adapter of the service point %s listens "
		 "for data: %s; a firewall must let it through, too (DAPL_OFI_PORT_RANGE at the "
		 "peer)",
		 pair->port, dofi_peer_text(&pair->peer, text), dofi_error_text(err));
	return err == FI_ECONNREFUSED ? FI_EHOSTUNREACH : err;
}

/* The handshakes that use the pair end. */
static void pair_report_lost(struct pair *pair)
{
	struct msgep_item item = { .kind = MSGEP_ITEM_LOST, .route = pair_route_number(pair) };

	DOFI_ASSERT_LOCKED(&pair->net->lock);
	if (!msgep_inbox_put(pair->net->domain, &item, NULL))
		dofi_log(DOFI_LOG_DEBUG, "connections learn from their endpoints that they ended");
}

void pair_break(struct pair *pair, int err)
{
	char text[DOFI_ADDR_TEXT];
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&pair->net->lock);
	if (pair->state == PAIR_BROKEN)
		return;
	if (pair->state == PAIR_CONNECTING && pair->port)
		err = pair_unreached(pair, err);
	else
		dofi_log(DOFI_LOG_INFO, "the connection to the adapter at %s has ended: %s",
			 dofi_peer_text(&pair->peer, text), dofi_error_text(err));
	pair->net->connecting -= pair->state == PAIR_CONNECTING;
	pair->net->any_broken = true;
	dofi_lock(&pair->lock);
	pair->state = PAIR_BROKEN;
	dofi_unlock(&pair->lock);
	/* The peer learns of it by this. The endpoint is closed when the last connection has left,
	 * by the next thread that reads the event queue: that may be late. */
	fi_shutdown(pair->ep, 0);
	dofi_list_each(pos, &pair->conns)
		pair_conn_break(dofi_container(pos, struct pair_conn, link), err);
	pair_report_lost(pair);
}
