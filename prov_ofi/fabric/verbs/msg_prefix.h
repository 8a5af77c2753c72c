/* SPDX-License-Identifier: BSD-2-Clause */
/* Message prefix, on fabrics that have no completion data (iWARP).
 *
 * The completion data of a message (object/conn_id.h) is sent as its first 8 bytes instead,
 * big-endian: an additional segment on both sides, so that the buffers are not copied. But a
 * segment costs soft-iWARP more than copying a short message: such a message is sent from a bounce
 * buffer behind its prefix. A short receive of one segment uses one, too, and is copied when its
 * completion is read. An empty message has 8 bytes. Each slot of a queue has its place in
 * registered memory, allocated with the queue's first connection.
 */
#ifndef DOFI_MSG_PREFIX_H
#define DOFI_MSG_PREFIX_H

#include "object/ep.h"

#define DOFI_MSG_PREFIX_LEN sizeof(uint64_t)

/* Messages up to this length are copied. */
#define DOFI_MSG_PREFIX_BOUNCE 120

/* Allocates prefixes for `n` slots unless present. `copies`: with bounce buffers for short
 * messages, unless the number of slots would require too much registered memory. */
int dofi_msg_prefixes_alloc(struct dofi_fab *fab, struct dofi_msg_prefixes *w, size_t n,
			    bool copies);

/* Sends the message behind the slot's prefix, which holds `data`. fid: endpoint or SRX. */
ssize_t dofi_msg_prefix_send(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto, uint64_t data);
ssize_t dofi_msg_prefix_recv(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto);

/* Writes, then sends the prefix alone. The completion is that of the message: a device that fails
 * the write fails the message, too. */
ssize_t dofi_msg_prefix_write(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			      struct dofi_dto *dto, const struct fi_msg_rma *write, uint64_t data);

/* Reads the prefix of a received message, so that *len becomes the length of the consumer's part,
 * and copies a bounced message to the posted buffer. Returns a DAT_DTO_COMPLETION_STATUS. */
uint8_t dofi_msg_prefix_take(struct dofi_evd *evd, struct dofi_dto *dto, size_t *len,
			     uint64_t *data);

#endif
