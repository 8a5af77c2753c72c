/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the command line of dat_perf. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "perf.h"
#include "proc.h"
#include "exchange.h"
#include "args.h"

const char *const perf_op_name[PERF_ALL_OPS] = {
	"send", "write", "read", "immed", "fadd", "cswap", "eager", "two-queues", "halo",
};
const char *const perf_test_name[PERF_TESTS] = { "lat", "bw", "bibw", "rate" };
const char *const perf_mode_name[PERF_MODES] = { "poll", "wait", "cno", "memory" };
const char *const perf_kind_name[PERF_KINDS] = {
	"dat", "raw", "sockets", "queue", "memory",
};
const char *const perf_format_name[PERF_FORMATS] = { "table", "osu", "json", "csv" };

static const char *const queues_name[] = { "split", "merged" };
static const char *const pick_name[] = { "median", "best" };
static const char *const registration_name[] = { "message", "cached" };
static const char *const twin_name[] = { "libfabric", "sockets", "memory" };

/* clang-format off */
enum { OPT_IA = 256, OPT_OP, OPT_TEST, OPT_SIZE, OPT_MODE, OPT_CQ, OPT_ITERS, OPT_WARMUP,
       OPT_WINDOW, OPT_BURST, OPT_ROUNDS, OPT_RAW, OPT_RAW_ONLY, OPT_RAW_PROVIDER, OPT_ADDR,
       OPT_RAW_DELIVERY, OPT_RAW_MORE, OPT_QUEUE, OPT_CPUS, OPT_TIMEOUT, OPT_FORMAT, OPT_SELFLOOP,
       OPT_PICK, OPT_FABRICS, OPT_DOMAIN, OPT_EPS, OPT_SRQ, OPT_VALIDATE, OPT_SERVER,
       OPT_ONCE, OPT_PORT, OPT_BIND, OPT_LIMIT, OPT_PLOT, OPT_PATTERN, OPT_EAGER_LIMIT,
       OPT_REGISTRATION, OPT_HELP, OPT_VERSION };
/* clang-format on */

static const struct option long_option[] = {
	{ "ia", required_argument, NULL, OPT_IA },
	{ "fabrics", required_argument, NULL, OPT_FABRICS },
	{ "domain", required_argument, NULL, OPT_DOMAIN },
	{ "op", required_argument, NULL, OPT_OP },
	{ "pattern", required_argument, NULL, OPT_PATTERN },
	{ "eager-limit", required_argument, NULL, OPT_EAGER_LIMIT },
	{ "registration", required_argument, NULL, OPT_REGISTRATION },
	{ "test", required_argument, NULL, OPT_TEST },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "cq", required_argument, NULL, OPT_CQ },
	{ "eps", required_argument, NULL, OPT_EPS },
	{ "srq", no_argument, NULL, OPT_SRQ },
	{ "validate", no_argument, NULL, OPT_VALIDATE },
	{ "iters", required_argument, NULL, OPT_ITERS },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "burst", no_argument, NULL, OPT_BURST },
	{ "rounds", required_argument, NULL, OPT_ROUNDS },
	{ "pick", required_argument, NULL, OPT_PICK },
	{ "raw", optional_argument, NULL, OPT_RAW },
	{ "raw-only", no_argument, NULL, OPT_RAW_ONLY },
	{ "raw-provider", required_argument, NULL, OPT_RAW_PROVIDER },
	{ "addr", required_argument, NULL, OPT_ADDR },
	{ "raw-delivery", no_argument, NULL, OPT_RAW_DELIVERY },
	{ "raw-more", no_argument, NULL, OPT_RAW_MORE },
	{ "queue", no_argument, NULL, OPT_QUEUE },
	{ "server", no_argument, NULL, OPT_SERVER },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "bind", required_argument, NULL, OPT_BIND },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "limit", required_argument, NULL, OPT_LIMIT },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ "selfloop", no_argument, NULL, OPT_SELFLOOP },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static void parse_cpus(struct perf_opts *o, char *list)
{
	char *comma = strchr(list, ',');

	o->cpus_given = true;
	o->pin = strcmp(list, "none") != 0;
	if (!o->pin)
		return;
	if (!comma)
		perf_usage("--cpus: two processors are needed: A,B");
	*comma = '\0';
	o->cpu[0] = (int)perf_number("cpus", list, 0, 65535);
	o->cpu[1] = (int)perf_number("cpus", comma + 1, 0, 65535);
}

static void parse_provider(struct perf_plan *p, const char *name)
{
	if (!perf_name_ok(name))
		perf_usage("--raw-provider: \"%s\" cannot be the name of a provider", name);
	snprintf(p->raw_provider, sizeof(p->raw_provider), "%s", name);
}

/* --raw alone is libfabric. */
static void parse_twins(struct perf_plan *p, char *list)
{
	static const enum perf_kind kind[] = { PERF_RAW, PERF_SOCKETS, PERF_SHM };
	long twins = list ? perf_names("raw", list, twin_name, 3) : 1;
	int i;

	for (i = 0; i < 3; i++)
		if (twins & 1 << i)
			p->kinds |= 1 << kind[i];
}

/* The argument of --raw may be a word of its own; a word that is none of its names is the host. */
static char *raw_argument(int argc, char **argv)
{
	size_t len, i;

	if (optarg || optind >= argc)
		return optarg;
	len = strcspn(argv[optind], ",");
	for (i = 0; i < sizeof(twin_name) / sizeof(twin_name[0]); i++)
		if (strlen(twin_name[i]) == len && !strncmp(argv[optind], twin_name[i], len))
			return argv[optind++];
	return NULL;
}

/* Parses options of the plan; false for other options. */
static bool parse_plan_option(struct perf_plan *p, int c, char *arg)
{
	switch (c) {
	case OPT_TEST:
		p->tests = perf_names("test", arg, perf_test_name, PERF_TESTS);
		break;
	case OPT_SIZE:
		perf_sizes(p, arg);
		break;
	case OPT_MODE:
		p->modes = perf_names("mode", arg, perf_mode_name, PERF_MODES);
		break;
	case OPT_CQ:
		p->merged = perf_name("cq", arg, queues_name, 2);
		break;
	case OPT_EPS:
		p->eps = perf_number("eps", arg, 1, PERF_MAX_EPS);
		break;
	case OPT_SRQ:
		p->srq = 1;
		break;
	case OPT_VALIDATE:
		p->validate = 1;
		break;
	case OPT_ITERS:
		p->iters = perf_number("iters", arg, 1, PERF_MAX_ITERS);
		break;
	case OPT_WARMUP:
		p->warmup = perf_number("warmup", arg, 0, PERF_MAX_ITERS);
		break;
	case OPT_WINDOW:
		p->window = perf_number("window", arg, 1, PERF_MAX_WINDOW);
		break;
	case OPT_BURST:
		p->burst = 1;
		break;
	case OPT_ROUNDS:
		p->rounds = perf_number("rounds", arg, 1, 1000);
		break;
	case OPT_PATTERN:
		p->ops = perf_names("pattern", arg, perf_op_name + PERF_OPS, PERF_PATTERNS)
			 << PERF_OPS;
		break;
	case OPT_EAGER_LIMIT:
		p->eager_limit = (long)perf_bytes("eager-limit", arg, PERF_MAX_EAGER);
		break;
	case OPT_REGISTRATION:
		p->cached = perf_name("registration", arg, registration_name, 2);
		break;
	case OPT_RAW:
		parse_twins(p, arg);
		break;
	case OPT_QUEUE:
		p->kinds |= 1 << PERF_QUEUE;
		break;
	case OPT_RAW_PROVIDER:
		parse_provider(p, arg);
		break;
	case OPT_RAW_DELIVERY:
		p->raw_delivery = 1;
		break;
	case OPT_RAW_MORE:
		p->raw_more = p->burst = 1;
		break;
	case OPT_TIMEOUT:
		p->timeout_ms = 1000 * perf_number("timeout", arg, 1, 3600);
		break;
	default:
		return false;
	}
	return true;
}

static void parse_option(struct perf_opts *o, int c, char *arg)
{
	switch (c) {
	case OPT_OP:
		o->any_op |= strstr(arg, "all") != NULL;
		o->plan.ops = perf_names("op", arg, perf_op_name, PERF_OPS);
		break;
	case OPT_IA:
		o->ia = arg;
		break;
	case OPT_FABRICS:
		perf_fabrics(o, arg);
		break;
	case OPT_DOMAIN:
		o->domain = arg;
		break;
	case OPT_PICK:
		o->best = perf_name("pick", arg, pick_name, 2);
		break;
	case OPT_ADDR:
		o->addr = arg;
		break;
	case OPT_SERVER:
		o->server = true;
		break;
	case OPT_ONCE:
		o->once = true;
		break;
	case OPT_PORT:
		perf_number("port", arg, 0, 65535);
		o->port = arg;
		break;
	case OPT_RAW_ONLY:
		o->raw_only = true;
		break;
	case OPT_BIND:
		o->bind = arg;
		break;
	case OPT_CPUS:
		parse_cpus(o, arg);
		break;
	case OPT_LIMIT:
		o->limit_s = (int)perf_number("limit", arg, 1, 1000000);
		break;
	case OPT_FORMAT:
		o->format =
			(enum perf_format)perf_name("format", arg, perf_format_name, PERF_FORMATS);
		break;
	case OPT_PLOT:
		o->plot = arg;
		break;
	case OPT_SELFLOOP:
		o->selfloop = true;
		break;
	case OPT_HELP:
		fputs(perf_help, stdout);
		exit(0);
	case OPT_VERSION:
		printf("dat_perf (%s)\n", PACKAGE_STRING);
		exit(0);
	default:
		perf_usage("unknown option or missing value");
	}
}

/* With a remote server one processor is enough; two local processes use two. */
static void default_cpus(struct perf_opts *o)
{
	o->pin = perf_allowed_cpus(o->cpu, 2) == 2;
	if (!o->pin && !o->server && !o->host)
		fprintf(stderr, "dat_perf: only one processor is allowed to this process: "
				"server and client share it\n");
}

static bool has_no_blanks(const char *text)
{
	return !text || (*text && !text[strcspn(text, " \t\n\"\\")]);
}

static void check_patterns(const struct perf_opts *o)
{
	const struct perf_plan *p = &o->plan;

	if (p->ops >> PERF_OPS == 0) {
		if (p->kinds & (1 << PERF_SOCKETS | 1 << PERF_SHM))
			perf_usage("--raw sockets and memory are for --pattern");
		return;
	}
	if (p->kinds & (1 << PERF_RAW | 1 << PERF_QUEUE))
		perf_usage("patterns are compared with --raw sockets or --raw memory");
	if (o->selfloop || p->srq || p->eps > 1)
		perf_usage("--pattern takes neither --selfloop nor --srq nor --eps");
	if (p->kinds & 1 << PERF_SHM && (o->host || o->server))
		perf_usage("--raw memory is for two processes that dat_perf starts itself");
}

static void check_combinations(struct perf_opts *o)
{
	struct perf_case *list;

	if (o->ia && o->fabrics)
		perf_usage("--ia and --fabrics exclude each other");
	if (o->domain && !o->fabrics && !o->server)
		perf_usage("--domain is for --fabrics; the adapter of --ia has its own");
	if (!has_no_blanks(o->domain))
		perf_usage("--domain: \"%s\" cannot be a name", o->domain);
	if (o->server && (o->host || o->fabrics || o->selfloop))
		perf_usage("--server takes neither HOST nor --fabrics nor --selfloop");
	if (o->selfloop && (o->host || o->fabrics || o->plan.srq || o->plan.validate))
		perf_usage("--selfloop takes neither HOST nor --fabrics nor --srq nor --validate");
	check_patterns(o);
	if (o->plan.kinds & 1 << PERF_QUEUE && (o->host || o->server || o->selfloop))
		perf_usage("--queue is for two processes that dat_perf starts itself");
	if (!perf_cases(&o->plan, o->selfloop, &list) && o->plan.ops >> PERF_OPS)
		perf_usage("no case is left: patterns poll; eager has lat, bw and rate, two-queues "
			   "lat, halo lat and bw");
	free(list);
	if (!perf_cases(&o->plan, o->selfloop, &list))
		perf_usage("no case is left: write latency is measured by polling memory, so it "
			   "excludes --mode wait and cno, and --mode memory applies to it only");
	free(list);
}

static void set_fabric(struct perf_opts *o)
{
	const char *name = strncmp(o->ia, "ofi-", 4) ? o->ia : o->ia + 4;

	if (!o->fabrics && !perf_name_ok(name))
		perf_usage("--ia: \"%s\" is too long or has characters that no name has", o->ia);
	snprintf(o->plan.fabric, sizeof(o->plan.fabric), "%s", name);
	if (o->selfloop && !o->plan.raw_provider[0])
		snprintf(o->plan.raw_provider, sizeof(o->plan.raw_provider), "%s",
			 o->plan.kinds & 1 << PERF_DAT ? PERF_RAW_AUTO
						       : perf_raw_provider(name, true));
}

void perf_options(struct perf_opts *o, int argc, char **argv)
{
	int c;

	*o = (struct perf_opts) {
		.plan = {
			.ops = 1 << PERF_SEND,
			.tests = 1 << PERF_LAT | 1 << PERF_BW,
			.modes = 1 << PERF_POLL,
			.kinds = 1 << PERF_DAT,
			.size = { 64 }, .sizes = 1,
			.warmup = -1, .rounds = 5, .timeout_ms = 10000, .eps = 1,
			.eager_limit = 8192,
		},
		.port = "18600", .limit_s = 3600,
	};
	while ((c = getopt_long(argc, argv, "", long_option, NULL)) != -1)
		if (!parse_plan_option(&o->plan, c,
				       c == OPT_RAW ? raw_argument(argc, argv) : optarg))
			parse_option(o, c, optarg);
	if (o->raw_only) {
		o->plan.kinds &= ~(1l << PERF_DAT);
		if (!(o->plan.kinds & (1 << PERF_SOCKETS | 1 << PERF_SHM)))
			o->plan.kinds |= 1 << PERF_RAW;
	}
	if (optind < argc)
		o->host = argv[optind++];
	if (optind < argc)
		perf_usage("\"%s\" is not an option", argv[optind]);
	check_combinations(o);
	if (!o->ia && !o->server)
		o->ia = "ofi-tcp";
	if (o->ia)
		set_fabric(o);
	if (!o->cpus_given && !o->selfloop)
		default_cpus(o);
}
