/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares what the cases of the kill test share with their driver.
 *
 * Three players: the survivor and the victim reach a state of their connection (play->survivor,
 * play->victim), then the killer applies the fault to the victim; play->after is what the survivor
 * does then. The survivor must see one of the sequences of connection events (rdat.h) and one
 * completion for every operation in its ledger, in time, and nothing more.
 */
#ifndef KILL_H
#define KILL_H

#include "rdat.h"

#define KILL_AREA ((size_t)64 << 20) /* memory of each side */

enum kill_step { KS_LISTEN, KS_SURVIVOR_UP, KS_VICTIM_UP, KS_READY, KS_VICTIM, KS_DONE, KS_GO };

enum kill_fault {
	FAULT_KILL,
	FAULT_STOP,      /* the peer only hangs */
	FAULT_STOP_KILL, /* stopped in mid-transfer, then killed */
	FAULT_SELF,      /* the victim does it when KS_GO is reached, and sets t0 */
};

enum {
	KF_MUST_FLUSH = 1, /* at least one operation cannot have succeeded */
	KF_BEFORE = 2,     /* the play makes the connection itself */
	KF_PASSIVE = 4,    /* ... and the survivor is the listener of it */
	KF_LOOSE = 8,      /* the EP was freed: its operations need not complete */
	KF_ANY_STATE = 16, /* the EP need not be DISCONNECTED at the end */
	KF_CLOSED = 32,    /* the IA was closed by `after` */
	KF_STREAM = 64,    /* the survivor is busy, not asleep, at the time of the fault */
};

enum kill_mode { KM_EVD, KM_POLL, KM_CNO, KM_LATE, KM_MERGED, KM_COUNT };
#define KM(mode) (1u << (mode))
#define KM_ALL ((1u << KM_COUNT) - 1)
#define KM_LONG (1u << KM_COUNT) /* ... and all of them in a long run */

struct kill_ctx;

struct kill_play {
	const char *name;
	void (*survivor)(struct kill_ctx *k);
	void (*victim)(struct kill_ctx *k);
	enum kill_fault deed;
	const char *conn_events;
	unsigned int modes;
	unsigned int flags;
	void (*after)(struct kill_ctx *k);
	unsigned int bound_ms; /* 0: 2000 */
	size_t watch;          /* the fault waits for this byte to arrive ... */
	bool watch_victim;     /* ... in the victim's memory, not the survivor's */
};

struct kill_case {
	const struct kill_play *play;
	enum kill_mode mode;
	bool passive;             /* the survivor listens, the victim connects */
	unsigned char *memory[2]; /* survivor's, victim's */
};

struct kill_ctx {
	const struct kill_case *c;
	struct rd rd;
	struct rd_mem mem;
	struct rd_ledger l;
	DAT_CR_HANDLE cr;
	uint64_t since;           /* the bound counts from here; 0: from the fault */
	unsigned int at_least_ms; /* ... and the event must not come before that */
	struct rl_limit limit;    /* the bound; it counts delays since the wait began */
};

extern const struct kill_play kill_plays[];
extern const unsigned int kill_play_count;

#endif
