/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the files of the protocol share; see msgep.h. ep->lock is held throughout. */
#ifndef DOFI_RDM_PROTO_H
#define DOFI_RDM_PROTO_H

#include "msgep/msgep.h"

/* Bytes that one side takes out of the other's memory for one frame. */
#define RDM_PULL_MOST ((size_t)1 << 20)

/* What a frame brings of a request, or of an answer; of a list only our copy counts, the peer can
 * still change its own. */
struct rdm_piece {
	uint64_t bytes;
	const char *rest;		/* what travels in the frame, */
	size_t rest_len;		/* behind the list */
	struct rdm_segment list[RDM_IOV_MAX];
};

static inline uint32_t rdm_queued(const struct rdm_txq *q)
{
	return q->tail - q->head;
}

static inline struct rdm_tx *rdm_tx_at(const struct rdm_txq *q, uint32_t i)
{
	return &q->tx[i & (q->room - 1)];
}

/* The place of a peer's read, or atomic operation, among those that are answered. */
static inline uint64_t rdm_serve_bit(uint32_t read)
{
	return (uint64_t)1 << (read % RDM_SERVE_MAX);
}

static inline bool rdm_fetches(uint8_t kind)
{
	return kind == RDM_READ || kind == RDM_ADD || kind == RDM_SWAP;
}

/* proto.c */
/* A request has been queued as the first one: as much of it as there is room for goes out. */
void rdm_push_first(struct rdm_ep *ep);
/* Is a message done only when it has arrived? */
static inline bool rdm_flies(struct rdm_ep *ep)
{
	return ep->wire->arrived && !(ep->wire->eager && ep->wire->eager(ep));
}
/* Messages that have arrived are done. */
void rdm_land(struct rdm_ep *ep);
/* The ring of flights is full. False: there is no memory for a larger one. */
bool rdm_flights_grow(struct rdm_ep *ep);
/* Before a message that may be the last one's frame: has it a place in the ring of flights? */
static inline bool rdm_may_fly(struct rdm_ep *ep)
{
	return ep->flight_tail - ep->flight_head < ep->flight_room || !ep->wire->arrived ||
	       rdm_flights_grow(ep);
}
static inline void rdm_land_due(struct rdm_ep *ep)
{
	if (ep->flight_head != ep->flight_tail && rdm_ep_awaits(ep, ep->wire->arrived(ep)))
		rdm_land(ep);
}
/* All of a message is in frames: it is done when they have arrived. */
void rdm_take_off(struct rdm_ep *ep, void *context, uint64_t total);

/* proto_rx.c */
/* Completes what the peer has acknowledged without a frame. */
void rdm_take_acks(struct rdm_ep *ep);
/* False: the frame makes no sense. */
bool rdm_look_at(const struct rdm_frame *f, const void *payload, struct rdm_piece *p);
/* Puts it there. False: the peer has taken it back. */
bool rdm_fetch(struct rdm_ep *ep, const struct rdm_frame *f, const struct rdm_piece *p,
	       struct iovec *to);

/* proto_bulk.c: transfers to us. False: the peer broke the rules, or there is no memory. */
bool rdm_bulk_message(struct rdm_ep *ep, const struct rdm_frame *f, const struct rdm_piece *p);
/* mr_lock held for reading. */
bool rdm_bulk_write(struct rdm_ep *ep, const struct rdm_frame *f, const struct rdm_piece *p,
		    struct iovec to);
bool rdm_bulk_read(struct rdm_ep *ep, struct rdm_tx *tx, const struct rdm_piece *p);
/* May the request be processed, or does it wait for a transfer? */
bool rdm_bulk_may_take(const struct rdm_ep *ep, const struct rdm_frame *f);
bool rdm_push_gos(struct rdm_ep *ep);

/* proto_read.c */
/* Where the peer's next read or atomic operation is to be described; NULL: too much is being
 * answered, or there is no memory and the connection ends. */
struct rdm_serve *rdm_serve_next(struct rdm_ep *ep);
/* A part of the oldest incomplete read has arrived in bulk. */
void rdm_read_arrived(struct rdm_ep *ep);
/* Shall we take what the request asks for out of the peer's memory? */
bool rdm_read_pulls(struct rdm_ep *ep, uint64_t total);
/* The peer's request. False: too many are being answered. */
bool rdm_take_read(struct rdm_ep *ep, const struct rdm_frame *f);
/* The peer's answer, or a part of it. */
void rdm_take_data(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload);
/* Answers what the peer asked for. False: no room. */
bool rdm_push_reads(struct rdm_ep *ep);

#endif
