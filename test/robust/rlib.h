/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts, watches and judges tests of several processes.
 *
 * A program runs in three layers. The watchdog writes a dat.conf that names the libraries of the
 * build tree, starts the program again with it in a process group of its own, and kills that
 * group when time is up. The driver goes through the cases. Each case starts its processes
 * (players), which talk through the board, a piece of shared memory; they make the checks.
 *
 * Environment: DAT_TEST_FABRIC names the fabric, DAT_TEST_PARAMS gives other IA parameters (see
 * test/fabrics/fabrics.h), DAT_TEST_LONG multiplies the length of the long tests,
 * DAT_TEST_STACKS=1 prints the stacks of players that overran their time.
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
	char who[24];
	char at[72];			/* what it is doing, for those who overrun */
	_Atomic pid_t pid;
	bool victim;			/* its death is no failure */
	bool ended;
};

struct rl_board {
	_Atomic int passed, failed, skipped;
	_Atomic int blamed;		/* somebody writes `why` */
	_Atomic int explained;		/* and has done so */
	char why[320];
	_Atomic int step[RL_STEPS];
	_Atomic uint64_t t0;		/* when the thing happened, rl_now() */
	struct rl_player player[RL_PLAYERS];
	int players;
	/* Whatever the players have to tell each other. */
	uint64_t qual;
	unsigned char addr[128];
	uint64_t va[4];
	uint32_t rctx[4];
	_Atomic uint64_t word[32];
	char text[8][96];
};

extern struct rl_board *rl_board;

/* Runs `run` as the driver within `limit` seconds; the value is the program's exit status. */
int rl_main(int argc, char **argv, unsigned int limit, void (*run)(void));
/* Does the program run as the driver, and with this word among its arguments? */
bool rl_option(const char *word, long *value);
/* Joins the board of the driver that executed this program as a player (rl_exec). */
void rl_attach(void);
/* Length factor of DAT_TEST_LONG, at least 1. */
unsigned int rl_long(void);

/* Cases. False: not asked for on the command line; then do not start players. */
bool rl_begin(const char *name, unsigned int limit_ms);
pid_t rl_start(const char *who, void (*play)(void *), void *arg);
/* Like rl_start, for a player that will be killed. */
pid_t rl_start_victim(const char *who, void (*play)(void *), void *arg);
/* Ends the calling player well, without a leak check: for those who use libfabric's own way. */
void rl_leave(void) __attribute__((noreturn));
/* Replaces the calling player by another program, which calls rl_attach. */
void rl_exec(const char *path, const char *arg) __attribute__((noreturn));
/* Waits for the players and prints the verdict; true when it is "ok". */
bool rl_end(void);
/* The case that has begun is known to fail over this fabric, for that reason: while it fails it
 * counts as skipped, and when it passes it fails, so that the mark is taken away. */
void rl_known_to_fail(const char *fabric, const char *reason);
/* A verdict without players. */
void rl_ok(const char *name);
void rl_skip(const char *name, const char *why);
/* A line of figures. */
void rl_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For players. rl_fail ends the player and the case. */
void rl_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
#define RL_FAIL(...) rl_fail(__FILE__, __LINE__, __VA_ARGS__)
#define RL_CHECK(cond, ...) do { if (!(cond)) rl_fail(__FILE__, __LINE__, __VA_ARGS__); } while (0)
void rl_at(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Steps: numbers that only grow; waiting for one fails after `ms`. */
void rl_step(int which, int value);
void rl_await(int which, int value, unsigned int ms);
bool rl_reached(int which, int value, unsigned int ms);
/* The pid of a player by name. */
pid_t rl_pid(const char *who);
/* Waits until the main thread of a process sleeps, or (state 'T') is stopped. */
void rl_wait_state(pid_t pid, char state);

/* Facts about processes; pid 0 is the caller. */
int rl_fds(pid_t pid);
long rl_rss_kb(pid_t pid);
/* Shared pages count by their share; -1 where the kernel does not tell. */
long rl_pss_kb(pid_t pid);
int rl_threads(pid_t pid);
double rl_cpu_seconds(pid_t pid);
/* How often this process's threads have gone to sleep so far. */
double rl_wakes(void);

/* Microseconds on a clock that all processes share. */
uint64_t rl_now(void);
void rl_sleep_ms(unsigned int ms);
/* Milliseconds that a bound may take, longer under a sanitizer. */
unsigned int rl_bound(unsigned int ms);
/* Memory that players started later share. */
void *rl_shared(size_t size);
void rl_unshare(void *mem, size_t size);
/* Cheap deterministic random numbers. */
uint32_t rl_random(uint64_t *seed);
/* Fills, or compares with, a pattern that depends on the seed; compare gives the first differing
 * offset or -1. */
void rl_fill(void *mem, size_t len, uint32_t seed);
long rl_differs(const void *mem, size_t len, uint32_t seed);

#endif
