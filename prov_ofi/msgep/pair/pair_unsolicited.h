/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which long data is sent without GO. Caller holds ep->lock. */
#ifndef DOFI_MSGEP_PAIR_UNSOLICITED_H
#define DOFI_MSGEP_PAIR_UNSOLICITED_H

#include "msgep/pair/pair_int.h"

/* The transport's operation. */
enum msgep_bulk_mode pair_bulk_mode(struct msgep_ep *ep, uint8_t kind);
/* True if the packet begins to use a receive of the peer. */
static inline bool pair_takes_receive(const struct msgep_frame *f)
{
	return f->kind == MSGEP_MSG ? f->flags & MSGEP_FIRST : f->kind == MSGEP_IMM;
}

/* The connection has a bulk endpoint, and a packet of that size follows the requests that have been
 * sent. */
void pair_note_order(struct pair_conn *conn, const struct msgep_frame *f, uint32_t size);
static inline void pair_note_request(struct pair_conn *conn, const struct msgep_frame *f,
				     uint32_t size)
{
	if (conn->bulk)
		pair_note_order(conn, f, size);
	conn->used_receives += pair_takes_receive(f);
}

/* The peer has posted that many receives since the connection began, or 0. */
static inline void pair_note_receives(struct pair_conn *conn, uint32_t posted)
{
	if ((int32_t)(posted - conn->peer_receives) > 0)
		conn->peer_receives = posted;
}

/* True if the peer has posted memory for all unsolicited requests. */
static inline bool pair_is_solicited(struct pair_conn *conn)
{
	return pair_path_is_consumed(conn, &conn->unsolicited);
}

/* True if long data has an endpoint now. */
static inline bool pair_has_bulk(const struct pair_conn *conn)
{
	return conn->bulk && conn->bulk->state == PAIR_UP && conn->bulk->leave == BULK_KEPT;
}

#endif
