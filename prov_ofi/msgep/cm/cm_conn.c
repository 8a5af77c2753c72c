/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection calls of an endpoint, and the handshake. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "fabric/netif.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

/* A listener whose queue is full, that has no room, or for whom enough sockets of ours wait, is
 * tried again after that time (twice as long after each refusal for want of room, up to a limit),
 * and given up after as long a time as the kernel takes for TCP. */
#define REDIAL DOFI_MS(5)
#define REDIAL_DOUBLINGS 4
#define REDIAL_LIMIT DOFI_MS(127000)
/* A listener that makes room resets a connection on which a request has just come, and its word
 * may be lost with it: so many are taken for that. */
#define RESETS 3
static struct rdm_ep *ep_of(struct fid_ep *fid)
{
	return dofi_container(fid, struct rdm_ep, fid);
}

static void set_state(struct rdm_ep *ep, enum rdm_state state)
{
	rdm_lock(&ep->lock);
	atomic_store(&ep->state, state);
	rdm_unlock(&ep->lock);
}

void rdm_cm_fail(struct rdm_cm_conn *conn, int err, const void *data, size_t len)
{
	struct rdm_event event = { .event = 0, .err = err, .fid = &conn->ep->fid.fid };

	set_state(conn->ep, RDM_DOWN);
	rdm_cm_post(conn->ep, &event, data, len);
	rdm_cm_kill(conn);
}

/* No socket leads to the peer. Needs no socket object. */
static void post_unreached(struct rdm_ep *ep, int err)
{
	struct rdm_event event = { .event = 0, .err = err, .prov_errno = err,
				   .fid = &ep->fid.fid };

	set_state(ep, RDM_DOWN);
	rdm_cm_post(ep, &event, NULL, 0);
}

static void fail_unreached(struct rdm_cm_conn *conn, int err)
{
	post_unreached(conn->ep, err);
	rdm_cm_kill(conn);
}

/* ---------------------------------------------------------------- offers */

/* What the wire says about this side, as part of a message. */
static int add_offer(struct rdm_cm_conn *conn, bool active, struct rdm_offer *offer,
		     struct rdm_cm_msg *msg)
{
	int ret;

	offer->len = 0;
	offer->fd = -1;
	ret = conn->wire->offer(conn->ep, active, offer);
	if (ret)
		return ret;
	msg->offer = offer->data;
	msg->offer_len = offer->len;
	msg->has_fd = offer->fd >= 0;
	conn->out_fd = offer->fd;
	return 0;
}

/* What the peer says about its wire. The descriptor is the wire's if it wants it. */
static int adopt(struct rdm_cm_conn *conn, bool active, const struct rdm_cm_msg *msg)
{
	struct rdm_offer offer = { .len = msg->offer_len, .fd = conn->in_fd };
	char text[RDM_CM_PEER_TEXT];
	int ret;

	memcpy(offer.data, msg->offer, msg->offer_len);
	conn->in_fd = -1;
	ret = conn->wire->adopt(conn->ep, active, &offer);
	if (offer.fd >= 0)
		dofi_forkfd_close(offer.fd);
	if (ret)
		dofi_log(DOFI_LOG_WARN, "the parameters of %s cannot be used: %s",
			 rdm_cm_peer_text(conn, text), dofi_lib.strerror(-ret));
	return ret;
}

/* ---------------------------------------------------------------- connecting */

/* The name of this end, which the peer is shown. */
static void name_end(struct rdm_cm_conn *conn)
{
	struct rdm_ep *ep = conn->ep;
	socklen_t len = sizeof(ep->local);

	if (conn->route)
		rdm_cm_name_local(ep, &conn->local);
	else if (conn->wire->local)
		rdm_cm_name_local(ep, &ep->peer);
	else
		getsockname(conn->fd, &ep->local.sa, &len);
}

/* The request goes out. */
static void ask(struct rdm_cm_conn *conn)
{
	struct rdm_cm_msg msg = { .kind = RDM_CM_REQUEST, .wire = conn->wire->id,
				  .data = conn->bufs->param, .data_len = conn->bufs->param_len,
				  .to = conn->peer };
	struct rdm_offer offer;
	int ret = add_offer(conn, true, &offer, &msg);

	if (!ret && msg.has_fd && !conn->wire->local)
		ret = -EPROTO;
	if (ret) {
		rdm_cm_fail(conn, -ret, NULL, 0);
		return;
	}
	name_end(conn);
	msg.port = dofi_addr_port(&conn->ep->local.sa);
	if (!rdm_cm_pack(conn, &msg)) {
		rdm_cm_fail(conn, ENOMEM, NULL, 0);
		return;
	}
	rdm_cm_step(conn, RDM_CM_ASKING);
	ret = rdm_cm_send(conn);
	/* A listener that refuses may have said so before it closed: that is read first. */
	ret = rdm_cm_watch(conn, EPOLLIN | EPOLLRDHUP | (ret ? 0 : EPOLLOUT));
	if (ret)
		rdm_cm_fail(conn, -ret, NULL, 0);
}

/* The socket is connected. */
static void greet(struct rdm_cm_conn *conn)
{
	struct rdm_cm_msg msg = { .kind = RDM_CM_HELLO, .wire = conn->wire->id,
				  .offer = conn->bufs->nonces, .offer_len = RDM_CM_NONCE };

	conn->active = true;
	if (!conn->cm->secret || conn->route) {
		ask(conn);
		return;
	}
	rdm_cm_step(conn, RDM_CM_GREETING);
	if (!rdm_secret_nonce(conn->bufs->nonces) || !rdm_cm_pack(conn, &msg) ||
	    rdm_cm_watch(conn, EPOLLIN | EPOLLRDHUP | (rdm_cm_send(conn) ? 0 : EPOLLOUT)))
		rdm_cm_fail(conn, ENOMEM, NULL, 0);
}

static void take_challenge(struct rdm_cm_conn *conn)
{
	struct rdm_cm_msg msg;
	int ret = rdm_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg);

	if (!ret && msg.kind == RDM_CM_CHALLENGE)
		memcpy(conn->bufs->nonces + RDM_CM_NONCE, msg.offer, RDM_CM_NONCE);
	if (!ret)
		ret = rdm_cm_unpack(conn, &msg);
	if (ret || msg.kind != RDM_CM_CHALLENGE) {
		rdm_cm_fail(conn, ret ? -ret : EPROTO, NULL, 0);
		return;
	}
	conn->bufs->in.have = 0;
	ask(conn);
}

static void accepted(struct rdm_cm_conn *conn, const struct rdm_cm_msg *msg)
{
	uint8_t data[RDM_CM_DATA];
	size_t len = msg->data_len;
	int ret;

	memcpy(data, msg->data, len);
	ret = adopt(conn, true, msg);
	if (ret) {
		rdm_cm_fail(conn, -ret, NULL, 0);
		return;
	}
	if (conn->wire->learn && !conn->route)
		conn->wire->learn(conn->ep, &conn->peer, &conn->ep->local);
	rdm_cm_prove(conn, data, len);
}

static void take_answer(struct rdm_cm_conn *conn)
{
	struct rdm_cm_msg msg;
	int ret = rdm_cm_unpack(conn, &msg);

	if (!ret && msg.kind == RDM_CM_ACCEPT && msg.wire == conn->wire->id)
		accepted(conn, &msg);
	else if (!ret && msg.kind == RDM_CM_REJECT)
		rdm_cm_fail(conn, ECONNREFUSED, msg.data, msg.data_len);
	else
		rdm_cm_fail(conn, ret ? -ret : EPROTO, NULL, 0);
}

/* The listener has no room: the attempt begins again, with a socket of its own. */
static void try_again(struct rdm_cm_conn *conn)
{
	unsigned int doublings = conn->redials < REDIAL_DOUBLINGS ? conn->redials
								  : REDIAL_DOUBLINGS;
	struct rdm_ep *ep = conn->ep;

	rdm_cm_close_socket(conn);
	rdm_cm_close_offered(conn);
	if (conn->in_fd >= 0)
		dofi_forkfd_close(conn->in_fd);
	conn->in_fd = -1;
	conn->bufs->in.have = 0;
	conn->route = 0;
	conn->bufs->out_len = conn->bufs->out_done = 0;
	if (ep->w.any)
		ep->wire->close(ep);
	conn->redials++;
	rdm_cm_step(conn, RDM_CM_DIALLING);
	rdm_cm_arm(conn->cm, &conn->timer, dofi_now() + (REDIAL << doublings));
}

void rdm_cm_take_answer(struct rdm_cm_conn *conn, bool again)
{
	if (again)
		try_again(conn);
	else
		take_answer(conn);
}

static bool is_busy(const struct rdm_cm_conn *conn)
{
	struct rdm_cm_msg msg;

	return !rdm_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg) && msg.kind == RDM_CM_BUSY;
}

/* Or greeting. */
static void asking_ready(struct rdm_cm_conn *conn, uint32_t events)
{
	int ret;

	if ((events & EPOLLOUT) && rdm_cm_send(conn))
		rdm_cm_watch(conn, EPOLLIN | EPOLLRDHUP);
	ret = rdm_cm_recv(conn, false);
	if (ret > 0) {
		if (is_busy(conn))
			try_again(conn);
		else if (conn->step == RDM_CM_GREETING)
			take_challenge(conn);
		else
			take_answer(conn);
		return;
	}
	if (!ret || ret == -EINTR)
		return;
	if (ret == -ECONNRESET && !conn->bufs->in.have && conn->resets++ < RESETS) {
		try_again(conn);
		return;
	}
	if (ret == -EPROTO || ret == -EBADMSG || ret == -EPROTONOSUPPORT)
		dofi_log(DOFI_LOG_INFO, "the answer to a connection request is malformed, or of "
			 "another library");
	rdm_cm_fail(conn, ret == -EPIPE ? ECONNRESET : -ret, NULL, 0);
}

static void dialling_ready(struct rdm_cm_conn *conn)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	if (err)
		fail_unreached(conn, err);
	else
		greet(conn);
}

/* The socket is connected, or will be; or none is needed. */
static void reached(struct rdm_cm_conn *conn, const struct rdm_cm_way *way)
{
	conn->fd = way->fd;
	conn->route = way->route;
	conn->local = way->local;
	conn->domain = conn->ep->domain;
	if (way->route) {
		greet(conn);
		return;
	}
	name_end(conn);
	if (way->done)
		greet(conn);
	else if (rdm_cm_watch(conn, EPOLLOUT))
		rdm_cm_fail(conn, ENOMEM, NULL, 0);
}

static void redial(struct rdm_cm_conn *conn)
{
	uint64_t now = dofi_now();
	struct rdm_cm_way way;
	int ret = rdm_cm_reach(conn->ep, &conn->peer, conn->began, &way);

	conn->wire = conn->ep->wire;
	if (ret == -EAGAIN && now - conn->began < REDIAL_LIMIT)
		rdm_cm_arm(conn->cm, &conn->timer, now + REDIAL);
	else if (ret)
		fail_unreached(conn, ret == -EAGAIN ? ETIMEDOUT : -ret);
	else
		reached(conn, &way);
}

static int start(struct rdm_ep *ep, const union dofi_addr *to, const void *param, size_t len)
{
	struct rdm_cm_conn *conn;
	struct rdm_cm_way way;
	int ret = rdm_cm_reach(ep, to, dofi_now(), &way);

	if (ep->wire->local)
		rdm_cm_name_local(ep, to);
	if (ret && ret != -EAGAIN) {
		if (ret != -ECONNREFUSED && (!ep->wire->local || ret != -EHOSTUNREACH))
			return ret;
		post_unreached(ep, -ret);
		return 0;
	}
	conn = rdm_cm_conn_new(ep->eq->cm, way.fd, ep->wire, RDM_CM_DIALLING);
	if (!conn) {
		if (way.fd >= 0)
			dofi_forkfd_close(way.fd);
		return -ENOMEM;
	}
	conn->ep = ep;
	conn->peer = ep->peer = *to;
	conn->bufs->param_len = (uint16_t)len;
	if (len)
		memcpy(conn->bufs->param, param, len);
	ep->cm = conn;
	set_state(ep, RDM_CONNECTING);
	if (ret)
		rdm_cm_arm(conn->cm, &conn->timer, conn->began + REDIAL);
	else
		reached(conn, &way);
	return 0;
}

static int ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct rdm_ep *ep = ep_of(fid);
	const struct sockaddr *sa = addr;
	union dofi_addr to;
	int ret = -FI_EINVAL;

	if (!ep->eq)
		return -FI_ENOEQ;
	if (!sa || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6) || len > RDM_CM_DATA)
		return -FI_EINVAL;
	memset(&to, 0, sizeof(to));
	memcpy(&to, sa, dofi_addr_len(sa));
	dofi_netif_set_scope(ep->domain->fabric->fab, &to);
	pthread_mutex_lock(&ep->eq->lock);
	if (!ep->cm && atomic_load(&ep->state) == RDM_NEW)
		ret = rdm_cm_reserve(ep);
	if (!ret)
		ret = rdm_inbox_attach(ep->domain, ep->eq);
	if (!ret)
		ret = start(ep, &to, param, len);
	pthread_mutex_unlock(&ep->eq->lock);
	return ret;
}

/* ---------------------------------------------------------------- accepting */

/* Has the client closed its socket, or reset the connection? Until it has its answer it does not end
 * its direction alone. */
static bool client_gone(const struct rdm_cm_conn *conn)
{
	struct pollfd pfd = { .fd = conn->fd, .events = POLLRDHUP };

	if (conn->route)
		return conn->gone;
	return poll(&pfd, 1, 0) > 0;
}

/* Sends what remains of the answer. What cannot be sent completes no connection. */
static void send_answer(struct rdm_cm_conn *conn)
{
	int ret = rdm_cm_send(conn);

	if (ret < 0)
		rdm_cm_fail(conn, -ret, NULL, 0);
	else if (ret)
		rdm_cm_prove(conn, NULL, 0);
}

static int answer(struct rdm_cm_conn *conn, const void *param, size_t len)
{
	struct rdm_cm_msg request, msg = { .kind = RDM_CM_ACCEPT, .wire = conn->wire->id,
					   .data = param, .data_len = (uint16_t)len };
	struct rdm_offer offer;
	int ret = rdm_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &request);

	if (!ret)
		ret = adopt(conn, false, &request);
	if (!ret)
		ret = add_offer(conn, false, &offer, &msg);
	if (!ret && msg.has_fd && !conn->wire->local)
		ret = -EPROTO;
	if (!ret && !rdm_cm_pack(conn, &msg))
		ret = -ENOMEM;
	if (ret) {
		set_state(conn->ep, RDM_DOWN);
		rdm_cm_refuse(conn, NULL, 0);
		return ret;
	}
	conn->bufs->in.have = 0;
	set_state(conn->ep, RDM_CONNECTING);
	rdm_cm_step(conn, RDM_CM_ANSWERING);
	send_answer(conn);
	return 0;
}

static int ep_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct rdm_ep *ep = ep_of(fid);
	struct rdm_cm_conn *conn;
	int ret;

	if (!ep->eq)
		return -FI_ENOEQ;
	if (len > RDM_CM_DATA)
		return -FI_EINVAL;
	pthread_mutex_lock(&ep->eq->lock);
	conn = ep->cm;
	ret = conn && conn->step == RDM_CM_GIVEN && !conn->decided && conn->cm->eq == ep->eq
		? rdm_cm_reserve(ep) : -FI_EINVAL;
	if (!ret)
		ret = rdm_inbox_attach(ep->domain, ep->eq);
	if (!ret)
		ret = rdm_cm_watch(conn, EPOLLOUT);
	if (!ret) {
		conn->decided = true;
		if (client_gone(conn))
			rdm_cm_fail(conn, ECONNRESET, NULL, 0);
		else
			ret = answer(conn, param, len);
	}
	pthread_mutex_unlock(&ep->eq->lock);
	return ret;
}

/* ---------------------------------------------------------------- progress */

static void bye_ready(struct rdm_cm_conn *conn)
{
	if (!rdm_cm_send(conn))
		return;
	conn->bufs->out_done = conn->bufs->out_len;
	shutdown(conn->fd, SHUT_WR);
	rdm_cm_watch(conn, 0);
}

/* The endpoint has gone; the peer takes its time. */
static void lingering_ready(struct rdm_cm_conn *conn, uint32_t events)
{
	if ((events & EPOLLOUT) && conn->bufs->out_done < conn->bufs->out_len && rdm_cm_send(conn)) {
		conn->bufs->out_done = conn->bufs->out_len;
		shutdown(conn->fd, SHUT_WR);
		rdm_cm_watch(conn, EPOLLIN | EPOLLRDHUP);
	}
	if (!rdm_cm_discard(conn->fd))
		rdm_cm_kill(conn);
}

void rdm_cm_conn_ready(struct rdm_cm_conn *conn, uint32_t events)
{
	switch (conn->step) {
	case RDM_CM_DIALLING:
		dialling_ready(conn);
		break;
	case RDM_CM_GREETING:
	case RDM_CM_ASKING:
		asking_ready(conn, events);
		break;
	case RDM_CM_ANSWERING:
		send_answer(conn);
		break;
	case RDM_CM_PROVING:
		rdm_cm_proving_ready(conn);
		break;
	case RDM_CM_LIVE:
		if (conn->wire->counts || conn->wire->tell)
			rdm_cm_live_ready(conn);
		else
			rdm_cm_peer_end(conn);
		break;
	case RDM_CM_ENDED:
		bye_ready(conn);
		break;
	case RDM_CM_LINGERING:
		lingering_ready(conn, events);
		break;
	default:
		/* An event that was on its way when it was no longer wanted. */
		break;
	}
}

void rdm_cm_conn_tick(struct rdm_cm_conn *conn)
{
	/* Ends that are held back are looked at after the timers: it was for the wake-up. */
	if (conn->step == RDM_CM_DIALLING)
		redial(conn);
	else if (conn->step == RDM_CM_PROVING)
		rdm_cm_prove_tick(conn);
}

/* ---------------------------------------------------------------- ending */

static int shut_down(struct rdm_ep *ep)
{
	struct rdm_event event = { .event = FI_SHUTDOWN, .fid = &ep->fid.fid };
	struct rdm_cm_conn *conn = ep->cm;

	if (!conn)
		return atomic_load(&ep->state) == RDM_DOWN ? 0 : -FI_ENOTCONN;
	switch (conn->step) {
	case RDM_CM_DIALLING:
	case RDM_CM_GREETING:
	case RDM_CM_ASKING:
	case RDM_CM_ANSWERING:
	case RDM_CM_PROVING:
		rdm_cm_unproved(conn);
		set_state(ep, RDM_DOWN);
		rdm_cm_kill(conn);
		break;
	case RDM_CM_LIVE:
	case RDM_CM_ENDING:
		rdm_cm_say_bye(conn);
		break;
	case RDM_CM_ENDED:
		return 0;
	default:
		return -FI_ENOTCONN;
	}
	rdm_cm_post(ep, &event, NULL, 0);
	return 0;
}

static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct rdm_ep *ep = ep_of(fid);
	int ret;

	(void)flags;
	if (!ep->eq)
		return -FI_ENOEQ;
	pthread_mutex_lock(&ep->eq->lock);
	ret = shut_down(ep);
	pthread_mutex_unlock(&ep->eq->lock);
	return ret;
}

void rdm_cm_forget(struct rdm_ep *ep)
{
	struct rdm_cm_conn *conn = ep->cm;

	rdm_cm_unreserve(ep);
	if (!conn)
		return;
	switch (conn->step) {
	case RDM_CM_GIVEN:
		/* Never accepted: somebody else may still do so, or refuse it. */
		conn->ep = NULL;
		ep->cm = NULL;
		break;
	case RDM_CM_LIVE:
	case RDM_CM_ENDING:
		rdm_cm_say_bye(conn);
		rdm_cm_linger(conn);
		break;
	case RDM_CM_ENDED:
		rdm_cm_linger(conn);
		break;
	case RDM_CM_PROVING:
		/* Given up, or its time is up. */
		rdm_cm_unproved(conn);
		rdm_cm_kill(conn);
		break;
	default:
		rdm_cm_kill(conn);
		break;
	}
}

/* ---------------------------------------------------------------- names */

static int give_name(const union dofi_addr *from, void *addr, size_t *len)
{
	size_t room = *len;

	*len = dofi_addr_len(&from->sa);
	memcpy(addr, from, room < *len ? room : *len);
	return room < *len ? -FI_ETOOSMALL : 0;
}

static int ep_getname(struct fid *fid, void *addr, size_t *len)
{
	const struct rdm_ep *ep = dofi_container(fid, struct rdm_ep, fid.fid);

	return give_name(ep->local.sa.sa_family ? &ep->local : &ep->domain->fabric->fab->addr, addr,
			 len);
}

static int ep_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	const struct rdm_ep *ep = ep_of(fid);

	return ep->peer.sa.sa_family ? give_name(&ep->peer, addr, len) : -FI_ENOTCONN;
}

struct fi_ops_cm rdm_ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = ep_getname,
	.getpeer = ep_getpeer,
	.connect = ep_connect,
	.accept = ep_accept,
	.shutdown = ep_shutdown,
};
