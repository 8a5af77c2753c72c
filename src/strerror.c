/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates return values to names: dat_strerror. */
#include "config.h"

#include "dati_api.h"
#include "diag.h"

const char *dati_type_name(DAT_RETURN value)
{
	/* 1.2 has class bits in one of its types. */
	switch (value & DAT_TYPE_MASK) {
#define TYPE(name) \
	case (DAT_RETURN)(name)&DAT_TYPE_MASK: \
		return #name;
#define SUBTYPE(name)
#include "strings.def"
#undef TYPE
#undef SUBTYPE
	}
	return "DAT_UNKNOWN_TYPE";
}

/* DAT_NO_SUBTYPE has an empty name. */
const char *dati_subtype_name(DAT_RETURN value)
{
	switch (value & DAT_SUBTYPE_MASK) {
	case DAT_NO_SUBTYPE:
		return "";
#define TYPE(name)
#define SUBTYPE(name) \
	case name: \
		return #name;
#include "strings.def"
#undef TYPE
#undef SUBTYPE
	}
	return "DAT_UNKNOWN_SUBTYPE";
}

/*
 * The original DAT returned DAT_INVALID_PARAMETER for unknown values and left both strings unset,
 * yet programs print the strings without checking the result. So every value has strings here, and
 * the call fails only if the pointer is NULL.
 */
DAT_RETURN DAT_API dat_strerror(DAT_RETURN value, const char **major_message,
				const char **minor_message)
{
	if (!major_message)
		return DATI_BAD_ARG(2);
	*major_message = dati_type_name(value);
	if (minor_message)
		*minor_message = dati_subtype_name(value);
	return DAT_SUCCESS;
}
