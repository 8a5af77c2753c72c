/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the fixture of the transport over RDM endpoints: two sides, hand-made endpoints,
 * checked frames.
 */
#ifndef WIRE_FAB_RIG_H
#define WIRE_FAB_RIG_H

#include "../lib/harness.h"
#include "msgep/rdm/rdm_int.h"

struct mode {
	const char *name;
	bool constrained;
	bool large; /* frames of all lengths, also in large packets */
};

/* The part of an IA that the transport uses. */
struct side {
	struct dofi_fab fab;
	struct msgep_fabric fabric;
	struct msgep_domain domain;
};

/* One end of a connection, and its progress. */
struct end {
	struct msgep_ep ep;
	struct msgep_cq cq;
	_Atomic unsigned int woken; /* calls of msgep_cq_wake */
	_Atomic int broken;         /* msgep_ep_broken's code */
	unsigned int settled;       /* calls of msgep_ep_path_checked */
	uint32_t sent[MSGEP_CHANNELS], got[MSGEP_CHANNELS];
	uint64_t out[MSGEP_CHANNELS], in[MSGEP_CHANNELS]; /* states of the patterns */
	bool large;                                       /* of the mode */
};

struct pair {
	struct end a, b;
};

/* Opens both sides in the given mode. */
void rig_open(struct side *a, struct side *b, const struct mode *mode);
void rig_open_one(struct side *s, const struct mode *mode);
void rig_close(struct side *s);
void rig_pump(struct side *a, struct side *b);

void rig_end_init(struct end *e, struct side *s);
void rig_connect(struct pair *p, struct side *a, struct side *b);
void rig_disconnect(struct pair *p);

/* Sends a frame of random length and contents; false if there is no space. */
bool rig_send(struct end *e, int ch);
/* The same for a frame of a long transfer. */
bool rig_send_long(struct end *e, int ch);
/* Receives and checks one frame; false if there is none. */
bool rig_recv(struct end *e, int ch);
/* Returns the next request without consuming it. */
const struct msgep_frame *rig_peek(struct end *e);
void rig_flush(struct end *e);
/* Both directions and channels work: `n` frames each. */
void rig_exchange(struct pair *p, struct side *a, struct side *b, uint32_t n);

/* A message made by hand, from side `from` to the other end of `e`, which is at side `to`. */
void rig_raw(struct side *from, struct side *to, struct end *e, const void *data, size_t len);
/* The same as a large packet. */
void rig_raw_bulk(struct side *from, struct side *to, struct end *e, const void *data, size_t len);
/* The header of the packet that `e` would send. */
struct rdm_hdr rig_header(struct end *e, uint8_t channel, uint32_t seq);
uint64_t rig_random(void);
/* True if one of the transport's descriptors becomes readable within `ms`. */
bool rig_wakes(struct side *side, int ms);

/* A thread that closes an end and its side. */
struct leaver {
	struct end *end;
	struct side *side;
	_Atomic bool gone;
	struct dt_thread thread;
};

void rig_close_thread(struct leaver *l, struct end *end, struct side *side);

#define RIG_MODES \
	static const struct mode modes[] = { \
		{ "rxm", false, false }, \
		{ "constrained", true, false }, \
		{ "shuffled", true, true }, \
	}

/* For cases that wait for a time limit: each takes seconds. */
#define RIG_ONE_MODE static const struct mode one_mode[] = { { "shuffled", true, true } }

/* Both sides make progress until cond_ holds. */
#define PUMP_UNTIL(a_, b_, cond_, limit_us_) \
	do { \
		uint64_t end_at_ = dt_now_us() + (uint64_t)(limit_us_)*dt_slow(); \
		while (!(cond_)) { \
			if (dt_now_us() > end_at_) \
				FAIL("not reached in time: %s", #cond_); \
			rig_pump(a_, b_); \
		} \
	} while (0)

#endif
