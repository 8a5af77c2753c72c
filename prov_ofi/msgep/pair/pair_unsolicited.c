/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which long data is sent with its announcement, without waiting for GO. (hot)
 *
 * The receiver posts memory in the order in which it processes announcements, and the data must
 * arrive in the same order; until its memory is posted, it waits in the socket, and all that
 * follows it. Announcements of answers may overtake those of requests, which may wait for receives.
 * So unsolicited requests are those that do not wait for the peer's program, nor for a request
 * that does; while any of them may be unprocessed, answers are not sent in bulk, but in packets;
 * and while a GO is awaited, nothing is unsolicited.
 *
 * A message waits for a receive, unless the peer has reported more of them than earlier messages
 * take. Each side reports how many receives it has posted in the key of its messages, in the total
 * of its acknowledgements, and with credits. A shared queue has none for one connection.
 *
 * Callers hold ep->lock. */
#include "msgep/pair/pair_unsolicited.h"

/* True if the peer's program cannot delay a request that is sent now. */
static bool unsolicited_is_clear(const struct pair_conn *conn)
{
	uint32_t sent = conn->sent[MSGEP_REQ];

	return conn->clear == sent ||
	       atomic_load_explicit(&conn->granted[MSGEP_REQ], memory_order_relaxed) == sent;
}

/* True if the peer has posted the receive that the next message takes. A peer that receives from a
 * shared queue reports none, however many messages there have been. */
static bool unsolicited_has_receive(const struct pair_conn *conn)
{
	return conn->peer_receives && (int32_t)(conn->peer_receives - conn->used_receives) > 0;
}

void pair_note_order(struct pair_conn *conn, const struct msgep_frame *f, uint32_t size)
{
	bool may_wait = pair_takes_receive(f) ? !unsolicited_has_receive(conn)
					      : f->kind != MSGEP_MSG && f->kind != MSGEP_WRITE;
	uint32_t end = conn->sent[MSGEP_REQ] + size;

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	if (!may_wait && unsolicited_is_clear(conn))
		conn->clear = end;
	if (f->flags & MSGEP_UNSOLICITED)
		conn->unsolicited = (struct pair_path){ true, end };
	if (f->kind == MSGEP_MSG)
		conn->in_message = !(f->flags & MSGEP_LAST);
}

/* True if the latency of each transfer counts: few are in progress, and have been for a while. */
static bool unsolicited_pays(struct pair_conn *conn, uint8_t kind)
{
	const struct msgep_ep *ep = conn->ep;
	uint32_t n = kind == MSGEP_DATA ? conn->n_out + ep->target_read_tail - ep->target_read_head
					: msgep_queued(&ep->unacked);

	if (n >= PAIR_UNSOLICITED)
		conn->deep = PAIR_TRANSFERS;
	else if (conn->deep)
		conn->deep--;
	return !conn->deep;
}

enum msgep_bulk_mode pair_bulk_mode(struct msgep_ep *ep, uint8_t kind)
{
	struct pair_conn *conn = ep->w.pair;
	bool pays = unsolicited_pays(conn, kind);

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (kind == MSGEP_DATA && !pair_is_solicited(conn))
		return MSGEP_BULK_NOT;
	if (!pays || conn->reserved_carry || conn->n_awaiting || !pair_has_bulk(conn))
		return MSGEP_BULK_AFTER_GO;
	if (kind == MSGEP_DATA)
		return MSGEP_BULK_AT_ONCE;
	if (kind == MSGEP_MSG && !conn->in_message && !unsolicited_has_receive(conn))
		return MSGEP_BULK_AFTER_GO;
	return unsolicited_is_clear(conn) ? MSGEP_BULK_AT_ONCE : MSGEP_BULK_AFTER_GO;
}
