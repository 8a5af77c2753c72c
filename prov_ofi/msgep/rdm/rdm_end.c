/* SPDX-License-Identifier: BSD-2-Clause */
/* Breaks connections. */
#include "base/error_text.h"
#include "base/log.h"
#include "msgep/rdm/rdm_int.h"

void rdm_break(struct rdm_conn *conn, int err)
{
	char text[DOFI_ADDR_TEXT];

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (atomic_exchange(&conn->broken, true) || !conn->ep)
		return;
	dofi_log(DOFI_LOG_DEBUG, "connection %u with %s failed: %s", conn->index,
		 dofi_peer_text(&conn->ep->peer, text), dofi_error_text(err));
	msgep_ep_broken(conn->ep, err);
	rdm_touch_conn(conn);
}

void rdm_violate(struct rdm_conn *conn)
{
	atomic_store(&conn->violated, true);
	rdm_break(conn, FI_EINVAL);
}
