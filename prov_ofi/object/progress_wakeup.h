/* SPDX-License-Identifier: BSD-2-Clause */
/* Wakes the progress thread (progress/progress.h). Any lock may be held. */
#ifndef DOFI_PROGRESS_WAKEUP_H
#define DOFI_PROGRESS_WAKEUP_H

#include "object/ia.h"

/* Makes the thread check everything again. */
void dofi_progress_wakeup(struct dofi_ia *ia);
/* True if the caller is the IA's progress thread (a consumer's agent runs in it). */
bool dofi_progress_is_me(struct dofi_ia *ia);
/* A consumer that made progress while it waited returns: the thread must take over soon. */
void dofi_progress_consumer_left(struct dofi_ia *ia);
/* A posted operation is deferred until completions, which its consumer may not poll. */
void dofi_progress_request_deferred(struct dofi_ia *ia);

#endif
