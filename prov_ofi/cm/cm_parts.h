/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection messages in parts (proto/cm_part.h). Caller holds cm_lock. */
#ifndef DOFI_CM_PARTS_H
#define DOFI_CM_PARTS_H

#include "cm/cm.h"
#include "cm/half_open.h"
#include "proto/cm_part.h"

/* ---- answers (cm/cm_parts_answer.c) ---- */

struct dofi_cm_answer {
	struct dofi_half_open half_open;
	struct dofi_ep *ep; /* NULL: a rejection, or of a datagram endpoint */
	uint16_t reads_in;  /* of the request */
	uint32_t peer_conn_id;
	uint32_t token;
	uint16_t len;
	uint8_t msg[DOFI_CM_MAX];
};

/* Stores an answer of `len` bytes, at most DOFI_CM_MAX, to a request; NULL: no memory, or no random
 * numbers. `ep`: the EP that accepts it; NULL: the answer establishes no connection. */
struct dofi_cm_answer *dofi_cm_answer_new(const struct dofi_cr *cr, struct dofi_ep *ep,
					  const uint8_t *msg, size_t len);
/* Sends its first part as the answer to the request. */
void dofi_cm_answer_begin(struct dofi_cm_answer *a, struct dofi_cr *cr);
/* The EP's connection has ended before the peer has fetched the answer. */
void dofi_cm_answer_drop(struct dofi_ep *ep);
/* Removes it. */
void dofi_cm_answer_free(struct dofi_ia *ia, struct dofi_cm_answer *a);
/* The one from which a client at this address requests a part; NULL: it has expired. */
struct dofi_cm_answer *dofi_cm_answer_find(const struct dofi_listener *l,
					   const union dofi_addr *from,
					   const struct dofi_cm_part *get);
/* Its part that begins at that byte. */
struct dofi_cm_part dofi_cm_answer_part(const struct dofi_cm_answer *a, uint16_t at);
/* Rejects a request of the fabric with a part, and frees info. */
void dofi_cm_part_reject(struct dofi_listener *l, struct fi_info *info, struct dofi_cm_part *part);

/* ---- active side (cm/cm_parts_client.c) ---- */

/* True if the attempt has exchanged parts: its next connection continues, and the call's time limit
 * is its only one. */
static inline bool dofi_cm_in_parts(const struct dofi_ep *ep)
{
	return ep->attempt.put_token || ep->attempt.answer.token;
}

/* True if the attempt's next connection only requests a part of the answer. */
static inline bool dofi_cm_fetches(const struct dofi_ep *ep)
{
	return ep->attempt.answer.token != 0;
}

/* Replaces the request of `len` bytes in buf by the part that the attempt's next connection sends,
 * if it is too long for one message. Returns the new length; 0: there are no random numbers. */
size_t dofi_cm_next_part(struct dofi_ep *ep, struct dofi_conn *conn, uint8_t *buf, size_t len);
/* A rejection has arrived. True: it was a part, and the attempt continues or has been ended. False:
 * *data, *len is the rejection, which may have been put together in `whole` (DOFI_CM_MAX bytes). */
bool dofi_cm_rejected_in_part(struct dofi_ep *ep, const uint8_t **data, size_t *len,
			      uint8_t *whole);
/* The same for an acceptance. False: it is invalid. */
bool dofi_cm_accepted_in_part(struct dofi_ep *ep, const uint8_t **data, size_t *len,
			      uint8_t *whole);
/* ---- passive side (cm/cm_parts_listener.c) ---- */

/* A part has arrived; takes over info. True: it was the last one of a request, which is in `whole`
 * (DOFI_CM_MAX bytes); info is still the caller's. */
bool dofi_cm_part_received(struct dofi_listener *l, struct fi_info *info, const uint8_t **data,
			   size_t *len, uint8_t *whole);
#endif
