/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines about connections: peer, qualifier, fabric, cause and remedy. */
#ifndef DOFI_DIAG_CM_H
#define DOFI_DIAG_CM_H

#include "cm/cm.h"

/* "10.0.0.7:4711", "[::1]:4711"; without a port if that is 0. */
#define DOFI_ADDR_TEXT 56
const char *dofi_addr_text(const union dofi_addr *addr, uint16_t port, char *buf, size_t room);

/* An attempt to connect to the peer (port included) begins. */
void dofi_diag_connecting(const struct dofi_ia *ia, const union dofi_addr *to, DAT_CONN_QUAL qual);
/* It failed before anything could be sent: err > 0. */
void dofi_diag_unreachable(const struct dofi_ia *ia, const union dofi_addr *to, DAT_CONN_QUAL qual,
			   int err);

/* An active attempt of this EP is over, and this is its one line in the log. */
/* The fabric reports this error. */
void dofi_diag_connect_failed(const struct dofi_ep *ep, int err);
/* The peer has rejected it with this message. */
void dofi_diag_connect_rejected(const struct dofi_ep *ep, const struct dofi_cm_msg *reject);
/* It came to an end without an answer. */
void dofi_diag_connect_ended(const struct dofi_ep *ep);
void dofi_diag_connect_timed_out(const struct dofi_ep *ep);

/* What answers does not know the secret, or answers what another was asked. */
void dofi_diag_connect_unproven(const struct dofi_ep *ep);

/* The connection of this EP is established. */
void dofi_diag_connected(const struct dofi_ep *ep);

/* A request or an answer of that peer cannot be used: err is of dofi_cm_parse, or -ENODEV for
 * another fabric. version: the one that this kind of message has here. */
void dofi_diag_bad_message(const struct dofi_ia *ia, const union dofi_addr *peer, uint16_t port,
			   size_t len, const struct dofi_cm_msg *msg, int err, int version);
/* Its handshake is refused because of the secret; `where` the same file should be set. */
void dofi_diag_secret(const union dofi_addr *peer, uint16_t port, const char *why,
		      const char *where);
/* It wants to reach another address than ours. */
void dofi_diag_passed_on(const union dofi_addr *peer, uint16_t port, const union dofi_addr *to);
/* So many peers, this one the last, have not shown that they know the secret. */
void dofi_diag_no_proof(const union dofi_addr *peer, uint16_t port, unsigned int how_many);
/* A request has come, and its sender is told of this reason, 0: it is reported to the program. */
void dofi_diag_request(const struct dofi_listener *l, const union dofi_addr *peer, uint16_t port,
		       DAT_CONN_QUAL qual, unsigned int reason);

#endif
