/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the call that compares two adapters (2.0). */
#ifndef DOFI_HA_RELATED_H
#define DOFI_HA_RELATED_H

#include "object/ia.h"

DAT_RETURN dofi_ia_ha_related(DAT_IA_HANDLE handle, const DAT_NAME_PTR name, DAT_BOOLEAN *answer);

#endif
