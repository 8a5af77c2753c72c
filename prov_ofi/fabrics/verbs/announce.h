/* SPDX-License-Identifier: BSD-2-Clause */
/* Announces a value to a peer with an SRQ, where completion data has room for a connection id only
 * (InfiniBand, RoCE).
 *
 * Immediate data, or the key that a message invalidates, is sent to the peer's library before the
 * write or the message, in messages without contents (object/conn_id.h). The buffers that they
 * consume are posted to the SRQ again before the consumer learns of them, so nothing is held in
 * between: a connection that ends then has consumed no buffer. An SRQ that has no buffer delays
 * them like any message, until the device sends them again.
 */
#ifndef DOFI_ANNOUNCE_H
#define DOFI_ANNOUNCE_H

#include "object/ep.h"

/* Sends the announcements that have not been sent. The completion of the request, which follows
 * them, is theirs, too. */
ssize_t dofi_announce(struct fid_ep *fid, struct dofi_dto *dto);

#endif
