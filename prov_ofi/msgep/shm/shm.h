/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the shared-memory transport share: pulling data, and ready rings. */
#ifndef DOFI_MSGEP_SHM_H
#define DOFI_MSGEP_SHM_H

#include <sys/types.h>

#include "msgep/msgep.h"

/* ---------------------------------------------------------------- shm_pull.c */

/* A process, and how to verify that it is still the same. */
struct msgep_puller {
	pid_t pid;
	uint64_t place, proof;
};

/* Parameters of this process for its peers. */
void msgep_pull_get_params(struct msgep_puller *mine);
/* True if it works and pays. */
bool msgep_pull_try(const struct msgep_puller *peer);
/* Copies segments of the peer's memory to `to`, which is consumed accordingly. False: it failed, or
 * the process is not the same any more. */
bool msgep_pull(const struct msgep_puller *peer, struct iovec *to, const struct msgep_segment *from,
		size_t n);

/* ---------------------------------------------------------------- shm_ready.c */

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
