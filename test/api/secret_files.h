/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with secrets ("good", "same" and "other"), and logs of the processes that use them. */
#ifndef SECRET_FILES_H
#define SECRET_FILES_H

#include <stdbool.h>

/* Creates them for the current case; they are removed with its process. */
void secret_files(void);
/* Sets the secret of this process (NULL: none) and its log file. */
void secret_choose(const char *secret, const char *log);
bool secret_log_says(const char *log, const char *words);

#endif
