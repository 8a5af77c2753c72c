/* SPDX-License-Identifier: BSD-2-Clause */
/* Pulls data from the memory of another process of this host (CMA). */
#ifndef DOFI_MSGEP_SHM_PULL_H
#define DOFI_MSGEP_SHM_PULL_H

#include <sys/types.h>

#include "msgep/msgep.h"

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

#endif
