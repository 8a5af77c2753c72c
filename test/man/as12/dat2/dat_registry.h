/* SPDX-License-Identifier: BSD-2-Clause */
/* As udat.h beside it. */
#include <dat/dat_registry.h>
