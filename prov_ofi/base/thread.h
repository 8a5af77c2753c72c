/* SPDX-License-Identifier: BSD-2-Clause */
/* What the calling thread is. */
#ifndef DOFI_THREAD_H
#define DOFI_THREAD_H

#include <stdbool.h>

/* True in progress threads: such a thread polls a queue again later, unless the queue permits
 * that it sleeps. */
extern _Thread_local bool dofi_thread_is_progress;

#endif
