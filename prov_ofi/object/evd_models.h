/* SPDX-License-Identifier: BSD-2-Clause */
/* Notification models of the DTO streams on an EVD.
 *
 * The completion flags in an endpoint's attributes name the notification model of a stream:
 * UNSIGNALLED, SOLICITED_WAIT or EVD_THRESHOLD. dat_ep_create (1.2 and 2.0) defines which may share
 * an EVD: all named models are the same; an EVD with other kinds of events has EVD_THRESHOLD only;
 * SOLICITED_WAIT does not share an EVD with requests. Flags without a model fit all. */
#ifndef DOFI_EVD_MODELS_H
#define DOFI_EVD_MODELS_H

#include "object/evd.h"

/* Streams of an endpoint on its EVDs; NULL: the consumer has assigned none. */
struct dofi_streams {
	struct dofi_evd *recv, *req;
	DAT_COMPLETION_FLAGS recv_flags, req_flags;
};

/* True if the flags name at most one model. */
bool dofi_model_valid(DAT_COMPLETION_FLAGS flags);

/* True if `now` is compatible with the streams on its EVDs once `old` is removed. */
bool dofi_models_fit(const struct dofi_streams *old, const struct dofi_streams *now);

/* Add the streams to the counts, or remove them. */
void dofi_models_add(const struct dofi_streams *s);
void dofi_models_remove(const struct dofi_streams *s);

/* Chooses the flags of streams without attributes from the consumer: UNSIGNALLED for receives from
 * an SRQ and EVD_THRESHOLD for others, unless other streams on the EVD do not allow them. */
void dofi_models_choose(struct dofi_streams *s, bool srq);

#endif
