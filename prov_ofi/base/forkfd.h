/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that a forked child must not keep.
 *
 * A child that neither executes another program nor ends would keep the sockets of its parent
 * open: peers would not notice the parent's death, and the number of a service point that the
 * parent has freed would stay taken. So the child closes them as soon as it is born. They are
 * marked in a bitmap, which is read without a lock. A descriptor is marked after it has been
 * opened and unmarked before it is closed: one that is marked is ours.
 */
#ifndef DOFI_FORKFD_H
#define DOFI_FORKFD_H

#include <stdbool.h>

/* Marks it, unless it is negative, and returns it. */
int dofi_forkfd(int fd);
/* Marks it. False: it had been marked, or its number is too large. */
bool dofi_forkfd_claim(int fd);
bool dofi_forkfd_is(int fd);
/* It is about to be closed by somebody else. */
void dofi_forkfd_forget(int fd);
/* Unmarks and closes it. */
void dofi_forkfd_close(int fd);
/* In a forked child: closes all that are marked. Safe where only functions are allowed that may be
 * called in signal handlers. */
void dofi_forkfd_close_all(void);

#endif
