/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the parts of dat_run share. */
#ifndef RUN_H
#define RUN_H

#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define RUN_MAX_FABRICS 32
#define RUN_MAX_PATTERNS 16
#define RUN_MAX_REPEAT 10000
#define RUN_REASON 512
#define RUN_PARAMS 1024

enum { RUN_ALL_PASSED = 0, RUN_SOME_FAILED = 1, RUN_USAGE = 2, RUN_ALL_SKIPPED = 77 };

struct run_fabric {
	char name[64];
	char params[RUN_PARAMS]; /* for the provider, as in dat.conf */
};

struct run_patterns {
	regex_t re[RUN_MAX_PATTERNS];
	const char *text[RUN_MAX_PATTERNS];
	size_t count;
};

enum run_format { RUN_TABLE, RUN_TAP, RUN_JSON };

struct run_options {
	struct run_fabric fabric[RUN_MAX_FABRICS];
	size_t fabrics;
	bool list;
	char **command;
	const char *server; /* a shell command, NULL without */
	const char *ready;  /* the text that it prints when ready */
	unsigned int port;  /* or the port that it listens on when ready */
	double wait_s;      /* or the seconds until ready; negative: not given */
	double ready_limit, limit, grace;
	bool server_quits;
	struct run_patterns expect, reject, server_expect, server_reject, ignore;
	bool compare, show, no_skip;
	unsigned int repeat;
	const char *out, *junit, *libdir;
	enum run_format format;
};

/* The paths of the libraries, indexed by API version - 1; empty: not found. */
struct run_libs {
	char libdat[2][PATH_MAX];
	char provider[2][PATH_MAX];
};

enum run_verdict { RUN_PASS, RUN_FAIL, RUN_SKIP };

/* One run of the command over one fabric. */
struct run_trial {
	const struct run_fabric *fabric;
	unsigned int number; /* 1 to repeat */
	char name[96];       /* of its row and folder: tcp, or tcp.2 */
	char dir[PATH_MAX - 64];
	pid_t pids[2]; /* of client and server; normalised by compare.c */
	enum run_verdict verdict;
	char reason[RUN_REASON];
	double seconds;
	bool ran;
};

#define RUN_CLIENT_LOG "client.log"
#define RUN_SERVER_LOG "server.log"
#define RUN_CONF "dat.conf"
#define RUN_NORMAL "client.normal"
#define RUN_DIFF "compare.diff"

/* options.c: exits with RUN_USAGE, or 0 after --help. */
void run_options_parse(struct run_options *opts, int argc, char **argv);
__attribute__((noreturn, format(printf, 1, 2))) void run_usage(const char *format, ...);

/* fabric.c: parses -f. */
void run_fabric_add(struct run_options *opts, const char *text);
void run_fabric_add_all(struct run_options *opts);
const char *run_fabric_about(const char *name);

/* library.c: false, with a reason, when no pair of libdat and provider was found. */
bool run_libs_find(struct run_libs *libs, const char *libdir, char *reason, size_t size);

/* place.c: the registry of a run, and the environment of what is started in it. */
int run_place_make(struct run_trial *trial, const struct run_libs *libs);
void run_place_enter(const struct run_trial *trial, const struct run_libs *libs);
void run_path(char *path, size_t size, const struct run_trial *trial, const char *file);

/* probe.c: true if the fabric opens here; otherwise `reason` is set. */
bool run_probe(struct run_trial *trial, const struct run_libs *libs, char *reason, size_t size);

/* trial.c */
void run_trial(struct run_trial *trial, const struct run_options *opts,
	       const struct run_libs *libs);

/* judge.c: both leave `reason` empty on success. */
void run_judge_status(int status, char *reason, size_t size);
void run_judge_output(const struct run_patterns *expect, const struct run_patterns *reject,
		      const char *path, char *reason, size_t size);

/* compare.c: makes a trial that passed fail if its output differs from that of `base`. */
void run_compare(struct run_trial *trial, const struct run_trial *base,
		 const struct run_options *opts);

/* report.c, machine.c */
struct run_result {
	const struct run_options *opts;
	const struct run_trial *trials;
	size_t count; /* of trials, ended or not */
	unsigned int passed, failed, skipped;
	double seconds;
};
void run_report_begin(const struct run_result *result);
void run_report_running(const struct run_result *result, size_t index);
void run_report_trial(const struct run_result *result, size_t index);
void run_report_end(const struct run_result *result, const char *kept);
void run_report_json(const struct run_result *result, FILE *out, const char *kept);
bool run_report_junit(const struct run_result *result);
const char *run_verdict_name(enum run_verdict verdict);

#endif
