/* SPDX-License-Identifier: BSD-2-Clause */
/* Edit distance between two names, for "did you mean". */
#ifndef DOFI_EDIT_DISTANCE_H
#define DOFI_EDIT_DISTANCE_H

/* Counts letters to add, remove or replace, ignoring case; compares at most 63 letters of each
 * name. */
unsigned int dofi_edit_distance(const char *a, const char *b);

#endif
