/* SPDX-License-Identifier: BSD-2-Clause */
/* The fabrics: selects and opens that of an IA; their names. */
#ifndef DOFI_FABRICS_H
#define DOFI_FABRICS_H

#include "fabric/fab.h"

/* params: "provider=tcp domain=eth0", or the "device port" pairs of old registry files.
 * Reasons of a failure go to dofi_report. 0 or a negative error. */
int dofi_fab_open(struct dofi_fab *fab, const char *params);
/* The fabric of that wire id, "unknown" if this library has none. */
const char *dofi_fab_name(uint8_t wire_id);

#endif
