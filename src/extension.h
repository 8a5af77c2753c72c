/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares which IAs enable extension calls. Version 2.0 only. */
#ifndef DATI_EXTENSION_H
#define DATI_EXTENSION_H

#include "dati_api.h"

/* Enables extension calls if the provider of a new IA supports any. */
void dati_extension_detect(void *own);

#endif /* DATI_EXTENSION_H */
