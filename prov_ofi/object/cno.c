/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements CNOs, which notify consumers of events on any of several EVDs. */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "object/agent.h"
#include "base/clock.h"
#include "base/eventfd.h"
#include "object/cno.h"
#include "base/dat_error.h"
#include "object/progress_wakeup.h"
#include "object/version.h"

/* A sleep ends after this time, in case that the program has closed the adapter's descriptors. */
#define SLEEP_MOST DOFI_MS(4000)

/* A thread inside dat_cno_wait. */
struct cno_waiter {
	struct dofi_cno *cno;
	unsigned int round;    /* cno->round when the wait began */
	struct dofi_list link; /* cno->sleepers */
	sem_t wake;
};

/* Wakes the waiter that has slept longest. Caller holds cno->lock, which the waiter takes before it
 * leaves. */
static void cno_wake_one(struct dofi_cno *cno)
{
	struct cno_waiter *w;

	DOFI_ASSERT_LOCKED(&cno->lock);
	w = dofi_list_pop(&cno->sleepers, struct cno_waiter, link);
	if (w)
		sem_post(&w->wake);
}

static void cno_wake_all(struct dofi_cno *cno)
{
	while (!dofi_list_empty(&cno->sleepers))
		cno_wake_one(cno);
}

/* Consumes the pending trigger; NULL: none. Caller holds cno->lock. */
static DAT_EVD_HANDLE cno_take_trigger(struct dofi_cno *cno)
{
	DOFI_ASSERT_LOCKED(&cno->lock);
	if (!cno->pending)
		return NULL;
	cno->pending = false;
	if (cno->fd >= 0)
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
		if (cno->fd >= 0)
			dofi_eventfd_set(cno->fd);
		cno_wake_one(cno);
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
	if (!--cno->evds) {
		cno->round++;
		cno_wake_all(cno);
	}
	pthread_mutex_unlock(&cno->lock);
}

static int cno_new(struct dofi_ia *ia, DAT_OS_WAIT_PROXY_AGENT agent, bool with_fd,
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
	/* A forked child does not close it: the program knows its number. */
	cno->fd = with_fd ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
	if (with_fd && cno->fd < 0) {
		ret = -errno;
		goto no_fd;
	}
	/* A thread may be using the handle of a former CNO in this memory. */
	pthread_mutex_lock(&cno->lock);
	cno->pending = cno->dying = false;
	dofi_list_init(&cno->evd_list);
	dofi_list_init(&cno->sleepers);
	cno->waiters = cno->round = 0;
	cno->evds = 0;
	pthread_mutex_unlock(&cno->lock);
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
	cno_wake_all(cno);
	while (cno->waiters)
		pthread_cond_wait(&cno->left, &cno->lock);
	dofi_agent_remove(cno);
	pthread_mutex_unlock(&cno->lock);
	dofi_agent_await(cno);
	if (cno->fd >= 0)
		close(cno->fd);
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

bool dofi_cno_read(struct dofi_cno *cno, struct dofi_cno_param *param)
{
	bool live;

	param->ia = dofi_api_ia_handle(dofi_obj_ia(&cno->obj));
	pthread_mutex_lock(&cno->lock);
	live = dofi_cno_live(cno) != NULL;
	if (live) {
		param->agent = dofi_agent_of(cno);
		param->fd = cno->fd;
	}
	pthread_mutex_unlock(&cno->lock);
	return live;
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
	if (!dofi_cno_live(handle))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	else if (cno->waiters || cno->evds)
		ret = DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	else if (!dofi_obj_retire(&cno->obj))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	pthread_mutex_unlock(&cno->lock);
	if (!ret)
		dofi_cno_destroy(cno);
	return ret;
}

/* Caller holds cno->lock. */
static void cno_leave_wait(struct dofi_cno *cno)
{
	DOFI_ASSERT_LOCKED(&cno->lock);
	cno->waiters--;
	if (cno->dying)
		pthread_cond_broadcast(&cno->left);
}

/* Caller holds cno->lock. */
static void cno_end_sleep(struct cno_waiter *w)
{
	dofi_list_remove(&w->link);
	sem_destroy(&w->wake);
}

/* Cancellation handler of a sleeping waiter: a pending trigger remains for other waiters. */
static void cno_leave_cancelled(void *arg)
{
	struct cno_waiter *w = arg;
	struct dofi_cno *cno = w->cno;

	pthread_mutex_lock(&cno->lock);
	cno_end_sleep(w);
	if (cno->pending)
		cno_wake_one(cno);
	cno_leave_wait(cno);
	pthread_mutex_unlock(&cno->lock);
}

/* Sleeps until the waiter is woken or the deadline expires. Caller holds cno->lock, which is
 * released meanwhile. Returns 0 or -errno. The timeout is needed also to get EINTR: the kernel
 * restarts sleeps without one if the signal's action has SA_RESTART. */
static int cno_sleep_once(struct cno_waiter *w, uint64_t deadline)
{
	struct dofi_cno *cno = w->cno;
	uint64_t end = dofi_now() + SLEEP_MOST;
	struct timespec ts;
	int ret;

	if (end > deadline)
		end = deadline;
	ts = (struct timespec){ (time_t)(end / 1000000000u), (long)(end % 1000000000u) };
	sem_init(&w->wake, 0, 0);
	dofi_list_append(&cno->sleepers, &w->link);
	pthread_mutex_unlock(&cno->lock);
	/* Nothing else may look whether the adapter is alive. */
	(void)dofi_progress_lost(cno->obj.ia);
	pthread_cleanup_push(cno_leave_cancelled, w);
	ret = sem_clockwait(&w->wake, CLOCK_MONOTONIC, &ts) ? -errno : 0;
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&cno->lock);
	cno_end_sleep(w);
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
	/* Freed since, it has no list of sleepers that this thread could leave again. */
	if (!dofi_cno_live(handle)) {
		pthread_mutex_unlock(&cno->lock);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	}
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
	cno_leave_wait(cno);
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
