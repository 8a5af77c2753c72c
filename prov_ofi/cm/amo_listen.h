/* SPDX-License-Identifier: BSD-2-Clause */
/* Software atomic operations (object/amo.h): the listener of an IA, tokens of connections. */
#ifndef DOFI_AMO_LISTEN_H
#define DOFI_AMO_LISTEN_H

#include "cm/cm.h"

/* Prepares the IA; its fabric is open. 0 or a negative error. */
int dofi_amo_open(struct dofi_ia *ia);
/* Closes what remains; the connections have ended. */
void dofi_amo_close(struct dofi_ia *ia);
/* The port of the IA's listener, which the first call opens; 0: none. Caller holds cm_lock. */
uint16_t dofi_amo_port(struct dofi_ia *ia);
/* Accepts the sockets of peers. False: too many descriptors are open. Caller holds prog_lock. */
bool dofi_amo_accept(struct dofi_ia *ia);

/* Tokens of connections. Caller holds cm_lock. */
/* Active side: of a new attempt; 0: no random numbers, or the fabric needs none. */
uint64_t dofi_amo_new_token(const struct dofi_ia *ia);
/* Passive side: what the request states becomes that of the EP that accepts it. */
void dofi_amo_accepted(struct dofi_ep *ep, const struct dofi_cr *cr);

#endif
