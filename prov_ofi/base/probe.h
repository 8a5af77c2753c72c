/* SPDX-License-Identifier: BSD-2-Clause */
/* Static probes for bpftrace, SystemTap and perf: one nop each until a tracer attaches.
 *
 * Arguments are values that the code has anyway, so that nothing is computed for a probe. The list
 * for users is man7/dat_probes.7.
 */
#ifndef DOFI_PROBE_H
#define DOFI_PROBE_H

#ifdef DOFI_PROBES
#include <sys/sdt.h>

#define DOFI_PROBE2(name, a, b) DTRACE_PROBE2(dat_ofi, name, a, b)
#define DOFI_PROBE3(name, a, b, c) DTRACE_PROBE3(dat_ofi, name, a, b, c)
#define DOFI_PROBE4(name, a, b, c, d) DTRACE_PROBE4(dat_ofi, name, a, b, c, d)
/* For the hot path: the tracer reads members from memory, so that they do not occupy registers
 * until the probe. */
#define DOFI_PROBE5(name, a, b, c, d, e) \
	do { \
		__asm__ volatile("" ::: "memory"); \
		DTRACE_PROBE5(dat_ofi, name, a, b, c, d, e); \
	} while (0)
#else
#define DOFI_PROBE2(name, a, b) ((void)0)
#define DOFI_PROBE3(name, a, b, c) ((void)0)
#define DOFI_PROBE4(name, a, b, c, d) ((void)0)
#define DOFI_PROBE5(name, a, b, c, d, e) ((void)0)
#endif

#endif
