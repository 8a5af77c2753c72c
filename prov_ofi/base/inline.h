/* SPDX-License-Identifier: BSD-2-Clause */
/* Hot paths: a part of each caller's own copy, without what cannot concern that caller. */
#ifndef DOFI_BASE_INLINE_H
#define DOFI_BASE_INLINE_H

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
