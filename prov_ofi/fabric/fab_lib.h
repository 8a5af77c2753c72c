/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libfabric without letting it replace the program's signal handlers. */
#ifndef DOFI_FAB_LIB_H
#define DOFI_FAB_LIB_H

#include <stddef.h>

/* Number of peers for which the completion queue of an rxm endpoint over an RDMA device has
 * room. */
#define DOFI_LIB_PEERS "240"

/* Loads libfabric once and keeps it. The actions of all signals are saved before;
 * dofi_lib_signals_restore() must follow the first calls into it, whether or not they succeed. */
int dofi_lib_load(void);
/* The size up to which an endpoint of rxm whose buffers have that size copies messages. */
size_t dofi_lib_rxm_limit(size_t buffer);
void dofi_lib_signals_restore(void);

#endif
