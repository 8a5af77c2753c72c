/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports a connection as up when data has gone both ways over its wire, not before.
 *
 * The handshake takes another way than the data: a firewall may let the one through and not the
 * other. The client's wire asks, the listener's answers, and the client's answers that; each side
 * is up when it has its answer. A question that gets none is asked again.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

/* The next question after the first; then twice as long each time. */
#define FIRST DOFI_MS(100)

static void up(struct rdm_cm_conn *conn)
{
	uint8_t data[RDM_CM_DATA];
	size_t len = conn->bufs->param_len;

	memcpy(data, conn->bufs->param, len);
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	rdm_cm_live(conn, data, len);
}

void rdm_cm_settled(struct rdm_ep *ep)
{
	struct rdm_cm_conn *conn = ep->cm;

	if (conn && ep->cut)
		rdm_cm_cut_routed(conn);
	if (!conn || conn->step != RDM_CM_PROVING)
		return;
	if (conn->wire->proved(ep) && !rdm_cm_awaits_moved(conn))
		up(conn);
	else if (atomic_load(&ep->broken))
		rdm_cm_fail(conn, ep->broken, NULL, 0);
}

void rdm_cm_prove(struct rdm_cm_conn *conn, const void *data, size_t len)
{
	struct rdm_ep *ep = conn->ep;
	int ret;

	conn->bufs->in.have = 0;
	conn->bufs->param_len = (uint16_t)len;
	if (len)
		memcpy(conn->bufs->param, data, len);
	if (!conn->wire->prove) {
		up(conn);
		return;
	}
	rdm_cm_step(conn, RDM_CM_PROVING);
	conn->proving = dofi_now();
	conn->again = FIRST;
	ret = rdm_cm_watch(conn, EPOLLIN | EPOLLRDHUP);
	if (ret) {
		rdm_cm_fail(conn, -ret, NULL, 0);
		return;
	}
	/* Whoever sleeps on them did so when this wire was not in use. */
	rdm_cq_wake(ep->rx_cq);
	rdm_cq_wake(ep->tx_cq);
	if (conn->active)
		conn->wire->prove(ep);
	rdm_cm_arm(conn->cm, &conn->timer, conn->proving + conn->again);
	/* It may have been answered before anybody waited for it. */
	rdm_cm_settled(ep);
}

/* An attempt that is given up so soon tells nothing. */
#define SOON DOFI_MS(300)

void rdm_cm_unproved(const struct rdm_cm_conn *conn)
{
	char text[INET6_ADDRSTRLEN];

	if (conn->step != RDM_CM_PROVING || dofi_now() - conn->proving < SOON)
		return;
	dofi_log(DOFI_LOG_WARN, "%s:%u: the request was %s, but no data has passed between the "
		 "endpoints of libfabric for %llu ms; a firewall must let their ports through, too",
		 rdm_cm_addr_text(&conn->peer, text, sizeof(text)), dofi_addr_port(&conn->peer.sa),
		 conn->active ? "accepted" : "accepted here",
		 (unsigned long long)((dofi_now() - conn->proving) / DOFI_MS(1)));
}

void rdm_cm_prove_tick(struct rdm_cm_conn *conn)
{
	uint64_t end = conn->proving + DOFI_MS(dofi_param(DOFI_NUM_ACCEPT_MS));
	uint64_t now = dofi_now();

	if (now >= end) {
		rdm_cm_unproved(conn);
		rdm_cm_fail(conn, ETIMEDOUT, NULL, 0);
		return;
	}
	dofi_log(DOFI_LOG_DEBUG, "no data has passed for %llu ms: the wire asks again",
		 (unsigned long long)((now - conn->proving) / DOFI_MS(1)));
	conn->wire->prove(conn->ep);
	conn->again *= 2;
	rdm_cm_arm(conn->cm, &conn->timer, now + conn->again < end ? now + conn->again : end);
}

/* A message shows that the peer has its answer, so everything passes; the end of the stream without
 * one, that it has gone. Where the route replaces the socket, no message comes, and once the
 * endpoint is attached the route tells what becomes of it. */
void rdm_cm_proving_ready(struct rdm_cm_conn *conn)
{
	int ret = rdm_cm_recv(conn, true);

	if (!ret || ret == -EINTR)
		return;
	if (conn->wire->tell && ret > 0)
		ret = -EPROTO;
	if (rdm_cm_awaits_moved(conn) && conn->wire->proved(conn->ep)) {
		rdm_cm_close_socket(conn);
	} else if (ret > 0) {
		up(conn);
		rdm_cm_live_message(conn);
	} else {
		rdm_cm_fail(conn, ret == -EPIPE ? ECONNRESET : -ret, NULL, 0);
	}
}
