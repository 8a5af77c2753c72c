/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares how tests run the player and check its output. */
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

/*
 * Set for the next run: a registry file, environment variables, a function called in the child
 * before exec.
 */
void set_conf(const char *text);
const char *conf_path(void);
void set_env(const char *name, const char *value);
void set_child_hook(void (*change)(void));
/* Runs the program itself instead of libtool's script, with this library path. */
void set_library_path(const char *path);

/* Runs another program instead of the player. */
void set_program(const char *path);

/* A temporary directory of the test. */
const char *work_dir(void);

/* Runs the player and captures its stderr; returns its exit status. */
int run_player(const char *part, ...) __attribute__((sentinel));
const char *player_output(void);
/* Fails, and prints the output, unless the output contains the text. */
void expect_output(const char *text);
void expect_not_in_output(const char *text);
void expect_no_output(void);
int count_output_lines(void);
/* Replaces the captured output by the contents of a file. */
void read_output_file(const char *path);

#endif
