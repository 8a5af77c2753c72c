/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection ids, which name the owner of a message that a shared receive queue took.
 *
 * A completion of the fabric names the buffer, and with an SRQ that says nothing about the
 * connection. Each connection of an EP with an SRQ therefore has a tag, told to the peer
 * when they connect, which every message of the peer carries in its completion data:
 *
 *   bit 0       the completion is to be notified (solicited wait)
 *   bit 1       the message invalidates the key in bits 32..63
 *   bits 2..25  tag: index of a slot, and a generation that changes with each use of the slot
 *
 * The data of a write with immediate data, which takes a receive of the peer's:
 *
 *   bit 0       as above
 *   bits 2..25  tag
 *   bits 32..63 the immediate data
 *
 * A device has 32 bits only: they are the immediate data, and there is no such write to an SRQ.
 *
 * Looking a tag up takes no lock and believes nothing: the caller checks that the EP found is one
 * that the completion may belong to.
 */
#ifndef DOFI_TAG_H
#define DOFI_TAG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct dofi_ep;

#define DOFI_DATA_SOLICITED 1u
#define DOFI_DATA_INVALIDATE 2u
#define DOFI_DATA_TAG_SHIFT 2

#define DOFI_TAG_INDEX_BITS 16
#define DOFI_TAG_BITS 24	/* what brief connection messages have room for */
#define DOFI_TAG_CHUNK_BITS 8
#define DOFI_TAG_CHUNKS (1u << (DOFI_TAG_INDEX_BITS - DOFI_TAG_CHUNK_BITS))

struct dofi_tag_slot {
	_Atomic uint32_t tag;		/* 0: nobody's */
	uint32_t generation;
	uint32_t next_free;
	_Atomic(struct dofi_ep *) ep;
};

struct dofi_tags {
	pthread_mutex_t lock;
	_Atomic(struct dofi_tag_slot *) chunk[DOFI_TAG_CHUNKS];
	uint32_t used, free_head;	/* index 0 is never given out */
};

void dofi_tags_init(struct dofi_tags *t);
void dofi_tags_free(struct dofi_tags *t);
/* A tag for a connection of `ep`; 0: none is left. */
uint32_t dofi_tag_take(struct dofi_tags *t, struct dofi_ep *ep);
/* No message with it can arrive any more. */
void dofi_tag_drop(struct dofi_tags *t, uint32_t tag);

static inline struct dofi_ep *dofi_tag_find(struct dofi_tags *t, uint64_t data)
{
	uint32_t tag = (uint32_t)data >> DOFI_DATA_TAG_SHIFT;
	uint32_t index = tag & ((1u << DOFI_TAG_INDEX_BITS) - 1);
	struct dofi_tag_slot *slot =
		atomic_load_explicit(&t->chunk[index >> DOFI_TAG_CHUNK_BITS], memory_order_acquire);

	if (!slot || !tag)
		return NULL;
	slot += index & ((1u << DOFI_TAG_CHUNK_BITS) - 1);
	if (atomic_load_explicit(&slot->tag, memory_order_acquire) != tag)
		return NULL;
	return atomic_load_explicit(&slot->ep, memory_order_relaxed);
}

#endif
