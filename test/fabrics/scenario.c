/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that two processes that run a random scenario see the same events on every fabric.
 *
 * Prints a normalised log of each scenario, which test/fabrics/scenarios compares between fabrics.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

static struct sc_scene scene;
static unsigned int first_seed = 1, seeds = 60;
static bool quiet, only_open;

struct role {
	int side;
};

static void play(void *arg)
{
	const struct role *role = arg;
	static struct sc_side s;

	rl_activity("opening");
	sc_open_side(&s, &scene, role->side);
	for (s.step = 0; s.step < scene.steps; s.step++)
		if (!sc_play(&s, &scene.step[s.step]))
			return;
	s.step--;
	sc_close_side(&s);
	for (int ep = 0; ep < scene.eps; ep++)
		sc_write(role->side, ep, SC_CALL, "closed gracefully\n");
}

/* Loading libfabric takes a fifth of a second (a library below it measures the clock): once for all
 * players. Signal actions are put back as the provider does it. */
static void preload(void)
{
	struct sigaction saved[NSIG];

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, NULL, &saved[sig]);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	(void)dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &saved[sig], NULL);
}

/* True if the fabric opens; otherwise libdat reports the reason on stderr. */
static void open_and_close(void *arg)
{
	struct rd rd;

	(void)arg;
	rd_open(&rd, 0, 8);
	rd_close(&rd);
}

static void run(void)
{
	static const struct role roles[2] = { { 0 }, { 1 } };
	static const char *const names[2] = { "left", "right" };
	char name[32];

	/* The survivor of a peer with unreceived messages need not wait long. */
	setenv("DAPL_OFI_GRACE_MS", "50", 0);
	if (only_open) {
		if (rl_begin("open", 30000)) {
			rl_start("opener", open_and_close, NULL);
			rl_end();
		}
		return;
	}
	setenv("DAPL_OFI_LOG", "0", 0);
	preload();
	for (unsigned int i = 0; i < seeds; i++) {
		snprintf(name, sizeof(name), "seed-%u", first_seed + i);
		if (!rl_begin(name, 30000))
			continue;
		sc_make(&scene, first_seed + i);
		sc_log = rl_shared(sizeof(*sc_log));
		for (int side = 0; side < 2; side++) {
			const struct sc_step *last = &scene.step[scene.steps - 1];
			void *role = (void *)(uintptr_t)&roles[side];

			if (last->act == SC_KILL && last->by == side)
				rl_start_victim(names[side], play, role);
			else
				rl_start(names[side], play, role);
		}
		/* Prints the partial log of a failed scenario. */
		if (!rl_end() || !quiet)
			sc_print(&scene);
		rl_unshare(sc_log, sizeof(*sc_log));
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "fabric", required_argument, NULL, 'f' },
		{ "seed", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'n' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "open", no_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	bool one = false, counted = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "f:s:n:qo", options, NULL)) != -1) {
		switch (opt) {
		case 'f':
			setenv("DAT_TEST_FABRIC", optarg, 1);
			unsetenv("DAT_TEST_PARAMS");
			break;
		case 's':
			first_seed = (unsigned int)strtoul(optarg, NULL, 0);
			one = true;
			break;
		case 'n':
			seeds = (unsigned int)strtoul(optarg, NULL, 0);
			counted = true;
			break;
		case 'q':
			quiet = true;
			break;
		case 'o':
			only_open = true;
			break;
		default:
			fprintf(stderr,
				"usage: %s [--fabric NAME] [--seed N] [--count N] [--quiet]\n"
				"       %s [--fabric NAME] --open\n"
				"Plays scenarios 1 to 60, or that of one seed, or opens the "
				"fabric only.\n",
				argv[0], argv[0]);
			return 2;
		}
	}
	if (one && !counted)
		seeds = 1;
	/* The driver's filter of cases must not see the values of options. */
	return rl_main(1, argv, 30 + seeds * 4, run);
}
