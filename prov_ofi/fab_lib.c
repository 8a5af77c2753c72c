/* SPDX-License-Identifier: BSD-2-Clause */
/* How is libfabric loaded, and what does it do to the process meanwhile?
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
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/param.h"
#include "fab.h"
#include "fab_lib.h"

#define LIBFABRIC "libfabric.so.1"
#define NO_BACKTRACE "IPATH_NO_BACKTRACE"
#define STAGING "FI_TCP_STAGING_SBUF_SIZE"
#define MR_CACHE "FI_MR_CACHE_MONITOR"

struct dofi_lib dofi_lib;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;
static bool staging_off, cache_off;
static char *cache_before;	/* what the user has set */
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
	bool ours = !getenv(NO_BACKTRACE);

	if (ours)
		dofi_env_set(NO_BACKTRACE, "1");
	library = dlopen(LIBFABRIC, RTLD_NOW | RTLD_LOCAL);
	if (ours)
		dofi_env_set(NO_BACKTRACE, NULL);
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
		if (dofi_lib.version() < (uint32_t)FI_VERSION(1, 18) && !getenv(STAGING))
			staging_off = dofi_env_set(STAGING, "0");
		cache_before = getenv(MR_CACHE) ? strdup(getenv(MR_CACHE)) : NULL;
		cache_off = dofi_env_set(MR_CACHE, "disabled");
		return 0;
	}
	dlclose(library);
	library = NULL;
	return -ENOENT;
}

int dofi_lib_load(void)
{
	int ret = 0;

	pthread_mutex_lock(&load_lock);
	signals_save();
	if (!library)
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
	if (staging_off)
		dofi_env_set(STAGING, NULL);
	staging_off = false;
	if (cache_off && cache_before)
		dofi_env_set(MR_CACHE, cache_before);
	else if (cache_off)
		dofi_env_set(MR_CACHE, NULL);
	free(cache_before);
	cache_before = NULL;
	cache_off = false;
	signals_put_back();
	pthread_mutex_unlock(&load_lock);
}
