/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Includes the InfiniBand extension for dat_info --calls, and passes its operations to the libdat
 * of the run. 2.0 only.
 */
#ifndef INFO_CALLS_RUN_IB_H
#define INFO_CALLS_RUN_IB_H

#include "calls_run.h"

/* The header's macros and functions call these. */
#define dat_extension_op (*info_run.dat.dat_extension_op)
#define dat_strerror (*info_run.dat.dat_strerror)
#include <dat2/dat_ib_extensions.h>

/* Calls an operation of the extension and reports its result. */
#define TRY_IB(op, ...) info_run_result(#op, NULL, op(__VA_ARGS__))
#define TRY_IB_USE(op, use, ...) info_run_result(#op, use, op(__VA_ARGS__))

/* The completion of an operation of the extension, likewise that of a DTO. */
bool info_run_ib_dto(DAT_EVD_HANDLE evd, DAT_EVENT *event, DAT_IB_EXTENSION_EVENT_DATA *ext);
void info_run_counters(const struct info_run_end *end);
void info_run_open_query(void);

#endif
