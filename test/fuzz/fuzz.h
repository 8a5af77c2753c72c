/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface of a fuzz target, as libFuzzer names it. */
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

/* What has to be so whatever the input: else the target has found something. */
#define MUST(cond_) must(!!(cond_), #cond_)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
