/* SPDX-License-Identifier: BSD-2-Clause */
/* Completes transfers of long data whose data has arrived. They arrive in the order of their
 * announcements. */
#include <stdlib.h>
#include <string.h>

#include "msgep/peer_memory.h"
#include "msgep/iov.h"
#include "msgep/object/proto.h"

static void bulk_message_done(struct msgep_ep *ep, const struct msgep_bulk *b)
{
	if (!b->last)
		return;
	ep->done++;
	ep->messages++;
	msgep_ep_done(ep, ep->rx_cq, b->context,
		      FI_MSG | FI_RECV | (b->has_data ? FI_REMOTE_CQ_DATA : 0), b->total, b->data,
		      0);
}

/* True if the destination of a later write, whose data may have arrived, contains any of these
 * bytes. */
static bool bulk_is_overwritten(struct msgep_ep *ep, const char *at, size_t len)
{
	for (uint32_t i = ep->bulk.head + 1; i != ep->bulk.tail; i++) {
		const struct msgep_bulk *b = msgep_bulk_at(ep, i);

		if (b->kind == MSGEP_WRITE && at + len > b->tail_to - b->len &&
		    at < b->tail_to + b->tail_len)
			return true;
	}
	return false;
}

static void bulk_store_tail(struct msgep_ep *ep, const struct msgep_bulk *b)
{
	if (!bulk_is_overwritten(ep, b->tail_to, b->tail_len)) {
		memcpy(b->tail_to, b->tail, b->tail_len);
		return;
	}
	for (uint32_t i = 0; i < b->tail_len; i++)
		if (!bulk_is_overwritten(ep, b->tail_to + i, 1))
			b->tail_to[i] = (char)b->tail[i];
}

static void bulk_write_done(struct msgep_ep *ep, struct msgep_bulk *b)
{
	/* The bytes that a program may poll in memory are written last. */
	if (b->mr) {
		msgep_peer_memory_begin();
		atomic_fetch_add(&ep->order, 0);
		bulk_store_tail(ep, b);
		msgep_peer_memory_end();
		atomic_fetch_sub(&b->mr->transfers, 1);
	}
	if (!b->last)
		return;
	ep->after_write = true;
	ep->done++;
}

bool msgep_bulk_done(struct msgep_ep *ep, uint64_t len)
{
	struct msgep_bulk *b;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (ep->bulk.head == ep->bulk.tail)
		return false;
	b = msgep_bulk_at(ep, ep->bulk.head);
	if (len != b->len || ep->bulk.granted == ep->bulk.head)
		return false;
	ep->cma_bytes += len;
	if (b->bounce) {
		msgep_peer_memory_begin();
		msgep_iov_scatter(b->bounce->to, b->bounce->data, (size_t)len);
		msgep_peer_memory_end();
		free(b->bounce);
	}
	if (b->kind == MSGEP_MSG)
		bulk_message_done(ep, b);
	else if (b->kind == MSGEP_WRITE)
		bulk_write_done(ep, b);
	else
		msgep_read_arrived(ep);
	ep->bulk.requests -= b->kind != MSGEP_READ;
	ep->bulk.head++;
	if (ep->bulk.unwanted)
		msgep_bulk_drop(ep);
	return true;
}
