/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the framework for tests of several processes.
 *
 * A program runs in three layers. The watchdog writes a dat.conf that names the libraries of the
 * build tree, starts the program again with it in its own process group, and kills that
 * group at the time limit. The driver runs the cases. Each case starts its processes
 * (players), which make the checks and communicate through the board, a shared memory segment.
 *
 * Environment: DAT_TEST_FABRIC names the fabric, DAT_TEST_PARAMS gives other IA parameters (see
 * test/fabrics/fabrics.h), DAT_TEST_LONG multiplies the length of the long tests,
 * DAT_TEST_STACKS=1 prints the stacks of players at the time limit.
 */
#ifndef RLIB_H
#define RLIB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RL_PLAYERS 512
#define RL_STEPS 16
#define RL_IA "robust"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RL_SANITIZED 1
#endif
#endif
#ifndef RL_SANITIZED
#define RL_SANITIZED 0
#endif

struct rl_player {
	char name[24];
	char activity[72]; /* what it is doing, for reports of a timeout */
	_Atomic pid_t pid;
	bool victim; /* its death is not a failure */
	bool ended;
};

struct rl_board {
	_Atomic int passed, failed, skipped;
	_Atomic int has_failed; /* a player writes `reason` */
	_Atomic int has_reason; /* `reason` is complete */
	char reason[320];
	_Atomic int step[RL_STEPS];
	_Atomic uint64_t t0; /* time of the event under test, rl_now() */
	struct rl_player player[RL_PLAYERS];
	int players;
	/* Data that players exchange. */
	uint64_t qual;
	unsigned char addr[128];
	uint64_t va[4];
	uint32_t rctx[4];
	_Atomic uint64_t value[32];
	char text[8][96];
};

extern struct rl_board *rl_board;

/* Runs `run` as the driver within `limit` seconds; the value is the program's exit status. */
int rl_main(int argc, char **argv, unsigned int limit, void (*run)(void));
/* True if the program has this argument, "NAME" or "NAME=VALUE". */
bool rl_option(const char *name, long *value);
/* Maps the board of the driver that executed this program as a player (rl_exec). */
void rl_attach(void);
/* Length factor of DAT_TEST_LONG, at least 1. */
unsigned int rl_long(void);

/* Cases. False: not selected on the command line; do not start players. */
bool rl_begin(const char *name, unsigned int limit_ms);
pid_t rl_start(const char *name, void (*play)(void *), void *arg);
/* Like rl_start, for a player that will be killed. */
pid_t rl_start_victim(const char *name, void (*play)(void *), void *arg);
/*
 * Exits the calling player with success, without a leak check: for players that use libfabric
 * directly.
 */
void rl_exit_success(void) __attribute__((noreturn));
/* Replaces the calling player by another program, which calls rl_attach. */
void rl_exec(const char *path, const char *arg) __attribute__((noreturn));
/* Waits for the players and prints the verdict; true when it is "ok". */
bool rl_end(void);
/*
 * Marks the current case as known to fail over this fabric. It counts as skipped while it fails,
 * and as failed when it passes, so that the mark is removed.
 */
void rl_known_to_fail(const char *fabric, const char *reason);
/* A verdict without players. */
void rl_ok(const char *name);
void rl_skip(const char *name, const char *reason);
/* A line of figures. */
void rl_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For players. rl_fail ends the player and the case. */
void rl_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
#define RL_FAIL(...) rl_fail(__FILE__, __LINE__, __VA_ARGS__)
#define RL_CHECK(cond, ...) \
	do { \
		if (!(cond)) \
			rl_fail(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)
void rl_activity(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Steps: numbers that only grow; waiting for one fails after `ms`. */
void rl_step(int which, int value);
void rl_await(int which, int value, unsigned int ms);
bool rl_reached(int which, int value, unsigned int ms);
/* The pid of a player by name. */
pid_t rl_pid(const char *name);
/* Waits until the main thread of a process sleeps, or (state 'T') is stopped. */
void rl_wait_state(pid_t pid, char state);

/* Facts about processes; pid 0 is the caller. */
int rl_fds(pid_t pid);
long rl_rss_kb(pid_t pid);
/* Proportional set size; -1 if the kernel does not report it. */
long rl_pss_kb(pid_t pid);
int rl_threads(pid_t pid);
double rl_cpu_seconds(pid_t pid);
/* The number of voluntary context switches of this process so far. */
double rl_wakes(void);
/* The number of times that the progress thread of the only adapter has gone to sleep. */
unsigned long rl_progress_sleeps(void);

/* Microseconds of a clock that all processes share. */
uint64_t rl_now(void);
void rl_sleep_ms(unsigned int ms);
/* Scales a time limit in milliseconds under a sanitizer. */
unsigned int rl_bound(unsigned int ms);
/*
 * A time limit, scaled by rl_bound, that does not count what the machine delays: the time for which
 * threads of the players could have run and had no processor, in sum.
 */
struct rl_limit {
	uint64_t end;             /* rl_now() */
	uint64_t before, granted; /* delays before it began, and since */
};
struct rl_limit rl_limit(unsigned int ms);
bool rl_passed(struct rl_limit *limit);
/* Memory shared with players that are started later. */
void *rl_shared(size_t size);
void rl_unshare(void *mem, size_t size);
/* Cheap deterministic random numbers. */
uint32_t rl_random(uint64_t *seed);
/* Fills, or compares with, a pattern that depends on the seed; compare gives the first differing
 * offset or -1. */
void rl_fill(void *mem, size_t len, uint32_t seed);
long rl_differs(const void *mem, size_t len, uint32_t seed);

#endif
