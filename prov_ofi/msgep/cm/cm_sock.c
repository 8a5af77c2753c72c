/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates, names, reads and writes the sockets of the connection manager. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "base/be_bytes.h"
#include "msgep/cm/cm_int.h"

#define BACKLOG 4096
/* Range of ports from which one is chosen when none is requested. */
#define FREE_PORT 32768
#define FREE_PORTS 28232
#define TRIES 256
/* Reads per call, so that a peer that keeps sending doorbells does not block the caller. */
#define READS 64

/* True if a socket can bind to the address: normally only if it belongs to this host. */
static bool cm_is_here(const union dofi_addr *addr)
{
	union dofi_addr probe = *addr;
	int fd = socket(addr->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool here;

	if (fd < 0)
		return false;
	dofi_addr_set_port(&probe.sa, 0);
	here = !bind(fd, &probe.sa, (socklen_t)dofi_addr_len(&probe.sa));
	close(fd);
	return here;
}

/* With ip_nonlocal_bind a socket can also bind to addresses of other hosts, which must not be
 * mistaken for local ones: check the interfaces, too. */
bool msgep_cm_is_here(const union dofi_addr *addr)
{
	struct ifaddrs *all;
	bool here = false;

	if (dofi_addr_is_loopback(addr))
		return true;
	if (!cm_is_here(addr) || getifaddrs(&all))
		return false;
	for (const struct ifaddrs *ifa = all; ifa && !here; ifa = ifa->ifa_next)
		here = ifa->ifa_addr && dofi_addr_same_host(ifa->ifa_addr, &addr->sa);
	freeifaddrs(all);
	return here;
}

/* Abstract: the first byte is 0. A link-local address has its interface's number; a qualifier that
 * differs from the port follows it. Returns the length of the name. */
static socklen_t cm_make_name(const struct msgep_transport *transport, const union dofi_addr *addr,
			      bool any, const uint64_t *qual, struct sockaddr_un *un)
{
	char text[INET6_ADDRSTRLEN], scope[16] = "", more[24] = "";
	int n;

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	if (qual && *qual != dofi_addr_port(&addr->sa))
		snprintf(more, sizeof(more), "+%" PRIx64, *qual);
	if (!any && addr->sa.sa_family == AF_INET6 && addr->in6.sin6_scope_id)
		snprintf(scope, sizeof(scope), "%%%u", addr->in6.sin6_scope_id);
	n = snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, "dat-ofi.%s.%s%s.%u%s",
		     transport->name, any ? "any" : msgep_cm_addr_text(addr, text, sizeof(text)),
		     scope, dofi_addr_port(&addr->sa), more);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int cm_new_socket(int family)
{
	int fd = dofi_forkfd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));

	return fd < 0 ? -errno : fd;
}

/* ---------------------------------------------------------------- connecting */

static int cm_connect_local(const struct msgep_transport *transport, const union dofi_addr *to,
			    bool any, const uint64_t *qual, enum msgep_cm_proof proof)
{
	struct sockaddr_un un;
	socklen_t len = cm_make_name(transport, to, any, qual, &un);
	int fd = cm_new_socket(AF_UNIX), ret;

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&un, len))
		ret = -errno;
	else
		ret = msgep_cm_peer_trusted(fd, to, proof) ? 0 : -EACCES;
	if (!ret)
		return fd;
	dofi_forkfd_close(fd);
	return ret;
}

/* True for a multicast or reserved (240.0.0.0/4) address. */
static bool cm_no_host(const union dofi_addr *to)
{
	if (to->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_MULTICAST(&to->in6.sin6_addr);
	return ntohl(to->in.sin_addr.s_addr) >> 28 >= 14;
}

static bool cm_none_there(int fd)
{
	return fd == -ECONNREFUSED || fd == -EACCES;
}

/* An untrusted listener at this address must not hide one that listens at all addresses. */
static int cm_dial_name(const struct msgep_transport *transport, const union dofi_addr *to,
			const uint64_t *qual, enum msgep_cm_proof proof)
{
	int fd = cm_connect_local(transport, to, false, qual, proof), any;

	if (!cm_none_there(fd))
		return fd;
	if (!cm_is_here(to))
		return cm_no_host(to) ? -ENETUNREACH : -EHOSTUNREACH;
	any = cm_connect_local(transport, to, true, qual, proof);
	return any == -ECONNREFUSED ? fd : any;
}

/* Prefers a listener for that qualifier to one for all qualifiers of the port (of a fabric that
 * also has a network, whose names contain only ports). */
int msgep_cm_dial_local(const struct msgep_transport *transport, const union dofi_addr *to,
			const uint64_t *qual, enum msgep_cm_proof proof)
{
	int fd = cm_dial_name(transport, to, qual, proof), shared;

	if (!cm_none_there(fd) || !qual || *qual == dofi_addr_port(&to->sa))
		return fd;
	shared = cm_dial_name(transport, to, NULL, proof);
	return shared == -ECONNREFUSED ? fd : shared;
}

void msgep_cm_keep_alive(int fd)
{
	int seconds = (int)dofi_param(DOFI_NUM_KEEPALIVE_S);
	int on = 1, probes = 3, interval = seconds / 3 > 0 ? seconds / 3 : 1;

	if (!seconds)
		return;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

void msgep_cm_tune(int fd)
{
	unsigned int give_up = (unsigned int)dofi_param(DOFI_NUM_KEEPALIVE_S) * 2000u;
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	msgep_cm_keep_alive(fd);
	/* Not for libfabric's endpoints: it would end a connection to a stopped program, whose
	 * host acknowledges probes but receives no data. */
	if (give_up)
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &give_up, sizeof(give_up));
}

int msgep_cm_dial(const union dofi_addr *source, const union dofi_addr *to, uint8_t dscp,
		  bool *done)
{
	int fd = cm_new_socket(to->sa.sa_family), ret = 0;

	if (fd < 0)
		return fd;
	msgep_cm_tune(fd);
	if (dscp)
		dofi_sock_set_dscp(fd, dscp);
	*done = false;
	if (source && bind(fd, &source->sa, (socklen_t)dofi_addr_len(&source->sa)))
		ret = -errno;
	else if (connect(fd, &to->sa, (socklen_t)dofi_addr_len(&to->sa)))
		ret = errno == EINPROGRESS ? 0 : -errno;
	else
		*done = true;
	if (!ret)
		return fd;
	dofi_forkfd_close(fd);
	/* Exhausted local ports: retrying does not help. */
	return ret == -EAGAIN ? -EADDRNOTAVAIL : ret;
}

/* ---------------------------------------------------------------- listening */

static int cm_bind_local(int fd, const struct msgep_transport *transport,
			 const union dofi_addr *addr, const uint64_t *qual)
{
	struct sockaddr_un un;
	socklen_t len = cm_make_name(transport, addr, dofi_addr_is_any(addr), qual, &un);

	return bind(fd, (struct sockaddr *)&un, len) ? -errno : 0;
}

static int cm_bind_local_anywhere(int fd, const struct msgep_transport *transport,
				  union dofi_addr *addr)
{
	int ret = -EADDRINUSE;
	uint16_t number = 0;

	for (int i = 0; i < TRIES && ret == -EADDRINUSE; i++) {
		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
			number = (uint16_t)(dofi_now() / 1000 + (unsigned int)i);
		dofi_addr_set_port(&addr->sa, (uint16_t)(FREE_PORT + number % FREE_PORTS));
		ret = cm_bind_local(fd, transport, addr, NULL);
	}
	if (ret)
		dofi_addr_set_port(&addr->sa, 0);
	return ret;
}

static int cm_bind_tcp(int fd, union dofi_addr *addr)
{
	socklen_t len = (socklen_t)dofi_addr_len(&addr->sa);
	int on = 1;

	/* Connections of a former listener in TIME_WAIT must not block the port. */
	if (dofi_addr_port(&addr->sa))
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &addr->sa, len) || getsockname(fd, &addr->sa, &len))
		return -errno;
	return 0;
}

int msgep_cm_listen_at(const struct msgep_transport *transport, union dofi_addr *addr,
		       const uint64_t *qual)
{
	int fd = cm_new_socket(transport->local ? AF_UNIX : addr->sa.sa_family), ret;

	if (fd < 0)
		return fd;
	if (!transport->local)
		ret = cm_bind_tcp(fd, addr);
	else if (dofi_addr_port(&addr->sa))
		ret = cm_bind_local(fd, transport, addr, qual);
	else
		ret = cm_bind_local_anywhere(fd, transport, addr);
	if (!ret && listen(fd, BACKLOG))
		ret = -errno;
	if (!ret)
		return fd;
	dofi_forkfd_close(fd);
	return ret;
}

/* ---------------------------------------------------------------- sending */

int msgep_cm_send(struct msgep_cm_conn *conn)
{
	struct msgep_cm_bufs *bufs = conn->bufs;
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;

	if (conn->route)
		return msgep_cm_send_routed(conn);
	while (bufs->out_done < bufs->out_len) {
		struct iovec iov = { bufs->out + bufs->out_done, bufs->out_len - bufs->out_done };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n;

		if (conn->out_fd >= 0) {
			struct cmsghdr *c;

			memset(&control, 0, sizeof(control));
			msg.msg_control = &control;
			msg.msg_controllen = sizeof(control);
			c = CMSG_FIRSTHDR(&msg);
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(c), &conn->out_fd, sizeof(int));
		}
		n = sendmsg(conn->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == ENOBUFS ? 0 : -errno;
		bufs->out_done += (size_t)n;
		msgep_cm_close_out_fd(conn);
	}
	return 1;
}

/* ---------------------------------------------------------------- receiving */

/* Keeps the first descriptor, closes all others. Returns 0, or negative: several were received, or
 * the kernel has dropped one, because this process may have no more. */
static int cm_take_fds(struct msgep_cm_conn *conn, struct msghdr *msg)
{
	bool truncated = msg->msg_flags & MSG_CTRUNC, none = conn->in_fd < 0, good = !truncated;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			dofi_forkfd(fd);
			none = false;
			if (conn->in_fd < 0) {
				conn->in_fd = fd;
			} else {
				dofi_forkfd_close(fd);
				good = false;
			}
		}
	}
	if (truncated && none)
		return -EMFILE;
	return good ? 0 : -EBADMSG;
}

/* Reads at most `want` bytes. Outside the handshake the kernel discards descriptors, because no
 * control buffer is passed. Returns like recv, with -errno. */
static ssize_t cm_receive(struct msgep_cm_conn *conn, uint8_t *buf, size_t want, bool handshake)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { buf, want };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;
	int ret = 0;

	if (handshake && conn->transport->local) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	do {
		n = recvmsg(conn->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (msg.msg_control)
		ret = cm_take_fds(conn, &msg);
	return ret ? ret : n;
}

/* Checks that a descriptor was received exactly if the message announces one. */
static int cm_check_fd(const struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg;
	int ret = msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg);

	if (ret)
		return ret;
	return msg.has_fd == (conn->in_fd >= 0) ? 1 : -EBADMSG;
}

int msgep_cm_recv(struct msgep_cm_conn *conn, bool doorbells)
{
	for (int i = 0; i < READS; i++) {
		size_t want = msgep_cm_reader_wants(&conn->bufs->in);
		ssize_t n;
		int ret;

		if (!want)
			return 1;
		n = cm_receive(conn, conn->bufs->in.buf + conn->bufs->in.have, want, !doorbells);
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ? (int)n : -EPIPE;
		ret = msgep_cm_reader_add(&conn->bufs->in, (size_t)n, doorbells);
		if (ret > 0)
			return doorbells ? 1 : cm_check_fd(conn);
		if (ret)
			return ret;
	}
	return -EINTR;
}

void msgep_cm_send_busy(int fd, const struct msgep_transport *transport)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_BUSY, .transport = transport->id };
	uint8_t buf[MSGEP_CM_MAX];

	/* Nothing was sent before, so the message fits; failure means that the client has gone. */
	(void)!send(fd, buf, msgep_cm_build(buf, &msg), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool msgep_cm_pack(struct msgep_cm_conn *conn, struct msgep_cm_msg *msg)
{
	struct msgep_cm_bufs *bufs = conn->bufs;
	size_t len;

	msg->sealed = conn->cm->secret && !conn->route && msg->kind != MSGEP_CM_HELLO;
	bufs->out_len = msgep_cm_build(bufs->out, msg);
	bufs->out_done = 0;
	if (!msg->sealed)
		return true;
	len = bufs->out_len - MSGEP_CM_MAC;
	return msgep_secret_seal(conn->cm->secret, conn->active ? 'C' : 'L', bufs->nonces,
				 bufs->out, len, bufs->out + len);
}

int msgep_cm_unpack(struct msgep_cm_conn *conn, struct msgep_cm_msg *msg)
{
	const struct msgep_secret *secret = conn->cm->secret;
	const struct msgep_cm_bufs *bufs = conn->bufs;
	int ret = msgep_cm_parse(bufs->in.buf, bufs->in.have, msg);
	size_t len = bufs->in.have - MSGEP_CM_MAC;
	char text[MSGEP_CM_PEER_TEXT];

	/* The peer of a route has been authenticated already. */
	if (ret || (!msg->sealed && (!secret || conn->fd < 0)))
		return ret;
	if (!secret)
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: it expects a secret; try: the same "
			 "DAPL_OFI_CM_SECRET_FILE here",
			 msgep_cm_peer_text(conn, text));
	else if (!msg->sealed)
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: it has no secret; try: the same "
			 "DAPL_OFI_CM_SECRET_FILE there",
			 msgep_cm_peer_text(conn, text));
	else if (!msgep_secret_verify(secret, conn->active ? 'L' : 'C', bufs->nonces, bufs->in.buf,
				      len, msg->mac))
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: it has another secret; try: the same "
			 "DAPL_OFI_CM_SECRET_FILE at both sides",
			 msgep_cm_peer_text(conn, text));
	else
		return 0;
	return -EACCES;
}

bool msgep_cm_discard(int fd)
{
	char bin[4096];

	for (int i = 0; i < 64; i++) {
		ssize_t n = recv(fd, bin, sizeof(bin), MSG_DONTWAIT);

		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		if (n < 0 && errno == EAGAIN)
			break;
	}
	return true;
}

bool msgep_cm_same_peer(const struct msgep_cm_conn *a, const union dofi_addr *peer, int32_t pid)
{
	if (a->transport->local)
		return a->pid == pid;
	return dofi_addr_same_host(&a->peer.sa, &peer->sa);
}

int msgep_cm_own_peer(struct msgep_ep *ep)
{
	const struct msgep_cm_conn *conn = ep->cm;
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (!conn || getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
	    cred.uid != geteuid())
		return 0;
	return cred.pid;
}

int msgep_cm_client_pid(const struct msgep_ep *ep)
{
	const struct msgep_cm_conn *conn = ep->cm;

	return conn && !conn->active && conn->pid > 0 ? conn->pid : 0;
}
