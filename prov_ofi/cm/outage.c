/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends the connections of an adapter whose device is removed or has no address for a second. */
#include <errno.h>

#include "base/clock.h"
#include "base/forkfd.h"
#include "base/log.h"
#include "cm/cm.h"
#include "cm/outage.h"
#include "fabric/fab_ops.h"
#include "object/async_evd.h"
#include "object/version.h"

/* Longer than short link failures, shorter than the retries of devices. */
#define OUTAGE_MS 1000

static void outage_end_connections(struct dofi_ia *ia)
{
	struct dofi_list *pos, *tmp;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	dofi_list_each_safe(pos, tmp, &ia->conns)
	{
		struct dofi_conn *conn = dofi_container(pos, struct dofi_conn, link);

		if (conn->ep)
			dofi_cm_fail(conn->ep, ENETDOWN, NULL, 0);
	}
}

static void outage_report(struct dofi_ia *ia, const char *what)
{
	if (ia->outage.reported)
		return;
	ia->outage.reported = true;
	dofi_log(DOFI_LOG_ERROR, "%s: %s; all its connections end",
		 ia->fab.device[0] ? ia->fab.device : ia->fab.desc->name, what);
	dofi_async_event(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, dofi_api_ia_handle(ia), 0);
	outage_end_connections(ia);
}

static void outage_expired(struct dofi_timer *timer)
{
	struct dofi_ia *ia = dofi_container(timer, struct dofi_ia, outage.timer);

	outage_report(ia, "its interface is down, or has lost its address");
}

void dofi_outage_removed(struct dofi_ia *ia)
{
	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	ia->fab.lost = true;
	outage_report(ia, "the device has been removed");
}

void dofi_outage_lost(struct dofi_ia *ia)
{
	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	outage_report(ia, "the program has closed this library's descriptors");
}

void dofi_outage_init(struct dofi_ia *ia)
{
	ia->outage.fd = -1;
	ia->outage.reported = false;
	dofi_timer_init(&ia->outage.timer, outage_expired);
}

int dofi_outage_watch(struct dofi_ia *ia)
{
	int ret = ia->fab.desc->ops->watch(&ia->outage.fd);

	if (ret || ia->outage.fd < 0)
		return ret;
	return dofi_timer_add(&ia->timers, &ia->outage.timer, outage_expired);
}

void dofi_outage_close(struct dofi_ia *ia)
{
	dofi_timer_cancel(&ia->timers, &ia->outage.timer);
	if (ia->outage.fd >= 0)
		dofi_forkfd_close(ia->outage.fd);
	ia->outage.fd = -1;
}

void dofi_outage_changed(struct dofi_ia *ia)
{
	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	if (ia->fab.desc->ops->is_up(&ia->fab, ia->outage.fd)) {
		dofi_timer_cancel(&ia->timers, &ia->outage.timer);
	} else if (ia->outage.timer.when == DOFI_NEVER && !ia->outage.reported) {
		dofi_log(DOFI_LOG_WARN, "%s: its interface is down, or has lost its address",
			 ia->fab.device);
		dofi_timer_arm(&ia->timers, &ia->outage.timer, dofi_now() + DOFI_MS(OUTAGE_MS));
	}
}
