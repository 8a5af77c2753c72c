/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps cancellation of the calling thread (pthread_cancel) out of code that holds locks.
 *
 * System calls through the C library are cancellation points, and a thread that is cancelled in one
 * never releases the locks that it holds. Calls off the data path are guarded as a whole
 * (api/cancel_guard.c), calls on it only where they enter the kernel. Waits lift the guard while
 * they sleep.
 */
#ifndef DOFI_CANCEL_H
#define DOFI_CANCEL_H

#include <pthread.h>

/* Returns the state to restore. */
static inline int dofi_cancel_disable(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void dofi_cancel_restore(const int *state)
{
	pthread_setcancelstate(*state, NULL);
}

/* Disables cancellation from the declaration to the end of the block. */
#define DOFI_NO_CANCEL() \
	__attribute__((cleanup(dofi_cancel_restore), unused)) int no_cancel_ = dofi_cancel_disable()

#endif
