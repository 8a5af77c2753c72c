/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the library under test with a registry file, and checks the log of the fake provider. */
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CUnit/TestRun.h>

#include "rig.h"

__attribute__((visibility(
	"default"))) struct fake_state fake_state = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct dat_calls dat;
bool rig_foreign;

static char dir[64] = "/tmp/libdat-test-XXXXXX";
static char conf_path[80];
static char catch_path[80];
static char library[PATH_MAX];
static char loaded_path[PATH_MAX];
static void *handle;
static int saved_stderr = -1;

static void clean_up(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		perror(command);
}

/*
 * Executes the program again with its own directory first in the library path: tests find their
 * provider even if another one is installed.
 */
static void make_dir(char **argv)
{
	const char *made = getenv("LIBDAT_TEST_DIR"), *search = getenv("LD_LIBRARY_PATH");
	char self[PATH_MAX], first[PATH_MAX];
	ssize_t len;

	if (made) {
		snprintf(dir, sizeof(dir), "%s", made);
		return;
	}
	if (!mkdtemp(dir)) {
		perror(dir);
		exit(99);
	}
	setenv("LIBDAT_TEST_DIR", dir, 1);
	snprintf(first, sizeof(first), "%s%s%s", dir, search ? ":" : "", search ? search : "");
	setenv("LD_LIBRARY_PATH", first, 1);
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[len > 0 ? len : 0] = '\0';
	execv(self, argv);
	perror(self);
	exit(99);
}

void rig_start(char **argv)
{
	const char *other = getenv("LIBDAT_UNDER_TEST");

	make_dir(argv);
	atexit(clean_up);
	snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", dir);
	snprintf(catch_path, sizeof(catch_path), "%s/stderr", dir);
	snprintf(library, sizeof(library), "%s", other ? other : LIBDAT_PATH);
	rig_foreign = other != NULL;
	unsetenv("DAT_OVERRIDE");
	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAT_DBG_DEST");
}

const char *rig_conf_path(void)
{
	return conf_path;
}

const char *rig_dir(void)
{
	return dir;
}

const char *rig_library(void)
{
	return library;
}

static void write_conf(const char *text)
{
	FILE *f = fopen(conf_path, "w");
	const char *mark;

	if (!f)
		abort();
	while ((mark = strstr(text, "FAKE"))) {
		fprintf(f, "%.*s%s", (int)(mark - text), text, FAKE_PATH);
		text = mark + 4;
	}
	fputs(text, f);
	fclose(f);
	setenv("DAT_OVERRIDE", conf_path, 1);
}

static void fill_calls(void)
{
#define FILL(member, symbol) *(void **)&dat.member = dlsym(handle, symbol)
#define CALL(slot, name, kind, n, ...) FILL(name, "dat_" #name);
#include CALLS
#if DAT_API_MAJOR >= 2
#include "calls_21.def"
	FILL(extension_op, "dat_extension_op");
	FILL(registry_providers_related, "dat_registry_providers_related");
#endif
#undef CALL
	FILL(ia_openv, "dat_ia_openv");
	FILL(ia_close, "dat_ia_close");
	FILL(strevent, "dat_strevent");
	FILL(strerror, "dat_strerror");
	FILL(registry_add_provider, "dat_registry_add_provider");
	FILL(registry_remove_provider, "dat_registry_remove_provider");
	FILL(registry_list_providers, "dat_registry_list_providers");
	FILL(get_ia_handle, "dats_get_ia_handle");
}

void rig_load_path(const char *path, const char *conf)
{
	if (conf)
		write_conf(conf);
	snprintf(loaded_path, sizeof(loaded_path), "%s", path);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		abort();
	}
	fill_calls();
	fake_state.hook = NULL;
	fake_state.open_answer = DAT_SUCCESS;
	fake_state.log_off = false;
	fake_state.inits = fake_state.finis = fake_state.opens = fake_state.closes = 0;
	rig_clear_log();
}

void rig_load(const char *conf)
{
	rig_load_path(library, conf);
}

void rig_unload(void)
{
	void *still;

	dlclose(handle);
	handle = NULL;
	memset(&dat, 0, sizeof(dat));
	still = dlopen(loaded_path, RTLD_NOW | RTLD_NOLOAD);
	if (!rig_foreign)
		CU_ASSERT_PTR_NULL(still);
	unsetenv("DAT_OVERRIDE");
}

void rig_in_child(void (*test)(void))
{
	unsigned int before = CU_get_run_summary()->nAssertsFailed;
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		alarm(60);
		test();
		fflush(stderr);
		_exit(CU_get_run_summary()->nAssertsFailed != before);
	}
	waitpid(pid, &status, 0);
	if (status)
		fprintf(stderr, "status 0x%x\n", status);
	CU_ASSERT_EQUAL(status, 0);
}

#define MAX_CASES 256

static struct {
	CU_pTest added;
	void (*test)(void);
} cases[MAX_CASES];
static int num_cases;

static void run_current_in_child(void)
{
	int i;

	for (i = 0; i < num_cases; i++)
		if (cases[i].added == CU_get_current_test())
			rig_in_child(cases[i].test);
}

void rig_add(CU_pSuite suite, const char *text, void (*test)(void))
{
	if (num_cases == MAX_CASES)
		abort();
	cases[num_cases].test = test;
	cases[num_cases].added =
		CU_add_test(suite, text, rig_foreign ? run_current_in_child : test);
	if (!cases[num_cases++].added)
		abort();
}

bool rig_fake_mapped(void)
{
	void *mapped = dlopen(FAKE_PATH, RTLD_NOW | RTLD_NOLOAD);

	if (mapped)
		dlclose(mapped);
	return mapped != NULL;
}

DAT_RETURN rig_open(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

	return dat.ia_openv((DAT_NAME_PTR)(uintptr_t)name, 8, &async_evd, ia, MAJOR, MINOR,
			    DAT_FALSE);
}

DAT_IA_HANDLE rig_must_open(const char *name)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	CHECK_RET(rig_open(name, &ia), DAT_SUCCESS);
	return ia;
}

const char *rig_list(void)
{
	static char text[8192];
	static DAT_PROVIDER_INFO info[128];
	DAT_PROVIDER_INFO *list[128];
	DAT_COUNT n = -1, i;
	size_t len = 0;

	for (i = 0; i < 128; i++)
		list[i] = &info[i];
	if (dat.registry_list_providers(128, &n, list) != DAT_SUCCESS)
		return "failed";
	*text = '\0';
	for (i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s/%u.%u/%d ",
					info[i].ia_name, info[i].dapl_version_major,
					info[i].dapl_version_minor, (int)info[i].is_thread_safe);
	return text;
}

void rig_capture_stderr(void)
{
	int fd = open(catch_path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	fflush(stderr);
	saved_stderr = dup(2);
	dup2(fd, 2);
	close(fd);
}

const char *rig_captured(void)
{
	static char text[8192];
	ssize_t n;

	fflush(stderr);
	lseek(2, 0, SEEK_SET);
	n = read(2, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	dup2(saved_stderr, 2);
	close(saved_stderr);
	return text;
}

void rig_clear_log(void)
{
	pthread_mutex_lock(&fake_state.lock);
	fake_state.lines = 0;
	pthread_mutex_unlock(&fake_state.lock);
}

bool rig_log_is(const char *first, ...)
{
	const char *expected = first;
	bool same = true;
	va_list args;
	int i;

	va_start(args, first);
	for (i = 0; i < fake_state.lines && same; i++) {
		same = expected && !strcmp(fake_state.log[i], expected);
		if (expected)
			expected = va_arg(args, const char *);
	}
	va_end(args);
	same = same && !expected;
	if (!same) {
		fprintf(stderr, "log of the provider:\n");
		for (i = 0; i < fake_state.lines; i++)
			fprintf(stderr, "\t%s\n", fake_state.log[i]);
	}
	rig_clear_log();
	return same;
}

bool rig_same(const char *what, DAT_RETURN got, DAT_RETURN expected)
{
	if (got != expected)
		fprintf(stderr, "%s: got 0x%08x, expected 0x%08x\n", what, got, expected);
	return got == expected;
}

bool rig_same_text(const char *got, const char *expected)
{
	bool same = got && !strcmp(got, expected);

	if (!same)
		fprintf(stderr, "got \"%s\", expected \"%s\"\n", got ? got : "(null)", expected);
	return same;
}
