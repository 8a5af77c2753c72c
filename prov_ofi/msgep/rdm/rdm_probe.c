/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that packets pass between two ends in both directions, and what has been lost.
 *
 * A credit packet probes (RDM_PROBES), a credit packet replies (RDM_PROBE_REPLY). A reply shows
 * that packets pass both ways; so does a packet with a frame, because the peer sends these only
 * after its own check.
 */
#include "base/be_bytes.h"
#include "msgep/rdm/rdm_int.h"

static void rdm_path_confirmed(struct rdm_conn *conn)
{
	if (atomic_exchange(&conn->path_ok, true) || !conn->ep)
		return;
	conn->probing = false;
	msgep_ep_path_checked(conn->ep);
}

void rdm_probe(struct msgep_ep *ep)
{
	struct rdm_conn *conn = ep->w.conn;

	dofi_lock(&ep->domain->transport_lock);
	if (!conn->broken && !conn->path_ok) {
		conn->probing = true;
		rdm_send_credit(conn);
	}
	dofi_unlock(&ep->domain->transport_lock);
}

bool rdm_path_ok(struct msgep_ep *ep)
{
	return ep->w.conn && atomic_load(&ep->w.conn->path_ok);
}

void rdm_probe_frame(struct rdm_conn *conn)
{
	if (!atomic_load_explicit(&conn->path_ok, memory_order_relaxed))
		rdm_path_confirmed(conn);
}

void rdm_probe_credit(struct rdm_conn *conn, const struct rdm_hdr *hdr)
{
	if (hdr->flags & RDM_PROBE_REPLY)
		rdm_path_confirmed(conn);
	if (!(hdr->flags & RDM_PROBES))
		return;
	conn->probe_reply_due = true;
	conn->probing = !conn->path_ok;
	if (conn->has_peer_params && !conn->broken)
		rdm_send_credit(conn);
}

/* ---- counts ---- */

enum {
	SENT,
	GOT = SENT + MSGEP_CHANNELS,
	REPORTED = GOT + MSGEP_CHANNELS,
	ARRIVED_REPORTED = REPORTED + MSGEP_CHANNELS,
	DELIVERED,
	ACKS_REPORTED,
	KNOWN,
};
/* Counts that the peer need not know, and that change when something moves. */
enum { CONFIRMED = KNOWN, ACKED, GRANTED, N_COUNTS = GRANTED + MSGEP_CHANNELS };
_Static_assert(4 * N_COUNTS <= MSGEP_COUNTS_MAX, "room for the counts");

/* Caller holds transport_lock. */
static void rdm_read_counts(struct rdm_conn *conn, uint32_t *count)
{
	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		count[SENT + ch] = atomic_load(&conn->sent[ch]);
		count[GOT + ch] = rdm_first_missing(conn, ch);
		count[REPORTED + ch] = conn->reported[ch];
		count[GRANTED + ch] = atomic_load(&conn->granted[ch]);
	}
	count[ARRIVED_REPORTED] = conn->arrived_reported;
	count[DELIVERED] = rdm_delivered(conn);
	count[ACKS_REPORTED] = conn->acks_reported;
	count[CONFIRMED] = atomic_load(&conn->confirmed);
	count[ACKED] = atomic_load(&conn->acked);
}

size_t rdm_counts(struct msgep_ep *ep, uint8_t *out)
{
	uint32_t count[N_COUNTS];

	if (!ep->w.conn)
		return 0;
	dofi_lock(&ep->domain->transport_lock);
	rdm_read_counts(ep->w.conn, count);
	dofi_unlock(&ep->domain->transport_lock);
	for (int i = 0; i < N_COUNTS; i++)
		out = dofi_put_be(out, count[i], 4);
	return 4 * N_COUNTS;
}

static bool rdm_count_lags(uint32_t count, uint32_t of)
{
	return (int32_t)(of - count) > 0;
}

bool rdm_missing(struct msgep_ep *ep, const uint8_t *in, size_t len)
{
	uint32_t ours[N_COUNTS], peer[KNOWN];
	struct rdm_conn *conn = ep->w.conn;
	bool missing;

	if (!conn || len != 4 * N_COUNTS)
		return len;
	for (int i = 0; i < KNOWN; i++)
		peer[i] = (uint32_t)dofi_get_be(in + 4 * i, 4);
	dofi_lock(&ep->domain->transport_lock);
	rdm_read_counts(conn, ours);
	missing = rdm_count_lags(ours[CONFIRMED], peer[ARRIVED_REPORTED]) ||
		  rdm_count_lags(ours[ACKED], peer[ACKS_REPORTED]) ||
		  (conn->requesting_arrived &&
		   !rdm_count_lags(peer[DELIVERED], conn->arrived_requested));
	dofi_unlock(&ep->domain->transport_lock);
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		missing |= rdm_count_lags(peer[GOT + ch], ours[SENT + ch]) ||
			   rdm_count_lags(ours[GOT + ch], peer[SENT + ch]) ||
			   rdm_count_lags(ours[GRANTED + ch], peer[REPORTED + ch]);
	return missing;
}
