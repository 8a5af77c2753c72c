/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies the fabric's connection events to endpoints. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/cancel.h"
#include "base/probe.h"
#include "cm/cm_cr.h"
#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "cm/outage.h"
#include "data/cq.h"
#include "fabric/fab_ops.h"
#include "object/ep_state.h"

/* Events per round, so that other threads can acquire the lock. */
#define ROUND 256

/* Maximum wait for the route of an attempt; and once another event has been read, which may have
 * followed the route in the same call. */
#define ROUTE_MS 100
#define ROUTE_REST_MS 10

union cm_event {
	struct fi_eq_cm_entry entry; /* ends with the connection data */
	uint8_t room[sizeof(struct fi_eq_cm_entry) + DOFI_CM_MAX];
};

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

/* True if the peer's host refused because no listener exists, not a consumer or library. `code`:
 * the fabric's own error. */
static bool cm_no_listener(const struct dofi_ia *ia, int err, int code, size_t len)
{
	return err == ECONNREFUSED && ia->fab.desc->ops->no_listener(code < 0 ? -code : code, len);
}

static void cm_failed(struct dofi_ep *ep, int err, int code, const uint8_t *data, size_t len)
{
	uint8_t whole[DOFI_CM_MAX];

	if (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) {
		if (data && dofi_cm_rejected_in_part(ep, &data, &len, whole))
			return;
		if (data && dofi_cm_rejected_sealed(ep, data, len))
			return;
		if (dofi_ud_answered(ep, data, len))
			return;
		if (ep->obj.ia->fab.desc->ops->port_taken(err) && dofi_cm_change_port(ep))
			return;
		if (cm_no_listener(ep->obj.ia, err, code, len) && !dofi_cm_fetches(ep) &&
		    dofi_cm_retry_later(ep))
			return;
	}
	dofi_cm_fail(ep, err, data, len);
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
