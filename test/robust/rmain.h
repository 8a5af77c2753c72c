/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cases need from the watchdog's layer. */
#ifndef RMAIN_H
#define RMAIN_H

#include <stdbool.h>

/* Maps the board that the watchdog made; its descriptor is inherited. */
void rm_map_board(void);
/* Is the case named on the command line, or none at all? */
bool rm_wanted(const char *name);
bool rm_verbose(void);

#endif
