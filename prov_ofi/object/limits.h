/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of one IA, reported by dat_ia_query and enforced by the calls. */
#ifndef DOFI_LIMITS_H
#define DOFI_LIMITS_H

#include "object/lmr_table.h"

#define DOFI_MAX_EPS 65536
#define DOFI_MAX_DTOS 65536 /* outstanding per EP and direction */
#define DOFI_MAX_EVDS 65536
#define DOFI_MAX_EVD_QLEN (1 << 20)
#define DOFI_MAX_PZS 65536
#define DOFI_MAX_LMRS ((DAT_COUNT)DOFI_LMR_MAX)
#define DOFI_MAX_READS 4096 /* RDMA reads per EP and direction */
#define DOFI_MAX_MESSAGE 0x80000000u
#define DOFI_MAX_SRQS 65536
#define DOFI_MAX_SRQ_DTOS 65536
#define DOFI_DEFAULT_DTOS 16
#define DOFI_DEFAULT_IOV 4
#define DOFI_DEFAULT_READS 4

#endif
