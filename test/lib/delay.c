/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads how long the machine has delayed a process from /proc. */
#include "delay.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* The second number of a thread's schedstat, in nanoseconds; 0 if the kernel does not count it. */
static uint64_t run_delay(const char *tasks, const char *thread)
{
	unsigned long long delay = 0;
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/schedstat", tasks, thread);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%*u %llu", &delay) != 1)
		delay = 0;
	fclose(f);
	return delay;
}

static uint64_t stolen_us(void)
{
	unsigned long long ticks = 0;
	FILE *f = fopen("/proc/stat", "r");

	if (!f)
		return 0;
	if (fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
		ticks = 0;
	fclose(f);
	return ticks * 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t dt_delays_us(pid_t pid)
{
	struct dirent *e;
	char tasks[32];
	uint64_t ns = 0;
	DIR *d;

	snprintf(tasks, sizeof(tasks), "/proc/%d/task", (int)(pid ? pid : getpid()));
	d = opendir(tasks);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			ns += run_delay(tasks, e->d_name);
	if (d)
		closedir(d);
	return ns / 1000u + stolen_us();
}

uint64_t dt_delay_sum_us(struct dt_delay_sum *sum, pid_t pid)
{
	uint64_t now = dt_delays_us(pid);

	if (now < sum->last)
		sum->ended += sum->last - now;
	sum->last = now;
	return sum->ended + now;
}
