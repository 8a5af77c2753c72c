/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with secrets ("good", "same" and "other"), and logs of the processes that use them. */
#ifndef SECRET_FILES_H
#define SECRET_FILES_H

#include <stdbool.h>

/* Makes them for the case that runs; they go with its process. */
void secret_files(void);
/* This process's secret (NULL: none), and where it writes its log. */
void secret_choose(const char *secret, const char *log);
bool secret_log_says(const char *log, const char *words);

#endif
