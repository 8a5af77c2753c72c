/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the endpoints of the soak test and their bookkeeping.
 *
 * Every thread of the active process has a partner thread in the passive one; each pair owns
 * SOAK_EPS connections, which live through generations: connect, transfer at random, end from
 * either side, reset. The bookkeeping of an EP has every outstanding operation.
 */
#ifndef SOAK_H
#define SOAK_H

#include "rdat.h"

#define SOAK_EPS 8
#define SOAK_RECVS 8
#define SOAK_REQS 8
#define SOAK_MSG 4096
#define SOAK_AREA 65536 /* of an EP that its peer writes and reads back */

enum soak_phase { SP_IDLE, SP_PENDING, SP_UP, SP_ENDING };

/* Operation n of an EP: receives first, then requests. */
#define SOAK_OPS (SOAK_RECVS + SOAK_REQS)

struct soak_op {
	bool out; /* posted and not completed */
	enum rd_kind kind;
	uint32_t len, seed;
};

/* How a generation ended at one side, for the other to compare; in memory that both share. */
struct soak_end {
	_Atomic uint32_t gen; /* written last */
	bool mine, graceful;  /* this side disconnected */
	bool broken;          /* BROKEN instead of DISCONNECTED */
	uint32_t sent;        /* messages whose sends succeeded */
};

struct soak_ep {
	DAT_EP_HANDLE ep;
	int index;
	enum soak_phase phase;
	uint32_t gen;
	bool active;
	struct soak_op op[SOAK_OPS];
	int out_recvs, out_reqs;
	uint32_t next_send, next_recv; /* sequence numbers of messages */
	uint32_t sent_ok;
	uint32_t written; /* seed of the data in the peer's area; 0: none */
	bool verifying;   /* a write or its read back is outstanding */
	int budget;       /* requests left in this generation */
	bool mine, graceful, ended, broken;
	uint64_t ended_at;
	uint8_t *bufs; /* SOAK_OPS buffers of SOAK_MSG, then the two below */
	size_t base;   /* where they are in the thread's memory */
	size_t write_off, read_off, area_off;
	int remote; /* index into the table of remote areas */
	struct soak_end *my_end, *their_end;
};

struct soak_thread {
	int number;
	bool active;
	struct rd rd;
	struct rd_mem mem;
	struct soak_ep ep[SOAK_EPS];
	DAT_CR_HANDLE waiting[SOAK_EPS]; /* requests whose EP is still busy */
	uint64_t seed;
	uint64_t connections, rejected, messages, bytes, flushed, rdmas;
};

/* Areas of all EPs of one side. */
struct soak_remote {
	uint64_t va;
	uint32_t rctx;
};

struct soak_shared {
	_Atomic uint64_t qual[8];
	struct soak_remote area[2][8][SOAK_EPS]; /* passive's, active's */
	struct soak_end end[2][8][SOAK_EPS];
	_Atomic int stop;        /* the active side starts no more generations */
	_Atomic int finished[8]; /* ... and all its connections have ended */
};

extern struct soak_shared *soak_shared;
extern bool soak_rdma; /* RDMA as well as messages */

/* Bookkeeping (soak_ep.c) */
void soak_ep_init(struct soak_thread *t, int index);
/* Posts all free receives. */
void soak_ep_fill(struct soak_thread *t, struct soak_ep *e);
/* Posts a random operation, if the EP has a free slot. */
void soak_ep_act(struct soak_thread *t, struct soak_ep *e);
void soak_ep_completed(struct soak_thread *t, const DAT_DTO_COMPLETION_EVENT_DATA *d);
/* The connection event that ends a generation. */
void soak_ep_over(struct soak_ep *e, bool broken);
/*
 * When all operations are complete: compares counts with the peer and resets the EP. False: not
 * yet.
 */
bool soak_ep_recycle(struct soak_thread *t, struct soak_ep *e);

#endif
