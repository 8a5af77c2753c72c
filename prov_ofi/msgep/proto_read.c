/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers requests to read. (hot)
 *
 * Small ones by frames with the data. Where the reader can take it out of our memory itself, and
 * says so, a large one is answered by leave to do so (a grant), after the same checks. Nobody waits
 * for the reader to be done: if the region is closed, the grant is revoked in memory that both
 * sides see, and what the reader does not find granted any more after it has taken the data is
 * refused. So a read that succeeds has its data from before the region was closed.
 *
 * Grants are numbered like the reads of a connection. No more than RDM_SERVE_MAX reads are
 * unanswered, so by the time a place is used again the reader has done with what was there.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "msgep/peer_memory.h"
#include "msgep/iov.h"
#include "msgep/proto.h"
#include "msgep/ring.h"

/* Reads of the peer for which there is room at first. With grants all places stay where they are:
 * their keys are looked up until they are used again. */
#define FIRST_ROOM 2

/* ---------------------------------------------------------------- the side that has the data */

/* Does the answer travel in bulk? */
static bool bulk_serves(struct rdm_ep *ep, uint64_t total)
{
	return ep->wire->bulk_from && total >= ep->wire->bulk_from(ep);
}

struct rdm_serve *rdm_serve_next(struct rdm_ep *ep)
{
	struct rdm_serve *serve = NULL;

	if (ep->serve_tail - ep->serve_head == ep->serve_room) {
		if (ep->serve_room < RDM_SERVE_MAX)
			serve = rdm_ring_grow(ep->serve, sizeof(*serve), &ep->serve_room,
					      ep->serve_head, ep->serve_tail,
					      ep->wire->grant ? RDM_SERVE_MAX : FIRST_ROOM);
		if (!serve && !ep->serve_room)
			rdm_ep_fail(ep, "no memory to answer its first read");
		if (!serve)
			return NULL;
		ep->serve = serve;
	}
	return &ep->serve[ep->serve_tail & (ep->serve_room - 1)];
}

bool rdm_take_read(struct rdm_ep *ep, const struct rdm_frame *f)
{
	struct rdm_serve *s = rdm_serve_next(ep);

	if (!s)
		return false;
	if (ep->in_message || ep->in_write || f->len) {
		rdm_ep_fail(ep, "a request to read in disorder");
		return true;
	}
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	ep->granted &= ~rdm_serve_bit(ep->serve_tail);
	*s = (struct rdm_serve){ .remote = f->value, .total = f->total, .key = f->key,
				 .pulled = f->flags & RDM_PULL &&
					   (ep->wire->grant || bulk_serves(ep, f->total)) };
	rdm_mr_access(ep, s->key, s->remote, s->total, FI_REMOTE_READ, &s->refused);
	pthread_rwlock_unlock(&ep->domain->mr_lock);
	/* What comes behind a refused request must not take effect. */
	if (s->refused)
		ep->refused = true;
	ep->serve_tail++;
	return true;
}

/* Leave to take `len` bytes at `from`, which mr_lock keeps ours. Returns the bytes of payload. */
static size_t grant(struct rdm_ep *ep, const struct rdm_serve *s, void *payload, const void *from,
		    size_t len)
{
	struct rdm_segment segment = { (uintptr_t)from, len };

	if (!s->done)
		ep->wire->grant(ep, ep->serve_head);
	ep->granted |= rdm_serve_bit(ep->serve_head);
	rdm_mr_granted(ep->domain, s->key);
	memcpy(payload, &segment, sizeof(segment));
	return sizeof(segment);
}

/* The same as a transfer in bulk; 0: too many are under way. */
static size_t announce(struct rdm_ep *ep, const struct rdm_serve *s, void *payload,
		       const void *from, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)from, len };
	struct rdm_segment segment = { .len = len };
	struct rdm_mr *mr = rdm_mr_hold(ep->domain, s->key);

	if (!ep->wire->bulk_send(ep, &iov, 1, mr, &segment.addr)) {
		atomic_fetch_sub(&mr->transfers, 1);
		return 0;
	}
	memcpy(payload, &segment, sizeof(segment));
	return sizeof(segment);
}

/* The payload of the next frame of an answer, if the access is in order. Returns its length. */
static size_t fill(struct rdm_ep *ep, struct rdm_serve *s, void *payload, size_t len)
{
	const void *from;

	if (s->known) {
		memcpy(payload, &s->value, len);
		return len;
	}
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	/* The region may have been closed since the last one. */
	from = rdm_mr_access(ep, s->key, s->remote + s->done, len, FI_REMOTE_READ,
			     &s->refused);
	if (from && s->pulled && ep->wire->bulk_from) {
		len = announce(ep, s, payload, from, len);
	} else if (from && s->pulled) {
		len = grant(ep, s, payload, from, len);
	} else if (from) {
		rdm_foreign_begin();
		memcpy(payload, from, len);
		rdm_foreign_end();
	}
	pthread_rwlock_unlock(&ep->domain->mr_lock);
	return from ? len : 0;
}

static bool push_data(struct rdm_ep *ep, struct rdm_serve *s)
{
	size_t left = s->refused ? 0 : s->total - s->done, room, part, len = 0;
	struct rdm_frame *f = ep->wire->reserve(
		ep, RDM_ANS, s->pulled && left ? sizeof(struct rdm_segment) : left, &room);
	uint8_t flags = s->done ? 0 : RDM_FIRST;

	if (!f)
		return false;
	/* A frame at the end of a ring may be too short even for one segment. */
	if (s->pulled && room >= sizeof(struct rdm_segment))
		room = RDM_PULL_MOST;
	else
		s->pulled = false;
	part = room < left ? room : left;
	if (!s->refused)
		len = fill(ep, s, rdm_payload(f), part);
	if (!len && s->pulled && !s->refused) {
		rdm_unreserve(ep);
		return false;
	}
	if (s->pulled && !s->refused)
		flags |= RDM_PULL;
	*f = (struct rdm_frame){ .mark = f->mark, .len = (uint32_t)len, .kind = RDM_DATA,
				 .flags = flags, .key = (uint32_t)s->refused, .total = s->total,
				 .segments = !!(flags & RDM_PULL) };
	s->done += part;
	if (s->refused || s->done == s->total)
		f->flags |= RDM_LAST;
	ep->wire->commit(ep, RDM_ANS, f);
	return true;
}

bool rdm_push_reads(struct rdm_ep *ep)
{
	while (ep->serve_head != ep->serve_tail) {
		struct rdm_serve *s = &ep->serve[ep->serve_head & (ep->serve_room - 1)];

		do {
			if (!push_data(ep, s))
				return false;
		} while (!s->refused && s->done < s->total);
		ep->serve_head++;
	}
	return true;
}

void rdm_revoke_key(struct rdm_ep *ep, uint32_t key)
{
	uint64_t reads = 0;

	for (uint32_t i = 0; i < RDM_SERVE_MAX; i++)
		if ((ep->granted & rdm_serve_bit(i)) && ep->serve[i].key == key)
			reads |= rdm_serve_bit(i);
	if (!reads)
		return;
	ep->granted &= ~reads;
	ep->wire->revoke(ep, reads);
}

/* ---------------------------------------------------------------- the side that wants it */

bool rdm_read_pulls(struct rdm_ep *ep, uint64_t total)
{
	if (ep->wire->bulk_from)
		return total >= ep->wire->bulk_from(ep);
	return ep->wire->pull_to && total >= ep->wire->pull_to(ep);
}

/* Takes what was granted. False: the connection is about to end. */
static bool take_granted(struct rdm_ep *ep, struct rdm_tx *tx, const struct rdm_frame *f,
			 const struct rdm_piece *p)
{
	bool ok;

	if (tx->revoked)
		return true;
	rdm_foreign_begin();
	ok = rdm_fetch(ep, f, p, tx->iov);
	rdm_foreign_end();
	/* A region that has been closed may be gone as well. */
	tx->revoked = ep->wire->revoked(ep, ep->reads.head);
	return ok || tx->revoked;
}

/* Reads complete in the order in which they were posted. */
static void complete_reads(struct rdm_ep *ep)
{
	while (ep->reads.head != ep->reads_at) {
		struct rdm_tx *tx = rdm_tx_at(&ep->reads, ep->reads.head);

		if (tx->transfers)
			return;
		rdm_ep_done(ep, ep->tx_cq, tx->context,
			    tx->kind == RDM_READ ? FI_READ | FI_RMA : FI_ATOMIC, tx->total, 0,
			    tx->err);
		ep->reads.head++;
	}
}

void rdm_read_arrived(struct rdm_ep *ep)
{
	for (uint32_t i = ep->reads.head; i != ep->reads.tail; i++) {
		struct rdm_tx *tx = rdm_tx_at(&ep->reads, i);

		if (!tx->transfers)
			continue;
		tx->transfers--;
		break;
	}
	complete_reads(ep);
}

void rdm_take_data(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload)
{
	struct rdm_tx *tx = ep->reads_at != ep->reads.tail ? rdm_tx_at(&ep->reads, ep->reads_at)
							   : NULL;
	bool last = f->flags & RDM_LAST, pull = f->flags & RDM_PULL;
	bool bulk = pull && ep->wire->bulk_recv;
	struct rdm_piece p;

	if (!tx || !rdm_look_at(f, payload, &p) || p.bytes > tx->total - tx->done ||
	    f->key > INT_MAX || (f->key && (!last || pull)) || (pull && !tx->pulled) ||
	    (!f->key && !last == (p.bytes == tx->total - tx->done))) {
		rdm_ep_fail(ep, "data that was not asked for");
		return;
	}
	if (bulk && !rdm_bulk_read(ep, tx, &p)) {
		rdm_ep_fail(ep, "a transfer that cannot be received");
		return;
	}
	if (pull && !bulk && !take_granted(ep, tx, f, &p)) {
		rdm_ep_fail(ep, "data of a read that its owner has taken back");
		return;
	}
	if (!f->key && !pull) {
		rdm_foreign_begin();
		rdm_scatter(tx->iov, payload, f->len);
		rdm_foreign_end();
	}
	if (!f->key)
		tx->done += p.bytes;
	if (!last)
		return;
	tx->err = f->key ? (int)f->key : tx->revoked ? FI_ENOKEY : 0;
	ep->reads_at++;
	complete_reads(ep);
}
