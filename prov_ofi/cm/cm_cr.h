/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection requests and their CRs. Caller holds cm_lock unless stated otherwise. */
#ifndef DOFI_CM_CR_H
#define DOFI_CM_CR_H

#include "cm/cm.h"

/* The CR of a handle, or NULL. No lock. */
static inline struct dofi_cr *dofi_cr_live(DAT_CR_HANDLE handle)
{
	return (struct dofi_cr *)dofi_obj_live(handle, DAT_HANDLE_TYPE_CR);
}

/* ---- cm/cm_request.c ---- */

/* The peer of a request; *port: its port. */
void dofi_cm_read_peer(const struct fi_info *info, union dofi_addr *peer, uint16_t *port);
/* 0: it is a valid message of that kind; otherwise the reason is logged, with `peer` and its
 * port. */
int dofi_cm_check(const struct dofi_ia *ia, const union dofi_addr *peer, uint16_t port,
		  const void *data, size_t len, enum dofi_cm_kind kind, struct dofi_cm_msg *msg);
/* The message of a rejection. */
struct dofi_cm_msg dofi_cr_rejection(const struct dofi_ia *ia, unsigned int reason,
				     const void *priv, uint16_t priv_len);
/* Rejects a request that has no CR; frees info. */
void dofi_cm_refuse(struct dofi_listener *l, struct fi_info *info, unsigned int reason,
		    const void *priv, uint16_t priv_len);
/* A CR of the service point for a request to its listener, not published yet; NULL: no memory. */
struct dofi_cr *dofi_cr_new(const struct dofi_sp *sp, struct dofi_listener *l,
			    struct fi_info *info);
/* Builds the answer to a request, sealed if the request was. 0: it cannot be sealed. */
size_t dofi_cr_build_answer(uint8_t *buf, const struct dofi_cr *cr, const struct dofi_cm_msg *msg);
/* Rejects the fabric's request of a CR with this message. -ENOMEM: it has not been rejected, which
 * only a message in parts can report. */
int dofi_cr_answer(struct dofi_cr *cr, const struct dofi_cm_msg *msg);
/* Rejects a request that has a CR, without private data. */
void dofi_cr_reject_for(struct dofi_cr *cr, unsigned int reason);
/* Releases the EP of a request that will not be accepted. */
void dofi_cr_release_ep(struct dofi_cr *cr);
/* Sets the addresses that the EP reports before its connection is established. */
void dofi_cr_set_ports(struct dofi_ep *ep, const struct dofi_cr *cr);

/* ---- cm/cm_arrive.c ---- */

/* A request has arrived at the listener; takes over info. */
void dofi_cr_arrived(struct dofi_listener *l, struct fi_info *info, const void *data, size_t len);
/* Reports the request to a service point. 0 or the reason for a rejection. */
unsigned int dofi_cr_deliver(struct dofi_cr *cr, struct dofi_sp *sp);

/* ---- cm/cm_cr.c ---- */

/* Checks the consumer's private data; bad_size, bad_ptr: numbers of these arguments. No lock. */
DAT_RETURN dofi_cr_check_priv(struct dofi_ia *ia, DAT_COUNT size, const void *priv,
			      DAT_RETURN bad_size, DAT_RETURN bad_ptr);

#endif
