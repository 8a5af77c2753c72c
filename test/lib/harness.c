/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the registered cases, runs each in a child, and counts the results. */
#include "delay.h"
#include "harness_int.h"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <CUnit/TestRun.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_LIMIT_S 20
/* With all delays, a case takes at most this many times its limit. */
#define DELAYED 3
#define OUTPUT_MAX 65536
#define REPORTS_MAX 16
#define SKIPS_MAX 64

struct skip {
	char pattern[128];
	char reason[256];
};

static struct dt_case *first_case, **last_case = &first_case;
static struct skip skips[SKIPS_MAX];
static int skip_count;
static struct {
	int passed, failed, skipped;
	bool verbose, stop_early, stopped;
} run;

/* The result of one child. */
struct outcome {
	struct dt_report reports[REPORTS_MAX];
	int report_count;
	char output[2][OUTPUT_MAX]; /* standard output, standard error */
	size_t output_len[2];
	int status;
	bool timed_out;
	uint64_t us;
};

void dt_register(struct dt_case *c)
{
	*last_case = c;
	last_case = &c->next;
}

void dt_register_rows(const char *suite, const void *rows, size_t n, size_t size,
		      void (*fn)(const void *row))
{
	struct dt_case *c = calloc(n, sizeof(*c));
	size_t i;
	char *name;

	if (!c)
		abort();
	for (i = 0; i < n; i++) {
		const char *row = (const char *)rows + i * size;

		if (asprintf(&name, "%s_%s", suite, *(const char *const *)(const void *)row) < 0)
			abort();
		c[i] = (struct dt_case){ .suite = suite, .name = name, .fn = fn, .arg = row };
		dt_register(&c[i]);
	}
}

static void start_child(const struct dt_case *c, int report_wr, int out_wr, int err_wr)
{
	struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(null, 0);
	dup2(out_wr, 1);
	dup2(err_wr, 2);
	close(null);
	close(out_wr);
	close(err_wr);
	setvbuf(stderr, NULL, _IOLBF, 0);
	dt_report_fd = report_wr;
	dt_child_run(c);
}

static void read_report(int fd, struct outcome *o)
{
	struct dt_report r;

	while (read(fd, &r, sizeof(r)) == (ssize_t)sizeof(r))
		if (o->report_count < REPORTS_MAX)
			o->reports[o->report_count++] = r;
}

static void read_output(int fd, struct outcome *o, int which)
{
	char drop[4096];
	ssize_t n;

	for (;;) {
		size_t room = OUTPUT_MAX - o->output_len[which];
		char *to = room ? o->output[which] + o->output_len[which] : drop;

		n = read(fd, to, room ? room : sizeof(drop));
		if (n <= 0)
			return;
		if (room)
			o->output_len[which] += (size_t)n;
	}
}

/* Prints stack traces of a child that hangs, if enabled. */
static void show_stacks(pid_t pid)
{
	char cmd[160];

	if (!getenv("DAT_TEST_STACKS"))
		return;
	snprintf(cmd, sizeof(cmd), "gdb -p %d -batch -ex 'thread apply all bt' 1>&2 2>/dev/null",
		 (int)pid);
	if (system(cmd) != 0)
		fprintf(stderr, "no stack traces of process %d\n", (int)pid);
}

/* A descriptor that becomes readable when the child ends; -1 without pidfd_open. */
static int open_pidfd(pid_t pid)
{
	static bool missing;
	int fd = missing ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);

	missing = fd < 0;
	return fd;
}

static void watch_child(pid_t pid, const int fds[3], unsigned int limit_s, struct outcome *o)
{
	uint64_t start = dt_now_us();
	uint64_t limit = (uint64_t)limit_s * 1000000u * dt_slow();
	uint64_t before = dt_delays_us(pid);
	int pidfd = open_pidfd(pid);
	struct pollfd p[4] = {
		{ .fd = fds[0], .events = POLLIN },
		{ .fd = fds[1], .events = POLLIN },
		{ .fd = fds[2], .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN },
	};

	while (waitpid(pid, &o->status, WNOHANG) == 0) {
		uint64_t took = dt_now_us() - start;

		/* As in dt_in_time; but one that hangs may be delayed all the time. */
		if (took > limit &&
		    (took > DELAYED * limit || took + before > limit + dt_delays_us(pid))) {
			o->timed_out = true;
			show_stacks(pid);
			kill(-pid, SIGKILL);
			waitpid(pid, &o->status, 0);
			break;
		}
		poll(p, pidfd >= 0 ? 4 : 3, pidfd >= 0 ? 100 : 5);
		read_report(fds[0], o);
		read_output(fds[1], o, 0);
		read_output(fds[2], o, 1);
	}
	o->us = dt_now_us() - start;
	/* Kills peers that outlive the case. */
	kill(-pid, SIGKILL);
	read_report(fds[0], o);
	read_output(fds[1], o, 0);
	read_output(fds[2], o, 1);
	if (pidfd >= 0)
		close(pidfd);
}

static void run_child(const struct dt_case *c, struct outcome *o)
{
	int report[2], out[2], err[2];
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		perror("pipe");
		exit(2);
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (pid == 0) {
		close(report[0]);
		close(out[0]);
		close(err[0]);
		start_child(c, report[1], out[1], err[1]);
	}
	setpgid(pid, pid);
	close(report[1]);
	close(out[1]);
	close(err[1]);
	fcntl(report[0], F_SETFL, O_NONBLOCK);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	watch_child(pid, (int[3]){ report[0], out[0], err[0] },
		    c->limit_s ? c->limit_s : DEFAULT_LIMIT_S, o);
	close(report[0]);
	close(out[0]);
	close(err[0]);
}

static void failure(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void failure(const char *file, int line, const char *fmt, ...)
{
	char text[1800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("    %s:%d: %s\n", file, line, text);
	CU_assertImplementation(CU_FALSE, (unsigned int)line, text, file, "", CU_FALSE);
}

/* Reports failures to CUnit and on stderr; true if there is none. */
static bool report_outcome(const struct dt_case *c, const struct outcome *o)
{
	bool good = true;
	int i;

	for (i = 0; i < o->report_count; i++)
		if (o->reports[i].kind == DT_REPORT_FAIL) {
			failure(o->reports[i].file, o->reports[i].line, "%s", o->reports[i].text);
			good = false;
		}
	if (o->timed_out) {
		failure(c->name, 0, "exceeded its time limit");
		good = false;
	} else if (WIFSIGNALED(o->status)) {
		failure(c->name, 0, "killed by signal %d (%s)", WTERMSIG(o->status),
			strsignal(WTERMSIG(o->status)));
		good = false;
	} else if (WEXITSTATUS(o->status) != 0 && good) {
		failure(c->name, 0, "exit status %d", WEXITSTATUS(o->status));
		good = false;
	}
	if (o->output_len[0]) {
		failure(c->name, 0, "text on standard output: %.*s", (int)o->output_len[0],
			o->output[0]);
		good = false;
	}
	return good;
}

static const char *skip_reason(const struct outcome *o)
{
	int i;

	for (i = 0; i < o->report_count; i++)
		if (o->reports[i].kind == DT_REPORT_SKIP)
			return o->reports[i].text;
	return NULL;
}

static const struct dt_case *current_case(void)
{
	const char *name = CU_get_current_test()->pName;
	const struct dt_case *c;

	for (c = first_case; c; c = c->next)
		if (!strcmp(c->name, name))
			return c;
	abort();
}

static void run_current(void)
{
	static struct outcome o;
	const struct dt_case *c = current_case();
	const char *reason;
	bool good;

	if (run.stopped)
		return;
	printf("%-60s ", c->name);
	fflush(stdout);
	memset(&o, 0, sizeof(o));
	run_child(c, &o);
	reason = skip_reason(&o);
	if (reason && o.report_count == 1 && !o.timed_out && o.status == 0) {
		printf("skip  %s\n", reason);
		run.skipped++;
		return;
	}
	good = o.report_count == 0 && !o.timed_out && o.status == 0 && !o.output_len[0];
	printf("%s %llu ms\n", good ? "ok   " : "FAIL ", (unsigned long long)o.us / 1000);
	if (report_outcome(c, &o)) {
		CU_assertImplementation(CU_TRUE, 0, c->name, "", "", CU_FALSE);
		run.passed++;
	} else {
		run.failed++;
		run.stopped = run.stop_early;
	}
	if (o.output_len[1] && (!good || run.verbose))
		printf("    --- standard error ---\n%.*s    ---\n", (int)o.output_len[1],
		       o.output[1]);
}

/*
 * Lines "fabric pattern reason"; # starts a comment. A pattern matches the name of a case, or
 * SUITE/NAME.
 */
static void read_skips(const struct dt_program *prog)
{
	char line[512], fabric[32];
	FILE *f = prog->skip_file ? fopen(prog->skip_file, "re") : NULL;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f) && skip_count < SKIPS_MAX) {
		struct skip *s = &skips[skip_count];

		if (line[0] != '#' &&
		    sscanf(line, "%31s %127s %255[^\n]", fabric, s->pattern, s->reason) == 3 &&
		    !fnmatch(fabric, prog->fabric, 0))
			skip_count++;
	}
	fclose(f);
}

static const struct skip *find_skip(const struct dt_case *c)
{
	char name[256];
	int i;

	snprintf(name, sizeof(name), "%s/%s", c->suite, c->name);
	for (i = 0; i < skip_count; i++)
		if (!fnmatch(skips[i].pattern, strchr(skips[i].pattern, '/') ? name : c->name, 0))
			return &skips[i];
	return NULL;
}

static bool case_is_selected(const struct dt_case *c, const char *suite, const char *test)
{
	return (!suite || !fnmatch(suite, c->suite, 0)) && (!test || !fnmatch(test, c->name, 0));
}

static int add_case(const struct dt_case *c)
{
	CU_pSuite suite = CU_get_suite(c->suite);
	const struct skip *s = find_skip(c);
	CU_pTest test;

	if (!suite)
		suite = CU_add_suite(c->suite, NULL, NULL);
	if (!suite)
		return -ENOMEM;
	test = CU_add_test(suite, c->name, run_current);
	if (!test) {
		fprintf(stderr, "%s: %s\n", c->name, CU_get_error_msg());
		return -EEXIST;
	}
	if (s) {
		CU_set_test_active(test, CU_FALSE);
		printf("%-60s skip  %s\n", c->name, s->reason);
		run.skipped++;
	}
	return 0;
}

static void print_usage(const char *name)
{
	fprintf(stderr,
		"usage: %s [--list] [--suite PATTERN] [--test PATTERN] [--repeat N]\n"
		"       [--stop] [--verbose]\n",
		name);
}

static int list_cases(const char *suite, const char *test)
{
	const struct dt_case *c;
	int n = 0;

	for (c = first_case; c; c = c->next)
		if (case_is_selected(c, suite, test)) {
			printf("%s %s\n", c->suite, c->name);
			n++;
		}
	printf("%d cases\n", n);
	return 0;
}

static int run_all(const struct dt_program *prog, const char *suite, const char *test, int repeat)
{
	const struct dt_case *c;
	int rc = 0;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	CU_set_error_action(CUEA_IGNORE);
	CU_set_fail_on_inactive(CU_FALSE);
	read_skips(prog);
	for (c = first_case; c && rc == 0; c = c->next)
		if (case_is_selected(c, suite, test))
			rc = add_case(c);
	while (rc == 0 && repeat-- > 0)
		rc = CU_run_all_tests() == CUE_SUCCESS ? 0 : -EIO;
	printf("\n%s%s%s\n", prog->name, prog->fabric ? " over " : "",
	       prog->fabric ? prog->fabric : "");
	CU_print_run_results(stdout);
	CU_cleanup_registry();
	printf("\n%d passed, %d failed, %d skipped\n", run.passed, run.failed, run.skipped);
	return rc != 0 || run.failed || run.passed + run.skipped == 0;
}

int dt_main(int argc, char **argv, const struct dt_program *prog)
{
	static const struct option options[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "suite", required_argument, NULL, 's' },
		{ "test", required_argument, NULL, 't' },
		{ "repeat", required_argument, NULL, 'n' },
		{ "stop", no_argument, NULL, 'x' },
		{ "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	const char *suite = NULL, *test = NULL;
	bool only_list = false;
	int opt, repeat = 1;

	while ((opt = getopt_long(argc, argv, "ls:t:n:xv", options, NULL)) != -1) {
		switch (opt) {
		case 'l':
			only_list = true;
			break;
		case 's':
			suite = optarg;
			break;
		case 't':
			test = optarg;
			break;
		case 'n':
			repeat = atoi(optarg);
			break;
		case 'x':
			run.stop_early = true;
			break;
		case 'v':
			run.verbose = true;
			break;
		default:
			print_usage(argv[0]);
			return 2;
		}
	}
	return only_list ? list_cases(suite, test) : run_all(prog, suite, test, repeat);
}
