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
/* That fabric does not work in programs of 32 bits. */
void dofi_diag_narrow(const char *name);
/* No RDMA device of this name, or none at all (NULL), is ready; `found` lists those that are. */
void dofi_diag_device(const struct dofi_fab *fab, const char *wanted, const char *found);
/* dofi_netif_pick(wanted) gave ret. */
void dofi_diag_address(const char *wanted, int ret);
/* fi_getinfo(hints) gave ret: which of the hints is it, and which fabrics are there? */
void dofi_diag_info(const struct dofi_fab *fab, const struct fi_info *hints, int ret);
/* Opening one of the fabric's objects gave ret. */
void dofi_diag_object(const struct dofi_fab *fab, const char *what, int ret);
/* An IA could not be made for want of a resource that has not been told yet: ret. */
void dofi_diag_open(int ret);
/* The IA of that name and parameters is open: reports if it is not what the name promises. */
void dofi_diag_legacy(const char *name, const char *params, const struct dofi_fab *fab);
/* It is open: settings and parameters that are none, and had no effect. Those that resemble one
 * are errors, for they were meant. Each setting once in this process. */
void dofi_diag_ignored(const char *params);
/* What the IA's entry and the environment asked for; and settings and parameters that are none. */
void dofi_diag_settings(const char *params);

/* Registering memory returned ret. */
void dofi_diag_memory(const struct dofi_fab *fab, uint64_t bytes, int ret);

/* Listening on a port gave ret. Programs look for a free port in this way: the owner is told at
 * level 2; at level 1 only when the process ends and has never found one. */
void dofi_diag_port(uint16_t port, int ret);
void dofi_diag_port_ok(void);

#endif
