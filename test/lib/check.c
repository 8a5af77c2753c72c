/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements checks: failure reports, clocks and descriptor leaks. */
#include "delay.h"
#include "harness_int.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
/*
 * AddressSanitizer of gcc 12 misjudges the location of thread-local data of loaded libraries; its
 * leak checker then crashes in a thread that has some. Workaround: do not record it.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "intercept_tls_get_addr=0";
}
#endif

int dt_report_fd = -1;

static void send_report(int kind, const char *file, int line, const char *fmt, va_list ap)
{
	struct dt_report r;

	memset(&r, 0, sizeof(r));
	r.kind = kind;
	r.line = line;
	snprintf(r.file, sizeof(r.file), "%s", file ? file : "");
	vsnprintf(r.text, sizeof(r.text), fmt, ap);
	if (write(dt_report_fd, &r, sizeof(r)) != (ssize_t)sizeof(r))
		fprintf(stderr, "%s:%d: %s\n", r.file, r.line, r.text);
}

void dt_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	send_report(DT_REPORT_FAIL, file, line, fmt, ap);
	va_end(ap);
	_exit(1);
}

void dt_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	send_report(DT_REPORT_SKIP, NULL, 0, fmt, ap);
	va_end(ap);
	_exit(0);
}

void dt_note(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	n = snprintf(line, sizeof(line), "[%d] ", (int)getpid());
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s\n", line);
}

void dt_check_eq(const char *file, int line, const char *a, long long va, const char *b,
		 long long vb)
{
	if (va != vb)
		dt_fail(file, line, "%s is %lld (%#llx), %s is %lld (%#llx)", a, va,
			(unsigned long long)va, b, vb, (unsigned long long)vb);
}

void dt_check_mem(const char *file, int line, const void *got, const void *want, size_t len)
{
	const unsigned char *g = got, *w = want;
	size_t i;

	for (i = 0; i < len; i++)
		if (g[i] != w[i])
			dt_fail(file, line, "byte %zu of %zu is %#x, not %#x", i, len, g[i], w[i]);
}

uint64_t dt_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

void dt_sleep_us(uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000u), (long)(us % 1000000u) * 1000 };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static uint64_t delays_us(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct dt_delay_sum sum;
	uint64_t us;

	pthread_mutex_lock(&lock);
	us = dt_delay_sum_us(&sum, 0);
	pthread_mutex_unlock(&lock);
	return us;
}

struct dt_start dt_start(void)
{
	struct dt_start start;

	start.delays = delays_us();
	start.at = dt_now_us();
	return start;
}

uint64_t dt_took_us(const struct dt_start *start)
{
	return dt_now_us() - start->at;
}

bool dt_in_time(const struct dt_start *start, uint64_t us)
{
	uint64_t took = dt_took_us(start), delays;

	if (took <= us * dt_slow())
		return true;
	delays = delays_us();
	/* Several threads may have waited at once: together for longer than it took. */
	return took <= us * dt_slow() + (delays - start->delays);
}

unsigned int dt_slow(void)
{
	const char *preload = getenv("LD_PRELOAD");
	const char *set = getenv("DAT_TEST_SLOW");
	int factor = 1;

#if defined(__SANITIZE_THREAD__)
	factor = 6;
#elif defined(__SANITIZE_ADDRESS__)
	factor = 3;
#endif
	if (preload && strstr(preload, "vgpreload"))
		factor = 20;
	if (set && atoi(set) > 0)
		factor *= atoi(set);
	return (unsigned int)factor;
}

static int each_fd(void (*fn)(int fd, void *arg), void *arg)
{
	struct dirent *e;
	DIR *d = opendir("/proc/self/fd");
	int fd;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		fd = atoi(e->d_name);
		if (e->d_name[0] != '.' && fd != dirfd(d) && fd < 1024)
			fn(fd, arg);
	}
	closedir(d);
	return 0;
}

static void set_bit(int fd, void *arg)
{
	struct dt_fds *f = arg;

	f->bits[fd / 64] |= (uint64_t)1 << (fd % 64);
}

void dt_fds_get(struct dt_fds *f)
{
	memset(f, 0, sizeof(*f));
	each_fd(set_bit, f);
}

/*
 * librdmacm opens each device once and keeps it open, with one descriptor for its events, until
 * the process ends: not a leak.
 */
struct persistent_fds {
	unsigned int devices, events;
};

static bool is_persistent_fd(struct persistent_fds *k, const char *target)
{
	if (!strncmp(target, "/dev/infiniband/uverbs", 22)) {
		k->devices++;
		return true;
	}
	return !strcmp(target, "anon_inode:[infinibandevent]") && ++k->events <= k->devices;
}

void dt_fds_check(const struct dt_fds *then, const char *file, int line)
{
	char path[32], target[128], all[1200] = "";
	struct persistent_fds persistent_fds = { 0, 0 };
	struct dt_fds now;
	size_t used = 0;
	ssize_t n;
	int fd;

	dt_fds_get(&now);
	for (fd = 0; fd < 1024; fd++) {
		if (!((now.bits[fd / 64] & ~then->bits[fd / 64]) >> (fd % 64) & 1))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		if (is_persistent_fd(&persistent_fds, target))
			continue;
		if (used < sizeof(all) - sizeof(target) - 16)
			used += (size_t)snprintf(all + used, sizeof(all) - used, " %d=%s", fd,
						 target);
	}
	if (used)
		dt_fail(file, line, "descriptors left open:%s", all);
}
