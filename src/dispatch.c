/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes calls of the API to the provider's functions. */
#include "config.h"

#include "dati_api.h"
#include "iatable.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * No object lies in the first page: one comparison rejects NULL and IA numbers passed in place of
 * an object. All other handles are validated by the provider.
 */
#define NO_OBJECT(handle) UNLIKELY((uintptr_t)(handle) < 4096)

/* The kind of the first handle selects its translation and its error subtype. */
#define BAD_ANY DATI_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
#define BAD_IA DATI_BAD_HANDLE(IA)
#define BAD_EP DATI_BAD_HANDLE(EP)
#define BAD_LMR DATI_BAD_HANDLE(LMR)
#define BAD_RMR DATI_BAD_HANDLE(RMR)
#define BAD_PZ DATI_BAD_HANDLE(PZ)
#define BAD_PSP DATI_BAD_HANDLE(PSP)
#define BAD_RSP DATI_BAD_HANDLE(RSP)
#define BAD_CSP DATI_BAD_HANDLE(CSP)
#define BAD_CR DATI_BAD_HANDLE(CR)
#define BAD_CNO DATI_BAD_HANDLE(CNO)
#define BAD_SRQ DATI_BAD_HANDLE(SRQ)
#define BAD_EVD DATI_BAD_HANDLE(EVD_REQUEST)

#define FIND_IA(h) dati_ia_own(h)
#define FIND_ANY(h) find_any(h)
#define FIND_OBJECT(h) (NO_OBJECT(h) ? NULL : (h))
#define FIND_EP(h) FIND_OBJECT(h)
#define FIND_LMR(h) FIND_OBJECT(h)
#define FIND_RMR(h) FIND_OBJECT(h)
#define FIND_PZ(h) FIND_OBJECT(h)
#define FIND_PSP(h) FIND_OBJECT(h)
#define FIND_RSP(h) FIND_OBJECT(h)
#define FIND_CSP(h) FIND_OBJECT(h)
#define FIND_CR(h) FIND_OBJECT(h)
#define FIND_CNO(h) FIND_OBJECT(h)
#define FIND_SRQ(h) FIND_OBJECT(h)
#define FIND_EVD(h) FIND_OBJECT(h)

static inline void *find_any(DAT_HANDLE handle)
{
	void *own = dati_ia_own(handle);

	return own ? own : FIND_OBJECT(handle);
}

#define A1 own
#include "call_params.h"

/* An empty slot of the provider is an unimplemented call. */
#define CALL(n, name, kind, ...) \
	DAT_RETURN DAT_API dat_##name(P##n(__VA_ARGS__)) \
	{ \
		void *own = FIND_##kind(a1); \
		DAT_PROVIDER *provider; \
\
		if (UNLIKELY(!own)) \
			return BAD_##kind; \
		provider = DATI_PROVIDER_OF(own); \
		if (UNLIKELY(!provider->name##_func)) \
			return DATI_NO_CALL; \
		return provider->name##_func(A##n); \
	}

#include "calls.def"
