/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking data out of the memory of another process of this host. */
#ifndef DOFI_RDM_SHM_PULL_H
#define DOFI_RDM_SHM_PULL_H

#include <sys/types.h>

#include "msgep/msgep.h"

/* A process, and how to know that it is still the same. */
struct rdm_puller {
	pid_t pid;
	uint64_t place, proof;
};

/* What this process tells its peers. */
void rdm_pull_offer(struct rdm_puller *mine);
/* Does it work, and is it worth while? */
bool rdm_pull_try(const struct rdm_puller *peer);
/* Segments of the peer's memory to `to`, which is used up as far. False: it did not work, or is not
 * the same process any more. */
bool rdm_pull(const struct rdm_puller *peer, struct iovec *to, const struct rdm_segment *from,
	      size_t n);

#endif
