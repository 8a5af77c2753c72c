/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on a pair: collecting packets, sending; credits. */
#ifndef DOFI_MSGEP_PAIR_MESSAGE_H
#define DOFI_MSGEP_PAIR_MESSAGE_H

#include "msgep/pair/pair_int.h"

/* Space for `need` bytes in the open message. NULL: libfabric has to send others first, unless the
 * packet must not be lost. For this and the following the caller holds pair->lock. */
uint8_t *pair_open_space(struct pair *pair, uint32_t need, bool must);
/* There is no space for a packet of the connection. */
void pair_starve(struct pair_conn *conn);
/* Adds as many credits as fit; leaves an open message. */
void pair_put_credits(struct pair *pair);
/* Puts the counts of a credit into another packet of the connection. */
void pair_put_counts(struct pair_conn *conn, struct msgep_frame *f);
/* Something that has been collected has that need. */
void pair_mark_dirty(struct pair *pair, enum pair_need need);
static inline uint32_t pair_empty_polls(const struct pair *pair)
{
	return atomic_load_explicit(&pair->net->empty_polls, memory_order_relaxed);
}

static inline void pair_set_need(struct pair *pair, enum pair_need need)
{
	DOFI_ASSERT_LOCKED(&pair->lock);
	if (pair->need >= need)
		return;
	pair->need = need;
	if (need == PAIR_LAZY)
		msgep_reply_owed(&pair->reply, pair_empty_polls(pair));
}

/* Sends what has been collected if any of it has this need, or a higher one. */
void pair_flush(struct pair *pair, enum pair_need least);
/* The same for all pairs that have collected something. Caller holds net->lock, and has disabled
 * cancellation, as for pair_flush. */
void pair_flush_all(struct pair_net *net, enum pair_need least);
static inline void pair_flush_dirty(struct pair_net *net, enum pair_need least)
{
	if (atomic_load_explicit(&net->dirty_need, memory_order_relaxed) >= least)
		pair_flush_all(net, least);
}

/* Queues packets of a connection that have been committed; false: no space now. The next flush
 * sends them. Caller holds ep->lock. */
bool pair_put_packets(struct pair_conn *conn, const uint8_t *packets, uint32_t len);
/* Queues a packet regardless of credits, to the connection of that mark. The next flush sends it.
 * False: no memory. */
bool pair_send_control(struct pair *pair, uint8_t kind, uint64_t mark, uint64_t value,
		       uint64_t total, const void *data, size_t len);
/* Sends one to the peer of a connection. */
void pair_control(struct pair_conn *conn, uint8_t kind, uint64_t value, uint64_t total);
/* Of `left` transfers one has ended: ends the wait of held packets, unless there are enough others.
 * Caller holds ep->lock. */
void pair_unhold(struct pair_conn *conn, uint32_t left);
/* The connection owes the peer a credit. Caller holds ep->lock. */
void pair_owe(struct pair_conn *conn);
/* A message has completed. Caller holds net->lock. */
void pair_sent(struct pair_buf *buf);
/* The pair is closed: returns its buffers to the pool. */
void pair_drop_unsent(struct pair *pair);
/* A new buffer; NULL: there is no memory. It is freed when the adapter is closed, since libfabric
 * may have it until then. */
struct pair_buf *pair_buf_alloc(struct pair_net *net, enum pair_op_kind kind);
/* Adds a buffer, for messages that must be sent even without memory. 0 or negative. */
int pair_buf_new(struct pair_net *net);
void pair_bufs_free(struct pair_net *net);

#endif
