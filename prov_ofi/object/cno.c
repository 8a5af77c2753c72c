/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements CNOs, which notify consumers of events on any of several EVDs. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "object/agent.h"
#include "base/clock.h"
#include "base/eventfd.h"
#include "base/forkfd.h"
#include "object/cno.h"
#include "base/dat_error.h"
#include "object/progress_wakeup.h"

/* A sleep ends after this time, in case that the program has closed the descriptor. */
#define SLEEP_MOST DOFI_MS(4000)
/* Interval of checks once it has. */
#define LOST_TICK DOFI_MS(50)

/* Consumes the pending trigger; NULL: none. Caller holds cno->lock. */
static DAT_EVD_HANDLE cno_take_trigger(struct dofi_cno *cno)
{
	DOFI_ASSERT_LOCKED(&cno->lock);
	if (!cno->pending)
		return NULL;
	cno->pending = false;
	/* The descriptor must stay readable until the dismissed waiters have left. */
	if (!cno->dismissed)
		dofi_eventfd_clear(cno->fd);
	return dofi_cno_cause(cno, &cno->cause);
}

void dofi_cno_fire(struct dofi_cno *cno, struct dofi_evd *evd)
{
	const struct dofi_cause cause = { evd, evd->life };
	bool call;

	DOFI_ASSERT_LOCKED(&evd->lock);
	pthread_mutex_lock(&cno->lock);
	dofi_list_remove(&evd->cno_link);
	dofi_list_prepend(&cno->evd_list, &evd->cno_link);
	call = dofi_agent_trigger(cno, &cause);
	if (!cno->pending) {
		cno->pending = true;
		cno->cause = cause;
		dofi_eventfd_set(cno->fd);
	}
	pthread_mutex_unlock(&cno->lock);
	if (call)
		dofi_progress_wakeup(cno->obj.ia);
}

bool dofi_cno_attach(struct dofi_cno *cno, struct dofi_evd *evd)
{
	bool live;

	pthread_mutex_lock(&cno->lock);
	live = dofi_cno_live(cno) != NULL;
	if (live) {
		dofi_list_append(&cno->evd_list, &evd->cno_link);
		cno->evds++;
	}
	pthread_mutex_unlock(&cno->lock);
	return live;
}

void dofi_cno_detach(struct dofi_cno *cno, struct dofi_evd *evd)
{
	pthread_mutex_lock(&cno->lock);
	dofi_list_remove(&evd->cno_link);
	if (!--cno->evds && cno->waiters) {
		cno->round++;
		cno->dismissed = cno->waiters;
		dofi_eventfd_set(cno->fd);
	}
	pthread_mutex_unlock(&cno->lock);
}

static int cno_new(struct dofi_ia *ia, DAT_OS_WAIT_PROXY_AGENT agent, bool fd_given,
		   struct dofi_cno **out)
{
	struct dofi_cno *cno = dofi_obj_new(ia, DAT_HANDLE_TYPE_CNO);
	int ret;

	if (!cno)
		return -ENOMEM;
	cno->agent = NULL;
	ret = dofi_agent_new(cno, agent, &cno->agent);
	if (ret)
		goto no_agent;
	cno->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (cno->fd < 0) {
		ret = -errno;
		goto no_fd;
	}
	/* A descriptor given to the program must not be reused: the program knows its number. */
	if (!fd_given)
		dofi_forkfd(cno->fd);
	cno->fd_given = fd_given;
	cno->pending = cno->dying = false;
	dofi_list_init(&cno->evd_list);
	cno->waiters = cno->dismissed = cno->round = 0;
	cno->evds = 0;
	dofi_obj_publish(&cno->obj);
	*out = cno;
	return 0;
no_fd:
	free(cno->agent);
no_agent:
	dofi_obj_release(&cno->obj);
	return ret;
}

void dofi_cno_destroy(struct dofi_cno *cno)
{
	pthread_mutex_lock(&cno->lock);
	cno->dying = true;
	if (cno->waiters)
		dofi_eventfd_set(cno->fd);
	while (cno->waiters)
		pthread_cond_wait(&cno->left, &cno->lock);
	dofi_agent_remove(cno);
	pthread_mutex_unlock(&cno->lock);
	dofi_agent_await(cno);
	if (cno->fd_given)
		close(cno->fd);
	else
		dofi_forkfd_close(cno->fd);
	cno->fd = -1;
	dofi_obj_release(&cno->obj);
}

DAT_RETURN dofi_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			   DAT_CNO_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct dofi_cno *cno;
	int ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!agent.proxy_agent_func && agent.instance_data)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = cno_new(ia, agent, false, &cno);
	if (ret)
		return dofi_ret(ret);
	*out = cno;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_fd_create(DAT_IA_HANDLE ia_handle, int *fd, DAT_CNO_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	DAT_OS_WAIT_PROXY_AGENT none = { NULL, NULL };
	struct dofi_cno *cno;
	int ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!fd)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = cno_new(ia, none, true, &cno);
	if (ret)
		return dofi_ret(ret);
	*fd = cno->fd;
	*out = cno;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dofi_cno *cno = dofi_cno_live(handle);
	struct dofi_agent *set;
	int ret;

	if (!cno)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (!agent.proxy_agent_func && agent.instance_data)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = dofi_agent_new(cno, agent, &set);
	if (ret)
		return dofi_ret(ret);
	pthread_mutex_lock(&cno->lock);
	if (!dofi_cno_live(handle)) {
		pthread_mutex_unlock(&cno->lock);
		free(set);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	}
	/* Calls for earlier triggers stay queued when the agent is replaced. */
	if (set)
		dofi_agent_replace(cno, set);
	else
		dofi_agent_remove(cno);
	pthread_mutex_unlock(&cno->lock);
	if (!set)
		dofi_agent_await(cno);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_free(DAT_CNO_HANDLE handle)
{
	struct dofi_cno *cno = dofi_cno_live(handle);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!cno)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	/* Under this lock no EVD can be attached to it. */
	pthread_mutex_lock(&cno->lock);
	if (cno->waiters || cno->evds)
		ret = DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	else if (!dofi_obj_retire(&cno->obj))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	pthread_mutex_unlock(&cno->lock);
	if (!ret)
		dofi_cno_destroy(cno);
	return ret;
}

/* A thread inside dat_cno_wait. */
struct cno_waiter {
	struct dofi_cno *cno;
	unsigned int round; /* cno->round when the wait began */
};

/* Caller holds cno->lock. */
static void cno_leave_wait(const struct cno_waiter *w)
{
	struct dofi_cno *cno = w->cno;

	DOFI_ASSERT_LOCKED(&cno->lock);
	cno->waiters--;
	if (cno->round != w->round && !--cno->dismissed && !cno->pending)
		dofi_eventfd_clear(cno->fd);
	if (cno->dying)
		pthread_cond_broadcast(&cno->left);
}

/* Cancellation handler of a sleeping waiter: a pending trigger remains for other waiters. */
static void cno_leave_cancelled(void *arg)
{
	const struct cno_waiter *w = arg;

	pthread_mutex_lock(&w->cno->lock);
	cno_leave_wait(w);
	pthread_mutex_unlock(&w->cno->lock);
}

/* Sleeps until the descriptor is readable or the deadline expires. Caller holds cno->lock, which is
 * released meanwhile. */
static int cno_sleep_once(struct cno_waiter *w, uint64_t deadline)
{
	struct dofi_cno *cno = w->cno;
	struct pollfd pfd = { .fd = cno->fd, .events = POLLIN };
	bool lost = atomic_load(&cno->obj.ia->prog.lost);
	uint64_t now = dofi_now(), left = deadline > now ? deadline - now : 0;
	uint64_t most = lost ? LOST_TICK : SLEEP_MOST;
	struct timespec ts;
	int ret;

	if (left > most)
		left = most;
	ts = (struct timespec){ (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
	if (lost)
		pfd.fd = -1;
	pthread_mutex_unlock(&cno->lock);
	pthread_cleanup_push(cno_leave_cancelled, w);
	ret = ppoll(&pfd, 1, &ts, NULL) < 0 ? -errno : 0;
	pthread_cleanup_pop(0);
	if (!ret && pfd.revents & POLLNVAL)
		(void)dofi_progress_lost(cno->obj.ia);
	pthread_mutex_lock(&cno->lock);
	return ret;
}

DAT_RETURN dofi_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	struct dofi_cno *cno = dofi_cno_live(handle);
	struct cno_waiter w = { .cno = cno };
	uint64_t deadline = DOFI_NEVER;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!cno)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (!evd)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (timeout != DAT_TIMEOUT_INFINITE)
		deadline = dofi_now() + DOFI_US(timeout);
	*evd = DAT_HANDLE_NULL;
	pthread_testcancel();
	pthread_mutex_lock(&cno->lock);
	cno->waiters++;
	w.round = cno->round;
	while (!cno->pending && !cno->dying && cno->round == w.round) {
		if (dofi_now() >= deadline) {
			ret = DOFI_ERR(DAT_QUEUE_EMPTY, 0);
			break;
		}
		if (cno_sleep_once(&w, deadline) == -EINTR && !cno->pending && !cno->dying &&
		    cno->round == w.round) {
			ret = DOFI_ERR(DAT_INTERRUPTED_CALL, 0);
			break;
		}
	}
	if (!ret && !cno->dying)
		*evd = cno_take_trigger(cno);
	cno_leave_wait(&w);
	pthread_mutex_unlock(&cno->lock);
	return ret;
}

DAT_RETURN dofi_cno_trigger(DAT_CNO_HANDLE handle, DAT_EVD_HANDLE *evd)
{
	struct dofi_cno *cno = dofi_cno_live(handle);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!cno)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (!evd)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	pthread_mutex_lock(&cno->lock);
	if (!cno->pending)
		ret = DOFI_ERR(DAT_QUEUE_EMPTY, 0);
	*evd = cno_take_trigger(cno);
	pthread_mutex_unlock(&cno->lock);
	return ret;
}
