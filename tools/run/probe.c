/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes whether a fabric works on this machine, by opening an adapter over it. */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "proc.h"
#include "run.h"
#include "text.h"

#define PROBE_LOG "probe.log"
#define PROBE_LIMIT 30.0
#define PREFIX "dat_run: "

/* The parts of the API used here are equal in both versions. */
typedef DAT_RETURN open_fn(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			   DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			   DAT_BOOLEAN thread_safety);
typedef DAT_RETURN close_fn(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

struct probe {
	const struct run_trial *trial;
	const struct run_libs *libs;
};

static int open_one(const char *library, int api)
{
	static char name[] = "dat_run";
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	close_fn *close_ia;
	open_fn *open_ia;

	if (!handle) {
		fprintf(stderr, PREFIX "%s\n", dlerror());
		return 1;
	}
	*(void **)&open_ia = dlsym(handle, "dat_ia_openv");
	*(void **)&close_ia = dlsym(handle, "dat_ia_close");
	if (!open_ia || !close_ia) {
		fprintf(stderr, PREFIX "%s is not a libdat: a symbol is missing\n", library);
		return 1;
	}
	if (open_ia(name, 8, &evd, &ia, api ? 2 : 1, api ? 0 : 2, DAT_FALSE) != DAT_SUCCESS)
		return 1;
	close_ia(ia, DAT_CLOSE_ABRUPT_FLAG);
	return 0;
}

static int probe_child(void *arg)
{
	const struct probe *probe = arg;
	int api = *probe->libs->libdat[1] ? 1 : 0;

	run_place_enter(probe->trial, probe->libs);
	/* A failed open prints its reason to stderr, the log of the probe. */
	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAT_DBG_DEST");
	_exit(open_one(probe->libs->libdat[api], api));
}

struct reason_search {
	char *reason;
	size_t size;
	int rank;
};

/* Prefers a line of the provider, then one of the loader, then any other. */
static int pick_line(char *line, void *arg)
{
	static const char provider[] = "provider: ";
	struct reason_search *w = arg;
	char *text = strstr(line, provider);
	int rank = 1;

	if (text) {
		text += sizeof(provider) - 1;
		rank = 3;
	} else {
		text = line + strspn(line, " \t");
		if (!strncmp(text, PREFIX, sizeof(PREFIX) - 1)) {
			text += sizeof(PREFIX) - 1;
			rank = 2;
		} else if (strstr(text, "cannot open shared object")) {
			rank = 2;
		}
	}
	if (rank > w->rank && *text) {
		snprintf(w->reason, w->size, "%s", text);
		w->rank = rank;
	}
	return 0;
}

static void probe_find_reason(const char *log, char *reason, size_t size)
{
	struct reason_search w = { .reason = reason, .size = size };
	size_t len;
	char *text = text_read(log, &len);

	snprintf(reason, size, "it does not open, and printed no reason");
	if (text)
		text_lines(text, pick_line, &w);
	free(text);
}

bool run_probe(struct run_trial *trial, const struct run_libs *libs, char *reason, size_t size)
{
	struct probe probe = { .trial = trial, .libs = libs };
	char log[PATH_MAX];
	struct proc p;
	bool ok, ended;
	int err;

	err = run_place_make(trial, libs);
	if (err) {
		snprintf(reason, size, "%.400s: %s", trial->dir, strerror(-err));
		return false;
	}
	run_path(log, sizeof(log), trial, PROBE_LOG);
	err = proc_start(&p, log, probe_child, &probe);
	if (err) {
		snprintf(reason, size, "cannot start a probe: %s", strerror(-err));
		return false;
	}
	ended = proc_wait_for(&p, proc_now() + PROBE_LIMIT);
	proc_end_all();
	ok = ended && WIFEXITED(p.status) && !WEXITSTATUS(p.status);
	if (ok)
		unlink(log);
	else if (!ended)
		snprintf(reason, size, "opening it did not end within %.0f s", PROBE_LIMIT);
	else if (WIFSIGNALED(p.status))
		run_judge_status(p.status, reason, size);
	else
		probe_find_reason(log, reason, size);
	return ok;
}
