/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that makes progress when no consumer does.
 *
 * Each IA has one. It sleeps in epoll on the event queue, on the sockets of connections (to see
 * peers go), on a wakeup, and on the completion queues that no consumer reads. A CQ that a
 * consumer reads is left out ("consumer_polled"), since a second thread woken by the same descriptor would
 * double the latency; it is looked at every tick until the consumer stays away.
 */
#ifndef DOFI_PROGRESS_H
#define DOFI_PROGRESS_H

#include "object/evd.h"
#include "progress/progress_key.h"

/* What others need to be able to ring and to watch; the thread is started last. */
int dofi_progress_open(struct dofi_ia *ia);
void dofi_progress_close(struct dofi_ia *ia);
int dofi_progress_start(struct dofi_ia *ia);
/* The thread is gone when this returns. Not from within the thread. */
void dofi_progress_stop(struct dofi_ia *ia);
/* From within the thread: it ends when what it is at has returned, and then calls `end`. */
void dofi_progress_detach(struct dofi_ia *ia, void (*end)(struct dofi_ia *ia));
/* Wakes the thread so that it looks at everything anew. Any lock may be held. */
void dofi_progress_wakeup(struct dofi_ia *ia);
/* Is this the progress thread of the IA (a consumer's agent runs in it)? */
bool dofi_progress_is_me(struct dofi_ia *ia);
void dofi_progress_add_evd(struct dofi_evd *evd);
void dofi_progress_remove_evd(struct dofi_evd *evd);
/* A consumer that made progress while it waited goes away: somebody else has to soon. */
void dofi_progress_consumer_left(struct dofi_ia *ia);
/* Something that was posted has to wait for completions, and its consumer may not look at them. */
void dofi_progress_request_deferred(struct dofi_ia *ia);

#endif
