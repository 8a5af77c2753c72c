/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends connections and attempts: state, flushes, one event. */
#include <errno.h>
#include <string.h>

#include "base/error_text.h"
#include "base/probe.h"
#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "data/cq.h"
#include "object/async_evd.h"
#include "object/ep_state.h"
#include "object/limits.h"
#include "object/progress_wakeup.h"
#include "object/rmr.h"

/* Time to wait for the event with the cause of a flush, which may arrive after the flush. */
#define FLUSH_LIMIT DOFI_MS(200)

static void cm_push_event(struct dofi_ep *ep, DAT_EVENT_NUMBER number)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->ud_for)
		dofi_ud_exchange_ended(ep, number);
	dofi_cm_push(ep, number, NULL);
}

/* An EP with an SRQ holds none of its buffers any more. Programs wait for one such event of each EP
 * before they free the SRQ; programs that never read asynchronous events must not get an
 * overflow. */
static void cm_flush_grace_timer(struct dofi_ep *ep)
{
	struct dofi_event e = { .number = DAT_ASYNC_ERROR_EP_BROKEN, .notify = true };

	e.data.asynch_error_event_data.dat_handle = ep;
	e.data.asynch_error_event_data.reason = DAT_EP_TRANSFER_TO_ERROR;
	dofi_async_push(ep->obj.ia, &e, DOFI_MAX_EPS);
}

/* The flushes and the event. */
static void cm_conclude(struct dofi_ep *ep, DAT_EVENT_NUMBER number)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	/* Completions first: they may share the EVD with the event. */
	dofi_dto_flush(ep);
	if (number != DAT_CONNECTION_EVENT_PEER_REJECTED)
		ep->priv_len = 0;
	if (number == DAT_CONNECTION_EVENT_DISCONNECTED && ep->faulted)
		number = DAT_CONNECTION_EVENT_BROKEN;
	DOFI_PROBE2(disconnect, ep, number);
	dofi_count_conn_end(ep->obj.ia->counts, number);
	cm_push_event(ep, number);
	if (ep->srq &&
	    (number == DAT_CONNECTION_EVENT_DISCONNECTED || number == DAT_CONNECTION_EVENT_BROKEN))
		cm_flush_grace_timer(ep);
}

void dofi_cm_end(struct dofi_ep *ep, DAT_EVENT_NUMBER number, bool by_us)
{
	struct dofi_conn *conn = ep->conn;
	bool ended;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	dofi_timer_cancel(&ep->obj.ia->timers, &ep->timer);
	atomic_store(&ep->ending, by_us);
	dofi_lock(&ep->lock);
	ended = dofi_ep_transit_locked(ep, DOFI_EP_END);
	atomic_store(&ep->graceful, false);
	dofi_unlock(&ep->lock);
	if (!ended)
		return;
	if (conn && conn->up && number == DAT_CONNECTION_EVENT_DISCONNECTED)
		dofi_count_disconnected(ep->obj.ia->counts, by_us);
	if (conn)
		dofi_conn_detach(conn);
	dofi_cm_drop_conn_id(ep);
	dofi_cm_answer_drop(ep);
	dofi_rmr_ep_ended(ep);
	cm_conclude(ep, number);
}

void dofi_cm_break(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->state == DAT_EP_STATE_CONNECTED || ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_BROKEN, true);
}

static void cm_flush_expired(struct dofi_timer *timer)
{
	dofi_cm_break(dofi_cm_timer_ep(timer));
}

void dofi_cm_flushed(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->state == DAT_EP_STATE_CONNECTED && ep->timer.when == DOFI_NEVER)
		dofi_cm_arm_timer(ep, dofi_now() + FLUSH_LIMIT, cm_flush_expired);
	dofi_progress_wakeup(ep->obj.ia);
}

void dofi_cm_drained(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING && !dofi_queue_count(&ep->sq))
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED, true);
}

void dofi_cm_accept_failed(struct dofi_ep *ep, const char *cause, bool by_us)
{
	dofi_diag_accept_failed(ep, cause);
	dofi_cm_end(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, by_us);
}

DAT_EVENT_NUMBER dofi_cm_rejected(struct dofi_ep *ep, const struct dofi_cm_msg *msg)
{
	/* Private data of another fabric's messages may be longer than this one's. */
	if (msg->reason == DOFI_CM_BY_PEER &&
	    dofi_cm_fabrics_match(msg->fabric, ep->obj.ia->fab.desc->wire_id)) {
		ep->priv_len = msg->priv_len;
		memcpy(ep->priv, msg->priv, msg->priv_len);
		return DAT_CONNECTION_EVENT_PEER_REJECTED;
	}
	dofi_diag_connect_rejected(ep, msg);
	DOFI_COUNT_IA(ep->obj.ia, CM_ERR_REJ_RX);
	return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
}

/* Determines why the attempt failed. A peer's rejection carries the reason. */
static DAT_EVENT_NUMBER cm_failure_event(struct dofi_ep *ep, int err, const uint8_t *data,
					 size_t len)
{
	struct dofi_cm_msg msg;
	int ret = data ? dofi_cm_parse(data, len, &msg) : -EPROTO;

	if (!ret && msg.kind == DOFI_CM_REJECT)
		return dofi_cm_rejected(ep, &msg);
	if (ret == -EPROTONOSUPPORT) {
		msg = (struct dofi_cm_msg){ .reason = DOFI_CM_VERSION_OTHER,
					    .fabric = ep->obj.ia->fab.desc->wire_id };
		return dofi_cm_rejected(ep, &msg);
	}
	dofi_diag_connect_failed(ep, err);
	switch (err) {
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
	case ETIMEDOUT:
		return DAT_CONNECTION_EVENT_UNREACHABLE;
	default:
		return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	}
}

void dofi_cm_fail(struct dofi_ep *ep, int err, const uint8_t *data, size_t len)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	switch (ep->state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		ep->priv_len = 0;
		dofi_cm_end(ep, cm_failure_event(ep, err, data, len), false);
		break;
	case DAT_EP_STATE_COMPLETION_PENDING:
		dofi_cm_accept_failed(ep, dofi_error_text(err), false);
		break;
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_BROKEN, false);
		break;
	default:
		break;
	}
}
