/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames in the rings of a connection over shared memory, and wakeups (shm.h). (hot) */
#include <endian.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "msgep/cm/cm.h"
#include "msgep/ready.h"
#include "msgep/shm/shm.h"

/* A round of the ring in which no frame is longer than SHORT ends after SHM_NEAR bytes. */
#define SHORT 2048u

/* Kind of a frame without meaning that reaches to the end of the ring. */
#define SHM_SKIP 255

/* A bit of `notify`; the others: 1 + the number in the ready ring, 0: none. */
#define NOTIFY_ASLEEP ((uint32_t)1 << 31)

/* Orders earlier stores before later loads. Adds 0 instead of a fence, which thread checkers do not
 * know. */
static inline void shm_order(struct msgep_shm *shm)
{
	atomic_fetch_add(&shm->order, 0);
}

static inline uint64_t shm_units(uint64_t bytes)
{
	return (bytes + SHM_UNIT - 1) & ~(uint64_t)(SHM_UNIT - 1);
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

static inline uint64_t shm_free_bytes(const struct msgep_shm *shm, const struct shm_ring *r)
{
	return shm->size - (r->pos - r->known);
}

/* True if the reader has advanced since the last check. */
static bool shm_update_free(struct msgep_shm *shm, int channel)
{
	struct shm_ring *r = &shm->out[channel];
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
	const struct shm_ring *r = &shm->out[channel];

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
	struct shm_ring *r = &shm->out[channel];
	uint64_t end = (r->pos | (shm->size - 1)) + 1;
	struct msgep_frame *f = (void *)shm_mark_of(shm, r, r->pos);

	r->turn = end - shm->size + SHM_NEAR;
	if (r->pos < r->turn)
		return shm_reserve(ep, channel, want, space);
	shm_update_free(shm, channel);
	if (r->pos - r->known <= SHM_NEAR / 4) {
		f->len = (uint32_t)(end - r->pos - MSGEP_FRAME_HDR);
		f->kind = SHM_SKIP;
		atomic_store_explicit(shm_mark_of(shm, r, r->pos), shm->nonce + r->pos,
				      memory_order_release);
		r->pos = end;
	}
	r->turn = r->pos + SHM_NEAR / 4;
	return shm_reserve(ep, channel, want, space);
}

static struct msgep_frame *shm_reserve(struct msgep_ep *ep, int channel, size_t want, size_t *space)
{
	struct msgep_shm *shm = ep->w.shm;
	struct shm_ring *r = &shm->out[channel];
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
	struct shm_ring *r = &shm->out[channel];
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

static void shm_report_position(struct msgep_ep *ep, int channel)
{
	struct msgep_shm *shm = ep->w.shm;
	struct shm_ring *r = &shm->in[channel];

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
	shm_report_position(ep, channel);
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
		shm_report_position(ep, channel);
}

/* After a batch, when its completions are readable. A blocked peer has set `wants` if it awaits the
 * consumption of messages; it may have posted writes since. */
static void shm_report_counts(struct msgep_ep *ep)
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
	.flush = shm_report_counts,
	.arrived = shm_arrived,
	.acknowledge = shm_acknowledge,
	.acknowledged = shm_acknowledged,
	.is_eager = shm_is_eager,
	.keep_order = shm_keep_order,
	.pull_from = shm_pull_from,
	.pull = shm_pull,
	.pull_to = shm_pull_to,
	.grant = shm_grant,
	.revoke = shm_revoke,
	.withdraw = shm_withdraw,
	.revoked = shm_revoked,
	.ready = shm_ready,
	.announce = shm_announce,
	.arm = shm_arm,
	.drain_stores = shm_drain_stores,
	.quiet = shm_quiet,
};
