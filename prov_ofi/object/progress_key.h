/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of the progress thread's epoll set: each combines an object and its kind. */
#ifndef DOFI_PROGRESS_KEY_H
#define DOFI_PROGRESS_KEY_H

#include <stdint.h>

enum dofi_key {
	DOFI_KEY_EVD,
	DOFI_KEY_EQ,
	DOFI_KEY_WAKEUP,
	DOFI_KEY_TIMER,  /* a period of the consumers' lease is over */
	DOFI_KEY_OUTAGE, /* changes of addresses and interfaces (cm/outage.h) */
	DOFI_KEY_UD,     /* socket of a datagram endpoint (object/ud.h) */
	DOFI_KEY_AMO,    /* sockets of software atomic operations (object/amo.h) */
	DOFI_KEY_AMO_LISTENER,
};

/* What epoll returns for an object (all are aligned to 8). */
static inline uint64_t dofi_progress_key(void *obj, enum dofi_key kind)
{
	return (uint64_t)(uintptr_t)obj | kind;
}

#endif
