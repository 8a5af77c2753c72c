/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which long data is sent with its announcement, without waiting for GO. (hot)
 *
 * The receiver posts memory in the order in which it processes announcements, and the data must
 * arrive in the same order; until its memory is posted, it waits in the socket, and all that
 * follows it. Announcements of answers may overtake those of requests, which may wait for receives.
 * So unsolicited requests are writes before which nothing waits for the peer's program; while any
 * of them may be unprocessed, answers are not sent in bulk, but in packets; and while a GO is
 * awaited, nothing is unsolicited.
 *
 * Callers hold ep->lock. */
#include "msgep/object/proto.h"
#include "msgep/pair/pair.h"

/* True if the peer's program cannot delay a request that is sent now. */
static bool unsolicited_is_clear(const struct pair_conn *conn)
{
	uint32_t sent = conn->sent[MSGEP_REQ];

	return conn->clear == sent ||
	       atomic_load_explicit(&conn->granted[MSGEP_REQ], memory_order_relaxed) == sent;
}

void pair_note_write(struct pair_conn *conn, uint32_t size, bool unsolicited)
{
	uint32_t end = conn->sent[MSGEP_REQ] + size;

	DOFI_ASSERT_LOCKED(&conn->ep->lock);
	if (unsolicited_is_clear(conn))
		conn->clear = end;
	if (unsolicited)
		conn->unsolicited = (struct pair_path){ true, end };
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
	if (kind == MSGEP_DATA || (kind == MSGEP_WRITE && unsolicited_is_clear(conn)))
		return MSGEP_BULK_AT_ONCE;
	return MSGEP_BULK_AFTER_GO;
}
