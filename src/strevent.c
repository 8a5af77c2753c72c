/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates event numbers to names: dat_strevent. */
#include "config.h"

#include "dati_api.h"

#pragma GCC visibility push(default)
#if DAT_API_MAJOR == 1
#include <dat/dat_ofi.h>
#else
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_ofi.h>
#endif
#pragma GCC visibility pop

const char *dat_strevent(DAT_EVENT_NUMBER event_number)
{
	/* The numbers of extensions are no members of the enumeration. */
	switch ((unsigned int)event_number) {
#define EVENT(name) \
	case (unsigned int)(name): \
		return #name;
#include "events.def"
#undef EVENT
	}
	return "DAT_UNKNOWN_EVENT";
}
