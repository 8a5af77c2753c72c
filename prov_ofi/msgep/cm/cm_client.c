/* SPDX-License-Identifier: BSD-2-Clause */
/* The active side: finding a path to the service point, request, answer, further attempts. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "fabric/netif.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

/* The connect is retried after this delay if the listener's queue is full, or if the listener is
 * busy. The delay doubles with each BUSY, up to a limit. The attempt times out as late as the
 * kernel's does for TCP. */
#define REDIAL DOFI_MS(5)
#define REDIAL_DOUBLINGS 4
#define REDIAL_LIMIT DOFI_MS(127000)
/* A listener that evicts a half-open connection on which a request has just arrived resets it, and
 * its BUSY may be lost: this many resets are treated as BUSY. */
#define RESETS 3

/* Reports that no socket leads to the peer. Needs no connection object. */
static void cm_post_unreached(struct msgep_ep *ep, int err)
{
	struct msgep_event event = {
		.event = 0, .err = err, .prov_errno = err, .fid = &ep->fid.fid
	};

	msgep_cm_set_ep_state(ep, MSGEP_DOWN);
	msgep_cm_post(ep, &event, NULL, 0);
}

static void cm_fail_unreached(struct msgep_cm_conn *conn, int err)
{
	cm_post_unreached(conn->ep, err);
	msgep_cm_conn_free(conn);
}

/* Sets the address of this end that is reported to the peer. */
static void cm_name_end(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;
	socklen_t len = sizeof(ep->local);

	if (conn->route)
		msgep_cm_name_local(ep, &conn->local);
	else if (conn->transport->local)
		msgep_cm_name_local(ep, &ep->peer);
	else
		getsockname(conn->fd, &ep->local.sa, &len);
}

static void cm_send_request(struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_REQUEST,
				    .transport = conn->transport->id,
				    .data = conn->bufs->param,
				    .data_len = conn->bufs->param_len,
				    .to = conn->peer,
				    .dscp = conn->ep->dscp };
	struct msgep_params params;
	int ret = msgep_cm_add_params(conn, true, &params, &msg);

	if (!ret && msg.has_fd && !conn->transport->local)
		ret = -EPROTO;
	if (ret) {
		msgep_cm_fail(conn, -ret, NULL, 0);
		return;
	}
	cm_name_end(conn);
	msg.port = dofi_addr_port(&conn->ep->local.sa);
	if (!msgep_cm_pack(conn, &msg)) {
		msgep_cm_fail(conn, ENOMEM, NULL, 0);
		return;
	}
	msgep_cm_state(conn, MSGEP_CM_REQUEST_SENT);
	msgep_cm_leave_place(conn);
	ret = msgep_cm_send(conn);
	/* A listener may have sent REJECT before it closed: read that first. */
	ret = msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP | (ret ? 0 : EPOLLOUT));
	if (ret)
		msgep_cm_fail(conn, -ret, NULL, 0);
}

static void cm_send_hello(struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_HELLO,
				    .transport = conn->transport->id,
				    .params = conn->bufs->nonces,
				    .params_len = MSGEP_CM_NONCE };

	conn->active = true;
	if (!conn->cm->secret || conn->route) {
		cm_send_request(conn);
		return;
	}
	msgep_cm_state(conn, MSGEP_CM_HELLO_SENT);
	if (!msgep_secret_nonce(conn->bufs->nonces) || !msgep_cm_pack(conn, &msg) ||
	    msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP | (msgep_cm_send(conn) ? 0 : EPOLLOUT)))
		msgep_cm_fail(conn, ENOMEM, NULL, 0);
}

static void cm_recv_challenge(struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg;
	int ret = msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg);

	if (!ret && msg.kind == MSGEP_CM_CHALLENGE)
		memcpy(conn->bufs->nonces + MSGEP_CM_NONCE, msg.params, MSGEP_CM_NONCE);
	if (!ret)
		ret = msgep_cm_unpack(conn, &msg);
	if (ret || msg.kind != MSGEP_CM_CHALLENGE) {
		msgep_cm_fail(conn, ret ? -ret : EPROTO, NULL, 0);
		return;
	}
	conn->bufs->in.have = 0;
	cm_send_request(conn);
}

static void cm_accepted(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	uint8_t data[MSGEP_CM_DATA];
	size_t len = msg->data_len;
	int ret;

	memcpy(data, msg->data, len);
	ret = msgep_cm_set_peer_params(conn, true, msg);
	if (ret) {
		msgep_cm_fail(conn, -ret, NULL, 0);
		return;
	}
	if (conn->transport->add_route && !conn->route)
		conn->transport->add_route(conn->ep, &conn->peer, &conn->ep->local);
	msgep_cm_check_path(conn, data, len);
}

static void cm_parse_answer(struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg;
	int ret = msgep_cm_unpack(conn, &msg);

	if (!ret && msg.kind == MSGEP_CM_ACCEPT && msg.transport == conn->transport->id)
		cm_accepted(conn, &msg);
	else if (!ret && msg.kind == MSGEP_CM_REJECT)
		msgep_cm_fail(conn, ECONNREFUSED, msg.data, msg.data_len);
	else
		msgep_cm_fail(conn, ret ? -ret : EPROTO, NULL, 0);
}

/* The listener is busy: starts another attempt, with a new socket. */
static void cm_try_again(struct msgep_cm_conn *conn)
{
	unsigned int doublings = conn->redials < REDIAL_DOUBLINGS ? conn->redials
								  : REDIAL_DOUBLINGS;
	struct msgep_ep *ep = conn->ep;

	msgep_cm_leave_place(conn);
	msgep_cm_close_socket(conn);
	msgep_cm_close_out_fd(conn);
	if (conn->in_fd >= 0)
		dofi_forkfd_close(conn->in_fd);
	conn->in_fd = -1;
	conn->bufs->in.have = 0;
	conn->route = 0;
	conn->bufs->out_len = conn->bufs->out_done = 0;
	if (ep->w.any)
		ep->transport->close(ep);
	conn->redials++;
	msgep_cm_state(conn, MSGEP_CM_CONNECTING);
	msgep_cm_arm(conn->cm, &conn->timer, dofi_now() + (REDIAL << doublings));
}

void msgep_cm_recv_answer(struct msgep_cm_conn *conn, bool again)
{
	if (again)
		cm_try_again(conn);
	else
		cm_parse_answer(conn);
}

static bool cm_is_busy(const struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg;

	return !msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg) &&
	       msg.kind == MSGEP_CM_BUSY;
}

/* The peer ended the connection, and nothing has arrived: true if it may have meant another than
 * this request. A listener closes sockets without a request after a time (HALF_OPEN_MS), so a
 * process that could not run may have sent it too late. */
static bool cm_may_try_again(struct msgep_cm_conn *conn, int ret)
{
	uint64_t late = DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS)) / 2;

	return !conn->bufs->in.have && conn->resets < RESETS &&
	       (ret == -ECONNRESET || (ret == -EPIPE && dofi_now() - conn->started >= late));
}

void msgep_cm_answer_ready(struct msgep_cm_conn *conn, uint32_t events)
{
	char text[MSGEP_CM_PEER_TEXT], got[MSGEP_CM_GOT_TEXT];
	int ret;

	if ((events & EPOLLOUT) && msgep_cm_send(conn))
		msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP);
	ret = msgep_cm_recv(conn, false);
	if (ret > 0) {
		if (cm_is_busy(conn))
			cm_try_again(conn);
		else if (conn->state == MSGEP_CM_HELLO_SENT)
			cm_recv_challenge(conn);
		else
			cm_parse_answer(conn);
		return;
	}
	if (!ret || ret == -EINTR)
		return;
	if (cm_may_try_again(conn, ret)) {
		conn->resets++;
		cm_try_again(conn);
		return;
	}
	if (ret == -EPROTO || ret == -EBADMSG || ret == -EPROTONOSUPPORT)
		dofi_log(DOFI_LOG_INFO,
			 "%s: expected an answer to the connection request, got %s; try: let both "
			 "sides use the same fabric (DAPL_OFI_PROVIDER)",
			 msgep_cm_peer_text(conn, text), msgep_cm_in_text(conn, ret, got));
	msgep_cm_fail(conn, ret == -EPIPE ? ECONNRESET : -ret, NULL, 0);
}

/* The kernel may choose the peer's port as the source port of a socket if there is no listener, and
 * then connects the socket to itself. */
static bool cm_reached_itself(const struct msgep_cm_conn *conn)
{
	union dofi_addr own;
	socklen_t len = sizeof(own);

	return !conn->transport->local && !getsockname(conn->fd, &own.sa, &len) &&
	       dofi_addr_port(&own.sa) == dofi_addr_port(&conn->peer.sa) &&
	       dofi_addr_same_host(&own.sa, &conn->peer.sa);
}

static void cm_leave_itself(struct msgep_cm_conn *conn)
{
	static const struct sockaddr none = { .sa_family = AF_UNSPEC };

	/* Resets the connection: after an orderly end the port would be in use for a minute. */
	connect(conn->fd, &none, sizeof(none));
	cm_fail_unreached(conn, ECONNREFUSED);
}

void msgep_cm_connecting_ready(struct msgep_cm_conn *conn)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	if (err)
		cm_fail_unreached(conn, err);
	else
		cm_send_hello(conn);
}

/* The socket is connected or being connected, or the path needs none. */
static void cm_path_found(struct msgep_cm_conn *conn, const struct msgep_cm_path *way)
{
	conn->fd = way->fd;
	conn->route = way->route;
	conn->local = way->local;
	conn->domain = conn->ep->domain;
	if (way->route) {
		cm_send_hello(conn);
		return;
	}
	cm_name_end(conn);
	if (cm_reached_itself(conn))
		cm_leave_itself(conn);
	else if (way->done)
		cm_send_hello(conn);
	else if (msgep_cm_watch(conn, EPOLLOUT))
		msgep_cm_fail(conn, ENOMEM, NULL, 0);
}

/* An attempt that awaits a place has the timer for its end only. */
static void cm_connect_later(struct msgep_cm_conn *conn)
{
	msgep_cm_arm(conn->cm, &conn->timer,
		     msgep_cm_awaits_place(conn) ? conn->started + REDIAL_LIMIT
						 : dofi_now() + REDIAL);
}

void msgep_cm_retry_connect(struct msgep_cm_conn *conn)
{
	struct msgep_cm_path way;
	int ret = msgep_cm_find_path(conn, &way);

	conn->transport = conn->ep->transport;
	if (ret == -EAGAIN && dofi_now() - conn->started < REDIAL_LIMIT)
		cm_connect_later(conn);
	else if (ret)
		cm_fail_unreached(conn, ret == -EAGAIN ? ETIMEDOUT : -ret);
	else
		cm_path_found(conn, &way);
}

static int cm_start_connect(struct msgep_ep *ep, const union dofi_addr *to, const void *param,
			    size_t len)
{
	struct msgep_cm_path way;
	struct msgep_cm_conn *conn =
		msgep_cm_conn_new(ep->eq->cm, -1, ep->transport, MSGEP_CM_CONNECTING);
	int ret;

	if (!conn)
		return -ENOMEM;
	conn->ep = ep;
	conn->peer = *to;
	ret = msgep_cm_find_path(conn, &way);
	conn->transport = ep->transport;
	if (ep->transport->local)
		msgep_cm_name_local(ep, to);
	if (ret && ret != -EAGAIN) {
		msgep_cm_conn_free(conn);
		if (ret != -ECONNREFUSED && (!ep->transport->local || ret != -EHOSTUNREACH))
			return ret;
		cm_post_unreached(ep, -ret);
		return 0;
	}
	ep->peer = *to;
	conn->bufs->param_len = (uint16_t)len;
	if (len)
		memcpy(conn->bufs->param, param, len);
	ep->cm = conn;
	msgep_cm_set_ep_state(ep, MSGEP_CONNECTING);
	if (ret)
		cm_connect_later(conn);
	else
		cm_path_found(conn, &way);
	return 0;
}

int msgep_cm_ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct msgep_ep *ep = msgep_cm_ep_of(fid);
	const struct sockaddr *sa = addr;
	union dofi_addr to;
	int ret = -FI_EINVAL;

	if (!ep->eq)
		return -FI_ENOEQ;
	if (!sa || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6) || len > MSGEP_CM_DATA)
		return -FI_EINVAL;
	memset(&to, 0, sizeof(to));
	memcpy(&to, sa, dofi_addr_len(sa));
	dofi_netif_set_scope(ep->domain->fabric->fab, &to);
	pthread_mutex_lock(&ep->eq->lock);
	if (!ep->cm && atomic_load(&ep->state) == MSGEP_NEW)
		ret = msgep_cm_reserve(ep);
	if (!ret)
		ret = msgep_inbox_attach(ep->domain, ep->eq);
	if (!ret)
		ret = cm_start_connect(ep, &to, param, len);
	pthread_mutex_unlock(&ep->eq->lock);
	return ret;
}
