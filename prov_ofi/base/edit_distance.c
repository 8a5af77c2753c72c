/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the edit distance between two names. */
#include <ctype.h>
#include <string.h>

#include "base/edit_distance.h"

#define MOST 63

static unsigned int edit_distance_min(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int min = a < b ? a : b;

	return min < c ? min : c;
}

unsigned int dofi_edit_distance(const char *a, const char *b)
{
	size_t la = strnlen(a, MOST), lb = strnlen(b, MOST), i, j;
	unsigned int row[MOST + 1];

	for (j = 0; j <= lb; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= la; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (j = 1; j <= lb; j++) {
			unsigned int above = row[j];
			unsigned int other = tolower((unsigned char)a[i - 1]) !=
					     tolower((unsigned char)b[j - 1]);

			row[j] = edit_distance_min(above + 1, row[j - 1] + 1, diagonal + other);
			diagonal = above;
		}
	}
	return row[lb];
}
