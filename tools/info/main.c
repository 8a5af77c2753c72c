/* SPDX-License-Identifier: BSD-2-Clause */
/* The main function of dat_info, which shows the adapters, whether they open, and if not, why. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "probe.h"

#define DEFAULT_SHM_DIR "/dev/shm"
#define LIMIT_SECONDS 75

/* clang-format off */
enum {
	OPT_CLEAN = 256, OPT_FORCE, OPT_JSON, OPT_API, OPT_THREADSAFE, OPT_TIMEOUT, OPT_SHM_DIR,
	OPT_REPORT, OPT_FABRIC, OPT_LIMIT, OPT_CALLS,
};

static const char help_text[] =
"Usage: dat_info [job] [options]\n"
"Shows which interface adapters DAT programs of both API versions can open, and why others\n"
"fail.\n"
"\n"
"Jobs\n"
"  -l, --list           registry entries, where they come from, and whether they open\n"
"                       (default)\n"
"  -v, --show NAME      all attributes of an adapter\n"
"  -e, --settings       settings: value, default, range, meaning\n"
"  -d, --diagnose NAME  diagnose step by step why a name does not open\n"
"  -g, --generate       print a dat.conf for this machine\n"
"  -c, --counters PID   counters of a process: its adapters and connections\n"
"      --calls [NAME...] which calls work: makes all of them over these adapters, or over\n"
"                       every fabric that opens\n"
"      --clean          show shared-memory files that dead processes left; with --force,\n"
"                       remove them\n"
"      --report FILE    write a report for the developers: machine, adapters, attributes,\n"
"                       a short measurement and self-test of each fabric that opens\n"
"\n"
"Options\n"
"      --json           JSON instead of text\n"
"      --api 1.2|2.0    only this API version\n"
"      --threadsafe     -v, -d, --calls: look up the thread-safe entry\n"
"  -o, --output FILE    -g: into a new file\n"
"      --fabric NAME    --report: only this fabric (tcp, shm, efa, ...)\n"
"      --limit SEC      --calls, --report: longest time for each run (default 75)\n"
"      --force          --clean: remove; -o, --report: replace a file that exists\n"
"      --timeout SEC    longest time for one adapter to open (default 20)\n"
"      --shm-dir DIR    --clean: where to look (DAT_INFO_SHM_DIR, or " DEFAULT_SHM_DIR ")\n"
"  -h, --help\n"
"  -V, --version\n"
"\n"
"Exit status: 0 all is well, 1 something does not work, 2 wrong usage.\n";
/* clang-format on */

static const struct option options[] = {
	{ "list", no_argument, NULL, 'l' },
	{ "show", required_argument, NULL, 'v' },
	{ "settings", no_argument, NULL, 'e' },
	{ "diagnose", required_argument, NULL, 'd' },
	{ "generate", no_argument, NULL, 'g' },
	{ "counters", required_argument, NULL, 'c' },
	{ "output", required_argument, NULL, 'o' },
	{ "calls", no_argument, NULL, OPT_CALLS },
	{ "clean", no_argument, NULL, OPT_CLEAN },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "api", required_argument, NULL, OPT_API },
	{ "threadsafe", no_argument, NULL, OPT_THREADSAFE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "shm-dir", required_argument, NULL, OPT_SHM_DIR },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "limit", required_argument, NULL, OPT_LIMIT },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void __attribute__((noreturn, format(printf, 1, 2))) usage(const char *format, ...)
{
	va_list args;

	fputs("dat_info: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" (dat_info --help)\n", stderr);
	exit(2);
}

static void set_job(struct info_options *opts, int job, const char *name)
{
	if (opts->job)
		usage("one job at a time");
	if (name && !*name)
		usage("the name is empty");
	opts->job = job;
	opts->name = name;
}

static void set_api(struct info_options *opts, const char *version)
{
	bool known = false;
	int i;

	for (i = 0; i < INFO_APIS; i++) {
		opts->api[i] = !strcmp(version, info_api[i].version);
		known |= opts->api[i];
	}
	if (!known)
		usage("--api: \"%s\" is neither 1.2 nor 2.0", version);
}

static unsigned int seconds_of(const char *option, const char *text)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 1 || value > 3600)
		usage("%s: \"%s\" is not a number from 1 to 3600", option, text);
	return (unsigned int)value;
}

static void set_option(struct info_options *opts, int letter)
{
	switch (letter) {
	case 'l':
	case 'e':
	case 'g':
	case OPT_CALLS:
	case OPT_CLEAN:
		set_job(opts, letter, NULL);
		break;
	case 'v':
	case 'd':
	case 'c':
	case OPT_REPORT:
		set_job(opts, letter, optarg);
		break;
	case 'o':
		opts->output = optarg;
		break;
	case OPT_FABRIC:
		opts->fabric = optarg;
		break;
	case OPT_LIMIT:
		opts->limit = seconds_of("--limit", optarg);
		break;
	case OPT_FORCE:
		opts->force = true;
		break;
	case OPT_JSON:
		opts->json = true;
		break;
	case OPT_API:
		set_api(opts, optarg);
		break;
	case OPT_THREADSAFE:
		opts->threadsafe = true;
		break;
	case OPT_TIMEOUT:
		info_time_limit = seconds_of("--timeout", optarg);
		break;
	case OPT_SHM_DIR:
		opts->shm_dir = optarg;
		break;
	case 'h':
		fputs(help_text, stdout);
		exit(0);
	case 'V':
		puts("dat_info (dat-ofi) " PACKAGE_VERSION);
		exit(0);
	default:
		fputs("(dat_info --help)\n", stderr);
		exit(2);
	}
}

/* Rejects options that the job would ignore; sets the default of one. */
static void check_options(struct info_options *opts)
{
	if (opts->output && opts->job != 'g')
		usage("--output requires -g");
	if (opts->force && opts->job != OPT_CLEAN && opts->job != OPT_REPORT && !opts->output)
		usage("--force requires --clean, --report or -o");
	if (opts->fabric && opts->job != OPT_REPORT)
		usage("--fabric requires --report");
	if (opts->limit && opts->job != OPT_REPORT && opts->job != OPT_CALLS)
		usage("--limit requires --report or --calls");
	if (!opts->limit)
		opts->limit = LIMIT_SECONDS;
	if (opts->json && opts->job == OPT_REPORT)
		usage("--report has no JSON form");
	if (opts->threadsafe && opts->job != 'v' && opts->job != 'd' && opts->job != OPT_CALLS)
		usage("--threadsafe requires -v, -d or --calls");
}

int main(int argc, char **argv)
{
	struct info_options opts = { .api = { true, true } };
	int letter, status;

	opts.shm_dir = getenv("DAT_INFO_SHM_DIR");
	if (!opts.shm_dir || !*opts.shm_dir)
		opts.shm_dir = DEFAULT_SHM_DIR;
	while ((letter = getopt_long(argc, argv, "lv:ed:gc:o:hV", options, NULL)) != -1)
		set_option(&opts, letter);
	if (optind < argc && opts.job != OPT_CALLS)
		usage("\"%s\" is not an option", argv[optind]);
	if (!opts.job)
		opts.job = 'l';
	opts.names = argv + optind;
	check_options(&opts);
	switch (opts.job) {
	case 'v':
		status = info_show(&opts);
		break;
	case 'e':
		status = info_settings(&opts);
		break;
	case 'd':
		status = info_diagnose(&opts);
		break;
	case 'g':
		status = info_generate(&opts);
		break;
	case 'c':
		status = info_counters(&opts);
		break;
	case OPT_CALLS:
		status = info_calls(&opts);
		break;
	case OPT_REPORT:
		status = info_report(&opts);
		break;
	case OPT_CLEAN:
		status = info_clean(&opts);
		break;
	default:
		status = info_list(&opts);
	}
	if (fflush(stdout) || ferror(stdout)) {
		perror("dat_info: stdout");
		status = 1;
	}
	return status;
}
