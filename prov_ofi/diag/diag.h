/* SPDX-License-Identifier: BSD-2-Clause */
/* Error messages for users: cause and remedy.
 *
 * Reasons why an IA cannot be opened go to dofi_report; the line that begins with "try: " is the
 * remedy, which the registry library prints last. What fails later goes to the log.
 */
#ifndef DOFI_DIAG_H
#define DOFI_DIAG_H

#include <stdint.h>

#include "fabric/fab.h"

/* No fabric of this name in the table; `known` lists those that are. */
void dofi_diag_fabric(const char *name, const char *known, const char *first);
/* No RDMA device of this name, or none at all (NULL), is ready; `found` lists those that are. */
void dofi_diag_device(const struct dofi_fab *fab, const char *wanted, const char *found);
/* dofi_netif_pick(wanted) returned ret. */
void dofi_diag_address(const char *wanted, int ret);
/* fi_getinfo(hints) returned ret: reports the hint that fails, and the fabrics that exist. */
void dofi_diag_info(const struct dofi_fab *fab, const struct fi_info *hints, int ret);
/* Opening one of the fabric's objects returned ret. */
void dofi_diag_object(const struct dofi_fab *fab, const char *what, int ret);
/* Creating what an IA has besides its fabric returned ret. */
void dofi_diag_open(int ret);
/* Opening its fabric returned ret, which has been reported: reports the limit that was exceeded. */
void dofi_diag_fabric_limit(int ret);
/* Call for each IA that is open: logs if a legacy name stands for a device and none is used. */
void dofi_diag_legacy(const char *name, const char *params, const struct dofi_fab *fab);
/* Call for each IA that is open: logs unknown settings, once per process, and unknown parameters;
 * as errors if they resemble a known name. */
void dofi_diag_ignored(const char *params);
/* Reports what the IA's entry and the environment request, and unknown settings and parameters. */
void dofi_diag_settings(const char *params);

/* Registering memory returned ret. */
void dofi_diag_memory(const struct dofi_fab *fab, uint64_t bytes, int ret);

/* Listening on a port returned ret. Programs search for a free port in this way: the owner is
 * logged at level 2, and at level 1 only when the process exits and has never found a free one. */
void dofi_diag_port(uint16_t port, int ret);
void dofi_diag_port_ok(void);

#endif
