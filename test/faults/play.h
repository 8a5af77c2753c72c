/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the sequence that two processes go through, one of them with a failure.
 *
 * A call that fails must report exact resources errors and change nothing: it is repeated, without
 * failures from then on, and must succeed. A connection that is lost is set up again. So each run
 * goes through the whole sequence, and once more without failures.
 */
#ifndef FAULTS_PLAY_H
#define FAULTS_PLAY_H

#include "../robust/rdat.h"
#include "inject.h"

#define OPS 40
#define CONNS 2

/* Regions of the memory of each side. */
enum {
	OUT_SMALL = 0x0,
	OUT_LARGE = 0x1000,
	IN_SMALL = 0x20000,
	IN_LARGE = 0x21000,
	READ_SMALL = 0x40000,
	READ_LARGE = 0x41000,
	WRITTEN_SMALL = 0x60000,
	WRITTEN_LARGE = 0x61000,
	BY_IMMED = 0x80000,
	BY_WINDOW = 0x81000,
	WORD = 0x82000, /* of the peer's atomic operations */
	FORMER = 0x82100,
	AREA = 0x90000,
	SMALL = 64,
	LARGE = 100000,
};

enum conn_state { CONN_NONE, CONN_TRYING, CONN_UP, CONN_ENDED };

struct op {
	const char *what; /* "*...": of an SRQ, which keeps it when the connection ends */
	bool on_srq;
	int done, status;
	size_t len;
};

struct conn {
	DAT_EP_HANDLE ep;
	enum conn_state state;
	DAT_EVENT_NUMBER outcome; /* of the attempt */
	int posted, done, failed;
	struct op op[OPS];
	unsigned char priv[64];
};

/* The fault of this run. */
struct fault {
	int kind; /* -1: none */
	long nth;
	bool lasting, at_server;
	bool libfabric; /* a call of libfabric's, not of our libraries */
};

struct play {
	const struct fault *fault;
	bool server, faulty, ended; /* ended: no more failures */
	bool merged;                /* one EVD for all, no CNO */
	bool polls;                 /* the server waits for a request */
	int met, round, lost;
	long given; /* failures before they ended */
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr, conn, recv, req;
	DAT_CNO_HANDLE cno;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	DAT_SRQ_HANDLE srq;
	DAT_CR_HANDLE request;
	struct sockaddr_storage addr;
	struct rd_mem mem;
	struct conn c[CONNS];
};

/* What both processes share. */
enum { V_OUTCOME = 0, V_OK = 2, V_WELL = 4 };

/* How a run has gone; in memory that all processes share. */
struct result {
	_Atomic long given, lost, returned;
	int frames;
	void *where[FAULT_FRAMES];
	_Atomic long calls[2][2][FN_COUNT]; /* by side and library */
};
extern struct result *result;

/* Plays one side, twice. */
void play(const struct fault *fault, bool server);

/* ---- play_events.c ---- */

/* Judges the result of a call; true: repeat it. */
bool call_failed(struct play *p, DAT_RETURN ret, const char *what, int line);
/* Repeats a call that has failed, which must succeed then. */
#define CALL(call_) \
	do { \
		DAT_RETURN ret_ = (call_); \
\
		if (ret_ == DAT_SUCCESS || !call_failed(p, ret_, #call_, __LINE__)) \
			break; \
	} while (1)
/* Must not fail. */
#define MUST(call_) RD_OK(call_)

/* Ends the failures, if there have been some. True: there were. */
bool end_failures(struct play *p);
/* Processes events until the condition holds. */
void pump(struct play *p, bool (*until)(struct play *p, int arg), int arg);
/* Processes the events that are queued. */
void drain(struct play *p);
/* Waits for the other process. */
void meet(struct play *p);
/* Begins an operation: its cookie. */
DAT_DTO_COOKIE op_cookie(struct play *p, int conn, const char *what);
/* Judges the result of a post: true: done, false: repeat it. */
bool op_posted(struct play *p, int conn, DAT_RETURN ret, int line);
#define POST(conn_, what_, call_) \
	do { \
		DAT_DTO_COOKIE cookie = op_cookie(p, conn_, what_); \
\
		while (!op_posted(p, conn_, (call_), __LINE__)) \
			; \
	} while (0)
bool all_done(struct play *p, int conn);

/* ---- play_conn.c ---- */

/*
 * Connects if there is no connection, after `receives`, and calls `ops`, until both have succeeded
 * on both sides.
 */
void exchange(struct play *p, int conn, void (*receives)(struct play *p, int conn),
	      void (*ops)(struct play *p, int conn));
/* Ends the connection; both sides call it. */
void hang_up(struct play *p, int conn, bool by_server, DAT_CLOSE_FLAGS flags);
/* The server rejects a request. */
void refuse(struct play *p, int conn);

/* ---- play_ops.c ---- */

/* The endpoint of connection 1 has the SRQ. */
void make_ep(struct play *p, int conn);
void free_ep(struct play *p, int conn);
/* Fills what the peer reads and receives. */
void prepare(struct play *p);
void post_receives(struct play *p, int conn);
void do_everything(struct play *p, int conn);
void post_one_receive(struct play *p, int conn);
void do_little(struct play *p, int conn);
void post_none(struct play *p, int conn);
void use_window(struct play *p, int conn);
void post_to_srq(struct play *p, int conn);
void use_srq(struct play *p, int conn);

#endif
