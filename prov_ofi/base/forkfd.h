/* SPDX-License-Identifier: BSD-2-Clause */
/* Records the descriptors that a forked child must close.
 *
 * A child that neither executes another program nor exits would keep the sockets of its parent
 * open: peers would not notice the parent's death, and the port of a service point that the parent
 * has freed would stay in use. The child therefore closes them right after the fork. They are
 * marked in a bitmap that is read without a lock. A descriptor is marked after it is opened and
 * unmarked before it is closed, so a marked descriptor belongs to this library.
 *
 * Unless the program has closed it: daemons close all descriptors above 2 when they start, and some
 * open an adapter before. Its number may then be that of a file of the program. Descriptors are
 * therefore also marked in the kernel, by the signal number of asynchronous I/O, which has no
 * effect without O_ASYNC, and are not closed without that mark.
 */
#ifndef DOFI_FORKFD_H
#define DOFI_FORKFD_H

#include <stdbool.h>

/* Marks the descriptor unless it is negative, and returns it. */
int dofi_forkfd(int fd);
/* Marks the descriptor. False: already marked, or its number is too large. */
bool dofi_forkfd_claim(int fd);
bool dofi_forkfd_is(int fd);
/* False: the program has closed the descriptor that dofi_forkfd marked. A system call. */
bool dofi_forkfd_is_open(int fd);
/* Unmarks a descriptor that other code is about to close. */
void dofi_forkfd_forget(int fd);
/* Unmarks the descriptor, and closes it if it is still the one that was marked. */
void dofi_forkfd_close(int fd);
/* In a forked child: closes all marked descriptors. Async-signal-safe. */
void dofi_forkfd_close_all(void);

#endif
