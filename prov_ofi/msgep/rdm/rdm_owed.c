/* SPDX-License-Identifier: BSD-2-Clause */
/* What a connection owes its peer that no packet has carried: queries, replies, counts. */
#include "msgep/rdm/rdm_int.h"

static bool rdm_answer_due(const struct rdm_conn *conn)
{
	return (int32_t)(conn->peer_wants_arrived - conn->arrived_reported) > 0 &&
	       (int32_t)(rdm_delivered(conn) - conn->peer_wants_arrived) >= 0;
}

static bool rdm_acks_due(const struct rdm_conn *conn)
{
	return conn->ep && conn->acks != conn->acks_reported && !conn->peer_gone;
}

bool rdm_probe_due(const struct rdm_conn *conn)
{
	return conn->probing || conn->probe_reply_due;
}

bool rdm_conn_owes_now(const struct rdm_conn *conn)
{
	return rdm_request_due(conn) || rdm_large_due(conn) || conn->closing ||
	       (conn->ep ? rdm_probe_due(conn) : rdm_answer_due(conn));
}

bool rdm_conn_owes(const struct rdm_conn *conn)
{
	return (conn->ep || conn->closed_at) && conn->has_peer_params && !conn->broken &&
	       (rdm_conn_owes_now(conn) || rdm_answer_due(conn) || rdm_acks_due(conn));
}

void rdm_list_owing(struct rdm_conn *conn)
{
	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (!dofi_list_empty(&conn->owe) || !rdm_conn_owes(conn))
		return;
	dofi_list_append(&conn->net->owing, &conn->owe);
	msgep_reply_owed(&conn->reply, conn->net->empty_polls);
}
