/* SPDX-License-Identifier: BSD-2-Clause */
/* Creation and destruction of connection objects. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/forkfd.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

struct msgep_cm_conn *msgep_cm_conn_new(struct msgep_cm *cm, int fd,
					const struct msgep_transport *transport,
					enum msgep_cm_state step)
{
	struct msgep_cm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->bufs = calloc(1, sizeof(*conn->bufs));
	if (!conn->bufs || dofi_timer_add(&cm->timers, &conn->timer, cm->conn_fire)) {
		free(conn->bufs);
		free(conn);
		return NULL;
	}
	conn->handle.fclass = FI_CLASS_CONNREQ;
	conn->source.ready = cm->conn_ready;
	conn->cm = cm;
	conn->fd = fd;
	conn->in_fd = conn->out_fd = -1;
	conn->transport = transport;
	conn->started = dofi_now();
	dofi_list_init(&conn->link);
	dofi_list_init(&conn->end_link);
	dofi_list_init(&conn->place_link);
	conn->state = MSGEP_CM_DEAD; /* in no list yet */
	msgep_cm_state(conn, step);
	return conn;
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

static void cm_detach_ep(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;

	if (!ep)
		return;
	if (ep->sock >= 0)
		msgep_cm_leave_queues(conn);
	dofi_lock(&ep->lock);
	ep->sock = -1;
	ep->cm = NULL;
	dofi_unlock(&ep->lock);
	conn->ep = NULL;
}

void msgep_cm_free_dead(struct msgep_cm *cm)
{
	struct msgep_cm_conn *conn;

	while ((conn = dofi_list_pop(&cm->dead, struct msgep_cm_conn, link))) {
		free(conn->bufs);
		free(conn);
	}
}

void msgep_cm_conn_free(struct msgep_cm_conn *conn)
{
	struct msgep_cm *cm = conn->cm;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	msgep_cm_disown_socket(conn);
	msgep_cm_send_gone(conn);
	msgep_cm_leave_place(conn);
	cm_detach_ep(conn);
	msgep_cm_close_socket(conn);
	msgep_cm_close_out_fd(conn);
	if (conn->in_fd >= 0)
		dofi_forkfd_close(conn->in_fd);
	conn->in_fd = -1;
	dofi_timer_drop(&cm->timers, &conn->timer);
	msgep_cm_state(conn, MSGEP_CM_DEAD);
	if (!cm->busy)
		msgep_cm_free_dead(cm);
}

void msgep_cm_linger(struct msgep_cm_conn *conn)
{
	struct msgep_cm *cm = conn->cm;
	bool sent = !conn->bufs || conn->bufs->out_done == conn->bufs->out_len;
	uint64_t timeout = DOFI_MS(dofi_param(DOFI_NUM_LINGER_MS));

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	msgep_cm_disown_socket(conn);
	cm_detach_ep(conn);
	if (sent)
		shutdown(conn->fd, SHUT_WR);
	/* Closing a TCP socket before the peer does may discard data that the peer has not read;
	 * the bytes of a unix socket are in the peer's queue already. */
	if (conn->fd < 0 || !msgep_cm_discard(conn->fd) || (sent && conn->transport->local) ||
	    !timeout || msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP | (sent ? 0 : EPOLLOUT))) {
		msgep_cm_conn_free(conn);
		return;
	}
	msgep_cm_state(conn, MSGEP_CM_LINGERING);
	msgep_cm_arm(cm, &conn->timer, dofi_now() + timeout);
}

void msgep_cm_fail(struct msgep_cm_conn *conn, int err, const void *data, size_t len)
{
	struct msgep_event event = { .event = 0, .err = err, .fid = &conn->ep->fid.fid };

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	msgep_cm_set_ep_state(conn->ep, MSGEP_DOWN);
	msgep_cm_post(conn->ep, &event, data, len);
	msgep_cm_conn_free(conn);
}
