/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that a group cannot go on. */
#include "base/log.h"
#include "coll/coll_int.h"

void dofi_coll_fail(struct coll_group *g, const char *cause)
{
	if (g->cause)
		return;
	g->cause = cause;
	dofi_log(DOFI_LOG_INFO, "collective group %u: member %u ends it: %s", g->id, g->self,
		 cause);
}
