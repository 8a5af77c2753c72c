/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport between two processes of one host, by shared memory. (hot)
 *
 * The side that connects creates a shared memory object (a sealed memfd, so no file remains and
 * no process can truncate it) with a ring per direction and channel:
 *
 *   page 0           two control blocks: block d is written by the reader of direction d, except
 *                    for its second half, which belongs to the writer (direction 0: from the side
 *                    that connected)
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
 * (docs/performance-notes.md). A round without long frames ends after NEAR bytes, by a frame that
 * reaches to the end of the ring and is skipped, so connections of short messages occupy no more
 * memory.
 *
 * The reader reports its position only once per eighth of NEAR, or of a smaller ring. A side that
 * is about to block sets `notify` and `wants`, polls once more, and is woken by a byte on the
 * connection's socket. Before that poll it makes the kernel drain the other side's store buffers
 * (membarrier), so that writing needs no fence; if one side's kernel cannot, every write has one.
 *
 * If the two processes have many connections, the reader does not poll each: `notify` contains the
 * number by which the writer announces this one in a ready ring (ready.h, shm_ready.c), after each
 * frame, and when it has reported its own position or what it has consumed.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "base/be_bytes.h"
#include "msgep/cm/cm.h"
#include "msgep/ready.h"
#include "msgep/shm/shm.h"

#define UNIT 64u
#define PAGE 4096u
/* A round of the ring in which no frame is longer than SHORT ends after NEAR bytes. */
#define SHORT 2048u
#define NEAR (128u << 10)
/* Limits of a ring that a peer provides. */
#define RING_MIN 4096u
#define RING_MAX (64u << 20)
#define SHM_PARAMS_MAGIC 0x444f5348u /* "DOSH" */
#define SHM_PARAMS_VERSION 5
#define SHM_PARAMS_LEN 64

/* Kind of a frame without meaning that reaches to the end of the ring. */
#define SHM_SKIP 255

/* A bit of `notify`; the others: 1 + the number in the ready ring, 0: none. */
#define NOTIFY_ASLEEP ((uint32_t)1 << 31)

struct control {
	_Alignas(UNIT) _Atomic uint64_t head[MSGEP_CHANNELS]; /* bytes read so far */
	_Atomic uint32_t notify;  /* what the writer has to do; 0: nothing, the reader polls */
	_Atomic uint32_t several; /* the reader requires order across endpoints */
	_Atomic uint32_t pulls;   /* the reader can pull data from the writer's memory */
	_Alignas(UNIT) _Atomic uint32_t wants;
	_Atomic uint32_t gone;                 /* the writer: all its grants are void */
	_Atomic uint64_t revoked;              /* the writer: revoked reads, a bit each */
	_Alignas(UNIT) _Atomic uint32_t taken; /* the reader: requests consumed so far, */
	_Atomic uint32_t done;                 /* and acknowledged */
};
_Static_assert(2 * sizeof(struct control) <= PAGE, "both fit");

/* One end of one channel. */
struct ring {
	char *base;
	uint64_t pos;      /* writer: next byte to write */
	uint64_t turn;     /* writer: where a short frame may end the round */
	uint64_t known;    /* writer: the reader's position, as last read */
	uint64_t reported; /* reader: its position, as last reported */
};

struct msgep_shm {
	struct ring out[MSGEP_CHANNELS], in[MSGEP_CHANNELS];
	struct control *tx, *rx;        /* of the direction that we write, read */
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

static inline _Atomic uint64_t *shm_mark_of(const struct msgep_shm *shm, const struct ring *r,
					    uint64_t pos)
{
	return (_Atomic uint64_t *)(void *)(r->base + (pos & (shm->size - 1)));
}

/* Registers this process for membarrier, once. See dofi_lock_prepare: this may take long, so it is
 * done when an adapter is opened, and not while it connects. */
static bool shm_membarrier_works(void)
{
	static _Atomic int answer; /* 1: no, 2: yes */

	if (!atomic_load(&answer))
		atomic_store(&answer, 1 + !syscall(SYS_membarrier,
						   MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0));
	return atomic_load(&answer) == 2;
}

static void shm_prepare(void)
{
	shm_membarrier_works();
}

/* Orders earlier stores before later loads. Adds 0 instead of a fence, which thread checkers do not
 * know. */
static inline void shm_order(struct msgep_shm *shm)
{
	atomic_fetch_add(&shm->order, 0);
}

static inline uint64_t shm_units(uint64_t bytes)
{
	return (bytes + UNIT - 1) & ~(uint64_t)(UNIT - 1);
}

static inline void shm_wake(struct msgep_ep *ep, _Atomic uint32_t *flag)
{
	if (atomic_load_explicit(flag, memory_order_relaxed) && atomic_exchange(flag, 0))
		msgep_cm_doorbell(ep);
}

/* The peer may set any number: it is written to the peer's own ready ring only. */
static __attribute__((noinline)) void shm_notify_as(struct msgep_ep *ep, uint32_t notify)
{
	struct msgep_shm *shm = ep->w.shm;
	uint32_t number = notify & ~NOTIFY_ASLEEP;
	bool wake = false;

	if (number && ep->ready)
		wake = msgep_ready_put(ep->ready, number - 1, shm->fences);
	if (notify & NOTIFY_ASLEEP)
		wake |= !!(atomic_fetch_and(&shm->tx->notify, ~NOTIFY_ASLEEP) & NOTIFY_ASLEEP);
	if (wake)
		msgep_cm_doorbell(ep);
}

/* Something has been stored that the peer has to notice. */
static inline void shm_notify(struct msgep_ep *ep)
{
	uint32_t notify = atomic_load_explicit(&ep->w.shm->tx->notify, memory_order_relaxed);

	if (notify)
		shm_notify_as(ep, notify);
}

/* The same for credits, which a peer that polls the connection notices, or has set `wants` for. */
static inline void shm_notify_credits(struct msgep_ep *ep)
{
	shm_wake(ep, &ep->w.shm->rx->wants);
	if (ep->ready)
		shm_notify(ep);
}

/* ---------------------------------------------------------------- writing */

static inline uint64_t shm_free_bytes(const struct msgep_shm *shm, const struct ring *r)
{
	return shm->size - (r->pos - r->known);
}

/* True if the reader has advanced since the last check. */
static bool shm_update_free(struct msgep_shm *shm, int channel)
{
	struct ring *r = &shm->out[channel];
	uint64_t head = atomic_load_explicit(&shm->tx->head[channel], memory_order_acquire);

	/* Rejects a position beyond what has been written. */
	if (head == r->known || head - r->known > r->pos - r->known)
		return false;
	r->known = head;
	return true;
}

/* True if the space is worth a frame: small ones would split a long message into many frames. */
static bool shm_enough(struct msgep_shm *shm, int channel, uint64_t need)
{
	const struct ring *r = &shm->out[channel];

	if (need > shm->size / 4)
		need = shm->size / 4;
	if (shm_free_bytes(shm, r) >= need)
		return true;
	shm_update_free(shm, channel);
	return shm_free_bytes(shm, r) >= need;
}

/* Updates what the peer has consumed. A false count completes messages early, and does no other
 * harm. */
static inline void shm_note_arrived(struct msgep_shm *shm, uint32_t count)
{
	if ((int32_t)(count - atomic_load_explicit(&shm->arrived, memory_order_relaxed)) > 0)
		atomic_store_explicit(&shm->arrived, count, memory_order_relaxed);
}

static inline uint32_t shm_check_arrival(struct msgep_shm *shm)
{
	shm_note_arrived(shm, atomic_load_explicit(&shm->tx->taken, memory_order_acquire));
	return atomic_load_explicit(&shm->arrived, memory_order_relaxed);
}

/* True if another request may be in flight. */
static inline bool shm_inflight_has_slot(struct msgep_shm *shm)
{
	return !atomic_load_explicit(&shm->tx->several, memory_order_relaxed) ||
	       shm->sent - atomic_load_explicit(&shm->arrived, memory_order_relaxed) <
		       MSGEP_INFLIGHT_MAX ||
	       shm->sent - shm_check_arrival(shm) < MSGEP_INFLIGHT_MAX;
}

static struct msgep_frame *shm_reserve(struct msgep_ep *ep, int channel, size_t want,
				       size_t *space);

/* Continues at the beginning of the ring unless the reader is far behind. */
static __attribute__((noinline)) struct msgep_frame *shm_turn_back(struct msgep_ep *ep, int channel,
								   size_t want, size_t *space)
{
	struct msgep_shm *shm = ep->w.shm;
	struct ring *r = &shm->out[channel];
	uint64_t end = (r->pos | (shm->size - 1)) + 1;
	struct msgep_frame *f = (void *)shm_mark_of(shm, r, r->pos);

	r->turn = end - shm->size + NEAR;
	if (r->pos < r->turn)
		return shm_reserve(ep, channel, want, space);
	shm_update_free(shm, channel);
	if (r->pos - r->known <= NEAR / 4) {
		f->len = (uint32_t)(end - r->pos - MSGEP_FRAME_HDR);
		f->kind = SHM_SKIP;
		atomic_store_explicit(shm_mark_of(shm, r, r->pos), shm->nonce + r->pos,
				      memory_order_release);
		r->pos = end;
	}
	r->turn = r->pos + NEAR / 4;
	return shm_reserve(ep, channel, want, space);
}

static struct msgep_frame *shm_reserve(struct msgep_ep *ep, int channel, size_t want, size_t *space)
{
	struct msgep_shm *shm = ep->w.shm;
	struct ring *r = &shm->out[channel];
	uint64_t need = shm_units(MSGEP_FRAME_HDR + (want < shm->most ? want : shm->most));
	uint64_t to_end, free;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (need > SHORT)
		r->turn = (r->pos | (shm->size - 1)) + 1;
	else if (r->pos >= r->turn)
		return shm_turn_back(ep, channel, want, space);
	to_end = shm->size - (r->pos & (shm->size - 1));
	if (need > to_end)
		need = to_end;
	if (!shm_enough(shm, channel, need) ||
	    (channel == MSGEP_REQ && !shm_inflight_has_slot(shm)))
		return NULL;
	free = shm_free_bytes(shm, r);
	*space = (need < free ? need : free) - MSGEP_FRAME_HDR;
	return (struct msgep_frame *)(void *)(r->base + (r->pos & (shm->size - 1)));
}

static void shm_commit(struct msgep_ep *ep, int channel, struct msgep_frame *f)
{
	struct msgep_shm *shm = ep->w.shm;
	struct ring *r = &shm->out[channel];
	uint64_t next = r->pos + shm_units(MSGEP_FRAME_HDR + f->len);
	uint32_t taken = htole32(shm->taken);

	DOFI_ASSERT_LOCKED(&ep->lock);
	memcpy(f->counts, &taken, sizeof(taken));
	atomic_store_explicit(shm_mark_of(shm, r, r->pos), shm->nonce + r->pos,
			      memory_order_release);
	r->pos = next;
	shm->sent += channel == MSGEP_REQ;
	if (shm->fences)
		shm_order(shm);
	atomic_signal_fence(memory_order_seq_cst);
	shm_notify(ep);
}

/* ---------------------------------------------------------------- reading */

/* The reader's position. */
static inline uint64_t shm_position(const struct msgep_ep *ep, int channel)
{
	return atomic_load_explicit(&ep->watch.next[channel].mark, memory_order_relaxed) -
	       ep->w.shm->nonce;
}

static inline void shm_set_position(struct msgep_ep *ep, int channel, uint64_t at)
{
	struct msgep_shm *shm = ep->w.shm;

	atomic_store_explicit(&ep->watch.next[channel].place,
			      shm_mark_of(shm, &shm->in[channel], at), memory_order_relaxed);
	atomic_store_explicit(&ep->watch.next[channel].mark, shm->nonce + at, memory_order_relaxed);
}

static uint32_t shm_arrived(struct msgep_ep *ep)
{
	return shm_check_arrival(ep->w.shm);
}

static void shm_acknowledge(struct msgep_ep *ep, uint32_t count)
{
	ep->w.shm->done = count;
}

static uint32_t shm_acknowledged(struct msgep_ep *ep)
{
	uint32_t count = atomic_load_explicit(&ep->w.shm->tx->done, memory_order_acquire);

	atomic_store_explicit(&ep->watch.acked, count, memory_order_relaxed);
	return count;
}

/* True if the peer has consumed a message whose sender waits for that. */
static bool shm_ready(struct msgep_ep *ep)
{
	return msgep_ep_completes_at(ep, shm_arrived(ep));
}

static __attribute__((noinline, cold)) const struct msgep_frame *shm_refuse(struct msgep_ep *ep)
{
	msgep_ep_fail(ep, "a frame that exceeds its ring");
	return NULL;
}

static void shm_ring_doorbell(struct msgep_ep *ep, int channel)
{
	struct msgep_shm *shm = ep->w.shm;
	struct ring *r = &shm->in[channel];

	r->reported = shm_position(ep, channel);
	atomic_store(&shm->rx->head[channel], r->reported);
	shm_order(shm);
	shm_notify_credits(ep);
}

static const struct msgep_frame *shm_peek(struct msgep_ep *ep, int channel, const void **payload);

/* Returns the frame after a skip. It is at the beginning of the ring, where a skip is refused. */
static __attribute__((noinline)) const struct msgep_frame *shm_skip(struct msgep_ep *ep,
								    int channel,
								    const void **payload)
{
	struct msgep_shm *shm = ep->w.shm;
	uint64_t at = shm_position(ep, channel);
	uint64_t to_end = shm->size - (at & (shm->size - 1));

	if (to_end == shm->size || shm->got[channel].len != to_end - MSGEP_FRAME_HDR)
		return shm_refuse(ep);
	shm_set_position(ep, channel, at + to_end);
	shm_ring_doorbell(ep, channel);
	return shm_peek(ep, channel, payload);
}

static const struct msgep_frame *shm_peek(struct msgep_ep *ep, int channel, const void **payload)
{
	struct msgep_shm *shm = ep->w.shm;
	const struct msgep_frame *f = (const void *)atomic_load_explicit(
		&ep->watch.next[channel].place, memory_order_relaxed);
	struct msgep_frame *got = &shm->got[channel];
	uint32_t taken;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!msgep_frame_there(ep, channel) || ep->failed)
		return NULL;
	*got = *f;
	if (got->kind == SHM_SKIP)
		return shm_skip(ep, channel, payload);
	memcpy(&taken, got->counts, sizeof(taken));
	shm_note_arrived(shm, le32toh(taken));
	*payload = f + 1;
	if (got->len > shm->size - (shm_position(ep, channel) & (shm->size - 1)) - MSGEP_FRAME_HDR)
		return shm_refuse(ep);
	return got;
}

static void shm_release(struct msgep_ep *ep, int channel)
{
	struct msgep_shm *shm = ep->w.shm;
	uint64_t at =
		shm_position(ep, channel) + shm_units(MSGEP_FRAME_HDR + shm->got[channel].len);

	DOFI_ASSERT_LOCKED(&ep->lock);
	shm_set_position(ep, channel, at);
	shm->taken += channel == MSGEP_REQ;
	if (at - shm->in[channel].reported >= shm->report)
		shm_ring_doorbell(ep, channel);
}

/* After a batch, when its completions are readable. A blocked peer has set `wants` if it awaits the
 * consumption of messages; it may have posted writes since. */
static void shm_report(struct msgep_ep *ep)
{
	struct msgep_shm *shm = ep->w.shm;
	bool done = shm->done != shm->done_reported;
	bool taken = shm->taken != shm->taken_reported &&
		     atomic_load_explicit(&shm->rx->several, memory_order_relaxed);

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (taken) {
		shm->taken_reported = shm->taken;
		atomic_store_explicit(&shm->rx->taken, shm->taken, memory_order_release);
	}
	if (done) {
		shm->done_reported = shm->done;
		atomic_store_explicit(&shm->rx->done, shm->done, memory_order_release);
	}
	if (!done && !taken)
		return;
	if (shm->fences)
		shm_order(shm);
	atomic_signal_fence(memory_order_seq_cst);
	if (done)
		shm_notify(ep);
	else
		shm_notify_credits(ep);
}

/* The receive queue has several endpoints. */
static void shm_keep_order(struct msgep_ep *ep)
{
	struct msgep_shm *shm = ep->w.shm;

	shm->taken_reported = shm->taken;
	atomic_store(&shm->rx->taken, shm->taken);
	atomic_store(&shm->rx->several, 1);
}

/* For a queue of one endpoint. */
static bool shm_is_eager(struct msgep_ep *ep)
{
	return !atomic_load_explicit(&ep->w.shm->tx->several, memory_order_relaxed);
}

static void shm_arm(struct msgep_ep *ep, bool space)
{
	struct msgep_shm *shm = ep->w.shm;

	atomic_fetch_or(&shm->rx->notify, NOTIFY_ASLEEP);
	if (space || atomic_load(&ep->complete_at))
		atomic_store(&shm->tx->wants, 1);
}

static void shm_announce(struct msgep_ep *ep, uint32_t number)
{
	atomic_store(&ep->w.shm->rx->notify, number + 1);
}

/* Makes the stores of all peers visible that have not seen us armed. */
static void shm_drain_stores(struct msgep_domain *domain)
{
	(void)domain;
	if (shm_membarrier_works())
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

/* Room is reported once: what is known did not suffice. */
static bool shm_quiet(struct msgep_ep *ep, bool space)
{
	struct msgep_shm *shm = ep->w.shm;
	uint32_t arrived = shm_check_arrival(shm);
	bool more = msgep_watch_shows(ep) || msgep_ep_completes_at(ep, arrived);

	for (int c = 0; space && c < MSGEP_CHANNELS; c++)
		more |= shm_update_free(shm, c);
	if (space && arrived != shm->arrived_seen) {
		shm->arrived_seen = arrived;
		more = true;
	}
	return !more;
}

/* Both sides modify the word (the reader adds 0): either the owner's change is seen, or the data
 * was pulled before the owner continued. A load would not do on every machine. */
static inline uint32_t shm_check_ring(_Atomic uint32_t *word)
{
	return atomic_fetch_or(word, 0);
}

static size_t shm_pull_from(struct msgep_ep *ep)
{
	if (!atomic_load_explicit(&ep->w.shm->tx->pulls, memory_order_relaxed))
		return SIZE_MAX;
	return (size_t)dofi_param(DOFI_NUM_SHM_PULL_KIB) << 10;
}

static bool shm_pull(struct msgep_ep *ep, struct iovec *to, const struct msgep_segment *from,
		     size_t n)
{
	struct msgep_shm *shm = ep->w.shm;

	/* Whether pulling was permitted is taken from our own copy, not from memory that the peer
	 * shares. A writer that flushes its requests sets `gone` before it releases their
	 * memory. */
	return shm->pulls && msgep_pull(&shm->peer, to, from, n) && !shm_check_ring(&shm->rx->gone);
}

static size_t shm_pull_to(struct msgep_ep *ep)
{
	return ep->w.shm->pulls ? (size_t)dofi_param(DOFI_NUM_SHM_PULL_KIB) << 10 : SIZE_MAX;
}

static void shm_grant(struct msgep_ep *ep, uint32_t read)
{
	_Atomic uint64_t *revoked = &ep->w.shm->tx->revoked;
	uint64_t bit = (uint64_t)1 << (read % MSGEP_TARGET_READS);

	if (atomic_load_explicit(revoked, memory_order_relaxed) & bit)
		atomic_fetch_and(revoked, ~bit);
}

static void shm_take_back(struct msgep_ep *ep, uint64_t reads)
{
	atomic_fetch_or(&ep->w.shm->tx->revoked, reads);
}

static void shm_withdraw(struct msgep_ep *ep)
{
	atomic_fetch_or(&ep->w.shm->tx->gone, 1);
}

static bool shm_revoked(struct msgep_ep *ep, uint32_t read)
{
	return atomic_fetch_or(&ep->w.shm->rx->revoked, 0) >> (read % MSGEP_TARGET_READS) & 1;
}

/* ---------------------------------------------------------------- life */

static size_t shm_map_len(uint32_t size)
{
	return PAGE + 4 * (size_t)size;
}

static int shm_map(struct msgep_ep *ep, int fd, uint32_t size, bool active)
{
	struct msgep_shm *shm = calloc(1, sizeof(*shm));
	struct control *control;
	char *ring;

	if (!shm)
		return -FI_ENOMEM;
	shm->map_len = shm_map_len(size);
	shm->map = mmap(NULL, shm->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm->map == MAP_FAILED) {
		free(shm);
		return -errno;
	}
	shm->size = size;
	shm->most = size / 4 - (uint32_t)MSGEP_FRAME_HDR;
	shm->report = (size < NEAR ? size : NEAR) / 8;
	control = shm->map;
	ring = (char *)shm->map + PAGE;
	shm->tx = &control[!active];
	shm->rx = &control[active];
	for (int c = 0; c < MSGEP_CHANNELS; c++) {
		shm->out[c].base = ring + (size_t)size * (2u * !active + (unsigned int)c);
		shm->in[c].base = ring + (size_t)size * (2u * active + (unsigned int)c);
	}
	ep->w.shm = shm;
	return 0;
}

static int shm_make_memory(uint32_t size)
{
	int fd = dofi_forkfd(memfd_create("dat-ofi", MFD_CLOEXEC | MFD_ALLOW_SEALING));

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)shm_map_len(size)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int ret = -errno;

		dofi_forkfd_close(fd);
		return ret;
	}
	return fd;
}

/* The reader begins; the nonce is known. */
static void shm_watch(struct msgep_ep *ep)
{
	for (int c = 0; c < MSGEP_CHANNELS; c++)
		shm_set_position(ep, c, 0);
	ep->watch.done = &ep->w.shm->tx->done;
}

static int shm_get_params(struct msgep_ep *ep, bool active, struct msgep_params *out)
{
	uint32_t kib = (uint32_t)dofi_param(DOFI_NUM_SHM_RING_KIB);
	/* A process of 32 bits has no addresses for more. */
	uint32_t size = sizeof(void *) < 8 && kib * 1024 > NEAR ? NEAR : kib * 1024;
	struct msgep_puller mine;
	uint8_t *p = out->data;
	int ret;

	out->fd = -1;
	if (active) {
		while (size & (size - 1))
			size &= size - 1;
		out->fd = shm_make_memory(size);
		if (out->fd < 0)
			return out->fd;
		ret = shm_map(ep, out->fd, size, true);
		if (!ret && getrandom(&ep->w.shm->nonce, 8, 0) != 8)
			ret = -errno;
		if (ret) {
			dofi_forkfd_close(out->fd);
			return ret;
		}
		shm_watch(ep);
	}
	if (msgep_cq_is_shared(ep->rx_cq))
		shm_keep_order(ep);
	p = dofi_put_be(p, SHM_PARAMS_MAGIC, 4);
	p = dofi_put_be(p, SHM_PARAMS_VERSION, 4);
	p = dofi_put_be(p, ep->w.shm->size, 4);
	p = dofi_put_be(p, shm_membarrier_works(), 4);
	p = dofi_put_be(p, ep->w.shm->nonce, 8);
	msgep_pull_get_params(&mine);
	p = dofi_put_be(p, (uint64_t)mine.pid, 8);
	p = dofi_put_be(p, mine.place, 8);
	p = dofi_put_be(p, mine.proof, 8);
	p = dofi_put_be(p, msgep_ready_queue_id(ep->rx_cq), 8);
	dofi_put_be(p, msgep_ready_queue_id(ep->tx_cq), 8);
	out->len = SHM_PARAMS_LEN;
	if (!active)
		out->fd = msgep_ready_share(ep, ep->w.shm->peer_rx, ep->w.shm->peer_tx);
	return 0;
}

/* Otherwise a peer could truncate memory that we are about to read. */
static bool shm_memory_ok(int fd, uint32_t size)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & wanted) == wanted && !fstat(fd, &st) &&
	       st.st_size == (off_t)shm_map_len(size);
}

/* Takes what both sides need from the other's parameters. */
static void shm_set_peer(struct msgep_ep *ep, const uint8_t *data)
{
	struct msgep_shm *shm = ep->w.shm;

	shm->fences = !shm_membarrier_works() || !dofi_get_be(data + 12, 4);
	/* Not the pid that it reports: it could name a process that we may read and it may not. */
	shm->peer.pid = msgep_cm_own_peer(ep);
	shm->peer.place = dofi_get_be(data + 32, 8);
	shm->peer.proof = dofi_get_be(data + 40, 8);
	shm->pulls = shm->peer.pid && msgep_pull_try(&shm->peer);
	atomic_store(&shm->rx->pulls, shm->pulls);
}

static int shm_set_peer_params(struct msgep_ep *ep, bool active, struct msgep_params *in)
{
	uint32_t size;
	int ret = -EPROTO;

	if (in->len != SHM_PARAMS_LEN || dofi_get_be(in->data, 4) != SHM_PARAMS_MAGIC)
		return ret;
	if (dofi_get_be(in->data + 4, 4) != SHM_PARAMS_VERSION)
		return -EPROTONOSUPPORT;
	size = (uint32_t)dofi_get_be(in->data + 8, 4);
	if (active) {
		shm_set_peer(ep, in->data);
		if (size != ep->w.shm->size)
			return ret;
		return in->fd < 0 ? 0 : msgep_ready_map(ep, in->fd);
	}
	if (size < RING_MIN || size > RING_MAX || (size & (size - 1)) ||
	    !shm_memory_ok(in->fd, size))
		return ret;
	ret = shm_map(ep, in->fd, size, false);
	if (ret)
		return ret;
	dofi_forkfd_close(in->fd);
	in->fd = -1;
	shm_set_peer(ep, in->data);
	ep->w.shm->nonce = dofi_get_be(in->data + 16, 8);
	shm_watch(ep);
	ep->w.shm->peer_rx = dofi_get_be(in->data + 48, 8);
	ep->w.shm->peer_tx = dofi_get_be(in->data + 56, 8);
	return 0;
}

static void shm_close(struct msgep_ep *ep)
{
	msgep_ready_release(ep);
	munmap(ep->w.shm->map, ep->w.shm->map_len);
	free(ep->w.shm);
	ep->w.shm = NULL;
	ep->watch.done = NULL;
}

static size_t shm_finish(struct msgep_ep *ep, uint8_t *out)
{
	(void)out;
	shm_withdraw(ep);
	return 0;
}

static void shm_finished(struct msgep_ep *ep, const uint8_t *in, size_t len)
{
	(void)ep;
	(void)in;
	(void)len; /* the rings hold all state */
}

static bool shm_drained(struct msgep_ep *ep, bool died)
{
	(void)died;
	return ep->failed ||
	       (!msgep_frame_there(ep, MSGEP_REQ) && !msgep_frame_there(ep, MSGEP_ANS));
}

const struct msgep_transport msgep_transport_shm = {
	.name = "shm",
	.id = 1,
	.local = true,
	.doorbell = true,
	.traffic_classes = true,
	.prepare = shm_prepare,
	.get_params = shm_get_params,
	.set_peer_params = shm_set_peer_params,
	.close = shm_close,
	.finish = shm_finish,
	.finished = shm_finished,
	.drained = shm_drained,
	.reserve = shm_reserve,
	.commit = shm_commit,
	.peek = shm_peek,
	.release = shm_release,
	.flush = shm_report,
	.arrived = shm_arrived,
	.acknowledge = shm_acknowledge,
	.acknowledged = shm_acknowledged,
	.is_eager = shm_is_eager,
	.keep_order = shm_keep_order,
	.pull_from = shm_pull_from,
	.pull = shm_pull,
	.pull_to = shm_pull_to,
	.grant = shm_grant,
	.revoke = shm_take_back,
	.withdraw = shm_withdraw,
	.revoked = shm_revoked,
	.ready = shm_ready,
	.announce = shm_announce,
	.arm = shm_arm,
	.drain_stores = shm_drain_stores,
	.quiet = shm_quiet,
};
