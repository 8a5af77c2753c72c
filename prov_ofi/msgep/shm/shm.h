/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport between two processes of one host, by shared memory.
 *
 * The side that connects creates a shared memory object (a sealed memfd, so no file remains and
 * no process can truncate it) with a ring per direction and channel:
 *
 *   page 0           a control block per direction (0: from the side that connected)
 *   from page 1 on   ring of direction 0 requests, 0 answers, 1 requests, 1 answers
 *
 * A frame begins at a multiple of 64 bytes and does not wrap. Its mark shows the reader that it is
 * complete: the position, counted in bytes from the beginning of the connection, plus a random
 * 64-bit number that the connecting side chose. Frames of earlier rounds have other marks, and data
 * matches one with a probability of 2^-64. So the reader polls one cache line, which it needs
 * anyway, and the writer touches no other.
 *
 * A receiver whose queue has several endpoints sets `several`; a message is then complete for its
 * sender when it has been matched with its receive, so that later operations of the sender, on any
 * endpoint, complete after it. At most MSGEP_INFLIGHT_MAX requests are not consumed then. The
 * consumed count is in each frame in the other direction (`counts`, the first four bytes), and
 * after each batch in the control block. To a queue of one endpoint, a message is complete when it
 * is in the ring.
 *
 * Next to that count is the number of requests that are done and want an acknowledgement, so only
 * refusals are acknowledged by frames.
 *
 * Long messages use the whole ring: one that exceeds a processor's own cache is faster
 * (docs/performance-notes.md). A round without long frames ends after SHM_NEAR bytes, by a frame
 * that reaches to the end of the ring and is skipped, so connections of short messages occupy no
 * more memory.
 *
 * The reader reports its position only once per eighth of SHM_NEAR, or of a smaller ring. A side
 * that is about to block sets `notify` and `wants`, polls once more, and is woken by a byte on the
 * connection's socket. Before that poll it makes the kernel drain the other side's store buffers
 * (membarrier), so that writing needs no fence; if one side's kernel cannot, every write has one.
 *
 * If the two processes have many connections, the reader does not poll each: `notify` contains the
 * number by which the writer announces this one in a ready ring (ready.h, shm_ready.c), after each
 * frame, and when it has reported its own position or what it has consumed.
 *
 * A source of this folder calls those above it in this list:
 *
 *   shm_pull.c   direct copies from the memory of the other process
 *   shm_ready.c  memory of ready rings
 *   shm_life.c   begin and end of a connection
 *   shm_rings.c  frames in rings, wakeups; operations of the transport
 */
#ifndef DOFI_MSGEP_SHM_H
#define DOFI_MSGEP_SHM_H

#include <sys/types.h>

#include "msgep/msgep.h"

/* A process, and how to verify that it is still the same. */
struct msgep_puller {
	pid_t pid;
	uint64_t place, proof;
};

/* Frames begin at multiples of it. */
#define SHM_UNIT 64u
#define SHM_PAGE 4096u
/* Bytes of a ring that short frames use. */
#define SHM_NEAR (128u << 10)

/* Of one direction. The second cache line belongs to its writer, the others to its reader; `notify`
 * and `wants` are cleared by the other side, when it wakes the owner. */
struct shm_control {
	_Alignas(SHM_UNIT) _Atomic uint64_t head[MSGEP_CHANNELS]; /* bytes read so far */
	_Atomic uint32_t notify;  /* what the writer has to do; 0: nothing, the reader polls */
	_Atomic uint32_t several; /* the reader requires order across endpoints */
	_Atomic uint32_t pulls;   /* the reader can pull data from the writer's memory */

	_Alignas(SHM_UNIT) _Atomic uint32_t wants; /* the reader has to report what it consumes */
	_Atomic uint32_t gone;                     /* all grants are void */
	_Atomic uint64_t revoked;                  /* revoked reads, a bit each */

	_Alignas(SHM_UNIT) _Atomic uint32_t taken; /* requests consumed so far, */
	_Atomic uint32_t done;                     /* and acknowledged */
};
_Static_assert(2 * sizeof(struct shm_control) <= SHM_PAGE, "both fit");

/* One end of one channel. */
struct shm_ring {
	char *base;
	uint64_t pos;      /* writer: next byte to write */
	uint64_t turn;     /* writer: where a short frame may end the round */
	uint64_t known;    /* writer: the reader's position, as last read */
	uint64_t reported; /* reader: its position, as last reported */
};

struct msgep_shm {
	struct shm_ring out[MSGEP_CHANNELS], in[MSGEP_CHANNELS];
	struct shm_control *tx, *rx;    /* of the direction that we write, read */
	uint32_t size;                  /* of each ring, a power of two */
	uint32_t most;                  /* maximum payload of one frame */
	uint32_t report;                /* bytes after which the reader reports its position */
	bool fences;                    /* one side's kernel lacks membarrier */
	uint32_t sent;                  /* requests written, */
	_Atomic uint32_t arrived;       /* and consumed by the peer, as far as is known */
	uint32_t arrived_seen;          /* at the last check for room */
	uint32_t taken, taken_reported; /* requests read, and as last reported */
	uint32_t done, done_reported;   /* requests to be acknowledged, and as last reported */
	uint64_t nonce;                 /* added to positions to form marks */
	uint64_t peer_rx, peer_tx;      /* passive side: the peer's queues */
	_Atomic uint32_t order;
	struct msgep_frame got[MSGEP_CHANNELS]; /* copies of headers, which the peer cannot
						 * change */
	struct msgep_puller peer;
	bool pulls; /* we can pull data from its memory */
	void *map;
	size_t map_len;
};

/* The mark of the frame at a position. */
static inline _Atomic uint64_t *shm_mark_of(const struct msgep_shm *shm, const struct shm_ring *r,
					    uint64_t pos)
{
	return (_Atomic uint64_t *)(void *)(r->base + (pos & (shm->size - 1)));
}

/* The reader continues there. */
static inline void shm_set_position(struct msgep_ep *ep, int channel, uint64_t at)
{
	struct msgep_shm *shm = ep->w.shm;

	atomic_store_explicit(&ep->watch.next[channel].place,
			      shm_mark_of(shm, &shm->in[channel], at), memory_order_relaxed);
	atomic_store_explicit(&ep->watch.next[channel].mark, shm->nonce + at, memory_order_relaxed);
}

/* ---------------------------------------------------------------- shm_life.c */

/* True if the kernel drains the store buffers of other processes on request. Registers this process
 * for that, once; see dofi_lock_prepare: this may take long, so it is done when an adapter is
 * opened, and not while it connects. */
bool shm_membarrier_works(void);
/* Operations of the transport. */
void shm_prepare(void);
void shm_keep_order(struct msgep_ep *ep);
int shm_get_params(struct msgep_ep *ep, bool active, struct msgep_params *out);
int shm_set_peer_params(struct msgep_ep *ep, bool active, struct msgep_params *in);
void shm_close(struct msgep_ep *ep);

/* ---------------------------------------------------------------- shm_pull.c */

/* Parameters of this process for its peers. */
void msgep_pull_get_params(struct msgep_puller *mine);
/* True if it works and pays. */
bool msgep_pull_try(const struct msgep_puller *peer);
/* Operations of the transport. */
size_t shm_pull_from(struct msgep_ep *ep);
size_t shm_pull_to(struct msgep_ep *ep);
bool shm_pull(struct msgep_ep *ep, struct iovec *to, const struct msgep_segment *from, size_t n);
void shm_grant(struct msgep_ep *ep, uint32_t read);
void shm_revoke(struct msgep_ep *ep, uint64_t reads);
void shm_withdraw(struct msgep_ep *ep);
bool shm_revoked(struct msgep_ep *ep, uint32_t read);

/* ---------------------------------------------------------------- shm_ready.c */

/* The number that identifies the queue to peers of this process; 0: none. */
uint64_t msgep_ready_queue_id(struct msgep_cq *cq);
/* Passive side: returns a descriptor of the ready rings for this connection of the client's queues,
 * which the caller closes; -1: it has none. */
int msgep_ready_share(struct msgep_ep *ep, uint64_t peer_rx, uint64_t peer_tx);
/* Active side: takes the rings from the listener, whose descriptor remains the caller's. 0 or a
 * negative error. */
int msgep_ready_map(struct msgep_ep *ep, int fd);
/* The connection is being closed. */
void msgep_ready_release(struct msgep_ep *ep);

#endif
