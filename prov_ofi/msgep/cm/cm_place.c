/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits the attempts to one host that have a socket and have not sent a request. */
#include <errno.h>
#include <stdlib.h>

#include "msgep/cm/cm_int.h"

static struct msgep_cm_host *cm_host_of(struct msgep_cm *cm, const union dofi_addr *to)
{
	struct msgep_cm_host *host;
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->hosts)
	{
		host = dofi_container(pos, struct msgep_cm_host, link);
		if (dofi_addr_same_host(&host->addr.sa, &to->sa))
			return host;
	}
	host = calloc(1, sizeof(*host));
	if (!host)
		return NULL;
	host->addr = *to;
	dofi_list_init(&host->waiting);
	dofi_list_append(&cm->hosts, &host->link);
	return host;
}

bool msgep_cm_awaits_place(const struct msgep_cm_conn *conn)
{
	return !dofi_list_empty(&conn->place_link);
}

/* Listeners close half-open connections (MSGEP_CM_HALF_OPEN_PEER), and a process that is not
 * scheduled after a thousand calls to connect must not exceed their limit. */
int msgep_cm_take_place(struct msgep_cm_conn *conn)
{
	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	if (conn->host)
		return msgep_cm_awaits_place(conn) ? -EAGAIN : 0;
	conn->host = cm_host_of(conn->cm, &conn->peer);
	if (!conn->host)
		return -ENOMEM;
	if (conn->host->taken < MSGEP_CM_HALF_OPEN_PEER) {
		conn->host->taken++;
		return 0;
	}
	dofi_list_append(&conn->host->waiting, &conn->place_link);
	return -EAGAIN;
}

void msgep_cm_leave_place(struct msgep_cm_conn *conn)
{
	struct msgep_cm_host *host = conn->host;
	struct msgep_cm_conn *next;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	if (!host)
		return;
	conn->host = NULL;
	if (msgep_cm_awaits_place(conn)) {
		dofi_list_remove(&conn->place_link);
		return;
	}
	next = dofi_list_pop(&host->waiting, struct msgep_cm_conn, place_link);
	if (next) {
		msgep_cm_arm(next->cm, &next->timer, dofi_now());
	} else if (!--host->taken) {
		dofi_list_remove(&host->link);
		free(host);
	}
}
