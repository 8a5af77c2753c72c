/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of one EP, EVD or IA as they are kept.
 *
 * They only grow; what dat_ib_query_counters() reports is derived from them (api/counter_calls.c).
 * Counters that are incremented together are in one cache line, and those of posting threads are
 * not in that of completing threads.
 */
#ifndef DOFI_COUNTER_SLOTS_H
#define DOFI_COUNTER_SLOTS_H

#include <stdint.h>

/* Numbers of operations or messages, and their bytes. */
struct dofi_tally {
	uint64_t n, bytes;
};

/* Identity of an object, set when its slot is taken. */
struct dofi_slot_head {
	uint32_t life;   /* odd: in use; changes whenever the slot is taken or returned */
	uint32_t ia;     /* number of its IA */
	uint32_t number; /* of the object among those of its kind */
	uint32_t flags;  /* EVD: its streams */
};

/* Values of dofi_ep_slot.kind. */
#define DOFI_SLOT_SRQ 1 /* receives come from an SRQ */

struct dofi_ep_slot {
	/* ep->lock */
	struct dofi_tally posted[4]; /* by enum dofi_dto_kind: send, write, read, receive */
	/* lock of the EVD */
	struct dofi_tally received; /* messages with a receive of the EP or of its SRQ */
	uint64_t requests_done;     /* requests that have completed, in whatever way */
	uint64_t requests_failed;   /* of these, those that failed or were flushed */
	uint64_t receives_failed;   /* receives that failed or were flushed */
	struct dofi_tally write_immed_received; /* receives consumed by a write */
	uint32_t connects, disconnects;         /* calls; cm_lock */
	/* ep->lock, except ud_received: lock of the EVD */
	struct dofi_tally write_immed, ud_sent, ud_received;
	uint64_t fetch_adds, cmp_swaps;
	/* identity, state */
	struct dofi_slot_head head;
	uint8_t state; /* DAT_EP_STATE */
	uint8_t kind;
	uint8_t family; /* of the addresses; 0: none */
	uint8_t unused;
	uint16_t local_port, remote_port;
	uint8_t remote[16];
	uint64_t binds; /* ep->lock */
	uint64_t since; /* time at which the connection was established, in ns (base/clock.h) */
	uint64_t spare;
};

struct dofi_evd_slot {
	/* evd->lock */
	uint64_t polls;     /* dequeues that read the CQ */
	uint64_t direct;    /* of these, those that returned the completion directly */
	uint64_t poll_ring; /* of these, those that found completions and queued them */
	uint64_t takes;     /* dequeues that did not read the CQ */
	uint64_t queued;    /* events that were queued */
	uint64_t popped;    /* events that were taken from the queue */
	uint64_t waits;     /* calls of dat_evd_wait that began to wait */
	uint64_t waits_over;
	uint64_t waits_found; /* of these, those that returned an event */
	uint64_t sleeps;
	uint64_t notifies;     /* waiters woken, CNOs triggered */
	uint64_t conn_events;  /* queued connection events */
	uint64_t other_events; /* queued events other than completions */
	struct dofi_slot_head head;
	uint32_t qlen;
	uint32_t unused;
};

#define DOFI_IA_COUNTERS 85
#define DOFI_EP_COUNTERS 24
#define DOFI_EVD_COUNTERS 10

struct dofi_ia_slot {
	uint64_t n[DOFI_IA_COUNTERS]; /* by enum dofi_ia_counter */
	uint64_t wakeups;             /* times that the progress thread woke up */
	uint64_t stalls;              /* refused sleeps on a CQ with nothing to read */
	struct dofi_slot_head head;
	char name[64];   /* of the adapter */
	char fabric[32]; /* of the table of fabrics */
	char netdev[64]; /* interface or device */
	uint64_t unused[19];
};

_Static_assert(sizeof(struct dofi_ep_slot) == 256, "four cache lines");
_Static_assert(sizeof(struct dofi_evd_slot) == 128, "two cache lines");
_Static_assert(sizeof(struct dofi_ia_slot) == 1024, "four in a page");

enum dofi_ia_counter {
#define DOFI_COUNTERS_IA
#define X(name) DOFI_IA_##name,
#include "base/counters.def"
#undef X
#undef DOFI_COUNTERS_IA
	DOFI_IA_COUNTERS_END
};

_Static_assert(DOFI_IA_COUNTERS_END == DOFI_IA_COUNTERS, "as many as dat_ib_counters.h has");

#endif
