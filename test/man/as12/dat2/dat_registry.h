/* SPDX-License-Identifier: BSD-2-Clause */
/* As udat.h in this directory. */
#include <dat/dat_registry.h>
