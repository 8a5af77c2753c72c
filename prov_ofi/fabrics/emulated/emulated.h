/* SPDX-License-Identifier: BSD-2-Clause */
/* Fabrics whose connected endpoints are this library's (msgep/msgep.h). */
#ifndef DOFI_EMULATED_H
#define DOFI_EMULATED_H

#include "fabric/fab_ops.h"

extern const struct dofi_fabric_ops dofi_emulated_ops;

/* find_address and find_info of struct dofi_fabric_desc, at a network interface. */
int dofi_emulated_address(struct dofi_fab *fab, const char *wanted);
int dofi_emulated_find(struct dofi_fab *fab, const char *wanted);

#endif
