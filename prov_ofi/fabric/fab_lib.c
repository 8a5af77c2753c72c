/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libfabric and protects the program's signal handlers and privileges meanwhile.
 *
 * QUIRK libfabric psm: Debian's 1.17 pulls in a PSM library whose constructor replaces the handlers
 * of SEGV, BUS, ILL, ABRT, INT and TERM unless IPATH_NO_BACKTRACE is set; other providers install
 * some when their first object is made. The program's own handlers are restored afterwards.
 *
 * QUIRK libfabric<1.18 tcp: buffers small messages that a full socket did not accept and reports
 * them as sent; they would be lost at the end of a connection. That buffer is disabled while the
 * provider reads its settings, unless the user has set it.
 *
 * QUIRK libfabric>=1.19 tcp: a domain has 1024 buffers of 16 KiB for tagged messages that no
 * receive is posted for, and writes to all of them when its first operation is posted: 17 MiB for
 * each adapter. Connected endpoints do not use them. They get the size of the smallest message that
 * the provider copies, unless the user has set another.
 *
 * QUIRK libfabric verbs: may keep a cache of registrations, which gives every region all rights,
 * and one key to regions that overlap. The program determines the rights of a region: the cache is
 * disabled in the same way, whatever the user has set.
 *
 * The rxm provider copies messages of up to 16 KiB at once and fetches others; endpoints with
 * different limits cannot communicate. Packets of this library are faster when copied, and with
 * twice that size (rdm_open.c), so that is the limit, whatever the user has set. rxm allocates 1024
 * buffers at a time for receiving and for sending and writes to all of them: 34 MiB each if they
 * hold a message. Until 1.19 they need not: tcp places a message in the receive posted for it, and
 * sends it from its own memory. Then buffers have room for a header only. The limit is read when an
 * endpoint is created, so these settings apply at each opening.
 *
 * QUIRK libfabric<1.18 tcp: completes and frees a read twice if its connection ends while the
 * answer arrives. rxm, which fetches by such reads, then crashes (SIGSEGV) in the process whose
 * peer has gone, or two later operations share one state. There the limit is the largest message
 * of this library (RDM_LARGE_MAX), so that nothing is fetched.
 *
 * QUIRK libfabric rxm: over RDMA devices the connections of an endpoint share one completion queue,
 * with a place for each request of FI_UNIVERSE_SIZE connections, which is read once, and for each
 * of their receives unless they share those, too. With libfabric's own settings it is larger than
 * some devices take; smaller ones are set.
 *
 * In secure execution (setuid, setgid, file capabilities) the environment is not trusted, but
 * libfabric uses it: FI_PROVIDER_PATH names libraries to load. So do the libraries that it needs
 * (IPATH_DEBUG_FILENAME and VERBS_LOG_FILE name files to write). Their variables are removed from
 * the environment before libfabric is loaded, as the dynamic linker removes LD_PRELOAD. They are
 * not restored, because libfabric reads some only when an endpoint is created (rxm:
 * FI_OFI_RXM_COMP_PER_PROGRESS).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/fork_lock.h"
#include "base/lock.h"
#include "base/log.h"
#include "fabric/fab.h"
#include "fabric/fab_lib.h"

#define LIBFABRIC "libfabric.so.1"
#define NO_BACKTRACE "IPATH_NO_BACKTRACE"

struct dofi_lib dofi_lib;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(load_lock, DOFI_FORK_LOAD)
static void *library;

/* Maximum length that rxm copies; must be equal in all processes that connect to each other. */
#define RXM_LIMIT "32768"
#define RXM_LIMIT_NO_READS "4325376"
#define RXM_NO_READS FI_VERSION(1, 18)
#define RXM_SMALL FI_VERSION(1, 20)

/* Settings of libfabric that are overridden while its providers read them. */
static const struct {
	struct dofi_env_setting setting;
	uint32_t from_version, before_version; /* of libfabric; 0: no limit */
	bool always;                           /* whatever the user has set */
} ours[] = {
	{ { "FI_TCP_STAGING_SBUF_SIZE", "0" }, 0, FI_VERSION(1, 18), false },
	{ { "FI_TCP_MAX_RX_SIZE", "128" }, FI_VERSION(1, 19), 0, false },
	{ { "FI_MR_CACHE_MONITOR", "disabled" }, 0, 0, true },
	{ { "FI_OFI_RXM_BUFFER_SIZE", "512" }, 0, RXM_SMALL, true },
	{ { "FI_OFI_RXM_EAGER_LIMIT", RXM_LIMIT_NO_READS }, 0, RXM_NO_READS, true },
	{ { "FI_OFI_RXM_EAGER_LIMIT", RXM_LIMIT }, RXM_NO_READS, RXM_SMALL, true },
	{ { "FI_OFI_RXM_ENABLE_DYN_RBUF", "1" }, 0, RXM_SMALL, true },
	{ { "FI_OFI_RXM_ENABLE_DIRECT_SEND", "1" }, 0, RXM_SMALL, true },
	{ { "FI_OFI_RXM_BUFFER_SIZE", RXM_LIMIT }, RXM_SMALL, 0, true },
	{ { "FI_OFI_RXM_MSG_RX_SIZE", "1024" }, 0, 0, false },
	{ { "FI_OFI_RXM_USE_SRX", "1" }, 0, 0, true },
	/* 240 * 128 requests and 1024 receives: soft-RoCE takes 32767 */
	{ { "FI_UNIVERSE_SIZE", DOFI_LIB_PEERS }, 0, 0, false },
};
/* Variables that libfabric's providers and the libraries below them read. */
/* clang-format off */
static const char *const foreign[] = {
	"CXI_", "CXIP_", "EFA_", "FI_", "HFI_", "IBV_", "INFINIPATH_", "IPATH_", "MLX4_", "MLX5_",
	"NLCB=", "NLDBG=", "OPX_", "PROC_NET_PSCHED=", "PROC_ROOT=", "PSM_", "PSM2_", "PSM3_",
	"RDMAV_", "SLINGSHOT_", "SYSFS_PATH=", "UCX_", "VERBS_", "_FI_",
};
/* clang-format on */
#define N_OURS (sizeof(ours) / sizeof(ours[0]))

/* Without them rxm would use other sizes than other processes. */
static int lib_hold_settings(void)
{
	struct dofi_env_setting hold[N_OURS];
	uint32_t version = dofi_lib.version();
	size_t n = 0;

	for (size_t i = 0; i < N_OURS; i++)
		if ((ours[i].always || !dofi_env(ours[i].setting.name)) &&
		    version >= ours[i].from_version &&
		    (!ours[i].before_version || version < ours[i].before_version))
			hold[n++] = ours[i].setting;
	if (dofi_env_hold(hold, n))
		return 0;
	dofi_report("no memory to prepare the environment for libfabric");
	return -ENOMEM;
}

size_t dofi_lib_rxm_limit(size_t buffer)
{
	uint32_t version = dofi_lib.version();
	size_t limit = (size_t)atol(version < RXM_NO_READS ? RXM_LIMIT_NO_READS : RXM_LIMIT);

	return version < RXM_SMALL && buffer < limit ? limit : buffer;
}

static void lib_log_removed(const char *entry)
{
	dofi_log(DOFI_LOG_WARN, "%.*s is ignored: the program has more rights than its caller",
		 (int)strcspn(entry, "="), entry);
}

/* At each opening: the program may have set variables again. */
static int lib_remove_foreign(void)
{
	if (!dofi_env_privileged() ||
	    dofi_env_remove(foreign, sizeof(foreign) / sizeof(foreign[0]), lib_log_removed))
		return 0;
	return -ENOMEM;
}

static struct sigaction saved[NSIG];
static bool saved_ok[NSIG];

static void lib_signals_save(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		saved_ok[sig] = !sigaction(sig, NULL, &saved[sig]);
}

static void lib_signals_put_back(void)
{
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction now;

		if (!saved_ok[sig] || sigaction(sig, NULL, &now))
			continue;
		if (now.sa_handler != saved[sig].sa_handler)
			sigaction(sig, &saved[sig], NULL);
	}
}

static bool lib_find_symbol(void **slot, const char *name)
{
	*slot = dlsym(library, name);
	if (!*slot)
		dofi_report("%s has no %s", LIBFABRIC, name);
	return *slot != NULL;
}

static int lib_load(void)
{
	static const struct dofi_env_setting no_backtrace = { NO_BACKTRACE, "1" };

	if (!dofi_env(NO_BACKTRACE) && !dofi_env_hold(&no_backtrace, 1)) {
		dofi_report("no memory to prepare the environment for libfabric");
		return -ENOMEM;
	}
	library = dlopen(LIBFABRIC, RTLD_NOW | RTLD_LOCAL);
	dofi_env_release();
	if (!library) {
		dofi_report("libfabric cannot be loaded: %s", dlerror());
		dofi_report("try: install libfabric (Debian: apt-get install libfabric1), or "
			    "LD_LIBRARY_PATH with its directory");
		return -ENOENT;
	}
	if (lib_find_symbol((void **)&dofi_lib.getinfo, "fi_getinfo") &&
	    lib_find_symbol((void **)&dofi_lib.freeinfo, "fi_freeinfo") &&
	    lib_find_symbol((void **)&dofi_lib.dupinfo, "fi_dupinfo") &&
	    lib_find_symbol((void **)&dofi_lib.fabric, "fi_fabric") &&
	    lib_find_symbol((void **)&dofi_lib.version, "fi_version"))
		return 0;
	dlclose(library);
	library = NULL;
	return -ENOENT;
}

int dofi_lib_load(void)
{
	int ret;

	pthread_mutex_lock(&load_lock);
	lib_signals_save();
	ret = lib_remove_foreign();
	if (!ret && !library)
		ret = lib_load();
	if (!ret)
		ret = lib_hold_settings();
	if (ret) {
		lib_signals_put_back();
		pthread_mutex_unlock(&load_lock);
	}
	/* On success the lock is kept until dofi_lib_signals_restore: one opening at a time. */
	return ret;
}

void dofi_lib_signals_restore(void)
{
	dofi_env_release();
	lib_signals_put_back();
	pthread_mutex_unlock(&load_lock);
}
