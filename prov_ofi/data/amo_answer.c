/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the sockets of software atomic operations, and completes operations that peers have
 * answered. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cancel.h"
#include "base/error_text.h"
#include "base/log.h"
#include "data/amo.h"
#include "data/cq.h"
#include "data/dto_submit.h"
#include "object/deferred_work.h"
#include "object/ep_state.h"

/* Sockets that one poll processes. */
#define EVENTS 8

/* Completes the operation, and hands over what has waited for it. */
static void amo_finish(struct dofi_ep *ep, uint8_t status)
{
	struct dofi_dto *dto = ep->amo.dto;

	DOFI_ASSERT_LOCKED(&ep->lock);
	ep->amo.dto = NULL;
	atomic_store(&ep->amo.state, DOFI_AMO_IDLE);
	/* After a failure nothing is handed over any more. */
	if (status == DAT_DTO_SUCCESS)
		ep->sq.depth = ep->amo.depth;
	dofi_ep_set_quotas(ep);
	dofi_dto_finish(dto, status);
	dofi_dto_submit_queue(ep, &ep->sq);
}

void dofi_amo_continue(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!ep->amo.dto)
		return;
	if (atomic_load(&ep->amo.state) == DOFI_AMO_READY)
		dofi_amo_start(ep);
	else if (atomic_load(&ep->amo.state) == DOFI_AMO_FAILED)
		amo_finish(ep, DAT_DTO_ERR_TRANSPORT);
}

/* The socket has ended. The connection does so, too, or it is broken a moment later. */
static void amo_lost(struct dofi_amo_sock *s)
{
	struct dofi_ep *ep = s->ep;

	dofi_amo_sock_close(s);
	if (!ep->amo.dto || atomic_load(&ep->amo.state) != DOFI_AMO_SENT)
		return;
	if (!atomic_load_explicit(&ep->ending, memory_order_acquire))
		dofi_deferred_add(ep, DOFI_DEFERRED_FLUSHED);
	amo_finish(ep, DAT_DTO_ERR_FLUSHED);
}

static void amo_connected(struct dofi_amo_sock *s)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = s };
	struct dofi_ep *ep = s->ep;
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	if (err)
		dofi_log(DOFI_LOG_WARN,
			 "cannot connect to port %u of the peer for atomic operations: %s",
			 ep->amo.port, dofi_error_text(err));
	if (err || epoll_ctl(ep->obj.ia->amo.epfd, EPOLL_CTL_MOD, s->fd, &ev)) {
		amo_lost(s);
		return;
	}
	s->connecting = false;
	if (ep->amo.dto)
		dofi_amo_send(ep, true);
}

static void amo_take_answer(struct dofi_amo_sock *s)
{
	static const uint8_t status[] = { [DOFI_AMO_DONE] = DAT_DTO_SUCCESS,
					  [DOFI_AMO_NO_ACCESS] = DAT_DTO_ERR_REMOTE_ACCESS,
					  [DOFI_AMO_MISALIGNED] = DAT_DTO_ERR_REMOTE_RESPONDER };
	struct dofi_ep *ep = s->ep;
	enum dofi_amo_result result;
	uint64_t value;
	int got = dofi_amo_sock_recv(s, DOFI_AMO_ANSWER);

	if (!got)
		return;
	if (got < 0 || !dofi_amo_get_answer(s->buf, &result, &value) || !ep->amo.dto ||
	    atomic_load(&ep->amo.state) != DOFI_AMO_SENT) {
		amo_lost(s);
		return;
	}
	if (result == DOFI_AMO_DONE)
		memcpy(ep->amo.dto->iov[0].iov_base, &value, sizeof(value));
	amo_finish(ep, status[result]);
}

/* An answer has arrived, the socket is connected, or it has ended. */
static void amo_answered(struct dofi_amo_sock *s)
{
	struct dofi_ep *ep = s->ep;

	dofi_lock(&ep->lock);
	if (s->connecting)
		amo_connected(s);
	else
		amo_take_answer(s);
	dofi_unlock(&ep->lock);
}

void dofi_amo_poll(struct dofi_ia *ia, bool block)
{
	struct epoll_event ev[EVENTS];
	int n;

	DOFI_NO_CANCEL();
	if (block)
		pthread_mutex_lock(&ia->amo.lock);
	else if (pthread_mutex_trylock(&ia->amo.lock))
		return;
	n = epoll_wait(ia->amo.epfd, ev, EVENTS, 0);
	for (int i = 0; i < n; i++) {
		struct dofi_amo_sock *s = ev[i].data.ptr;

		if (s->serves)
			dofi_amo_serve(s);
		else
			amo_answered(s);
	}
	pthread_mutex_unlock(&ia->amo.lock);
}
