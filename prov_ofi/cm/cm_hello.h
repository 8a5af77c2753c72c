/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive side of the secret-protected handshake (proto/cm_seal.h). Caller holds cm_lock. */
#ifndef DOFI_CM_HELLO_H
#define DOFI_CM_HELLO_H

#include "cm/cm.h"

/* Answers HELLO with CHALLENGE, or a reason; takes over info. */
void dofi_cm_hello_received(struct dofi_listener *l, struct fi_info *info, const void *data,
			    size_t len);
/* REQUEST: 0 and its contents (msg->priv points into data), or the reason for a rejection, which is
 * logged. */
unsigned int dofi_cm_admit(struct dofi_listener *l, const struct fi_info *info, const void *data,
			   size_t len, struct dofi_cm_msg *msg, struct dofi_seal *seal);

#endif
