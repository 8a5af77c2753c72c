/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares transports of messages, as an MPI library has them below its matching: over DAT, over
 * plain sockets and over hand-written shared memory.
 */
#ifndef DAT_PERF_TRANSPORT_H
#define DAT_PERF_TRANSPORT_H

#include "flow.h"
#include "session.h"

#define PERF_MAX_PEERS 16

struct perf_msg {
	uint8_t *buf;
	size_t len;
};

/*
 * Messages of one direction in order. `tail` have been posted; the transport has taken those
 * before `next`, and has completed `done` of them.
 */
struct perf_msgs {
	struct perf_msg *msg;
	uint64_t capacity; /* a power of two */
	uint64_t next;
	uint64_t tail;
	uint64_t done;
};

struct perf_peer {
	struct perf_msgs out;
	struct perf_msgs in;
};

/* Two-queues has one peer; it writes `source` into the peer's `target`. */
struct perf_transport {
	const struct perf_transport_ops *ops;
	struct perf_run *run;
	const struct perf_case *c;
	enum perf_role role;
	int peers;
	size_t eager_limit;
	struct perf_peer peer[PERF_MAX_PEERS];
	uint8_t *source;
	uint8_t *target;
};

/* All return 0 or a negative errno after printing the reason, unless stated otherwise. */
struct perf_transport_ops {
	const char *name;
	/* opens and connects; fills in what is behind the head, which the caller has set */
	int (*open)(struct perf_transport *t);
	/* after a barrier: nothing is under way */
	int (*close)(struct perf_transport *t);
	/* takes messages of peer->out, as many as it can */
	int (*start)(struct perf_transport *t, int peer);
	/* moves what is under way, and takes messages that have arrived: > 0 if there were any */
	int (*progress)(struct perf_transport *t);

	/* two-queues: writes on connection B */
	int (*write)(struct perf_transport *t);
	/* reads the queue of B once: 1 if the write has completed */
	int (*written)(struct perf_transport *t);
	/* reads the queue of A once, on which nothing is expected */
	int (*look)(struct perf_transport *t);
	size_t size; /* of the transport's own struct, which begins with perf_transport */
};

extern const struct perf_transport_ops perf_dat_transport;
extern const struct perf_transport_ops perf_socket_transport;
extern const struct perf_transport_ops perf_shm_transport;

static inline struct perf_msg *perf_msg_at(struct perf_msgs *m, uint64_t i)
{
	return &m->msg[i & (m->capacity - 1)];
}

static inline void perf_msg_post(struct perf_msgs *m, uint8_t *buf, size_t len)
{
	*perf_msg_at(m, m->tail++) = (struct perf_msg){ buf, len };
}

static inline bool perf_msg_waits(const struct perf_msgs *m)
{
	return m->next < m->tail;
}

/* A message of `len` bytes has arrived: returns the buffer for it, or NULL if it does not fit. */
static inline uint8_t *perf_msg_take(struct perf_msgs *m, size_t len)
{
	struct perf_msg *msg = perf_msg_at(m, m->next);

	if (len > msg->len)
		return NULL;
	m->next++;
	return msg->buf;
}

/* Waits of a transport: 0, or an error after --timeout or the end of the peer. */
static inline int perf_transport_wait(struct perf_wait_state *p, const struct perf_transport *t,
				      const char *what)
{
	return ++p->empty % PERF_SPIN ? 0 : perf_wait_limit(p, t->run, t->ops->name, what, false);
}

int perf_transport_error(const struct perf_transport *t, int err, const char *call);

/* pattern.c: -EOPNOTSUPP if the transport does not reach the peer */
int perf_pattern(enum perf_kind kind, struct perf_run *run, const struct perf_case *c,
		 enum perf_role role, struct perf_figures *f);

/* pattern_messages.c, pattern_queues.c */
int perf_pattern_messages(struct perf_transport *t, struct perf_figures *f);
int perf_pattern_queues(struct perf_transport *t, struct perf_figures *f);

#endif
