/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of an endpoint, accepting, and what a connection object does in each of its states. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

/* ---------------------------------------------------------------- accepting */

/* True if the client has closed its socket or reset the connection. Before it has received the
 * answer, it does not shut down its direction alone. */
static bool cm_client_gone(const struct msgep_cm_conn *conn)
{
	struct pollfd pfd = { .fd = conn->fd, .events = POLLRDHUP };

	if (conn->route)
		return conn->gone;
	return poll(&pfd, 1, 0) > 0;
}

/* Sends the rest of the answer. The connection fails if that is impossible. */
static void cm_send_answer(struct msgep_cm_conn *conn)
{
	int ret = msgep_cm_send(conn);

	if (ret < 0)
		msgep_cm_fail(conn, -ret, NULL, 0);
	else if (ret)
		msgep_cm_check_path(conn, NULL, 0);
}

static int cm_answer(struct msgep_cm_conn *conn, const void *param, size_t len)
{
	struct msgep_cm_msg request, msg = { .kind = MSGEP_CM_ACCEPT,
					     .transport = conn->transport->id,
					     .data = param,
					     .data_len = (uint16_t)len };
	struct msgep_params params;
	int ret = msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &request);

	if (!ret)
		ret = msgep_cm_set_peer_params(conn, false, &request);
	if (!ret)
		ret = msgep_cm_add_params(conn, false, &params, &msg);
	if (!ret && msg.has_fd && !conn->transport->local)
		ret = -EPROTO;
	if (!ret && !msgep_cm_pack(conn, &msg))
		ret = -ENOMEM;
	if (ret) {
		msgep_cm_set_ep_state(conn->ep, MSGEP_DOWN);
		msgep_cm_refuse(conn, NULL, 0);
		return ret;
	}
	conn->bufs->in.have = 0;
	msgep_cm_set_ep_state(conn->ep, MSGEP_CONNECTING);
	msgep_cm_state(conn, MSGEP_CM_ACCEPT_SENT);
	cm_send_answer(conn);
	return 0;
}

/* Without memory or descriptors for the connection, the client is refused at once. */
static int cm_prepare_accept(struct msgep_ep *ep, struct msgep_cm_conn *conn)
{
	int ret = msgep_cm_reserve(ep);

	if (!ret)
		ret = msgep_inbox_attach(ep->domain, ep->eq);
	if (!ret)
		ret = msgep_cm_watch(conn, EPOLLOUT);
	if (ret) {
		msgep_cm_set_ep_state(ep, MSGEP_DOWN);
		msgep_cm_refuse(conn, NULL, 0);
	}
	return ret;
}

static int cm_ep_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct msgep_ep *ep = msgep_cm_ep_of(fid);
	struct msgep_cm_conn *conn;
	int ret;

	if (!ep->eq)
		return -FI_ENOEQ;
	if (len > MSGEP_CM_DATA)
		return -FI_EINVAL;
	pthread_mutex_lock(&ep->eq->lock);
	conn = ep->cm;
	ret = conn && conn->state == MSGEP_CM_REQUEST_PENDING && !conn->accepted &&
			      conn->cm->eq == ep->eq
		      ? cm_prepare_accept(ep, conn)
		      : -FI_EINVAL;
	if (!ret) {
		conn->accepted = true;
		if (cm_client_gone(conn))
			msgep_cm_fail(conn, ECONNRESET, NULL, 0);
		else
			ret = cm_answer(conn, param, len);
	}
	pthread_mutex_unlock(&ep->eq->lock);
	return ret;
}

/* ---------------------------------------------------------------- progress */

static void cm_bye_ready(struct msgep_cm_conn *conn)
{
	if (!msgep_cm_send(conn))
		return;
	conn->bufs->out_done = conn->bufs->out_len;
	shutdown(conn->fd, SHUT_WR);
	msgep_cm_watch(conn, 0);
}

/* The endpoint is closed; the peer has not closed its end yet. */
static void cm_lingering_ready(struct msgep_cm_conn *conn, uint32_t events)
{
	if ((events & EPOLLOUT) && conn->bufs->out_done < conn->bufs->out_len &&
	    msgep_cm_send(conn)) {
		conn->bufs->out_done = conn->bufs->out_len;
		shutdown(conn->fd, SHUT_WR);
		msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP);
	}
	if (!msgep_cm_discard(conn->fd))
		msgep_cm_conn_free(conn);
}

void msgep_cm_conn_ready(struct msgep_cm_conn *conn, uint32_t events)
{
	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	switch (conn->state) {
	case MSGEP_CM_CONNECTING:
		msgep_cm_connecting_ready(conn);
		break;
	case MSGEP_CM_HELLO_SENT:
	case MSGEP_CM_REQUEST_SENT:
		msgep_cm_answer_ready(conn, events);
		break;
	case MSGEP_CM_ACCEPT_SENT:
		cm_send_answer(conn);
		break;
	case MSGEP_CM_PATH_CHECK:
		msgep_cm_path_ready(conn);
		break;
	case MSGEP_CM_LIVE:
		if (conn->transport->counts || conn->transport->cm_send)
			msgep_cm_live_ready(conn);
		else
			msgep_cm_peer_end(conn);
		break;
	case MSGEP_CM_ENDED:
		cm_bye_ready(conn);
		break;
	case MSGEP_CM_LINGERING:
		cm_lingering_ready(conn, events);
		break;
	default:
		/* A stale event, queued before the state changed. */
		break;
	}
}

void msgep_cm_conn_tick(struct msgep_cm_conn *conn)
{
	/* ENDING: the timer only causes the wakeup; cm_try_ends runs after the timers. */
	if (conn->state == MSGEP_CM_CONNECTING)
		msgep_cm_retry_connect(conn);
	else if (conn->state == MSGEP_CM_PATH_CHECK)
		msgep_cm_path_tick(conn);
	else if (conn->state == MSGEP_CM_LIVE)
		msgep_cm_await_bye_tick(conn);
}

/* ---------------------------------------------------------------- ending */

static int cm_shut_down(struct msgep_ep *ep)
{
	struct msgep_event event = { .event = FI_SHUTDOWN, .fid = &ep->fid.fid };
	struct msgep_cm_conn *conn = ep->cm;

	if (!conn)
		return atomic_load(&ep->state) == MSGEP_DOWN ? 0 : -FI_ENOTCONN;
	switch (conn->state) {
	case MSGEP_CM_CONNECTING:
	case MSGEP_CM_HELLO_SENT:
	case MSGEP_CM_REQUEST_SENT:
	case MSGEP_CM_ACCEPT_SENT:
	case MSGEP_CM_PATH_CHECK:
		msgep_cm_path_failed(conn);
		msgep_cm_set_ep_state(ep, MSGEP_DOWN);
		msgep_cm_conn_free(conn);
		break;
	case MSGEP_CM_LIVE:
	case MSGEP_CM_ENDING:
		msgep_cm_send_bye(conn);
		break;
	case MSGEP_CM_ENDED:
		return 0;
	default:
		return -FI_ENOTCONN;
	}
	msgep_cm_post(ep, &event, NULL, 0);
	return 0;
}

static int cm_ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct msgep_ep *ep = msgep_cm_ep_of(fid);
	int ret;

	(void)flags;
	if (!ep->eq)
		return -FI_ENOEQ;
	pthread_mutex_lock(&ep->eq->lock);
	ret = cm_shut_down(ep);
	pthread_mutex_unlock(&ep->eq->lock);
	return ret;
}

void msgep_cm_forget(struct msgep_ep *ep)
{
	struct msgep_cm_conn *conn = ep->cm;

	DOFI_ASSERT_LOCKED(&ep->eq->lock);
	msgep_cm_unreserve(ep);
	if (!conn)
		return;
	switch (conn->state) {
	case MSGEP_CM_REQUEST_PENDING:
		/* Never accepted: another endpoint may still accept or the consumer reject it. */
		conn->ep = NULL;
		ep->cm = NULL;
		break;
	case MSGEP_CM_LIVE:
	case MSGEP_CM_ENDING:
		msgep_cm_send_bye(conn);
		msgep_cm_take_bye(conn);
		msgep_cm_linger(conn);
		break;
	case MSGEP_CM_ENDED:
		msgep_cm_take_bye(conn);
		msgep_cm_linger(conn);
		break;
	case MSGEP_CM_PATH_CHECK:
		/* Cancelled, or timed out. */
		msgep_cm_path_failed(conn);
		msgep_cm_conn_free(conn);
		break;
	default:
		msgep_cm_conn_free(conn);
		break;
	}
}

/* ---------------------------------------------------------------- names */

static int cm_copy_name(const union dofi_addr *from, void *addr, size_t *len)
{
	size_t room = *len;

	*len = dofi_addr_len(&from->sa);
	memcpy(addr, from, room < *len ? room : *len);
	return room < *len ? -FI_ETOOSMALL : 0;
}

static int cm_ep_getname(struct fid *fid, void *addr, size_t *len)
{
	const struct msgep_ep *ep = dofi_container(fid, struct msgep_ep, fid.fid);

	return cm_copy_name(ep->local.sa.sa_family ? &ep->local : &ep->domain->fabric->fab->addr,
			    addr, len);
}

static int cm_ep_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	const struct msgep_ep *ep = msgep_cm_ep_of(fid);

	return ep->peer.sa.sa_family ? cm_copy_name(&ep->peer, addr, len) : -FI_ENOTCONN;
}

struct fi_ops_cm msgep_ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = cm_ep_getname,
	.getpeer = cm_ep_getpeer,
	.connect = msgep_cm_ep_connect,
	.accept = cm_ep_accept,
	.shutdown = cm_ep_shutdown,
};
