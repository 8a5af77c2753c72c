/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the state that tests and the fake provider share. */
#ifndef TEST_FAKE_H
#define TEST_FAKE_H

#include <pthread.h>
#include <stdbool.h>

#include "dat_api.h"

#define FAKE_LOG_LINES 64
#define FAKE_LOG_SIZE 128
#define FAKE_ARGS 13
#define FAKE_ANSWER(slot) (0x80FE0000u | (unsigned int)(slot))

/*
 * Part of the test program, so that it outlives the provider library. The provider logs the calls
 * and behaves as its IA parameters say:
 *
 *   noreg         init does not register
 *   open=<value>  ia_open returns this
 *   close=<value> ia_close returns this
 *   query=<value> ia_query returns this for queries of provider attributes
 *   ver=<m>.<n>   the version in the provider attributes
 *   ts=<0|1>      the thread-safety in the provider attributes
 *   ext           the IA attributes announce extensions
 *   holes         all slots but those of open, close and query are empty
 *   related=<0|1> the result of ia_ha_related; without it the call fails
 *   closed=<0|1>  the result of dapl_ofi_ha_related; without it the call fails
 *   reason=<text> reported as a reason before ia_open fails (underscores become blanks)
 *   keep          fini does not remove the registration
 */
struct fake_state {
	pthread_mutex_t lock;
	char log[FAKE_LOG_LINES][FAKE_LOG_SIZE];
	int lines;
	int inits, finis, opens, closes; /* also counted while the log is off */
	bool log_off;

	/* The last call through one of the table's plain slots. */
	int slot;
	void *handle;
	int num_args;
	unsigned char arg[FAKE_ARGS][16];
	size_t arg_size[FAKE_ARGS];

	/* Called by the provider from inside init, open, query, related, close and fini. */
	void (*hook)(const char *where, const char *name, void *own);
	void *last_own;

	DAT_RETURN open_answer; /* used if the parameters have none */
};

extern struct fake_state fake_state;

#endif /* TEST_FAKE_H */
