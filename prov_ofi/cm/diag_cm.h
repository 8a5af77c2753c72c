/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines about connections: peer, qualifier, fabric, cause and remedy. */
#ifndef DOFI_DIAG_CM_H
#define DOFI_DIAG_CM_H

#include "cm/cm.h"

/* An attempt to connect to the peer (port included) begins. */
void dofi_diag_connecting(const struct dofi_ia *ia, const union dofi_addr *to, DAT_CONN_QUAL qual);
/* It failed before anything could be sent: err > 0. */
void dofi_diag_unreachable(const struct dofi_ia *ia, const union dofi_addr *to, DAT_CONN_QUAL qual,
			   int err);

/* The following functions log the only line about a failed active attempt of this EP. */
/* The fabric has reported this error. */
void dofi_diag_connect_failed(const struct dofi_ep *ep, int err);
/* The peer has rejected it with this message. */
void dofi_diag_connect_rejected(const struct dofi_ep *ep, const struct dofi_cm_msg *reject);
/* The connection has ended without an answer. */
void dofi_diag_connect_ended(const struct dofi_ep *ep);
void dofi_diag_connect_timed_out(const struct dofi_ep *ep);

/* The answer does not prove knowledge of the secret, or belongs to another handshake. */
void dofi_diag_connect_unproven(const struct dofi_ep *ep);

/* No connection follows the acceptance. */
void dofi_diag_accept_failed(const struct dofi_ep *ep, const char *cause);

/* The connection of this EP is established. */
void dofi_diag_connected(const struct dofi_ep *ep);

/* A request or an answer of that peer is invalid: err is of dofi_cm_parse, or -ENODEV for another
 * fabric. version: the one that this kind of message has here. */
void dofi_diag_bad_message(const struct dofi_ia *ia, const union dofi_addr *peer, uint16_t port,
			   size_t len, const struct dofi_cm_msg *msg, int err, int version);
/* Its handshake is rejected because of the secret; `where`: the side that needs the same file. */
void dofi_diag_secret(const union dofi_addr *peer, uint16_t port, const char *why,
		      const char *where);
/* Its request is addressed to another host. */
void dofi_diag_passed_on(const union dofi_addr *peer, uint16_t port, const union dofi_addr *to);
/* The given number of peers, the last one at `peer`, have not proved knowledge of the secret. */
void dofi_diag_no_proof(const union dofi_addr *peer, uint16_t port, unsigned int how_many);
/* A request has arrived; reason: why it is rejected, 0: it is reported to the program. */
void dofi_diag_request(const struct dofi_listener *l, const union dofi_addr *peer, uint16_t port,
		       DAT_CONN_QUAL qual, unsigned int reason);

#endif
