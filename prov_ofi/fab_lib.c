/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libfabric and protects the process, and its privileges, from what it does meanwhile.
 *
 * Debian's libfabric 1.17 pulls in a PSM library whose constructor replaces the handlers of SEGV,
 * BUS, ILL, ABRT, INT and TERM unless IPATH_NO_BACKTRACE is set; other providers install some
 * when their first object is made. The program's own handlers are put back afterwards.
 *
 * The tcp provider of 1.17 keeps small messages that a full socket did not take, and says
 * that they are sent; they would be lost when a connection ends. That buffer is switched off while
 * the provider reads its settings, unless the user has set it.
 *
 * The verbs provider may keep a cache of registrations, which gives every region all rights, and
 * one key to regions that overlap. A region's rights are the program's to give: the cache is
 * switched off in the same way, whatever the user has set.
 *
 * The rxm provider copies messages of up to 16 KiB at once and fetches others. Our cells are better
 * off copied, and with twice that size (wire_fab_open.c); and with fewer buffers that wait for
 * them, each of which is written to before long. What the user has set holds.
 *
 * In secure execution (setuid, setgid, file capabilities) the environment is a stranger's, and
 * libfabric obeys it: FI_PROVIDER_PATH names libraries to load. So do the libraries that it needs
 * (IPATH_DEBUG_FILENAME and VERBS_LOG_FILE name files to write). Their variables are removed from
 * the environment before libfabric is loaded, as the dynamic linker removes LD_PRELOAD. They stay
 * away, because libfabric reads some only when an endpoint is made (rxm: FI_OFI_RXM_COMP_PER_PROGRESS).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "fab.h"
#include "fab_lib.h"

#define LIBFABRIC "libfabric.so.1"
#define NO_BACKTRACE "IPATH_NO_BACKTRACE"

struct dofi_lib dofi_lib;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;

/* Settings of libfabric's that hold while its providers read them. */
static const struct {
	struct dofi_env_setting setting;
	uint32_t before_version;	/* of libfabric; 0: in all */
	bool always;			/* whatever the user has set */
} ours[] = {
	{ { "FI_TCP_STAGING_SBUF_SIZE", "0" }, FI_VERSION(1, 18), false },
	{ { "FI_MR_CACHE_MONITOR", "disabled" }, 0, true },
	{ { "FI_OFI_RXM_BUFFER_SIZE", "32768" }, 0, false },
	{ { "FI_OFI_RXM_MSG_RX_SIZE", "1024" }, 0, false },
};
/* What libfabric's providers and the libraries below them read. */
static const char *const foreign[] = {
	"CXI_", "CXIP_", "EFA_", "FI_", "HFI_", "IBV_", "INFINIPATH_", "IPATH_", "MLX4_", "MLX5_",
	"NLCB=", "NLDBG=", "OPX_", "PROC_NET_PSCHED=", "PROC_ROOT=", "PSM_", "PSM2_", "PSM3_",
	"RDMAV_", "SLINGSHOT_", "SYSFS_PATH=", "UCX_", "VERBS_", "_FI_",
};
#define N_OURS (sizeof(ours) / sizeof(ours[0]))

static void hold_settings(void)
{
	struct dofi_env_setting hold[N_OURS];
	size_t n = 0;

	for (size_t i = 0; i < N_OURS; i++)
		if ((ours[i].always || !dofi_env(ours[i].setting.name)) &&
		    (!ours[i].before_version || dofi_lib.version() < ours[i].before_version))
			hold[n++] = ours[i].setting;
	dofi_env_hold(hold, n);
}

static void tell_removed(const char *entry)
{
	dofi_log(DOFI_LOG_WARN, "%.*s is ignored: the program has more rights than its caller",
		 (int)strcspn(entry, "="), entry);
}

/* At each opening: the program may have put variables back. */
static int remove_foreign(void)
{
	if (!dofi_env_privileged() ||
	    dofi_env_remove(foreign, sizeof(foreign) / sizeof(foreign[0]), tell_removed))
		return 0;
	return -ENOMEM;
}

static struct sigaction saved[NSIG];
static bool saved_ok[NSIG];

static void signals_save(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		saved_ok[sig] = !sigaction(sig, NULL, &saved[sig]);
}

static void signals_put_back(void)
{
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction now;

		if (!saved_ok[sig] || sigaction(sig, NULL, &now))
			continue;
		if (now.sa_handler != saved[sig].sa_handler)
			sigaction(sig, &saved[sig], NULL);
	}
}

static bool find_symbol(void **slot, const char *name)
{
	*slot = dlsym(library, name);
	if (!*slot)
		dofi_report("%s has no %s", LIBFABRIC, name);
	return *slot != NULL;
}

static int load(void)
{
	static const struct dofi_env_setting no_backtrace = { NO_BACKTRACE, "1" };

	if (!dofi_env(NO_BACKTRACE))
		dofi_env_hold(&no_backtrace, 1);
	library = dlopen(LIBFABRIC, RTLD_NOW | RTLD_LOCAL);
	dofi_env_release();
	if (!library) {
		dofi_report("libfabric cannot be loaded: %s", dlerror());
		dofi_report("try: install libfabric (Debian: apt-get install libfabric1), or "
			    "LD_LIBRARY_PATH with its directory");
		return -ENOENT;
	}
	if (find_symbol((void **)&dofi_lib.getinfo, "fi_getinfo") &&
	    find_symbol((void **)&dofi_lib.freeinfo, "fi_freeinfo") &&
	    find_symbol((void **)&dofi_lib.dupinfo, "fi_dupinfo") &&
	    find_symbol((void **)&dofi_lib.fabric, "fi_fabric") &&
	    find_symbol((void **)&dofi_lib.version, "fi_version") &&
	    find_symbol((void **)&dofi_lib.strerror, "fi_strerror")) {
		hold_settings();
		return 0;
	}
	dlclose(library);
	library = NULL;
	return -ENOENT;
}

int dofi_lib_load(void)
{
	int ret;

	pthread_mutex_lock(&load_lock);
	signals_save();
	ret = remove_foreign();
	if (!ret && !library)
		ret = load();
	if (ret) {
		signals_put_back();
		pthread_mutex_unlock(&load_lock);
	}
	/* On success the lock is kept until dofi_lib_signals_restore: one opening at a time. */
	return ret;
}

void dofi_lib_signals_restore(void)
{
	dofi_env_release();
	signals_put_back();
	pthread_mutex_unlock(&load_lock);
}
