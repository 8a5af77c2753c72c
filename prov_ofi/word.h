/* SPDX-License-Identifier: BSD-2-Clause */
/* A word of ours in front of every message, where the fabric has no completion data (iWARP).
 *
 * What tag.h puts into the completion data of a message travels as its first 8 bytes instead,
 * big-endian. They are a segment of their own on both sides, so that the buffers are not copied;
 * but a short message is copied behind its word when it is sent, since a segment costs soft-iWARP
 * more than that. An empty message is one of 8 bytes. Every slot of a queue has its place in
 * registered memory, made when the queue's first connection is.
 */
#ifndef DOFI_WORD_H
#define DOFI_WORD_H

#include "ep.h"

#define DOFI_WORD_BYTES sizeof(uint64_t)

/* Messages up to this length are copied. */
#define DOFI_WORD_COPY 120

/* Makes words for `n` slots unless they are there. `copies`: with room for short messages. */
int dofi_words_make(struct dofi_fab *fab, struct dofi_words *w, size_t n, bool copies);
void dofi_words_free(struct dofi_words *w);

/* fi_sendmsg and fi_recvmsg (fid: endpoint or shared context) with the slot's word in front. */
ssize_t dofi_word_send(struct fid_ep *fid, const struct dofi_words *w, size_t slot,
		       const struct fi_msg *msg);
ssize_t dofi_word_recv(struct fid_ep *fid, const struct dofi_words *w, size_t slot,
		       const struct fi_msg *msg);

/* What the word of a received message says; *len becomes that of the consumer's part. False: there
 * was no word. */
bool dofi_word_take(const struct dofi_words *w, size_t slot, size_t *len, uint64_t *data);

#endif
