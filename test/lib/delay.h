/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares how long the machine has delayed a process, for time limits that do not count it. */
#ifndef LIB_DELAY_H
#define LIB_DELAY_H

#include <stdint.h>
#include <sys/types.h>

/*
 * The time for which threads of the process could have run and had no processor, in sum, and the
 * time that a hypervisor gave to others; process 0 is the caller. The delays of threads that have
 * ended are lost, so the sum may become smaller.
 */
uint64_t dt_delays_us(pid_t pid);

/* The delays of a process in several looks, including what threads had that have ended, and the
 * process itself, as of the last look. Begins with zeros. */
struct dt_delay_sum {
	uint64_t last, ended;
};
uint64_t dt_delay_sum_us(struct dt_delay_sum *sum, pid_t pid);

#endif
