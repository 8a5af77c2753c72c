/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection ids, which identify the connection of a message that an SRQ receives.
 *
 * A completion of the fabric names the buffer, which for an SRQ does not identify the connection.
 * Each connection of an EP with an SRQ therefore has a connection id. The handshake sends it to the
 * peer, and every message of the peer carries it in its completion data:
 *
 *   bit 0       the completion notifies (solicited wait)
 *   bit 1       the message invalidates the key in bits 32..63
 *   bits 2..25  connection id: index of a slot and a generation, which changes whenever the slot
 *               is reused
 *
 * The data of a write with immediate data, which consumes a receive of the peer:
 *
 *   bit 0       as above
 *   bits 2..25  connection id
 *   bits 32..63 immediate data
 *
 * RDMA devices carry 32 bits only. To an EP without an SRQ these are the immediate data, or the key
 * to invalidate, which is never 1 (bit 0 alone), and they always notify. To an SRQ they are as
 * above, and bit 1 of a message or a write states that a value has been announced: the immediate
 * data or the key. One to three messages without contents announce it, 14 bits each, the highest
 * first. Each consumes a buffer of the SRQ, which the library that receives it posts again. Their
 * data:
 *
 *   bits 0..15  index of the connection id's slot
 *   bits 16..29 bits of the value
 *   bit 30      the value is immediate data
 *   bit 31      set; it is 0 in the data of other messages and writes to an SRQ
 *
 * Where a message prefix replaces completion data (iWARP), a message without contents follows the
 * write (fabrics/verbs/msg_prefix.h).
 *
 * The lookup takes no lock and trusts nothing: the caller checks that the completion can belong to
 * the EP found.
 */
#ifndef DOFI_CONN_ID_H
#define DOFI_CONN_ID_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"

struct dofi_ep;

#define DOFI_DATA_SOLICITED 1u
#define DOFI_DATA_INVALIDATE 2u
#define DOFI_DATA_ANNOUNCED 2u /* of a device */
#define DOFI_DATA_CONN_ID_SHIFT 2

#define DOFI_ANNOUNCEMENT 0x80000000u
#define DOFI_ANNOUNCEMENT_IMMED 0x40000000u
#define DOFI_ANNOUNCEMENT_SHIFT 16
#define DOFI_ANNOUNCEMENT_BITS 14
#define DOFI_ANNOUNCEMENTS_MAX 3 /* of one value */

#define DOFI_CONN_ID_INDEX_BITS 16
#define DOFI_CONN_ID_BITS 24 /* size of the field in brief connection messages */
#define DOFI_CONN_ID_CHUNK_BITS 8
#define DOFI_CONN_ID_CHUNKS (1u << (DOFI_CONN_ID_INDEX_BITS - DOFI_CONN_ID_CHUNK_BITS))

struct dofi_conn_id_slot {
	_Atomic uint32_t conn_id; /* 0: unused */
	uint32_t generation;
	uint32_t next_free;
	_Atomic(struct dofi_ep *) ep;
};

struct dofi_conn_ids {
	pthread_mutex_t lock;
	_Atomic(struct dofi_conn_id_slot *) chunk[DOFI_CONN_ID_CHUNKS];
	uint32_t used, free_head; /* index 0 is never allocated */
};

void dofi_conn_ids_init(struct dofi_conn_ids *t);
void dofi_conn_ids_free(struct dofi_conn_ids *t);
/* Allocates an id for a connection of `ep`; 0: none left. */
uint32_t dofi_conn_id_alloc(struct dofi_conn_ids *t, struct dofi_ep *ep);
/* Frees the id; no message with it can arrive any more. */
void dofi_conn_id_free(struct dofi_conn_ids *t, uint32_t conn_id);

/* The EP of the connection whose id has this index; NULL: none. */
struct dofi_ep *dofi_conn_id_at(struct dofi_conn_ids *t, uint32_t index);

static inline struct dofi_ep *dofi_conn_id_find(struct dofi_conn_ids *t, uint64_t data)
{
	uint32_t conn_id = (uint32_t)data >> DOFI_DATA_CONN_ID_SHIFT;
	uint32_t index = conn_id & ((1u << DOFI_CONN_ID_INDEX_BITS) - 1);
	struct dofi_conn_id_slot *slot = atomic_load_explicit(
		&t->chunk[index >> DOFI_CONN_ID_CHUNK_BITS], memory_order_acquire);

	if (!slot || !conn_id)
		return NULL;
	slot += index & ((1u << DOFI_CONN_ID_CHUNK_BITS) - 1);
	if (atomic_load_explicit(&slot->conn_id, memory_order_acquire) != conn_id)
		return NULL;
	return atomic_load_explicit(&slot->ep, memory_order_relaxed);
}

#endif
