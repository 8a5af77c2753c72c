/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares how dat_run starts, watches and ends processes and their descendants. dat_run is a
 * child subreaper and runs one trial at a time: all its descendants belong to that trial.
 */
#ifndef RUN_PROC_H
#define RUN_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc {
	pid_t pid;
	bool running;
	int status; /* of waitpid, when it has ended */
};

/* The signal that interrupted dat_run, or 0. */
extern int proc_interrupted;

void proc_init(void);
double proc_now(void);

/*
 * Runs `child` in a new process and process group, its output going to the file `log`; `child`
 * returns an errno if exec failed. Returns 0, or that errno, negative.
 */
int proc_start(struct proc *p, const char *log, int (*child)(void *arg), void *arg);

/* Sleeps until a child has ended, a signal has come, or for `seconds`; updates all processes that
 * were started. */
void proc_wait(double seconds);
/* Until `p` has ended, at most until `deadline` (of proc_now); true if it has. */
bool proc_wait_for(struct proc *p, double deadline);

/*
 * Signals all descendants of `root`, and `root` itself unless it is dat_run. Returns their number.
 */
unsigned int proc_tree_signal(pid_t root, int sig);
/* Kills all descendants. Returns how many were alive. */
unsigned int proc_end_all(void);

/* Calls `fn` for every descendant of dat_run. */
void proc_each(void (*fn)(pid_t pid, void *arg), void *arg);
/* True if every thread of every descendant is blocked. */
bool proc_all_asleep(void);

/* listen.c: the listening sockets of descendants: TCP, and service points of shm. */
struct proc_ports {
	unsigned int count;
	unsigned long sum; /* a checksum of the sockets */
	bool has_port;     /* one of them is on `port` */
};
void proc_ports_init(void);
void proc_ports_look(struct proc_ports *ports, unsigned int port);

#endif
