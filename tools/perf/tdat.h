/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares what the parts of the transport over DAT share. */
#ifndef DAT_PERF_TDAT_H
#define DAT_PERF_TDAT_H

#include "pdat.h"
#include "transport.h"

/* Slots of a ring; long messages of one direction under way; control messages not completed. */
#define TDAT_SLOTS 64u
#define TDAT_LONG 16u
#define TDAT_CONTROLS 64u
/* Receives for control messages: permissions and notices of all long messages, and credits. */
#define TDAT_RECEIVES (2 * TDAT_LONG + 8)
#define TDAT_CONTROL_SIZE 64u

enum tdat_slot_type { TDAT_EAGER = 1, TDAT_REQUEST };
enum tdat_control_type { TDAT_CREDIT = 1, TDAT_PERMIT, TDAT_NOTICE };
enum tdat_work { TDAT_WORK_SLOT = 1, TDAT_WORK_LONG, TDAT_WORK_CONTROL, TDAT_WORK_RECV };

/*
 * The end of a slot; the data stands in front of it. The peer polls the last byte, which is
 * written last: the number of the round through the ring, never 0.
 */
struct tdat_tail {
	uint32_t len; /* big-endian */
	uint8_t type;
	uint8_t unused[10];
	uint8_t round;
};

/* A message on connection A, big-endian. */
struct tdat_control {
	uint32_t type;
	uint32_t count; /* credits, or the number of the long message */
	uint64_t addr;
	uint64_t key;
};

struct tdat_region {
	uint8_t *buf;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
};

struct tdat_long {
	struct perf_msg msg;
	struct tdat_region region;
};

/* Counters only grow. Connection A carries control messages, B all RDMA writes. */
struct tdat_peer {
	struct perf_side *a, *b;
	uint64_t filled;   /* slots written at the peer */
	uint64_t written;  /* of these, writes completed here */
	uint64_t freed;    /* of these, slots that the peer has returned */
	uint64_t taken;    /* slots read here */
	uint64_t returned; /* of these, slots returned to the peer */
	uint64_t controls, controls_done;
	/* outgoing: requested, permitted by the peer, written, noticed to the peer */
	uint64_t requested, permitted, long_written, noticed;
	/* incoming: permitted to the peer, complete */
	uint64_t granted, arrived;
	struct tdat_long out[TDAT_LONG];
	struct tdat_long in[TDAT_LONG];
};

struct tdat {
	struct perf_transport base;
	struct perf_plan plan;
	struct perf_run run;
	struct perf_case c;
	struct perf_session session;
	DAT_EVD_HANDLE evd_a, evd_b;
	size_t slot_size;
	struct tdat_region *cache;
	int cached;
	struct tdat_peer peer[PERF_MAX_PEERS];
};

static inline struct tdat *tdat(struct perf_transport *t)
{
	return (struct tdat *)t;
}

static inline DAT_DTO_COOKIE tdat_cookie(enum tdat_work work, int peer, uint64_t index)
{
	return (DAT_DTO_COOKIE){ .as_64 = (uint64_t)work << 48 | (uint64_t)peer << 32 | index };
}

static inline bool tdat_has_control(const struct tdat_peer *p)
{
	return p->controls - p->controls_done < TDAT_CONTROLS;
}

static inline bool tdat_has_slot(const struct tdat_peer *p)
{
	return p->filled - p->freed < TDAT_SLOTS && p->filled - p->written < TDAT_SLOTS;
}

static inline uint8_t tdat_round_of(uint64_t slot)
{
	return (uint8_t)(slot / TDAT_SLOTS % 255 + 1);
}

static inline struct tdat_tail *tdat_tail_of(const struct tdat *d, uint8_t *ring, uint64_t slot)
{
	uint8_t *end = ring + (slot % TDAT_SLOTS + 1) * d->slot_size;

	return (struct tdat_tail *)(void *)(end - sizeof(struct tdat_tail));
}

/* transport_dat_post.c */
int tdat_post_control(struct tdat *d, int peer, const struct tdat_control *message);
int tdat_post_receive(struct tdat *d, int peer, uint64_t index);
int tdat_post_write(struct tdat *d, int peer, DAT_LMR_TRIPLET *from, DAT_RMR_TRIPLET *to,
		    DAT_DTO_COOKIE cookie);
/* Writes the next slot of the peer's ring. The caller has checked that there is one. */
int tdat_fill_slot(struct tdat *d, int peer, enum tdat_slot_type type, const uint8_t *data,
		   size_t len);

/* transport_dat_ring.c */
int tdat_start(struct perf_transport *t, int peer);
int tdat_progress(struct perf_transport *t);

/* transport_dat_long.c: each side registers; the sender writes when the peer permits */
int tdat_long_request(struct tdat *d, int peer, const struct perf_msg *msg);
/* 0 if the message cannot be received yet, 1 if the peer has got its permission */
int tdat_long_requested(struct tdat *d, int peer, size_t len);
int tdat_long_permitted(struct tdat *d, int peer, const struct tdat_control *message);
int tdat_long_written(struct tdat *d, int peer);
int tdat_long_notice(struct tdat *d, int peer);
int tdat_long_noticed(struct tdat *d, int peer, uint32_t number);
int tdat_cache_put(struct tdat *d);

#endif
