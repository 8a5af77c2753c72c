/* SPDX-License-Identifier: BSD-2-Clause */
/* What does the command line ask for, and which cases follow from it? */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "perf.h"
#include "proc.h"

const char *const perf_op_name[PERF_OPS] = { "send", "write", "read" };
const char *const perf_test_name[PERF_TESTS] = { "lat", "bw", "rate" };
const char *const perf_mode_name[PERF_MODES] = { "poll", "wait" };
const char *const perf_kind_name[PERF_KINDS] = { "dat", "raw" };

#define MAX_MESSAGE ((size_t)1 << 30)
#define MAX_WINDOW 4096

static const char help_text[] =
"Usage: dat_perf [options]\n"
"Measures a DAT fabric between two processes of this machine, and, with --raw, the same\n"
"pattern on libfabric without DAT in the same run.\n"
"\n"
"What is measured\n"
"  --ia NAME          interface adapter to open (default ofi-tcp)\n"
"  --op LIST          send, write, read (default send), or all\n"
"  --test LIST        lat, bw, rate, or all (default lat,bw)\n"
"                       lat   send, write: half of a ping-pong, the receives posted before,\n"
"                             a write being seen by polling memory for its last byte;\n"
"                             read: one read at a time\n"
"                       bw    a window of operations, closed by a message and its answer\n"
"                       rate  as bw, with a larger window\n"
"  --size LIST        bytes, with K or M if wanted (default 64); all: powers of 2 to 4M\n"
"  --mode LIST        poll, wait, or all (default poll): dat_evd_dequeue in a loop, or\n"
"                     dat_evd_wait; write latency polls memory and has no wait mode\n"
"  --cq split|merged  one event queue per direction (default), or one for both\n"
"  --iters N          operations measured per round (default: by test and size)\n"
"  --warmup N         operations before these (default: a tenth of --iters)\n"
"  --window N         operations outstanding (default 16 for bw, 64 for rate)\n"
"  --burst            fill the window, wait until it is empty, fill it again\n"
"  --rounds N         repeat, alternating DAT and raw (default 5)\n"
"  --pick median|best which of the rounds is printed, for each figure (default median);\n"
"                     best is for machines that others use at the same time\n"
"\n"
"The raw twin\n"
"  --raw              measure libfabric too (FI_EP_MSG), on the address of the adapter\n"
"  --raw-only         measure libfabric alone\n"
"  --raw-provider P   libfabric provider (default: the adapter's name less \"ofi-\")\n"
"  --addr ADDRESS     address for --raw-only (default 127.0.0.1)\n"
"  --raw-delivery     ask FI_DELIVERY_COMPLETE of raw RDMA writes\n"
"  --raw-more         implies --burst; FI_MORE on all raw posts but the last of a burst\n"
"\n"
"How\n"
"  --cpus A,B|none    processors of server and client (default: the first two allowed)\n"
"  --timeout SECONDS  longest wait for anything (default 10)\n"
"  --format table|json\n"
"  --selfloop         one process, one thread, both endpoints: --iters operations of the\n"
"                     first --op and --size, one at a time, for counting instructions\n"
"  --help, --version\n"
"\n"
"Figures: latency in microseconds (latency_us is the p50); bandwidth in 10^6 bytes per\n"
"second; rate in messages per second. A ratio is DAT / raw. Exit status: 0 measured,\n"
"1 failed, 2 wrong usage.\n";

static void __attribute__((noreturn, format(printf, 1, 2))) usage(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "dat_perf: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (dat_perf --help)\n");
	exit(2);
}

static unsigned int names(const char *opt, char *list, const char *const *name, int n)
{
	unsigned int mask = 0;
	char *word, *save = NULL;
	int i;

	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (!strcmp(word, "all")) {
			mask = (1u << n) - 1;
			continue;
		}
		for (i = 0; i < n && strcmp(word, name[i]); i++)
			;
		if (i == n)
			usage("--%s: \"%s\" is not known", opt, word);
		mask |= 1u << i;
	}
	if (!mask)
		usage("--%s: the list is empty", opt);
	return mask;
}

static long number(const char *opt, const char *text, long min, long max)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		usage("--%s: \"%s\" is not a number from %ld to %ld", opt, text, min, max);
	return v;
}

static size_t bytes(const char *word)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(word, &end, 10);
	if (*end && strchr("kK", *end)) {
		v <<= 10;
		end++;
	} else if (*end && strchr("mM", *end)) {
		v <<= 20;
		end++;
	}
	if (errno || !isdigit((unsigned char)word[0]) || *end || v < 1 || v > MAX_MESSAGE)
		usage("--size: \"%s\" is not a number of bytes from 1 to 1024M", word);
	return (size_t)v;
}

static void sizes(struct perf_opts *o, char *list)
{
	char *word, *save = NULL;
	size_t s;

	o->sizes = 0;
	if (!strcmp(list, "all")) {
		for (s = 1; s <= (size_t)4 << 20; s <<= 1)
			o->size[o->sizes++] = s;
		return;
	}
	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (o->sizes == PERF_MAX_SIZES)
			usage("--size: more than %d sizes", PERF_MAX_SIZES);
		o->size[o->sizes++] = bytes(word);
	}
	if (!o->sizes)
		usage("--size: the list is empty");
}

static void cpus(struct perf_opts *o, char *list)
{
	char *comma = strchr(list, ',');

	o->pin = strcmp(list, "none") != 0;
	if (!o->pin)
		return;
	if (!comma)
		usage("--cpus: two processors are needed: A,B");
	*comma = '\0';
	o->cpu[0] = (int)number("cpus", list, 0, 65535);
	o->cpu[1] = (int)number("cpus", comma + 1, 0, 65535);
}

static int one_of(const char *opt, const char *arg, const char *a, const char *b)
{
	if (!strcmp(arg, a))
		return 0;
	if (!strcmp(arg, b))
		return 1;
	usage("--%s: \"%s\" is neither %s nor %s", opt, arg, a, b);
}

enum { OPT_IA = 256, OPT_OP, OPT_TEST, OPT_SIZE, OPT_MODE, OPT_CQ, OPT_ITERS, OPT_WARMUP,
       OPT_WINDOW, OPT_BURST, OPT_ROUNDS, OPT_RAW, OPT_RAW_ONLY, OPT_RAW_PROVIDER, OPT_ADDR,
       OPT_RAW_DELIVERY, OPT_RAW_MORE, OPT_CPUS, OPT_TIMEOUT, OPT_FORMAT, OPT_SELFLOOP,
       OPT_PICK, OPT_HELP, OPT_VERSION };

static const struct option long_option[] = {
	{ "ia", required_argument, NULL, OPT_IA },
	{ "op", required_argument, NULL, OPT_OP },
	{ "test", required_argument, NULL, OPT_TEST },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "cq", required_argument, NULL, OPT_CQ },
	{ "iters", required_argument, NULL, OPT_ITERS },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "burst", no_argument, NULL, OPT_BURST },
	{ "rounds", required_argument, NULL, OPT_ROUNDS },
	{ "pick", required_argument, NULL, OPT_PICK },
	{ "raw", no_argument, NULL, OPT_RAW },
	{ "raw-only", no_argument, NULL, OPT_RAW_ONLY },
	{ "raw-provider", required_argument, NULL, OPT_RAW_PROVIDER },
	{ "addr", required_argument, NULL, OPT_ADDR },
	{ "raw-delivery", no_argument, NULL, OPT_RAW_DELIVERY },
	{ "raw-more", no_argument, NULL, OPT_RAW_MORE },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "selfloop", no_argument, NULL, OPT_SELFLOOP },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 }
};

static void option(struct perf_opts *o, int c, char *arg)
{
	switch (c) {
	case OPT_IA: o->ia = arg; break;
	case OPT_OP: o->ops = names("op", arg, perf_op_name, PERF_OPS); break;
	case OPT_TEST: o->tests = names("test", arg, perf_test_name, PERF_TESTS); break;
	case OPT_SIZE: sizes(o, arg); break;
	case OPT_MODE: o->modes = names("mode", arg, perf_mode_name, PERF_MODES); break;
	case OPT_CQ: o->merged = one_of("cq", arg, "split", "merged"); break;
	case OPT_ITERS: o->iters = number("iters", arg, 1, 100000000); break;
	case OPT_WARMUP: o->warmup = number("warmup", arg, 0, 100000000); break;
	case OPT_WINDOW: o->window = (int)number("window", arg, 1, MAX_WINDOW); break;
	case OPT_BURST: o->burst = true; break;
	case OPT_ROUNDS: o->rounds = (int)number("rounds", arg, 1, 1000); break;
	case OPT_PICK: o->best = one_of("pick", arg, "median", "best"); break;
	case OPT_RAW: o->kinds |= 1u << PERF_RAW; break;
	case OPT_RAW_ONLY: o->kinds = 1u << PERF_RAW; break;
	case OPT_RAW_PROVIDER: o->raw_provider = arg; break;
	case OPT_ADDR: o->addr = arg; break;
	case OPT_RAW_DELIVERY: o->raw_delivery = true; break;
	case OPT_RAW_MORE: o->raw_more = o->burst = true; break;
	case OPT_CPUS: cpus(o, arg); break;
	case OPT_TIMEOUT: o->timeout_ms = 1000 * (int)number("timeout", arg, 1, 3600); break;
	case OPT_FORMAT:
		o->format = one_of("format", arg, "table", "json") ? PERF_JSON : PERF_TABLE;
		break;
	case OPT_SELFLOOP: o->selfloop = true; break;
	case OPT_HELP:
		fputs(help_text, stdout);
		exit(0);
	case OPT_VERSION:
		printf("dat_perf (%s)\n", PACKAGE_STRING);
		exit(0);
	default:
		usage("the command line is wrong");
	}
}

static void default_cpus(struct perf_opts *o)
{
	o->pin = perf_allowed_cpus(o->cpu, 2) == 2;
	if (!o->pin)
		fprintf(stderr, "dat_perf: only one processor is allowed to this process: "
			"server and client share it\n");
}

void perf_options(struct perf_opts *o, int argc, char **argv)
{
	bool cpus_given = false;
	int c;

	*o = (struct perf_opts) {
		.ia = "ofi-tcp", .addr = "127.0.0.1",
		.ops = 1u << PERF_SEND,
		.tests = 1u << PERF_LAT | 1u << PERF_BW,
		.modes = 1u << PERF_POLL,
		.kinds = 1u << PERF_DAT,
		.size = { 64 }, .sizes = 1,
		.warmup = -1, .rounds = 5, .timeout_ms = 10000,
	};
	while ((c = getopt_long(argc, argv, "", long_option, NULL)) != -1) {
		cpus_given |= c == OPT_CPUS;
		option(o, c, optarg);
	}
	if (optind < argc)
		usage("\"%s\" is not an option", argv[optind]);
	snprintf(o->fabric, sizeof(o->fabric), "%s",
		 strncmp(o->ia, "ofi-", 4) ? o->ia : o->ia + 4);
	if (!o->raw_provider)
		o->raw_provider = o->fabric;
	if (!cpus_given && !o->selfloop)
		default_cpus(o);
}

/* About half a second each: enough for stable figures, short enough for a list of sizes. */
static long default_iters(enum perf_test test, enum perf_mode mode, size_t size)
{
	size_t moved = test == PERF_LAT ? (size_t)128 << 20 : (size_t)1 << 30;
	size_t most = test == PERF_LAT ? 20000 : 100000;
	size_t n = moved / size;

	if (n > most)
		n = most;
	if (mode == PERF_WAIT)
		n /= 4;
	return n < 100 ? 100 : (long)n;
}

static struct perf_case make_case(const struct perf_opts *o, enum perf_test test,
				  enum perf_op op, enum perf_mode mode, size_t size)
{
	struct perf_case c = { .test = test, .op = op, .mode = mode, .size = size };

	c.iters = o->iters ? o->iters : default_iters(test, mode, size);
	c.warmup = o->warmup >= 0 ? o->warmup : c.iters / 10;
	if (test == PERF_LAT || o->selfloop)
		c.window = 1;
	else
		c.window = o->window ? o->window : test == PERF_BW ? 16 : 64;
	c.recv_depth = c.window < 2 ? 4 : 2 * c.window;
	return c;
}

/* Returns the number of cases; tests follow each other, so that a table can be printed for each. */
int perf_cases(const struct perf_opts *o, struct perf_case **list)
{
	struct perf_case *c = calloc((size_t)PERF_TESTS * PERF_OPS * PERF_MODES * PERF_MAX_SIZES,
				     sizeof(*c));
	int t, op, m, s, n = 0;

	if (!c)
		usage("out of memory");
	for (t = 0; t < PERF_TESTS; t++)
		for (op = 0; op < PERF_OPS; op++)
			for (m = 0; m < PERF_MODES; m++)
				for (s = 0; s < o->sizes; s++) {
					if (!(o->tests & 1u << t && o->ops & 1u << op &&
					      o->modes & 1u << m))
						continue;
					/* nothing wakes a waiter when a write arrives */
					if (t == PERF_LAT && op == PERF_WRITE && m == PERF_WAIT)
						continue;
					c[n++] = make_case(o, (enum perf_test)t, (enum perf_op)op,
							   (enum perf_mode)m, o->size[s]);
				}
	if (!n) {
		free(c);
		usage("write latency is seen by polling memory: --mode wait has no meaning for it");
	}
	*list = c;
	return n;
}
