/* SPDX-License-Identifier: BSD-2-Clause */
/* Event loop of the connection manager: epoll set, timers, life cycle of connections.
 *
 * Sockets and a timer are in an epoll set that is itself in the event queue's set: a thread that
 * blocks on the event queue wakes up, reads events, and thereby calls msgep_cm_progress.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

#define ROUND 64
/* Ends of connections wait for at most this number of full rounds of handshakes. */
#define FIRST_ROUNDS 32
/* Nanoseconds after which a failed doorbell, or what a transport could not do, is retried. */
#define RING_AGAIN 1000000

/* ---------------------------------------------------------------- timers */

/* Caller need not hold eq->lock. */
static void cm_arm_soon(struct msgep_cm *cm)
{
	const struct itimerspec soon = { .it_value.tv_nsec = RING_AGAIN };

	timerfd_settime(cm->timerfd, 0, &soon, NULL);
}

static void cm_set_timerfd(struct msgep_cm *cm, uint64_t when)
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

/* Retries the doorbells for which the kernel had no memory. */
static void cm_retry_doorbells(struct msgep_cm *cm)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->conns)
	{
		struct msgep_ep *ep = dofi_container(pos, struct msgep_cm_conn, link)->ep;

		if (!ep)
			continue;
		dofi_lock(&ep->lock);
		if (ep->doorbell_pending)
			msgep_cm_doorbell(ep);
		dofi_unlock(&ep->lock);
	}
}

void msgep_cm_arm(struct msgep_cm *cm, struct dofi_timer *t, uint64_t when)
{
	dofi_timer_arm(&cm->timers, t, when);
	if (when < cm->armed)
		cm_set_timerfd(cm, when);
}

/* An early expiry (a timer has been cancelled since) only costs one check. */
static void cm_timer_ready(struct msgep_cm_source *source, uint32_t events)
{
	struct msgep_cm *cm = dofi_container(source, struct msgep_cm, timer);
	uint64_t count;
	ssize_t n = read(cm->timerfd, &count, sizeof(count));

	(void)n;
	(void)events;
	cm->armed = DOFI_NEVER;
	if (atomic_exchange(&cm->retry_soon, false)) {
		cm_retry_doorbells(cm);
		msgep_inbox_retry_all(cm);
	}
}

/* ---------------------------------------------------------------- socket objects */

static void cm_conn_ready(struct msgep_cm_source *source, uint32_t events)
{
	struct msgep_cm_conn *conn = dofi_container(source, struct msgep_cm_conn, source);

	/* An earlier event of the same epoll_wait can have closed the socket, and with a route the
	 * buffers are gone, too. */
	if (conn->fd < 0)
		return;
	switch (conn->state) {
	case MSGEP_CM_HALF_OPEN:
		msgep_cm_half_open_ready(conn, events);
		break;
	case MSGEP_CM_DEAD:
		break;
	default:
		msgep_cm_conn_ready(conn, events);
		break;
	}
}

static void cm_conn_fire(struct dofi_timer *timer)
{
	struct msgep_cm_conn *conn = dofi_container(timer, struct msgep_cm_conn, timer);

	switch (conn->state) {
	case MSGEP_CM_HALF_OPEN:
		msgep_cm_half_open_tick(conn);
		break;
	case MSGEP_CM_LINGERING:
		msgep_cm_conn_free(conn);
		break;
	default:
		msgep_cm_conn_tick(conn);
		break;
	}
}

struct msgep_cm_conn *msgep_cm_conn_new(struct msgep_cm *cm, int fd,
					const struct msgep_transport *transport,
					enum msgep_cm_state step)
{
	struct msgep_cm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->bufs = calloc(1, sizeof(*conn->bufs));
	if (!conn->bufs || dofi_timer_add(&cm->timers, &conn->timer, cm_conn_fire)) {
		free(conn->bufs);
		free(conn);
		return NULL;
	}
	conn->handle.fclass = FI_CLASS_CONNREQ;
	conn->source.ready = cm_conn_ready;
	conn->cm = cm;
	conn->fd = fd;
	conn->in_fd = conn->out_fd = -1;
	conn->transport = transport;
	conn->started = dofi_now();
	dofi_list_init(&conn->link);
	dofi_list_init(&conn->end_link);
	conn->state = MSGEP_CM_DEAD; /* in no list yet */
	msgep_cm_state(conn, step);
	return conn;
}

static bool cm_is_early(enum msgep_cm_state step)
{
	return step == MSGEP_CM_CONNECTING || step == MSGEP_CM_HELLO_SENT;
}

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
	cm->n_early -= cm_is_early(conn->state);
	cm->n_early += cm_is_early(step);
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

static void cm_detach_ep(struct msgep_cm_conn *conn)
{
	struct msgep_ep *ep = conn->ep;

	if (!ep)
		return;
	if (ep->sock >= 0)
		msgep_cm_leave_queues(conn);
	dofi_lock(&ep->lock);
	ep->sock = -1;
	ep->cm = NULL;
	dofi_unlock(&ep->lock);
	conn->ep = NULL;
}

void msgep_cm_free_bufs(struct msgep_cm_conn *conn)
{
	if (conn->state != MSGEP_CM_LIVE || !conn->route || conn->fd >= 0)
		return;
	free(conn->bufs);
	conn->bufs = NULL;
}

static void cm_free_dead(struct msgep_cm *cm)
{
	struct msgep_cm_conn *conn;

	while ((conn = dofi_list_pop(&cm->dead, struct msgep_cm_conn, link))) {
		free(conn->bufs);
		free(conn);
	}
}

void msgep_cm_close_out_fd(struct msgep_cm_conn *conn)
{
	if (conn->out_fd >= 0)
		dofi_forkfd_close(conn->out_fd);
	conn->out_fd = -1;
}

void msgep_cm_conn_free(struct msgep_cm_conn *conn)
{
	struct msgep_cm *cm = conn->cm;

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	msgep_cm_disown_socket(conn);
	msgep_cm_send_gone(conn);
	cm_detach_ep(conn);
	msgep_cm_close_socket(conn);
	msgep_cm_close_out_fd(conn);
	if (conn->in_fd >= 0)
		dofi_forkfd_close(conn->in_fd);
	conn->in_fd = -1;
	dofi_timer_drop(&cm->timers, &conn->timer);
	msgep_cm_state(conn, MSGEP_CM_DEAD);
	if (!cm->busy)
		cm_free_dead(cm);
}

void msgep_cm_linger(struct msgep_cm_conn *conn)
{
	struct msgep_cm *cm = conn->cm;
	bool sent = !conn->bufs || conn->bufs->out_done == conn->bufs->out_len;
	uint64_t timeout = DOFI_MS(dofi_param(DOFI_NUM_LINGER_MS));

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	msgep_cm_disown_socket(conn);
	cm_detach_ep(conn);
	if (sent)
		shutdown(conn->fd, SHUT_WR);
	/* Closing a TCP socket before the peer does may discard data that the peer has not read;
	 * the bytes of a unix socket are in the peer's queue already. */
	if (conn->fd < 0 || !msgep_cm_discard(conn->fd) || (sent && conn->transport->local) ||
	    !timeout || msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP | (sent ? 0 : EPOLLOUT))) {
		msgep_cm_conn_free(conn);
		return;
	}
	msgep_cm_state(conn, MSGEP_CM_LINGERING);
	msgep_cm_arm(cm, &conn->timer, dofi_now() + timeout);
}

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

/* ---------------------------------------------------------------- the event queue's calls */

static int cm_watch_fds(struct msgep_cm *cm)
{
	struct epoll_event ev = { .events = EPOLLIN };

	cm->epfd = dofi_forkfd(epoll_create1(EPOLL_CLOEXEC));
	cm->timerfd = dofi_forkfd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	if (cm->epfd < 0 || cm->timerfd < 0)
		return -errno;
	ev.data.ptr = &cm->timer;
	if (epoll_ctl(cm->epfd, EPOLL_CTL_ADD, cm->timerfd, &ev))
		return -errno;
	ev.data.ptr = cm;
	return epoll_ctl(cm->eq->epfd, EPOLL_CTL_ADD, cm->epfd, &ev) ? -errno : 0;
}

static void cm_close_fds(struct msgep_cm *cm)
{
	if (cm->timerfd >= 0)
		dofi_forkfd_close(cm->timerfd);
	if (cm->epfd >= 0) {
		epoll_ctl(cm->eq->epfd, EPOLL_CTL_DEL, cm->epfd, NULL);
		dofi_forkfd_close(cm->epfd);
	}
}

int msgep_cm_open(struct msgep_eq *eq)
{
	struct msgep_cm *cm = calloc(1, sizeof(*cm));
	int ret;

	if (!cm)
		return -ENOMEM;
	cm->eq = eq;
	cm->epfd = cm->timerfd = -1;
	cm->timer.ready = cm_timer_ready;
	cm->armed = DOFI_NEVER;
	dofi_list_init(&cm->listeners);
	dofi_list_init(&cm->half_open);
	dofi_list_init(&cm->conns);
	dofi_list_init(&cm->ending);
	dofi_list_init(&cm->dead);
	dofi_list_init(&cm->inboxes);
	ret = msgep_secret_load(&cm->secret);
	if (!ret)
		ret = msgep_cm_stall_init(cm);
	if (!ret)
		ret = cm_watch_fds(cm);
	if (ret) {
		cm_close_fds(cm);
		msgep_secret_free(cm->secret);
		dofi_timers_free(&cm->timers);
		free(cm);
		return ret;
	}
	eq->cm = cm;
	return 0;
}

static void cm_free_all(struct dofi_list *list)
{
	while (!dofi_list_empty(list))
		msgep_cm_conn_free(dofi_container(list->next, struct msgep_cm_conn, link));
}

void msgep_cm_close(struct msgep_eq *eq)
{
	struct msgep_cm *cm = eq->cm;

	if (!cm)
		return;
	while (!dofi_list_empty(&cm->listeners))
		msgep_cm_listener_free(
			dofi_container(cm->listeners.next, struct msgep_cm_listener, link));
	cm_free_all(&cm->half_open);
	cm_free_all(&cm->conns);
	msgep_inbox_detach_all(cm);
	dofi_timers_free(&cm->timers);
	cm_close_fds(cm);
	msgep_secret_free(cm->secret);
	free(cm);
	eq->cm = NULL;
}

/* The consumer may have received the remaining data since the peer ended the connection. */
static void cm_try_ends(struct msgep_cm *cm)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &cm->ending)
		msgep_cm_try_end(dofi_container(pos, struct msgep_cm_conn, end_link));
}

/* True for an event of a connection that is up: usually its end. */
static bool cm_is_up(const struct msgep_cm_source *source)
{
	return source->ready == cm_conn_ready &&
	       dofi_container(source, struct msgep_cm_conn, source)->state >= MSGEP_CM_LIVE;
}

/* Handles the events of handshakes first: a peer that has accepted many connections and then ends
 * one has sent its answers before, on other sockets, and a program that counts established
 * connections expects them before an end. If answers may be left in the epoll set, ends wait for
 * the next round. */
static void cm_handle_events(struct msgep_cm *cm, struct epoll_event *ev, int n)
{
	bool handshakes = false;

	for (int i = 0; i < n; i++) {
		struct msgep_cm_source *source = ev[i].data.ptr;

		if (cm_is_up(source))
			continue;
		handshakes |= source->ready == cm_conn_ready;
		source->ready(source, ev[i].events);
		ev[i].data.ptr = NULL;
	}
	if (n == ROUND && handshakes && ++cm->first_rounds < FIRST_ROUNDS)
		return;
	cm->first_rounds = 0;
	for (int i = 0; i < n; i++) {
		struct msgep_cm_source *source = ev[i].data.ptr;

		if (source)
			source->ready(source, ev[i].events);
	}
}

void msgep_cm_progress(struct msgep_eq *eq)
{
	struct msgep_cm *cm = eq->cm;
	struct epoll_event ev[ROUND];
	uint64_t next;
	int n = epoll_wait(cm->epfd, ev, ROUND, 0);

	cm->busy = true;
	cm_handle_events(cm, ev, n);
	msgep_cm_process_checked(cm);
	if (cm->timers.count) {
		next = dofi_timers_run(&cm->timers, dofi_now());
		if (next < cm->armed)
			cm_set_timerfd(cm, next);
	}
	if (!dofi_list_empty(&cm->ending))
		cm_try_ends(cm);
	if (cm->flush_domain)
		msgep_cm_flush_routed(cm);
	cm->busy = false;
	cm_free_dead(cm);
}
