/* SPDX-License-Identifier: BSD-2-Clause */
/* Message prefix, on fabrics that have no completion data (iWARP).
 *
 * The completion data of a message (object/conn_id.h) is sent as its first 8 bytes instead,
 * big-endian: an additional segment on both sides, so that the buffers are not copied. But a
 * segment costs soft-iWARP more than copying a short message: such a message is sent from a bounce
 * buffer behind its prefix. A short receive of one segment uses one, too, and is copied when its
 * completion is read. Each slot of a queue has its place in registered memory, allocated with the
 * queue's first connection.
 *
 * A message to an SRQ has another 8 bytes there, which are 0. They are not 0 in the message without
 * contents that follows a write with immediate data, and consumes the receive: the bytes of the
 * write plus 1. Its first 8 bytes are the completion data of such a write.
 *
 * To an EP without an SRQ this message has the usual 8 bytes. They differ from those of other
 * messages to such an EP in bits 1..31, which are 0 or 1 there:
 *
 *   bit 0       the completion notifies
 *   bits 1..31  bytes of the write plus 2
 *   bits 32..63 immediate data
 */
#ifndef DOFI_MSG_PREFIX_H
#define DOFI_MSG_PREFIX_H

#include "object/ep.h"

/* Bytes of the longest prefix: of a message to an SRQ. */
#define DOFI_MSG_PREFIX_MAX 16

/* Allocates prefixes for `n` slots unless present. `copies`: with bounce buffers for short
 * messages, unless the number of slots would require too much registered memory. */
int dofi_msg_prefixes_alloc(struct dofi_fab *fab, struct dofi_msg_prefixes *w, size_t n,
			    bool copies);

/* Sends the message behind a prefix of `data`. fid: endpoint or SRX. */
ssize_t dofi_msg_prefix_send(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto, uint64_t data);
ssize_t dofi_msg_prefix_recv(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto);

/* Writes, then sends the prefix alone. `data`: the completion data of a write. The completion is
 * that of the message: a device that fails the write fails the message, too. */
ssize_t dofi_msg_prefix_write(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			      struct dofi_dto *dto, const struct fi_msg_rma *write, uint64_t data);

/* Reads the prefix of a received message, so that *len becomes the length of the consumer's part,
 * or of the write that the message follows, which adds FI_REMOTE_WRITE to *flags. Copies a bounced
 * message to the posted buffer. Returns a DAT_DTO_COMPLETION_STATUS. */
uint8_t dofi_msg_prefix_take(struct dofi_evd *evd, struct dofi_dto *dto, size_t *len,
			     uint64_t *data, uint64_t *flags);

#endif
