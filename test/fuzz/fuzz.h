/* SPDX-License-Identifier: BSD-2-Clause */
/* What does a fuzz target offer? Named by libFuzzer. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
