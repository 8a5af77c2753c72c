/* SPDX-License-Identifier: BSD-2-Clause */
/* Forces inlining on hot paths: each caller gets a copy specialised for its constant arguments. */
#ifndef DOFI_BASE_INLINE_H
#define DOFI_BASE_INLINE_H

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Tells the compiler which branch is the hot path: the other one is moved out of it, and does not
 * decide which registers a function saves. */
#define DOFI_LIKELY(x) __builtin_expect(!!(x), 1)
#define DOFI_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The same value, which the compiler does not know: it computes again what it has derived from the
 * former one, rather than keep it in a register that a function with calls has to save. */
#define DOFI_FRESH(x) \
	({ \
		__typeof__(x) fresh_ = (x); \
		__asm__("" : "+r"(fresh_)); \
		fresh_; \
	})

#endif
