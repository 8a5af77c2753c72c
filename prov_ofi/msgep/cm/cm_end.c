/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of connections that are up.
 *
 * Whoever ends it says BYE, with what the transport has to tell, and closes its direction of the socket.
 * The other side, which notices the end of the stream, may still have frames that its consumer has
 * not received: it reports the end when they are taken, or when nothing happens for a while. A
 * stream that ends without BYE is that of a peer that has died. One that dies after BYE may have
 * left frames behind that never come: its socket tells that, if it is asked.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

void msgep_cm_live(struct msgep_cm_conn *conn, const void *data, size_t len)
{
	struct msgep_event event = { .event = FI_CONNECTED, .fid = &conn->ep->fid.fid };
	struct msgep_ep *ep = conn->ep;

	msgep_lock(&ep->lock);
	ep->sock = conn->fd;
	msgep_unlock(&ep->lock);
	msgep_cm_state(conn, MSGEP_CM_LIVE);
	msgep_ep_up(ep);
	msgep_cm_post(conn->ep, &event, data, len);
	/* It was watched for other events: this cannot fail. */
	msgep_cm_watch(conn,
		       EPOLLRDHUP |
			       (conn->transport->counts || conn->transport->cm_send ? EPOLLIN : 0));
	if (conn->transport->counts)
		msgep_cm_stall_start(conn);
	msgep_cm_move(conn);
	msgep_cm_free_bufs(conn);
}

void msgep_cm_leave_queues(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;

	if (!conn->transport->doorbell)
		return;
	if (ep->rx_cq)
		epoll_ctl(ep->rx_cq->epfd, EPOLL_CTL_DEL, conn->fd, NULL);
	if (ep->tx_cq && ep->tx_cq != ep->rx_cq)
		epoll_ctl(ep->tx_cq->epfd, EPOLL_CTL_DEL, conn->fd, NULL);
}

void msgep_cm_doorbell(struct msgep_ep *ep)
{
	const uint8_t doorbell = MSGEP_CM_DOORBELL;

	/* A socket without room holds doorbells that the peer has not heard yet. Posts come here, and
	 * must not be cancelled. */
	ep->doorbell_pending = false;
	if (atomic_load(&ep->state) == MSGEP_UP && ep->sock >= 0) {
		DOFI_NO_CANCEL();

		if (send(ep->sock, &doorbell, sizeof(doorbell), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    (errno == ENOBUFS || errno == ENOMEM))
			msgep_cm_doorbell_retry(ep);
	}
}

/* Reads doorbells, and BYE; false: there is nothing more to be read. ep->lock held. */
static bool cm_recv_last(struct msgep_cm_conn *conn, bool to_the_end)
{
	struct msgep_cm_msg msg;
	int ret;

	if (conn->eof)
		return false;
	do {
		ret = msgep_cm_recv(conn, true);
	} while (ret == -EINTR && to_the_end);
	if (!ret || ret == -EINTR)
		return true;
	conn->eof = true;
	if (ret == -ECONNRESET || ret == -EPIPE)
		return false;
	if (ret > 0 && !msgep_cm_unpack(conn, &msg) && msg.kind == MSGEP_CM_BYE) {
		conn->bye_received = true;
		return false;
	}
	/* Whatever it is, it is no peer of ours: the end of the stream is what is looked for. */
	if (ret > 0 || ret == -EPROTO || ret == -EPROTONOSUPPORT || ret == -EBADMSG)
		dofi_log(DOFI_LOG_WARN, "a connection's peer said something that makes no sense");
	shutdown(conn->fd, SHUT_RDWR);
	return false;
}

bool msgep_cm_quiet(struct msgep_ep *ep)
{
	return ep->sock >= 0 && cm_recv_last(ep->cm, false);
}

/* ---------------------------------------------------------------- the peer's end */

/* So long what a process sent before it went may still be on its way. */
#define LAST_WORDS DOFI_MS(200)
#define PROBE DOFI_MS(100)

/* Changes when receives are used up, and with every byte. */
static uint64_t cm_progress_mark(struct msgep_ep *ep)
{
	uint64_t mark;

	msgep_lock(&ep->lock);
	mark = (ep->messages << 32) + ep->received;
	msgep_unlock(&ep->lock);
	if (!ep->srx)
		return mark;
	dofi_lock(&ep->srx->lock);
	mark += ep->srx->taken << 32;
	dofi_unlock(&ep->srx->lock);
	return mark;
}

static void cm_report_end(struct msgep_cm_conn *conn)
{
	struct msgep_event event = { .event = FI_SHUTDOWN, .fid = &conn->ep->fid.fid };

	msgep_lock(&conn->ep->lock);
	atomic_store(&conn->ep->state, MSGEP_DOWN);
	if (conn->ep->transport->bulk_stop)
		conn->ep->transport->bulk_stop(conn->ep);
	msgep_unlock(&conn->ep->lock);
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	msgep_cm_state(conn, MSGEP_CM_ENDED);
	if (conn->lost) {
		event.event = 0;
		event.err = ETIMEDOUT;
	}
	msgep_cm_post(conn->ep, &event, NULL, 0);
}

/* A byte for whoever still has the peer's socket: who lives after BYE does not read it any more, or
 * throws away what comes; where nobody has it, the kernel answers with a reset. */
static void cm_probe(struct msgep_cm_conn *conn, uint64_t now)
{
	const uint8_t doorbell = MSGEP_CM_DOORBELL;

	conn->owner_checked = now;
	if (send(conn->fd, &doorbell, sizeof(doorbell), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    (errno == EPIPE || errno == ECONNRESET))
		conn->vanished_since = now;
}

/* Will nothing more come? Mostly everything has been taken at the first look, and nobody is
 * asked. */
static bool cm_peer_vanished(struct msgep_cm_conn *conn)
{
	uint64_t now;

	if (!conn->bye_received)
		return true;
	if (conn->transport->local || conn->route || !conn->grace.last)
		return false;
	now = dofi_now();
	if (!conn->vanished_since && now - conn->owner_checked >= PROBE)
		cm_probe(conn, now);
	return conn->vanished_since && now - conn->vanished_since >= LAST_WORDS;
}

void msgep_cm_try_end(struct msgep_cm_conn *conn)
{
	uint64_t grace = DOFI_MS(dofi_param(DOFI_NUM_GRACE_MS));

	if (msgep_ep_peer_ended(conn->ep, cm_peer_vanished(conn))) {
		cm_report_end(conn);
	} else if (dofi_grace_timer_ends(&conn->grace, cm_progress_mark(conn->ep), grace,
					 conn->ep->srx)) {
		dofi_log(DOFI_LOG_INFO, "the peer has gone; what it sent last was never received");
		cm_report_end(conn);
	} else if (conn->timer.when == DOFI_NEVER) {
		msgep_cm_arm(conn->cm, &conn->timer, dofi_now() + DOFI_GRACE_TIMER_TICK);
	}
}

void msgep_cm_peer_end(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;
	struct msgep_cm_msg msg;

	/* The end is there for good: it must wake nobody any more. */
	msgep_cm_watch(conn, 0);
	msgep_cm_leave_queues(conn);
	msgep_lock(&ep->lock);
	cm_recv_last(conn, true);
	conn->eof = true;
	/* What comes by a route has been taken in (cm_route.c). */
	if (conn->bye_received && !conn->route &&
	    !msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg))
		ep->transport->finished(ep, msg.offer, msg.params_len);
	msgep_unlock(&ep->lock);
	msgep_cm_state(conn, MSGEP_CM_ENDING);
	msgep_cm_try_end(conn);
}

/* ---------------------------------------------------------------- our end */

void msgep_cm_send_bye(struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_BYE, .transport = conn->transport->id };
	struct msgep_ep *ep = conn->ep;
	uint8_t last[MSGEP_PARAMS_MAX];

	msgep_cm_leave_queues(conn);
	msgep_lock(&ep->lock);
	atomic_store(&ep->state, MSGEP_DOWN);
	if (ep->transport->bulk_stop)
		ep->transport->bulk_stop(ep);
	msg.params_len = (uint16_t)ep->transport->finish(ep, last);
	msgep_unlock(&ep->lock);
	msg.offer = last;
	if (!conn->bufs) {
		dofi_timer_cancel(&conn->cm->timers, &conn->timer);
		msgep_cm_state(conn, MSGEP_CM_ENDED);
		msgep_cm_tell_last(conn, &msg);
		return;
	}
	if (!msgep_cm_pack(conn, &msg))
		conn->bufs->out_len = 0;
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	msgep_cm_state(conn, MSGEP_CM_ENDED);
	if (msgep_cm_send(conn)) {
		/* Gone, or the peer has: there is nothing else to send. */
		conn->bufs->out_done = conn->bufs->out_len;
		shutdown(conn->fd, SHUT_WR);
		msgep_cm_watch(conn, 0);
	} else {
		msgep_cm_watch(conn, EPOLLOUT);
	}
}
