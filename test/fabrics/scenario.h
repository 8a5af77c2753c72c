/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares scenarios: two processes that run the same list of steps, generated from a seed.
 *
 * Both sides meet before and after each step, and within it where the outcome would depend on who
 * is faster; so each step has one outcome by the rules of DAT. What each side sees goes into its
 * log, kept per endpoint and stream, because DAT promises no order between those.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "../robust/rdat.h"

#define SC_EPS 3
#define SC_STEPS 80
#define SC_MESSAGES 6 /* of one step and direction */
#define SC_SEGMENTS 4
#define SC_OPS 64     /* outstanding on one endpoint and direction */
#define SC_PRIVATE 64 /* bytes of private data that every fabric carries */

/* The steps. "by" is the side that connects, sends, errs or ends. */
/* clang-format off */
#define SC_ACTS(X) \
	X(CONNECT) X(REJECT) X(WRONG_QUAL) X(NO_ANSWER) X(GIVE_UP) X(SP_GONE) \
	X(SEND) X(LATE_RECV) X(BOTH) X(SPREAD) X(WRITE) X(READ) X(MIXED) X(BAD_POST) \
	X(TOO_LONG) X(BAD_KEY) X(RANGE) X(NO_RIGHT) X(FREED_KEY) \
	X(DISCONNECT) X(DRAIN) X(UNMATCHED) X(FREE) X(RESET) X(RENEW) \
	X(KILL) X(CLOSE)
/* clang-format on */

enum sc_act {
#define X(name) SC_##name,
	SC_ACTS(X)
#undef X
		SC_ACT_COUNT,
};

struct sc_step {
	enum sc_act act;
	int ep, by;
	bool graceful; /* ends */
	bool posted;   /* SEND: the receives were posted before connecting */
	int before[2]; /* receives to post before connecting, of either side */
	uint64_t seed; /* of everything else */
};

enum sc_wait { SC_POLL, SC_EVD_WAIT, SC_CNO_WAIT, SC_WAITS };

struct sc_scene {
	unsigned int number;
	int eps, steps;
	enum sc_wait wait;
	bool merged; /* one EVD per side for everything */
	bool srq[2], solicited[2], unsignalled;
	struct sc_step step[SC_STEPS];
};

/* scenario_gen.c */
void sc_make(struct sc_scene *scene, unsigned int number);
const char *sc_act_name(enum sc_act act);
uint32_t sc_below(uint64_t *seed, uint32_t n);

/* One message or RDMA transfer of a step: both sides draw the same from its seed. */
struct sc_piece {
	size_t len, room;
	int from, to; /* numbers of segments: source and destination */
	int flags;    /* of the request */
};

void sc_piece(uint64_t *seed, const struct sc_scene *scene, size_t most, struct sc_piece *piece);
size_t sc_size(uint64_t *seed, size_t most);

/* scenario_log.c */
enum sc_stream { SC_CALL, SC_CONN, SC_RECV, SC_REQ, SC_CR, SC_STREAMS };

struct sc_log {
	struct {
		size_t len;
		char text[32768];
	} part[2][SC_EPS][SC_STREAMS];
};

extern struct sc_log *sc_log;

void sc_write(int side, int ep, enum sc_stream stream, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void sc_print(const struct sc_scene *scene);

/* What DAT leaves to the fabric, see the table in scenario_log.c. */
enum sc_open { SC_STRICT, SC_OPEN_PEER_END, SC_OPEN_UNMATCHED, SC_OPEN_TOO_LONG };

/* A flush that is neither counted nor logged, see there. */
struct sc_op;
bool sc_open_flush(const struct sc_step *step, int now, const struct sc_op *op);
const char *sc_conn_text(DAT_EVENT_NUMBER number, enum sc_open open);
const char *sc_status_text(DAT_DTO_COMPLETION_STATUS status, enum sc_open open);
uint32_t sc_hash(uint32_t hash, const void *mem, size_t len);
#define SC_HASH 2166136261u

/* scenario_side.c: a side and its waiting */
#define SC_WAIT_MS 8000

struct sc_op {
	enum rd_kind kind;
	enum sc_open open;
	bool shown;        /* its success is reported */
	int step;          /* when it was posted */
	unsigned int sent; /* sends of the endpoint by then, with this one */
	int segments;
	DAT_LMR_TRIPLET seg[SC_SEGMENTS];
};

struct sc_ep {
	DAT_EP_HANDLE h;
	bool up;
	enum sc_open end;                 /* what is open about its next connection event */
	unsigned int posted[2], shown[2]; /* receives, requests; with a completion to come */
	unsigned int got[SC_STREAMS], want[SC_STREAMS];
	bool ended;
	/* Messages of this connection; complete: sends that are known to be. */
	unsigned int sent, complete, received;
	struct sc_op op[2][SC_OPS];
};

struct sc_side {
	const struct sc_scene *scene;
	int side, meeting, step;
	struct rd rd;
	struct rd_mem mem, may_read, may_write; /* the latter by peers only */
	DAT_SRQ_HANDLE srq;
	DAT_CONN_QUAL qual;
	struct sc_ep ep[SC_EPS];
	size_t used; /* of the memory for this step's pieces */
};

#define SC_PIECES ((size_t)2 << 20) /* memory for pieces, then the window for peers */
#define SC_WINDOW ((size_t)1 << 20)

void sc_open_side(struct sc_side *s, const struct sc_scene *scene, int side);
void sc_close_side(struct sc_side *s);
void sc_ep_open(struct sc_side *s, int ep);
void sc_listen(struct sc_side *s);
/* Waits until both sides have reached a step. */
void sc_meet(struct sc_side *s);
/* Reads all pending events. */
void sc_sweep(struct sc_side *s);
/* Sleeps, if the scenario does, until a stream may have more. */
void sc_sleep(struct sc_side *s, enum sc_stream stream);
/* Waits for all expected events, synchronises, and checks for unexpected ones. */
void sc_settle(struct sc_side *s);
/* Everything that was posted completes, and the connection has one more event. */
void sc_want_end(struct sc_side *s, int ep, enum sc_open end);
void sc_want_all(struct sc_side *s, int ep);

/* Posts; the source is filled from `fill`. Results that are no success are logged. */
void sc_recv(struct sc_side *s, int ep, size_t room, int segments);
void sc_send(struct sc_side *s, int ep, const struct sc_piece *p, uint32_t fill, enum sc_open open);
void sc_rdma(struct sc_side *s, int ep, bool write, const struct sc_piece *p, uint32_t fill,
	     uint64_t va, DAT_RMR_CONTEXT rctx);
/* Segments with gaps between them, out of this step's memory. */
int sc_segments(struct sc_side *s, DAT_LMR_TRIPLET *seg, int n, size_t len);

/* scenario_clock.c: the vector clocks of messages. How many bytes of a message are its clock; a
 * send is posted, a request has succeeded, a message was received, an endpoint is reset. */
size_t sc_clock_size(size_t len);
void sc_clock_send(struct sc_side *s, int ep, struct sc_op *op, size_t len);
void sc_clock_complete(struct sc_side *s, int ep, const struct sc_op *op);
void sc_clock_receive(struct sc_side *s, int ep, const struct sc_op *op, size_t len);
void sc_clock_reset(struct sc_side *s, int ep);

/* scenario_play.c: executes one step; false if this side has ended. */
bool sc_play(struct sc_side *s, const struct sc_step *step);

#endif
