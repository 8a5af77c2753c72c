/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares how the processes of a run communicate, watch each other and report errors. */
#ifndef DAT_PERF_PROC_H
#define DAT_PERF_PROC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Written by a measuring process, read by its parent: an unchanged beat means that the
 * process is stuck in the named stage. Stages are string literals, which both processes
 * have at the same address.
 */
struct perf_watch {
	_Atomic uint64_t beat;
	const char *_Atomic stage;
};

/* The name of this process in messages, and its heartbeat. */
extern const char *perf_process_name;
extern struct perf_watch *perf_alive;

static inline void perf_beat(void)
{
	atomic_fetch_add_explicit(&perf_alive->beat, 1, memory_order_relaxed);
}

static inline void perf_stage(const char *stage)
{
	atomic_store_explicit(&perf_alive->stage, stage, memory_order_relaxed);
	perf_beat();
}

/* Prints "dat_perf: NAME: LAYER: CALL: ..." and returns err, for `return perf_error(...)`. */
int perf_error(int err, const char *layer, const char *call, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Forks a process that dies with its parent, runs on `cpu` (if >= 0) and ends with main's value. */
pid_t perf_spawn(const char *name, struct perf_watch *watch, int cpu, int (*main)(void *),
		 void *arg);
void perf_exit(int ret) __attribute__((noreturn));
int perf_allowed_cpus(int *cpu, int max);

/* Set if the parent reports the end of the peer and its reason. */
extern bool perf_parent_reports;

int perf_put(int fd, const void *buf, size_t len);
int perf_get(int fd, void *buf, size_t len, int timeout_ms);
int perf_barrier(int fd, int timeout_ms);

#endif
