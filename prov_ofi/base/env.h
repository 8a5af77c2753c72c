/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the environment of a process whose other threads read it while an IA is opened.
 *
 * setenv and unsetenv move and change the array that getenv of another thread traverses, which may
 * crash the process. Here another array replaces it temporarily; neither array is changed or freed.
 */
#ifndef DOFI_ENV_H
#define DOFI_ENV_H

#include <stdbool.h>
#include <stddef.h>

#define DOFI_ENV_MOST 12

struct dofi_env_setting {
	const char *name, *value;
};

/* True in secure execution: the program has privileges that its caller lacks (setuid, setgid, file
 * capabilities), and the environment comes from that caller. */
bool dofi_env_privileged(void);
/* Like getenv; dofi_env_secure: like secure_getenv. */
const char *dofi_env(const char *name);
/* Returns the current environment; former arrays stay readable. */
char **dofi_env_all(void);
const char *dofi_env_secure(const char *name);
/* Overrides up to DOFI_ENV_MOST variables until dofi_env_release. Calls do not nest. False: no
 * memory, nothing changed. The allocated array is kept and reused for the same values while the
 * rest of the environment is unchanged. */
bool dofi_env_hold(const struct dofi_env_setting *settings, size_t n);
/* Does nothing if no override is in effect. */
void dofi_env_release(void);
/* Removes each variable whose name begins with one of these prefixes until the process ends, and
 * calls `removed` for each ("NAME=VALUE"). No override may be in effect. False: no memory, nothing
 * changed. The former array is not freed. */
bool dofi_env_remove(const char *const *prefixes, size_t n, void (*removed)(const char *entry));

#endif
