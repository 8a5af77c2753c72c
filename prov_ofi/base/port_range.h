/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports that this library may choose for what it listens on (DAPL_OFI_PORT_RANGE). */
#ifndef DOFI_PORT_RANGE_H
#define DOFI_PORT_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* The ports of the setting, each once, from another one on each time; without the setting only 0,
 * which stands for the kernel's choice. */
struct dofi_ports {
	uint32_t first, n, at, left;
};

void dofi_ports_begin(struct dofi_ports *ports);
/* False: there is no further port. */
bool dofi_ports_next(struct dofi_ports *ports, uint16_t *port);
/* True if err (negative) means that another port may be free. */
bool dofi_ports_is_taken(int err);
/* What has failed if none of the setting's ports is free; see dofi_diag_object. */
#define DOFI_PORTS_SEARCH "finding a free port in DAPL_OFI_PORT_RANGE"
/* True if the search ended with `err` because the setting has no free port. */
bool dofi_ports_exhausted(const struct dofi_ports *ports, int err);

#endif
