/* SPDX-License-Identifier: BSD-2-Clause */
/* What an event queue keeps for its connections, and the work on it.
 *
 * Sockets and a timer are in an epoll set of their own, which is in the event queue's: whoever
 * sleeps on that wakes up, reads events, and so calls rdm_cm_progress.
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
/* Nanoseconds after which a doorbell is tried again. */
#define RING_AGAIN 1000000

/* ---------------------------------------------------------------- timers */

int rdm_cm_timer_init(struct rdm_cm *cm, struct dofi_timer *t, void (*fire)(struct dofi_timer *))
{
	int ret = dofi_timers_reserve(&cm->timers, cm->timer_users + 1);

	if (ret)
		return ret;
	cm->timer_users++;
	dofi_timer_init(t, fire);
	return 0;
}

void rdm_cm_timer_fini(struct rdm_cm *cm, struct dofi_timer *t)
{
	dofi_timer_cancel(&cm->timers, t);
	cm->timer_users--;
}

/* Without eq->lock. */
static void wake_soon(struct rdm_cm *cm)
{
	const struct itimerspec soon = { .it_value.tv_nsec = RING_AGAIN };

	timerfd_settime(cm->timerfd, 0, &soon, NULL);
}

static void set_timerfd(struct rdm_cm *cm, uint64_t when)
{
	struct itimerspec at;

	memset(&at, 0, sizeof(at));
	if (when != DOFI_NEVER) {
		at.it_value.tv_sec = (time_t)(when / 1000000000u);
		at.it_value.tv_nsec = (long)(when % 1000000000u);
	}
	timerfd_settime(cm->timerfd, TFD_TIMER_ABSTIME, &at, NULL);
	cm->armed = when;
	/* Asked for by another thread before that, perhaps, and undone. */
	if (atomic_load(&cm->ring_again))
		wake_soon(cm);
}

void rdm_cm_ring_later(struct rdm_ep *ep)
{
	struct rdm_cm *cm = ep->eq->cm;

	ep->owes_ring = true;
	atomic_store(&cm->ring_again, true);
	wake_soon(cm);
}

/* Wakes the peers whose doorbell the kernel had no memory for. */
static void ring_again(struct rdm_cm *cm)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &cm->conns) {
		struct rdm_ep *ep = dofi_container(pos, struct rdm_cm_conn, link)->ep;

		if (!ep)
			continue;
		rdm_lock(&ep->lock);
		if (ep->owes_ring)
			rdm_cm_ring(ep);
		rdm_unlock(&ep->lock);
	}
}

void rdm_cm_arm(struct rdm_cm *cm, struct dofi_timer *t, uint64_t when)
{
	dofi_timer_arm(&cm->timers, t, when);
	if (when < cm->armed)
		set_timerfd(cm, when);
}

/* Going off too early (a timer has been cancelled since) costs a look. */
static void timer_ready(struct rdm_source *source, uint32_t events)
{
	struct rdm_cm *cm = dofi_container(source, struct rdm_cm, timer);
	uint64_t count;
	ssize_t n = read(cm->timerfd, &count, sizeof(count));

	(void)n;
	(void)events;
	cm->armed = DOFI_NEVER;
	if (atomic_exchange(&cm->ring_again, false))
		ring_again(cm);
}

/* ---------------------------------------------------------------- socket objects */

static void conn_ready(struct rdm_source *source, uint32_t events)
{
	struct rdm_cm_conn *conn = dofi_container(source, struct rdm_cm_conn, source);

	switch (conn->step) {
	case RDM_CM_HALF:
		rdm_cm_half_ready(conn, events);
		break;
	case RDM_CM_DEAD:
		break;
	default:
		rdm_cm_conn_ready(conn, events);
		break;
	}
}

static void conn_fire(struct dofi_timer *timer)
{
	struct rdm_cm_conn *conn = dofi_container(timer, struct rdm_cm_conn, timer);

	switch (conn->step) {
	case RDM_CM_HALF:
		rdm_cm_half_tick(conn);
		break;
	case RDM_CM_LINGERING:
		rdm_cm_kill(conn);
		break;
	default:
		rdm_cm_conn_tick(conn);
		break;
	}
}

struct rdm_cm_conn *rdm_cm_conn_new(struct rdm_cm *cm, int fd, const struct rdm_wire *wire,
				    enum rdm_cm_step step)
{
	struct rdm_cm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->bufs = calloc(1, sizeof(*conn->bufs));
	if (!conn->bufs || rdm_cm_timer_init(cm, &conn->timer, conn_fire)) {
		free(conn->bufs);
		free(conn);
		return NULL;
	}
	conn->handle.fclass = FI_CLASS_CONNREQ;
	conn->source.ready = conn_ready;
	conn->cm = cm;
	conn->fd = fd;
	conn->in_fd = conn->out_fd = -1;
	conn->wire = wire;
	conn->began = dofi_now();
	dofi_list_init(&conn->link);
	dofi_list_init(&conn->end_link);
	conn->step = RDM_CM_DEAD;	/* in no list yet */
	rdm_cm_step(conn, step);
	return conn;
}

static bool is_early(enum rdm_cm_step step)
{
	return step == RDM_CM_DIALLING || step == RDM_CM_GREETING;
}

void rdm_cm_step(struct rdm_cm_conn *conn, enum rdm_cm_step step)
{
	struct rdm_cm *cm = conn->cm;

	if (conn->step == RDM_CM_HALF)
		cm->n_half--;
	if (conn->routed && conn->step == RDM_CM_GIVEN) {
		cm->n_routed--;
		conn->routed = false;
	}
	if (step == RDM_CM_HALF)
		cm->n_half++;
	cm->n_early -= is_early(conn->step);
	cm->n_early += is_early(step);
	conn->step = step;
	dofi_list_remove(&conn->link);
	dofi_list_append(step == RDM_CM_HALF ? &cm->half :
			 step == RDM_CM_DEAD ? &cm->dead : &cm->conns, &conn->link);
	if (step != RDM_CM_ENDING)
		dofi_list_remove(&conn->end_link);
	else if (dofi_list_empty(&conn->end_link))
		dofi_list_append(&cm->ending, &conn->end_link);
}

int rdm_cm_watch(struct rdm_cm_conn *conn, uint32_t events)
{
	struct epoll_event ev = { .events = events };
	int op = !events ? EPOLL_CTL_DEL : conn->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (conn->fd < 0 || events == conn->watched)
		return 0;
	ev.data.ptr = &conn->source;
	if (epoll_ctl(conn->cm->epfd, op, conn->fd, &ev))
		return -errno;
	conn->watched = events;
	return 0;
}

void rdm_cm_close_socket(struct rdm_cm_conn *conn)
{
	if (conn->fd < 0)
		return;
	rdm_cm_watch(conn, 0);
	shutdown(conn->fd, SHUT_RDWR);
	dofi_forkfd_close(conn->fd);
	conn->fd = -1;
	conn->watched = 0;
}

static void detach_ep(struct rdm_cm_conn *conn)
{
	struct rdm_ep *ep = conn->ep;

	if (!ep)
		return;
	if (ep->sock >= 0)
		rdm_cm_leave_queues(conn);
	rdm_lock(&ep->lock);
	ep->sock = -1;
	ep->cm = NULL;
	rdm_unlock(&ep->lock);
	conn->ep = NULL;
}

void rdm_cm_free_bufs(struct rdm_cm_conn *conn)
{
	if (conn->step != RDM_CM_LIVE || !conn->route || conn->fd >= 0)
		return;
	free(conn->bufs);
	conn->bufs = NULL;
}

static void free_dead(struct rdm_cm *cm)
{
	while (!dofi_list_empty(&cm->dead)) {
		struct rdm_cm_conn *conn = dofi_container(cm->dead.next, struct rdm_cm_conn, link);

		dofi_list_remove(&conn->link);
		free(conn->bufs);
		free(conn);
	}
}

void rdm_cm_close_offered(struct rdm_cm_conn *conn)
{
	if (conn->out_fd >= 0)
		dofi_forkfd_close(conn->out_fd);
	conn->out_fd = -1;
}

void rdm_cm_kill(struct rdm_cm_conn *conn)
{
	struct rdm_cm *cm = conn->cm;

	rdm_cm_tell_gone(conn);
	detach_ep(conn);
	rdm_cm_close_socket(conn);
	rdm_cm_close_offered(conn);
	if (conn->in_fd >= 0)
		dofi_forkfd_close(conn->in_fd);
	conn->in_fd = -1;
	rdm_cm_timer_fini(cm, &conn->timer);
	rdm_cm_step(conn, RDM_CM_DEAD);
	if (!cm->busy)
		free_dead(cm);
}

void rdm_cm_linger(struct rdm_cm_conn *conn)
{
	struct rdm_cm *cm = conn->cm;
	bool sent = !conn->bufs || conn->bufs->out_done == conn->bufs->out_len;
	uint64_t patience = DOFI_MS(dofi_param(DOFI_NUM_LINGER_MS));

	detach_ep(conn);
	if (sent)
		shutdown(conn->fd, SHUT_WR);
	/* Closing a TCP socket before the peer has done so may take away what it has not read; a
	 * unix socket's bytes are at the peer already. */
	if (conn->fd < 0 || !rdm_cm_discard(conn->fd) || (sent && conn->wire->local) || !patience ||
	    rdm_cm_watch(conn, EPOLLIN | EPOLLRDHUP | (sent ? 0 : EPOLLOUT))) {
		rdm_cm_kill(conn);
		return;
	}
	rdm_cm_step(conn, RDM_CM_LINGERING);
	rdm_cm_arm(cm, &conn->timer, dofi_now() + patience);
}

static void post(struct rdm_eq *eq, struct rdm_event *event, const struct rdm_event *what,
		 const void *data, size_t len)
{
	*event = *what;
	dofi_list_init(&event->link);
	event->len = len;
	if (len)
		memcpy(event->data, data, len);
	rdm_eq_push(eq, event);
}

bool rdm_cm_post_request(struct rdm_cm *cm, const struct rdm_event *what, const void *data,
			 size_t len)
{
	struct rdm_event *event = malloc(sizeof(*event) + RDM_CM_DATA);

	if (!event) {
		dofi_log(DOFI_LOG_ERROR, "no memory for a connection request");
		return false;
	}
	post(cm->eq, event, what, data, len);
	return true;
}

int rdm_cm_reserve(struct rdm_ep *ep)
{
	for (int i = 0; i < RDM_EP_EVENTS; i++) {
		if (!ep->reserved[i])
			ep->reserved[i] = malloc(sizeof(*ep->reserved[i]) + (i ? 0 : RDM_CM_DATA));
		if (!ep->reserved[i])
			return -FI_ENOMEM;
	}
	return 0;
}

void rdm_cm_unreserve(struct rdm_ep *ep)
{
	for (int i = 0; i < RDM_EP_EVENTS; i++) {
		free(ep->reserved[i]);
		ep->reserved[i] = NULL;
	}
}

void rdm_cm_post(struct rdm_ep *ep, const struct rdm_event *what, const void *data, size_t len)
{
	for (int i = 0; i < RDM_EP_EVENTS; i++) {
		struct rdm_event *event = ep->reserved[i];

		if (!event)
			continue;
		assert(!i || !len);
		ep->reserved[i] = NULL;
		post(ep->eq, event, what, data, len);
		return;
	}
	assert(!"an endpoint has no more events than are reserved");
}

/* ---------------------------------------------------------------- the event queue's calls */

static int watch_fds(struct rdm_cm *cm)
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

static void close_fds(struct rdm_cm *cm)
{
	if (cm->timerfd >= 0)
		dofi_forkfd_close(cm->timerfd);
	if (cm->epfd >= 0) {
		epoll_ctl(cm->eq->epfd, EPOLL_CTL_DEL, cm->epfd, NULL);
		dofi_forkfd_close(cm->epfd);
	}
}

int rdm_cm_open(struct rdm_eq *eq)
{
	struct rdm_cm *cm = calloc(1, sizeof(*cm));
	int ret;

	if (!cm)
		return -ENOMEM;
	cm->eq = eq;
	cm->epfd = cm->timerfd = -1;
	cm->timer.ready = timer_ready;
	cm->armed = DOFI_NEVER;
	dofi_list_init(&cm->listeners);
	dofi_list_init(&cm->half);
	dofi_list_init(&cm->conns);
	dofi_list_init(&cm->ending);
	dofi_list_init(&cm->dead);
	dofi_list_init(&cm->inboxes);
	ret = rdm_secret_load(&cm->secret);
	if (!ret)
		ret = rdm_cm_stall_init(cm);
	if (!ret)
		ret = watch_fds(cm);
	if (ret) {
		close_fds(cm);
		rdm_secret_free(cm->secret);
		dofi_timers_free(&cm->timers);
		free(cm);
		return ret;
	}
	eq->cm = cm;
	return 0;
}

static void kill_all(struct dofi_list *list)
{
	while (!dofi_list_empty(list))
		rdm_cm_kill(dofi_container(list->next, struct rdm_cm_conn, link));
}

void rdm_cm_close(struct rdm_eq *eq)
{
	struct rdm_cm *cm = eq->cm;

	if (!cm)
		return;
	while (!dofi_list_empty(&cm->listeners))
		rdm_cm_listener_free(dofi_container(cm->listeners.next, struct rdm_cm_listener,
						    link));
	kill_all(&cm->half);
	kill_all(&cm->conns);
	rdm_inbox_detach_all(cm);
	dofi_timers_free(&cm->timers);
	close_fds(cm);
	rdm_secret_free(cm->secret);
	free(cm);
	eq->cm = NULL;
}

/* What the consumer had not received when the peer ended may have been received since. */
static void try_ends(struct rdm_cm *cm)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &cm->ending)
		rdm_cm_try_end(dofi_container(pos, struct rdm_cm_conn, end_link));
}

void rdm_cm_progress(struct rdm_eq *eq)
{
	struct rdm_cm *cm = eq->cm;
	struct epoll_event ev[ROUND];
	struct rdm_ep *ep;
	uint64_t next;
	int n = epoll_wait(cm->epfd, ev, ROUND, 0);

	cm->busy = true;
	for (int i = 0; i < n; i++) {
		struct rdm_source *source = ev[i].data.ptr;

		source->ready(source, ev[i].events);
	}
	while ((ep = rdm_eq_next_settled(eq)))
		rdm_cm_settled(ep);
	if (cm->timers.count) {
		next = dofi_timers_run(&cm->timers, dofi_now());
		if (next < cm->armed)
			set_timerfd(cm, next);
	}
	if (!dofi_list_empty(&cm->ending))
		try_ends(cm);
	if (cm->told)
		rdm_cm_send_off(cm);
	cm->busy = false;
	free_dead(cm);
}
