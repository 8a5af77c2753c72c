/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes each call of the library that can fail fail in turn, in one of two processes.
 *
 * A case is SIDE/FUNCTION:ERROR/MODE/N: call N of the function fails, once, or with all that follow
 * ("lasting") until a call or an event reports a failure or nothing moves. -a runs all cases: N
 * grows until a run ends without a failure. Otherwise a sample is run, for ms=6000: the seed is the
 * day unless seed=NUMBER is given. FAULTS_CASE in the environment selects the cases whose name
 * contains it.
 */
#include "play.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"

#define LIMIT_MS 60000
#define CASE_NAME 96
/* Reported, because most such runs have waited for a time limit. */
#define US_SLOW 1200000u

struct result *result;

static int messages = -1; /* what the players write to stderr */
static long runs, failures, slow;
static long calls[2][2][FN_COUNT]; /* without a failure, by side and library */

static void player(const struct fault *fault, bool server)
{
	dup2(messages, STDERR_FILENO);
	play(fault, server);
}

static void client(void *arg)
{
	player(arg, false);
}

static void server(void *arg)
{
	player(arg, true);
}

static void show_messages(void)
{
	char text[4000];
	ssize_t n;

	fflush(stdout);
	lseek(messages, 0, SEEK_SET);
	while ((n = read(messages, text, sizeof(text))) > 0)
		if (write(STDOUT_FILENO, text, (size_t)n) != n)
			break;
}

/* Symbols of hidden functions are in the debug information only. */
static void show_where(void)
{
	for (int i = 2; i < result->frames && i < FAULT_FRAMES; i++) {
		char command[400];
		Dl_info info;

		if (!dladdr((char *)result->where[i] - 1, &info) || !info.dli_fname)
			continue;
		fflush(stdout);
		snprintf(command, sizeof(command),
			 "echo \"#   $(addr2line -fpse %s %#tx 2>/dev/null || echo %#tx)\" %s",
			 info.dli_fname, (char *)result->where[i] - 1 - (char *)info.dli_fbase,
			 (char *)result->where[i] - (char *)info.dli_fbase,
			 strrchr(info.dli_fname, '/') + 1);
		if (system(command))
			return;
	}
}

static bool run_case(const char *name, struct fault *fault)
{
	uint64_t began;

	if (!rl_begin(name, LIMIT_MS))
		return false;
	memset(result, 0, sizeof(*result));
	if (ftruncate(messages, 0) || lseek(messages, 0, SEEK_SET))
		rl_note("no file for messages");
	began = rl_now();
	rl_start("server", server, fault);
	rl_start("client", client, fault);
	if (rl_end()) {
		if (!result->given || rl_now() - began < US_SLOW)
			return true;
		rl_note("%s took %.1f s", name, (double)(rl_now() - began) / 1e6);
		slow++;
		show_where();
		return true;
	}
	failures++;
	show_messages();
	show_where();
	return false;
}

static const char *selected(void)
{
	const char *at = getenv("FAULTS_CASE");

	return at ? at : "";
}

static void name_case(const struct fault *f, char name[CASE_NAME])
{
	snprintf(name, CASE_NAME, "%s/%s%s/%s/%ld", f->at_server ? "server" : "client",
		 f->libfabric ? "libfabric." : "", fault_name(f->kind),
		 f->lasting ? "lasting" : "once", f->nth);
}

/* The calls of this kind in a run without a failure. */
static long count_of(const struct fault *f)
{
	return calls[f->at_server][f->libfabric][f->kind];
}

/* True if the call was reached, or might have been. */
static bool run_fault(struct fault *f)
{
	char name[CASE_NAME];

	name_case(f, name);
	if (!strstr(name, selected()))
		return f->nth < count_of(f) + 20;
	if (!run_case(name, f))
		return true;
	runs += result->given > 0;
	return result->given > 0;
}

/* With an odd number and with an even one, because those wait differently. */
static void count_calls(void)
{
	for (long nth = 0; nth < 2; nth++) {
		struct fault f = { .kind = -1, .nth = nth };
		_Atomic long *got = &result->calls[0][0][0];
		long *most = &calls[0][0][0];

		run_case(nth ? "no-fault/evd" : "no-fault/cno", &f);
		for (int i = 0; i < 4 * FN_COUNT; i++)
			if (got[i] > most[i])
				most[i] = got[i];
	}
}

/* The kinds of faults, by number. */
static struct fault find_kind(int i)
{
	return (struct fault){
		.kind = i / 8, .at_server = i & 1, .lasting = i & 2, .libfabric = i & 4
	};
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

/* README.md has the reasons. */
static bool is_excluded(const struct fault *f)
{
	static const struct {
		const char *fabrics, *cases;
	} excluded[] = {
#define EXCLUDED(fabrics_, cases_) { fabrics_, cases_ },
#include "excluded.def"
#undef EXCLUDED
		{ NULL, NULL },
	};
	char name[CASE_NAME];

	name_case(f, name);
	for (int i = 0; excluded[i].cases; i++)
		if (has_word(excluded[i].fabrics, test_fabric()->name) &&
		    strstr(name, excluded[i].cases))
			return true;
	return false;
}

static void run_all(void)
{
	for (int i = 0; i < 8 * fault_kinds(); i++) {
		struct fault f = find_kind(i);

		if (count_of(&f) && (*selected() || !is_excluded(&f)))
			for (f.nth = 1; run_fault(&f); f.nth++)
				;
	}
}

/* Faults of the calls by libfabric are left to the complete run. */
static bool is_sampled(const struct fault *f)
{
	return !f->libfabric && !is_excluded(f);
}

static long count_cases(bool sample)
{
	long n = 0;

	for (int i = 0; i < 8 * fault_kinds(); i++) {
		struct fault f = find_kind(i);

		n += (sample ? is_sampled(&f) : !is_excluded(&f)) ? count_of(&f) : 0;
	}
	return n;
}

/* The case of the sample with this number, below count_cases(true). */
static struct fault find_case(long number)
{
	struct fault f = find_kind(0);

	for (int i = 0; i < 8 * fault_kinds(); i++) {
		long n;

		f = find_kind(i);
		n = is_sampled(&f) ? count_of(&f) : 0;
		f.nth = 1 + number;
		if (number < n)
			break;
		number -= n;
	}
	return f;
}

static void run_sample(long ms)
{
	uint64_t end = rl_now() + (uint64_t)ms * 1000, state;
	long seed = time(NULL) / 86400, all = count_cases(true);

	rl_option("seed", &seed);
	rl_note("seed=%ld", seed);
	state = (uint64_t)seed;
	while (all && rl_now() < end) {
		struct fault f = find_case((long)rl_random(&state) % all);

		run_fault(&f);
	}
}

static void run(void)
{
	long ms = 6000;

	rl_option("ms", &ms);
	messages = memfd_create("messages", MFD_CLOEXEC);
	result = rl_shared(sizeof(*result));
	/* What libraries load and keep for good is done once, here. */
	fault_prepare();
	rd_warm_up();
	count_calls();
	if (rl_option("-a", NULL) || *selected())
		run_all();
	else
		run_sample(ms);
	rl_note("of about %ld cases %ld ran; %ld failed, %ld took long", count_cases(false), runs,
		failures, slow);
}

int main(int argc, char **argv)
{
	bool sample = argc > 1 && strcmp(argv[1], "-a") != 0;

	return rl_main(argc, argv, sample ? 100 : 7200, run);
}
