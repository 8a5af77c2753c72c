/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the sources of the protocol; see msgep.h. Callers hold ep->lock
 * throughout.
 *
 * A source of this folder calls those above it in this list:
 *
 *   mr.c               memory regions
 *   cq_ring.c          completion queue: its ring, waking its threads
 *   cq_touch.c         endpoints that have been reported
 *   cq_bind.c          endpoints and ready rings of a completion queue
 *   eq_events.c        connection events that have not been read
 *   srx.c              shared receive contexts
 *   ep_end.c           a connection cannot continue
 *   proto_frame.c      data of a received frame, and the receive that it is for
 *   proto_bulk.c       transfers of long data: announcements
 *   proto_read.c       reads: answers to the peer, and those of the peer
 *   proto_bulk_done.c  transfers of long data whose data has arrived
 *   proto_ext.c        atomic operations, immediate data
 *   proto_tx.c         turns requests and answers into frames
 *   proto_rx.c         processes received frames
 *   post.c             posts operations
 *   cq_ready.c         ready rings
 *   cq_poll.c          polls the endpoints of a completion queue
 *   ep_conn.c          the connection begins, and is ended by the peer
 */
#ifndef DOFI_MSGEP_PROTO_H
#define DOFI_MSGEP_PROTO_H

#include "msgep/iov.h"
#include "msgep/msgep.h"

/* Maximum of bytes that one side pulls from the other's memory for one frame. */
#define MSGEP_PULL_MOST ((size_t)1 << 20)
/* No transport pulls fewer, nor transfers them in bulk. */
#define MSGEP_PULL_LEAST 1024

/* Data of a request or answer in a frame. The segment list is copied, because the peer can still
 * change the original. */
struct msgep_frame_data {
	uint64_t bytes;
	const char *rest; /* data in the frame itself, */
	size_t rest_len;  /* after the list */
	struct msgep_segment list[MSGEP_IOV_INLINE];
};

static inline uint32_t msgep_queued(const struct msgep_txq *q)
{
	return q->tail - q->head;
}

static inline struct msgep_tx *msgep_tx_at(const struct msgep_txq *q, uint32_t i)
{
	return &q->tx[i & (q->capacity - 1)];
}

/* Bit of a peer's read or atomic operation in masks of target_reads. */
static inline uint64_t msgep_target_read_bit(uint32_t read)
{
	return (uint64_t)1 << (read % MSGEP_TARGET_READS);
}

/* Describes a receive of at most MSGEP_IOV_MAX segments. */
static inline void msgep_recv_describe(struct msgep_recv *recv, const struct fi_msg *msg)
{
	recv->context = msg->context;
	recv->total = msgep_iov_total(msg->msg_iov, msg->iov_count);
	recv->in_place = msg->iov_count > MSGEP_IOV_INLINE ? 0 : recv->total;
	if (msg->iov_count > MSGEP_IOV_INLINE) {
		recv->list = (struct iovec *)(uintptr_t)msg->msg_iov;
		return;
	}
	for (size_t i = 0; i < msg->iov_count; i++)
		recv->iov[i] = msg->msg_iov[i];
}

static inline bool msgep_fetches(uint8_t kind)
{
	return kind == MSGEP_READ || kind == MSGEP_ADD || kind == MSGEP_SWAP;
}

/* proto_frame.c */
/* False: the frame is invalid. */
bool msgep_parse_frame(const struct msgep_frame *f, const void *payload,
		       struct msgep_frame_data *p);
/* Completes the receive of a message that is too long, once the transfers before it have ended. The
 * consumer then ends the connection: what they owe the peer has been sent. */
void msgep_report_too_long(struct msgep_ep *ep);
/* The receive in ep->cur, or one of the same message, is complete. */
static inline void msgep_received(struct msgep_ep *ep, void *context, int err)
{
	ep->messages++;
	msgep_ep_done(ep, ep->rx_cq, context,
		      FI_MSG | FI_RECV | (ep->has_data ? FI_REMOTE_CQ_DATA : 0),
		      err ? 0 : ep->expected, ep->data, err);
}
/* Pulls the data to its destination. False: the peer has revoked it. */
bool msgep_pull_frame(struct msgep_ep *ep, const struct msgep_frame *f,
		      const struct msgep_frame_data *p, struct iovec *to);

static inline struct msgep_bulk *msgep_bulk_at(struct msgep_ep *ep, uint32_t i)
{
	return &ep->bulk.ring[i & (ep->bulk.capacity - 1)];
}

/* A transfer into more segments than a bulk endpoint takes arrives in a buffer first. */
struct msgep_bounce {
	struct iovec to[MSGEP_IOV_MAX];
	char data[];
};

/* proto_bulk.c: incoming transfers. False: protocol violation, or no memory. */
bool msgep_bulk_message(struct msgep_ep *ep, const struct msgep_frame *f,
			const struct msgep_frame_data *p);
/* Caller holds mr_lock for reading. */
bool msgep_bulk_write(struct msgep_ep *ep, const struct msgep_frame *f,
		      const struct msgep_frame_data *p, struct iovec to);
bool msgep_bulk_read(struct msgep_ep *ep, struct msgep_tx *tx, const struct msgep_frame *f,
		     const struct msgep_frame_data *p);
/* The data of a request that has been dropped is arriving, and is not received: ends the transfers,
 * once those of earlier requests have completed. */
void msgep_bulk_drop(struct msgep_ep *ep);
/* True if the request may be processed; false: it waits for a transfer. */
bool msgep_bulk_may_process(const struct msgep_ep *ep, const struct msgep_frame *f);
bool msgep_push_gos(struct msgep_ep *ep);

/* proto_read.c */
/* Entry for the peer's next read or atomic operation; NULL: too many are being answered, or there
 * is no memory and the connection ends. */
struct msgep_target_read *msgep_target_read_next(struct msgep_ep *ep);
/* A part of the oldest incomplete read has arrived in bulk. */
void msgep_read_arrived(struct msgep_ep *ep);
/* True if the requested data should be pulled from the peer's memory. */
bool msgep_read_pulls(struct msgep_ep *ep, uint64_t total);
/* A read request. False: too many are being answered. */
bool msgep_recv_read(struct msgep_ep *ep, const struct msgep_frame *f);
/* An answer of the peer, or a part of one. */
void msgep_recv_data(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload);
/* Answers the peer's reads. False: no space. */
bool msgep_push_reads(struct msgep_ep *ep);

#endif
