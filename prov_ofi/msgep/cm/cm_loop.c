/* SPDX-License-Identifier: BSD-2-Clause */
/* Event loop of the connection manager: epoll set, timers, what each connection object does next.
 *
 * Sockets and a timer are in an epoll set that is itself in the event queue's set: a thread that
 * blocks on the event queue wakes up, reads events, and thereby calls msgep_cm_progress.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "msgep/cm/cm_int.h"

#define ROUND 64
/* Ends of connections wait for at most this number of full rounds of handshakes. */
#define FIRST_ROUNDS 32

/* ---------------------------------------------------------------- timers */

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

/* ---------------------------------------------------------------- connection objects */

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
	cm->conn_ready = cm_conn_ready;
	cm->conn_fire = cm_conn_fire;
	cm->process_inbox = msgep_cm_process_inbox;
	cm->armed = DOFI_NEVER;
	dofi_list_init(&cm->listeners);
	dofi_list_init(&cm->half_open);
	dofi_list_init(&cm->conns);
	dofi_list_init(&cm->ending);
	dofi_list_init(&cm->dead);
	dofi_list_init(&cm->inboxes);
	dofi_list_init(&cm->hosts);
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
			msgep_cm_set_timer(cm, next);
	}
	if (!dofi_list_empty(&cm->ending))
		cm_try_ends(cm);
	if (cm->flush_domain)
		msgep_cm_flush_routed(cm);
	cm->busy = false;
	msgep_cm_free_dead(cm);
}
