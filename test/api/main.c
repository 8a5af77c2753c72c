/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the IA that the suites run over. */
#include "api.h"
#include "../fabrics/fabrics.h"

#include <dirent.h>
#include <dlfcn.h>

/* The build tree's provider and the directory of this file, unless the environment differs. */
#ifndef TEST_PROVIDER
#error "TEST_PROVIDER must name the provider library"
#endif
#ifndef TEST_SKIPS
#error "TEST_SKIPS must name the skip file"
#endif

#if defined(__SANITIZE_THREAD__)
/* What libfabric, which is not instrumented, does with the memory that a peer reads and writes is
 * ordered by messages that ThreadSanitizer does not see. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
	return "race:libfabric.so\n";
}
#endif

static char dir[] = "/tmp/dat-test-XXXXXX";
static char conf[64];
static char name6[280];
static const struct test_fabric *fabric;

const char *ia_name(void)
{
	const char *name = getenv("DAT_TEST_IA");

	return name && *name ? name : "dat-test";
}

const char *ia6_name(void)
{
	snprintf(name6, sizeof(name6), "%s-6", ia_name());
	return name6;
}

void need_ipv6(void)
{
	const char *domain = strstr(fabric->params6, "domain=");

	if (!domain || !strchr(domain, ':'))
		dt_skip("the parameters of the adapter for IPv6 (DAT_TEST_PARAMS6) name no IPv6 "
			"address");
}

bool fabric_is(const char *name)
{
	return !strcmp(fabric->name, name);
}

bool fabric_has(const char *trait)
{
	return test_fabric_has(fabric, trait);
}

const char *fabric_params(void)
{
	return fabric->params;
}

static const char *env_or(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

const char *provider_path(void)
{
	return env_or("DAT_TEST_PROVIDER", TEST_PROVIDER);
}

static void write_line(FILE *f, const char *name, const char *safe, const char *library,
		       const char *params)
{
	fprintf(f, "%s u%d.%d %s default %s dat_ofi.%d.%d \"%s\" \"\"\n", name, DAT_VERSION_MAJOR,
		DAT_VERSION_MINOR, safe, library, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, params);
}

void conf_line(char *to, size_t size, const char *name, const char *library, const char *params)
{
	FILE *f = fmemopen(to, size, "w");

	ASSERT(f != NULL);
	write_line(f, name, "threadsafe", library, params);
	fclose(f);
}

void conf_text(const char *text)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/case-%d.conf", dir, (int)getpid());
	f = fopen(path, "we");
	ASSERT(f != NULL);
	fputs(text, f);
	fclose(f);
	ASSERT_EQ(setenv("DAT_OVERRIDE", path, 1), 0);
}

void conf_for_domains(const char *domain, const char *domain6)
{
	const char *given = strstr(fabric->params, "provider="), *domains[] = { domain, domain6 };
	char lines[2][1024], text[2048], params[128];

	/* The environment may have named the fabric differently from its provider. */
	if (!given)
		given = "";
	for (int i = 0; i < 2; i++) {
		snprintf(params, sizeof(params), "%.*s domain=%s", (int)strcspn(given, " \t;"),
			 given, domains[i]);
		conf_line(lines[i], sizeof(lines[i]), i ? ia6_name() : ia_name(), provider_path(),
			  params);
	}
	snprintf(text, sizeof(text), "%s%s", lines[0], lines[1]);
	conf_text(text);
}

void conf_for_domain(const char *domain)
{
	conf_for_domains(domain, domain);
}

/* Uses a private registry file, independent of that of the machine. */
static int write_conf(void)
{
	FILE *f;

	snprintf(conf, sizeof(conf), "%s/dat.conf", dir);
	f = fopen(conf, "we");
	if (!f)
		return -errno;
	write_line(f, ia_name(), "threadsafe", provider_path(), fabric->params);
	write_line(f, ia_name(), "nonthreadsafe", provider_path(), fabric->params);
	write_line(f, ia6_name(), "threadsafe", provider_path(), fabric->params6);
	fclose(f);
	return setenv("DAT_OVERRIDE", conf, 1) ? -errno : 0;
}

static void remove_dir(void)
{
	char path[400];
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

/* The settings that the provider makes while libfabric's providers read theirs
 * (fabric/fab_lib.c). */
static const char *const settings[][2] = {
	{ "FI_TCP_STAGING_SBUF_SIZE", "0" },
	{ "FI_MR_CACHE_MONITOR", "disabled" },
	{ "IPATH_NO_BACKTRACE", "1" },
};
#define SETTINGS (sizeof(settings) / sizeof(*settings))

static void initialise_fabric_library(void *library)
{
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       void *hints, void **info);
	void (*freeinfo)(void *info);
	void *info = NULL;

	*(void **)&getinfo = dlsym(library, "fi_getinfo");
	*(void **)&freeinfo = dlsym(library, "fi_freeinfo");
	if (getinfo && freeinfo && !getinfo(1 << 16 | 9, NULL, NULL, 0, NULL, &info))
		freeinfo(info);
}

/*
 * Loading libfabric takes 0.2 s (a library that it loads calibrates the clock), and initialising
 * its providers 0.1 s more (verbs reads the kernel's symbols twice): both once, before forking
 * children. Restores signal actions and the environment as the provider does.
 */
static void load_fabric_library(void)
{
	bool own[SETTINGS];
	struct sigaction saved[NSIG];
	void *library;
	int sig;

	if (getenv("DAT_TEST_NO_PRELOAD"))
		return;
	for (sig = 1; sig < NSIG; sig++)
		sigaction(sig, NULL, &saved[sig]);
	for (size_t i = 0; i < SETTINGS; i++) {
		own[i] = !getenv(settings[i][0]);
		setenv(settings[i][0], settings[i][1], 0);
	}
	library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	/* Other providers read more settings of the provider's then. */
	if (library && (!strncmp(fabric->name, "tcp", 3) || !strcmp(fabric->name, "shm") ||
			!strcmp(fabric->name, "delegating")))
		initialise_fabric_library(library);
	for (size_t i = 0; i < SETTINGS; i++)
		if (own[i])
			unsetenv(settings[i][0]);
	for (sig = 1; sig < NSIG; sig++)
		sigaction(sig, &saved[sig], NULL);
}

int main(int argc, char **argv)
{
	struct dt_program prog = {
		.name = "uDAPL " DAT_TEST_VERSION " through the public API",
		.skip_file = env_or("DAT_TEST_SKIPS", TEST_SKIPS),
	};
	/* A registry file and an IA name from the environment are used unchanged. */
	bool own_conf = !getenv("DAT_TEST_IA") || !getenv("DAT_OVERRIDE");
	int rc;

	fabric = test_fabric();
	if (!fabric)
		return 2;
	prog.fabric = fabric->name;
	if (!mkdtemp(dir) || (own_conf && write_conf() != 0)) {
		perror(dir);
		return 2;
	}
	/* The caller's environment must not override the fabric of the registry file. */
	unsetenv("DAPL_OFI_PROVIDER");
	load_fabric_library();
	rc = dt_main(argc, argv, &prog);
	remove_dir();
	return rc;
}
