/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA reads of soft-iWARP complete once. */
#ifndef DOFI_SIW_READS_H
#define DOFI_SIW_READS_H

#include <stdint.h>

struct device_completion;

/* Returns the number under which a read is to be posted, in the place of its own. */
uint64_t dofi_siw_read_mark(uint64_t id);

/* Gives completions of reads their own numbers back, and removes second ones. Returns how many of
 * the `n` completions are left. */
int dofi_siw_reads_take(struct device_completion *done, int n);

#endif
