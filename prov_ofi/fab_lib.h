/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading libfabric without letting it take the program's signals. */
#ifndef DOFI_FAB_LIB_H
#define DOFI_FAB_LIB_H

/* Loads libfabric once and keeps it. The actions of all signals are remembered before, and
 * dofi_lib_signals_restore() must follow, after the first calls into it, success or not. */
int dofi_lib_load(void);
void dofi_lib_signals_restore(void);

#endif
