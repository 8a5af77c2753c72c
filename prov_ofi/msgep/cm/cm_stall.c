/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends connections on which something waits and nothing moves, because data was lost on the way.
 *
 * That a peer takes nothing is no reason to give it up: it may be stopped, or have posted no
 * receive. So, when nothing has moved for a while, its counts are asked for over the handshake's
 * socket (CHECK, STATUS). A peer that is stopped does not answer; one that answers, twice, that
 * something has not arrived, neither here nor there, will never get it.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

/* Parts of STALL_MS: between two looks; without movement, before the peer is asked; from the first
 * answer that something is missing to the last. */
#define LOOK 8
#define STILL 4
#define MISSING 2

static uint64_t part(unsigned int divisor)
{
	return DOFI_MS(dofi_param(DOFI_NUM_STALL_MS)) / divisor;
}

/* Reads the present counts. True: something waits, and nothing has moved since the last time. */
static bool is_still(struct rdm_cm_conn *conn, uint64_t now)
{
	uint8_t counts[RDM_COUNTS_MAX];
	struct rdm_ep *ep = conn->ep;
	bool waits, moved;
	size_t len;

	rdm_lock(&ep->lock);
	waits = rdm_ep_waits(ep);
	len = conn->wire->counts(ep, counts);
	rdm_unlock(&ep->lock);
	moved = len != conn->bufs->counts_len || memcmp(counts, conn->bufs->counts, len);
	conn->bufs->counts_len = (uint16_t)len;
	memcpy(conn->bufs->counts, counts, len);
	if (waits && !moved)
		return true;
	conn->still_since = now;
	conn->missing_since = 0;
	return false;
}

/* Each side asks once at a time and answers what it is asked, so there is always room for that. */
static void say(struct rdm_cm_conn *conn, enum rdm_cm_kind kind)
{
	struct rdm_cm_msg msg = { .kind = kind, .wire = conn->wire->id };

	if (conn->bufs->out_done < conn->bufs->out_len)
		return;
	if (kind == RDM_CM_STATUS) {
		msg.offer = conn->bufs->counts;
		msg.offer_len = conn->bufs->counts_len;
	}
	if (!rdm_cm_pack(conn, &msg) || !rdm_cm_send(conn)) {
		/* A part of it would make what follows unreadable. */
		if (conn->bufs->out_done)
			shutdown(conn->fd, SHUT_WR);
		conn->bufs->out_len = conn->bufs->out_done = 0;
	}
}

static void look(struct rdm_cm_conn *conn, uint64_t now)
{
	if (is_still(conn, now) && now - conn->still_since >= part(STILL))
		say(conn, RDM_CM_CHECK);
}

static void round_of_looks(struct dofi_timer *timer)
{
	struct rdm_cm *cm = dofi_container(timer, struct rdm_cm, stall);
	uint64_t now = dofi_now();
	struct dofi_list *pos;
	bool any = false;

	dofi_list_each(pos, &cm->conns) {
		struct rdm_cm_conn *conn = dofi_container(pos, struct rdm_cm_conn, link);

		if (conn->step != RDM_CM_LIVE || !conn->wire->counts)
			continue;
		any = true;
		look(conn, now);
	}
	if (any)
		rdm_cm_arm(cm, &cm->stall, now + part(LOOK));
}

int rdm_cm_stall_init(struct rdm_cm *cm)
{
	return rdm_cm_timer_init(cm, &cm->stall, round_of_looks);
}

void rdm_cm_stall_start(struct rdm_cm_conn *conn)
{
	struct rdm_cm *cm = conn->cm;

	conn->still_since = dofi_now();
	conn->missing_since = 0;
	if (cm->stall.when == DOFI_NEVER)
		rdm_cm_arm(cm, &cm->stall, conn->still_since + part(LOOK));
}

static void lose(struct rdm_cm_conn *conn, uint64_t now)
{
	char text[INET6_ADDRSTRLEN];

	dofi_log(DOFI_LOG_WARN, "%s:%u: nothing has moved for %llu ms (DAPL_OFI_STALL_MS), the peer "
		 "runs, and something was lost between the endpoints of libfabric: the connection "
		 "ends", rdm_cm_addr_text(&conn->peer, text, sizeof(text)),
		 dofi_addr_port(&conn->peer.sa),
		 (unsigned long long)((now - conn->still_since) / DOFI_MS(1)));
	conn->lost = true;
	rdm_lock(&conn->ep->lock);
	rdm_ep_cut(conn->ep, "data was lost");
	rdm_unlock(&conn->ep->lock);
}

/* The peer's counts. What has moved here since it was asked, or there since the last answer, makes
 * the time begin again. */
static void compare(struct rdm_cm_conn *conn, const struct rdm_cm_msg *msg)
{
	uint64_t now = dofi_now();
	bool still = is_still(conn, now);
	bool same = msg->offer_len == conn->bufs->peer_counts_len &&
		    !memcmp(msg->offer, conn->bufs->peer_counts, msg->offer_len);

	conn->bufs->peer_counts_len = 0;
	if (!still || msg->offer_len > sizeof(conn->bufs->peer_counts))
		return;
	conn->bufs->peer_counts_len = msg->offer_len;
	memcpy(conn->bufs->peer_counts, msg->offer, msg->offer_len);
	if (!conn->wire->missing(conn->ep, msg->offer, msg->offer_len))
		conn->missing_since = 0;
	else if (!conn->missing_since || !same)
		conn->missing_since = now;
	else if (now - conn->missing_since >= part(MISSING))
		lose(conn, now);
}

void rdm_cm_live_message(struct rdm_cm_conn *conn)
{
	struct rdm_cm_msg msg;
	int ret = rdm_cm_unpack(conn, &msg);

	if (!ret && msg.kind == RDM_CM_CHECK && conn->wire->counts) {
		is_still(conn, dofi_now());
		say(conn, RDM_CM_STATUS);
	} else if (!ret && msg.kind == RDM_CM_STATUS && conn->wire->counts) {
		compare(conn, &msg);
	} else {
		conn->over = true;
		conn->bye = !ret && msg.kind == RDM_CM_BYE;
		if (!conn->bye) {
			dofi_log(DOFI_LOG_WARN, "a connection's peer sent another message than "
				 "BYE, CHECK or STATUS");
			shutdown(conn->fd, SHUT_RDWR);
		}
		rdm_cm_peer_end(conn);
		return;
	}
	conn->bufs->in.have = 0;
}

void rdm_cm_live_ready(struct rdm_cm_conn *conn)
{
	int ret = rdm_cm_recv(conn, true);

	if (ret > 0) {
		rdm_cm_live_message(conn);
	} else if (ret && ret != -EINTR && conn->route) {
		rdm_cm_close_socket(conn);
		rdm_cm_free_bufs(conn);
	} else if (ret && ret != -EINTR) {
		conn->over = true;
		if (ret != -EPIPE && ret != -ECONNRESET)
			shutdown(conn->fd, SHUT_RDWR);
		rdm_cm_peer_end(conn);
	}
}
