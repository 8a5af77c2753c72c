/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the files of the protocol share; see msgep.h. ep->lock is held throughout. */
#ifndef DOFI_MSGEP_PROTO_H
#define DOFI_MSGEP_PROTO_H

#include "msgep/msgep.h"

/* Bytes that one side takes out of the other's memory for one frame. */
#define MSGEP_PULL_MOST ((size_t)1 << 20)

/* What a frame brings of a request, or of an answer; of a list only our copy counts, the peer can
 * still change its own. */
struct msgep_frame_data {
	uint64_t bytes;
	const char *rest;		/* what travels in the frame, */
	size_t rest_len;		/* behind the list */
	struct msgep_segment list[MSGEP_IOV_MAX];
};

static inline uint32_t msgep_queued(const struct msgep_txq *q)
{
	return q->tail - q->head;
}

static inline struct msgep_tx *msgep_tx_at(const struct msgep_txq *q, uint32_t i)
{
	return &q->tx[i & (q->room - 1)];
}

/* The place of a peer's read, or atomic operation, among those that are answered. */
static inline uint64_t msgep_target_read_bit(uint32_t read)
{
	return (uint64_t)1 << (read % MSGEP_TARGET_READS);
}

static inline bool msgep_fetches(uint8_t kind)
{
	return kind == MSGEP_READ || kind == MSGEP_ADD || kind == MSGEP_SWAP;
}

/* proto.c */
/* A request has been queued as the first one: as much of it as there is room for goes out. */
void msgep_push_first(struct msgep_ep *ep);
/* Is a message done only when it has arrived? */
static inline bool msgep_is_acked(struct msgep_ep *ep)
{
	return ep->transport->arrived && !(ep->transport->is_eager && ep->transport->is_eager(ep));
}
/* Messages that have arrived are done. */
void msgep_complete_arrived(struct msgep_ep *ep);
/* The ring of messages in flight is full. False: there is no memory for a larger one. */
bool msgep_inflight_grow(struct msgep_ep *ep);
/* Before a message that may be the last one's frame: has it a place in the ring of messages in flight? */
static inline bool msgep_inflight_has_room(struct msgep_ep *ep)
{
	return ep->inflight_tail - ep->inflight_head < ep->inflight_room ||
	       !ep->transport->arrived || msgep_inflight_grow(ep);
}
static inline void msgep_complete_due(struct msgep_ep *ep)
{
	if (ep->inflight_head != ep->inflight_tail &&
	    msgep_ep_completes_at(ep, ep->transport->arrived(ep)))
		msgep_complete_arrived(ep);
}
/* All of a message is in frames: it is done when they have arrived. */
void msgep_inflight_add(struct msgep_ep *ep, void *context, uint64_t total);

/* proto_rx.c */
/* Completes what the peer has acknowledged without a frame. */
void msgep_take_acks(struct msgep_ep *ep);
/* False: the frame makes no sense. */
bool msgep_parse_frame(const struct msgep_frame *f, const void *payload,
		       struct msgep_frame_data *p);
/* Puts it there. False: the peer has taken it back. */
bool msgep_pull_frame(struct msgep_ep *ep, const struct msgep_frame *f,
		      const struct msgep_frame_data *p, struct iovec *to);

/* proto_bulk.c: transfers to us. False: the peer broke the rules, or there is no memory. */
bool msgep_bulk_message(struct msgep_ep *ep, const struct msgep_frame *f,
			const struct msgep_frame_data *p);
/* mr_lock held for reading. */
bool msgep_bulk_write(struct msgep_ep *ep, const struct msgep_frame *f,
		      const struct msgep_frame_data *p, struct iovec to);
bool msgep_bulk_read(struct msgep_ep *ep, struct msgep_tx *tx, const struct msgep_frame_data *p);
/* May the request be processed, or does it wait for a transfer? */
bool msgep_bulk_may_process(const struct msgep_ep *ep, const struct msgep_frame *f);
bool msgep_push_gos(struct msgep_ep *ep);

/* proto_read.c */
/* Where the peer's next read or atomic operation is to be described; NULL: too much is being
 * answered, or there is no memory and the connection ends. */
struct msgep_target_read *msgep_target_read_next(struct msgep_ep *ep);
/* A part of the oldest incomplete read has arrived in bulk. */
void msgep_read_arrived(struct msgep_ep *ep);
/* Shall we take what the request asks for out of the peer's memory? */
bool msgep_read_pulls(struct msgep_ep *ep, uint64_t total);
/* The peer's request. False: too many are being answered. */
bool msgep_recv_read(struct msgep_ep *ep, const struct msgep_frame *f);
/* The peer's answer, or a part of it. */
void msgep_recv_data(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload);
/* Answers what the peer asked for. False: no room. */
bool msgep_push_reads(struct msgep_ep *ep);

#endif
