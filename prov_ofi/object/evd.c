/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates, resizes and frees EVDs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/forkfd.h"
#include "base/param.h"
#include "object/cno.h"
#include "fabric/fab_ops.h"
#include "base/dat_error.h"
#include "object/evd.h"
#include "object/limits.h"
#include "object/progress_wakeup.h"
#include "object/version.h"

#define DTO_STREAMS (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
#define ALL_STREAMS \
	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | \
	 DAT_EVD_RMR_BIND_FLAG | DAT_EVD_ASYNC_FLAG | DOFI_EVD_EXTENSION)

static int evd_open_cq(struct dofi_evd *evd)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
	int ret;

	/* The progress thread waits at the descriptor. Where software queues completions, more than
	 * this find room. */
	attr.size = evd->qlen < 128 ? 128 : (size_t)evd->qlen;
	ret = evd->obj.ia->fab.desc->ops->open_cq(evd, &attr);
	if (ret) {
		evd->cq = NULL;
		return ret;
	}
	ret = fi_control(&evd->cq->fid, FI_GETWAIT, &evd->cq_fd);
	if (ret) {
		fi_close(&evd->cq->fid);
		evd->cq = NULL;
	}
	return ret;
}

static void evd_reset_fields(struct dofi_evd *evd, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			     bool internal)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	evd->life++;
	evd->flags = flags;
	evd->qlen = (DAT_COUNT)dofi_evd_pow2((uint32_t)qlen);
	evd->cq = NULL;
	evd->cq_fd = -1;
	evd->capacity = (uint32_t)evd->qlen;
	evd->head = evd->tail = evd->notified = evd->extra = 0;
	evd->cno = NULL;
	evd->enabled = evd->waitable = true;
	evd->waiter = evd->sleeping = evd->dead = evd->overflowed = false;
	evd->dying = true; /* until it is complete */
	evd->no_read = !(flags & DTO_STREAMS);
	evd->awaited = NULL;
	evd->rest = evd->rest_end = 0;
	evd->wake_fd = -1;
	evd->spin_ns = (uint32_t)DOFI_US(dofi_param(DOFI_NUM_SPIN_US));
	evd->yield_skip = evd->yield_skipped = 0;
	evd->unsignalled_streams = 0;
	memset(&evd->models, 0, sizeof(evd->models));
	evd->feeds = evd->groups = evd->borrowers = 0;
	evd->count_base = NULL;
	evd->counts->head.flags = (uint32_t)flags;
	evd->counts->qlen = (uint32_t)evd->qlen;
	evd->more_polls = evd->seen_polls = 0;
	evd->has_msg_prefix = evd->obj.ia->fab.has_msg_prefix;
	evd->full_batches = 0;
	evd->min_batch = evd->batch = evd->obj.ia->fab.min_batch;
	dofi_evd_look_next(evd);
	evd->clock_at = 0;
	evd->empty_polls = 0;
	evd->polled = false;
	evd->internal = internal;
	dofi_list_init(&evd->link);
	dofi_list_init(&evd->cno_link);
}

/* Publishes the EVD to the progress thread, which reads its CQ. */
static void evd_enlist(struct dofi_evd *evd)
{
	struct dofi_ia *ia = evd->obj.ia;

	if (!evd->cq)
		return;
	pthread_mutex_lock(&ia->prog_lock);
	dofi_list_append(&ia->evds, &evd->link);
	pthread_mutex_unlock(&ia->prog_lock);
	dofi_progress_wakeup(ia);
}

static void evd_delist(struct dofi_evd *evd)
{
	struct dofi_ia *ia = evd->obj.ia;

	if (!evd->cq)
		return;
	pthread_mutex_lock(&ia->prog_lock);
	dofi_evd_disarm(evd, DOFI_EVD_LEFT);
	dofi_list_remove(&evd->link);
	pthread_mutex_unlock(&ia->prog_lock);
}

void dofi_evd_disarm(struct dofi_evd *evd, enum dofi_evd_progress to)
{
	DOFI_ASSERT_LOCKED(&evd->obj.ia->prog_lock);
	if (evd->progress == DOFI_EVD_ARMED)
		epoll_ctl(evd->obj.ia->prog.epfd, EPOLL_CTL_DEL, evd->cq_fd, NULL);
	evd->progress = to;
}

/* Caller holds evd->lock. False: the CNO was freed meanwhile; the EVD has none. */
static bool evd_assign_cno(struct dofi_evd *evd, struct dofi_cno *cno)
{
	struct dofi_cno *old = evd->cno;

	DOFI_ASSERT_LOCKED(&evd->lock);
	/* Detaching the last EVD from a CNO releases its waiters. */
	if (old == cno)
		return true;
	if (old)
		dofi_cno_detach(old, evd);
	evd->cno = NULL;
	if (!cno)
		return true;
	if (!dofi_cno_attach(cno, evd))
		return false;
	evd->cno = cno;
	return true;
}

bool dofi_evd_set_cno(struct dofi_evd *evd, struct dofi_cno *cno)
{
	bool set;

	dofi_lock(&evd->lock);
	set = evd_assign_cno(evd, cno);
	dofi_unlock(&evd->lock);
	return set;
}

int dofi_evd_new(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct dofi_cno *cno,
		 enum dofi_evd_owner owner, struct dofi_evd **out)
{
	struct dofi_evd *evd =
		dofi_obj_new_for(ia, DAT_HANDLE_TYPE_EVD, owner != DOFI_EVD_OF_PROGRAM);
	struct dofi_event *ring;
	unsigned int number = 0;
	int ret = -ENOMEM;

	if (!evd)
		return -ENOMEM;
	dofi_slab_number(&dofi_slabs[DAT_HANDLE_TYPE_EVD], evd, &number);
	evd->counts = dofi_counter_slot_new(DOFI_COUNTER_EVD, ia->counts->head.number, number);
	if (!evd->counts)
		goto no_counts;
	ring = calloc(dofi_evd_pow2((uint32_t)qlen), sizeof(*ring));
	if (!ring)
		goto no_ring;
	/* A thread may be using the handle of a former EVD in this memory. */
	dofi_lock(&evd->lock);
	evd_reset_fields(evd, qlen, flags, owner == DOFI_EVD_OF_NOBODY);
	evd->ring = ring;
	dofi_unlock(&evd->lock);
	if (flags & DTO_STREAMS) {
		ret = evd_open_cq(evd);
		if (ret)
			goto no_cq;
	}
	if (!dofi_evd_set_cno(evd, cno)) {
		ret = -ESTALE;
		goto no_cno;
	}
	dofi_lock(&evd->lock);
	evd->dying = false;
	dofi_unlock(&evd->lock);
	evd_enlist(evd);
	*out = evd;
	return 0;
no_cno:
	if (evd->cq)
		fi_close(&evd->cq->fid);
	evd->cq = NULL;
no_cq:
	free(ring);
no_ring:
	dofi_counter_slot_free(DOFI_COUNTER_EVD, evd->counts);
no_counts:
	dofi_obj_release(&evd->obj);
	return ret;
}

void dofi_evd_destroy(struct dofi_evd *evd)
{
	dofi_lock(&evd->lock);
	evd->dying = true;
	dofi_evd_wake_locked(evd);
	while (evd->waiter)
		dofi_signal_await(&evd->left, &evd->lock);
	dofi_unlock(&evd->lock);
	evd_delist(evd);
	dofi_evd_set_cno(evd, NULL);
	if (evd->cq)
		fi_close(&evd->cq->fid);
	evd->cq = NULL;
	if (evd->wake_fd >= 0)
		dofi_forkfd_close(evd->wake_fd);
	evd->wake_fd = -1;
	dofi_lock(&evd->lock);
	evd->no_read = true;
	evd->life++;
	free(evd->ring);
	evd->ring = NULL;
	evd->head = evd->tail = 0;
	dofi_unlock(&evd->lock);
	dofi_count_base_free(&evd->count_base);
	dofi_counter_slot_free(DOFI_COUNTER_EVD, evd->counts);
	dofi_obj_release(&evd->obj);
}

DAT_RETURN dofi_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct dofi_cno *cno = NULL;
	struct dofi_evd *evd;
	DAT_RETURN limit;
	int ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (qlen <= 0)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (qlen > DOFI_MAX_EVD_QLEN)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (cno_handle != DAT_HANDLE_NULL) {
		cno = (struct dofi_cno *)dofi_obj_check(cno_handle, DAT_HANDLE_TYPE_CNO, ia);
		if (!cno)
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	}
	if (!flags || (flags & ~ALL_STREAMS))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	limit = dofi_obj_limit(ia, DAT_HANDLE_TYPE_EVD);
	if (limit)
		return limit;
	ret = dofi_evd_new(ia, qlen, flags, cno, DOFI_EVD_OF_PROGRAM, &evd);
	if (ret == -ESTALE)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (ret)
		return dofi_ret(ret);
	dofi_obj_publish(&evd->obj);
	*out = evd;
	return DAT_SUCCESS;
}

#define EVD_OR_RETURN(evd, handle) \
	struct dofi_evd *evd = dofi_evd_live(handle); \
	if (!evd) \
	return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST)

DAT_RETURN dofi_evd_free(DAT_EVD_HANDLE handle)
{
	EVD_OR_RETURN(evd, handle);
	struct dofi_ia *ia = dofi_obj_ia(&evd->obj);
	DAT_RETURN ret = DAT_SUCCESS;

	pthread_rwlock_wrlock(&ia->uses);
	/* The asynchronous EVD belongs to the IA. */
	if (!dofi_obj_remains(&evd->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	else if (evd->feeds || evd == ia->async_evd)
		ret = DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	else if (!dofi_obj_retire(&evd->obj))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	pthread_rwlock_unlock(&ia->uses);
	if (!ret)
		dofi_evd_destroy(evd);
	return ret;
}

DAT_RETURN dofi_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	EVD_OR_RETURN(evd, handle);

	if (mask & ~DAT_EVD_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	dofi_lock(&evd->lock);
	if (!dofi_evd_live(handle)) {
		dofi_unlock(&evd->lock);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	}
	param->ia_handle = dofi_api_ia_handle(dofi_obj_ia(&evd->obj));
	param->evd_qlen = evd->qlen;
	param->evd_state = (evd->enabled ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED) |
			   (evd->waitable ? DAT_EVD_STATE_WAITABLE : DAT_EVD_STATE_UNWAITABLE);
	param->cno_handle = evd->cno;
	param->evd_flags = evd->flags;
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle)
{
	EVD_OR_RETURN(evd, handle);
	struct dofi_ia *ia = dofi_obj_ia(&evd->obj);
	struct dofi_cno *cno = NULL;
	DAT_RETURN ret = DAT_SUCCESS;

	if (cno_handle != DAT_HANDLE_NULL) {
		cno = (struct dofi_cno *)dofi_obj_check(cno_handle, DAT_HANDLE_TYPE_CNO, ia);
		if (!cno)
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	}
	dofi_lock(&evd->lock);
	if (!dofi_obj_remains(&evd->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	else if (!evd_assign_cno(evd, cno))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	dofi_unlock(&evd->lock);
	if (ret)
		return ret;
	/* With a CNO the progress thread monitors the CQ whether or not the consumer polls. */
	dofi_progress_wakeup(ia);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_set_enabled(DAT_EVD_HANDLE handle, bool enabled)
{
	EVD_OR_RETURN(evd, handle);

	dofi_lock(&evd->lock);
	evd->enabled = enabled;
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_enable(DAT_EVD_HANDLE handle)
{
	return evd_set_enabled(handle, true);
}

DAT_RETURN dofi_evd_disable(DAT_EVD_HANDLE handle)
{
	return evd_set_enabled(handle, false);
}

static DAT_RETURN evd_set_waitable(DAT_EVD_HANDLE handle, bool waitable)
{
	EVD_OR_RETURN(evd, handle);

	dofi_lock(&evd->lock);
	evd->waitable = waitable;
	if (!waitable)
		dofi_evd_wake_locked(evd);
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_set_unwaitable(DAT_EVD_HANDLE handle)
{
	return evd_set_waitable(handle, false);
}

DAT_RETURN dofi_evd_clear_unwaitable(DAT_EVD_HANDLE handle)
{
	return evd_set_waitable(handle, true);
}

static void evd_set_size(struct dofi_evd *evd, uint32_t qlen)
{
	evd->qlen = (DAT_COUNT)qlen;
	evd->counts->qlen = qlen;
	evd->overflowed = false;
}

DAT_RETURN dofi_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
	EVD_OR_RETURN(evd, handle);
	DAT_RETURN ret = DAT_SUCCESS;
	uint32_t capacity, granted;

	if (qlen <= 0 || qlen > DOFI_MAX_EVD_QLEN)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	granted = dofi_evd_pow2((uint32_t)qlen);
	dofi_lock(&evd->lock);
	capacity = dofi_evd_pow2(granted + evd->extra);
	if (!dofi_evd_live(handle))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	else if (evd->waiter)
		ret = DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	else if (granted == (uint32_t)evd->qlen)
		; /* also with more completions than that */
	else if (dofi_evd_count(evd) > (uint32_t)qlen)
		ret = DOFI_ERR(DAT_INVALID_STATE, 0);
	else if (capacity != evd->capacity && !dofi_evd_grow(evd, capacity))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	else
		evd_set_size(evd, granted);
	dofi_unlock(&evd->lock);
	return ret;
}

DAT_RETURN dofi_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
	EVD_OR_RETURN(evd, handle);
	struct dofi_event e = { .number = DAT_SOFTWARE_EVENT, .notify = true };

	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	e.data = event->event_data;
	if (!dofi_evd_push(evd, &e))
		return DOFI_ERR(DAT_QUEUE_FULL, 0);
	return DAT_SUCCESS;
}
