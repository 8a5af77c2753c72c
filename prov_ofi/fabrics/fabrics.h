/* SPDX-License-Identifier: BSD-2-Clause */
/* The fabrics: selects and opens that of an IA; their names; compares the adapters of two. */
#ifndef DOFI_FABRICS_H
#define DOFI_FABRICS_H

#include "fabric/fab.h"

/* params: "provider=tcp domain=eth0", or the "device port" pairs of old registry files.
 * Reasons of a failure go to dofi_report. 0 or a negative error. */
int dofi_fab_open(struct dofi_fab *fab, const char *params);
/* Sets what dofi_fab_open would choose (desc, netdev, device), and reports nothing. Call
 * dofi_fab_close whatever it returns. 0, or a negative error; then `desc` is the fabric that the
 * parameters name, or NULL. */
int dofi_fab_select(struct dofi_fab *fab, const char *params);
/* True if connections between adapters of these fabrics are possible. */
bool dofi_fab_connects(const struct dofi_fab *a, const struct dofi_fab *b);
/* True if they also use the same interface and device, or both the memory of this host. */
bool dofi_fab_related(const struct dofi_fab *a, const struct dofi_fab *b);
/* The fabric of that wire id, "unknown" if this library has none. */
const char *dofi_fab_name(uint8_t wire_id);

#endif
