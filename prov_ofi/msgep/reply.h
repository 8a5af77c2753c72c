/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether acknowledgements and credits wait for a reply of the consumer. (hot)
 *
 * A consumer that polls memory and its queue in turn polls the queue a few times between the
 * arrival of a write and its reply. An acknowledgement that travels with the reply saves a message,
 * which is a system call on each side; but where no reply follows, it would only be late. It
 * therefore waits if a reply followed the last acknowledgement that was sent alone. One that waits
 * in vain is sent alone, and the next one does not wait.
 *
 * Time is counted in polls that found nothing (`polls`): they count how often the consumer could
 * have replied.
 */
#ifndef DOFI_MSGEP_REPLY_H
#define DOFI_MSGEP_REPLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A consumer that replies to what arrives does so within this number of polls. */
#define MSGEP_REPLY_POLLS 8

/* The transport's lock of what is sent to the peer protects it, except where stated otherwise. */
struct msgep_reply {
	uint32_t since;     /* the acknowledgements began to wait, or were sent alone */
	bool is_expected;   /* they wait */
	_Atomic bool alone; /* they were, and nothing has been posted or received since */
};

/* Something is owed that may wait. */
static inline void msgep_reply_owed(struct msgep_reply *r, uint32_t polls)
{
	r->since = polls;
}

/* True if what may wait is not sent yet. */
static inline bool msgep_reply_is_awaited(const struct msgep_reply *r, uint32_t polls)
{
	return r->is_expected && polls - r->since < MSGEP_REPLY_POLLS;
}

/* A poll that found nothing sends it alone. */
static inline void msgep_reply_sent_alone(struct msgep_reply *r, uint32_t polls)
{
	r->is_expected = false;
	r->since = polls;
	atomic_store_explicit(&r->alone, true, memory_order_relaxed);
}

/* Something has been received from the peer: what is posted afterwards may reply to that. Needs no
 * lock. */
static inline void msgep_reply_received(struct msgep_reply *r)
{
	atomic_store_explicit(&r->alone, false, memory_order_relaxed);
}

/* The consumer has posted, and what was owed travels along. If acknowledgements have just been sent
 * alone, and nothing has arrived since, this is a reply, and they could have travelled with it. */
static inline void msgep_reply_posted(struct msgep_reply *r, uint32_t polls)
{
	if (atomic_load_explicit(&r->alone, memory_order_relaxed)) {
		atomic_store_explicit(&r->alone, false, memory_order_relaxed);
		r->is_expected = polls - r->since < MSGEP_REPLY_POLLS;
	}
	r->since = polls;
}

#endif
