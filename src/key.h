/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares how keys of the registry are made and compared. */
#ifndef DATI_KEY_H
#define DATI_KEY_H

#include <stdbool.h>
#include <string.h>

#include "dati_api.h"

static inline bool dati_key_equal(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       a->is_thread_safe == b->is_thread_safe && !strcmp(a->ia_name, b->ia_name);
}

/*
 * `name` is shorter than the member; the rest of the member is zeroed, since keys are copied
 * whole.
 */
static inline void dati_key_set(DAT_PROVIDER_INFO *key, const char *name, DAT_UINT32 major,
				DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
	strncpy(key->ia_name, name, sizeof(key->ia_name) - 1);
	key->ia_name[sizeof(key->ia_name) - 1] = '\0';
	key->dapl_version_major = major;
	key->dapl_version_minor = minor;
	key->is_thread_safe = thread_safe;
}

#endif /* DATI_KEY_H */
