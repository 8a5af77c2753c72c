/* SPDX-License-Identifier: BSD-2-Clause */
/* Listens, receives connection requests, and rejects them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "fabric/fab_info.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

/* Connections accepted per event. */
#define ACCEPTS 64
/* Pause of a listener when descriptors or memory are exhausted. */
#define ACCEPT_PAUSE DOFI_MS(50)
/* Free ports that are tried at all addresses and on both transports. */
#define PORT_TRIES 64

static struct msgep_cm_conn *cm_conn_of(struct fid *handle)
{
	return dofi_container(handle, struct msgep_cm_conn, handle);
}

/* ---------------------------------------------------------------- requests */

static struct fi_info *cm_request_info(struct msgep_cm_conn *conn)
{
	struct fi_info *info =
		dofi_own_info_copy(conn->pep->fabric->fab->info, &conn->local, &conn->peer);

	if (!info)
		return NULL;
	info->handle = &conn->handle;
	if (conn->dscp)
		info->tx_attr->tclass = fi_tc_dscp_set(conn->dscp);
	return info;
}

/* Sends BUSY for lack of memory or capacity: the client retries. */
static void cm_refuse_busy(struct msgep_cm_conn *conn)
{
	const struct msgep_cm_msg busy = { .kind = MSGEP_CM_BUSY,
					   .transport = conn->transport->id };

	if (conn->route)
		msgep_cm_send_last(conn, &busy);
	else if (conn->fd >= 0)
		msgep_cm_send_busy(conn->fd, conn->transport);
	msgep_cm_conn_free(conn);
}

void msgep_cm_report_request(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	struct msgep_event event = { .event = FI_CONNREQ, .fid = &conn->pep->fid.fid };

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	conn->dscp = msg->dscp;
	if (conn->dscp && conn->fd >= 0 && !conn->transport->local)
		dofi_sock_set_dscp(conn->fd, conn->dscp);
	event.info = cm_request_info(conn);
	if (!event.info) {
		cm_refuse_busy(conn);
		return;
	}
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	/* While the request is pending, events of the client do not matter. */
	msgep_cm_watch(conn, 0);
	msgep_cm_state(conn, MSGEP_CM_REQUEST_PENDING);
	if (!msgep_cm_post_request(conn->cm, &event, msg->data, msg->data_len)) {
		dofi_own_info_free(event.info);
		cm_refuse_busy(conn);
	}
}

/* A unix socket has the listener's address, unless the listener accepts requests for all addresses.
 * False: the client requests another address. */
static bool cm_set_local_names(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	uint16_t port = dofi_addr_port(&conn->local.sa);

	if (dofi_addr_is_any(&conn->local))
		conn->local = msg->to;
	else if (!dofi_addr_same_host(&conn->local.sa, &msg->to.sa))
		return false;
	conn->peer = conn->local;
	dofi_addr_set_port(&conn->local.sa, port);
	dofi_addr_set_port(&conn->peer.sa, msg->port);
	return true;
}

/* True if the client connects to another address than this one: a host that knows the secret may
 * only be receiving what the intended host forwards. */
static bool cm_is_passed_on(const struct msgep_cm_conn *conn, const union dofi_addr *to)
{
	return conn->cm->secret && !conn->transport->local &&
	       !dofi_addr_same_host(&conn->local.sa, &to->sa);
}

/* Answers HELLO with a challenge, which proves knowledge of the secret to the client. */
static void cm_challenge(struct msgep_cm_conn *conn, const struct msgep_cm_msg *hello)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_CHALLENGE,
				    .transport = conn->transport->id,
				    .params = conn->bufs->nonces + MSGEP_CM_NONCE,
				    .params_len = MSGEP_CM_NONCE };

	char text[MSGEP_CM_PEER_TEXT];

	if (!conn->cm->secret) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: it expects a secret; try: the same "
			 "DAPL_OFI_CM_SECRET_FILE here",
			 msgep_cm_peer_text(conn, text));
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	memcpy(conn->bufs->nonces, hello->params, MSGEP_CM_NONCE);
	conn->bufs->in.have = 0;
	/* The socket's send buffer is empty: the message fits, or the socket is unusable. */
	if (conn->challenged || !msgep_secret_nonce(conn->bufs->nonces + MSGEP_CM_NONCE) ||
	    !msgep_cm_pack(conn, &msg) || msgep_cm_send(conn) <= 0)
		msgep_cm_conn_free(conn);
	else
		conn->challenged = true;
}

static void cm_take_request(struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg;
	char text[MSGEP_CM_PEER_TEXT], got[DOFI_ADDR_TEXT];
	int ret = msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg);

	if (!ret && msg.kind == MSGEP_CM_HELLO) {
		cm_challenge(conn, &msg);
		return;
	}
	if (!ret)
		ret = msgep_cm_unpack(conn, &msg);
	if (ret == -EACCES || (!ret && conn->cm->secret && !conn->challenged)) {
		if (!ret)
			dofi_log(DOFI_LOG_WARN,
				 "rejected %s: it has no secret; try: the same "
				 "DAPL_OFI_CM_SECRET_FILE there",
				 msgep_cm_peer_text(conn, text));
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	if (ret || msg.kind != MSGEP_CM_REQUEST) {
		dofi_log(DOFI_LOG_WARN, "rejected %s: expected a connection request, got %s",
			 msgep_cm_peer_text(conn, text), msgep_cm_in_text(conn, ret, got));
		msgep_cm_conn_free(conn);
		return;
	}
	if (msg.transport != conn->transport->id) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a peer over %s (transport %u), got one over "
			 "transport %u; try: let both sides use the same fabric "
			 "(DAPL_OFI_PROVIDER)",
			 msgep_cm_peer_text(conn, text), conn->pep->fabric->fab->desc->name,
			 conn->transport->id, msg.transport);
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	if (cm_is_passed_on(conn, &msg.to)) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: it shares the secret; expected a connection to this "
			 "adapter's address, got one to %s; try: no address translation between "
			 "the two",
			 msgep_cm_peer_text(conn, text),
			 dofi_addr_text(&msg.to, 0, got, sizeof(got)));
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	if (conn->transport->local && !cm_set_local_names(conn, &msg)) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a connection to this adapter's address, got one "
			 "to %s (DAPL_OFI_DOMAIN)",
			 msgep_cm_peer_text(conn, text),
			 dofi_addr_text(&msg.to, 0, got, sizeof(got)));
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	msgep_cm_report_request(conn, &msg);
}

void msgep_cm_half_open_ready(struct msgep_cm_conn *conn, uint32_t events)
{
	char text[MSGEP_CM_PEER_TEXT], got[MSGEP_CM_GOT_TEXT];
	int ret = msgep_cm_recv(conn, false);

	(void)events;
	if (ret > 0) {
		cm_take_request(conn);
		return;
	}
	if (!ret || ret == -EINTR)
		return;
	if (ret == -EMFILE) {
		dofi_log(DOFI_LOG_WARN,
			 "cannot take the request of %s, which has to repeat it: Too many open "
			 "files; try: ulimit -n",
			 msgep_cm_peer_text(conn, text));
		msgep_cm_send_busy(conn->fd, conn->transport);
		msgep_cm_conn_free(conn);
		return;
	}
	if (ret == -EPROTONOSUPPORT) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected version %d of the handshake, got "
			 "%s; try: the same release of this library at both sides",
			 msgep_cm_peer_text(conn, text), MSGEP_CM_VERSION,
			 msgep_cm_in_text(conn, ret, got));
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	if (conn->challenged)
		dofi_log(DOFI_LOG_WARN,
			 "%s closed the connection: it has another secret, or "
			 "none; try: the same DAPL_OFI_CM_SECRET_FILE at both sides",
			 msgep_cm_peer_text(conn, text));
	else if (ret == -EPROTO || ret == -EBADMSG)
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a connection request over %s, got %s: it uses "
			 "another fabric or is another program; try: let both sides use the same "
			 "fabric (DAPL_OFI_PROVIDER)",
			 msgep_cm_peer_text(conn, text), conn->pep->fabric->fab->desc->name,
			 msgep_cm_in_text(conn, ret, got));
	msgep_cm_conn_free(conn);
}

void msgep_cm_refuse(struct msgep_cm_conn *conn, const void *data, size_t len)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_REJECT,
				    .transport = conn->transport->id,
				    .data = data,
				    .data_len = (uint16_t)len };

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	msgep_cm_close_out_fd(conn);
	if (conn->in_fd >= 0)
		dofi_forkfd_close(conn->in_fd);
	conn->in_fd = -1;
	if (!msgep_cm_pack(conn, &msg) || msgep_cm_send(conn) < 0)
		msgep_cm_conn_free(conn);
	else
		msgep_cm_linger(conn);
}

void msgep_cm_drop_request(struct fid *handle)
{
	struct msgep_cm_conn *conn = cm_conn_of(handle);

	if (conn->state == MSGEP_CM_REQUEST_PENDING && !conn->ep)
		msgep_cm_conn_free(conn);
}

static bool cm_is_of(const struct msgep_fabric *fabric, const struct msgep_transport *transport)
{
	return transport == fabric->transport || transport == fabric->local_transport;
}

int msgep_cm_attach_request(struct fid *handle, struct msgep_ep *ep)
{
	struct msgep_cm_conn *conn = cm_conn_of(handle);
	struct msgep_eq *eq;
	int ret = 0;

	if (handle->fclass != FI_CLASS_CONNREQ)
		return -FI_EINVAL;
	eq = conn->cm->eq;
	pthread_mutex_lock(&eq->lock);
	if (conn->state != MSGEP_CM_REQUEST_PENDING || conn->ep ||
	    !cm_is_of(ep->domain->fabric, conn->transport)) {
		ret = -FI_EINVAL;
	} else {
		msgep_cm_set_transport(ep, conn->transport);
		conn->ep = ep;
		ep->cm = conn;
		ep->eq = eq;
		ep->local = conn->local;
		ep->peer = conn->peer;
		ep->dscp = conn->dscp;
	}
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

/* ---------------------------------------------------------------- half-open connections */

static bool cm_same_peer(const struct msgep_cm_conn *a, const struct msgep_cm_conn *b)
{
	return a->transport == b->transport && msgep_cm_same_peer(a, &b->peer, b->pid);
}

/* Counts the connections of the same peer that are not older, itself included. The list is in the
 * order of arrival. */
static unsigned int cm_count_younger(const struct msgep_cm_conn *conn)
{
	const struct dofi_list *pos;
	unsigned int n = 0;

	for (pos = &conn->link; pos != &conn->cm->half_open; pos = pos->next)
		n += cm_same_peer(dofi_container(pos, struct msgep_cm_conn, link), conn);
	return n;
}

/* Counts the connections of the same peer, and finds the oldest. */
static unsigned int cm_count_peer(const struct msgep_cm_conn *conn, struct msgep_cm_conn **oldest)
{
	unsigned int n = 0;
	struct dofi_list *pos;

	dofi_list_each(pos, &conn->cm->half_open)
	{
		struct msgep_cm_conn *other = dofi_container(pos, struct msgep_cm_conn, link);

		if (cm_same_peer(other, conn) && !n++)
			*oldest = other;
	}
	return n;
}

/* At most one log message per second, even for a flood of connections. */
static void cm_evict(struct msgep_cm_conn *conn)
{
	struct msgep_cm *cm = conn->cm;
	uint64_t now = dofi_now();
	char text[INET6_ADDRSTRLEN];

	cm->evicted++;
	if (now >= cm->evict_log_at) {
		dofi_log(DOFI_LOG_WARN,
			 "too many idle connections: closed %u, the last one from "
			 "%s:%u (process %d), which sent no request for %llu ms",
			 cm->evicted, msgep_cm_addr_text(&conn->peer, text, sizeof(text)),
			 dofi_addr_port(&conn->peer.sa), conn->pid,
			 (unsigned long long)((now - conn->started) / DOFI_MS(1)));
		cm->evicted = 0;
		cm->evict_log_at = now + DOFI_MS(1000);
	}
	cm_refuse_busy(conn);
}

/* Keeps the new connection: evicts the oldest one. */
static void cm_evict_half_open(struct msgep_cm_conn *added)
{
	struct msgep_cm *cm = added->cm;
	struct msgep_cm_conn *oldest = added;

	if (cm_count_peer(added, &oldest) > MSGEP_CM_HALF_OPEN_BURST)
		cm_evict(oldest);
	else if (cm->n_half_open > MSGEP_CM_HALF_OPEN_MAX)
		cm_evict(dofi_container(cm->half_open.next, struct msgep_cm_conn, link));
}

void msgep_cm_half_open_tick(struct msgep_cm_conn *conn)
{
	uint64_t timeout = DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS));
	char text[INET6_ADDRSTRLEN];

	if (dofi_now() - conn->started < timeout) {
		if (cm_count_younger(conn) <= MSGEP_CM_HALF_OPEN_PEER)
			msgep_cm_arm(conn->cm, &conn->timer, conn->started + timeout);
		else
			cm_evict(conn);
		return;
	}
	dofi_log(DOFI_LOG_WARN,
		 "closed idle connection from %s:%u (process %d): no %s within %ld ms "
		 "(DAPL_OFI_HALF_OPEN_MS)",
		 msgep_cm_addr_text(&conn->peer, text, sizeof(text)),
		 dofi_addr_port(&conn->peer.sa), conn->pid,
		 conn->challenged ? "proof of the secret" : "request",
		 dofi_param(DOFI_NUM_HALF_OPEN_MS));
	msgep_cm_conn_free(conn);
}

static void cm_identify(struct msgep_cm_conn *conn, const struct msgep_cm_listener *l)
{
	struct ucred cred = { .pid = -1 };
	socklen_t len = sizeof(conn->local);

	if (!conn->transport->local) {
		msgep_cm_tune(conn->fd);
		getsockname(conn->fd, &conn->local.sa, &len);
		return;
	}
	len = sizeof(cred);
	getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	conn->pid = cred.pid;
	conn->local = conn->peer = l->addr;
	dofi_addr_set_port(&conn->peer.sa, 0);
	dofi_log(DOFI_LOG_DEBUG, "process %ld of user %ld connects", (long)cred.pid,
		 (long)cred.uid);
}

/* Reads at once: usually the request has arrived already. */
static void cm_admit_half_open(struct msgep_cm_listener *l, int fd, const union dofi_addr *peer)
{
	struct msgep_cm *cm = l->cm;
	struct msgep_cm_conn *conn = msgep_cm_conn_new(cm, fd, l->transport, MSGEP_CM_HALF_OPEN);
	uint64_t wait;

	if (!conn) {
		dofi_log(DOFI_LOG_ERROR, "no memory for a peer that connects");
		msgep_cm_send_busy(fd, l->transport);
		dofi_forkfd_close(fd);
		return;
	}
	conn->pep = l->pep;
	if (!conn->transport->local)
		conn->peer = *peer;
	cm_identify(conn, l);
	if (msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP)) {
		dofi_log(DOFI_LOG_WARN, "no memory to wait for the request of a peer");
		cm_refuse_busy(conn);
		return;
	}
	cm_evict_half_open(conn);
	wait = DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS));
	msgep_cm_arm(cm, &conn->timer,
		     conn->started + (wait < MSGEP_CM_BURST_NS ? wait : MSGEP_CM_BURST_NS));
	msgep_cm_half_open_ready(conn, EPOLLIN);
}

/* ---------------------------------------------------------------- listeners */

static void cm_listen_events(struct msgep_cm_listener *l, uint32_t events)
{
	struct epoll_event ev = { .events = events };

	ev.data.ptr = &l->source;
	epoll_ctl(l->cm->epfd, EPOLL_CTL_MOD, l->fd, &ev);
}

static void cm_listener_ready(struct msgep_cm_source *source, uint32_t events)
{
	struct msgep_cm_listener *l = dofi_container(source, struct msgep_cm_listener, source);

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		union dofi_addr peer;
		socklen_t len = sizeof(peer);
		int fd;

		memset(&peer, 0, sizeof(peer));
		fd = accept4(l->fd, l->transport->local ? NULL : &peer.sa, &len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			cm_admit_half_open(l, dofi_forkfd(fd), &peer);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			/* The peers wait in the kernel's queue; retrying at once would spin. */
			dofi_log(DOFI_LOG_WARN, "cannot accept a connection: %s", strerror(errno));
			cm_listen_events(l, 0);
			msgep_cm_arm(l->cm, &l->timer, dofi_now() + ACCEPT_PAUSE);
			return;
		}
		/* Others concern one connection that has gone meanwhile. */
		if (errno == EAGAIN)
			return;
	}
}

static void cm_listener_resume(struct dofi_timer *timer)
{
	cm_listen_events(dofi_container(timer, struct msgep_cm_listener, timer), EPOLLIN);
}

static int cm_start(struct msgep_cm_listener *l)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ret = dofi_timer_add(&l->cm->timers, &l->timer, cm_listener_resume);

	if (ret)
		return ret;
	l->fd = msgep_cm_listen_at(l->transport, &l->addr, l->pep->has_qual ? &l->pep->qual : NULL);
	if (l->fd < 0) {
		ret = l->fd;
		goto no_socket;
	}
	ev.data.ptr = &l->source;
	if (epoll_ctl(l->cm->epfd, EPOLL_CTL_ADD, l->fd, &ev)) {
		ret = -errno;
		dofi_forkfd_close(l->fd);
		goto no_socket;
	}
	dofi_addr_set_port(&l->pep->addr.sa, dofi_addr_port(&l->addr.sa));
	return 0;
no_socket:
	dofi_timer_drop(&l->cm->timers, &l->timer);
	return ret;
}

void msgep_cm_listener_free(struct msgep_cm_listener *l)
{
	struct dofi_list *lists[] = { &l->cm->half_open, &l->cm->conns }, *pos, *tmp;

	for (size_t i = 0; i < 2; i++) {
		dofi_list_each_safe(pos, tmp, lists[i])
		{
			struct msgep_cm_conn *conn =
				dofi_container(pos, struct msgep_cm_conn, link);

			if (conn->pep != l->pep)
				continue;
			conn->pep = NULL;
			if (conn->state == MSGEP_CM_HALF_OPEN)
				msgep_cm_conn_free(conn);
		}
	}
	epoll_ctl(l->cm->epfd, EPOLL_CTL_DEL, l->fd, NULL);
	/* A child made by clone(2), for which no handler runs, may have it open still. */
	shutdown(l->fd, SHUT_RDWR);
	dofi_forkfd_close(l->fd);
	dofi_timer_drop(&l->cm->timers, &l->timer);
	dofi_list_remove(&l->link);
	dofi_list_remove(&l->pep_link);
	free(l);
}

void msgep_cm_forget_pep(struct msgep_pep *pep)
{
	while (!dofi_list_empty(&pep->listeners))
		msgep_cm_listener_free(
			dofi_container(pep->listeners.next, struct msgep_cm_listener, pep_link));
}

/* ---------------------------------------------------------------- fi_ops_cm */

static struct msgep_pep *cm_pep_of(struct fid_pep *fid)
{
	return dofi_container(fid, struct msgep_pep, fid);
}

static int cm_listen_on(struct msgep_pep *pep, const struct msgep_transport *transport,
			const union dofi_addr *addr)
{
	struct msgep_cm *cm = pep->eq->cm;
	struct msgep_cm_listener *l = calloc(1, sizeof(*l));
	int ret;

	if (!l)
		return -FI_ENOMEM;
	l->source.ready = cm_listener_ready;
	l->cm = cm;
	l->pep = pep;
	l->transport = transport;
	l->addr = *addr;
	dofi_addr_set_port(&l->addr.sa, dofi_addr_port(&pep->addr.sa));
	ret = cm_start(l);
	if (ret) {
		free(l);
		return ret;
	}
	dofi_list_append(&cm->listeners, &l->link);
	dofi_list_append(&pep->listeners, &l->pep_link);
	return 0;
}

/* Listens on every transport of the fabric. The network comes first: it checks the address. */
static int cm_listen_at(struct msgep_pep *pep, const union dofi_addr *addr)
{
	const struct msgep_fabric *fabric = pep->fabric;
	int ret = cm_listen_on(pep, fabric->transport, addr);

	return ret || !fabric->local_transport ? ret
					       : cm_listen_on(pep, fabric->local_transport, addr);
}

static bool cm_has_vanished(int err)
{
	return err == -FI_EADDRNOTAVAIL || err == -FI_ENODEV;
}

/* Listens at all addresses of the interface that the user named, except those that it has lost. */
static int cm_listen_at_each(struct msgep_pep *pep, const struct dofi_fab *fab)
{
	char text[INET6_ADDRSTRLEN];
	int ret = 0;

	for (size_t i = 0; i < fab->n_addrs; i++) {
		ret = cm_listen_at(pep, &fab->addrs[i]);
		if (ret && !cm_has_vanished(ret))
			return ret;
		if (ret)
			dofi_log(DOFI_LOG_WARN, "does not listen at %s: %s has no such address now",
				 msgep_cm_addr_text(&fab->addrs[i], text, sizeof(text)),
				 fab->netdev);
	}
	return dofi_list_empty(&pep->listeners) ? ret : 0;
}

/* Listens at every address, or at none. */
static int cm_listen_on_all(struct msgep_pep *pep)
{
	const struct dofi_fab *fab = pep->fabric->fab;
	bool each = fab->n_addrs && dofi_addr_same_host(&pep->addr.sa, &fab->addr.sa);
	int ret = each ? cm_listen_at_each(pep, fab) : cm_listen_at(pep, &pep->addr);

	if (ret)
		msgep_cm_forget_pep(pep);
	return ret;
}

/* A port that the kernel picks is free at one address, and may be taken at another or on the other
 * transport. */
static int cm_listen_now(struct msgep_pep *pep)
{
	union dofi_addr wanted = pep->addr;
	int ret = -FI_EADDRINUSE;

	if (!dofi_list_empty(&pep->listeners))
		return -FI_EINVAL;
	for (int i = 0; i < PORT_TRIES && ret == -FI_EADDRINUSE; i++) {
		pep->addr = wanted;
		ret = cm_listen_on_all(pep);
		if (dofi_addr_port(&wanted.sa))
			break;
	}
	if (ret)
		pep->addr = wanted;
	return ret;
}

static int cm_pep_listen(struct fid_pep *fid)
{
	struct msgep_pep *pep = cm_pep_of(fid);
	struct msgep_domain *domain = pep->fabric->domain;
	int ret = 0;

	if (!pep->eq)
		return -FI_ENOEQ;
	pthread_mutex_lock(&pep->eq->lock);
	/* The reaper of the transport's own listeners starts with the first service point. */
	if (domain)
		ret = msgep_inbox_attach(domain, pep->eq);
	if (!ret)
		ret = cm_listen_now(pep);
	pthread_mutex_unlock(&pep->eq->lock);
	return ret;
}

static int cm_pep_reject(struct fid_pep *fid, struct fid *handle, const void *param, size_t len)
{
	struct msgep_pep *pep = cm_pep_of(fid);
	struct msgep_cm_conn *conn;
	int ret = 0;

	if (!handle || handle->fclass != FI_CLASS_CONNREQ || len > MSGEP_CM_DATA || !pep->eq)
		return -FI_EINVAL;
	conn = cm_conn_of(handle);
	pthread_mutex_lock(&pep->eq->lock);
	if (conn->state != MSGEP_CM_REQUEST_PENDING || conn->ep)
		ret = -FI_EINVAL;
	else
		msgep_cm_refuse(conn, param, len);
	pthread_mutex_unlock(&pep->eq->lock);
	return ret;
}

static int cm_pep_getname(struct fid *fid, void *addr, size_t *len)
{
	struct msgep_pep *pep = dofi_container(fid, struct msgep_pep, fid.fid);
	size_t room = *len;

	*len = dofi_addr_len(&pep->addr.sa);
	memcpy(addr, &pep->addr, room < *len ? room : *len);
	return room < *len ? -FI_ETOOSMALL : 0;
}

struct fi_ops_cm msgep_pep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = cm_pep_getname,
	.listen = cm_pep_listen,
	.reject = cm_pep_reject,
};
