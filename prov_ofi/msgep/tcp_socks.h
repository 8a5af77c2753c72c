/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the sockets of a listener of libfabric's tcp, which libfabric does not report. */
#ifndef MSGEP_TCP_SOCKS_H
#define MSGEP_TCP_SOCKS_H

#include <dirent.h>
#include <stdbool.h>

#include "base/addr.h"

/* The next descriptor of /proc/self/fd; -1: no more. */
int msgep_tcp_next_fd(DIR *dir);
/* The next socket that listens at this address, or that such a listener has accepted. Descriptors
 * that are marked (base/forkfd.h) are not meant. -1: no more, and the directory is closed. */
int msgep_tcp_next(DIR *dir, const union dofi_addr *listener, bool listening);
/* Shuts down the sockets that such a listener has accepted; unanswered: only those on which nothing
 * has been sent, so that the peer's request has not been answered. Returns their number. */
unsigned int msgep_tcp_end_accepted(const union dofi_addr *listener, bool unanswered);
/* QUIRK libfabric tcp: closing a listener leaks the socket of a connection whose request it has not
 * read. Called after the listener and all endpoints of the adapter have been closed. */
void msgep_tcp_close_accepted(const union dofi_addr *listener);

#endif
