/* SPDX-License-Identifier: BSD-2-Clause */
/* Life cycle of endpoints: creation, EVDs, fields of one connection, destruction. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dat_error.h"
#include "cm/cm_parts.h"
#include "data/cq.h"
#include "data/srq_cq.h"
#include "object/async_evd.h"
#include "object/deferred_work.h"
#include "object/ep_state.h"
#include "object/mr.h"
#include "object/rmr.h"

#define QUIET (DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

int dofi_queue_resize(struct dofi_queue *q, uint32_t limit, uint32_t iov)
{
	uint32_t slots = 1, head = atomic_load(&q->head), n = q->tail - head;
	struct dofi_dto *dto = NULL;

	/* Posted operations keep their segments. */
	if (iov < q->iov)
		iov = q->iov;
	if (q->dto && limit == q->limit && iov == q->iov)
		return 0;
	while (slots < limit)
		slots *= 2;
	if (limit < n)
		return -EBUSY;
	if (limit) {
		dto = dofi_dto_alloc(slots, iov);
		if (!dto)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		dofi_dto_move(&dto[i], dofi_queue_at(q, head + i));
	/* No connection uses the prefixes now. */
	dofi_msg_prefixes_free(&q->prefixes);
	free(q->dto);
	q->dto = dto;
	q->mask = slots - 1;
	q->limit = limit;
	q->iov = (uint8_t)iov;
	q->sent = q->sent - head;
	q->tail = n;
	q->rewind_base += head;
	atomic_store(&q->head, 0);
	return 0;
}

/* Replaces the EVD of a stream. A direction to which the consumer has assigned no EVD completes on
 * the IA's internal EVD, which the progress thread reads: it frees slots and ends the connection
 * after errors, but generates no events. */
static struct dofi_evd *ep_replace_evd(struct dofi_ep *ep, struct dofi_evd *old,
				       struct dofi_evd *now, bool direction, bool quiet_old,
				       bool quiet_now)
{
	if (direction && !now)
		now = ep->obj.ia->internal_evd;
	if (now) {
		now->feeds++;
		if (quiet_now) {
			dofi_lock(&now->lock);
			now->unsignalled_streams++;
			dofi_unlock(&now->lock);
		}
	}
	if (old) {
		if (quiet_old) {
			dofi_lock(&old->lock);
			old->unsignalled_streams--;
			dofi_unlock(&old->lock);
		}
		old->feeds--;
	}
	return now;
}

void dofi_ep_set_evds(struct dofi_ep *ep, struct dofi_evd *recv, struct dofi_evd *req,
		      struct dofi_evd *conn)
{
	bool quiet_recv = ep->attr.recv_completion_flags & QUIET;
	bool quiet_req = ep->attr.request_completion_flags & QUIET;
	struct dofi_evd *new_recv, *new_req;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	dofi_models_remove(&ep->streams);
	dofi_ep_streams(recv, req, &ep->attr, &ep->streams);
	dofi_models_add(&ep->streams);
	/* Only completions on its present EVD are found when it is freed. */
	if ((ep->srq || ep->has_watermarks) && ep->recv_evd &&
	    ep->recv_evd != (recv ? recv : ep->obj.ia->internal_evd)) {
		dofi_lock(&ep->recv_evd->lock);
		dofi_srq_disown(ep, ep->recv_evd);
		dofi_unlock(&ep->recv_evd->lock);
	}
	new_recv = ep_replace_evd(ep, ep->recv_evd, recv, true, ep->recv_unsignalled, quiet_recv);
	new_req = ep_replace_evd(ep, ep->req_evd, req, true, ep->req_unsignalled, quiet_req);
	/* The progress thread reads the EVDs of all EPs under obj_lock. */
	pthread_mutex_lock(&ep->obj.ia->obj_lock);
	ep->recv_evd = new_recv;
	ep->req_evd = new_req;
	pthread_mutex_unlock(&ep->obj.ia->obj_lock);
	ep->conn_evd = ep_replace_evd(ep, dofi_ep_conn_evd(ep), conn, false, false, false);
	ep->conn_life = conn ? conn->life : 0;
	ep->recv_unsignalled = quiet_recv;
	ep->req_unsignalled = quiet_req;
	ep->has_recv_evd = recv != NULL;
	ep->has_req_evd = req != NULL;
}

/* Removes the EP's streams from all EVDs. */
static void ep_drop_evds(struct dofi_ep *ep)
{
	dofi_models_remove(&ep->streams);
	ep_replace_evd(ep, ep->recv_evd, NULL, false, ep->recv_unsignalled, false);
	ep_replace_evd(ep, ep->req_evd, NULL, false, ep->req_unsignalled, false);
	ep_replace_evd(ep, dofi_ep_conn_evd(ep), NULL, false, false, false);
	ep->recv_evd = ep->req_evd = ep->conn_evd = NULL;
}

void dofi_ep_reset_fields(struct dofi_ep *ep)
{
	ep->life++;
	ep->heard_at = 0;
	ep->rq.failed = ep->sq.failed = false;
	ep->open = ep->graceful = ep->ending = ep->faulted = false;
	ep->active = false;
	ep->conn = NULL;
	ep->probe = NULL;
	ep->qual = 0;
	ep->local_port = ep->remote_port = 0;
	memset(&ep->remote, 0, sizeof(ep->remote));
	ep->attempt.conn_id = 0;
	ep->attempt.reply = NULL;
	ep->priv_len = 0;
	ep->peer_conn_id = 0;
	ep->amo.token = ep->amo.port = 0;
	ep->reads_started = 0;
	ep->reads_done = 0;
	ep->max_reads = UINT32_MAX;
}

static void ep_free_queues(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	free(ep->rq.dto);
	free(ep->sq.dto);
	memset(&ep->rq, 0, sizeof(ep->rq));
	memset(&ep->sq, 0, sizeof(ep->sq));
}

/* The memory of an EP may have been another EP's, whose handle a thread may still be using. */
static void ep_init(struct dofi_ep *ep, const struct dofi_ia *ia, const DAT_EP_ATTR *attr)
{
	ep->count_base = NULL;
	ep->attr = *attr;
	dofi_ep_set_limits(ep);
	dofi_ep_state_init(ep);
	ep->pz = NULL;
	ep->recv_evd = ep->req_evd = ep->conn_evd = NULL;
	ep->recv_unsignalled = ep->req_unsignalled = ep->by_provider = false;
	memset(&ep->streams, 0, sizeof(ep->streams));
	ep->has_msg_prefix = ia->fab.has_msg_prefix;
	ep->cq_external_lock = ia->fab.cq_external_lock;
	ep->amo.on = ia->amo.on;
	ep->amo.in = ep->amo.out = NULL;
	ep->amo.dto = NULL;
	ep->amo.next = 0;
	memset(&ep->rq, 0, sizeof(ep->rq));
	memset(&ep->sq, 0, sizeof(ep->sq));
	ep->srq = NULL;
	dofi_list_init(&ep->shared.link);
	ep->shared.first = NULL;
	ep->shared.last = &ep->shared.first;
	ep->shared.held = 0;
	ep->shared.soft_passed = false;
	dofi_ep_set_marks(ep);
	ep->local = ia->fab.addr;
	ep->ud = NULL;
	ep->ud_for = NULL;
	dofi_list_init(&ep->exchange);
	ep->deferred = 0;
	dofi_list_init(&ep->deferred_link);
	dofi_ep_reset_fields(ep);
}

DAT_RETURN dofi_ep_make(struct dofi_ia *ia, const DAT_EP_ATTR *attr, struct dofi_srq *srq,
			bool internal, struct dofi_ep **out)
{
	struct dofi_ep *ep = dofi_obj_new_for(ia, DAT_HANDLE_TYPE_EP, internal);
	unsigned int number = 0;
	int ret;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	if (!ep)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	dofi_slab_number(&dofi_slabs[DAT_HANDLE_TYPE_EP], ep, &number);
	ep->counts = dofi_counter_slot_new(DOFI_COUNTER_EP, ia->counts->head.number, number);
	if (!ep->counts) {
		dofi_obj_release(&ep->obj);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	ep->counts->kind = srq ? DOFI_SLOT_SRQ : 0;
	dofi_lock(&ep->lock);
	ep_init(ep, ia, attr);
	ret = dofi_queue_resize(&ep->rq, srq ? 0 : (uint32_t)attr->max_recv_dtos,
				srq ? 0 : (uint32_t)attr->max_recv_iov);
	if (!ret)
		ret = dofi_queue_resize(&ep->sq, (uint32_t)attr->max_request_dtos,
					dofi_ep_request_iov(attr));
	dofi_unlock(&ep->lock);
	if (ret)
		goto no_queues;
	/* Reserves an event that reports that its buffers are free again. */
	if (srq && ia->async_evd && !dofi_evd_reserve(ia->async_evd))
		goto no_queues;
	if (dofi_timer_add(&ia->timers, &ep->timer, NULL))
		goto no_timer;
	if (srq)
		dofi_srq_attach(srq, ep);
	*out = ep;
	return DAT_SUCCESS;
no_timer:
	if (srq && ia->async_evd)
		dofi_evd_unreserve(ia->async_evd);
no_queues:
	dofi_lock(&ep->lock);
	ep_free_queues(ep);
	dofi_unlock(&ep->lock);
	dofi_counter_slot_free(DOFI_COUNTER_EP, ep->counts);
	dofi_obj_release(&ep->obj);
	return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* The address exchanges of a datagram endpoint. */
static void ep_destroy_exchanges(struct dofi_ep *ep)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &ep->ud->exchanges)
		dofi_ep_destroy(dofi_container(pos, struct dofi_ep, exchange));
}

void dofi_ep_destroy(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_conn *conn = ep->conn;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	/* Stop posts, then close the fabric's endpoint, then free memory. */
	dofi_ep_state_destroy(ep);
	if (ep->ud)
		ep_destroy_exchanges(ep);
	dofi_ud_close(ep);
	dofi_list_remove(&ep->exchange);
	dofi_timer_drop(&ia->timers, &ep->timer);
	ep->ending = true;
	if (conn)
		dofi_conn_detach(conn);
	dofi_cm_drop_conn_id(ep);
	dofi_cm_answer_drop(ep);
	dofi_rmr_ep_ended(ep);
	dofi_sp_forget_ep(ep);
	dofi_dto_forget(ep);
	dofi_deferred_cancel(ep);
	dofi_srq_raise(ia, ep);
	dofi_lock(&ep->recv_evd->lock);
	dofi_srq_disown(ep, ep->recv_evd);
	dofi_unlock(&ep->recv_evd->lock);
	if (ep->srq) {
		if (ia->async_evd)
			dofi_evd_unreserve(ia->async_evd);
		dofi_srq_detach(ep);
	}
	dofi_msg_prefixes_free(&ep->rq.prefixes);
	dofi_msg_prefixes_free(&ep->sq.prefixes);
	dofi_lock(&ep->lock);
	ep_free_queues(ep);
	ep_drop_evds(ep);
	if (ep->pz)
		ep->pz->users--;
	ep->pz = NULL;
	dofi_unlock(&ep->lock);
	/* Concurrent calls for this EP may have queued deferred work. */
	dofi_deferred_cancel(ep);
	dofi_count_base_free(&ep->count_base);
	dofi_counter_slot_free(DOFI_COUNTER_EP, ep->counts);
	dofi_obj_release(&ep->obj);
}
