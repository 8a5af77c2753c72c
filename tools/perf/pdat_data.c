/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts and completes operations through DAT, as any DAT program does. */
#include <errno.h>

#include "pdat.h"
#include "proc.h"

/* The cookie of an operation is its slot, whose counters the completion increments. */

int pdat_post_recv(struct perf_side *s, struct perf_slot *slot)
{
	struct pdat_side *p = pdat_side(s);
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (uintptr_t)slot->mem,
		.segment_length = (DAT_SEG_LENGTH)s->hub->stride,
		.lmr_context = p->lmr_context,
	};
	DAT_DTO_COOKIE cookie = { .as_ptr = slot };
	DAT_RETURN ret = dat_ep_post_recv(p->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);

	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_ep_post_recv");
}

int pdat_post_shared(struct perf_hub *hub, struct perf_slot *slot)
{
	struct pdat_hub *h = pdat_hub(hub);
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (uintptr_t)slot->mem,
		.segment_length = (DAT_SEG_LENGTH)hub->stride,
		.lmr_context = h->lmr_context,
	};
	DAT_DTO_COOKIE cookie = { .as_ptr = slot };
	DAT_RETURN ret = dat_srq_post_recv(h->srq, 1, &iov, cookie);

	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_srq_post_recv");
}

int pdat_post(struct perf_side *s, const struct perf_work *w)
{
	struct pdat_side *p = pdat_side(s);
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (uintptr_t)w->slot->mem,
		.segment_length = (DAT_SEG_LENGTH)w->len,
		.lmr_context = p->lmr_context,
	};
	DAT_RMR_TRIPLET target = {
		.virtual_address = s->peer.addr + w->offset,
		.segment_length = (DAT_SEG_LENGTH)w->len,
		.rmr_context = (DAT_RMR_CONTEXT)s->peer.key,
	};
	DAT_DTO_COOKIE cookie = { .as_ptr = w->slot };
	const char *call;
	DAT_RETURN ret;

	switch (w->op) {
	case PERF_SEND:
		call = "dat_ep_post_send";
		ret = dat_ep_post_send(p->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
		break;
	case PERF_WRITE:
		call = "dat_ep_post_rdma_write";
		ret = dat_ep_post_rdma_write(p->ep, 1, &iov, cookie, &target,
					     DAT_COMPLETION_DEFAULT_FLAG);
		break;
	case PERF_IMMED:
		call = "dat_ib_post_rdma_write_immed";
		ret = dat_ib_post_rdma_write_immed(p->ep, 1, &iov, cookie, &target, w->number,
						   DAT_COMPLETION_DEFAULT_FLAG);
		break;
	case PERF_FADD:
		call = "dat_ib_post_fetch_and_add";
		ret = dat_ib_post_fetch_and_add(p->ep, 1, &iov, cookie, &target,
						DAT_COMPLETION_DEFAULT_FLAG);
		break;
	case PERF_CSWAP:
		call = "dat_ib_post_cmp_and_swap";
		ret = dat_ib_post_cmp_and_swap(p->ep, w->number, w->number + 1, &iov, cookie,
					       &target, DAT_COMPLETION_DEFAULT_FLAG);
		break;
	default:
		call = "dat_ep_post_rdma_read";
		ret = dat_ep_post_rdma_read(p->ep, 1, &iov, cookie, &target,
					    DAT_COMPLETION_DEFAULT_FLAG);
		break;
	}
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, call);
}

static const char *status_name(DAT_DTO_COMPLETION_STATUS status)
{
	switch (status) {
	case DAT_DTO_ERR_FLUSHED:
		return "flushed";
	case DAT_DTO_ERR_LOCAL_LENGTH:
		return "local length";
	case DAT_DTO_ERR_LOCAL_EP:
		return "local endpoint";
	case DAT_DTO_ERR_LOCAL_PROTECTION:
		return "local protection";
	case DAT_DTO_ERR_REMOTE_ACCESS:
		return "remote access";
	case DAT_DTO_ERR_REMOTE_RESPONDER:
		return "remote responder";
	case DAT_DTO_ERR_TRANSPORT:
		return "transport";
	case DAT_DTO_ERR_RECEIVER_NOT_READY:
		return "receiver not ready";
	default:
		return "other";
	}
}

/* Checks that an event is a successful completion. */
int pdat_check_event(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	bool extended = (int)event->event_number == DAT_IB_DTO_EVENT;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT && !extended)
		return perf_error(-EIO, "dat", "completion", "unexpected event 0x%x",
				  (unsigned int)event->event_number);
	if (dto->status != DAT_DTO_SUCCESS)
		return perf_error(-EIO, "dat", "completion", "operation %d: status %d (%s)",
				  dto->operation, dto->status, status_name(dto->status));
	return 0;
}

/* Counts one event. */
static int count_event(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	const DAT_IB_EXTENSION_EVENT_DATA *ext = (const void *)event->event_extension_data;
	bool extended = (int)event->event_number == DAT_IB_DTO_EVENT;
	int err = pdat_check_event(event);

	if (err)
		return err;
	if (extended && ext->type == DAT_IB_RDMA_WRITE_IMMED_DATA)
		return perf_completed_immed(dto->user_cookie.as_ptr, &ext->val.immed.data);
	return perf_completed(dto->user_cookie.as_ptr, (size_t)dto->transfered_length);
}

int pdat_reap(struct perf_hub *hub, enum perf_queue q, int max)
{
	DAT_EVD_HANDLE evd = pdat_hub(hub)->evd[q];
	DAT_EVENT event;
	DAT_RETURN ret;
	int n, err;

	for (n = 0; n < max; n++) {
		ret = dat_evd_dequeue(evd, &event);
		if (ret != DAT_SUCCESS)
			return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY
				       ? n
				       : pdat_error(ret, "dat_evd_dequeue");
		err = count_event(&event);
		if (err)
			return err;
	}
	return n;
}

int pdat_wait(struct perf_hub *hub, enum perf_queue q, int max, int timeout_ms)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;
	int n;

	ret = dat_evd_wait(pdat_hub(hub)->evd[q], (DAT_TIMEOUT)timeout_ms * 1000u, 1, &event,
			   &more);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED || DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
		return 0;
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_evd_wait");
	n = count_event(&event);
	if (n)
		return n;
	if (!more || max < 2)
		return 1;
	n = pdat_reap(hub, q, more < max ? more : max - 1);
	return n < 0 ? n : n + 1;
}

int pdat_wait_any(struct perf_hub *hub, int timeout_ms)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	ret = dat_cno_wait(pdat_hub(hub)->cno, (DAT_TIMEOUT)timeout_ms * 1000u, &evd);
	if (ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ||
	    DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED || DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
		return 0;
	return pdat_error(ret, "dat_cno_wait");
}
