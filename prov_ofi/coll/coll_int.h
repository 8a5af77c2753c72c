/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of the collectives.
 *
 * They use the provider as a DAT program would: each pair of members of a group has a connection,
 * whose completions and connection events go to one EVD of the adapter (struct dofi_coll). The
 * progress thread reads it, and consumers that poll or wait for an EVD to which a group reports.
 *
 * An operation is a schedule of steps (coll_sched.h), divided into rounds. The steps of a round
 * start together; the next round starts when all of them are done. The operations of a group
 * execute one after another in the order of their calls, which is the same at all members. The
 * messages of a connection therefore match the receiving steps in order; their headers, which name
 * the operation and the length, only prove that.
 *
 * coll->lock protects everything here. It ranks above cm_lock (object/ia.h).
 *
 * A source calls those above it in this list:
 *
 *   coll_wire.c         formats of messages
 *   coll_reduce.c       functions of reductions
 *   coll_sched.c        schedules of operations
 *   coll_alg.c          algorithms
 *   coll_alg_reduce.c   algorithms of reductions
 *   coll_args.c         arguments of operations
 *   coll_args_reduce.c  arguments of reductions
 *   coll_evd.c          the EVD: room for events, events that no longer matter
 *   coll_fail.c         a group cannot go on
 *   coll_timer.c        the timer of a group
 *   coll_region.c       memory of operations
 *   coll_peer.c         messages of a pair of members
 *   coll_peer_conn.c    their connection
 *   coll_op.c           execution of operations by rounds
 *   coll_settle.c       what follows from an event: groups are created, go on, end
 *   coll_request.c      connection requests of other members
 *   coll_run.c          processes events
 *   coll_member.c       members
 *   coll_group.c        groups
 *   coll_open.c         begin and end of an adapter's collectives
 *   coll_call.c         calls
 */
#ifndef DOFI_COLL_INT_H
#define DOFI_COLL_INT_H

#include "coll/coll_wire.h"
#include "object/coll_handle.h"
#include "object/evd.h"
#include "object/mr.h"

#define COLL_MAX_SIZE 4096u /* members of a group */

/* Messages that a peer may send without waiting, and slots for them. Two more take credits, of
 * which at most two are in transit: each returns half of all. */
#define COLL_CREDITS 8u
#define COLL_RX (COLL_CREDITS + 2)
#define COLL_TX (COLL_CREDITS + 2)
#define COLL_SLOTS (COLL_RX + COLL_TX) /* of a peer */
#define COLL_CTS_MAX 16u

struct coll_group;
struct coll_member;
struct coll_op;

enum coll_step_kind {
	COLL_SEND,
	COLL_RECV,
	COLL_REDUCE, /* buf = src op buf */
	COLL_COPY,
	COLL_CLOCK_SET, /* a packet that the peer acknowledges */
	COLL_CLOCK_ADJUST,
	COLL_ROUND, /* end of a round */
};

struct coll_step {
	enum coll_step_kind kind;
	uint32_t rank; /* peer */
	char *buf;
	const char *src;
	size_t len;
	struct coll_op *op;
	struct coll_step *next; /* in a queue of the peer */
	bool announced;         /* long messages: RECV: CTS has been sent; SEND: WAITS */
};

/* Memory that steps use, registered when a long message needs it. */
struct coll_region {
	const char *base;
	size_t len;
	bool writable;
	struct dofi_lmr *lmr;
};

#define COLL_REGIONS 3

typedef void coll_reduce_fn(void *into, const void *from, size_t count);

struct coll_op {
	struct coll_op *next;
	struct coll_group *group;
	DAT_IB_EXT_TYPE type;
	uint32_t seq;
	DAT_CONTEXT context;
	bool suppressed, unsignalled;
	bool no_memory; /* the schedule is incomplete */
	struct coll_step *steps;
	uint32_t count, capacity, at;
	uint32_t pending; /* steps of the round that are not done */
	char *tmp;
	size_t tmp_capacity;
	struct coll_region region[COLL_REGIONS];
	unsigned int regions;
	coll_reduce_fn *reduce;
	size_t elem;            /* bytes of an element */
	uint64_t value, before; /* clock to set, and when the call was made */
};

enum coll_peer_state {
	COLL_PEER_NONE, /* not connected yet */
	COLL_PEER_PENDING,
	COLL_PEER_UP,
	COLL_PEER_LEFT, /* it has freed the group */
	COLL_PEER_DOWN,
};

struct coll_queue {
	struct coll_step *first, **last;
};

struct coll_peer {
	struct coll_group *group;
	uint32_t rank;
	enum coll_peer_state state;
	struct dofi_ep *ep;
	uint32_t credits; /* messages that may be sent */
	uint32_t owed;    /* credits to return */
	uint32_t acks;    /* ACK packets to send */
	bool bye;         /* BYE is to be sent */
	struct coll_queue sends, recvs;
	struct coll_step *unacked; /* step that waits for ACK */
	uint64_t sent_at;          /* time of its packet */
	uint64_t round_trip;
	uint8_t tx_free[COLL_TX];
	uint32_t tx_count;
	uint8_t arrived[COLL_RX]; /* slots with EAGER and DONE, in order */
	uint32_t arrived_head, arrived_count;
	struct coll_packet packet[COLL_RX]; /* headers of these slots */
	struct coll_packet cts[COLL_CTS_MAX];
	uint32_t cts_head, cts_count;
	struct coll_packet waits; /* what the peer is about to send, if waits_known */
	bool waits_known;
};

enum coll_group_state {
	COLL_CREATING,
	COLL_READY,
	COLL_FAILED,
};

struct coll_group {
	struct dofi_list link;           /* coll->groups */
	struct dofi_coll_handle *handle; /* NULL: not published yet */
	struct coll_member *member;
	struct dofi_evd *evd; /* the consumer's */
	struct dofi_pz *pz;
	enum coll_group_state state;
	const char *cause; /* why it failed; NULL: it has not */
	uint32_t id, size, self;
	uint32_t eager;            /* size: longer messages wait for the memory of the receiver */
	struct coll_ident *idents; /* of all members */
	struct coll_peer *peers;   /* one per rank; that of `self` is unused */
	uint32_t up;
	char *slots;
	struct dofi_lmr *slots_lmr;
	struct dofi_timer timer; /* coll_timer.c; cm_lock */
	bool timer_added;
	bool watching; /* it is armed for long messages that wait */
	_Atomic bool expired;
	DAT_CONTEXT context;           /* of the creation */
	struct coll_op *first, **last; /* posted operations */
	struct coll_op *spare;
	uint32_t seq;         /* of the next operation */
	uint64_t clock_start; /* dofi_now() when the clock was 0 */
};

/* A connection request for a group that has not been created here yet. */
struct coll_waiting {
	struct dofi_list link;
	DAT_CR_HANDLE cr;
	struct coll_hello hello;
};

struct coll_member {
	struct dofi_list link; /* coll->members */
	struct dofi_coll *coll;
	struct coll_ident ident;
	uint8_t blob[COLL_BLOB];
	DAT_PSP_HANDLE psp;
	unsigned int groups;
	struct dofi_list waiting;
	unsigned int waiting_count;
};

struct dofi_coll {
	struct dofi_ia *ia;
	pthread_mutex_t lock;
	_Atomic bool pending; /* a thread that could not get the lock had work */
	bool reported;        /* an event, since the processing began */
	struct dofi_evd *evd;
	struct dofi_list members, groups;
	uint32_t peers;       /* of all groups */
	_Atomic bool expired; /* the time of some group is over */
};

/* coll_evd.c */
/* Events that the EVD has room for at first. */
#define COLL_EVENTS_FIRST 256
/* Makes room for the connection events of that many peers. */
bool dofi_coll_reserve(struct dofi_coll *coll, uint32_t peers);
/* Discards the queued events of an EP that has been destroyed. Caller holds cm_lock, too. */
void dofi_coll_forget(struct dofi_coll *coll, const struct dofi_ep *ep);

/* coll_fail.c: records that the group cannot go on; dofi_coll_settle draws the conclusions. */
void dofi_coll_fail(struct coll_group *g, const char *cause);

/* coll_timer.c: false: no memory. Without a timer that was added only _drop may be called. */
bool dofi_coll_timer_add(struct coll_group *g);
void dofi_coll_timer_arm(struct coll_group *g, long ms);
void dofi_coll_timer_cancel(struct coll_group *g);
void dofi_coll_timer_drop(struct coll_group *g);

/* coll_region.c: the LMR of memory of a step; NULL: it cannot be registered. */
struct dofi_lmr *dofi_coll_op_lmr(struct coll_op *op, const char *mem, size_t len);

/* coll_peer.c */
void dofi_coll_peer_post_recv(struct coll_peer *p, uint32_t slot);
/* An operation of its EP has completed. */
void dofi_coll_peer_dto_event(struct coll_peer *p, const DAT_DTO_COMPLETION_EVENT_DATA *data);
/* Does what can be done now: sends, receives, returns credits. */
void dofi_coll_peer_move(struct coll_peer *p);
/* Tells the peer which long message has been waiting for its CTS. */
void dofi_coll_peer_announce(struct coll_peer *p);
/* Adds a step to its queue. */
void dofi_coll_peer_add(struct coll_peer *p, struct coll_step *step);
/* True if all that was sent has arrived. */
bool dofi_coll_peer_idle(const struct coll_peer *p);

/* coll_peer_conn.c */
void dofi_coll_peer_init(struct coll_peer *p, struct coll_group *g, uint32_t rank);
/* Creates the EP and connects it, or accepts the request. False: the group has failed. */
bool dofi_coll_peer_connect(struct coll_peer *p, uint64_t limit_us);
bool dofi_coll_peer_accept(struct coll_peer *p, DAT_CR_HANDLE cr);
void dofi_coll_peer_destroy(struct coll_peer *p);
/* The request that was accepted had been given up: the peer may make another one. */
void dofi_coll_peer_reset(struct coll_peer *p);
/* An event of its EP's connection. */
void dofi_coll_peer_conn_event(struct coll_peer *p, DAT_EVENT_NUMBER number,
			       const DAT_CONNECTION_EVENT_DATA *data);

/* coll_op.c */
struct coll_op *dofi_coll_op_new(struct coll_group *g, DAT_IB_EXT_TYPE type);
/* Gives back what the operation holds, and keeps it for another one. */
void dofi_coll_op_release(struct coll_op *op);
/* Starts and completes what is ready. */
void dofi_coll_ops_advance(struct coll_group *g);
void dofi_coll_ops_fail(struct coll_group *g);
void dofi_coll_ops_free(struct coll_group *g);
void dofi_coll_report(struct coll_group *g, DAT_IB_EXT_TYPE type, DAT_IB_STATUS status,
		      DAT_HANDLE handle, DAT_CONTEXT context, bool notify);

/* coll_settle.c */
/* After an event: completes the creation, starts rounds, ends a group that has failed. The group
 * may be freed. */
void dofi_coll_settle(struct coll_group *g);
/* Queues the operation whose schedule is complete; on failure it is freed. */
DAT_RETURN dofi_coll_op_post(struct coll_op *op);
void dofi_coll_group_destroy(struct coll_group *g);
/* The same for a group whose handle has been retired, */
void dofi_coll_group_remove(struct coll_group *g);
/* and for one that has taken nothing of other objects. */
void dofi_coll_group_free(struct coll_group *g);

/* coll_request.c */
struct coll_group *dofi_coll_find_group(struct coll_member *m, uint32_t id);
/* A connection request has arrived; its owner is NULL if it is being freed. */
void dofi_coll_request(struct coll_member *m, DAT_CR_HANDLE cr);
/* The group has been created here: accepts requests that wait for it. */
void dofi_coll_take_waiting(struct coll_group *g);

/* coll_run.c */
/* Processes all events that have arrived. Caller holds coll->lock. */
void dofi_coll_process(struct dofi_coll *coll);
/* The same for a thread that has no lock; if another one is at it, that one looks again. */
void dofi_coll_turn(struct dofi_ia *ia);
/* Releases coll->lock, and processes what a thread left that could not get it meanwhile. */
void dofi_coll_unlock(struct dofi_coll *coll);

/* coll_member.c */
DAT_RETURN dofi_coll_create_member(struct dofi_coll *coll, DAT_IB_COLLECTIVE_MEMBER *member,
				   DAT_COUNT *size);
DAT_RETURN dofi_coll_free_member(struct dofi_coll *coll, DAT_IB_COLLECTIVE_MEMBER member);
struct coll_member *dofi_coll_find_member(struct dofi_coll *coll, const uint8_t *token);
void dofi_coll_member_destroy(struct coll_member *m);

/* coll_group.c */
struct coll_group_args {
	DAT_IB_COLLECTIVE_MEMBER *members;
	DAT_COUNT size;
	DAT_IB_COLLECTIVE_RANK self;
	DAT_IB_COLLECTIVE_ID id;
	const DAT_IB_COLLECTIVE_GROUP *info;
	DAT_PZ_HANDLE pz;
	DAT_CONTEXT context;
};

DAT_RETURN dofi_coll_create_group(struct dofi_coll *coll, struct dofi_evd *evd,
				  const struct coll_group_args *args);
DAT_RETURN dofi_coll_free_group(struct dofi_ia *ia, struct dofi_coll_handle *handle);

/* coll_open.c: the IA's collectives, made at the first use; NULL: no memory. */
struct dofi_coll *dofi_coll_of(struct dofi_ia *ia);
/* NULL: there was no use of them yet. */
struct dofi_coll *dofi_coll_opened(const struct dofi_ia *ia);

/* Bytes of a slot. */
static inline size_t dofi_coll_slot(const struct coll_group *g)
{
	return (size_t)g->eager + 64;
}

static inline void dofi_coll_step_done(struct coll_step *step)
{
	step->op->pending--;
}

#endif
