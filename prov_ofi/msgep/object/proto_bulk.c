/* SPDX-License-Identifier: BSD-2-Clause */
/* Long data that travels on an endpoint of its own (bulk), directly to its destination.
 *
 * A frame with PULL announces it: one segment, whose address is the sender's number of the
 * transfer. The receiver finds the memory (a receive, the target of a write, the destination of a
 * read), posts it on the bulk endpoint, and answers GO with that number; the sender then sends. GOs
 * are sent in the order in which the memory is posted, so a transfer needs no header. Where nothing
 * that the peer's program does can delay it, and no GO is outstanding, the data of writes and reads
 * is sent with its announcement: it waits in the socket until its memory is posted. Requests
 * after a transfer wait until it is complete, reads too: they get what it has written. Further
 * transfers are posted meanwhile. If one of these is refused, that is reported after those before
 * it have completed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "msgep/iov.h"
#include "msgep/object/proto.h"

#define FIRST_CAPACITY 16
/* A sender has far fewer outstanding. */
#define CAPACITY_MOST 4096

/* The next free entry; NULL: the peer announces too much, or there is no memory. */
static struct msgep_bulk *bulk_next(struct msgep_ep *ep)
{
	struct msgep_bulk_queue *q = &ep->bulk;

	if (q->tail - q->head == q->capacity &&
	    !DOFI_RING_GROW(q->ring, q->capacity, q->head, q->tail, FIRST_CAPACITY, CAPACITY_MOST))
		return NULL;
	return &q->ring[q->tail & (q->capacity - 1)];
}

bool msgep_bulk_may_process(const struct msgep_ep *ep, const struct msgep_frame *f)
{
	return !ep->bulk.requests || (f->kind != MSGEP_READ && (f->flags & MSGEP_PULL));
}

/* The buffer of a transfer into these n segments; `part` becomes its address. NULL: no memory, or
 * more than a sender announces at once. */
static struct msgep_bounce *bulk_bounce(struct iovec *part, size_t n, uint64_t len)
{
	struct msgep_bounce *bounce = len > MSGEP_PULL_MOST ? NULL
							    : malloc(sizeof(*bounce) + (size_t)len);

	if (!bounce)
		return NULL;
	memcpy(bounce->to, part, n * sizeof(*part));
	*part = (struct iovec){ bounce->data, (size_t)len };
	return bounce;
}

/* Posts the memory and adds the transfer to the queue. */
static bool bulk_post(struct msgep_ep *ep, struct iovec *to, const struct msgep_frame *f,
		      const struct msgep_frame_data *p, struct msgep_bulk what)
{
	bool unsolicited = f->flags & MSGEP_UNSOLICITED;
	struct msgep_bulk *b = bulk_next(ep);
	struct iovec part[MSGEP_IOV_MAX];
	size_t n;

	/* Its data would not be the next to arrive. */
	if (unsolicited && ep->bulk.granted != ep->bulk.tail)
		return false;
	if (!b)
		return false;
	n = msgep_iov_truncate(to, part, p->list[0].len);
	what.id = p->list[0].addr;
	what.len = p->list[0].len;
	what.bounce = NULL;
	if (n > MSGEP_IOV_INLINE) {
		what.bounce = bulk_bounce(part, n, what.len);
		if (!what.bounce)
			return false;
		n = 1;
	}
	if (!ep->transport->bulk_recv(ep, part, n)) {
		free(what.bounce);
		return false;
	}
	what.room = n < MSGEP_IOV_INLINE;
	*b = what;
	ep->bulk.tail++;
	ep->bulk.granted += unsolicited;
	ep->bulk.requests += what.kind != MSGEP_READ;
	return true;
}

bool msgep_bulk_message(struct msgep_ep *ep, const struct msgep_frame *f,
			const struct msgep_frame_data *p)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	return !p->rest_len && bulk_post(ep, msgep_recv_iov(&ep->cur), f, p,
					 (struct msgep_bulk){ .kind = MSGEP_MSG,
							      .last = f->flags & MSGEP_LAST,
							      .has_data = ep->has_data,
							      .data = ep->data,
							      .context = ep->cur.context,
							      .total = ep->expected });
}

bool msgep_bulk_write(struct msgep_ep *ep, const struct msgep_frame *f,
		      const struct msgep_frame_data *p, struct iovec to)
{
	struct msgep_bulk what = { .kind = MSGEP_WRITE, .last = f->flags & MSGEP_LAST };

	DOFI_ASSERT_LOCKED(&ep->domain->mr_lock);
	if (p->rest_len > sizeof(what.tail))
		return false;
	what.tail_len = (uint8_t)p->rest_len;
	what.tail_to = (char *)to.iov_base + p->list[0].len;
	memcpy(what.tail, p->rest, p->rest_len);
	what.mr = msgep_mr_hold(ep->domain, ep->key);
	if (bulk_post(ep, &to, f, p, what))
		return true;
	atomic_fetch_sub(&what.mr->transfers, 1);
	return false;
}

bool msgep_bulk_read(struct msgep_ep *ep, struct msgep_tx *tx, const struct msgep_frame *f,
		     const struct msgep_frame_data *p)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	tx->transfers++;
	return !p->rest_len &&
	       bulk_post(ep, msgep_tx_iov(tx), f, p, (struct msgep_bulk){ .kind = MSGEP_READ });
}

/* Sends GO for what has been posted. False: no space. */
bool msgep_push_gos(struct msgep_ep *ep)
{
	struct msgep_frame *f;
	size_t space;

	DOFI_ASSERT_LOCKED(&ep->lock);
	while (ep->bulk.granted != ep->bulk.tail) {
		f = ep->transport->reserve(ep, MSGEP_ANS, 0, &space);
		if (!f)
			return false;
		*f = (struct msgep_frame){ .mark = f->mark,
					   .kind = MSGEP_GO,
					   .flags = MSGEP_FIRST | MSGEP_LAST,
					   .key = msgep_bulk_at(ep, ep->bulk.granted)->room,
					   .value = msgep_bulk_at(ep, ep->bulk.granted)->id };
		ep->bulk.granted++;
		ep->transport->commit(ep, MSGEP_ANS, f);
	}
	return true;
}

void msgep_bulk_drop(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	ep->bulk.unwanted = ep->bulk.requests;
	if (!ep->bulk.unwanted)
		ep->transport->bulk_stop(ep);
}

bool msgep_bulk_forget(struct msgep_ep *ep, const struct msgep_mr *mr)
{
	bool any = false;

	DOFI_ASSERT_LOCKED(&ep->lock);
	for (uint32_t i = ep->bulk.head; i != ep->bulk.tail; i++) {
		struct msgep_bulk *b = msgep_bulk_at(ep, i);

		if (b->kind != MSGEP_WRITE || !b->mr || (mr && b->mr != mr))
			continue;
		atomic_fetch_sub(&b->mr->transfers, 1);
		b->mr = NULL;
		any = true;
	}
	return any;
}

/* Flushes shared buffers of messages that will not be complete. */
void msgep_bulk_end(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	for (uint32_t i = ep->bulk.head; i != ep->bulk.tail; i++) {
		const struct msgep_bulk *b = msgep_bulk_at(ep, i);

		free(b->bounce);
		/* The last announced one is still in ep->cur, if more of it was to come. */
		if (ep->srx && b->kind == MSGEP_MSG && b->last)
			msgep_cq_push(ep->rx_cq, b->context,
				      FI_MSG | FI_RECV | (b->has_data ? FI_REMOTE_CQ_DATA : 0), 0,
				      b->data, FI_ECANCELED);
	}
	msgep_bulk_forget(ep, NULL);
	free(ep->bulk.ring);
	memset(&ep->bulk, 0, sizeof(ep->bulk));
}
