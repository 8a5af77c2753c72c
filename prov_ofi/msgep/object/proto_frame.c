/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of a frame that has arrived, and the receive that it is for. (hot) */
#include <errno.h>
#include <string.h>

#include "msgep/object/proto.h"

/* No segment is longer; prevents overflow of sums. */
#define PULL_LIMIT ((uint64_t)1 << 40)

bool msgep_parse_frame(const struct msgep_frame *f, const void *payload, struct msgep_frame_data *p)
{
	size_t list = f->flags & MSGEP_PULL ? f->segments * sizeof(*p->list) : 0;

	if ((f->flags & MSGEP_PULL) &&
	    (!f->segments || f->segments > MSGEP_IOV_INLINE || list > f->len))
		return false;
	memcpy(p->list, payload, list);
	p->rest = (const char *)payload + list;
	p->bytes = p->rest_len = f->len - list;
	for (size_t i = 0; i < list / sizeof(*p->list); i++) {
		if (p->list[i].len > PULL_LIMIT)
			return false;
		p->bytes += p->list[i].len;
	}
	return true;
}

bool msgep_pull_frame(struct msgep_ep *ep, const struct msgep_frame *f,
		      const struct msgep_frame_data *p, struct iovec *to)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	if (f->flags & MSGEP_PULL) {
		if (!ep->transport->pull || !ep->transport->pull(ep, to, p->list, f->segments))
			return false;
		ep->cma_bytes += p->bytes;
		/* Instead of a fence: pulled data is visible before the end of the write. */
		atomic_fetch_add(&ep->order, 0);
	}
	msgep_iov_scatter(to, p->rest, p->rest_len);
	return true;
}

bool msgep_claim_receive(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	if (ep->srx)
		return msgep_srx_claim(ep->srx, ep);
	if (ep->rx_head == ep->rx_tail) {
		atomic_store_explicit(&ep->stalled, true, memory_order_relaxed);
		return false;
	}
	ep->cur = ep->rxq[ep->rx_head++ & (ep->rx_capacity - 1)];
	return true;
}

void msgep_report_too_long(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	/* Of a failed endpoint it is flushed. */
	if (!ep->too_long || ep->bulk.requests || ep->failed)
		return;
	ep->too_long = false;
	ep->in_message = false;
	msgep_received(ep, ep->cur.context, FI_ETRUNC);
}
