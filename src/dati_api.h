/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the headers of the API version that is compiled, and defines the results of libdat. */
#ifndef DATI_API_H
#define DATI_API_H

/* Exports what the public headers declare; the rest of libdat is hidden. */
#pragma GCC visibility push(default)

#if DAT_API_MAJOR == 1
#include <dat/udat.h>
#include <dat/dat_registry.h>
#define DATI_LIB "libdat"
/* In no public header, but providers link against it. */
DAT_RETURN dats_get_ia_handle(unsigned long value, DAT_IA_HANDLE *handle);
#elif DAT_API_MAJOR == 2
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#define DATI_LIB "libdat2"
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE value, DAT_IA_HANDLE *handle);
#else
#error "DAT_API_MAJOR must be 1 or 2"
#endif

#pragma GCC visibility pop

#ifndef DAT_API
#define DAT_API
#endif

#define DATI_STR1(x) #x
#define DATI_STR(x) DATI_STR1(x)

/* The registry's word of an object, which the provider may be using for a new one while the handle
 * of the former is used. */
#define DATI_PROVIDER_OF(own) __atomic_load_n((DAT_PROVIDER **)(own), __ATOMIC_RELAXED)

/* The SONAME suffix of a provider library goes with the API version. */
#define DATI_OWN_PROVIDER "libdaplofi.so." DATI_STR(DAT_API_MAJOR)

#define DATI_ERROR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(subtype)))
#define DATI_BAD_ARG(n) DATI_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define DATI_BAD_HANDLE(kind) DATI_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##kind)
#define DATI_NOT_REGISTERED DATI_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED)
#define DATI_NO_MEMORY DATI_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)
#define DATI_NO_CALL DATI_ERROR(DAT_NOT_IMPLEMENTED, 0)
#define DATI_NOT_RUNNING DATI_ERROR(DAT_INVALID_STATE, 0)

#endif /* DATI_API_H */
