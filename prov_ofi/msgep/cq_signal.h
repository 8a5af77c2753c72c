/* SPDX-License-Identifier: BSD-2-Clause */
/* QUIRK libfabric<1.18 tcp: the signal of a completion queue is in the epoll set that each poll
 * reads, and a poll clears it: two system calls per completion, before it is read. Once removed
 * from the set of a new queue, it is raised once and stays until fi_trywait clears it, as in later
 * versions. The caller waits on it in addition to the queue's descriptor. */
#ifndef DOFI_MSGEP_CQ_SIGNAL_H
#define DOFI_MSGEP_CQ_SIGNAL_H

/* cq_fd: of a queue of tcp that nothing has been bound to. Returns the signal, or -1: not found. */
int msgep_cq_signal_take(int cq_fd);
/* The same for the queue of tcp below a new queue of rxm whose endpoint has been enabled. */
int msgep_cq_signal_take_inner(int cq_fd);

#endif
