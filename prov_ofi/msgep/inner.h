/* SPDX-License-Identifier: BSD-2-Clause */
/* The libfabric objects of a transport that sends packets over libfabric, without its endpoints. */
#ifndef DOFI_MSGEP_INNER_H
#define DOFI_MSGEP_INNER_H

#include "msgep/msgep.h"

struct msgep_inner {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	int cq_fd;     /* -1: the provider has none */
	int signal_fd; /* see cq_signal.h; -1: cq_fd covers it */
};

void msgep_inner_init(struct msgep_inner *in);
/* Opens fabric and domain of in->info. *what: the call that failed. 0 or a negative error. */
int msgep_inner_open(struct msgep_inner *in, const char **what);
/* Opens the completion queue, and gets its descriptor if it has one. */
int msgep_inner_open_cq(struct msgep_inner *in, size_t size, enum fi_wait_obj wait);
/* Closes what has been opened. The caller has closed all objects of the domain but the queue. */
void msgep_inner_close(struct msgep_inner *in);
/* Adds the descriptors to block on to the first n. Returns their number. */
int msgep_inner_wait_fds(const struct msgep_inner *in, int fd[MSGEP_WAIT_FDS], int n);

#endif
