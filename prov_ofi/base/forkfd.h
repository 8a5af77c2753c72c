/* SPDX-License-Identifier: BSD-2-Clause */
/* Records the descriptors that a forked child must close.
 *
 * A child that neither executes another program nor exits would keep the sockets of its parent
 * open: peers would not notice the parent's death, and the port of a service point that the parent
 * has freed would stay in use. The child therefore closes them right after the fork. They are
 * marked in a bitmap that is read without a lock. A descriptor is marked after it is opened and
 * unmarked before it is closed, so a marked descriptor always belongs to this library.
 */
#ifndef DOFI_FORKFD_H
#define DOFI_FORKFD_H

#include <stdbool.h>

/* Marks the descriptor unless it is negative, and returns it. */
int dofi_forkfd(int fd);
/* Marks the descriptor. False: already marked, or its number is too large. */
bool dofi_forkfd_claim(int fd);
bool dofi_forkfd_is(int fd);
/* Unmarks a descriptor that other code is about to close. */
void dofi_forkfd_forget(int fd);
/* Unmarks and closes the descriptor. */
void dofi_forkfd_close(int fd);
/* In a forked child: closes all marked descriptors. Async-signal-safe. */
void dofi_forkfd_close_all(void);

#endif
