/* SPDX-License-Identifier: BSD-2-Clause */
/* Hints to the compiler and the processor on hot paths. */
#ifndef DOFI_BASE_INLINE_H
#define DOFI_BASE_INLINE_H

/* Forces inlining: each caller gets a copy specialised for its constant arguments. */
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

/* Executes nothing that follows until all earlier loads have completed. A load of what another
 * processor has just stored takes long. Meanwhile the processor would execute, on trial, the return
 * to the caller and its next calls, as usual when nothing has been stored; undoing that took 3 to
 * 10 ns of each message. */
static inline void dofi_await_loads(void)
{
#ifdef __SSE2__
	__builtin_ia32_lfence();
#endif
}

#endif
