/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives connection requests, and rejects them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

/* Connections taken in one go. */
#define ACCEPTS 64
/* How long a listener rests when descriptors or memory are short. */
#define REST DOFI_MS(50)
/* Free ports that are tried at all addresses and on both wires. */
#define PORT_TRIES 64

static struct rdm_cm_conn *conn_of(struct fid *handle)
{
	return dofi_container(handle, struct rdm_cm_conn, handle);
}

/* ---------------------------------------------------------------- requests */

static void *copy_addr(const union dofi_addr *addr, size_t *len)
{
	void *copy;

	*len = dofi_addr_len(&addr->sa);
	copy = malloc(*len);
	if (copy)
		memcpy(copy, addr, *len);
	return copy;
}

static struct fi_info *request_info(struct rdm_cm_conn *conn)
{
	struct fi_info *info = dofi_lib.dupinfo(conn->pep->fabric->fab->info);

	if (!info)
		return NULL;
	free(info->src_addr);
	free(info->dest_addr);
	info->src_addr = copy_addr(&conn->local, &info->src_addrlen);
	info->dest_addr = copy_addr(&conn->peer, &info->dest_addrlen);
	info->addr_format = conn->peer.sa.sa_family == AF_INET6 ? FI_SOCKADDR_IN6
								: FI_SOCKADDR_IN;
	info->handle = &conn->handle;
	if (info->src_addr && info->dest_addr)
		return info;
	dofi_lib.freeinfo(info);
	return NULL;
}

/* For want of room or memory: the client tries again. */
static void turn_away(struct rdm_cm_conn *conn)
{
	if (conn->fd >= 0)
		rdm_cm_send_busy(conn->fd, conn->wire);
	rdm_cm_kill(conn);
}

void rdm_cm_give(struct rdm_cm_conn *conn, const struct rdm_cm_msg *msg)
{
	struct rdm_event event = { .event = FI_CONNREQ, .fid = &conn->pep->fid.fid };

	event.info = request_info(conn);
	if (!event.info) {
		turn_away(conn);
		return;
	}
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	/* Until it is decided nothing that the client does matters. */
	rdm_cm_watch(conn, 0);
	rdm_cm_step(conn, RDM_CM_GIVEN);
	if (!rdm_cm_post_request(conn->cm, &event, msg->data, msg->data_len)) {
		dofi_lib.freeinfo(event.info);
		turn_away(conn);
	}
}

/* A unix socket has the listener's address, unless that takes requests for all addresses. False: the
 * client asks for another one. */
static bool set_local_names(struct rdm_cm_conn *conn, const struct rdm_cm_msg *msg)
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

/* Who shares a secret with the client, but is not at the address that it connects to, is told what
 * another there passes on. */
static bool is_passed_on(const struct rdm_cm_conn *conn, const union dofi_addr *to)
{
	return conn->cm->secret && !conn->wire->local && !dofi_addr_same_host(&conn->local.sa, &to->sa);
}

/* The client wants to see that we know the secret, and will show that it does. */
static void challenge(struct rdm_cm_conn *conn, const struct rdm_cm_msg *hello)
{
	struct rdm_cm_msg msg = { .kind = RDM_CM_CHALLENGE, .wire = conn->wire->id,
				  .offer = conn->bufs->nonces + RDM_CM_NONCE,
				  .offer_len = RDM_CM_NONCE };

	char text[RDM_CM_PEER_TEXT];

	if (!conn->cm->secret) {
		dofi_log(DOFI_LOG_WARN, "rejected %s: it expects a secret; try: the same "
			 "DAPL_OFI_CM_SECRET_FILE here", rdm_cm_peer_text(conn, text));
		rdm_cm_refuse(conn, NULL, 0);
		return;
	}
	memcpy(conn->bufs->nonces, hello->offer, RDM_CM_NONCE);
	conn->bufs->in.have = 0;
	/* The socket is empty: what does not fit now is no fault of ours. */
	if (conn->challenged || !rdm_secret_nonce(conn->bufs->nonces + RDM_CM_NONCE) ||
	    !rdm_cm_pack(conn, &msg) || rdm_cm_send(conn) <= 0)
		rdm_cm_kill(conn);
	else
		conn->challenged = true;
}

static void take_request(struct rdm_cm_conn *conn)
{
	struct rdm_cm_msg msg;
	char text[RDM_CM_PEER_TEXT];
	int ret = rdm_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg);

	if (!ret && msg.kind == RDM_CM_HELLO) {
		challenge(conn, &msg);
		return;
	}
	if (!ret)
		ret = rdm_cm_unpack(conn, &msg);
	if (ret == -EACCES || (!ret && conn->cm->secret && !conn->challenged)) {
		if (!ret)
			dofi_log(DOFI_LOG_WARN, "rejected %s: it has no secret; try: the same "
				 "DAPL_OFI_CM_SECRET_FILE there", rdm_cm_peer_text(conn, text));
		rdm_cm_refuse(conn, NULL, 0);
		return;
	}
	if (ret || msg.kind != RDM_CM_REQUEST) {
		dofi_log(DOFI_LOG_WARN, "rejected %s: expected a connection request%s",
			 rdm_cm_peer_text(conn, text),
			 ret ? ", got a malformed message" : ", got another message");
		rdm_cm_kill(conn);
		return;
	}
	if (msg.wire != conn->wire->id) {
		dofi_log(DOFI_LOG_WARN, "rejected %s: expected a peer over %s, got one of another "
			 "transport (%u); try: let both sides use the same fabric "
			 "(DAPL_OFI_PROVIDER)", rdm_cm_peer_text(conn, text),
			 conn->pep->fabric->fab->row->name, msg.wire);
		rdm_cm_refuse(conn, NULL, 0);
		return;
	}
	if (is_passed_on(conn, &msg.to)) {
		dofi_log(DOFI_LOG_WARN, "rejected %s: it shares a secret and connects to another "
			 "address than that of this adapter; try: no translation of addresses "
			 "between the two", rdm_cm_peer_text(conn, text));
		rdm_cm_refuse(conn, NULL, 0);
		return;
	}
	if (conn->wire->local && !set_local_names(conn, &msg)) {
		dofi_log(DOFI_LOG_WARN, "rejected %s: it connects to another address than "
			 "that of this adapter", rdm_cm_peer_text(conn, text));
		rdm_cm_refuse(conn, NULL, 0);
		return;
	}
	rdm_cm_give(conn, &msg);
}

void rdm_cm_half_ready(struct rdm_cm_conn *conn, uint32_t events)
{
	int ret = rdm_cm_recv(conn, false);
	char text[RDM_CM_PEER_TEXT];

	(void)events;
	if (ret > 0) {
		take_request(conn);
		return;
	}
	if (!ret || ret == -EINTR)
		return;
	if (ret == -EPROTONOSUPPORT) {
		dofi_log(DOFI_LOG_WARN, "rejected %s: expected version %d of the handshake, got "
			 "another; try: the same release of this library at both sides",
			 rdm_cm_peer_text(conn, text), RDM_CM_VERSION);
		rdm_cm_refuse(conn, NULL, 0);
		return;
	}
	if (conn->challenged)
		dofi_log(DOFI_LOG_WARN, "%s closed the connection: it has another secret, or "
			 "none; try: the same DAPL_OFI_CM_SECRET_FILE at both sides",
			 rdm_cm_peer_text(conn, text));
	else if (ret == -EPROTO || ret == -EBADMSG)
		dofi_log(DOFI_LOG_WARN, "rejected %s: it does not speak the handshake of %s, it "
			 "uses another fabric or is another program; try: let both sides use "
			 "the same fabric (DAPL_OFI_PROVIDER)", rdm_cm_peer_text(conn, text),
			 conn->pep->fabric->fab->row->name);
	rdm_cm_kill(conn);
}

void rdm_cm_refuse(struct rdm_cm_conn *conn, const void *data, size_t len)
{
	struct rdm_cm_msg msg = { .kind = RDM_CM_REJECT, .wire = conn->wire->id, .data = data,
				  .data_len = (uint16_t)len };

	rdm_cm_close_offered(conn);
	if (conn->in_fd >= 0)
		dofi_forkfd_close(conn->in_fd);
	conn->in_fd = -1;
	if (!rdm_cm_pack(conn, &msg) || rdm_cm_send(conn) < 0)
		rdm_cm_kill(conn);
	else
		rdm_cm_linger(conn);
}

void rdm_cm_drop_request(struct fid *handle)
{
	struct rdm_cm_conn *conn = conn_of(handle);

	if (conn->step == RDM_CM_GIVEN && !conn->ep)
		rdm_cm_kill(conn);
}

static bool is_of(const struct rdm_fabric *fabric, const struct rdm_wire *wire)
{
	return wire == fabric->wire || wire == fabric->local_wire;
}

int rdm_cm_adopt_request(struct fid *handle, struct rdm_ep *ep)
{
	struct rdm_cm_conn *conn = conn_of(handle);
	struct rdm_eq *eq;
	int ret = 0;

	if (handle->fclass != FI_CLASS_CONNREQ)
		return -FI_EINVAL;
	eq = conn->cm->eq;
	pthread_mutex_lock(&eq->lock);
	if (conn->step != RDM_CM_GIVEN || conn->ep || !is_of(ep->domain->fabric, conn->wire)) {
		ret = -FI_EINVAL;
	} else {
		rdm_cm_choose(ep, conn->wire);
		conn->ep = ep;
		ep->cm = conn;
		ep->eq = eq;
		ep->local = conn->local;
		ep->peer = conn->peer;
	}
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

/* ---------------------------------------------------------------- strangers */

static bool same_peer(const struct rdm_cm_conn *a, const struct rdm_cm_conn *b)
{
	return a->wire == b->wire && rdm_cm_same_peer(a, &b->peer, b->pid);
}

/* Of the same peer, and not older; itself included. The list is in the order of arrival. */
static unsigned int younger_ones(const struct rdm_cm_conn *conn)
{
	const struct dofi_list *pos;
	unsigned int n = 0;

	for (pos = &conn->link; pos != &conn->cm->half; pos = pos->next)
		n += same_peer(dofi_container(pos, struct rdm_cm_conn, link), conn);
	return n;
}

/* How many there are of the same peer, and the oldest of them. */
static unsigned int count_peer(const struct rdm_cm_conn *conn, struct rdm_cm_conn **oldest)
{
	unsigned int n = 0;
	struct dofi_list *pos;

	dofi_list_each(pos, &conn->cm->half) {
		struct rdm_cm_conn *other = dofi_container(pos, struct rdm_cm_conn, link);

		if (same_peer(other, conn) && !n++)
			*oldest = other;
	}
	return n;
}

/* A flood of connections yields a line a second. */
static void evict(struct rdm_cm_conn *conn)
{
	struct rdm_cm *cm = conn->cm;
	uint64_t now = dofi_now();
	char text[INET6_ADDRSTRLEN];

	cm->evicted++;
	if (now >= cm->evict_log_at) {
		dofi_log(DOFI_LOG_WARN, "too many idle connections: closed %u, the last one from "
			 "%s:%u (process %d), which sent no request for %llu ms", cm->evicted,
			 rdm_cm_addr_text(&conn->peer, text, sizeof(text)),
			 dofi_addr_port(&conn->peer.sa), conn->pid,
			 (unsigned long long)((now - conn->began) / DOFI_MS(1)));
		cm->evicted = 0;
		cm->evict_log_at = now + DOFI_MS(1000);
	}
	turn_away(conn);
}

/* The newcomer stays: whoever has been silent for longest goes. */
static void make_room(struct rdm_cm_conn *newcomer)
{
	struct rdm_cm *cm = newcomer->cm;
	struct rdm_cm_conn *oldest = newcomer;

	if (count_peer(newcomer, &oldest) > RDM_CM_HALF_BURST)
		evict(oldest);
	else if (cm->n_half > RDM_CM_HALF_ALL)
		evict(dofi_container(cm->half.next, struct rdm_cm_conn, link));
}

void rdm_cm_half_tick(struct rdm_cm_conn *conn)
{
	uint64_t patience = DOFI_MS(dofi_param(DOFI_NUM_SILENT_MS));
	char text[INET6_ADDRSTRLEN];

	if (dofi_now() - conn->began < patience) {
		if (younger_ones(conn) <= RDM_CM_HALF_PEER)
			rdm_cm_arm(conn->cm, &conn->timer, conn->began + patience);
		else
			evict(conn);
		return;
	}
	dofi_log(DOFI_LOG_WARN, "closed idle connection from %s:%u (process %d): no request within "
		 "%ld ms (DAPL_OFI_SILENT_MS)",
		 rdm_cm_addr_text(&conn->peer, text, sizeof(text)),
		 dofi_addr_port(&conn->peer.sa), conn->pid, dofi_param(DOFI_NUM_SILENT_MS));
	rdm_cm_kill(conn);
}

static void identify(struct rdm_cm_conn *conn, const struct rdm_cm_listener *l)
{
	struct ucred who = { .pid = -1 };
	socklen_t len = sizeof(conn->local);

	if (!conn->wire->local) {
		rdm_cm_tune(conn->fd);
		getsockname(conn->fd, &conn->local.sa, &len);
		return;
	}
	len = sizeof(who);
	getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &who, &len);
	conn->pid = who.pid;
	conn->local = conn->peer = l->addr;
	dofi_addr_set_port(&conn->peer.sa, 0);
	dofi_log(DOFI_LOG_DEBUG, "process %ld of user %ld connects", (long)who.pid, (long)who.uid);
}

/* Mostly its request has come already. */
static void welcome(struct rdm_cm_listener *l, int fd, const union dofi_addr *peer)
{
	struct rdm_cm *cm = l->cm;
	struct rdm_cm_conn *conn = rdm_cm_conn_new(cm, fd, l->wire, RDM_CM_HALF);
	uint64_t wait;

	if (!conn) {
		dofi_log(DOFI_LOG_ERROR, "no memory for a peer that connects");
		rdm_cm_send_busy(fd, l->wire);
		dofi_forkfd_close(fd);
		return;
	}
	conn->pep = l->pep;
	if (!conn->wire->local)
		conn->peer = *peer;
	identify(conn, l);
	if (rdm_cm_watch(conn, EPOLLIN | EPOLLRDHUP)) {
		dofi_log(DOFI_LOG_WARN, "no memory to wait for the request of a peer");
		turn_away(conn);
		return;
	}
	make_room(conn);
	wait = DOFI_MS(dofi_param(DOFI_NUM_SILENT_MS));
	rdm_cm_arm(cm, &conn->timer, conn->began + (wait < RDM_CM_MOMENT ? wait : RDM_CM_MOMENT));
	rdm_cm_half_ready(conn, EPOLLIN);
}

/* ---------------------------------------------------------------- listeners */

static void listen_events(struct rdm_cm_listener *l, uint32_t events)
{
	struct epoll_event ev = { .events = events };

	ev.data.ptr = &l->source;
	epoll_ctl(l->cm->epfd, EPOLL_CTL_MOD, l->fd, &ev);
}

static void listener_ready(struct rdm_source *source, uint32_t events)
{
	struct rdm_cm_listener *l = dofi_container(source, struct rdm_cm_listener, source);

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		union dofi_addr peer;
		socklen_t len = sizeof(peer);
		int fd;

		memset(&peer, 0, sizeof(peer));
		fd = accept4(l->fd, l->wire->local ? NULL : &peer.sa, &len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			welcome(l, dofi_forkfd(fd), &peer);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			/* They wait in the kernel's queue; looking again at once would spin. */
			dofi_log(DOFI_LOG_WARN, "a peer cannot be let in: %s", strerror(errno));
			listen_events(l, 0);
			rdm_cm_arm(l->cm, &l->timer, dofi_now() + REST);
			return;
		}
		/* Others concern one connection that has gone meanwhile. */
		if (errno == EAGAIN)
			return;
	}
}

static void rested(struct dofi_timer *timer)
{
	listen_events(dofi_container(timer, struct rdm_cm_listener, timer), EPOLLIN);
}

static int start(struct rdm_cm_listener *l)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ret = rdm_cm_timer_init(l->cm, &l->timer, rested);

	if (ret)
		return ret;
	l->fd = rdm_cm_listen_at(l->wire, &l->addr, l->pep->has_qual ? &l->pep->qual : NULL);
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
	rdm_cm_timer_fini(l->cm, &l->timer);
	return ret;
}

void rdm_cm_listener_free(struct rdm_cm_listener *l)
{
	struct dofi_list *lists[] = { &l->cm->half, &l->cm->conns }, *pos, *tmp;

	for (size_t i = 0; i < 2; i++) {
		dofi_list_each_safe(pos, tmp, lists[i]) {
			struct rdm_cm_conn *conn = dofi_container(pos, struct rdm_cm_conn, link);

			if (conn->pep != l->pep)
				continue;
			conn->pep = NULL;
			if (conn->step == RDM_CM_HALF)
				rdm_cm_kill(conn);
		}
	}
	epoll_ctl(l->cm->epfd, EPOLL_CTL_DEL, l->fd, NULL);
	/* A child made by clone(2), for which no handler runs, may have it open still. */
	shutdown(l->fd, SHUT_RDWR);
	dofi_forkfd_close(l->fd);
	rdm_cm_timer_fini(l->cm, &l->timer);
	dofi_list_remove(&l->link);
	dofi_list_remove(&l->pep_link);
	free(l);
}

void rdm_cm_forget_pep(struct rdm_pep *pep)
{
	while (!dofi_list_empty(&pep->listeners))
		rdm_cm_listener_free(dofi_container(pep->listeners.next, struct rdm_cm_listener,
						    pep_link));
}

/* ---------------------------------------------------------------- fi_ops_cm */

static struct rdm_pep *pep_of(struct fid_pep *fid)
{
	return dofi_container(fid, struct rdm_pep, fid);
}

static int listen_on(struct rdm_pep *pep, const struct rdm_wire *wire, const union dofi_addr *addr)
{
	struct rdm_cm *cm = pep->eq->cm;
	struct rdm_cm_listener *l = calloc(1, sizeof(*l));
	int ret;

	if (!l)
		return -FI_ENOMEM;
	l->source.ready = listener_ready;
	l->cm = cm;
	l->pep = pep;
	l->wire = wire;
	l->addr = *addr;
	dofi_addr_set_port(&l->addr.sa, dofi_addr_port(&pep->addr.sa));
	ret = start(l);
	if (ret) {
		free(l);
		return ret;
	}
	dofi_list_append(&cm->listeners, &l->link);
	dofi_list_append(&pep->listeners, &l->pep_link);
	return 0;
}

/* On every wire of the fabric. The network comes first: it knows whether the address is there. */
static int listen_at(struct rdm_pep *pep, const union dofi_addr *addr)
{
	const struct rdm_fabric *fabric = pep->fabric;
	int ret = listen_on(pep, fabric->wire, addr);

	return ret || !fabric->local_wire ? ret : listen_on(pep, fabric->local_wire, addr);
}

static bool has_vanished(int err)
{
	return err == -FI_EADDRNOTAVAIL || err == -FI_ENODEV;
}

/* At all addresses of the interface that the user named, but for those that it has lost. */
static int listen_at_each(struct rdm_pep *pep, const struct dofi_fab *fab)
{
	char text[INET6_ADDRSTRLEN];
	int ret = 0;

	for (size_t i = 0; i < fab->n_addrs; i++) {
		ret = listen_at(pep, &fab->addrs[i]);
		if (ret && !has_vanished(ret))
			return ret;
		if (ret)
			dofi_log(DOFI_LOG_WARN, "does not listen at %s: %s has no such address now",
				 rdm_cm_addr_text(&fab->addrs[i], text, sizeof(text)), fab->netdev);
	}
	return dofi_list_empty(&pep->listeners) ? ret : 0;
}

/* At every address, or at none. */
static int listen_on_all(struct rdm_pep *pep)
{
	const struct dofi_fab *fab = pep->fabric->fab;
	bool each = fab->n_addrs && dofi_addr_same_host(&pep->addr.sa, &fab->addr.sa);
	int ret = each ? listen_at_each(pep, fab) : listen_at(pep, &pep->addr);

	if (ret)
		rdm_cm_forget_pep(pep);
	return ret;
}

/* A port that the kernel picks is free at one address, and may be taken at another or on the other
 * wire. */
static int listen_now(struct rdm_pep *pep)
{
	union dofi_addr wanted = pep->addr;
	int ret = -FI_EADDRINUSE;

	if (!dofi_list_empty(&pep->listeners))
		return -FI_EINVAL;
	for (int i = 0; i < PORT_TRIES && ret == -FI_EADDRINUSE; i++) {
		pep->addr = wanted;
		ret = listen_on_all(pep);
		if (dofi_addr_port(&wanted.sa))
			break;
	}
	if (ret)
		pep->addr = wanted;
	return ret;
}

static int pep_listen(struct fid_pep *fid)
{
	struct rdm_pep *pep = pep_of(fid);
	int ret;

	if (!pep->eq)
		return -FI_ENOEQ;
	pthread_mutex_lock(&pep->eq->lock);
	ret = listen_now(pep);
	pthread_mutex_unlock(&pep->eq->lock);
	return ret;
}

static int pep_reject(struct fid_pep *fid, struct fid *handle, const void *param, size_t len)
{
	struct rdm_pep *pep = pep_of(fid);
	struct rdm_cm_conn *conn;
	int ret = 0;

	if (!handle || handle->fclass != FI_CLASS_CONNREQ || len > RDM_CM_DATA || !pep->eq)
		return -FI_EINVAL;
	conn = conn_of(handle);
	pthread_mutex_lock(&pep->eq->lock);
	if (conn->step != RDM_CM_GIVEN || conn->ep)
		ret = -FI_EINVAL;
	else
		rdm_cm_refuse(conn, param, len);
	pthread_mutex_unlock(&pep->eq->lock);
	return ret;
}

static int pep_getname(struct fid *fid, void *addr, size_t *len)
{
	struct rdm_pep *pep = dofi_container(fid, struct rdm_pep, fid.fid);
	size_t room = *len;

	*len = dofi_addr_len(&pep->addr.sa);
	memcpy(addr, &pep->addr, room < *len ? room : *len);
	return room < *len ? -FI_ETOOSMALL : 0;
}

static int pep_setname(struct fid *fid, void *addr, size_t len)
{
	struct rdm_pep *pep = dofi_container(fid, struct rdm_pep, fid.fid);

	if (!dofi_list_empty(&pep->listeners) || len > sizeof(pep->addr) ||
	    len < sizeof(struct sockaddr_in) || len < dofi_addr_len(addr))
		return -FI_EINVAL;
	memset(&pep->addr, 0, sizeof(pep->addr));
	memcpy(&pep->addr, addr, dofi_addr_len(addr));
	return 0;
}

struct fi_ops_cm rdm_pep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = pep_setname,
	.getname = pep_getname,
	.listen = pep_listen,
	.reject = pep_reject,
};
