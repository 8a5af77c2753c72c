/* SPDX-License-Identifier: BSD-2-Clause */
/* Edit distance between two names, for "did you mean". */
#ifndef DOFI_EDIT_DISTANCE_H
#define DOFI_EDIT_DISTANCE_H

/* Letters to add, drop or replace, upper and lower case alike; names longer than 63 letters are
 * cut off. */
unsigned int dofi_edit_distance(const char *a, const char *b);

#endif
