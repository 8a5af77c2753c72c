/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress thread: makes progress when no consumer does.
 *
 * Each IA has one. It blocks in epoll on the event queue, on a wakeup descriptor, on the sockets of
 * datagram endpoints, on a timer, and on the completion queues that it does not leave to consumers
 * (progress_cq.c).
 */
#ifndef DOFI_PROGRESS_H
#define DOFI_PROGRESS_H

#include "object/ia.h"
#include "object/progress_key.h"

/* Creates the descriptors that wakeups and watching need; the thread is started last. */
int dofi_progress_open(struct dofi_ia *ia);
void dofi_progress_close(struct dofi_ia *ia);
int dofi_progress_start(struct dofi_ia *ia);
/* Stops and joins the thread. Must not be called by the thread itself. */
void dofi_progress_stop(struct dofi_ia *ia);
/* Called by the thread itself: it exits after the current round, and then calls `end`. */
void dofi_progress_detach(struct dofi_ia *ia, void (*end)(struct dofi_ia *ia));
/* Executes the deferred work (object/deferred_work.h). */
void dofi_progress_run_deferred(struct dofi_ia *ia);

#endif
