/* SPDX-License-Identifier: BSD-2-Clause */
/* Running the player and looking at what it was told. */
#ifndef DIAG_RUN_H
#define DIAG_RUN_H

#include "../lib/harness.h"

#if DAT_TEST_API == 12
#define V "1.2"
#define LIB "libdat"
#define SOVERSION "1"
#else
#define V "2.0"
#define LIB "libdat2"
#define SOVERSION "2"
#endif

/* One entry of a registry file for the provider of this build tree. */
#define LINE(name, params) \
	name " u" V " nonthreadsafe default " TEST_PROVIDER " dapl." V " \"" params "\" \"\"\n"

/* What the next run gets: a registry file, variables of the environment, a change of the child
 * before the program starts. */
void give_conf(const char *text);
const char *conf_path(void);
void give_env(const char *name, const char *value);
void give_change(void (*change)(void));
/* The program itself instead of libtool's script, with this search path for libraries. */
void give_path(const char *path);

/* Another program than the player. */
void give_program(const char *path);

/* A directory of the test's own. */
const char *work_dir(void);

/* Runs the player; its exit status. What it wrote to stderr is kept. */
int play(const char *part, ...) __attribute__((sentinel));
const char *told(void);
/* Fails, and shows everything, unless the text is there. */
void must_say(const char *text);
void must_not_say(const char *text);
void must_be_silent(void);
int lines_told(void);
/* The whole of a file takes the place of what was told. */
void read_instead(const char *path);

#endif
