/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking data out of the memory of another process of this host. */
#ifndef DOFI_MSGEP_SHM_PULL_H
#define DOFI_MSGEP_SHM_PULL_H

#include <sys/types.h>

#include "msgep/msgep.h"

/* A process, and how to know that it is still the same. */
struct msgep_puller {
	pid_t pid;
	uint64_t place, proof;
};

/* What this process tells its peers. */
void msgep_pull_get_params(struct msgep_puller *mine);
/* Does it work, and is it worth while? */
bool msgep_pull_try(const struct msgep_puller *peer);
/* Segments of the peer's memory to `to`, which is used up as far. False: it did not work, or is not
 * the same process any more. */
bool msgep_pull(const struct msgep_puller *peer, struct iovec *to, const struct msgep_segment *from,
		size_t n);

#endif
