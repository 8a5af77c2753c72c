/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the test harness: checks, waits, threads, peer processes. Cases register themselves
 * (TEST); CUnit runs them. Each case runs in a forked child with its own time limit, so that a
 * crash or a hang fails one case only. A failed check is reported with file and line and ends the
 * child: checks do not return on failure, so compilers and analysers know that the condition holds
 * after them. Checks work in every thread and in every peer process of a case.
 */
#ifndef DT_HARNESS_H
#define DT_HARNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The program is built with a sanitizer, under which everything takes several times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DT_SANITIZED true
#else
#define DT_SANITIZED false
#endif

struct dt_case {
	const char *suite;
	const char *name; /* "<suite>_<rule>" */
	void (*fn)(const void *arg);
	const void *arg;
	/* 0: the default of 20 s. Times dt_slow(). What the machine delays the case's threads is
	 * not counted, up to twice as much: a case that hangs ends after 3 times its limit. */
	unsigned int limit_s;
	struct dt_case *next;
};

/* The case must live as long as the program. */
void dt_register(struct dt_case *c);

#define TEST_LIMIT(suite_, rule_, limit_) \
	static void test_##suite_##_##rule_(void); \
	static void call_##suite_##_##rule_(const void *arg) \
	{ \
		(void)arg; \
		test_##suite_##_##rule_(); \
	} \
	__attribute__((constructor)) static void register_##suite_##_##rule_(void) \
	{ \
		static struct dt_case c = { \
			.suite = #suite_, \
			.name = #suite_ "_" #rule_, \
			.fn = call_##suite_##_##rule_, \
			.limit_s = (limit_), \
		}; \
		dt_register(&c); \
	} \
	static void test_##suite_##_##rule_(void)

#define TEST(suite_, rule_) TEST_LIMIT(suite_, rule_, 0)

/* One case per row of a table: args is an array of structs whose first member is the rule's
 * name (const char *); fn_ takes a pointer to the row. */
void dt_register_rows(const char *suite, const void *rows, size_t n, size_t size,
		      void (*fn)(const void *row));

#define TEST_ROWS(suite_, rows_, fn_) \
	__attribute__((constructor)) static void register_rows_##suite_##_##rows_(void) \
	{ \
		dt_register_rows(#suite_, rows_, sizeof(rows_) / sizeof((rows_)[0]), \
				 sizeof((rows_)[0]), fn_); \
	}

/* ---- checks ---- */

__attribute__((noreturn, format(printf, 3, 4))) void dt_fail(const char *file, int line,
							     const char *fmt, ...);
__attribute__((noreturn, format(printf, 1, 2))) void dt_skip(const char *fmt, ...);
/* Shown when the case fails, or with --verbose. */
__attribute__((format(printf, 1, 2))) void dt_note(const char *fmt, ...);
void dt_check_eq(const char *file, int line, const char *a, long long va, const char *b,
		 long long vb);
void dt_check_mem(const char *file, int line, const void *got, const void *want, size_t len);

#define FAIL(...) dt_fail(__FILE__, __LINE__, __VA_ARGS__)
#define ASSERT(cond_) \
	do { \
		if (!(cond_)) \
			dt_fail(__FILE__, __LINE__, "%s", #cond_); \
	} while (0)
#define ASSERT_EQ(a_, b_) \
	dt_check_eq(__FILE__, __LINE__, #a_, (long long)(a_), #b_, (long long)(b_))
#define ASSERT_PTR(a_, b_) \
	do { \
		const void *pa_ = (a_), *pb_ = (b_); \
		if (pa_ != pb_) \
			dt_fail(__FILE__, __LINE__, "%s is %p, %s is %p", #a_, pa_, #b_, pb_); \
	} while (0)
#define ASSERT_MEM(got_, want_, len_) dt_check_mem(__FILE__, __LINE__, got_, want_, len_)

/* ---- time ---- */

uint64_t dt_now_us(void);
void dt_sleep_us(uint64_t us);
/* How much slower than a plain build this run may be (sanitizers, valgrind). */
unsigned int dt_slow(void);
/* Time since a start, and whether it is at most `us` (scaled by dt_slow()). What the machine delays
 * is not counted: time for which threads of this process could have run and had no processor, in
 * sum, and time that a hypervisor gave to others. */
struct dt_start {
	uint64_t at, delays;
};
struct dt_start dt_start(void);
uint64_t dt_took_us(const struct dt_start *start);
bool dt_in_time(const struct dt_start *start, uint64_t us);
/* Waits until cond() holds; fails after limit_us (scaled by dt_slow()). */
#define DT_UNTIL(cond_, limit_us_) \
	do { \
		uint64_t end_ = dt_now_us() + (uint64_t)(limit_us_)*dt_slow(); \
		while (!(cond_)) { \
			if (dt_now_us() > end_) \
				dt_fail(__FILE__, __LINE__, "not reached in time: %s", #cond_); \
			dt_sleep_us(200); \
		} \
	} while (0)

/* ---- threads ---- */

struct dt_thread {
	pthread_t id;
	void (*fn)(void *arg);
	void *arg;
	pid_t tid;
};

void dt_thread_start(struct dt_thread *t, void (*fn)(void *arg), void *arg);
void dt_thread_join(struct dt_thread *t);
/* Returns once the thread sleeps in the kernel, that is, inside its blocking call. */
void dt_thread_wait_blocked(struct dt_thread *t);

/* ---- peer processes ---- */

struct dt_peer {
	pid_t pid;
	int fd; /* socket to the peer */
};

/* Forks; call it before the case opens an IA. */
void dt_peer_start(struct dt_peer *p, void (*fn)(int fd, const void *arg), const void *arg);
/* Waits for the peer to end with success. */
void dt_peer_finish(struct dt_peer *p);
/* Sends a signal; if it is fatal, reaps the peer. */
void dt_peer_kill(struct dt_peer *p, int sig);
void dt_put(int fd, const void *data, size_t len);
void dt_get(int fd, void *data, size_t len);
/* Synchronise by one byte. */
void dt_put_byte(int fd, char what);
void dt_expect_byte(int fd, char what);

/* ---- leaks ---- */

/* Open descriptors of this process, as a bit set of the first 1024. */
struct dt_fds {
	uint64_t bits[16];
};

void dt_fds_get(struct dt_fds *f);
/* Fails with the names of the descriptors that were opened since and are still open. */
void dt_fds_check(const struct dt_fds *then, const char *file, int line);

/* ---- runner ---- */

struct dt_program {
	const char *name;
	const char *fabric;    /* first column of the skip file that applies */
	const char *skip_file; /* may be NULL or absent */
};

int dt_main(int argc, char **argv, const struct dt_program *prog);

#endif
