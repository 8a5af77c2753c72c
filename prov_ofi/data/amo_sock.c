/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of software atomic operations: creation, messages, end. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "data/amo.h"

struct dofi_amo_sock *dofi_amo_sock_new(struct dofi_ep *ep, int fd, bool serves)
{
	struct dofi_amo *amo = &ep->obj.ia->amo;
	struct dofi_amo_sock *s = calloc(1, sizeof(*s));
	/* A socket that connects is writable when that has ended. */
	struct epoll_event ev = { .events = serves ? EPOLLIN : EPOLLOUT, .data.ptr = s };

	if (!s) {
		dofi_forkfd_close(fd);
		return NULL;
	}
	s->ep = ep;
	s->fd = fd;
	s->serves = serves;
	s->connecting = !serves;
	atomic_fetch_add(&amo->n, 1);
	/* After this call other threads may process it. */
	if (!epoll_ctl(amo->epfd, EPOLL_CTL_ADD, fd, &ev))
		return s;
	atomic_fetch_sub(&amo->n, 1);
	dofi_forkfd_close(fd);
	free(s);
	return NULL;
}

void dofi_amo_sock_close(struct dofi_amo_sock *s)
{
	struct dofi_amo *amo = &s->ep->obj.ia->amo;

	epoll_ctl(amo->epfd, EPOLL_CTL_DEL, s->fd, NULL);
	dofi_forkfd_close(s->fd);
	if (s->serves)
		s->ep->amo.in = NULL;
	else
		s->ep->amo.out = NULL;
	atomic_fetch_sub(&amo->n, 1);
	free(s);
}

int dofi_amo_sock_recv(struct dofi_amo_sock *s, uint8_t want)
{
	ssize_t n = recv(s->fd, s->buf + s->len, (size_t)(want - s->len), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ECONNRESET;
	s->len = (uint8_t)(s->len + n);
	if (s->len < want)
		return 0;
	s->len = 0;
	return 1;
}

/* One message is outstanding in each direction, so there is always space for the next one. */
bool dofi_amo_sock_send(struct dofi_amo_sock *s, const uint8_t *msg, const uint8_t *end)
{
	return send(s->fd, msg, (size_t)(end - msg), MSG_DONTWAIT | MSG_NOSIGNAL) == end - msg;
}

void dofi_amo_detach(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!ep->amo.on)
		return;
	pthread_mutex_lock(&ep->obj.ia->amo.lock);
	dofi_lock(&ep->lock);
	if (ep->amo.in)
		dofi_amo_sock_close(ep->amo.in);
	if (ep->amo.out)
		dofi_amo_sock_close(ep->amo.out);
	/* It is flushed as all others. */
	ep->amo.dto = NULL;
	atomic_store(&ep->amo.state, DOFI_AMO_IDLE);
	dofi_unlock(&ep->lock);
	pthread_mutex_unlock(&ep->obj.ia->amo.lock);
}
