/* SPDX-License-Identifier: BSD-2-Clause */
/* Listens for the sockets of software atomic operations, and assigns them to connections. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/port_range.h"
#include "cm/amo_listen.h"
#include "data/amo.h"
#include "msgep/cm/cm.h"
#include "object/progress_key.h"

#define BACKLOG 128
/* Accepted per round. */
#define ACCEPTS 16
/* Seconds after which the kernel drops a connection that sends nothing. The IA accepts those that
 * have sent HELLO only, so that others occupy none of its descriptors. */
#define SILENT_S 10

int dofi_amo_open(struct dofi_ia *ia)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ia->amo.on = ia->fab.software_atomics;
	if (!ia->amo.on)
		return 0;
	ia->amo.epfd = dofi_forkfd(epoll_create1(EPOLL_CLOEXEC));
	if (ia->amo.epfd < 0)
		return -errno;
	ev.data.u64 = dofi_progress_key(NULL, DOFI_KEY_AMO);
	ia->amo.armed = true;
	return epoll_ctl(ia->prog.epfd, EPOLL_CTL_ADD, ia->amo.epfd, &ev) ? -errno : 0;
}

void dofi_amo_close(struct dofi_ia *ia)
{
	if (ia->amo.listen_fd >= 0)
		dofi_forkfd_close(ia->amo.listen_fd);
	if (ia->amo.epfd >= 0)
		dofi_forkfd_close(ia->amo.epfd);
	ia->amo.listen_fd = ia->amo.epfd = -1;
	ia->amo.port = 0;
}

/* Binds the socket to a port of the library's choice. */
static int amo_bind(int fd, union dofi_addr *addr)
{
	struct dofi_ports ports;
	int ret = -EADDRINUSE;
	uint16_t port;

	dofi_ports_begin(&ports);
	while (dofi_ports_is_taken(ret) && dofi_ports_next(&ports, &port)) {
		dofi_addr_set_port(&addr->sa, port);
		ret = bind(fd, &addr->sa, (socklen_t)dofi_addr_len(&addr->sa)) ||
				      listen(fd, BACKLOG)
			      ? -errno
			      : 0;
	}
	return ret;
}

static int amo_listen(struct dofi_ia *ia, union dofi_addr *addr)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = dofi_forkfd(
		socket(addr->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	socklen_t len = sizeof(*addr);
	int ret;

	if (fd < 0)
		return -errno;
	dofi_sock_defer_accept(fd, SILENT_S);
	ret = amo_bind(fd, addr);
	ev.data.u64 = dofi_progress_key(NULL, DOFI_KEY_AMO_LISTENER);
	if (!ret &&
	    (getsockname(fd, &addr->sa, &len) || epoll_ctl(ia->prog.epfd, EPOLL_CTL_ADD, fd, &ev)))
		ret = -errno;
	if (ret) {
		dofi_forkfd_close(fd);
		return ret;
	}
	return fd;
}

uint16_t dofi_amo_port(struct dofi_ia *ia)
{
	union dofi_addr addr = ia->fab.addr;
	int fd;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	if (!ia->amo.on || ia->amo.listen_fd >= 0)
		return ia->amo.port;
	/* Peers may use any address of the host unless the user named one. */
	if (!ia->fab.addr_named)
		dofi_addr_set_any(&addr);
	fd = amo_listen(ia, &addr);
	if (fd < 0) {
		dofi_log(DOFI_LOG_WARN, "no port for atomic operations of peers: %s",
			 strerror(-fd));
		return 0;
	}
	ia->amo.listen_fd = fd;
	ia->amo.port = dofi_addr_port(&addr.sa);
	return ia->amo.port;
}

uint64_t dofi_amo_new_token(const struct dofi_ia *ia)
{
	uint64_t token;

	if (!ia->amo.on || getrandom(&token, sizeof(token), 0) != (ssize_t)sizeof(token))
		return 0;
	return token;
}

void dofi_amo_accepted(struct dofi_ep *ep, const struct dofi_cr *cr)
{
	const struct dofi_fab *fab = &ep->obj.ia->fab;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!ep->amo.on)
		return;
	ep->amo.refused = false;
	ep->amo.port = cr->msg.amo_port;
	ep->amo.token = cr->seal.on ? dofi_seal_token(&cr->seal, fab->secret) : cr->msg.amo_token;
}

/* The EP whose connection the socket belongs to; NULL: none. */
static struct dofi_ep *amo_find_ep(struct dofi_ia *ia, bool from_active, uint64_t token,
				   const union dofi_addr *from)
{
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	dofi_list_each(pos, &ia->conns)
	{
		struct dofi_ep *ep = dofi_container(pos, struct dofi_conn, link)->ep;

		if (ep && ep->conn && ep->amo.token == token && ep->active != from_active &&
		    !atomic_load(&ep->amo.refused) &&
		    dofi_addr_same_host(&ep->remote.sa, &from->sa))
			return ep;
	}
	return NULL;
}

/* Reads HELLO, which is the beginning of the first segment. */
static bool amo_admit(struct dofi_ia *ia, int fd, const union dofi_addr *from)
{
	uint8_t hello[DOFI_AMO_HELLO];
	struct dofi_ep *ep = NULL;
	uint64_t token;
	bool active;

	if (recv(fd, hello, sizeof(hello), MSG_DONTWAIT) != (ssize_t)sizeof(hello) ||
	    !dofi_amo_get_hello(hello, &active, &token))
		return false;
	ep = amo_find_ep(ia, active, token, from);
	if (!ep)
		return false;
	msgep_cm_tune(fd);
	pthread_mutex_lock(&ia->amo.lock);
	if (ep->amo.in)
		ep = NULL;
	else
		ep->amo.in = dofi_amo_sock_new(ep, fd, true);
	pthread_mutex_unlock(&ia->amo.lock);
	return ep;
}

bool dofi_amo_accept(struct dofi_ia *ia)
{
	bool ok = true;

	pthread_mutex_lock(&ia->cm_lock);
	for (int i = 0; i < ACCEPTS && ok && ia->amo.listen_fd >= 0; i++) {
		char text[DOFI_ADDR_TEXT];
		union dofi_addr from;
		socklen_t len = sizeof(from);
		int fd;

		memset(&from, 0, sizeof(from));
		fd = accept4(ia->amo.listen_fd, &from.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			ok = errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
			     errno != ENOMEM;
			break;
		}
		dofi_forkfd(fd);
		if (amo_admit(ia, fd, &from))
			continue;
		dofi_forkfd_close(fd);
		dofi_log(DOFI_LOG_WARN,
			 "closed a socket for atomic operations from %s: it belongs to no "
			 "connection",
			 dofi_peer_text(&from, text));
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ok;
}
