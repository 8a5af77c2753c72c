/* SPDX-License-Identifier: BSD-2-Clause */
/* State of connection objects: timers, lists, sockets, events. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "msgep/cm/cm_int.h"

/* Nanoseconds after which a failed doorbell, or what a transport could not do, is retried. */
#define RING_AGAIN 1000000

/* ---------------------------------------------------------------- timers */

/* Caller need not hold eq->lock. */
static void cm_arm_soon(struct msgep_cm *cm)
{
	const struct itimerspec soon = { .it_value.tv_nsec = RING_AGAIN };

	timerfd_settime(cm->timerfd, 0, &soon, NULL);
}

void msgep_cm_set_timer(struct msgep_cm *cm, uint64_t when)
{
	struct itimerspec at;

	memset(&at, 0, sizeof(at));
	if (when != DOFI_NEVER) {
		at.it_value.tv_sec = (time_t)(when / 1000000000u);
		at.it_value.tv_nsec = (long)(when % 1000000000u);
	}
	timerfd_settime(cm->timerfd, TFD_TIMER_ABSTIME, &at, NULL);
	cm->armed = when;
	/* Another thread may have armed a retry before timerfd_settime, which replaced it. */
	if (atomic_load(&cm->retry_soon))
		cm_arm_soon(cm);
}

void msgep_cm_retry_soon(struct msgep_cm *cm)
{
	atomic_store(&cm->retry_soon, true);
	cm_arm_soon(cm);
}

void msgep_cm_doorbell_retry(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	ep->doorbell_pending = true;
	msgep_cm_retry_soon(ep->eq->cm);
}

void msgep_cm_arm(struct msgep_cm *cm, struct dofi_timer *t, uint64_t when)
{
	dofi_timer_arm(&cm->timers, t, when);
	if (when < cm->armed)
		msgep_cm_set_timer(cm, when);
}

/* ---------------------------------------------------------------- states */

#ifdef DOFI_DEBUG
/* The states that may follow each one. Every object may be freed: DEAD follows all. An object
 * begins as DEAD. */
#define NEXT(state) (1u << MSGEP_CM_##state)
static const unsigned int next_states[] = {
	[MSGEP_CM_CONNECTING] = NEXT(CONNECTING) | NEXT(HELLO_SENT) | NEXT(REQUEST_SENT),
	[MSGEP_CM_HELLO_SENT] = NEXT(CONNECTING) | NEXT(REQUEST_SENT),
	[MSGEP_CM_REQUEST_SENT] = NEXT(CONNECTING) | NEXT(PATH_CHECK) | NEXT(LIVE),
	[MSGEP_CM_HALF_OPEN] = NEXT(REQUEST_PENDING) | NEXT(LINGERING),
	[MSGEP_CM_REQUEST_PENDING] = NEXT(ACCEPT_SENT) | NEXT(LINGERING),
	[MSGEP_CM_ACCEPT_SENT] = NEXT(PATH_CHECK) | NEXT(LIVE),
	[MSGEP_CM_PATH_CHECK] = NEXT(LIVE),
	[MSGEP_CM_LIVE] = NEXT(ENDING) | NEXT(ENDED),
	[MSGEP_CM_ENDING] = NEXT(ENDED),
	[MSGEP_CM_ENDED] = NEXT(LINGERING),
	[MSGEP_CM_LINGERING] = 0,
	[MSGEP_CM_DEAD] = NEXT(CONNECTING) | NEXT(HALF_OPEN),
};
#endif

void msgep_cm_state(struct msgep_cm_conn *conn, enum msgep_cm_state step)
{
	struct msgep_cm *cm = conn->cm;

	DOFI_ASSERT_LOCKED(&cm->eq->lock);
	DOFI_ASSERT(step == MSGEP_CM_DEAD || next_states[conn->state] & 1u << step,
		    "connection %p: state %d follows %d", (void *)conn, (int)step,
		    (int)conn->state);
	if (conn->state == MSGEP_CM_HALF_OPEN)
		cm->n_half_open--;
	if (conn->routed && conn->state == MSGEP_CM_REQUEST_PENDING) {
		cm->n_routed--;
		conn->routed = false;
	}
	if (step == MSGEP_CM_HALF_OPEN)
		cm->n_half_open++;
	conn->state = step;
	dofi_list_remove(&conn->link);
	dofi_list_append(step == MSGEP_CM_HALF_OPEN ? &cm->half_open
			 : step == MSGEP_CM_DEAD    ? &cm->dead
						    : &cm->conns,
			 &conn->link);
	if (step != MSGEP_CM_ENDING)
		dofi_list_remove(&conn->end_link);
	else if (dofi_list_empty(&conn->end_link))
		dofi_list_append(&cm->ending, &conn->end_link);
}

void msgep_cm_set_ep_state(struct msgep_ep *ep, enum msgep_state state)
{
	dofi_lock(&ep->lock);
	atomic_store(&ep->state, state);
	dofi_unlock(&ep->lock);
}

/* ---------------------------------------------------------------- sockets */

int msgep_cm_watch(struct msgep_cm_conn *conn, uint32_t events)
{
	struct epoll_event ev = { .events = events };
	int op = !events ? EPOLL_CTL_DEL : conn->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	if (conn->fd < 0 || events == conn->watched)
		return 0;
	ev.data.ptr = &conn->source;
	if (epoll_ctl(conn->cm->epfd, op, conn->fd, &ev))
		return -errno;
	conn->watched = events;
	return 0;
}

void msgep_cm_disown_socket(struct msgep_cm_conn *conn)
{
	if (conn->fd < 0 || dofi_forkfd_is_open(conn->fd))
		return;
	dofi_forkfd_forget(conn->fd);
	conn->fd = -1;
	conn->watched = 0;
}

void msgep_cm_close_socket(struct msgep_cm_conn *conn)
{
	if (conn->fd < 0)
		return;
	msgep_cm_watch(conn, 0);
	shutdown(conn->fd, SHUT_RDWR);
	dofi_forkfd_close(conn->fd);
	conn->fd = -1;
	conn->watched = 0;
}

void msgep_cm_free_bufs(struct msgep_cm_conn *conn)
{
	if (conn->state != MSGEP_CM_LIVE || !conn->route || conn->fd >= 0)
		return;
	free(conn->bufs);
	conn->bufs = NULL;
}

void msgep_cm_close_out_fd(struct msgep_cm_conn *conn)
{
	if (conn->out_fd >= 0)
		dofi_forkfd_close(conn->out_fd);
	conn->out_fd = -1;
}

/* ---------------------------------------------------------------- events */

static void cm_post(struct msgep_eq *eq, struct msgep_event *event, const struct msgep_event *what,
		    const void *data, size_t len)
{
	*event = *what;
	dofi_list_init(&event->link);
	event->len = len;
	if (len)
		memcpy(event->data, data, len);
	msgep_eq_push(eq, event);
}

bool msgep_cm_post_request(struct msgep_cm *cm, const struct msgep_event *what, const void *data,
			   size_t len)
{
	struct msgep_event *event = malloc(sizeof(*event) + MSGEP_CM_DATA);

	if (!event) {
		dofi_log(DOFI_LOG_ERROR, "no memory for a connection request");
		return false;
	}
	cm_post(cm->eq, event, what, data, len);
	return true;
}

int msgep_cm_reserve(struct msgep_ep *ep)
{
	for (int i = 0; i < MSGEP_EP_EVENTS; i++) {
		if (!ep->reserved[i])
			ep->reserved[i] =
				malloc(sizeof(*ep->reserved[i]) + (i ? 0 : MSGEP_CM_DATA));
		if (!ep->reserved[i])
			return -FI_ENOMEM;
	}
	return 0;
}

void msgep_cm_unreserve(struct msgep_ep *ep)
{
	for (int i = 0; i < MSGEP_EP_EVENTS; i++) {
		free(ep->reserved[i]);
		ep->reserved[i] = NULL;
	}
}

void msgep_cm_post(struct msgep_ep *ep, const struct msgep_event *what, const void *data,
		   size_t len)
{
	for (int i = 0; i < MSGEP_EP_EVENTS; i++) {
		struct msgep_event *event = ep->reserved[i];

		if (!event)
			continue;
		assert(!i || !len);
		ep->reserved[i] = NULL;
		cm_post(ep->eq, event, what, data, len);
		return;
	}
	assert(!"an endpoint has no more events than are reserved");
}
