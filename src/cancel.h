/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps cancellation of the calling thread out of calls that hold locks or load libraries. */
#ifndef DATI_CANCEL_H
#define DATI_CANCEL_H

#include <pthread.h>

static inline int dati_cancel_disable(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void dati_cancel_restore(const int *state)
{
	pthread_setcancelstate(*state, NULL);
}

/* From the declaration to the end of the block. */
#define DATI_NO_CANCEL() \
	__attribute__((cleanup(dati_cancel_restore), unused)) int no_cancel_ = dati_cancel_disable()

#endif
