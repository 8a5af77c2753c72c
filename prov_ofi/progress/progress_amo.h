/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread's part in software atomic operations. Caller holds prog_lock. */
#ifndef DOFI_PROGRESS_AMO_H
#define DOFI_PROGRESS_AMO_H

#include "object/ia.h"

/* The sockets, or the listener, are readable. */
void dofi_progress_amo_ready(struct dofi_ia *ia);
void dofi_progress_amo_accept(struct dofi_ia *ia);
/* Checks once per round what the thread has left to others, or to later. Returns how long it may
 * sleep, in ms, at most `ms` (-1: no limit). */
int dofi_progress_check_amo(struct dofi_ia *ia, int ms);

#endif
