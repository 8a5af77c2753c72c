/* SPDX-License-Identifier: BSD-2-Clause */
/* What do iWARP providers offer beyond DAT 2.0? */
#ifndef _DAT_IW_EXTENSIONS_H_
#define _DAT_IW_EXTENSIONS_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_IW_EXTENSION_VERSION 1

/* Extension events of iWARP providers. */
typedef enum dat_iw_event_number {
	DAT_IW_DTO_EVENT = DAT_IW_EXTENSION_RANGE_BASE
} DAT_IW_EVENT_NUMBER;

/* Same numbers as the InfiniBand extension, so that one tool reads both. */
typedef enum dat_iw_op {
	DAT_IW_QUERY_COUNTERS_OP = 4,
	DAT_IW_PRINT_COUNTERS_OP = 5
} DAT_IW_OP;

#define dat_iw_query_counters(dat_handle, cntr, p_cntrs_out, reset) \
	dat_extension_op((dat_handle), DAT_IW_QUERY_COUNTERS_OP, (int)(cntr), \
			 (DAT_UINT64 *)(p_cntrs_out), (int)(reset))

#define dat_iw_print_counters(dat_handle, cntr, reset) \
	dat_extension_op((dat_handle), DAT_IW_PRINT_COUNTERS_OP, (int)(cntr), (int)(reset))

#ifdef __cplusplus
}
#endif

#endif /* _DAT_IW_EXTENSIONS_H_ */
