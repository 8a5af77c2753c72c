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

/* Parameters a1..an of given types, and the same list with the first one translated. */
#define P1(t1) t1 a1
#define P2(t1, t2) P1(t1), t2 a2
#define P3(t1, t2, t3) P2(t1, t2), t3 a3
#define P4(t1, t2, t3, t4) P3(t1, t2, t3), t4 a4
#define P5(t1, t2, t3, t4, t5) P4(t1, t2, t3, t4), t5 a5
#define P6(t1, t2, t3, t4, t5, t6) P5(t1, t2, t3, t4, t5), t6 a6
#define P7(t1, t2, t3, t4, t5, t6, t7) P6(t1, t2, t3, t4, t5, t6), t7 a7
#define P8(t1, t2, t3, t4, t5, t6, t7, t8) P7(t1, t2, t3, t4, t5, t6, t7), t8 a8
#define P9(t1, t2, t3, t4, t5, t6, t7, t8, t9) P8(t1, t2, t3, t4, t5, t6, t7, t8), t9 a9
#define P11(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11) \
	P9(t1, t2, t3, t4, t5, t6, t7, t8, t9), t10 a10, t11 a11
#define P12(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12) \
	P11(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11), t12 a12

#define A1 own
#define A2 A1, a2
#define A3 A2, a3
#define A4 A3, a4
#define A5 A4, a5
#define A6 A5, a6
#define A7 A6, a7
#define A8 A7, a8
#define A9 A8, a9
#define A11 A9, a10, a11
#define A12 A11, a12

/* An empty slot of the provider is an unimplemented call. */
#define CALL(n, name, kind, ...) \
	DAT_RETURN DAT_API dat_##name(P##n(__VA_ARGS__)) \
	{ \
		void *own = FIND_##kind(a1); \
		DAT_PROVIDER *provider; \
		\
		if (UNLIKELY(!own)) \
			return BAD_##kind; \
		provider = DAT_HANDLE_TO_PROVIDER(own); \
		if (UNLIKELY(!provider->name##_func)) \
			return DATI_NO_CALL; \
		return provider->name##_func(A##n); \
	}

#include "calls.def"
