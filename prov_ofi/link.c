/* SPDX-License-Identifier: BSD-2-Clause */
/* How do two adapters keep in touch beside their connections? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "base/slab.h"
#include "base/wire.h"
#include "cm.h"
#include "link.h"
#include "progress.h"
#include "tcpfd.h"
#include "verdict.h"

#define MAGIC 0x444f4c4bu
#define VERSION 1
#define HEADER 16
#define ACCESS_BYTES 24
/* Links that have not said hello; more at once are turned away. */
#define MAX_STRANGERS 64
/* How long the listener rests when descriptors or memory are short. */
#define REST DOFI_MS(50)

enum { HELLO = 1, ASK, ANSWER, BYE };

static struct dofi_slab slab = DOFI_SLAB_INIT(struct dofi_link, 16, NULL);

static void drop(struct dofi_link *link)
{
	struct dofi_ia *ia = link->ia;

	dofi_timer_cancel(&ia->timers, &link->timer);
	dofi_cm_timer_fini(ia);
	dofi_list_remove(&link->node);
	dofi_forkfd_close(link->fd);
	link->ia = NULL;
	dofi_slab_put(&slab, link);
}

/* The link is over. If it was the last to that adapter, its process has gone. */
static void lost(struct dofi_link *link)
{
	struct dofi_ia *ia = link->ia;
	uint64_t peer = link->up ? link->peer : 0;

	drop(link);
	if (peer && dofi_link_to(ia, peer) == DOFI_LINK_NONE) {
		dofi_conn_peer_lost(ia, peer);
		dofi_verdict_lost(ia, peer);
	}
}

static void too_late(struct dofi_timer *timer)
{
	struct dofi_link *link = dofi_container(timer, struct dofi_link, timer);
	struct dofi_ia *ia = link->ia;
	uint64_t peer = link->peer;

	drop(link);
	if (peer)
		dofi_verdict_lost(ia, peer);
}

static struct dofi_link *make(struct dofi_ia *ia, int fd, uint64_t peer, bool connecting)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };
	struct dofi_link *link = dofi_slab_get(&slab);

	if (!link)
		return NULL;
	memset(link, 0, sizeof(*link));
	if (connecting)
		ev.events |= EPOLLOUT;
	ev.data.u64 = dofi_progress_key(link, DOFI_KEY_LINK);
	if (dofi_cm_timer_init(ia, &link->timer, too_late)) {
		dofi_slab_put(&slab, link);
		return NULL;
	}
	link->ia = ia;
	link->fd = fd;
	link->peer = peer;
	link->connecting = connecting;
	dofi_list_append(&ia->links, &link->node);
	if (epoll_ctl(ia->prog.epfd, EPOLL_CTL_ADD, fd, &ev)) {
		link->fd = dofi_forkfd(dup(fd));	/* drop closes one; the caller closes its own */
		drop(link);
		return NULL;
	}
	dofi_timer_arm(&ia->timers, &link->timer,
		       dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_SILENT_MS)));
	return link;
}

static uint8_t *begin(uint8_t *p, unsigned int kind, size_t count, uint64_t number)
{
	p = dofi_put(p, MAGIC, 4);
	p = dofi_put(p, VERSION, 1);
	p = dofi_put(p, kind, 1);
	p = dofi_put(p, count, 2);
	return dofi_put(p, number, 8);
}

/* The messages are small and the socket is idle: one that does not fit means trouble. */
static bool transmit(struct dofi_link *link, const uint8_t *msg, const uint8_t *end)
{
	return send(link->fd, msg, (size_t)(end - msg), MSG_NOSIGNAL | MSG_DONTWAIT) == end - msg;
}

static bool say_hello(struct dofi_link *link)
{
	uint8_t msg[HEADER + 8];

	return transmit(link, msg, dofi_put(begin(msg, HELLO, 1, link->ia->number), link->peer, 8));
}

enum dofi_link_state dofi_link_to(struct dofi_ia *ia, uint64_t peer)
{
	enum dofi_link_state best = DOFI_LINK_NONE;
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->links) {
		struct dofi_link *link = dofi_container(pos, struct dofi_link, node);

		if (link->peer != peer)
			continue;
		if (link->up)
			return DOFI_LINK_UP;
		best = DOFI_LINK_COMING;
	}
	return best;
}

bool dofi_link_ask(struct dofi_ia *ia, uint64_t peer, uint64_t number,
		   const struct dofi_access *access, size_t n)
{
	uint8_t msg[HEADER + DOFI_LINK_ACCESSES * ACCESS_BYTES];
	uint8_t *p = begin(msg, ASK, n, number);
	struct dofi_list *pos;

	for (size_t i = 0; i < n; i++) {
		p = dofi_put(p, access[i].kind, 1);
		p = dofi_put(p, 0, 3);
		p = dofi_put(p, access[i].key, 4);
		p = dofi_put(p, access[i].address, 8);
		p = dofi_put(p, access[i].length, 8);
	}
	dofi_list_each(pos, &ia->links) {
		struct dofi_link *link = dofi_container(pos, struct dofi_link, node);

		if (link->up && link->peer == peer && transmit(link, msg, p))
			return true;
	}
	return false;
}

void dofi_link_bye(struct dofi_ia *ia, uint64_t peer, uint16_t local_port, uint16_t remote_port)
{
	uint8_t msg[HEADER + 8];
	uint8_t *end = begin(msg, BYE, 1, (uint64_t)local_port << 16 | remote_port);
	struct dofi_list *pos;

	if (peer == ia->number) {
		dofi_conn_bye(ia, peer, remote_port, local_port);
		return;
	}
	end = dofi_put(end, 0, 8);
	dofi_list_each(pos, &ia->links) {
		struct dofi_link *link = dofi_container(pos, struct dofi_link, node);

		if (link->up && link->peer == peer && transmit(link, msg, end))
			return;
	}
}

static bool answer(struct dofi_link *link, const uint8_t *p, size_t n, uint64_t number)
{
	uint8_t msg[HEADER + 8];
	uint64_t refused = 0;

	for (size_t i = 0; i < n; i++, p += ACCESS_BYTES) {
		struct dofi_access a = { .kind = p[0], .key = (uint32_t)dofi_get(p + 4, 4),
					 .address = dofi_get(p + 8, 8),
					 .length = dofi_get(p + 16, 8) };

		if (!dofi_verdict_allowed(link->ia, &a))
			refused |= (uint64_t)1 << i;
	}
	return transmit(link, msg, dofi_put(begin(msg, ANSWER, 1, number), refused, 8));
}

static void now_up(struct dofi_link *link)
{
	link->up = true;
	dofi_timer_cancel(&link->ia->timers, &link->timer);
	dofi_verdict_link_up(link->ia, link->peer);
}

static bool hello(struct dofi_link *link, uint64_t from, uint64_t wanted)
{
	bool inbound = !link->peer;

	if (!from || wanted != link->ia->number || (!inbound && from != link->peer))
		return false;
	link->peer = from;
	if (inbound && !say_hello(link))
		return false;
	now_up(link);
	return true;
}

/* One complete message; false: the link is of no use. */
static bool take(struct dofi_link *link, unsigned int kind, size_t count, uint64_t number,
		 const uint8_t *payload)
{
	if (kind == HELLO)
		return !link->up && hello(link, number, dofi_get(payload, 8));
	if (!link->up)
		return false;
	if (kind == ASK)
		return answer(link, payload, count, number);
	if (kind == ANSWER)
		dofi_verdict_answer(link->ia, number, dofi_get(payload, 8));
	else
		dofi_conn_bye(link->ia, link->peer, (uint16_t)number, (uint16_t)(number >> 16));
	return true;
}

/* Bytes of payload, or -1 if no such message exists. */
static long payload_size(unsigned int kind, size_t count)
{
	if (kind == ASK)
		return count && count <= DOFI_LINK_ACCESSES ? (long)(count * ACCESS_BYTES) : -1;
	return (kind == HELLO || kind == ANSWER || kind == BYE) && count == 1 ? 8 : -1;
}

static bool take_all(struct dofi_link *link)
{
	while (link->have >= HEADER) {
		unsigned int kind = link->in[5];
		size_t count = (size_t)dofi_get(link->in + 6, 2);
		long size = payload_size(kind, count);

		if (dofi_get(link->in, 4) != MAGIC || link->in[4] != VERSION || size < 0)
			return false;
		if (link->have < HEADER + (size_t)size)
			return true;
		if (!take(link, kind, count, dofi_get(link->in + 8, 8), link->in + HEADER))
			return false;
		link->have -= HEADER + (size_t)size;
		memmove(link->in, link->in + HEADER + size, link->have);
	}
	return true;
}

static bool finish_connecting(struct dofi_link *link)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &err, &len) || err)
		return false;
	ev.data.u64 = dofi_progress_key(link, DOFI_KEY_LINK);
	epoll_ctl(link->ia->prog.epfd, EPOLL_CTL_MOD, link->fd, &ev);
	link->connecting = false;
	return say_hello(link);
}

void dofi_link_event(struct dofi_ia *ia, struct dofi_link *link)
{
	ssize_t n;

	if (link->ia != ia)
		return;		/* dropped since epoll returned */
	if (link->connecting && !finish_connecting(link)) {
		too_late(&link->timer);
		return;
	}
	n = recv(link->fd, link->in + link->have, sizeof(link->in) - link->have, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lost(link);
		return;
	}
	link->have += (size_t)n;
	if (!take_all(link)) {
		dofi_log(DOFI_LOG_WARN, "a link speaks another protocol and is closed");
		lost(link);
	}
}

static size_t strangers(struct dofi_ia *ia)
{
	struct dofi_list *pos;
	size_t n = 0;

	dofi_list_each(pos, &ia->links)
		n += !dofi_container(pos, struct dofi_link, node)->peer;
	return n;
}

static int listen_for(struct dofi_ia *ia, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events };

	ev.data.u64 = dofi_progress_key(NULL, DOFI_KEY_ACCEPT);
	return epoll_ctl(ia->prog.epfd, op, ia->link_fd, &ev);
}

static void rested(struct dofi_timer *timer)
{
	listen_for(dofi_container(timer, struct dofi_ia, link_rest), EPOLL_CTL_MOD, EPOLLIN);
}

static bool lacks_room(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM;
}

void dofi_link_accept(struct dofi_ia *ia)
{
	int fd = dofi_forkfd(accept4(ia->link_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));

	/* They wait in the kernel's queue; looking again at once would spin. */
	if (fd < 0 && lacks_room(errno)) {
		listen_for(ia, EPOLL_CTL_MOD, 0);
		dofi_timer_arm(&ia->timers, &ia->link_rest, dofi_now() + REST);
	}
	if (fd < 0)
		return;
	dofi_tcpfd_keepalive(fd, (int)dofi_param(DOFI_NUM_KEEPALIVE_S), false);
	if (strangers(ia) >= MAX_STRANGERS || !make(ia, fd, 0, false))
		dofi_forkfd_close(fd);
}

void dofi_link_meet(struct dofi_ia *ia, const union dofi_addr *addr, uint16_t port, uint64_t peer)
{
	union dofi_addr to = *addr;
	int fd;

	if (!port || !peer || peer == ia->number || dofi_link_to(ia, peer) != DOFI_LINK_NONE)
		return;
	dofi_addr_set_port(&to.sa, port);
	fd = dofi_forkfd(socket(to.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return;
	dofi_tcpfd_keepalive(fd, (int)dofi_param(DOFI_NUM_KEEPALIVE_S), false);
	if ((connect(fd, &to.sa, (socklen_t)dofi_addr_len(&to.sa)) && errno != EINPROGRESS) ||
	    !make(ia, fd, peer, true)) {
		dofi_log(DOFI_LOG_INFO, "no link to a peer: %s", strerror(errno));
		dofi_forkfd_close(fd);
	}
}

int dofi_link_open(struct dofi_ia *ia)
{
	union dofi_addr addr = ia->fab.addr;
	socklen_t len = (socklen_t)dofi_addr_len(&addr.sa);

	do {
		if (getrandom(&ia->number, sizeof(ia->number), 0) != sizeof(ia->number))
			return -errno;
	} while (!ia->number);
	if (!ia->fab.row->links)
		return 0;
	if (!ia->fab.addr_named) {
		if (addr.sa.sa_family == AF_INET6)
			addr.in6.sin6_addr = in6addr_any;
		else
			addr.in.sin_addr.s_addr = INADDR_ANY;
	}
	ia->link_fd = dofi_forkfd(socket(addr.sa.sa_family,
					 SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (ia->link_fd < 0)
		return -errno;
	if (dofi_cm_timer_init(ia, &ia->link_rest, rested))
		return -ENOMEM;
	if (bind(ia->link_fd, &addr.sa, len) || listen(ia->link_fd, 128) ||
	    getsockname(ia->link_fd, &addr.sa, &len) ||
	    listen_for(ia, EPOLL_CTL_ADD, EPOLLIN))
		return -errno;
	ia->link_port = dofi_addr_port(&addr.sa);
	return 0;
}

void dofi_link_close_all(struct dofi_ia *ia)
{
	while (!dofi_list_empty(&ia->links))
		drop(dofi_container(ia->links.next, struct dofi_link, node));
	dofi_timer_cancel(&ia->timers, &ia->link_rest);
	if (ia->link_fd >= 0)
		dofi_forkfd_close(ia->link_fd);
	ia->link_fd = -1;
}
