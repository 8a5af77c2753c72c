/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares a session: connected endpoints and the objects that they need. */
#ifndef DAT_PERF_SESSION_H
#define DAT_PERF_SESSION_H

#include "layer.h"

enum perf_role { PERF_SERVER, PERF_CLIENT, PERF_ROLES };

struct perf_session {
	struct perf_dev *dev;
	struct perf_hub *hub;
};

/*
 * Both processes call this at the same time, with the two ends of one side channel in run->chan.
 * -EOPNOTSUPP: one of the two layers does not support the case.
 */
int perf_session_open(struct perf_session *ss, const struct perf_layer *layer, struct perf_run *run,
		      const struct perf_case *c, enum perf_role role);
int perf_session_close(struct perf_session *ss);

/* NULL: the kind has patterns only. */
static inline const struct perf_layer *perf_layer_of(enum perf_kind kind)
{
	static const struct perf_layer *const layer[PERF_KINDS] = {
		[PERF_DAT] = &perf_dat_layer,
		[PERF_RAW] = &perf_raw_layer,
		[PERF_QUEUE] = &perf_queue_layer,
	};

	return layer[kind];
}

#endif
