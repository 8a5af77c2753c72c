/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the endpoints of the soak test and their bookkeeping.
 *
 * Every thread of the active process has a partner thread in the passive one; each pair owns
 * soak_eps connections, which live through generations: connect, transfer at random, end from
 * either side, reset. The bookkeeping of an EP has every outstanding operation, that of a thread
 * every buffer of its SRQ.
 *
 * The active process may be killed and started again (soak_chaos.c). The number of a generation
 * contains that of the process that began it: a connection with a process that has been killed may
 * end, or fail, at any time.
 */
#ifndef SOAK_H
#define SOAK_H

#include "rdat.h"

#include <dat2/dat_ib_extensions.h>

#define SOAK_THREADS 16
#define SOAK_EPS 32 /* at most, of a thread */
/* Generations of one process. */
#define SOAK_GENERATIONS 1000000u
#define SOAK_RECVS 8
#define SOAK_REQS 8
#define SOAK_MSG 4096
#define SOAK_AREA 65536 /* of an EP that its peer writes and reads back */
#define SOAK_IMMEDS 4   /* writes with immediate data that the peer has not confirmed */
#define SOAK_SRQ_EACH 3 /* buffers of an SRQ per EP of the thread: fewer than messages in flight */

/* SP_RETRY: the call that connects or accepts lacked resources. */
enum soak_phase { SP_IDLE, SP_RETRY, SP_PENDING, SP_UP, SP_ENDING };

/* Operation n of an EP: receives first, then requests. */
#define SOAK_OPS (SOAK_RECVS + SOAK_REQS)

/*
 * The memory of an EP. The peer writes with immediate data to OFF_IMMEDS; it writes to OFF_AREA and
 * reads it back, and does the same with a part of OFF_WINDOW through an RMR.
 */
#define OFF_IMMEDS ((size_t)SOAK_OPS * SOAK_MSG)
#define OFF_WRITE (OFF_IMMEDS + (size_t)SOAK_IMMEDS * SOAK_MSG)
#define OFF_READ (OFF_WRITE + SOAK_AREA)
#define OFF_AREA (OFF_READ + SOAK_AREA)
#define OFF_WINDOW (OFF_AREA + SOAK_AREA)
#define SOAK_EACH (OFF_WINDOW + SOAK_AREA)

/* Words of a thread that its partner's atomic operations change: one of each EP, and their sum. */
#define SOAK_SUM SOAK_EPS
#define SOAK_WORDS (SOAK_EPS + 1)

enum soak_kind { SK_RECV, SK_SEND, SK_WRITE, SK_READ, SK_IMMED, SK_ADD, SK_SWAP, SK_BIND };

struct soak_op {
	bool out; /* posted and not completed */
	enum soak_kind kind;
	uint32_t len, seed;
	uint32_t number; /* of the operations of its direction in this generation */
	bool to_sum;     /* atomic operations: to the sum, or to the word of the EP */
	uint32_t add;    /* what they add */
	uint64_t least;  /* what the sum was at least */
};

/* How a generation ended at one side, for the other to compare; in memory that both share. */
struct soak_end {
	_Atomic uint32_t gen; /* written last */
	bool mine, graceful;  /* this side disconnected */
	bool broken;          /* BROKEN instead of DISCONNECTED */
	bool failed;          /* the attempt to connect has failed at this side */
	uint32_t sent;        /* messages whose sends succeeded */
};

/* What an EP has added to the sum of its peer; in memory that both share. */
struct soak_added {
	_Atomic uint32_t process; /* that of the active process then */
	_Atomic uint64_t posted, done;
};

/* The header of a message. A window is granted by its owner, and returned by the peer. */
enum soak_what { SW_PLAIN, SW_GRANT, SW_RETURN, SW_INVALIDATE };

struct soak_message {
	uint32_t gen, seq, len, seed;
	uint32_t immeds; /* writes with immediate data that have arrived */
	uint32_t what;
	uint32_t key, window_len;
	uint64_t window_va;
};

/* The window of an EP that its peer uses. SN_BOUND: the bind is posted, and the key not sent. */
enum soak_window_state { SN_FREE, SN_BOUND, SN_GRANTED };

struct soak_window {
	DAT_RMR_HANDLE rmr;
	enum soak_window_state state;
	bool bound;
	DAT_RMR_CONTEXT key;
	uint64_t va;
	uint32_t len;
};

/* The window of the peer. */
struct soak_grant {
	uint32_t key, len; /* key 0: none */
	uint64_t va;
	int uses; /* left */
};

struct soak_ep {
	DAT_EP_HANDLE ep;
	int index;
	enum soak_phase phase;
	uint32_t gen;
	bool active;
	bool srq; /* takes its receives from the SRQ of the thread */
	struct soak_op op[SOAK_OPS];
	int out_recvs, out_reqs;
	uint32_t posted[2], completed[2]; /* receives, requests */
	uint32_t next_send, next_recv;    /* sequence numbers of messages */
	uint32_t sent_ok;
	uint32_t immeds_sent, immeds_confirmed, immeds_got;
	uint32_t written[2]; /* seed of the data in the peer's area and window; 0: none */
	bool verifying;      /* a write or its read back is outstanding */
	struct soak_window window;
	struct soak_grant grant;
	/* The peer's word: its bounds (known: after this process has seen it). */
	uint64_t word_least, word_most;
	bool word_known;
	uint32_t word_process;
	int word_out; /* outstanding operations on it */
	int budget;   /* requests left in this generation */
	bool mine, graceful, ended, broken;
	bool rejected;          /* by the peer */
	bool failed;            /* the attempt to connect has failed */
	bool repeated;          /* ... or will fail: the peer repeats it */
	uint32_t rejected_gen;  /* whose request this side has rejected */
	DAT_CR_HANDLE accepted; /* in SP_RETRY, passive side */
	uint64_t ended_at;
	uint32_t ended_round; /* of the thread */
	uint32_t refused[2];  /* allocations when the generation began */
	size_t base;          /* its memory in that of the thread: SOAK_EACH bytes */
	struct soak_end *my_end, *their_end;
	struct soak_added *added; /* by this side */
};

enum soak_count {
	SC_CONNECTIONS,
	SC_REJECTED,
	SC_MESSAGES,
	SC_BYTES,
	SC_RDMAS,
	SC_IMMEDS,
	SC_ATOMICS,
	SC_WINDOWS,
	SC_INVALIDATED,
	SC_FROM_SRQ,
	SC_FLUSHED,
	SC_FAILED,
	SC_LOST,
	SC_COUNTS
};

struct soak_thread {
	int number;
	bool active;
	struct rd rd;
	struct rd_mem mem;   /* of its EPs, then of its SRQ */
	struct rd_mem words; /* SOAK_WORDS */
	DAT_SRQ_HANDLE srq;
	bool srq_out[SOAK_EPS * SOAK_SRQ_EACH]; /* buffers that are posted */
	struct soak_ep ep[SOAK_EPS];
	DAT_CR_HANDLE waiting[SOAK_EPS]; /* requests whose EP is still busy, */
	uint32_t waiting_gen[SOAK_EPS];  /* and their generations, the newest that were requested */
	uint64_t requested[SOAK_EPS];    /* bit n: that generation - n was requested */
	uint64_t seed;
	uint32_t round; /* of polling all EVDs */
	uint64_t count[SC_COUNTS];
};

/* What the peer of an EP accesses: the memory of the EP, and the words of the thread. */
struct soak_remote {
	uint64_t va, words;
	uint32_t rctx, words_rctx;
};

struct soak_shared {
	_Atomic uint64_t qual[SOAK_THREADS];
	struct soak_remote remote[2][SOAK_THREADS][SOAK_EPS]; /* passive's, active's */
	struct soak_end end[2][SOAK_THREADS][SOAK_EPS];
	struct soak_added added[2][SOAK_THREADS][SOAK_EPS];
	_Atomic int stop;                   /* the active side starts no more generations */
	_Atomic int finished[SOAK_THREADS]; /* ... and all its connections have ended */
	_Atomic uint32_t process;           /* number of the active process that is not killed */
	_Atomic pid_t active;               /* its PID, */
	_Atomic pid_t ready[2];             /* and those of processes that are set up */
	/* soak_shim.c, by side: */
	_Atomic uint32_t refuse[2];      /* one of N allocations fails; 0: none */
	_Atomic uint32_t refused[2];     /* have failed */
	_Atomic int64_t clock_offset[2]; /* of CLOCK_REALTIME, in seconds */
	_Atomic uint64_t clock_read[2];  /* readings while it was not 0 */
};

extern struct soak_shared *soak_shared;
extern long soak_eps, soak_threads;

/* The traffic besides messages: options of the same names; 0 leaves one out. */
enum soak_traffic { ST_RDMA = 1, ST_SRQ = 2, ST_RMR = 4, ST_ATOMICS = 8, ST_IMMED = 16 };

extern unsigned int soak_traffic;

/* What disturbs the processes (soak_chaos.c): options of the same names. */
enum soak_chaos {
	SOAK_KILL = 1,
	SOAK_FREEZE = 2,
	SOAK_FDS = 4,
	SOAK_LINK = 8,
	SOAK_DELAY = 16,
	SOAK_MEMORY = 32,
	SOAK_CLOCK = 64
};

extern unsigned int soak_kinds;

/* Trait "unread" of the fabric (fabrics.def). Not read by threads: test_fabric() has a buffer. */
extern bool soak_unread;

static inline bool soak_partner_died(const struct soak_ep *e)
{
	return e->gen / SOAK_GENERATIONS != soak_shared->process;
}

/* True if an allocation of either process has failed in this generation. */
static inline bool soak_lacked_memory(const struct soak_ep *e)
{
	return e->refused[0] != soak_shared->refused[0] || e->refused[1] != soak_shared->refused[1];
}

/* True if an attempt to connect may fail for another reason than a rejection. */
static inline bool soak_may_fail(const struct soak_ep *e)
{
	return (soak_kinds & SOAK_FDS) || soak_partner_died(e) || soak_lacked_memory(e);
}

/* True for the result of a call that is made again later: an outcome of the chaos only. */
static inline bool soak_lacks(DAT_RETURN ret)
{
	return (soak_kinds & (SOAK_FDS | SOAK_MEMORY)) &&
	       DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES;
}

/* Time limits while a process may be stopped. */
static inline unsigned int soak_bound(unsigned int ms)
{
	return rl_bound(soak_kinds ? 4 * ms : ms);
}

/* The kinds that the options select, or "chaos": all that are possible, without those set to 0. */
unsigned int soak_chaos_options(void);
/* Before the players are started. */
void soak_chaos_prepare(void);
/* Moves the calling process to its host. */
void soak_chaos_enter(bool active);
/* A player: runs the active process, for that time, and disturbs both. */
void soak_chaos(void (*active)(void *), unsigned int seconds, uint64_t seed);

/* Functions of the C library that the program replaces (soak_shim.c) */

/* Why no allocation can be made to fail; NULL: it can. */
const char *soak_shim_lacks(void);
/* Begins to disturb the calls of the libraries, which are loaded, in this process. */
void soak_shim_begin(bool active);
void soak_shim_end(void);

/* Bookkeeping (soak_ep.c) */
void soak_ep_init(struct soak_thread *t, int index);
void soak_ep_begin(struct soak_thread *t, struct soak_ep *e, uint32_t gen);
/* Posts all free receives. */
void soak_ep_fill(struct soak_thread *t, struct soak_ep *e);
/* Posts all free buffers of the SRQ. */
void soak_srq_fill(struct soak_thread *t);
/* Records an operation that was posted. */
struct soak_op *soak_ep_record(struct soak_ep *e, int op, enum soak_kind kind, uint32_t len,
			       uint32_t seed);
/* Posts a random operation, if the EP has a free slot. */
void soak_ep_act(struct soak_thread *t, struct soak_ep *e);
/* The completion of an operation, of any kind. */
void soak_ep_completed(struct soak_thread *t, const DAT_EVENT *ev);
/* The connection event that ends a generation. */
void soak_ep_over(struct soak_thread *t, struct soak_ep *e, bool broken);
/* The attempt to connect has failed. */
void soak_ep_failed(struct soak_thread *t, struct soak_ep *e, const char *event);
/*
 * When all operations are complete: compares counts with the peer and resets the EP. False: not
 * yet.
 */
bool soak_ep_recycle(struct soak_thread *t, struct soak_ep *e);
/* At the end: compares what the partner has added with the sum, and the SRQ with its buffers. */
void soak_thread_check(struct soak_thread *t);

static inline uint64_t soak_cookie(const struct soak_ep *e, int op)
{
	return (uint64_t)e->gen << 32 | (uint64_t)e->index << 8 | (uint64_t)op;
}

static inline uint8_t *soak_at(const struct soak_thread *t, const struct soak_ep *e, size_t off)
{
	return (uint8_t *)t->mem.p + e->base + off;
}

/* Operations of each kind (soak_dto.c): posting, and what their success proves */
void soak_dto_post(struct soak_thread *t, struct soak_ep *e, int op);
/* Sends a message with that header; the rest of it is set. */
void soak_dto_send(struct soak_thread *t, struct soak_ep *e, int op, struct soak_message *m);
/* True if the post has succeeded; fails unless it lacked resources. */
bool soak_dto_posted(DAT_RETURN ret, const char *call);
/* `ext` is NULL unless the event is one of an extension. */
void soak_dto_received(struct soak_thread *t, struct soak_ep *e, const uint8_t *buf,
		       const DAT_DTO_COMPLETION_EVENT_DATA *d,
		       const DAT_IB_EXTENSION_EVENT_DATA *ext);
void soak_dto_succeeded(struct soak_thread *t, struct soak_ep *e, int op,
			const DAT_DTO_COMPLETION_EVENT_DATA *d,
			const DAT_IB_EXTENSION_EVENT_DATA *ext);
void soak_dto_flushed(struct soak_ep *e, int op);

/* Windows (soak_window.c) */

/* Posts what the windows of both sides need next; false: nothing. */
bool soak_window_act(struct soak_thread *t, struct soak_ep *e, int op);
void soak_window_received(struct soak_thread *t, struct soak_ep *e, const struct soak_message *m,
			  const DAT_DTO_COMPLETION_EVENT_DATA *d);
/* The bind of this operation has completed. */
void soak_window_bound(struct soak_thread *t, struct soak_ep *e, int op);

#endif
