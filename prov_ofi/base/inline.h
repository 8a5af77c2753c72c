/* SPDX-License-Identifier: BSD-2-Clause */
/* Forces inlining on hot paths: each caller gets a copy specialised for its constant arguments. */
#ifndef DOFI_BASE_INLINE_H
#define DOFI_BASE_INLINE_H

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
