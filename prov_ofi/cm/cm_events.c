/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies the fabric's connection events, and deadlines, to endpoints. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/param.h"
#include "base/probe.h"
#include "cm/cm_parts.h"
#include "data/cq.h"
#include "cm/diag_cm.h"
#include "object/async_evd.h"
#include "object/limits.h"
#include "cm/outage.h"
#include "fabric/fab_ops.h"
#include "object/progress_wakeup.h"
#include "object/rmr.h"
#include "object/ep_state.h"

/* Events per round, so that other threads can acquire the lock. */
#define ROUND 256

/* Time to wait for the event with the cause of a flush, which may arrive after the flush. */
#define FLUSH_LIMIT DOFI_MS(200)

/* Maximum wait for the route of an attempt; and once another event has been read, which may have
 * followed the route in the same call. */
#define ROUTE_MS 100
#define ROUTE_REST_MS 10

union cm_event {
	struct fi_eq_cm_entry entry; /* ends with the connection data */
	uint8_t room[sizeof(struct fi_eq_cm_entry) + DOFI_CM_MAX];
};

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

void dofi_cm_flushed(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->state == DAT_EP_STATE_CONNECTED && ep->timer.when == DOFI_NEVER)
		dofi_timer_arm(&ep->obj.ia->timers, &ep->timer, dofi_now() + FLUSH_LIMIT);
	dofi_progress_wakeup(ep->obj.ia);
}

void dofi_cm_drained(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING && !dofi_queue_count(&ep->sq))
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED, true);
}

static void cm_accept_failed(struct dofi_ep *ep, const char *cause, bool by_us)
{
	dofi_diag_accept_failed(ep, cause);
	dofi_cm_end(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, by_us);
}

static void cm_accept_deadline(struct dofi_ep *ep)
{
	/* The result may have arrived without having been read yet. */
	dofi_cm_read_events(ep->obj.ia);
	if (ep->state != DAT_EP_STATE_COMPLETION_PENDING)
		return;
	cm_accept_failed(ep, "DAPL_OFI_ACCEPT_MS has expired", true);
}

void dofi_cm_deadline(struct dofi_timer *timer)
{
	struct dofi_ep *ep = dofi_container(timer, struct dofi_ep, timer);

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	switch (ep->state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		dofi_cm_connect_deadline(ep);
		break;
	case DAT_EP_STATE_COMPLETION_PENDING:
		cm_accept_deadline(ep);
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED, true);
		break;
	case DAT_EP_STATE_CONNECTED:
		dofi_cm_break(ep); /* dofi_cm_flushed */
		break;
	case DAT_EP_STATE_DISCONNECTED:
		if (ep->ud_for)
			dofi_ep_destroy(ep); /* dofi_ud_exchange_ended */
		break;
	default:
		break;
	}
}

/* 0, or negative: not an acceptance, or not one of the intended peer. */
static int cm_check_acceptance(struct dofi_ep *ep, const uint8_t *data, size_t len,
			       struct dofi_cm_msg *msg)
{
	if (ep->obj.ia->fab.secret)
		return dofi_cm_check_sealed(ep, data, len, msg);
	return dofi_cm_check(ep->obj.ia, &ep->remote, ep->remote_port, data, len, DOFI_CM_ACCEPT,
			     msg);
}

static void cm_connected(struct dofi_ep *ep, const uint8_t *data, size_t len)
{
	uint8_t whole[DOFI_CM_MAX];
	struct dofi_cm_msg msg;

	if (ep->state == DAT_EP_STATE_COMPLETION_PENDING) {
		/* The passive side has read the peer's private data with the request. */
		ep->priv_len = 0;
		dofi_cm_establish(ep);
		return;
	}
	if (ep->state != DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		return;
	/* The peer must not accept an address exchange as a connection. */
	if (!dofi_cm_accepted_in_part(ep, &data, &len, whole) ||
	    cm_check_acceptance(ep, data, len, &msg) || ep->ud_for) {
		ep->priv_len = 0;
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, false);
		return;
	}
	ep->priv_len = msg.priv_len;
	memcpy(ep->priv, msg.priv, msg.priv_len);
	dofi_conn_set_reads(ep->conn, msg.reads_in);
	dofi_lock(&ep->lock);
	ep->peer_conn_id = msg.conn_id;
	ep->amo.port = msg.amo_port;
	dofi_unlock(&ep->lock);
	dofi_cm_establish(ep);
}

static void cm_shut_down(struct dofi_ep *ep)
{
	switch (ep->state) {
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED, false);
		break;
	case DAT_EP_STATE_COMPLETION_PENDING:
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		ep->conn->ended_early = true;
		ep->obj.ia->early_ends = true;
		break;
	default:
		break;
	}
}

static void cm_ended_unanswered(struct dofi_ep *ep)
{
	dofi_diag_connect_ended(ep);
	dofi_cm_end(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, false);
}

/* The client, which was connected, has ended the connection: its message that establishes it here
 * is lost (RoCE: RTU). What the client has sent follows the event. */
static void cm_ended_unannounced(struct dofi_ep *ep)
{
	ep->priv_len = 0;
	dofi_cm_establish(ep);
	dofi_cm_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED, false);
}

/* Ends that were reported before the establishment, which follows in the same round, if at all. */
static void cm_settle_early_ends(struct dofi_ia *ia)
{
	struct dofi_list *pos, *tmp;

	ia->early_ends = false;
	dofi_list_each_safe(pos, tmp, &ia->conns)
	{
		struct dofi_conn *conn = dofi_container(pos, struct dofi_conn, link);
		struct dofi_ep *ep = conn->ep;

		if (!ep || !conn->ended_early)
			continue;
		if (ep->state == DAT_EP_STATE_COMPLETION_PENDING)
			cm_ended_unannounced(ep);
		else if (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
			cm_ended_unanswered(ep);
		else
			dofi_cm_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED, false);
	}
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

/* True if the peer's host refused because no listener exists, not a consumer or library. `code`:
 * the fabric's own error. */
static bool cm_no_listener(const struct dofi_ia *ia, int err, int code, size_t len)
{
	return err == ECONNREFUSED && ia->fab.desc->ops->no_listener(code < 0 ? -code : code, len);
}

static void cm_failed(struct dofi_ep *ep, int err, int code, const uint8_t *data, size_t len)
{
	uint8_t whole[DOFI_CM_MAX];

	switch (ep->state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		if (data && dofi_cm_rejected_in_part(ep, &data, &len, whole))
			break;
		if (data && dofi_cm_rejected_sealed(ep, data, len))
			break;
		if (dofi_ud_answered(ep, data, len))
			break;
		if (ep->obj.ia->fab.desc->ops->port_taken(err) && dofi_cm_change_port(ep))
			break;
		if (cm_no_listener(ep->obj.ia, err, code, len) && !dofi_cm_fetches(ep) &&
		    dofi_cm_retry_later(ep))
			break;
		ep->priv_len = 0;
		dofi_cm_end(ep, cm_failure_event(ep, err, data, len), false);
		break;
	case DAT_EP_STATE_COMPLETION_PENDING:
		cm_accept_failed(ep, dofi_error_text(err), false);
		break;
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_BROKEN, false);
		break;
	default:
		break;
	}
}

void dofi_cm_fail_all(struct dofi_ia *ia)
{
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	dofi_list_each_safe(pos, tmp, &ia->conns)
	{
		struct dofi_conn *conn = dofi_container(pos, struct dofi_conn, link);

		if (conn->ep)
			cm_failed(conn->ep, ENETDOWN, 0, NULL, 0);
	}
}

/* The endpoint that an event of the fabric refers to; NULL if it is not interested any more, or if
 * the event refers to a listener. */
static struct dofi_ep *cm_ep_of(fid_t fid)
{
	struct dofi_conn *conn = fid && fid->fclass == FI_CLASS_EP ? fid->context : NULL;

	return conn ? conn->ep : NULL;
}

static void cm_read_error(struct dofi_ia *ia)
{
	struct fi_eq_err_entry err;
	uint8_t data[DOFI_CM_MAX + 64];
	struct dofi_ep *ep;

	memset(&err, 0, sizeof(err));
	err.err_data = data;
	err.err_data_size = sizeof(data);
	if (fi_eq_readerr(ia->fab.eq, &err, 0) < 0)
		return;
	if (ia->fab.desc->ops->eq_error(&err)) {
		dofi_outage_removed(ia);
		return;
	}
	ep = cm_ep_of(err.fid);
	if (ep)
		cm_failed(ep, err.err, err.prov_errno, err.err_data, err.err_data_size);
}

static void cm_dispatch(uint32_t event, union cm_event *e, size_t len)
{
	struct dofi_ep *ep;

	if (event == FI_CONNREQ) {
		DOFI_COUNT_IA(((struct dofi_listener *)e->entry.fid->context)->ia, CM_REQ_RX);
		dofi_cr_arrived(e->entry.fid->context, e->entry.info, e->entry.data, len);
		return;
	}
	ep = cm_ep_of(e->entry.fid);
	if (!ep)
		return;
	if (event == FI_CONNECTED)
		cm_connected(ep, e->entry.data, len);
	else if (event == FI_SHUTDOWN)
		cm_shut_down(ep);
}

/* QUIRK libfabric verbs: returns the error of an attempt that fails before the request is sent,
 * without identifying the attempt: it is the one whose route is awaited (dofi_cm_await_route), else
 * the oldest one. */
static void cm_attempt_failed(struct dofi_ia *ia, struct dofi_ep *awaited, int err)
{
	struct dofi_list *pos;

	if (awaited) {
		cm_failed(awaited, err, 0, NULL, 0);
		return;
	}
	dofi_list_each(pos, &ia->conns)
	{
		struct dofi_ep *ep = dofi_container(pos, struct dofi_conn, link)->ep;

		if (ep && ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) {
			cm_failed(ep, err, 0, NULL, 0);
			return;
		}
	}
}

/* Processes one event; false: there is none. `awaited`: the EP whose route is awaited, or NULL. */
static bool cm_read_event(struct dofi_ia *ia, struct dofi_ep *awaited)
{
	union cm_event e;
	uint32_t event = 0;
	ssize_t n = fi_eq_read(ia->fab.eq, &event, &e, sizeof(e), 0);

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	if (n == -FI_EAVAIL)
		cm_read_error(ia);
	else if (n >= (ssize_t)sizeof(e.entry))
		cm_dispatch(event, &e, (size_t)n - sizeof(e.entry));
	else if (n < 0 && n != -FI_EAGAIN && n != -EINTR)
		cm_attempt_failed(ia, awaited, (int)-n);
	else
		return false;
	return true;
}

/* No other attempt is without a route then, so an error belongs to this one. Without a fabric
 * manager (iWARP) routes are resolved immediately. */
void dofi_cm_await_route(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct pollfd pfd = { .fd = ia->fab.eq_fd, .events = POLLIN };
	int ms = ROUTE_MS;

	while (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING && ep->conn &&
	       poll(&pfd, 1, ms) > 0) {
		if (!cm_read_event(ia, ep))
			break; /* the cause was processed without an event */
		/* The same may have happened to this attempt before that event. */
		ms = ROUTE_REST_MS;
	}
}

void dofi_cm_read_events(struct dofi_ia *ia)
{
	for (int i = 0; i < ROUND && cm_read_event(ia, NULL); i++)
		;
	if (ia->early_ends)
		cm_settle_early_ends(ia);
}

void dofi_cm_progress(struct dofi_ia *ia, bool block)
{
	DOFI_NO_CANCEL();

	if (block)
		pthread_mutex_lock(&ia->cm_lock);
	else if (pthread_mutex_trylock(&ia->cm_lock))
		return;
	if (!atomic_load_explicit(&ia->prog.stop, memory_order_relaxed) &&
	    !atomic_load_explicit(&ia->prog.lost, memory_order_relaxed))
		dofi_cm_read_events(ia);
	pthread_mutex_unlock(&ia->cm_lock);
}
