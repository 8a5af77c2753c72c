/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends connections that cannot continue: the peer violated the protocol, revoked data, or cannot be
 * reached. */
#include <sys/socket.h>

#include "base/error_text.h"
#include "base/log.h"
#include "msgep/msgep.h"

/* The event queue handles it like any other end. */
static void ep_abort(struct msgep_ep *ep)
{
	ep->aborted = true;
	if (ep->sock >= 0)
		shutdown(ep->sock, SHUT_RDWR);
	else if (ep->transport->cm_send)
		msgep_ep_path_checked(ep);
}

static void ep_fail(struct msgep_ep *ep)
{
	ep->failed = true;
	ep->refused = true;
	if (ep->transport->withdraw)
		ep->transport->withdraw(ep);
	ep_abort(ep);
}

void msgep_ep_fail(struct msgep_ep *ep, const char *why)
{
	char text[DOFI_ADDR_TEXT];

	DOFI_ASSERT_LOCKED(&ep->lock);
	dofi_log(DOFI_LOG_WARN, "ended the connection with %s: it violated the protocol: %s",
		 dofi_peer_text(&ep->peer, text), why);
	ep_fail(ep);
}

void msgep_ep_revoked(struct msgep_ep *ep, const char *what)
{
	char text[DOFI_ADDR_TEXT];

	DOFI_ASSERT_LOCKED(&ep->lock);
	dofi_log(DOFI_LOG_INFO, "ended the connection with %s: it has revoked the data of %s",
		 dofi_peer_text(&ep->peer, text), what);
	ep_fail(ep);
}

void msgep_ep_abort(struct msgep_ep *ep, const char *why)
{
	char text[DOFI_ADDR_TEXT];

	DOFI_ASSERT_LOCKED(&ep->lock);
	dofi_log(DOFI_LOG_INFO, "ended the connection with %s: %s", dofi_peer_text(&ep->peer, text),
		 why);
	ep_abort(ep);
}

void msgep_ep_data_lost(struct msgep_ep *ep, int err)
{
	int none = 0;

	/* The event queue arms the timer. */
	if (atomic_compare_exchange_strong(&ep->data_lost, &none, err))
		msgep_ep_path_checked(ep);
}

void msgep_ep_broken(struct msgep_ep *ep, int err)
{
	atomic_store(&ep->broken, err);
	msgep_cq_wake(ep->rx_cq);
	if (ep->tx_cq != ep->rx_cq)
		msgep_cq_wake(ep->tx_cq);
	/* Before the connection is up no thread polls it. */
	if (atomic_load(&ep->state) != MSGEP_UP)
		msgep_ep_path_checked(ep);
}
