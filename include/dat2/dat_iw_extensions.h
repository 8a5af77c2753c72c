/* SPDX-License-Identifier: BSD-2-Clause */
/* What iWARP providers offer beyond DAT 2.0. */
#ifndef _DAT_IW_EXTENSIONS_H_
#define _DAT_IW_EXTENSIONS_H_

#include <dat2/udat.h>
#include <dat2/dat_ib_counters.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The twin of dat_ib_extensions.h for IAs that report DAT_EXTENSION_IW. DAT 2.0 fixes only
 * that value and the range of event numbers; the names below are this project's. They
 * cover what iWARP shares with InfiniBand, under the same operation numbers: reading
 * counters. iWARP has no atomics, immediate data or datagrams that a program could
 * ask for here.
 */
#define DAT_IW_EXTENSION_VERSION 1

/* Events. */
typedef enum dat_iw_event_number {
	DAT_IW_DTO_EVENT = DAT_IW_EXTENSION_RANGE_BASE	/* an extended operation has completed */
} DAT_IW_EVENT_NUMBER;

/* Operations of dat_extension_op(). */
typedef enum dat_iw_op {
	DAT_IW_QUERY_COUNTERS_OP = 4,	/* dat_iw_query_counters() */
	DAT_IW_PRINT_COUNTERS_OP = 5	/* dat_iw_print_counters() */
} DAT_IW_OP;

/* See dat_ib_query_counters(). */
#define dat_iw_query_counters(dat_handle, cntr, p_cntrs_out, reset) \
	dat_extension_op((dat_handle), DAT_IW_QUERY_COUNTERS_OP, (int)(cntr), \
			 (DAT_UINT64 *)(p_cntrs_out), (int)(reset))

/* See dat_ib_print_counters(). */
#define dat_iw_print_counters(dat_handle, cntr, reset) \
	dat_extension_op((dat_handle), DAT_IW_PRINT_COUNTERS_OP, (int)(cntr), (int)(reset))

#ifdef __cplusplus
}
#endif

#endif /* _DAT_IW_EXTENSIONS_H_ */
