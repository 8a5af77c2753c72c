/* SPDX-License-Identifier: BSD-2-Clause */
/* The libfabric objects of a transport that sends packets over libfabric, without its endpoints. */
#ifndef DOFI_MSGEP_INNER_H
#define DOFI_MSGEP_INNER_H

#include "base/inline.h"
#include "msgep/msgep.h"

/* Completions of one read; maximum of a poll, so that threads that wait for the lock get it. */
#define MSGEP_INNER_BATCH 16
#define MSGEP_INNER_POLL 64

struct msgep_inner {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	int cq_fd;     /* -1: the provider has none */
	int signal_fd; /* see msgep_cq_signal_take(); -1: cq_fd covers it */
};

void msgep_inner_init(struct msgep_inner *in);
/* Opens fabric and domain of in->info. *what: the call that failed. 0 or a negative error. */
int msgep_inner_open(struct msgep_inner *in, const char **what);
/* Opens another domain of the fabric of `first`, which must be closed after it. */
int msgep_inner_open_beside(struct msgep_inner *in, const struct msgep_inner *first,
			    const char **what);
/* Opens the completion queue, and gets its descriptor if it has one. */
int msgep_inner_open_cq(struct msgep_inner *in, size_t size, enum fi_wait_obj wait);
/* Closes an object of libfabric. One that libfabric does not close keeps memory and descriptors,
 * and those it refers to; `what` names it in the log. */
void msgep_fid_close(struct fid *fid, const char *what);
/* Closes what has been opened. The caller has closed all objects of the domain but the queue. */
void msgep_inner_close(struct msgep_inner *in);
/* Adds the descriptors to block on to the first n. Returns their number. */
int msgep_inner_wait_fds(const struct msgep_inner *in, int fd[MSGEP_WAIT_FDS], int n);

/* QUIRK libfabric<1.18 tcp: the signal of a completion queue is in the epoll set that each poll
 * reads, and a poll clears it: two system calls per completion, before it is read. Once removed
 * from the set of a new queue, it is raised once and stays until fi_trywait clears it, as in later
 * versions. The caller waits on it in addition to the queue's descriptor.
 *
 * cq_fd: of a queue of tcp that nothing has been bound to. Returns the signal, or -1: not found. */
int msgep_cq_signal_take(int cq_fd);
/* The same for the queue of tcp below a new queue of rxm whose endpoint has been enabled. */
int msgep_cq_signal_take_inner(int cq_fd);

/* Reads the completion of an operation that has failed. *err: positive. False: the queue itself has
 * failed. */
bool msgep_inner_read_error(struct msgep_inner *in, void **op_context, int *err);

/* Reads completions and passes them to `done` or `failed`, which are constants of the caller.
 * Returns their number. partial: a read may return fewer than there are. (hot) */
ALWAYS_INLINE unsigned int msgep_inner_poll(struct msgep_inner *in, bool partial, void *arg,
					    void (*done)(void *arg,
							 const struct fi_cq_msg_entry *entry),
					    void (*failed)(void *arg, void *op_context, int err))
{
	struct fi_cq_msg_entry entries[MSGEP_INNER_BATCH];
	unsigned int got = 0;
	void *op_context;
	int err;

	while (got < MSGEP_INNER_POLL) {
		ssize_t n = fi_cq_read(in->cq, entries, MSGEP_INNER_BATCH);

		if (n == -FI_EAVAIL && msgep_inner_read_error(in, &op_context, &err)) {
			if (op_context)
				failed(arg, op_context, err);
			got++;
			continue;
		}
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			if (entries[i].op_context)
				done(arg, &entries[i]);
		got += (unsigned int)n;
		if (n < MSGEP_INNER_BATCH && !partial)
			break;
	}
	return got;
}

#endif
