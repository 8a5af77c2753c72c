/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the functions of the watchdog that the driver uses. */
#ifndef RMAIN_H
#define RMAIN_H

#include <stdbool.h>

/* Maps the board that the watchdog made; its descriptor is inherited. */
void rm_map_board(void);
/* True if the command line names the case, or no case. */
bool rm_wanted(const char *name);
bool rm_verbose(void);

#endif
