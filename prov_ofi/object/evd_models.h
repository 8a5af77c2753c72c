/* SPDX-License-Identifier: BSD-2-Clause */
/* Notification models of the DTO streams on an EVD.
 *
 * The completion flags in an endpoint's attributes name the model by which a stream notifies:
 * UNSIGNALLED, SOLICITED_WAIT or EVD_THRESHOLD. dat_ep_create (1.2 and 2.0) says which may meet on
 * one EVD: all that are named are the same; an EVD that takes other kinds of events, too, has none
 * but EVD_THRESHOLD; SOLICITED_WAIT stands beside no requests. Flags that name none fit all. */
#ifndef DOFI_EVD_MODELS_H
#define DOFI_EVD_MODELS_H

#include <stdbool.h>

#include "base/dat_version.h"

struct dofi_evd;

/* Streams on an EVD by what they name; cm_lock. */
struct dofi_models {
	unsigned int unsignalled, solicited, threshold;
	unsigned int requests;		/* of any model */
};

/* What an endpoint has on its EVDs. EVDs are NULL where nobody is interested. */
struct dofi_streams {
	struct dofi_evd *recv, *req;
	DAT_COMPLETION_FLAGS recv_flags, req_flags;
};

/* At most one model is named, of those that the direction knows. */
bool dofi_model_valid(DAT_COMPLETION_FLAGS flags);

/* May `now` be added to what is on its EVDs when `old` is taken away? */
bool dofi_models_fit(const struct dofi_streams *old, const struct dofi_streams *now);

/* Counts the streams, or takes them away. */
void dofi_models_add(const struct dofi_streams *s);
void dofi_models_remove(const struct dofi_streams *s);

/* Sets the flags of streams whose consumer gave no attributes: UNSIGNALLED for receives from an SRQ
 * and EVD_THRESHOLD for others, unless what is on the EVD rules that out. */
void dofi_models_choose(struct dofi_streams *s, bool srq);

#endif
