/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends a connection of an attempt to connect, and schedules the next one. */
#include <errno.h>

#include "cm/cm.h"
#include "data/cq.h"
#include "object/progress_wakeup.h"

/* Maximum delay between a refused connection and the next one. */
#define RETRY_LAST DOFI_MS(16)

void dofi_cm_forget_parts(struct dofi_ep *ep)
{
	ep->attempt.put_token = 0;
	ep->attempt.put = ep->attempt.sent = 0;
	ep->attempt.answer = (struct dofi_cm_whole){ .token = 0 };
}

void dofi_cm_keep_conn_id(struct dofi_ep *ep, struct dofi_conn *conn)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!ep->attempt.conn_id)
		return;
	if (conn->conn_id)
		dofi_conn_id_free(&ep->obj.ia->conn_ids, conn->conn_id);
	conn->conn_id = ep->attempt.conn_id;
	ep->attempt.conn_id = 0;
}

void dofi_cm_drop_conn_id(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->attempt.conn_id)
		dofi_conn_id_free(&ep->obj.ia->conn_ids, ep->attempt.conn_id);
	ep->attempt.conn_id = 0;
}

void dofi_cm_next_connection(struct dofi_ep *ep, bool keep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (keep) {
		ep->attempt.conn_id = ep->conn->conn_id;
		ep->conn->conn_id = 0;
	}
	dofi_conn_detach(ep->conn);
	/* A connection that could have been accepted had the receives. */
	dofi_dto_requeue(ep);
	/* Deferred: an event of the fabric is being processed, and creating a connection may have
	 * to read others. */
	dofi_timer_arm(&ep->obj.ia->timers, &ep->timer, dofi_now());
	dofi_progress_wakeup(ep->obj.ia);
}

bool dofi_cm_retry_later(struct dofi_ep *ep)
{
	uint64_t now = dofi_now(), when = now + ep->attempt.delay;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (when > ep->attempt.grace_end)
		when = ep->attempt.grace_end;
	if (now >= ep->attempt.grace_end || when >= ep->attempt.deadline)
		return false;
	ep->attempt.err = ECONNREFUSED;
	if (ep->attempt.delay < RETRY_LAST)
		ep->attempt.delay *= 2;
	if (ep->conn)
		dofi_conn_detach(ep->conn);
	ep->attempt.seal.proven = false;
	dofi_cm_forget_parts(ep);
	dofi_dto_requeue(ep);
	dofi_timer_arm(&ep->obj.ia->timers, &ep->timer, when);
	dofi_progress_wakeup(ep->obj.ia);
	return true;
}

bool dofi_cm_change_port(struct dofi_ep *ep)
{
	uint64_t when = dofi_now() + DOFI_CM_RETRY_FIRST;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (when >= ep->attempt.deadline)
		return false;
	ep->attempt.err = EADDRINUSE;
	dofi_cm_next_connection(ep, true);
	dofi_timer_arm(&ep->obj.ia->timers, &ep->timer, when);
	return true;
}
