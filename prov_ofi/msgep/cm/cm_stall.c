/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends connections that make no progress because data was lost in transit.
 *
 * A peer that receives nothing is not necessarily dead: it may be stopped, or have posted no
 * receive. So, after a time without progress, its counts are requested over the handshake's socket
 * (CHECK, STATUS). A stopped peer does not answer; if two answers show the same data missing, in
 * either direction, it is lost.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

/* Fractions of STALL_MS: between two checks; without progress before CHECK is sent; from the first
 * answer that reports missing data to the last. */
#define INTERVAL 8
#define STILL 4
#define MISSING 2

static uint64_t cm_stall_part(unsigned int divisor)
{
	return DOFI_MS(dofi_param(DOFI_NUM_STALL_MS)) / divisor;
}

/* Updates the counts. True: work is pending, and nothing has moved since the last call. */
static bool cm_is_stalled(struct msgep_cm_conn *conn, uint64_t now)
{
	uint8_t counts[MSGEP_COUNTS_MAX];
	struct msgep_ep *ep = conn->ep;
	bool waits, moved;
	size_t len;

	dofi_lock(&ep->lock);
	waits = msgep_ep_has_work(ep);
	len = conn->transport->counts(ep, counts);
	dofi_unlock(&ep->lock);
	moved = len != conn->bufs->counts_len || memcmp(counts, conn->bufs->counts, len);
	conn->bufs->counts_len = (uint16_t)len;
	memcpy(conn->bufs->counts, counts, len);
	if (waits && !moved)
		return true;
	conn->stalled_since = now;
	conn->missing_since = 0;
	return false;
}

/* Each side has at most one CHECK and one STATUS outstanding, so the socket has room for them. */
static void cm_stall_send(struct msgep_cm_conn *conn, enum msgep_cm_kind kind)
{
	struct msgep_cm_msg msg = { .kind = kind, .transport = conn->transport->id };

	if (conn->bufs->out_done < conn->bufs->out_len)
		return;
	if (kind == MSGEP_CM_STATUS) {
		msg.params = conn->bufs->counts;
		msg.params_len = conn->bufs->counts_len;
	}
	if (!msgep_cm_pack(conn, &msg) || !msgep_cm_send(conn)) {
		/* A partial message would corrupt the stream. */
		if (conn->bufs->out_done)
			shutdown(conn->fd, SHUT_WR);
		conn->bufs->out_len = conn->bufs->out_done = 0;
	}
}

static void cm_stall_check(struct msgep_cm_conn *conn, uint64_t now)
{
	if (cm_is_stalled(conn, now) && now - conn->stalled_since >= cm_stall_part(STILL))
		cm_stall_send(conn, MSGEP_CM_CHECK);
}

static void cm_stall_round(struct dofi_timer *timer)
{
	struct msgep_cm *cm = dofi_container(timer, struct msgep_cm, stall);
	uint64_t now = dofi_now();
	struct dofi_list *pos;
	bool any = false;

	dofi_list_each(pos, &cm->conns)
	{
		struct msgep_cm_conn *conn = dofi_container(pos, struct msgep_cm_conn, link);

		if (conn->state != MSGEP_CM_LIVE || !conn->transport->counts)
			continue;
		any = true;
		cm_stall_check(conn, now);
	}
	if (any)
		msgep_cm_arm(cm, &cm->stall, now + cm_stall_part(INTERVAL));
}

int msgep_cm_stall_init(struct msgep_cm *cm)
{
	return dofi_timer_add(&cm->timers, &cm->stall, cm_stall_round);
}

void msgep_cm_stall_start(struct msgep_cm_conn *conn)
{
	struct msgep_cm *cm = conn->cm;

	conn->stalled_since = dofi_now();
	conn->missing_since = 0;
	if (cm->stall.when == DOFI_NEVER)
		msgep_cm_arm(cm, &cm->stall, conn->stalled_since + cm_stall_part(INTERVAL));
}

static void cm_stall_lost(struct msgep_cm_conn *conn, uint64_t now)
{
	char text[INET6_ADDRSTRLEN];

	dofi_log(DOFI_LOG_WARN,
		 "%s:%u: nothing has moved for %llu ms (DAPL_OFI_STALL_MS), the peer "
		 "runs, and something was lost between the endpoints of libfabric: the connection "
		 "ends",
		 msgep_cm_addr_text(&conn->peer, text, sizeof(text)),
		 dofi_addr_port(&conn->peer.sa),
		 (unsigned long long)((now - conn->stalled_since) / DOFI_MS(1)));
	conn->lost = true;
	dofi_lock(&conn->ep->lock);
	msgep_ep_abort(conn->ep, "data was lost");
	dofi_unlock(&conn->ep->lock);
}

/* Processes the peer's counts. Progress here since CHECK was sent, or at the peer since its last
 * answer, restarts the time. */
static void cm_stall_compare(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	uint64_t now = dofi_now();
	bool still = cm_is_stalled(conn, now);
	bool same = msg->params_len == conn->bufs->peer_counts_len &&
		    !memcmp(msg->params, conn->bufs->peer_counts, msg->params_len);

	conn->bufs->peer_counts_len = 0;
	if (!still || msg->params_len > sizeof(conn->bufs->peer_counts))
		return;
	conn->bufs->peer_counts_len = msg->params_len;
	memcpy(conn->bufs->peer_counts, msg->params, msg->params_len);
	if (!conn->transport->lost(conn->ep, msg->params, msg->params_len))
		conn->missing_since = 0;
	else if (!conn->missing_since || !same)
		conn->missing_since = now;
	else if (now - conn->missing_since >= cm_stall_part(MISSING))
		cm_stall_lost(conn, now);
}

void msgep_cm_live_message(struct msgep_cm_conn *conn)
{
	char text[MSGEP_CM_PEER_TEXT], got[MSGEP_CM_GOT_TEXT];
	struct msgep_cm_msg msg;
	int ret = msgep_cm_unpack(conn, &msg);

	if (!ret && msg.kind == MSGEP_CM_CHECK && conn->transport->counts) {
		cm_is_stalled(conn, dofi_now());
		cm_stall_send(conn, MSGEP_CM_STATUS);
	} else if (!ret && msg.kind == MSGEP_CM_STATUS && conn->transport->counts) {
		cm_stall_compare(conn, &msg);
	} else {
		conn->eof = true;
		conn->bye_received = !ret && msg.kind == MSGEP_CM_BYE;
		if (!conn->bye_received) {
			dofi_log(DOFI_LOG_WARN,
				 "ended the connection with %s: expected BYE, CHECK or STATUS, "
				 "got %s",
				 msgep_cm_peer_text(conn, text), msgep_cm_in_text(conn, ret, got));
			shutdown(conn->fd, SHUT_RDWR);
		}
		msgep_cm_peer_end(conn);
		return;
	}
	conn->bufs->in.have = 0;
}

void msgep_cm_live_ready(struct msgep_cm_conn *conn)
{
	int ret = msgep_cm_recv(conn, true);

	if (ret > 0) {
		msgep_cm_live_message(conn);
	} else if (ret && ret != -EINTR && conn->route) {
		msgep_cm_close_socket(conn);
		msgep_cm_free_bufs(conn);
	} else if (ret && ret != -EINTR) {
		conn->eof = true;
		if (ret != -EPIPE && ret != -ECONNRESET)
			shutdown(conn->fd, SHUT_RDWR);
		msgep_cm_peer_end(conn);
	}
}
