/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How does a child process tell what it found out?
 *
 * One fact per line on a pipe: kind, group, name, value, with a tab between them. The parent takes
 * whatever came before the child ended, in whatever way it ended.
 */
#ifndef INFO_TELL_H
#define INFO_TELL_H

#include <stdbool.h>
#include <stdint.h>

/* Called once in the child. */
void info_tell_to(int fd);

void info_tell(const char *group, const char *name, const char *value);
void info_tell_number(const char *group, const char *name, uint64_t value);
/* Signed ones, where -1 means "no limit" or "none". */
void info_tell_count(const char *group, const char *name, int64_t value);
void info_tell_flag(const char *group, const char *name, bool value);

#define INFO_TELL_TEXT 's'
#define INFO_TELL_NUMBER 'n'
#define INFO_TELL_FLAG 'b'

#endif
