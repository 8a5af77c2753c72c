/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends established connections.
 *
 * The side that ends a connection sends BYE, with the transport's final counts, and shuts down its
 * direction of the socket. The other side may still have frames that its consumer has not
 * received: it reports the end once they are received, or when nothing happens for a while. A
 * stream that ends without BYE belongs to a peer that has died. A peer that dies after BYE may
 * leave frames unsent: a probe of its socket detects that.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cancel.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

void msgep_cm_doorbell(struct msgep_ep *ep)
{
	const uint8_t doorbell = MSGEP_CM_DOORBELL;

	DOFI_ASSERT_LOCKED(&ep->lock);
	/* A full socket holds doorbells that the peer has not read yet. Posts call this and must
	 * not be cancelled. */
	ep->doorbell_pending = false;
	if (atomic_load(&ep->state) == MSGEP_UP && ep->sock >= 0) {
		DOFI_NO_CANCEL();

		if (send(ep->sock, &doorbell, sizeof(doorbell), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    (errno == ENOBUFS || errno == ENOMEM))
			msgep_cm_doorbell_retry(ep);
	}
}

/* Reads doorbells, and BYE; false: nothing more can be read. Caller holds ep->lock. */
static bool cm_recv_last(struct msgep_cm_conn *conn, bool to_the_end)
{
	char text[MSGEP_CM_PEER_TEXT], got[MSGEP_CM_GOT_TEXT];
	struct msgep_cm_msg msg;
	int ret;

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
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
	/* Not a valid peer: treat it like the end of the stream. */
	if (ret > 0 || ret == -EPROTO || ret == -EPROTONOSUPPORT || ret == -EBADMSG)
		dofi_log(DOFI_LOG_WARN,
			 "ended the connection with %s: expected a doorbell or BYE, got %s",
			 msgep_cm_peer_text(conn, text),
			 msgep_cm_in_text(conn, ret > 0 ? 0 : ret, got));
	shutdown(conn->fd, SHUT_RDWR);
	return false;
}

bool msgep_cm_quiet(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	return ep->sock >= 0 && cm_recv_last(ep->cm, false);
}

/* ---------------------------------------------------------------- the peer's end */

/* Data that a process sent before it exited may still be in transit for this long. */
#define DRAIN_TIME DOFI_MS(200)
#define PROBE DOFI_MS(100)

void msgep_cm_await_bye(struct msgep_cm_conn *conn)
{
	if (conn->state == MSGEP_CM_LIVE && atomic_load(&conn->ep->data_lost) &&
	    conn->timer.when == DOFI_NEVER)
		msgep_cm_arm(conn->cm, &conn->timer, dofi_now() + DRAIN_TIME);
}

void msgep_cm_await_bye_tick(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;
	int err = atomic_load(&ep->data_lost);

	if (!err)
		return;
	msgep_ep_broken(ep, err);
	dofi_lock(&ep->lock);
	msgep_ep_abort(ep, dofi_error_text(err));
	dofi_unlock(&ep->lock);
}

/* Changes whenever a receive is consumed, and with every byte. */
static uint64_t cm_progress_mark(struct msgep_ep *ep)
{
	uint64_t mark;

	dofi_lock(&ep->lock);
	mark = (ep->messages << 32) + ep->received;
	dofi_unlock(&ep->lock);
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

	dofi_lock(&conn->ep->lock);
	atomic_store(&conn->ep->state, MSGEP_DOWN);
	if (conn->ep->transport->bulk_stop)
		conn->ep->transport->bulk_stop(conn->ep);
	dofi_unlock(&conn->ep->lock);
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	msgep_cm_state(conn, MSGEP_CM_ENDED);
	if (conn->lost) {
		event.event = 0;
		event.err = ETIMEDOUT;
	}
	msgep_cm_post(conn->ep, &event, NULL, 0);
}

/* Sends a byte to the peer's socket: a living peer ignores or discards it after BYE; if no process
 * has the socket open, the kernel answers with a reset. */
static void cm_probe(struct msgep_cm_conn *conn, uint64_t now)
{
	const uint8_t doorbell = MSGEP_CM_DOORBELL;

	conn->owner_checked = now;
	if (send(conn->fd, &doorbell, sizeof(doorbell), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    (errno == EPIPE || errno == ECONNRESET))
		conn->vanished_since = now;
}

/* True if no more data can arrive. Usually all data has been received at the first check, and no
 * probe is sent. */
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
	return conn->vanished_since && now - conn->vanished_since >= DRAIN_TIME;
}

void msgep_cm_try_end(struct msgep_cm_conn *conn)
{
	uint64_t grace = DOFI_MS(dofi_param(DOFI_NUM_GRACE_MS));
	char text[MSGEP_CM_PEER_TEXT];

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	if (msgep_ep_peer_ended(conn->ep, cm_peer_vanished(conn))) {
		/* The packets read with the last data can establish other connections, which the
		 * peer did before it ended this one: their events come first, too. */
		msgep_cm_process_checked(conn->cm);
		cm_report_end(conn);
	} else if (dofi_grace_timer_ends(&conn->grace, cm_progress_mark(conn->ep), grace,
					 conn->ep->srx)) {
		dofi_log(DOFI_LOG_INFO,
			 "%s ended the connection; its last data was not received "
			 "within %llu ms (DAPL_OFI_GRACE_MS)",
			 msgep_cm_peer_text(conn, text), (unsigned long long)(grace / DOFI_MS(1)));
		cm_report_end(conn);
	} else if (conn->timer.when == DOFI_NEVER) {
		msgep_cm_arm(conn->cm, &conn->timer, dofi_now() + DOFI_GRACE_TIMER_TICK);
	}
}

void msgep_cm_peer_end(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;
	struct msgep_cm_msg msg;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	/* The end is permanent: it must not wake any thread again. */
	msgep_cm_watch(conn, 0);
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	msgep_cm_leave_queues(conn);
	dofi_lock(&ep->lock);
	cm_recv_last(conn, true);
	conn->eof = true;
	/* The counts of a routed BYE have been processed already (cm_route_recv.c). */
	if (conn->bye_received && !conn->route &&
	    !msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg))
		ep->transport->finished(ep, msg.params, msg.params_len);
	dofi_unlock(&ep->lock);
	msgep_cm_state(conn, MSGEP_CM_ENDING);
	msgep_cm_try_end(conn);
}

void msgep_cm_end_routed(struct msgep_cm_conn *conn, bool bye)
{
	conn->eof = true;
	conn->bye_received = bye;
	msgep_cm_peer_end(conn);
}

void msgep_cm_abort_routed(struct msgep_cm_conn *conn)
{
	if (conn->state != MSGEP_CM_LIVE || !conn->route || conn->eof)
		return;
	msgep_cm_route_send(conn->domain, conn->ep, conn->route, 0, MSGEP_CM_GONE);
	msgep_cm_begin_flush(conn->cm, conn->domain);
	msgep_cm_end_routed(conn, false);
}

void msgep_cm_take_bye(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;
	struct msgep_cm_msg msg;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	if (!conn->transport->awaits_peer || conn->fd < 0 || conn->eof)
		return;
	dofi_lock(&ep->lock);
	if (cm_recv_last(conn, true)) {
		dofi_unlock(&ep->lock);
		return;
	}
	if (!conn->bye_received)
		ep->transport->drained(ep, true);
	else if (!msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg))
		ep->transport->finished(ep, msg.params, msg.params_len);
	dofi_unlock(&ep->lock);
}

/* ---------------------------------------------------------------- our end */

void msgep_cm_send_bye(struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_BYE, .transport = conn->transport->id };
	struct msgep_ep *ep = conn->ep;
	uint8_t last[MSGEP_PARAMS_MAX];

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	msgep_cm_disown_socket(conn);
	msgep_cm_leave_queues(conn);
	dofi_lock(&ep->lock);
	atomic_store(&ep->state, MSGEP_DOWN);
	if (ep->transport->bulk_stop)
		ep->transport->bulk_stop(ep);
	msg.params_len = (uint16_t)ep->transport->finish(ep, last);
	dofi_unlock(&ep->lock);
	msg.params = last;
	if (!conn->bufs) {
		dofi_timer_cancel(&conn->cm->timers, &conn->timer);
		msgep_cm_state(conn, MSGEP_CM_ENDED);
		msgep_cm_send_last(conn, &msg);
		return;
	}
	if (!msgep_cm_pack(conn, &msg))
		conn->bufs->out_len = 0;
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	msgep_cm_state(conn, MSGEP_CM_ENDED);
	if (msgep_cm_send(conn)) {
		/* Sent, or the peer has gone: nothing else is sent. */
		conn->bufs->out_done = conn->bufs->out_len;
		shutdown(conn->fd, SHUT_WR);
		msgep_cm_watch(conn, 0);
	} else {
		msgep_cm_watch(conn, EPOLLOUT);
	}
}
