/* SPDX-License-Identifier: BSD-2-Clause */
/* QUIRK libfabric<1.18 tcp: the signal of a completion queue is a member of the epoll set that each
 * look reads, and a look clears it: two system calls for each completion, before it is read. Taken
 * out of the set of a new queue, it is given once and stays until fi_trywait clears it, as in later
 * versions. The caller sleeps on it next to the queue's descriptor. */
#ifndef DOFI_MSGEP_CQ_SIGNAL_H
#define DOFI_MSGEP_CQ_SIGNAL_H

/* cq_fd: of a queue of tcp that nothing has been bound to. Returns the signal, or -1: not found. */
int msgep_cq_signal_take(int cq_fd);
/* The same of the queue of tcp that a new queue of rxm, whose endpoint has been enabled, sleeps on. */
int msgep_cq_signal_take_inner(int cq_fd);

#endif
