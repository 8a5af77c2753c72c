/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps completions; consumers read them and block until there are some. (hot)
 *
 * Reading an empty queue polls its endpoints (cq_poll.c). Before a consumer blocks, fi_trywait
 * requests that every peer ring the doorbell when it sends. The descriptor is an epoll set with the
 * queue's own signal, the transport's descriptors and the sockets on which doorbells arrive.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/inline.h"
#include "msgep/cm/cm.h"
#include "msgep/object/cq_poll.h"
#include "msgep/cm/inbox.h"
#include "msgep/ready.h"
#include "msgep/wait.h"

/* epoll data: an endpoint whose peer rings the doorbell, or one of these. */
#define SIGNAL NULL
#define WIRE ((void *)1)
/* Maximum of a queue's initial capacity as requested; it grows rather than lose anything. */
#define FIRST_CAPACITY_MOST 65536u
/* Polls in one fi_trywait. */
#define TRIES 256

static struct msgep_cq *cq_of(struct fid_cq *fid)
{
	return dofi_container(fid, struct msgep_cq, fid);
}

/* Reads the ring. */
static __attribute__((noinline)) ssize_t cq_take(struct msgep_cq *cq, struct fi_cq_data_entry *out,
						 size_t count)
{
	uint32_t head, tail;
	size_t n = 0;

	dofi_lock(&cq->lock);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	while (n < count && head != tail) {
		const struct msgep_completion *c = &cq->ring[head & (cq->capacity - 1)];

		if (c->err)
			break;
		out[n++] = c->entry;
		head++;
	}
	atomic_store_explicit(&cq->head, head, memory_order_relaxed);
	if (cq->held)
		msgep_cq_refill(cq);
	dofi_unlock(&cq->lock);
	if (n)
		return (ssize_t)n;
	return head != tail && count ? -FI_EAVAIL : -FI_EAGAIN;
}

/* Returns what a poll has read. */
static inline ssize_t cq_result(struct msgep_cq *cq, const struct msgep_cq_direct *direct)
{
	if (!direct->n)
		return msgep_cq_empty(cq) ? -FI_EAGAIN : cq_take(cq, direct->out, direct->capacity);
	/* A thread that blocks on the queue must poll again, as after any completion: its peers
	 * have rung the doorbell, and this thread may have consumed that. */
	msgep_cq_wake(cq);
	return (ssize_t)direct->n;
}

/* Polls, and releases the lock. */
static __attribute__((noinline)) ssize_t cq_poll(struct msgep_cq *cq, struct msgep_cq_ep *news,
						 struct fi_cq_data_entry *out, size_t count)
{
	struct msgep_cq_direct direct = { .cq = cq, .out = out, .capacity = count };
	bool all;

	if (cq->network && msgep_cq_polls_network(cq))
		cq->network->progress(cq->domain, &direct);
	all = msgep_cq_poll_eps(cq, news, false, &direct);
	if (!direct.n)
		msgep_cq_serve_another(cq);
	dofi_unlock(&cq->poll);
	if (!all)
		sched_yield();
	return cq_result(cq, &direct);
}

/* One polling thread at a time is enough. On contention it yields the CPU, which the lock holder
 * may be waiting for: otherwise the lock stays taken for the rest of the poller's time slice. */
static __attribute__((noinline)) ssize_t cq_yield(struct msgep_cq *cq, struct fi_cq_data_entry *out,
						  size_t count)
{
	sched_yield();
	return msgep_cq_empty(cq) ? -FI_EAGAIN : cq_take(cq, out, count);
}

/* After a poll that has found nothing. */
static __attribute__((noinline)) ssize_t cq_visit_another(struct msgep_cq *cq)
{
	msgep_cq_serve_another(cq);
	dofi_unlock(&cq->poll);
	return -FI_EAGAIN;
}

/* The usual read of a program that polls finds nothing: it calls no function, and so saves no
 * registers. */
static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct msgep_cq *cq = cq_of(fid);
	struct msgep_cq_ep *news = NULL;

	if (!msgep_cq_empty(cq))
		return cq_take(cq, buf, count);
	if (!dofi_trylock(&cq->poll))
		return cq_yield(cq, buf, count);
	if (!msgep_cq_is_plain(cq) || (news = msgep_cq_find_news(cq, cq->eps)))
		return cq_poll(cq, news, buf, count);
	cq->polls++;
	if (msgep_cq_visits_another(cq))
		return cq_visit_another(cq);
	dofi_await_loads();
	dofi_unlock(&cq->poll);
	return -FI_EAGAIN;
}

/* The same where the transport processes what arrives for all queues, under its own lock. */
static ssize_t cq_read_dispatched(struct fid_cq *fid, void *buf, size_t count)
{
	struct msgep_cq *cq = cq_of(fid);
	struct msgep_cq_direct direct = { .cq = cq, .out = buf, .capacity = count };

	if (!msgep_cq_empty(cq))
		return cq_take(cq, buf, count);
	cq->network->progress(cq->domain, &direct);
	return cq_result(cq, &direct);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *err, uint64_t flags)
{
	struct msgep_cq *cq = cq_of(fid);
	const struct msgep_completion *c;
	ssize_t ret = -FI_EAGAIN;
	uint32_t head;

	(void)flags;
	dofi_lock(&cq->lock);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	c = &cq->ring[head & (cq->capacity - 1)];
	if (head != atomic_load_explicit(&cq->tail, memory_order_relaxed) && c->err) {
		err->op_context = c->entry.op_context;
		err->flags = c->entry.flags;
		err->len = c->entry.len;
		err->data = c->entry.data;
		err->err = c->err;
		err->prov_errno = 0;
		atomic_store_explicit(&cq->head, head + 1, memory_order_relaxed);
		if (cq->held)
			msgep_cq_refill(cq);
		ret = 1;
	}
	dofi_unlock(&cq->lock);
	return ret;
}

/* ---------------------------------------------------------------- blocking */

static void cq_drain_doorbells(struct msgep_cq *cq, struct msgep_ep *ep)
{
	bool more;

	dofi_lock(&ep->lock);
	more = msgep_cm_quiet(ep);
	dofi_unlock(&ep->lock);
	/* The event queue handles the connection's end. */
	if (!more && ep->sock >= 0)
		epoll_ctl(cq->epfd, EPOLL_CTL_DEL, ep->sock, NULL);
}

/* Clears what woke the last thread. Caller holds cq->poll, so no endpoint is removed. */
static void cq_clear_signal(struct msgep_cq *cq)
{
	struct epoll_event ev[16];
	uint64_t count;
	int n = epoll_wait(cq->epfd, ev, 16, 0);

	DOFI_ASSERT_LOCKED(&cq->poll);
	for (int i = 0; i < n; i++) {
		if (ev[i].data.ptr == WIRE)
			continue; /* cleared by its owner */
		if (ev[i].data.ptr != SIGNAL)
			cq_drain_doorbells(cq, ev[i].data.ptr);
		else if (read(cq->signal, &count, sizeof(count)) < 0)
			continue; /* another thread has read it */
	}
}

static void cq_arm_eps(struct msgep_cq *cq)
{
	const struct msgep_transport *armed = NULL;

	if (cq->all_dispatched)
		return;
	for (uint32_t i = 0; i < cq->n_polled; i++) {
		struct msgep_ep *ep = cq->eps[i].ep;

		dofi_lock(&ep->lock);
		if (atomic_load(&ep->state) == MSGEP_UP && ep->transport->arm) {
			ep->transport->arm(ep, atomic_load(&ep->pending));
			armed = ep->transport;
		}
		dofi_unlock(&ep->lock);
	}
	for (uint32_t i = 0; i < cq->n_ready; i++) {
		atomic_store(&cq->ready[i]->in->asleep, 1);
		armed = cq->ready[i]->transport;
	}
	/* No fabric has two transports with doorbells. */
	if (armed)
		armed->drain_stores(cq->domain);
}

static bool cq_eps_idle(struct msgep_cq *cq)
{
	bool quiet = !atomic_load(&cq->n_touched);

	if (cq->all_dispatched)
		return true;
	for (uint32_t i = 0; i < cq->n_ready && quiet; i++)
		quiet = msgep_ready_is_quiet(cq->ready[i]);
	for (uint32_t i = 0; i < cq->n_polled && quiet; i++) {
		struct msgep_ep *ep = cq->eps[i].ep;

		dofi_lock(&ep->lock);
		if (atomic_load(&ep->state) == MSGEP_UP)
			quiet = ep->transport->quiet(ep, atomic_load(&ep->pending));
		dofi_unlock(&ep->lock);
	}
	return quiet;
}

/* One queue watches the transport for all, because the kernel limits how deep epoll sets may be
 * nested. Its reader processes what arrives for the other queues and wakes their threads. It is the
 * queue on which a thread has blocked last, so that its own completions wake that thread and no
 * other. If that thread stops polling, the progress thread soon blocks on the queue. A queue
 * without endpoints gives way to one that has some, but does not replace one: a consumer that polls
 * needs no wakeups. */
static void cq_watch_transport(struct msgep_cq *cq, const struct msgep_transport *transport)
{
	struct msgep_domain *domain = cq->domain;
	struct epoll_event ev = { .events = EPOLLIN };
	int fd[MSGEP_WAIT_FDS], n, added = 0;
	struct msgep_cq *former;

	ev.data.ptr = WIRE;
	dofi_lock(&domain->wait_lock);
	former = atomic_load(&domain->wait_cq);
	if (former == cq || (former && !cq->n_eps))
		goto out;
	n = transport->wait_fds(domain, fd);
	/* A previous attempt that failed may have added one. */
	while (added < n &&
	       (!epoll_ctl(cq->epfd, EPOLL_CTL_ADD, fd[added], &ev) || errno == EEXIST))
		added++;
	if (added < n)
		goto out;
	atomic_store(&domain->wait_cq, cq);
	if (!former)
		msgep_inbox_watch(domain, false);
	while (former && n--)
		epoll_ctl(former->epfd, EPOLL_CTL_DEL, fd[n], NULL);
out:
	dofi_unlock(&domain->wait_lock);
}

/* The queue is closed; threads that block on others poll again, and one takes over. */
static void cq_unwatch_transport(struct msgep_cq *cq)
{
	struct msgep_domain *domain = cq->domain;
	struct dofi_list *pos;

	dofi_lock(&domain->serve_lock);
	dofi_lock(&domain->wait_lock);
	if (domain->served == &cq->link)
		domain->served = cq->link.prev;
	dofi_list_remove(&cq->link);
	dofi_unlock(&domain->serve_lock);
	if (atomic_load(&domain->wait_cq) == cq) {
		atomic_store(&domain->wait_cq, NULL);
		dofi_list_each(pos, &domain->cqs)
			msgep_cq_wake(dofi_container(pos, struct msgep_cq, link));
	}
	if (dofi_list_empty(&domain->cqs))
		msgep_inbox_watch(domain, true);
	dofi_unlock(&domain->wait_lock);
}

/* True if a thread may block now. *far: if not, the network transport has to be polled, too. Caller
 * holds cq->poll. */
static bool cq_try_once(struct msgep_cq *cq, bool *far)
{
	const struct msgep_fabric *fabric = cq->domain->fabric;
	const struct msgep_transport *transport = fabric->transport;

	DOFI_ASSERT_LOCKED(&cq->poll);
	cq_clear_signal(cq);
	atomic_store(&cq->armed, true);
	/* A later first connection finds the queue armed and wakes it. The descriptors of the
	 * watching queue must not stay ready. */
	*far = !fabric->local_transport || atomic_load(&cq->domain->wait_cq) == cq ||
	       transport->busy(cq->domain);
	cq_arm_eps(cq);
	if (*far && transport->wait_fds)
		cq_watch_transport(cq, transport);
	return cq_eps_idle(cq) &&
	       (!*far || !transport->may_sleep || transport->may_sleep(cq->domain, cq->n_eps));
}

/* Also processes progress without a completion, such as parts of a long message: a caller regards a
 * refusal with nothing to read as stalled progress. */
int msgep_cq_trywait(struct msgep_cq *cq)
{
	bool quiet = false, all = true, far;

	dofi_lock(&cq->poll);
	for (int i = 0; i < TRIES && !quiet && msgep_cq_empty(cq); i++) {
		/* Room is reported once: an endpoint that was skipped has not processed it. */
		quiet = cq_try_once(cq, &far) && all;
		if (quiet)
			break;
		if (far && cq->network)
			cq->network->progress(cq->domain, NULL);
		all = msgep_cq_poll_eps(cq, NULL, true, NULL);
	}
	quiet = quiet && msgep_cq_empty(cq);
	dofi_unlock(&cq->poll);
	return quiet ? 0 : -FI_EAGAIN;
}

/* ---------------------------------------------------------------- life */

static void cq_release(struct msgep_cq *cq)
{
	msgep_wait_close(cq->epfd, cq->signal);
	free(cq->ring);
	free(cq->eps);
	free(cq->ready);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct msgep_cq *cq = dofi_container(fid, struct msgep_cq, fid.fid);

	if (cq->n_eps)
		return -FI_EBUSY;
	cq_unwatch_transport(cq);
	cq_release(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_GETWAIT)
		return -FI_ENOSYS;
	*(int *)arg = dofi_container(fid, struct msgep_cq, fid.fid)->epfd;
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.control = cq_control,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readerr = cq_readerr,
};

static struct fi_ops_cq cq_dispatched_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read_dispatched,
	.readerr = cq_readerr,
};

int msgep_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		  void *context)
{
	const struct msgep_fabric *fabric;
	struct msgep_cq *cq;
	int ret;

	if (attr->format != FI_CQ_FORMAT_DATA)
		return -FI_ENOSYS;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	msgep_fid_init(&cq->fid.fid, FI_CLASS_CQ, context, &cq_fid_ops);
	cq->domain = dofi_container(domain, struct msgep_domain, fid);
	fabric = cq->domain->fabric;
	cq->network = fabric->transport->progress ? fabric->transport : NULL;
	cq->all_dispatched = fabric->transport->dispatches && !fabric->local_transport;
	cq->fid.ops = cq->all_dispatched ? &cq_dispatched_ops : &cq_ops;
	cq->plain_limit = cq->network ? 0 : MSGEP_BUSY_LEAST + 1;
	cq->epfd = cq->signal = -1;
	cq->held_end = &cq->held;
	dofi_list_init(&cq->ready_pairs);
	dofi_list_init(&cq->touched);
	cq->capacity = 64;
	while (cq->capacity < attr->size && cq->capacity < FIRST_CAPACITY_MOST)
		cq->capacity *= 2;
	cq->ring = malloc(cq->capacity * sizeof(*cq->ring));
	dofi_lock_init(&cq->poll);
	dofi_lock_init(&cq->touch_lock);
	dofi_lock_init(&cq->lock);
	ret = cq->ring ? msgep_wait_open(&cq->epfd, &cq->signal) : -FI_ENOMEM;
	if (ret) {
		cq_release(cq);
		return ret;
	}
	dofi_lock(&cq->domain->serve_lock);
	dofi_lock(&cq->domain->wait_lock);
	dofi_list_append(&cq->domain->cqs, &cq->link);
	dofi_unlock(&cq->domain->wait_lock);
	dofi_unlock(&cq->domain->serve_lock);
	*out = &cq->fid;
	return 0;
}
