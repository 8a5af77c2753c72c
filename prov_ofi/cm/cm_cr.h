/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection requests: what accepting and rejecting have in common (cm_cr.c). Caller holds cm_lock
 * unless stated otherwise. */
#ifndef DOFI_CM_CR_H
#define DOFI_CM_CR_H

#include "cm/cm.h"

/* The CR of a handle, or NULL. No lock. */
static inline struct dofi_cr *dofi_cr_live(DAT_CR_HANDLE handle)
{
	return (struct dofi_cr *)dofi_obj_live(handle, DAT_HANDLE_TYPE_CR);
}
/* Checks the consumer's private data; bad_size, bad_ptr: numbers of these arguments. No lock. */
DAT_RETURN dofi_cr_check_priv(struct dofi_ia *ia, DAT_COUNT size, const void *priv,
			      DAT_RETURN bad_size, DAT_RETURN bad_ptr);
/* Sets the addresses that the EP reports before its connection is established. */
void dofi_cr_set_ports(struct dofi_ep *ep, const struct dofi_cr *cr);
/* Builds the answer to a request, sealed if the request was. 0: it cannot be sealed. */
size_t dofi_cr_build_answer(uint8_t *buf, const struct dofi_cr *cr, const struct dofi_cm_msg *msg);
/* Rejects the fabric's request of a CR with this message. -ENOMEM: it has not been rejected, which
 * only a message in parts can report. */
int dofi_cr_answer(struct dofi_cr *cr, const struct dofi_cm_msg *msg);
/* Rejects a request that has a CR, without private data. */
void dofi_cr_reject_for(struct dofi_cr *cr, unsigned int reason);

#endif
