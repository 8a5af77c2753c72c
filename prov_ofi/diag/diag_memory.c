/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports failed registrations and objects, with the memory-lock limit if it may be the cause. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error_text.h"
#include "base/log.h"
#include "base/port_range.h"
#include "fabric/fab_lib.h"
#include "diag/diag.h"

#define REMEDY \
	"ulimit -l unlimited (systemd: LimitMEMLOCK=infinity; users: memlock in " \
	"/etc/security/limits.conf)"

/* In KiB; false: no limit. */
static bool diag_memlock_limit(unsigned long long *kib)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*kib = limit.rlim_cur / 1024;
	return true;
}

static bool diag_is_memlock_limit(int ret)
{
	return ret == -ENOMEM || ret == -EAGAIN || ret == -EPERM;
}

void dofi_diag_memory(const struct dofi_fab *fab, uint64_t bytes, int ret)
{
	static atomic_bool reported;
	enum dofi_log_level level = atomic_exchange(&reported, true) ? DOFI_LOG_INFO
								     : DOFI_LOG_ERROR;
	unsigned long long kib;

	dofi_log(level, "cannot register %llu bytes with provider '%s': %s",
		 (unsigned long long)bytes, fab->desc->prov_name, dofi_error_text(-ret));
	if (diag_is_memlock_limit(ret) && diag_memlock_limit(&kib))
		dofi_log(level, "the memory-lock limit of this process is %llu KiB; try: " REMEDY,
			 kib);
}

void dofi_diag_object(const struct dofi_fab *fab, const char *what, int ret)
{
	unsigned long long kib;

	dofi_report("%s failed on provider '%s', interface %s: %s", what, fab->desc->prov_name,
		    fab->netdev, dofi_error_text(-ret));
	/* The most likely cause of a failed fi_enable. */
	if (fab->desc->over_device && ret == -EINVAL && !strcmp(what, "fi_enable"))
		dofi_report("try: FI_UNIVERSE_SIZE=%s or less in the program's environment: the "
			    "device may lack a completion queue for that many peers",
			    DOFI_LIB_PEERS);
	if (!strcmp(what, DOFI_PORTS_SEARCH))
		dofi_report("try: a wider range; each adapter needs a port per address that it "
			    "listens at, and each service point one");
	/* An event queue pins no memory. It also opens the connection manager of msgep, which
	 * reports its own failures. */
	if (!strcmp(what, "fi_eq_open") || !diag_is_memlock_limit(ret) || !diag_memlock_limit(&kib))
		return;
	dofi_report("the memory-lock limit of this process is %llu KiB, too small for a fabric "
		    "that pins memory",
		    kib);
	dofi_report("try: " REMEDY);
}
