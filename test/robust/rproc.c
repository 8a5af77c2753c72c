/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads facts about processes; clocks, shared memory and data patterns. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../lib/delay.h"
#include "rlib.h"

static pid_t real_pid(pid_t pid)
{
	return pid ? pid : getpid();
}

static int count_dir_entries(pid_t pid, const char *what)
{
	char path[64];
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)real_pid(pid), what);
	d = opendir(path);
	if (!d)
		return -1;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

int rl_fds(pid_t pid)
{
	/* Reading /proc/self/fd itself takes a descriptor. */
	return count_dir_entries(pid, "fd") - (real_pid(pid) == getpid());
}

int rl_threads(pid_t pid)
{
	return count_dir_entries(pid, "task");
}

long rl_rss_kb(pid_t pid)
{
	char path[64];
	long pages = -1, size;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)real_pid(pid));
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%ld %ld", &size, &pages) != 2)
		pages = -1;
	fclose(f);
	return pages < 0 ? -1 : pages * (sysconf(_SC_PAGESIZE) / 1024);
}

long rl_pss_kb(pid_t pid)
{
	char path[64], line[256];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)real_pid(pid));
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (kb < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %ld kB", &kb) != 1)
			kb = -1;
	fclose(f);
	return kb;
}

double rl_wakes(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (double)ru.ru_nvcsw;
}

unsigned long rl_progress_sleeps(void)
{
	unsigned long n = 0, found = 0;
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300], line[128];

	RL_CHECK(dir, "no /proc/self/task");
	while ((entry = readdir(dir))) {
		bool ours = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			ours |= !strcmp(line, "Name:\tdat-progress\n");
			if (ours && sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
				found++;
		}
		if (f)
			fclose(f);
	}
	closedir(dir);
	RL_CHECK(found == 1, "%lu threads of adapters", found);
	return n;
}

double rl_cpu_seconds(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(real_pid(pid), &clock) || clock_gettime(clock, &ts))
		return -1;
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static char state_of(pid_t pid)
{
	char path[64], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 'X';
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(f);
	return state;
}

void rl_wait_state(pid_t pid, char state)
{
	struct rl_limit limit = rl_limit(5000);
	int seen = 0;

	/* A single sample may be a short sleep on a lock. */
	while (seen < 4) {
		char now = state_of(pid);

		seen = now == state ? seen + 1 : 0;
		if (now == 'X' || rl_passed(&limit))
			RL_FAIL("process %d is in state %c, not %c", (int)pid, now, state);
		usleep(1500);
	}
}

uint64_t rl_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void rl_sleep_ms(unsigned int ms)
{
	uint64_t end = rl_now() + (uint64_t)ms * 1000, now;

	while ((now = rl_now()) < end) {
		struct timespec ts;

		ts.tv_sec = (time_t)((end - now) / 1000000);
		ts.tv_nsec = (long)((end - now) % 1000000) * 1000;
		nanosleep(&ts, NULL);
	}
}

unsigned int rl_bound(unsigned int ms)
{
	return RL_SANITIZED ? ms * 3 : ms;
}

/* The place of a player may have been that of one of another case. */
static uint64_t delays_of_players(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct dt_delay_sum sum[RL_PLAYERS];
	static pid_t of[RL_PLAYERS];
	uint64_t us = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < rl_board->players; i++) {
		pid_t pid = rl_board->player[i].pid;

		if (pid != of[i])
			sum[i] = (struct dt_delay_sum){ 0 };
		of[i] = pid;
		if (pid)
			us += dt_delay_sum_us(&sum[i], pid);
	}
	pthread_mutex_unlock(&lock);
	return us;
}

struct rl_limit rl_limit(unsigned int ms)
{
	return (struct rl_limit){ .end = rl_now() + (uint64_t)rl_bound(ms) * 1000,
				  .before = delays_of_players() };
}

bool rl_passed(struct rl_limit *limit)
{
	uint64_t now = rl_now(), delays;

	if (now <= limit->end + limit->granted)
		return false;
	delays = delays_of_players();
	limit->granted = delays > limit->before ? delays - limit->before : 0;
	return now > limit->end + limit->granted;
}

void *rl_shared(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		RL_FAIL("no %zu bytes of shared memory", size);
	return mem;
}

void rl_unshare(void *mem, size_t size)
{
	if (mem)
		munmap(mem, size);
}

uint32_t rl_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static unsigned char pattern(size_t i, uint32_t seed)
{
	return (unsigned char)((i * 131 + (i >> 8) * 7 + seed * 29 + 17) >> 1);
}

/*
 * Another thread of the fabric reads this memory later: ThreadSanitizer would report each word as
 * a race, which takes seconds per megabyte.
 */
__attribute__((no_sanitize("thread"))) void rl_fill(void *mem, size_t len, uint32_t seed)
{
	unsigned char *p = mem;

	for (size_t i = 0; i < len; i++)
		p[i] = pattern(i, seed);
}

/*
 * The fabric may have written it: ThreadSanitizer does not see the synchronisation with the peer.
 */
__attribute__((no_sanitize("thread"))) long rl_differs(const void *mem, size_t len, uint32_t seed)
{
	const unsigned char *p = mem;

	for (size_t i = 0; i < len; i++)
		if (p[i] != pattern(i, seed))
			return (long)i;
	return -1;
}
