/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves messages over plain TCP sockets, one for each connection: a header with the length, then
 * the data. Long data is received in place, short data through a stage.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <arpa/inet.h>
#include <unistd.h>

#include "exchange.h"
#include "proc.h"
#include "transport.h"

#define STAGE 16384u

struct header {
	uint64_t len; /* big-endian */
};

struct tsock_peer {
	int fd;
	struct header head;
	size_t put;    /* bytes of the current message that have been sent, with the header */
	uint8_t *into; /* where the rest of the incoming message belongs */
	size_t rest;
	size_t at, end; /* what the stage holds */
	uint8_t stage[STAGE];
};

/* Two-queues: connection A is number 0, B number 1. */
struct tsock {
	struct perf_transport base;
	struct tsock_peer *peer;
	struct pollfd pfd[PERF_MAX_PEERS];
	int connections;
	size_t written, got;
};

static struct tsock *tsock(struct perf_transport *t)
{
	return (struct tsock *)t;
}

/* ---------------------------------------------------------------- connecting */

static int set_nodelay(struct perf_transport *t, int fd)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		return perf_transport_error(t, -errno, "TCP_NODELAY");
	return 0;
}

static socklen_t address_len(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The address of the adapter, with a port that the kernel chooses. */
static int sockets_listen(struct perf_transport *t, struct perf_listen_addr *at)
{
	struct sockaddr_in *four = (void *)&at->addr;
	struct sockaddr_in6 *six = (void *)&at->addr;
	socklen_t len = sizeof(at->addr);
	int fd;

	memset(at, 0, sizeof(*at));
	if (inet_pton(AF_INET, t->run->addr, &four->sin_addr) == 1)
		at->addr.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, t->run->addr, &six->sin6_addr) == 1)
		at->addr.ss_family = AF_INET6;
	else
		return perf_error(-EADDRNOTAVAIL, t->ops->name, "listen", "%s is no address",
				  t->run->addr);
	fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at->addr, address_len(&at->addr)) ||
	    listen(fd, PERF_MAX_PEERS) || getsockname(fd, (struct sockaddr *)&at->addr, &len))
		return perf_transport_error(t, -errno, "listen");
	return fd;
}

static int sockets_accept(struct perf_transport *t, int listener)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	int fd;

	if (poll(&pfd, 1, (int)t->run->plan->timeout_ms) <= 0)
		return perf_transport_error(t, -ETIMEDOUT, "accept");
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return fd < 0 ? perf_transport_error(t, -errno, "accept") : fd;
}

static int sockets_connect(struct perf_transport *t, const struct perf_listen_addr *at)
{
	unsigned int limit = (unsigned int)t->run->plan->timeout_ms;
	int fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at->addr, address_len(&at->addr)))
		return perf_transport_error(t, -errno, "connect");
	return fd;
}

static int connect_all(struct tsock *s)
{
	struct perf_transport *t = &s->base;
	struct perf_listen_addr at;
	int i, listener = -1, ret;

	if (t->role == PERF_CLIENT) {
		ret = perf_get_listen_addr(t->run->chan, &at, (int)t->run->plan->timeout_ms);
	} else {
		listener = sockets_listen(t, &at);
		ret = listener < 0 ? listener : perf_put_listen_addr(t->run->chan, &at);
	}
	for (i = 0; !ret && i < s->connections; i++) {
		s->peer[i].fd = t->role == PERF_CLIENT ? sockets_connect(t, &at)
						       : sockets_accept(t, listener);
		ret = s->peer[i].fd < 0 ? s->peer[i].fd : set_nodelay(t, s->peer[i].fd);
		s->pfd[i] = (struct pollfd){ .fd = s->peer[i].fd, .events = POLLIN };
	}
	if (listener >= 0)
		close(listener);
	return ret;
}

static int sockets_open(struct perf_transport *t)
{
	struct tsock *s = tsock(t);

	s->connections = t->c->op == PERF_TWO_QUEUES ? 2 : t->peers;
	s->peer = calloc((size_t)s->connections, sizeof(*s->peer));
	if (t->c->op == PERF_TWO_QUEUES) {
		t->source = calloc(1, t->c->size);
		t->target = calloc(1, t->c->size);
	}
	if (!s->peer || (t->c->op == PERF_TWO_QUEUES && (!t->source || !t->target)))
		return perf_transport_error(t, -ENOMEM, "calloc");
	perf_stage("connect");
	return connect_all(s);
}

static int sockets_close(struct perf_transport *t)
{
	struct tsock *s = tsock(t);
	int i;

	for (i = 0; i < s->connections; i++)
		close(s->peer[i].fd);
	free(s->peer);
	free(t->source);
	free(t->target);
	return 0;
}

/* ---------------------------------------------------------------- messages */

/* 0: the socket can take or give nothing now. */
static ssize_t sockets_result(struct perf_transport *t, ssize_t n, const char *call)
{
	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!n)
		errno = EPIPE;
	return perf_transport_error(t, -errno, call);
}

static ssize_t send_rest(struct perf_transport *t, struct tsock_peer *p, const struct perf_msg *msg)
{
	size_t of_head = p->put < sizeof(p->head) ? sizeof(p->head) - p->put : 0;
	size_t of_data = p->put - (sizeof(p->head) - of_head);
	struct iovec iov[2] = {
		{ (uint8_t *)&p->head + sizeof(p->head) - of_head, of_head },
		{ msg->buf + of_data, msg->len - of_data },
	};
	struct msghdr out = { .msg_iov = of_head ? iov : iov + 1, .msg_iovlen = of_head ? 2 : 1 };

	return sockets_result(t, sendmsg(p->fd, &out, MSG_DONTWAIT | MSG_NOSIGNAL), "send");
}

static int sockets_start(struct perf_transport *t, int peer)
{
	struct tsock_peer *p = &tsock(t)->peer[peer];
	struct perf_msgs *out = &t->peer[peer].out;
	ssize_t n;

	while (perf_msg_waits(out)) {
		struct perf_msg *msg = perf_msg_at(out, out->next);

		if (!p->put)
			p->head.len = htobe64(msg->len);
		n = send_rest(t, p, msg);
		if (n <= 0)
			return (int)n;
		p->put += (size_t)n;
		if (p->put < sizeof(p->head) + msg->len)
			continue;
		p->put = 0;
		out->next++;
		out->done++;
	}
	return 0;
}

/* Takes what the stage holds: 1 if anything, 0 if it has less than a header or no receive. */
static int stage_take(struct perf_transport *t, struct tsock_peer *p, struct perf_msgs *in)
{
	struct header head;
	size_t n;

	if (!p->into) {
		if (p->end - p->at < sizeof(head) || !perf_msg_waits(in))
			return 0;
		memcpy(&head, p->stage + p->at, sizeof(head));
		p->at += sizeof(head);
		p->rest = (size_t)be64toh(head.len);
		p->into = perf_msg_take(in, p->rest);
		if (!p->into)
			return perf_error(-EPROTO, t->ops->name, "recv", "%zu bytes", p->rest);
	}
	n = p->end - p->at < p->rest ? p->end - p->at : p->rest;
	memcpy(p->into, p->stage + p->at, n);
	p->at += n;
	p->into += n;
	p->rest -= n;
	if (p->rest)
		return 0;
	p->into = NULL;
	in->done++;
	return 1;
}

static int stage_empty(struct perf_transport *t, struct tsock_peer *p, struct perf_msgs *in)
{
	int n = 0, ret;

	while ((ret = stage_take(t, p, in)) > 0)
		n++;
	if (p->at && p->at < p->end)
		memmove(p->stage, p->stage + p->at, p->end - p->at);
	p->end -= p->at;
	p->at = 0;
	return ret < 0 ? ret : n;
}

static int receive_in_place(struct perf_transport *t, struct tsock_peer *p, struct perf_msgs *in)
{
	ssize_t n = sockets_result(t, recv(p->fd, p->into, p->rest, MSG_DONTWAIT), "recv");

	if (n <= 0)
		return (int)n;
	p->into += n;
	p->rest -= (size_t)n;
	if (p->rest)
		return 1;
	p->into = NULL;
	in->done++;
	return 1;
}

static int receive(struct perf_transport *t, struct tsock_peer *p, struct perf_msgs *in)
{
	int got = p->end ? stage_empty(t, p, in) : 0;
	ssize_t n;

	/* without a receive, what comes next waits in the socket */
	if (got || (!p->into && !perf_msg_waits(in)))
		return got;
	if (p->into && p->rest >= STAGE)
		return receive_in_place(t, p, in);
	n = sockets_result(t, recv(p->fd, p->stage + p->end, STAGE - p->end, MSG_DONTWAIT), "recv");
	if (n <= 0)
		return (int)n;
	p->end += (size_t)n;
	got = stage_empty(t, p, in);
	return got < 0 ? got : 1;
}

/* With several peers, one poll reports which of them have sent. */
static int sockets_progress(struct perf_transport *t)
{
	struct tsock *s = tsock(t);
	int i, n = 0, ret = 0;

	if (t->peers > 1 && poll(s->pfd, (nfds_t)t->peers, 0) < 0 && errno != EINTR)
		return perf_transport_error(t, -errno, "poll");
	for (i = 0; ret >= 0 && i < t->peers; i++) {
		if (perf_msg_waits(&t->peer[i].out))
			ret = sockets_start(t, i);
		if (!ret && (t->peers == 1 || s->pfd[i].revents || s->peer[i].end))
			ret = receive(t, &s->peer[i], &t->peer[i].in);
		if (ret > 0)
			n++;
		ret = ret > 0 ? 0 : ret;
	}
	return ret < 0 ? ret : n;
}

/* ---------------------------------------------------------------- two-queues */

static int sockets_write(struct perf_transport *t)
{
	tsock(t)->written = 0;
	return 0;
}

static int sockets_written(struct perf_transport *t)
{
	struct tsock *s = tsock(t);
	ssize_t n = send(s->peer[1].fd, t->source + s->written, t->c->size - s->written,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	n = sockets_result(t, n, "send");
	if (n < 0)
		return (int)n;
	s->written += (size_t)n;
	return s->written == t->c->size;
}

/* Without RDMA, the reader of B has to move its data to the target itself. */
static int sockets_look(struct perf_transport *t)
{
	struct tsock *s = tsock(t);
	uint8_t byte;
	ssize_t n = sockets_result(t, recv(s->peer[0].fd, &byte, 1, MSG_DONTWAIT), "recv");

	if (n > 0)
		return perf_transport_error(t, -EPROTO, "connection A");
	if (!n)
		n = sockets_result(t,
				   recv(s->peer[1].fd, t->target + s->got, t->c->size - s->got,
					MSG_DONTWAIT),
				   "recv");
	if (n < 0)
		return (int)n;
	s->got = (s->got + (size_t)n) % t->c->size;
	return 0;
}

const struct perf_transport_ops perf_socket_transport = {
	.name = "sockets",
	.open = sockets_open,
	.close = sockets_close,
	.start = sockets_start,
	.progress = sockets_progress,
	.write = sockets_write,
	.written = sockets_written,
	.look = sockets_look,
	.size = sizeof(struct tsock),
};
