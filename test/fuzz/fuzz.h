/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the interface of a fuzz target, with the names of libFuzzer. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}

/* An invariant that must hold for all inputs. */
#define MUST(cond_) must(!!(cond_), #cond_)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
