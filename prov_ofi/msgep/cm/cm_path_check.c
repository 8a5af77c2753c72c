/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports a connection as up only after data has passed in both directions over its transport.
 *
 * The handshake takes another path than the data, and a firewall may block only one of them. The
 * client's transport sends a probe, the listener's replies, and the client's replies to that; each
 * side is up when it has received its reply. A probe without a reply is repeated.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

/* Interval between the first two probes; it doubles each time. */
#define FIRST DOFI_MS(100)
/* MOVED, which has arrived before the end of its route, is processed within this time. */
#define MOVED_TIME DOFI_MS(200)

static void cm_live(struct msgep_cm_conn *conn, const void *data, size_t len)
{
	struct msgep_event event = { .event = FI_CONNECTED, .fid = &conn->ep->fid.fid };
	struct msgep_ep *ep = conn->ep;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	dofi_lock(&ep->lock);
	ep->sock = conn->fd;
	dofi_unlock(&ep->lock);
	msgep_cm_state(conn, MSGEP_CM_LIVE);
	msgep_ep_up(ep);
	msgep_cm_post(conn->ep, &event, data, len);
	/* The socket is in the epoll set already: this cannot fail. */
	msgep_cm_watch(conn,
		       EPOLLRDHUP |
			       (conn->transport->counts || conn->transport->cm_send ? EPOLLIN : 0));
	if (conn->transport->counts)
		msgep_cm_stall_start(conn);
	msgep_cm_move(conn);
	msgep_cm_free_bufs(conn);
	msgep_cm_await_bye(conn);
}

static void cm_report_up(struct msgep_cm_conn *conn)
{
	uint8_t data[MSGEP_CM_DATA];
	size_t len = conn->bufs->param_len;

	memcpy(data, conn->bufs->param, len);
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	cm_live(conn, data, len);
}

void msgep_cm_path_checked(struct msgep_ep *ep)
{
	struct msgep_cm_conn *conn = ep->cm;

	DOFI_ASSERT_LOCKED(&ep->eq->lock);
	if (conn && ep->aborted)
		msgep_cm_abort_routed(conn);
	if (conn)
		msgep_cm_await_bye(conn);
	if (!conn || conn->state != MSGEP_CM_PATH_CHECK)
		return;
	if (!conn->transport->path_checked(ep)) {
		if (atomic_load(&ep->broken))
			msgep_cm_fail(conn, ep->broken, NULL, 0);
	} else if (!msgep_cm_awaits_moved(conn)) {
		cm_report_up(conn);
	} else if (atomic_load(&ep->broken)) {
		/* A peer that was connected and has left sent MOVED before: it is in the inbox, and
		 * the end of the route follows it there, unless there was no memory for it. */
		msgep_cm_arm(conn->cm, &conn->timer, dofi_now() + MOVED_TIME);
	}
}

void msgep_cm_process_checked(struct msgep_cm *cm)
{
	struct msgep_ep *ep;

	DOFI_ASSERT_LOCKED(&cm->eq->lock);
	/* A check that ends a connection gets here again. */
	if (cm->checking)
		return;
	cm->checking = true;
	while ((ep = msgep_eq_next_checked(cm->eq)))
		msgep_cm_path_checked(ep);
	cm->checking = false;
}

void msgep_cm_check_path(struct msgep_cm_conn *conn, const void *data, size_t len)
{
	struct msgep_ep *ep = conn->ep;
	int ret;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	conn->bufs->in.have = 0;
	conn->bufs->param_len = (uint16_t)len;
	if (len)
		memcpy(conn->bufs->param, data, len);
	if (!conn->transport->check_path) {
		cm_report_up(conn);
		return;
	}
	msgep_cm_state(conn, MSGEP_CM_PATH_CHECK);
	conn->path_check_since = dofi_now();
	conn->next_probe = FIRST;
	ret = msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP);
	if (ret) {
		msgep_cm_fail(conn, -ret, NULL, 0);
		return;
	}
	/* Threads that block on the queues did so before this transport was in use. */
	msgep_cq_wake(ep->rx_cq);
	msgep_cq_wake(ep->tx_cq);
	if (conn->active)
		conn->transport->check_path(ep);
	msgep_cm_arm(conn->cm, &conn->timer, conn->path_check_since + conn->next_probe);
	/* The reply may have arrived before the state changed. */
	msgep_cm_path_checked(ep);
}

/* An attempt that is cancelled earlier does not indicate a blocked path. */
#define MIN_CHECK_TIME DOFI_MS(300)

void msgep_cm_path_failed(const struct msgep_cm_conn *conn)
{
	char text[INET6_ADDRSTRLEN];

	if (conn->state != MSGEP_CM_PATH_CHECK ||
	    dofi_now() - conn->path_check_since < MIN_CHECK_TIME)
		return;
	dofi_log(DOFI_LOG_WARN,
		 "%s:%u: the request was %s, but no data has passed between the "
		 "endpoints of libfabric for %llu ms; a firewall must let their ports through, too "
		 "(DAPL_OFI_PORT_RANGE)",
		 msgep_cm_addr_text(&conn->peer, text, sizeof(text)),
		 dofi_addr_port(&conn->peer.sa), conn->active ? "accepted" : "accepted here",
		 (unsigned long long)((dofi_now() - conn->path_check_since) / DOFI_MS(1)));
}

/* The client may have been up, and have ended the connection or died since: its last packets, which
 * show that data passes, may be here already. Reads them. False: the check is over. */
static bool cm_path_unchecked(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;

	/* With routes the passive side is up first. */
	if (conn->transport->cm_send)
		return true;
	if (conn->transport->progress)
		conn->transport->progress(ep->domain, NULL);
	msgep_cm_path_checked(ep);
	return ep->cm == conn && conn->state == MSGEP_CM_PATH_CHECK;
}

void msgep_cm_path_tick(struct msgep_cm_conn *conn)
{
	uint64_t end = conn->path_check_since + DOFI_MS(dofi_param(DOFI_NUM_ACCEPT_MS));
	uint64_t now = dofi_now();
	int err = atomic_load(&conn->ep->broken);

	if (err) {
		msgep_cm_fail(conn, err, NULL, 0);
		return;
	}
	if (now >= end) {
		if (!cm_path_unchecked(conn))
			return;
		msgep_cm_path_failed(conn);
		msgep_cm_fail(conn, ETIMEDOUT, NULL, 0);
		return;
	}
	dofi_log(DOFI_LOG_DEBUG,
		 "no data has passed for %llu ms: the transport sends another probe",
		 (unsigned long long)((now - conn->path_check_since) / DOFI_MS(1)));
	conn->transport->check_path(conn->ep);
	conn->next_probe *= 2;
	msgep_cm_arm(conn->cm, &conn->timer,
		     now + conn->next_probe < end ? now + conn->next_probe : end);
}

/* A message shows that the peer has its reply, so data passes; the end of the stream without one
 * shows that the peer has gone. If a route replaces the socket, no message arrives, and once the
 * endpoint is attached the route reports its end. */
void msgep_cm_path_ready(struct msgep_cm_conn *conn)
{
	int ret;

	if (!cm_path_unchecked(conn))
		return;
	ret = msgep_cm_recv(conn, true);
	if (!ret || ret == -EINTR)
		return;
	if (conn->transport->cm_send && ret > 0)
		ret = -EPROTO;
	if (msgep_cm_awaits_moved(conn) && conn->transport->path_checked(conn->ep)) {
		msgep_cm_close_socket(conn);
	} else if (ret > 0) {
		cm_report_up(conn);
		msgep_cm_live_message(conn);
	} else {
		msgep_cm_fail(conn, ret == -EPIPE ? ECONNRESET : -ret, NULL, 0);
	}
}
