/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of connections that are up.
 *
 * Whoever ends it says BYE, with what the wire has to tell, and closes its direction of the socket.
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

void rdm_cm_live(struct rdm_cm_conn *conn, const void *data, size_t len)
{
	struct rdm_event event = { .event = FI_CONNECTED, .fid = &conn->ep->fid.fid };
	struct rdm_ep *ep = conn->ep;

	rdm_lock(&ep->lock);
	ep->sock = conn->fd;
	rdm_unlock(&ep->lock);
	rdm_cm_step(conn, RDM_CM_LIVE);
	rdm_ep_up(ep);
	rdm_cm_post(conn->ep, &event, data, len);
	/* It was watched for other events: this cannot fail. */
	rdm_cm_watch(conn, EPOLLRDHUP | (conn->wire->counts || conn->wire->tell ? EPOLLIN : 0));
	if (conn->wire->counts)
		rdm_cm_stall_start(conn);
	rdm_cm_move(conn);
	rdm_cm_free_bufs(conn);
}

void rdm_cm_leave_queues(struct rdm_cm_conn *conn)
{
	struct rdm_ep *ep = conn->ep;

	if (!conn->wire->doorbell)
		return;
	if (ep->rx_cq)
		epoll_ctl(ep->rx_cq->epfd, EPOLL_CTL_DEL, conn->fd, NULL);
	if (ep->tx_cq && ep->tx_cq != ep->rx_cq)
		epoll_ctl(ep->tx_cq->epfd, EPOLL_CTL_DEL, conn->fd, NULL);
}

void rdm_cm_ring(struct rdm_ep *ep)
{
	const uint8_t bell = RDM_CM_BELL;

	/* A socket without room holds bells that the peer has not heard yet. Posts come here, and
	 * must not be cancelled. */
	ep->owes_ring = false;
	if (atomic_load(&ep->state) == RDM_UP && ep->sock >= 0) {
		DOFI_NO_CANCEL();

		if (send(ep->sock, &bell, sizeof(bell), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    (errno == ENOBUFS || errno == ENOMEM))
			rdm_cm_ring_later(ep);
	}
}

/* Reads bells, and BYE; false: there is nothing more to be read. ep->lock held. */
static bool take_in(struct rdm_cm_conn *conn, bool to_the_end)
{
	struct rdm_cm_msg msg;
	int ret;

	if (conn->over)
		return false;
	do {
		ret = rdm_cm_recv(conn, true);
	} while (ret == -EINTR && to_the_end);
	if (!ret || ret == -EINTR)
		return true;
	conn->over = true;
	if (ret == -ECONNRESET || ret == -EPIPE)
		return false;
	if (ret > 0 && !rdm_cm_unpack(conn, &msg) && msg.kind == RDM_CM_BYE) {
		conn->bye = true;
		return false;
	}
	/* Whatever it is, it is no peer of ours: the end of the stream is what is looked for. */
	if (ret > 0 || ret == -EPROTO || ret == -EPROTONOSUPPORT || ret == -EBADMSG)
		dofi_log(DOFI_LOG_WARN, "a connection's peer said something that makes no sense");
	shutdown(conn->fd, SHUT_RDWR);
	return false;
}

bool rdm_cm_quiet(struct rdm_ep *ep)
{
	return ep->sock >= 0 && take_in(ep->cm, false);
}

/* ---------------------------------------------------------------- the peer's end */

/* So long what a process sent before it went may still be on its way. */
#define LAST_WORDS DOFI_MS(200)
#define PROBE DOFI_MS(100)

/* Changes when receives are used up, and with every byte. */
static uint64_t progress_mark(struct rdm_ep *ep)
{
	uint64_t mark;

	rdm_lock(&ep->lock);
	mark = (ep->messages << 32) + ep->got;
	rdm_unlock(&ep->lock);
	if (!ep->srx)
		return mark;
	dofi_lock(&ep->srx->lock);
	mark += ep->srx->taken << 32;
	dofi_unlock(&ep->srx->lock);
	return mark;
}

static void report_end(struct rdm_cm_conn *conn)
{
	struct rdm_event event = { .event = FI_SHUTDOWN, .fid = &conn->ep->fid.fid };

	rdm_lock(&conn->ep->lock);
	atomic_store(&conn->ep->state, RDM_DOWN);
	if (conn->ep->wire->bulk_stop)
		conn->ep->wire->bulk_stop(conn->ep);
	rdm_unlock(&conn->ep->lock);
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	rdm_cm_step(conn, RDM_CM_ENDED);
	if (conn->lost) {
		event.event = 0;
		event.err = ETIMEDOUT;
	}
	rdm_cm_post(conn->ep, &event, NULL, 0);
}

/* A byte for whoever still has the peer's socket: who lives after BYE does not read it any more, or
 * throws away what comes; where nobody has it, the kernel answers with a reset. */
static void probe(struct rdm_cm_conn *conn, uint64_t now)
{
	const uint8_t bell = RDM_CM_BELL;

	conn->probed = now;
	if (send(conn->fd, &bell, sizeof(bell), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    (errno == EPIPE || errno == ECONNRESET))
		conn->gone_since = now;
}

/* Will nothing more come? Mostly everything has been taken at the first look, and nobody is
 * asked. */
static bool has_gone(struct rdm_cm_conn *conn)
{
	uint64_t now;

	if (!conn->bye)
		return true;
	if (conn->wire->local || conn->route || !conn->patience.last)
		return false;
	now = dofi_now();
	if (!conn->gone_since && now - conn->probed >= PROBE)
		probe(conn, now);
	return conn->gone_since && now - conn->gone_since >= LAST_WORDS;
}

void rdm_cm_try_end(struct rdm_cm_conn *conn)
{
	uint64_t grace = DOFI_MS(dofi_param(DOFI_NUM_GRACE_MS));

	if (rdm_ep_peer_ended(conn->ep, has_gone(conn))) {
		report_end(conn);
	} else if (dofi_patience_ends(&conn->patience, progress_mark(conn->ep), grace,
				      conn->ep->srx)) {
		dofi_log(DOFI_LOG_INFO, "the peer has gone; what it sent last was never received");
		report_end(conn);
	} else if (conn->timer.when == DOFI_NEVER) {
		rdm_cm_arm(conn->cm, &conn->timer, dofi_now() + DOFI_PATIENCE_TICK);
	}
}

void rdm_cm_peer_end(struct rdm_cm_conn *conn)
{
	struct rdm_ep *ep = conn->ep;
	struct rdm_cm_msg msg;

	/* The end is there for good: it must wake nobody any more. */
	rdm_cm_watch(conn, 0);
	rdm_cm_leave_queues(conn);
	rdm_lock(&ep->lock);
	take_in(conn, true);
	conn->over = true;
	/* What comes by a route has been taken in (cm_route.c). */
	if (conn->bye && !conn->route && !rdm_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg))
		ep->wire->finished(ep, msg.offer, msg.offer_len);
	rdm_unlock(&ep->lock);
	rdm_cm_step(conn, RDM_CM_ENDING);
	rdm_cm_try_end(conn);
}

/* ---------------------------------------------------------------- our end */

void rdm_cm_say_bye(struct rdm_cm_conn *conn)
{
	struct rdm_cm_msg msg = { .kind = RDM_CM_BYE, .wire = conn->wire->id };
	struct rdm_ep *ep = conn->ep;
	uint8_t last[RDM_OFFER_MAX];

	rdm_cm_leave_queues(conn);
	rdm_lock(&ep->lock);
	atomic_store(&ep->state, RDM_DOWN);
	if (ep->wire->bulk_stop)
		ep->wire->bulk_stop(ep);
	msg.offer_len = (uint16_t)ep->wire->finish(ep, last);
	rdm_unlock(&ep->lock);
	msg.offer = last;
	if (!conn->bufs) {
		dofi_timer_cancel(&conn->cm->timers, &conn->timer);
		rdm_cm_step(conn, RDM_CM_ENDED);
		rdm_cm_tell_last(conn, &msg);
		return;
	}
	if (!rdm_cm_pack(conn, &msg))
		conn->bufs->out_len = 0;
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	rdm_cm_step(conn, RDM_CM_ENDED);
	if (rdm_cm_send(conn)) {
		/* Gone, or the peer has: there is nothing else to send. */
		conn->bufs->out_done = conn->bufs->out_len;
		shutdown(conn->fd, SHUT_WR);
		rdm_cm_watch(conn, 0);
	} else {
		rdm_cm_watch(conn, EPOLLOUT);
	}
}
