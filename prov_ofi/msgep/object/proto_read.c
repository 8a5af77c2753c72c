/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers read requests. (hot)
 *
 * Small reads are answered by frames with the data. If the reader can pull it, and states so, a
 * large read is answered by a grant, after the same checks. Nothing waits for the reader to finish:
 * closing the region revokes the grant in memory that both sides share, and the reader discards
 * pulled data if the grant is gone afterwards. So a successful read has its data from before the
 * region was closed.
 *
 * Grants are numbered like the reads of a connection. At most MSGEP_TARGET_READS reads are
 * unanswered, so an entry is reused only after the reader is done with it.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/grow.h"
#include "msgep/peer_memory.h"
#include "msgep/iov.h"
#include "msgep/object/proto.h"

/* Initial capacity for reads of the peer. With grants all entries keep their places: their keys are
 * searched until they are reused. */
#define FIRST_CAPACITY 2

/* ---------------------------------------------------------------- target */

/* True if the answer travels in bulk. */
static bool read_bulk_serves(struct msgep_ep *ep, uint64_t total)
{
	return ep->transport->bulk_from && total >= ep->transport->bulk_from(ep);
}

struct msgep_target_read *msgep_target_read_next(struct msgep_ep *ep)
{
	uint32_t first = ep->transport->grant ? MSGEP_TARGET_READS : FIRST_CAPACITY;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (ep->target_read_tail - ep->target_read_head == ep->target_read_capacity &&
	    !DOFI_RING_GROW(ep->target_reads, ep->target_read_capacity, ep->target_read_head,
			    ep->target_read_tail, first, MSGEP_TARGET_READS)) {
		if (!ep->target_read_capacity)
			msgep_ep_fail(ep, "no memory to answer its first read");
		return NULL;
	}
	return &ep->target_reads[ep->target_read_tail & (ep->target_read_capacity - 1)];
}

bool msgep_recv_read(struct msgep_ep *ep, const struct msgep_frame *f)
{
	struct msgep_target_read *s = msgep_target_read_next(ep);

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!s)
		return false;
	if (ep->in_message || ep->in_write || f->len) {
		msgep_ep_fail(ep, "an invalid read request");
		return true;
	}
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	ep->granted &= ~msgep_target_read_bit(ep->target_read_tail);
	*s = (struct msgep_target_read){ .remote = f->value,
					 .total = f->total,
					 .key = f->key,
					 .pulled = f->flags & MSGEP_PULL &&
						   (ep->transport->grant ||
						    read_bulk_serves(ep, f->total)) };
	msgep_mr_access(ep, s->key, s->remote, s->total, FI_REMOTE_READ, &s->refused);
	pthread_rwlock_unlock(&ep->domain->mr_lock);
	/* Requests after a refused one must not take effect. */
	if (s->refused)
		ep->refused = true;
	ep->target_read_tail++;
	return true;
}

/* Grants `len` bytes at `from`, which mr_lock keeps valid. Returns the bytes of payload. */
static size_t read_grant(struct msgep_ep *ep, const struct msgep_target_read *s, void *payload,
			 const void *from, size_t len)
{
	struct msgep_segment segment = { (uintptr_t)from, len };

	if (!s->done)
		ep->transport->grant(ep, ep->target_read_head);
	ep->granted |= msgep_target_read_bit(ep->target_read_head);
	msgep_mr_set_granted(ep->domain, s->key);
	memcpy(payload, &segment, sizeof(segment));
	return sizeof(segment);
}

/* The same as a bulk transfer; 0: too many are outstanding. */
static size_t read_announce_grant(struct msgep_ep *ep, const struct msgep_target_read *s,
				  void *payload, const void *from, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)from, len };
	struct msgep_segment segment = { .len = len };
	struct msgep_mr *mr = msgep_mr_hold(ep->domain, s->key);

	if (!ep->transport->bulk_send(ep, &iov, 1, mr, &segment.addr)) {
		atomic_fetch_sub(&mr->transfers, 1);
		return 0;
	}
	memcpy(payload, &segment, sizeof(segment));
	return sizeof(segment);
}

/* Fills in the payload of the next frame of an answer, if the access is permitted. Returns its
 * length. */
static size_t read_fill(struct msgep_ep *ep, struct msgep_target_read *s, void *payload, size_t len)
{
	const void *from;

	if (s->has_value) {
		memcpy(payload, &s->value, len);
		return len;
	}
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	/* The region may have been closed since the last frame. */
	from = msgep_mr_access(ep, s->key, s->remote + s->done, len, FI_REMOTE_READ, &s->refused);
	if (from && s->pulled && ep->transport->bulk_from) {
		len = read_announce_grant(ep, s, payload, from, len);
	} else if (from && s->pulled) {
		len = read_grant(ep, s, payload, from, len);
	} else if (from) {
		msgep_peer_memory_begin();
		memcpy(payload, from, len);
		msgep_peer_memory_end();
	}
	pthread_rwlock_unlock(&ep->domain->mr_lock);
	return from ? len : 0;
}

/* How the data of an answer travels; s->pulled becomes false if in frames. */
static enum msgep_bulk_mode read_choose_mode(struct msgep_ep *ep, struct msgep_target_read *s)
{
	enum msgep_bulk_mode mode = MSGEP_BULK_AFTER_GO;

	if (s->pulled && ep->transport->bulk_mode)
		mode = ep->transport->bulk_mode(ep, MSGEP_DATA);
	s->pulled = s->pulled && mode != MSGEP_BULK_NOT;
	return mode;
}

/* Reserves the next frame of an answer; *part: how much of what is left of the data it stands for.
 * A frame at the end of a ring may be too short even for one segment. */
static struct msgep_frame *read_reserve(struct msgep_ep *ep, struct msgep_target_read *s,
					size_t left, size_t *part)
{
	size_t want = s->pulled && left ? sizeof(struct msgep_segment) : left, space;
	struct msgep_frame *f = ep->transport->reserve(ep, MSGEP_ANS, want, &space);

	if (!f)
		return NULL;
	if (s->pulled && space >= sizeof(struct msgep_segment))
		space = MSGEP_PULL_MOST;
	else
		s->pulled = false;
	*part = space < left ? space : left;
	return f;
}

/* Sends the frame, which has `len` bytes of payload and stands for `part` of the data. */
static void read_commit(struct msgep_ep *ep, struct msgep_target_read *s, struct msgep_frame *f,
			size_t len, size_t part, enum msgep_bulk_mode mode)
{
	bool pulled = s->pulled && !s->refused, at_once = pulled && mode == MSGEP_BULK_AT_ONCE;
	uint8_t flags = s->done ? 0 : MSGEP_FIRST;
	struct msgep_segment segment;

	s->done += part;
	if (s->refused || s->done == s->total)
		flags |= MSGEP_LAST;
	if (pulled)
		flags |= MSGEP_PULL;
	if (at_once) {
		flags |= MSGEP_UNSOLICITED;
		memcpy(&segment, msgep_payload(f), sizeof(segment));
	}
	*f = (struct msgep_frame){ .mark = f->mark,
				   .len = (uint32_t)len,
				   .kind = MSGEP_DATA,
				   .flags = flags,
				   .key = (uint32_t)s->refused,
				   .total = s->total,
				   .segments = pulled };
	ep->transport->commit(ep, MSGEP_ANS, f);
	if (at_once)
		ep->transport->bulk_go(ep, segment.addr, false);
}

static bool read_push_data(struct msgep_ep *ep, struct msgep_target_read *s)
{
	enum msgep_bulk_mode mode = read_choose_mode(ep, s);
	size_t left = s->refused ? 0 : s->total - s->done, part, len = 0;
	struct msgep_frame *f = read_reserve(ep, s, left, &part);

	if (!f)
		return false;
	if (!s->refused)
		len = read_fill(ep, s, msgep_payload(f), part);
	if (!len && s->pulled && !s->refused) {
		msgep_unreserve(ep);
		return false;
	}
	read_commit(ep, s, f, len, part, mode);
	return true;
}

bool msgep_push_reads(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	while (ep->target_read_head != ep->target_read_tail) {
		struct msgep_target_read *s =
			&ep->target_reads[ep->target_read_head & (ep->target_read_capacity - 1)];

		do {
			if (!read_push_data(ep, s))
				return false;
		} while (!s->refused && s->done < s->total);
		ep->target_read_head++;
	}
	return true;
}

/* ---------------------------------------------------------------- initiator */

bool msgep_read_pulls(struct msgep_ep *ep, uint64_t total)
{
	if (ep->transport->bulk_from)
		return total >= ep->transport->bulk_from(ep);
	return ep->transport->pull_to && total >= ep->transport->pull_to(ep);
}

/* Pulls what was granted. False: the connection is about to end. */
static bool read_pull_granted(struct msgep_ep *ep, struct msgep_tx *tx, const struct msgep_frame *f,
			      const struct msgep_frame_data *p)
{
	bool ok;

	if (tx->revoked)
		return true;
	msgep_peer_memory_begin();
	ok = msgep_pull_frame(ep, f, p, msgep_tx_iov(tx));
	msgep_peer_memory_end();
	/* A closed region may be unmapped as well. */
	tx->revoked = ep->transport->revoked(ep, ep->reads.head);
	return ok || tx->revoked;
}

/* Reads complete in the order in which they were posted. */
static void read_complete_reads(struct msgep_ep *ep)
{
	while (ep->reads.head != ep->reads_at) {
		struct msgep_tx *tx = msgep_tx_at(&ep->reads, ep->reads.head);

		if (tx->transfers)
			return;
		msgep_ep_done(ep, ep->tx_cq, tx->context,
			      tx->kind == MSGEP_READ ? FI_READ | FI_RMA : FI_ATOMIC, tx->total, 0,
			      tx->err);
		ep->reads.head++;
	}
}

void msgep_read_arrived(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	for (uint32_t i = ep->reads.head; i != ep->reads.tail; i++) {
		struct msgep_tx *tx = msgep_tx_at(&ep->reads, i);

		if (!tx->transfers)
			continue;
		tx->transfers--;
		break;
	}
	read_complete_reads(ep);
}

/* True if the frame is the next one of the answer to this read. A refusal is the last one. */
static bool read_is_answer(const struct msgep_tx *tx, const struct msgep_frame *f,
			   const struct msgep_frame_data *p)
{
	bool last = f->flags & MSGEP_LAST, pull = f->flags & MSGEP_PULL;
	uint64_t left = tx->total - tx->done;

	if (p->bytes > left || (pull && !tx->pulled))
		return false;
	if (f->key)
		return f->key <= INT_MAX && last && !pull;
	return last == (p->bytes == left);
}

void msgep_recv_data(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload)
{
	struct msgep_tx *tx = ep->reads_at != ep->reads.tail ? msgep_tx_at(&ep->reads, ep->reads_at)
							     : NULL;
	bool last = f->flags & MSGEP_LAST, pull = f->flags & MSGEP_PULL;
	bool bulk = pull && ep->transport->bulk_recv;
	struct msgep_frame_data p;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!tx || !msgep_parse_frame(f, payload, &p) || !read_is_answer(tx, f, &p)) {
		msgep_ep_fail(ep, "data that was not requested");
		return;
	}
	if (bulk && !msgep_bulk_read(ep, tx, f, &p)) {
		msgep_ep_fail(ep, "a transfer that cannot be received");
		return;
	}
	if (pull && !bulk && !read_pull_granted(ep, tx, f, &p)) {
		msgep_ep_revoked(ep, "a read");
		return;
	}
	if (!f->key && !pull) {
		msgep_peer_memory_begin();
		msgep_iov_scatter(msgep_tx_iov(tx), payload, f->len);
		msgep_peer_memory_end();
	}
	if (!f->key)
		tx->done += p.bytes;
	if (!last)
		return;
	tx->err = f->key ? (int)f->key : tx->revoked ? FI_ENOKEY : 0;
	ep->reads_at++;
	read_complete_reads(ep);
}
