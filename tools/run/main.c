/* SPDX-License-Identifier: BSD-2-Clause */
/* The main function of dat_run, which runs a DAT program over each of the given fabrics. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"
#include "run.h"

static struct run_options opts;
static struct run_libs libs;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void remove_all(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Creates the output folder; its path is absolute, since commands may change their directory. */
static void make_out(char *dir, size_t size)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX / 2];

	if (opts.out) {
		if ((mkdir(opts.out, 0777) && errno != EEXIST) || !realpath(opts.out, dir))
			run_usage("--out %s: %s", opts.out, strerror(errno));
		if (strlen(dir) > size - 200)
			run_usage("--out %s: %s", opts.out, strerror(ENAMETOOLONG));
		return;
	}
	snprintf(path, sizeof(path), "%s/dat_run.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(path))
		run_usage("%s: %s", path, strerror(errno));
	snprintf(dir, size, "%s", path);
}

static void list_fabrics(struct run_trial *trials, size_t count)
{
	char reason[RUN_REASON] = "";

	printf("%-10s  %-28s  here\n", "fabric", "parameters");
	for (size_t i = 0; i < count && !proc_interrupted; i++) {
		const struct run_fabric *fabric = trials[i].fabric;
		bool ok = run_probe(&trials[i], &libs, reason, sizeof(reason));

		printf("%-10s  %-28s  %-4s  %s\n", fabric->name, fabric->params, ok ? "yes" : "no",
		       ok ? run_fabric_about(fabric->name) : reason);
	}
}

static struct run_trial *make_trials(const char *out, size_t *count)
{
	struct run_trial *trials;

	*count = opts.fabrics * opts.repeat;
	trials = calloc(*count, sizeof(*trials));
	if (!trials)
		run_usage("%s", strerror(ENOMEM));
	for (size_t i = 0; i < *count; i++) {
		struct run_trial *t = &trials[i];

		t->fabric = &opts.fabric[i / opts.repeat];
		t->number = (unsigned int)(i % opts.repeat) + 1;
		if (opts.repeat > 1)
			snprintf(t->name, sizeof(t->name), "%s.%u", t->fabric->name, t->number);
		else
			snprintf(t->name, sizeof(t->name), "%s", t->fabric->name);
		snprintf(t->dir, sizeof(t->dir), "%s/%s", out, t->name);
		t->verdict = RUN_SKIP;
		snprintf(t->reason, sizeof(t->reason), "not run");
	}
	return trials;
}

static void trial_not_run(struct run_trial *trial, const char *reason)
{
	trial->verdict = opts.no_skip ? RUN_FAIL : RUN_SKIP;
	snprintf(trial->reason, sizeof(trial->reason), "%s", reason);
}

static void run_one(struct run_trial *trial)
{
	int err = run_place_make(trial, &libs);

	if (err) {
		trial->verdict = RUN_FAIL;
		snprintf(trial->reason, sizeof(trial->reason), "%.400s: %s", trial->dir,
			 strerror(-err));
		return;
	}
	*trial->reason = '\0';
	run_trial(trial, &opts, &libs);
}

static void run_all(struct run_result *result, struct run_trial *trials)
{
	const struct run_trial *base = NULL;
	char reason[RUN_REASON] = "";
	bool exists = false;

	for (size_t i = 0; i < result->count; i++) {
		struct run_trial *t = &trials[i];

		run_report_running(result, i);
		if (t->number == 1 && !proc_interrupted)
			exists = run_probe(t, &libs, reason, sizeof(reason));
		if (exists && !proc_interrupted)
			run_one(t);
		else if (!proc_interrupted)
			trial_not_run(t, reason);
		if (opts.compare && t->verdict == RUN_PASS && base)
			run_compare(t, base, &opts);
		if (t->verdict == RUN_PASS && !base)
			base = t;
		result->passed += t->verdict == RUN_PASS;
		result->failed += t->verdict == RUN_FAIL;
		result->skipped += t->verdict == RUN_SKIP;
		result->seconds += t->seconds;
		run_report_trial(result, i);
	}
}

static int end_status(const struct run_result *result)
{
	if (proc_interrupted)
		return 128 + proc_interrupted;
	if (result->failed)
		return RUN_SOME_FAILED;
	return result->passed ? RUN_ALL_PASSED : RUN_ALL_SKIPPED;
}

int main(int argc, char **argv)
{
	char out[PATH_MAX], reason[2 * PATH_MAX];
	struct run_result result = { .opts = &opts };
	struct run_trial *trials;
	bool keep;
	int status;

	run_options_parse(&opts, argc, argv);
	if (!run_libs_find(&libs, opts.libdir, reason, sizeof(reason)))
		run_usage("%s", reason);
	proc_ports_init();
	proc_init();
	make_out(out, sizeof(out));
	trials = make_trials(out, &result.count);
	result.trials = trials;
	if (opts.list) {
		list_fabrics(trials, result.count);
		status = 0;
	} else {
		run_report_begin(&result);
		run_all(&result, trials);
		status = end_status(&result);
		if (opts.junit && !run_report_junit(&result) && !status)
			status = RUN_SOME_FAILED;
	}
	keep = opts.out || (!opts.list && status == RUN_SOME_FAILED);
	if (!opts.list)
		run_report_end(&result, keep ? out : NULL);
	if (!keep)
		remove_all(out);
	free(trials);
	return status;
}
