/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens fabrics without a registry file, and explains why one does not open. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric.h"
#include "layer.h"
#include "proc.h"
#include "session.h"

#define PROVIDER_LIBRARY "libdaplofi.so.2"
#define PROBE_MAX 8192

void perf_private_ia(char *ia, size_t len, const char *fabric)
{
	snprintf(ia, len, "dat_perf-%s", fabric);
	for (; *ia; ia++)
		if (*ia == ';')
			*ia = '_';
}

/* The file has no name and is freed with the last process that uses it. */
int perf_private_registry(const char *const *fabric, int n, const char *domain)
{
	static int fd = -1;
	char ia[PERF_NAME + 16], path[64];
	int i;

	if (fd >= 0)
		close(fd);
	fd = memfd_create("dat.conf", 0);
	if (fd < 0)
		return perf_error(-errno, NULL, "memfd_create", "%s", strerror(errno));
	for (i = 0; i < n; i++) {
		perf_private_ia(ia, sizeof(ia), fabric[i]);
		dprintf(fd,
			"%s u2.0 nonthreadsafe default %s dat-ofi.2.0 "
			"\"provider=%s%s%s\" \"\"\n",
			ia, PROVIDER_LIBRARY, fabric[i], domain ? " domain=" : "",
			domain ? domain : "");
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (setenv("DAT_OVERRIDE", path, 1))
		return perf_error(-ENOMEM, NULL, "setenv", "out of memory");
	/* the environment must not override the entries */
	unsetenv("DAPL_OFI_PROVIDER");
	if (domain)
		unsetenv("DAPL_OFI_DOMAIN");
	return 0;
}

static int probe_layers(const struct perf_plan *plan, const char *ia, const char *addr)
{
	struct perf_run run = { .plan = plan, .ia = ia, .read_limit = INT_MAX, .chan = -1 };
	struct perf_case c = { .size = 64, .window = 1, .recv_depth = 4, .eps = 1 };
	struct perf_dev *dev;
	int k, ret = 0;

	snprintf(run.addr, sizeof(run.addr), "%s", addr);
	snprintf(run.raw_provider, sizeof(run.raw_provider), "%s", plan->raw_provider);
	for (k = 0; !ret && k < PERF_KINDS; k++) {
		if (!(plan->kinds & 1 << k) || !perf_layer_of((enum perf_kind)k))
			continue;
		ret = perf_layer_of((enum perf_kind)k)->open(&run, &c, &dev);
		if (!ret)
			ret = dev->layer->close(dev);
	}
	return ret;
}

/* Prefixes of lines with the reason, best first; messages of libraries precede our own. */
static const char *const reason_prefixes[] = { "provider: ", "raw: ", "libdaplofi",
					       "dat_ia_open: " };

static void find_reason(char *text, char *reason, size_t reason_len)
{
	char *line, *save = NULL,
		    *found[sizeof(reason_prefixes) / sizeof(reason_prefixes[0])] = { NULL };
	size_t i;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		for (i = 0; i < sizeof(reason_prefixes) / sizeof(reason_prefixes[0]); i++)
			if (!found[i] && strstr(line, reason_prefixes[i]))
				found[i] = line;
	snprintf(reason, reason_len, "it does not open");
	for (i = 0; i < sizeof(reason_prefixes) / sizeof(reason_prefixes[0]); i++)
		if (found[i]) {
			line = found[i] + strspn(found[i], " \t");
			line += strncmp(line, "dat_perf: ", 10) ? 0 : 10;
			line += strncmp(line, "provider: ", 10) ? 0 : 10;
			snprintf(reason, reason_len, "%s", line);
			return;
		}
}

static __attribute__((noreturn)) void probe_child(const struct perf_plan *plan, const char *ia,
						  const char *addr, int fd)
{
	dup2(fd, STDERR_FILENO);
	perf_exit(probe_layers(plan, ia, addr));
}

int perf_probe(const struct perf_plan *plan, const char *ia, const char *addr, char *reason,
	       size_t reason_len)
{
	char text[PROBE_MAX];
	int status = 0, fd = memfd_create("probe", MFD_CLOEXEC);
	ssize_t n;
	pid_t pid;

	if (fd < 0)
		return perf_error(-errno, NULL, "memfd_create", "%s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (!pid)
		probe_child(plan, ia, addr, fd);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = '\0';
	close(fd);
	if (!status)
		return 0;
	if (status > 0 && WIFSIGNALED(status))
		snprintf(reason, reason_len, "opening it was ended by signal %d", WTERMSIG(status));
	else
		find_reason(text, reason, reason_len);
	return -ENODEV;
}
