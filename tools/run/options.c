/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the command line of dat_run. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "run.h"

/* clang-format off */
static const char help_text[] =
"Usage: dat_run [options] -- program [arguments]\n"
"Runs a DAT program, unchanged, over one fabric after another: any adapter name that it opens\n"
"maps to the fabric.\n"
"\n"
"Where\n"
"  -f, --fabric LIST      names from the table of -f list, separated by commas, or all (the\n"
"                         default); NAME=PARAMETERS: a fabric by the parameters of dat.conf\n"
"      --libdir DIR       where libdat and libdaplofi are (installed, or a build tree)\n"
"      --no-skip          a fabric that does not open fails instead of being skipped\n"
"      --repeat N         number of runs over each fabric\n"
"\n"
"Client and server programs\n"
"  -s, --server COMMAND   a shell command started first; the program follows when it is ready:\n"
"                         when it listens on a port and has settled down, or else\n"
"      --port N             when it listens on this port\n"
"      --ready TEXT         when it has printed this\n"
"      --wait-s S           after this number of seconds\n"
"      --ready-limit S    the longest time for that (default 20)\n"
"      --server-quits     the server ends by itself, with status 0, when the program has ended;\n"
"                         without this it is terminated\n"
"      --grace S          how long that may take (default 15)\n"
"\n"
"Judging; REGEX is an extended regular expression, searched in each line of output\n"
"  -l, --limit S          the longest time for one run (default 60)\n"
"      --expect REGEX     must be in the program's output\n"
"      --reject REGEX     must not be there\n"
"      --server-expect REGEX, --server-reject REGEX    the same for the server's output\n"
"  -c, --compare          the output must be the same over all fabrics, apart from times,\n"
"                         process numbers, addresses, ports and the like\n"
"      --ignore REGEX     what else may differ\n"
"\n"
"Results\n"
"  -o, --out DIR          keep the output there, in a folder for each run; without it, in a\n"
"                         fresh folder that is removed when nothing has failed\n"
"      --show             print all output, not only the tail of failed runs\n"
"      --tap, --json      print TAP or JSON instead of a table\n"
"      --junit FILE       write JUnit XML, too\n"
"  -h, --help    -V, --version\n"
"\n"
"Exit status: 0 all passed (some may be skipped), 1 something failed, 2 wrong usage, 77 all\n"
"skipped.\n";

enum {
	OPT_LIBDIR = 256, OPT_NO_SKIP, OPT_REPEAT, OPT_PORT, OPT_READY, OPT_WAIT, OPT_READY_LIMIT,
	OPT_QUITS, OPT_GRACE, OPT_EXPECT, OPT_REJECT, OPT_SERVER_EXPECT, OPT_SERVER_REJECT,
	OPT_IGNORE, OPT_SHOW, OPT_TAP, OPT_JSON, OPT_JUNIT,
};
/* clang-format on */

static const struct option long_options[] = {
	{ "fabric", required_argument, NULL, 'f' },
	{ "server", required_argument, NULL, 's' },
	{ "limit", required_argument, NULL, 'l' },
	{ "compare", no_argument, NULL, 'c' },
	{ "out", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "libdir", required_argument, NULL, OPT_LIBDIR },
	{ "no-skip", no_argument, NULL, OPT_NO_SKIP },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "ready", required_argument, NULL, OPT_READY },
	{ "wait-s", required_argument, NULL, OPT_WAIT },
	{ "ready-limit", required_argument, NULL, OPT_READY_LIMIT },
	{ "server-quits", no_argument, NULL, OPT_QUITS },
	{ "grace", required_argument, NULL, OPT_GRACE },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "reject", required_argument, NULL, OPT_REJECT },
	{ "server-expect", required_argument, NULL, OPT_SERVER_EXPECT },
	{ "server-reject", required_argument, NULL, OPT_SERVER_REJECT },
	{ "ignore", required_argument, NULL, OPT_IGNORE },
	{ "show", no_argument, NULL, OPT_SHOW },
	{ "tap", no_argument, NULL, OPT_TAP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "junit", required_argument, NULL, OPT_JUNIT },
	{ NULL, 0, NULL, 0 },
};

static double parse_seconds(const char *option, const char *text, double least)
{
	char *end;
	double s;

	errno = 0;
	s = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(s) || s < least || s > 1e6)
		run_usage("--%s: \"%s\" is not a number of seconds", option, text);
	return s;
}

static unsigned int parse_number(const char *option, const char *text, unsigned long most)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || !n || n > most)
		run_usage("--%s: \"%s\" is not a number from 1 to %lu", option, text, most);
	return (unsigned int)n;
}

static void parse_pattern(const char *option, struct run_patterns *list, const char *text)
{
	char why[128];
	int err;

	if (list->count == RUN_MAX_PATTERNS)
		run_usage("--%s: more than %d times", option, RUN_MAX_PATTERNS);
	err = regcomp(&list->re[list->count], text, REG_EXTENDED);
	if (err) {
		regerror(err, &list->re[list->count], why, sizeof(why));
		run_usage("--%s: \"%s\": %s", option, text, why);
	}
	list->text[list->count++] = text;
}

static const char *not_empty(const char *option, const char *text)
{
	if (!*text)
		run_usage("--%s: needs a value", option);
	return text;
}

static void set_judging(struct run_options *o, int option)
{
	switch (option) {
	case 'l':
		o->limit = parse_seconds("limit", optarg, 0.01);
		break;
	case 'c':
		o->compare = true;
		break;
	case OPT_EXPECT:
		parse_pattern("expect", &o->expect, optarg);
		break;
	case OPT_REJECT:
		parse_pattern("reject", &o->reject, optarg);
		break;
	case OPT_SERVER_EXPECT:
		parse_pattern("server-expect", &o->server_expect, optarg);
		break;
	case OPT_SERVER_REJECT:
		parse_pattern("server-reject", &o->server_reject, optarg);
		break;
	case OPT_IGNORE:
		parse_pattern("ignore", &o->ignore, optarg);
		break;
	default:
		run_usage("unknown option");
	}
}

static void set_result(struct run_options *o, int option)
{
	switch (option) {
	case 'o':
		o->out = not_empty("out", optarg);
		break;
	case OPT_SHOW:
		o->show = true;
		break;
	case OPT_TAP:
		o->format = RUN_TAP;
		break;
	case OPT_JSON:
		o->format = RUN_JSON;
		break;
	case OPT_JUNIT:
		o->junit = not_empty("junit", optarg);
		break;
	default:
		set_judging(o, option);
	}
}

static void set_option(struct run_options *o, int option)
{
	switch (option) {
	case 'f':
		run_fabric_add(o, optarg);
		break;
	case 's':
		o->server = not_empty("server", optarg);
		break;
	case OPT_LIBDIR:
		o->libdir = not_empty("libdir", optarg);
		break;
	case OPT_NO_SKIP:
		o->no_skip = true;
		break;
	case OPT_REPEAT:
		o->repeat = parse_number("repeat", optarg, RUN_MAX_REPEAT);
		break;
	case OPT_PORT:
		o->port = parse_number("port", optarg, 65535);
		break;
	case OPT_READY:
		o->ready = not_empty("ready", optarg);
		break;
	case OPT_WAIT:
		o->wait_s = parse_seconds("wait-s", optarg, 0);
		break;
	case OPT_READY_LIMIT:
		o->ready_limit = parse_seconds("ready-limit", optarg, 0);
		break;
	case OPT_QUITS:
		o->server_quits = true;
		break;
	case OPT_GRACE:
		o->grace = parse_seconds("grace", optarg, 0);
		break;
	default:
		set_result(o, option);
	}
}

static void check_options(const struct run_options *o)
{
	bool about_server = o->port || o->ready || o->wait_s >= 0 || o->server_quits ||
			    o->server_expect.count || o->server_reject.count;

	if (!o->command[0])
		run_usage("no program to run");
	if (!o->server && about_server)
		run_usage("an option of the server needs --server");
	if (!!o->port + !!o->ready + (o->wait_s >= 0) > 1)
		run_usage("--port, --ready and --wait-s exclude each other");
}

void run_options_parse(struct run_options *o, int argc, char **argv)
{
	int option;

	memset(o, 0, sizeof(*o));
	o->wait_s = -1;
	o->ready_limit = 20;
	o->limit = 60;
	o->grace = 15;
	o->repeat = 1;
	while ((option = getopt_long(argc, argv, "+f:s:l:co:hV", long_options, NULL)) != -1) {
		if (option == 'h' || option == 'V') {
			fputs(option == 'h' ? help_text : PACKAGE_STRING "\n", stdout);
			exit(0);
		}
		if (option == '?') {
			fputs("dat_run --help lists the options.\n", stderr);
			exit(RUN_USAGE);
		}
		set_option(o, option);
	}
	o->command = argv + optind;
	if (!o->fabrics)
		run_fabric_add_all(o);
	if (!o->list)
		check_options(o);
}
