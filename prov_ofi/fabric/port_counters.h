/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters that the kernel keeps of an adapter's port and device, or of its network interface. */
#ifndef DOFI_PORT_COUNTERS_H
#define DOFI_PORT_COUNTERS_H

#include "fabric/fab.h"

/* DCNT_IA_LNK_* and DCNT_IA_DIAG_*, in their order. */
#define DOFI_PORT_COUNTERS 18

/* Since the interface or the device exists; 0 for what it does not count. */
void dofi_read_port_counters(const struct dofi_fab *fab, uint64_t *to);

#endif
