/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a report for the developers of dat-ofi: what this machine has, which fabrics open and why
 * others do not, their attributes, a short measurement and a short self-test. Every step runs in a
 * child process with a time limit. Values that may be secrets are not written.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <dirent.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "fabrics.h"
#include "facts.h"
#include "info.h"
#include "memory.h"
#include "probe.h"
#include "text.h"

#define NAME "dat_info"
/* Last lines of libfabric's log that are kept of a fabric that does not open. */
#define LOG_LINES 60

extern char **environ;

static void heading(const char *text)
{
	printf("\n==== %s\n\n", text);
}

/* ---------------------------------------------------------------- the machine */

/* The value of NAME= in /etc/os-release, without quotes. */
static void print_distribution(void)
{
	FILE *f = fopen("/etc/os-release", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "PRETTY_NAME=", 12))
			printf("distribution  %.*s\n", (int)strcspn(line + 13, "\"'\n"), line + 13);
	if (f)
		fclose(f);
}

static void print_limit(const char *name, int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		printf("%-12s  unlimited\n", name);
	else
		printf("%-12s  %llu\n", name, (unsigned long long)limit.rlim_cur);
}

/* The first line of a file, if there is such a file. */
static void print_file(const char *name, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256];

	if (f && fgets(line, sizeof(line), f))
		printf("%-12s  %.*s\n", name, (int)strcspn(line, "\n"), line);
	if (f)
		fclose(f);
}

static void print_devices(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			printf("%-12s  %s/%s\n", "device", path, entry->d_name);
	if (dir)
		closedir(dir);
}

static void report_machine(const struct info_fabrics *fabrics)
{
	char date[32] = "?";
	time_t now = time(NULL);
	struct utsname os;
	struct tm utc;

	if (gmtime_r(&now, &utc))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	printf("date          %s\n", date);
	printf("dat-ofi       %s\n", PACKAGE_VERSION);
	printf("libfabric     %s", fabrics->version ? fabrics->version : "none");
	if (fabrics->path)
		printf(" (%s)", fabrics->path);
	if (fabrics->reason)
		printf(": %s", fabrics->reason);
	putchar('\n');
	if (!uname(&os))
		printf("kernel        %s %s, %s\n", os.sysname, os.release, os.machine);
	print_distribution();
	printf("processors    %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	print_limit("memlock", RLIMIT_MEMLOCK);
	print_limit("open files", RLIMIT_NOFILE);
	print_file("ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope");
	print_file("efa driver", "/sys/module/efa/version");
	print_file("hfi1 driver", "/sys/module/hfi1/version");
	print_file("cxi driver", "/sys/module/cxi_core/version");
	print_devices("/sys/class/infiniband");
	print_devices("/sys/class/cxi");
	print_devices("/sys/class/hfi1");
}

/* ---------------------------------------------------------------- the environment */

/* True for variables of this library, of libfabric, of its providers and of what these use. */
static bool is_setting(const char *entry)
{
	static const char *const prefixes[] = { "DAPL_",  "DAT_",  "FI_",  "PSM3_",     "PSM2_",
						"HFI_",   "OPX_",  "CXI_", "SLINGSHOT", "RDMAV_",
						"IPATH_", "MLX5_", "IBV_", "UCX_NET",   "OFI_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(entry, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Job keys of providers separate users like a password does. */
static bool is_secret(const char *name, size_t len)
{
	static const char *const words[] = { "SECRET", "UUID", "KEY", "TOKEN",
					     "PASS",   "AUTH", "VNI", "CRED" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (size_t at = 0; at + strlen(words[i]) <= len; at++)
			if (!strncasecmp(name + at, words[i], strlen(words[i])))
				return true;
	return false;
}

static void report_environment(void)
{
	bool any = false;
	char **entry;

	for (entry = environ; *entry; entry++) {
		size_t len = strcspn(*entry, "=");

		if (!is_setting(*entry))
			continue;
		any = true;
		if (is_secret(*entry, len))
			printf("%.*s is set (not shown)\n", (int)len, *entry);
		else
			printf("%s\n", *entry);
	}
	if (!any)
		puts("no variable of dat-ofi or libfabric is set");
}

/* ---------------------------------------------------------------- programs */

struct command {
	const char *path;
	const char *const *argv;
};

/* In the child: what the program prints goes to stderr, which the parent keeps. */
static void run_command(const void *arg)
{
	const struct command *command = arg;
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execv(command->path, (char *const *)(const void *)command->argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		info_put_text("", "status", "fork failed");
	else if (WIFSIGNALED(status))
		info_put_text("", "status", strsignal(WTERMSIG(status)));
	else
		info_put_count("", "status", WEXITSTATUS(status));
}

static bool runs_file(char *path)
{
	if (!access(path, X_OK))
		return true;
	free(path);
	return false;
}

/* A program next to this one: installed in the same folder, or built. NULL: there is none. */
static char *find_tool(const char *folder, const char *name)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *path, *slash;

	if (len < 0)
		return NULL;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	path = info_format("%s/%s", self, name);
	if (runs_file(path))
		return path;
	path = info_format("%s/../%s/%s", self, folder, name);
	return runs_file(path) ? path : NULL;
}

static void print_lines(const struct info_probe *probe, size_t most)
{
	size_t i = probe->num_stderr_lines > most ? probe->num_stderr_lines - most : 0;

	for (; i < probe->num_stderr_lines; i++)
		printf("    %s\n", probe->stderr_line[i]);
}

/* False: it was stopped at the time limit. */
static bool report_command(const char *path, const char *const *argv, unsigned int seconds)
{
	struct command command = { path, argv };
	unsigned int limit = info_time_limit;
	struct info_probe probe;
	const char *status;
	bool ended;

	printf("  ");
	for (const char *const *word = argv; *word; word++)
		printf("%s%s", word == argv ? "" : " ", *word);
	putchar('\n');
	info_time_limit = seconds;
	info_probe_run(&probe, run_command, &command);
	info_time_limit = limit;
	print_lines(&probe, SIZE_MAX);
	status = info_probe_fact(&probe, "", "status");
	ended = status;
	printf("    exit status: %s\n\n", ended ? status : probe.end ? probe.end : "unknown");
	info_probe_free(&probe);
	return ended;
}

static void report_programs(const char *fabric, unsigned int seconds)
{
	/* clang-format off */
	const char *measure[] = {
		"dat_perf", "--fabrics", fabric, "--op", "send,write,read", "--test", "lat,bw",
		"--size", "64,64K", "--rounds", "1", "--iters", "500", "--cpus", "none", NULL,
	};
	const char *check[] = {
		"dat_perf", "--fabrics", fabric, "--op", "all", "--test", "bw",
		"--size", "1,4K,256K", "--eps", "4", "--validate",
		"--rounds", "1", "--iters", "64", "--cpus", "none", NULL,
	};
	/* clang-format on */
	char *path = find_tool("perf", "dat_perf");

	if (!path) {
		puts("  no measurement: dat_perf is not installed next to dat_info");
		return;
	}
	puts("  measurement");
	if (report_command(path, measure, seconds)) {
		puts("  self-test: every operation, all data checked");
		report_command(path, check, seconds);
	}
	free(path);
}

/* ---------------------------------------------------------------- fabrics */

static void fabric_attempt(struct info_attempt *attempt, int api, const char *fabric)
{
	char *conf = info_conf_line(api, NAME, false, fabric, NULL);
	struct info_open what = {
		.api = api,
		.key = { NAME, info_api[api].major, info_api[api].minor, false },
		.parts = INFO_OPEN_ATTRIBUTES,
		.conf = conf,
	};

	info_attempt_run(attempt, &what);
	free(conf);
}

/* Opens it again with libfabric's log: providers state there which hint they reject. */
static void report_log(int api, const char *fabric)
{
	const char *former = getenv("FI_LOG_LEVEL");
	char *kept = former ? info_strdup(former) : NULL;
	struct info_attempt attempt;

	setenv("FI_LOG_LEVEL", "info", 1);
	fabric_attempt(&attempt, api, fabric);
	if (kept)
		setenv("FI_LOG_LEVEL", kept, 1);
	else
		unsetenv("FI_LOG_LEVEL");
	free(kept);
	print_lines(&attempt.probe, LOG_LINES);
	info_attempt_free(&attempt);
}

static void report_fabric(int api, const char *fabric, unsigned int seconds)
{
	char *title = info_format("fabric %s, API %s", fabric, info_api[api].version);
	struct info_attempt attempt;

	heading(title);
	free(title);
	fabric_attempt(&attempt, api, fabric);
	if (attempt.opened) {
		printf("  opens: %s\n", attempt.device ? attempt.device : "");
		info_show_groups(&attempt.probe);
		putchar('\n');
		report_programs(fabric, seconds);
	} else {
		text_wrap(printf("  "), 2, "does not open: %s", attempt.reason);
		puts("\n  with FI_LOG_LEVEL=info:");
		report_log(api, fabric);
	}
	info_attempt_free(&attempt);
}

/* Between two processes of one host an adapter with shared memory does not use the network. */
static bool is_worth_a_report(const struct info_fabric *fabric)
{
	return fabric->usable && !strchr(fabric->name, '+');
}

static void report_fabrics(const struct info_options *opts, const struct info_fabrics *fabrics)
{
	int api = opts->api[1] ? 1 : 0;
	size_t i;

	heading("fabrics");
	for (i = 0; i < fabrics->num; i++) {
		const struct info_fabric *fabric = &fabrics->list[i];

		text_wrap(printf("%-16s  ", fabric->name), 18, "%s%s",
			  fabric->usable ? "opens: " : "does not open: ",
			  fabric->usable ? fabric->device : fabric->reason);
	}
	if (opts->fabric) {
		report_fabric(api, opts->fabric, opts->limit);
		return;
	}
	for (i = 0; i < fabrics->num; i++)
		if (is_worth_a_report(&fabrics->list[i]))
			report_fabric(api, fabrics->list[i].name, opts->limit);
}

/* ---------------------------------------------------------------- the file */

static void report_write(const struct info_options *opts)
{
	struct info_options list = { .job = 'l', .api = { opts->api[0], opts->api[1] } };
	struct info_fabrics fabrics;

	info_fabrics_find(&fabrics, opts->api[1] ? 1 : 0);
	puts("dat-ofi report, format 1");
	heading("machine");
	report_machine(&fabrics);
	heading("environment");
	report_environment();
	if (!opts->fabric) {
		heading("adapters");
		info_list(&list);
	}
	heading("providers of libfabric");
	info_providers_print();
	report_fabrics(opts, &fabrics);
	puts("\n==== end");
	info_fabrics_free(&fabrics);
}

static int report_error(const char *path, int err)
{
	fprintf(stderr, "dat_info: %s: %s%s\n", path, strerror(err),
		err == EEXIST ? " (--force replaces it)" : "");
	return 1;
}

int info_report(const struct info_options *opts)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (opts->force ? O_TRUNC : O_EXCL);
	int fd = open(opts->name, flags, 0644), out, err;

	if (fd < 0)
		return report_error(opts->name, errno);
	/* The jobs print on stdout. */
	fflush(stdout);
	out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (out < 0 || dup2(fd, STDOUT_FILENO) < 0) {
		err = errno;
		close(fd);
		return report_error(opts->name, err);
	}
	report_write(opts);
	err = fflush(stdout) || ferror(stdout) ? EIO : 0;
	clearerr(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(fd);
	if (err)
		return report_error(opts->name, err);
	printf("The report is in %s. Read it before you send it: it names this machine's network "
	       "interfaces, addresses and paths.\n",
	       opts->name);
	return 0;
}
