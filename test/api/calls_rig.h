/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that the threads of t_calls.c share, and the choice of arguments at random. */
#ifndef TEST_CALLS_RIG_H
#define TEST_CALLS_RIG_H

#include <stdatomic.h>

#include "rig.h"

#define SLOTS 24
#define ARENA ((size_t)1 << 20)
#define SEGMENTS 4

/* UD: endpoints of datagrams; some of the EPs are of these. */
enum kind { IA, PZ, EVD, CNO, EP, PSP, RSP, CSP, CR, LMR, RMR, SRQ, UD, GROUP, KINDS };

/* What threads have created and not freed. A slot of a CR is also freed by other calls. */
struct shared {
	_Atomic(DAT_HANDLE) object[KINDS][SLOTS];
	/* Of the LMRs of the same slots. */
	_Atomic(char *) mem[SLOTS];
	_Atomic size_t len[SLOTS];
	_Atomic DAT_LMR_CONTEXT lmr_ctx[SLOTS];
	_Atomic DAT_RMR_CONTEXT rmr_ctx[SLOTS];
	_Atomic DAT_RMR_CONTEXT bound[SLOTS];
	_Atomic DAT_CONN_QUAL qual[4];
	DAT_IA_HANDLE ia; /* remains open */
	DAT_IA_ADDRESS_PTR addr;
	char *arena;
	_Atomic unsigned int requests, established, completions;
	_Atomic unsigned int groups, collectives, exchanges, datagrams;
};

/* One thread. */
struct caller {
	struct shared *all;
	unsigned int seed;
	unsigned int wild; /* how many of 1000 arguments are not valid */
};

/* Less than n. */
unsigned int below(struct caller *c, unsigned int n);
bool one_in(struct caller *c, unsigned int n);
/* From 1 to most, or one that is not valid. */
DAT_COUNT some_count(struct caller *c, unsigned int most);

/* An object of the kind, or, rarely, of any. It may be freed at any time. */
DAT_HANDLE some(struct caller *c, enum kind kind);
DAT_HANDLE some_or_null(struct caller *c, enum kind kind);
/* That which remains, most of the time. */
DAT_IA_HANDLE some_ia(struct caller *c);
unsigned int some_slot(struct caller *c, enum kind kind);
/* There is room for another of the kind. */
bool has_room(struct caller *c, enum kind kind);
/* Returns the slot; SLOTS: none is free. */
unsigned int keep(struct caller *c, enum kind kind, DAT_HANDLE object);
/* The object was freed. Sometimes it stays among the others, as a handle that is not valid. False:
 * it stays, or was none of them. */
bool forget(struct caller *c, enum kind kind, DAT_HANDLE object);

DAT_COMPLETION_FLAGS some_flags(struct caller *c);
DAT_EP_ATTR some_attr(struct caller *c);
/* Returns the number of segments. */
DAT_COUNT some_segments(struct caller *c, DAT_LMR_TRIPLET *iov);
DAT_RMR_TRIPLET some_target(struct caller *c, const DAT_LMR_TRIPLET *iov, DAT_COUNT n);

/* False: the call has failed, with a result that the specification has. Another result ends the
 * case. */
bool call_ended(const char *call, DAT_RETURN ret);
#define DONE(call_) call_ended(#call_, (call_))
/* A call of the form dat_..._free(handle). */
#define FREE(kind_, call_) \
	do { \
		DAT_HANDLE object_ = some(c, kind_); \
		if (DONE(call_(object_))) \
			forget(c, kind_, object_); \
	} while (0)

/* Calls for receive queues, and posts (calls_post.c). */
void call_receive_queue(struct caller *c);
void call_post(struct caller *c);

#if DAT_TEST_API == 20
/* Collectives, datagrams, counters (calls_ext.c). */
void calls_ext_open(const struct shared *all);
void call_collective(struct caller *c);
void call_datagram(struct caller *c);
void call_counters(struct caller *c);
/* An event of the extension. */
void take_extended(struct caller *c, const DAT_EVENT *ev);
#endif

#endif
