/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment of a process whose other threads read it while an adapter is opened.
 *
 * setenv and unsetenv move and change the array that getenv of another thread walks along, which
 * may end the process. Here the array is replaced by another for a while, and neither is changed
 * or freed.
 */
#ifndef DOFI_ENV_H
#define DOFI_ENV_H

#include <stdbool.h>
#include <stddef.h>

#define DOFI_ENV_MOST 12

struct dofi_env_setting {
	const char *name, *value;
};

/* True in secure execution: the program has rights that its caller lacks (setuid, setgid, file
 * capabilities), and the environment is the caller's. */
bool dofi_env_privileged(void);
/* As getenv and secure_getenv. */
const char *dofi_env(const char *name);
/* All of it, as it is now; what it was before stays readable. */
char **dofi_env_all(void);
const char *dofi_env_secure(const char *name);
/* These values (DOFI_ENV_MOST at most) hold until dofi_env_release, whatever the user has set. Not
 * nested. False: no memory, and nothing is changed. What it allocates is kept, and used again for the
 * same values while the rest of the environment is the same. */
bool dofi_env_hold(const struct dofi_env_setting *settings, size_t n);
/* Does nothing if nothing is held. */
void dofi_env_release(void);
/* Removes each variable whose name begins with one of these, for the rest of the process's life,
 * and calls `removed` with each ("NAME=VALUE"). Nothing may be held. False: no memory, and nothing
 * is changed. The former array is not freed. */
bool dofi_env_remove(const char *const *prefixes, size_t n, void (*removed)(const char *entry));

#endif
