/* SPDX-License-Identifier: BSD-2-Clause */
/* Ready rings of the shared-memory transport: which connections have one, and its memory. */
#ifndef DOFI_MSGEP_SHM_READY_H
#define DOFI_MSGEP_SHM_READY_H

#include "msgep/msgep.h"

/* The number that identifies the queue to peers of this process; 0: none. */
uint64_t msgep_ready_queue_id(struct msgep_cq *cq);
/* Passive side: returns a descriptor of the ready rings for this connection of the client's queues,
 * which the caller closes; -1: it has none. */
int msgep_ready_share(struct msgep_ep *ep, uint64_t peer_rx, uint64_t peer_tx);
/* Active side: takes the rings from the listener, whose descriptor remains the caller's. 0 or a
 * negative error. */
int msgep_ready_map(struct msgep_ep *ep, int fd);
/* The connection is being closed. */
void msgep_ready_release(struct msgep_ep *ep);

#endif
