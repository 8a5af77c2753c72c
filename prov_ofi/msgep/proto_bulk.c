/* SPDX-License-Identifier: BSD-2-Clause */
/* Long data that travels on an endpoint of its own (bulk), straight into the memory that it is for.
 *
 * A frame with PULL announces it: one segment, whose address is the sender's number of the
 * transfer. The receiver finds the memory (a receive, the target of a write, the destination of a
 * read), posts it on the bulk endpoint, and says GO with that number; the sender then sends. GOs
 * are sent in the order in which the memory is posted, so a transfer needs no header. Requests
 * behind a transfer wait until it is complete; further transfers are posted meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msgep/peer_memory.h"
#include "msgep/iov.h"
#include "msgep/proto.h"
#include "msgep/ring.h"

#define FIRST_ROOM 16
/* A sender has far fewer under way. */
#define ROOM_MOST 4096

/* The place behind the last one; NULL: the peer announces too much, or there is no memory. */
static struct rdm_bulk *bulk_next(struct rdm_ep *ep)
{
	struct rdm_bulk_queue *q = &ep->bulk;
	struct rdm_bulk *ring = NULL;

	if (q->tail - q->head == q->room) {
		if (q->room < ROOM_MOST)
			ring = rdm_ring_grow(q->ring, sizeof(*ring), &q->room, q->head, q->tail,
					     FIRST_ROOM);
		if (!ring)
			return NULL;
		q->ring = ring;
	}
	return &q->ring[q->tail & (q->room - 1)];
}

static struct rdm_bulk *bulk_at(struct rdm_ep *ep, uint32_t i)
{
	return &ep->bulk.ring[i & (ep->bulk.room - 1)];
}

bool rdm_bulk_may_take(const struct rdm_ep *ep, const struct rdm_frame *f)
{
	return !ep->bulk.requests || (f->flags & RDM_PULL);
}

/* Posts the memory and takes the transfer into the queue. */
static bool bulk_post(struct rdm_ep *ep, struct iovec *to, const struct rdm_piece *p,
		      struct rdm_bulk what)
{
	struct rdm_bulk *b = bulk_next(ep);
	struct iovec part[RDM_IOV_MAX];
	size_t n;

	if (!b)
		return false;
	n = rdm_cut(to, part, p->list[0].len);
	what.id = p->list[0].addr;
	what.len = p->list[0].len;
	if (!ep->wire->bulk_recv(ep, part, n))
		return false;
	*b = what;
	ep->bulk.tail++;
	ep->bulk.requests += what.kind != RDM_READ;
	return true;
}

bool rdm_bulk_message(struct rdm_ep *ep, const struct rdm_frame *f, const struct rdm_piece *p)
{
	return !p->rest_len &&
	       bulk_post(ep, ep->cur.iov, p,
			 (struct rdm_bulk){ .kind = RDM_MSG, .last = f->flags & RDM_LAST,
					    .has_data = ep->has_data, .data = ep->data,
					    .context = ep->cur.context, .total = ep->expected });
}

bool rdm_bulk_write(struct rdm_ep *ep, const struct rdm_frame *f, const struct rdm_piece *p,
		    struct iovec to)
{
	struct rdm_bulk what = { .kind = RDM_WRITE, .last = f->flags & RDM_LAST };

	if (p->rest_len > sizeof(what.tail))
		return false;
	what.tail_len = (uint8_t)p->rest_len;
	what.tail_to = (char *)to.iov_base + p->list[0].len;
	memcpy(what.tail, p->rest, p->rest_len);
	what.mr = rdm_mr_hold(ep->domain, ep->key);
	if (bulk_post(ep, &to, p, what))
		return true;
	atomic_fetch_sub(&what.mr->transfers, 1);
	return false;
}

bool rdm_bulk_read(struct rdm_ep *ep, struct rdm_tx *tx, const struct rdm_piece *p)
{
	tx->transfers++;
	return !p->rest_len && bulk_post(ep, tx->iov, p, (struct rdm_bulk){ .kind = RDM_READ });
}

/* Says GO to what has been posted. False: no room. */
bool rdm_push_gos(struct rdm_ep *ep)
{
	struct rdm_frame *f;
	size_t room;

	while (ep->bulk.told != ep->bulk.tail) {
		f = ep->wire->reserve(ep, RDM_ANS, 0, &room);
		if (!f)
			return false;
		*f = (struct rdm_frame){ .mark = f->mark, .kind = RDM_GO,
					 .flags = RDM_FIRST | RDM_LAST,
					 .value = bulk_at(ep, ep->bulk.told)->id };
		ep->bulk.told++;
		ep->wire->commit(ep, RDM_ANS, f);
	}
	return true;
}

/* ---------------------------------------------------------------- completion */

static void bulk_message_done(struct rdm_ep *ep, const struct rdm_bulk *b)
{
	if (!b->last)
		return;
	ep->done++;
	ep->messages++;
	rdm_ep_done(ep, ep->rx_cq, b->context,
		    FI_MSG | FI_RECV | (b->has_data ? FI_REMOTE_CQ_DATA : 0), b->total, b->data, 0);
}

static void bulk_write_done(struct rdm_ep *ep, struct rdm_bulk *b)
{
	/* What the program may wait for in memory comes last. */
	if (b->mr) {
		rdm_foreign_begin();
		atomic_fetch_add(&ep->order, 0);
		memcpy(b->tail_to, b->tail, b->tail_len);
		rdm_foreign_end();
		atomic_fetch_sub(&b->mr->transfers, 1);
	}
	if (!b->last)
		return;
	ep->wrote = true;
	ep->done++;
}

bool rdm_bulk_done(struct rdm_ep *ep, uint64_t len)
{
	struct rdm_bulk *b;

	if (ep->bulk.head == ep->bulk.tail)
		return false;
	b = bulk_at(ep, ep->bulk.head);
	if (len != b->len || ep->bulk.told == ep->bulk.head)
		return false;
	ep->hauled += len;
	if (b->kind == RDM_MSG)
		bulk_message_done(ep, b);
	else if (b->kind == RDM_WRITE)
		bulk_write_done(ep, b);
	else
		rdm_read_arrived(ep);
	ep->bulk.requests -= b->kind != RDM_READ;
	ep->bulk.head++;
	return true;
}

bool rdm_bulk_forget(struct rdm_ep *ep, const struct rdm_mr *mr)
{
	bool any = false;

	for (uint32_t i = ep->bulk.head; i != ep->bulk.tail; i++) {
		struct rdm_bulk *b = bulk_at(ep, i);

		if (b->kind != RDM_WRITE || !b->mr || (mr && b->mr != mr))
			continue;
		atomic_fetch_sub(&b->mr->transfers, 1);
		b->mr = NULL;
		any = true;
	}
	return any;
}

/* Shared buffers into which the rest of a message does not come any more. */
void rdm_bulk_end(struct rdm_ep *ep)
{
	for (uint32_t i = ep->bulk.head; ep->srx && i != ep->bulk.tail; i++) {
		const struct rdm_bulk *b = bulk_at(ep, i);

		/* The last announced one is still in ep->cur, if more of it was to come. */
		if (b->kind == RDM_MSG && b->last)
			rdm_cq_push(ep->rx_cq, b->context,
				    FI_MSG | FI_RECV | (b->has_data ? FI_REMOTE_CQ_DATA : 0), 0,
				    b->data, FI_ECANCELED);
	}
	rdm_bulk_forget(ep, NULL);
	free(ep->bulk.ring);
	memset(&ep->bulk, 0, sizeof(ep->bulk));
}
