/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the endpoints of the soak test and their bookkeeping.
 *
 * Every thread of the active process has a partner thread in the passive one; each pair owns
 * soak_eps connections, which live through generations: connect, transfer at random, end from
 * either side, reset. The bookkeeping of an EP has every outstanding operation.
 *
 * The active process may be killed and started again (soak_chaos.c). The number of a generation
 * contains that of the process that began it: a connection with a process that has been killed may
 * end, or fail, at any time.
 */
#ifndef SOAK_H
#define SOAK_H

#include "rdat.h"

#define SOAK_THREADS 16
#define SOAK_EPS 32 /* at most, of a thread */
/* Generations of one process. */
#define SOAK_GENERATIONS 1000000u
#define SOAK_RECVS 8
#define SOAK_REQS 8
#define SOAK_MSG 4096
#define SOAK_AREA 65536 /* of an EP that its peer writes and reads back */

/* SP_RETRY: the call that connects or accepts lacked resources. */
enum soak_phase { SP_IDLE, SP_RETRY, SP_PENDING, SP_UP, SP_ENDING };

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
	bool failed;          /* the attempt to connect has failed at this side */
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
	bool rejected;          /* by the peer */
	bool failed;            /* the attempt to connect has failed */
	DAT_CR_HANDLE accepted; /* in SP_RETRY, passive side */
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
	DAT_CR_HANDLE waiting[SOAK_EPS]; /* requests whose EP is still busy, */
	uint32_t waiting_gen[SOAK_EPS];  /* and their generations */
	uint64_t seed;
	uint64_t connections, rejected, messages, bytes, flushed, rdmas, failed;
};

/* Areas of all EPs of one side. */
struct soak_remote {
	uint64_t va;
	uint32_t rctx;
};

struct soak_shared {
	_Atomic uint64_t qual[SOAK_THREADS];
	struct soak_remote area[2][SOAK_THREADS][SOAK_EPS]; /* passive's, active's */
	struct soak_end end[2][SOAK_THREADS][SOAK_EPS];
	_Atomic int stop;                   /* the active side starts no more generations */
	_Atomic int finished[SOAK_THREADS]; /* ... and all its connections have ended */
	_Atomic uint32_t process;           /* number of the active process that is not killed */
	_Atomic pid_t active;               /* its PID, */
	_Atomic pid_t ready[2];             /* and those of processes that are set up */
};

extern struct soak_shared *soak_shared;
extern bool soak_rdma; /* RDMA as well as messages */
extern long soak_eps, soak_threads;

/* What disturbs the processes (soak_chaos.c): options of the same names. */
enum soak_chaos { SOAK_KILL = 1, SOAK_FREEZE = 2, SOAK_FDS = 4, SOAK_LINK = 8 };

extern unsigned int soak_kinds;

static inline bool soak_partner_died(const struct soak_ep *e)
{
	return e->gen / SOAK_GENERATIONS != soak_shared->process;
}

/* True if an attempt to connect may fail for another reason than a rejection. */
static inline bool soak_may_fail(const struct soak_ep *e)
{
	return (soak_kinds & SOAK_FDS) || soak_partner_died(e);
}

/* Time limits while a process may be stopped. */
static inline unsigned int soak_bound(unsigned int ms)
{
	return rl_bound(soak_kinds ? 4 * ms : ms);
}

/* The kinds that the options select, or "chaos": all that are possible. */
unsigned int soak_chaos_options(void);
/* Before the players are started. */
void soak_chaos_prepare(void);
/* Moves the calling process to its host. */
void soak_chaos_enter(bool active);
/* A player: runs the active process, for that time, and disturbs both. */
void soak_chaos(void (*active)(void *), unsigned int seconds, uint64_t seed);

/* Bookkeeping (soak_ep.c) */
void soak_ep_init(struct soak_thread *t, int index);
/* Posts all free receives. */
void soak_ep_fill(struct soak_thread *t, struct soak_ep *e);
/* Posts a random operation, if the EP has a free slot. */
void soak_ep_act(struct soak_thread *t, struct soak_ep *e);
void soak_ep_completed(struct soak_thread *t, const DAT_DTO_COMPLETION_EVENT_DATA *d);
/* The connection event that ends a generation. */
void soak_ep_over(struct soak_ep *e, bool broken);
/* The attempt to connect has failed. */
void soak_ep_failed(struct soak_thread *t, struct soak_ep *e, const char *event);
/*
 * When all operations are complete: compares counts with the peer and resets the EP. False: not
 * yet.
 */
bool soak_ep_recycle(struct soak_thread *t, struct soak_ep *e);

#endif
