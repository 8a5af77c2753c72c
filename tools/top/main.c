/* SPDX-License-Identifier: BSD-2-Clause */
/* The main function of dat_top, which shows what the DAT programs of this user do. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

/* clang-format off */
enum { OPT_ONCE = 256, OPT_JSON };

static const char help_text[] =
"Usage: dat_top [options]\n"
"Shows adapters and connections of the DAT programs of this user, with their rates.\n"
"\n"
"Options\n"
"  -p, --pid PID      only this process\n"
"  -s, --sort KEY     pid, program, rate (default), tx, rx, queue, stalls, retrans, wakeups\n"
"  -d, --delay SEC    time between two readings (default 1); 0 with --once: totals only\n"
"  -n, --count N      end after N readings\n"
"      --once         one table, after one delay\n"
"      --json         JSON instead of tables\n"
"  -h, --help\n"
"  -V, --version\n"
"\n"
"Exit status: 0 all is well, 1 no such process, 2 wrong usage.\n";
/* clang-format on */

static const struct option options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "sort", required_argument, NULL, 's' },
	{ "delay", required_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'n' },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

struct top_options {
	pid_t pid;
	enum top_key key;
	double delay;
	unsigned long count; /* 0: no end */
	bool json;
};

static void __attribute__((noreturn, format(printf, 1, 2))) usage(const char *format, ...)
{
	va_list args;

	fputs("dat_top: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" (dat_top --help)\n", stderr);
	exit(2);
}

static double number(const char *option, const char *text, double least, double most, bool whole)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !(value >= least && value <= most) ||
	    (whole && value != (double)(long)value))
		usage("%s: \"%s\" is not a number from %.0f to %.0f", option, text, least, most);
	return value;
}

static void set_option(struct top_options *o, int letter)
{
	switch (letter) {
	case 'p':
		o->pid = (pid_t)number("--pid", optarg, 1, 2147483647, true);
		break;
	case 's':
		o->key = top_key_of(optarg);
		if (o->key == TOP_KEYS)
			usage("--sort: \"%s\" is not a key", optarg);
		break;
	case 'd':
		o->delay = number("--delay", optarg, 0, 3600, false);
		break;
	case 'n':
		o->count = (unsigned long)number("--count", optarg, 1, 1e9, true);
		break;
	case OPT_ONCE:
		o->count = 1;
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case 'h':
		fputs(help_text, stdout);
		exit(0);
	case 'V':
		puts("dat_top " PACKAGE_VERSION);
		exit(0);
	default:
		fputs("dat_top --help\n", stderr);
		exit(2);
	}
}

static void pause_for(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds,
			       .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static unsigned int screen_lines(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
		return 0;
	return size.ws_row;
}

static void read_snapshot(struct top_snapshot *snap, const struct top_options *o)
{
	if (!top_read(snap, o->pid)) {
		fputs("dat_top: no memory\n", stderr);
		exit(1);
	}
	if (o->pid && !snap->count) {
		fprintf(stderr,
			"dat_top: process %ld has no counters: it is not a process of this user "
			"with an open adapter, or DAPL_OFI_COUNTER_FILE=0\n",
			(long)o->pid);
		exit(1);
	}
}

static void show(const struct top_options *o, const struct top_snapshot *now,
		 const struct top_snapshot *before)
{
	bool live = !o->json && o->count != 1 && isatty(STDOUT_FILENO);

	if (live)
		fputs("\033[H\033[2J", stdout);
	if (o->json)
		top_json(stdout, now, before);
	else
		top_show(stdout, now, before, o->key, live ? screen_lines() : 0);
	if (fflush(stdout) || ferror(stdout)) {
		fputs("dat_top: cannot write\n", stderr);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct top_options o = { .key = TOP_RATE, .delay = 1 };
	struct top_snapshot before, now;
	int letter;

	while ((letter = getopt_long(argc, argv, "p:s:d:n:hV", options, NULL)) != -1)
		set_option(&o, letter);
	if (optind < argc)
		usage("unexpected argument \"%s\"", argv[optind]);
	if (o.delay <= 0 && o.count != 1)
		usage("--delay 0 requires --once");
	read_snapshot(&before, &o);
	if (o.delay <= 0) {
		show(&o, &before, NULL);
		top_free(&before);
		return 0;
	}
	for (unsigned long n = 0; !o.count || n < o.count; n++) {
		pause_for(o.delay);
		read_snapshot(&now, &o);
		show(&o, &now, &before);
		top_free(&before);
		before = now;
	}
	top_free(&before);
	return 0;
}
