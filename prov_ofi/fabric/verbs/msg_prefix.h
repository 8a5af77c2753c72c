/* SPDX-License-Identifier: BSD-2-Clause */
/* A word of ours in front of every message, where the fabric has no completion data (iWARP).
 *
 * What object/conn_id.h puts into the completion data of a message travels as its first 8 bytes instead,
 * big-endian. They are a segment of their own on both sides, so that the buffers are not copied.
 * But a segment costs soft-iWARP more than the copying of a short message: that is sent from behind
 * its word, and lands behind it where a short receive of one segment was posted, to be copied when
 * its completion is taken. An empty message is one of 8 bytes. Every slot of a queue has its place
 * in registered memory, made when the queue's first connection is.
 */
#ifndef DOFI_MSG_PREFIX_H
#define DOFI_MSG_PREFIX_H

#include <endian.h>

#include "object/ep.h"

#define DOFI_MSG_PREFIX_LEN sizeof(uint64_t)

/* Messages up to this length are copied. */
#define DOFI_MSG_PREFIX_BOUNCE 120

/* Makes words for `n` slots unless they are there. `copies`: with room for short messages, unless
 * there are so many slots that it would be much registered memory. */
int dofi_msg_prefixes_alloc(struct dofi_fab *fab, struct dofi_msg_prefixes *w, size_t n,
			    bool copies);
void dofi_msg_prefixes_free(struct dofi_msg_prefixes *w);

/* The message with the slot's word, which says `data`, in front. fid: endpoint or shared context. */
ssize_t dofi_msg_prefix_send(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto, uint64_t data);
ssize_t dofi_msg_prefix_recv(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto);

/* What the word of a received message says; *len becomes that of the consumer's part. False: there
 * was no word. */
static inline bool dofi_msg_prefix_read(const struct dofi_msg_prefixes *w, size_t slot, size_t *len,
					uint64_t *data)
{
	if (*len < DOFI_MSG_PREFIX_LEN)
		return false;
	*len -= DOFI_MSG_PREFIX_LEN;
	*data = be64toh(w->base[slot * w->stride]);
	return true;
}

/* Does what this receive gets land behind its word? */
static inline bool dofi_msg_prefix_uses_bounce(const struct dofi_msg_prefixes *w,
					       const struct dofi_dto *dto)
{
	return w->stride > 1 && dto->memory && dto->length <= DOFI_MSG_PREFIX_BOUNCE;
}

/* Copies what landed to where it was posted. False: that memory is not registered any more. */
bool dofi_msg_prefix_copy_bounce(struct dofi_lmr_table *lmrs, const struct dofi_msg_prefixes *w,
				 size_t slot, const struct dofi_dto *dto, size_t len);

#endif
