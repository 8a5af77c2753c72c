/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares a writer of JSON on stdout, one member per line. A NULL name stands for an element of
 * an array.
 */
#ifndef INFO_JSON_H
#define INFO_JSON_H

#include <stdbool.h>
#include <stdint.h>

void json_object(const char *name);
void json_array(const char *name);
void json_end(void); /* of the innermost object or array */

void json_text(const char *name, const char *value); /* NULL: null */
void json_number(const char *name, int64_t value);
void json_flag(const char *name, bool value);
void json_raw(const char *name, const char *value); /* already JSON */

#endif
