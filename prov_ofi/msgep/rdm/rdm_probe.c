/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows whether cells pass between two ends, in both directions, and what of them has been lost.
 *
 * A credit cell asks (WFAB_PROBES), a credit cell answers (WFAB_HEARD). Who has an answer knows that
 * cells pass both ways; so does who gets a cell with a frame, because the peer sends these only when
 * it knows.
 */
#include "base/be_bytes.h"
#include "msgep/rdm/rdm.h"

static void proven(struct rdm_conn *conn)
{
	if (atomic_exchange(&conn->proven, true) || !conn->ep)
		return;
	conn->probing = false;
	rdm_ep_settled(conn->ep);
}

void wfab_probe(struct rdm_ep *ep)
{
	struct rdm_conn *conn = ep->w.conn;

	pthread_mutex_lock(&ep->domain->wire_lock);
	if (!conn->broken && !conn->proven) {
		conn->probing = true;
		wfab_send_credit(conn);
	}
	pthread_mutex_unlock(&ep->domain->wire_lock);
}

bool wfab_proven(struct rdm_ep *ep)
{
	return ep->w.conn && atomic_load(&ep->w.conn->proven);
}

void wfab_probe_fill(struct rdm_conn *conn, struct wfab_hdr *hdr)
{
	if (conn->probing)
		hdr->flags |= WFAB_PROBES;
	if (conn->hear_owed)
		hdr->flags |= WFAB_HEARD;
	conn->probing = conn->hear_owed = false;
}

bool wfab_probe_due(const struct rdm_conn *conn)
{
	return conn->probing || conn->hear_owed;
}

void wfab_probe_frame(struct rdm_conn *conn)
{
	if (!atomic_load_explicit(&conn->proven, memory_order_relaxed))
		proven(conn);
}

void wfab_probe_credit(struct rdm_conn *conn, const struct wfab_hdr *hdr)
{
	if (hdr->flags & WFAB_HEARD)
		proven(conn);
	if (!(hdr->flags & WFAB_PROBES))
		return;
	conn->hear_owed = true;
	conn->probing = !conn->proven;
	if (conn->adopted && !conn->broken)
		wfab_send_credit(conn);
}

/* ---- counts ---- */

enum { SENT, GOT = SENT + RDM_CHANNELS, TOLD = GOT + RDM_CHANNELS, ARRIVED_TOLD = TOLD + RDM_CHANNELS,
       IN_HAND, ACKS_TOLD, KNOWN };
/* What the peer need not know, and what changes when something moves. */
enum { CONFIRMED = KNOWN, ACKED, GRANTED, N_COUNTS = GRANTED + RDM_CHANNELS };
_Static_assert(4 * N_COUNTS <= RDM_COUNTS_MAX, "room for the counts");

/* wire_lock held. */
static void read_counts(struct rdm_conn *conn, uint32_t *count)
{
	for (int ch = 0; ch < RDM_CHANNELS; ch++) {
		count[SENT + ch] = atomic_load(&conn->sent[ch]);
		count[GOT + ch] = wfab_first_missing(conn, ch);
		count[TOLD + ch] = conn->told[ch];
		count[GRANTED + ch] = atomic_load(&conn->granted[ch]);
	}
	count[ARRIVED_TOLD] = conn->arrived_told;
	count[IN_HAND] = wfab_in_hand(conn);
	count[ACKS_TOLD] = conn->acks_told;
	count[CONFIRMED] = atomic_load(&conn->confirmed);
	count[ACKED] = atomic_load(&conn->acked);
}

size_t wfab_counts(struct rdm_ep *ep, uint8_t *out)
{
	uint32_t count[N_COUNTS];

	if (!ep->w.conn)
		return 0;
	pthread_mutex_lock(&ep->domain->wire_lock);
	read_counts(ep->w.conn, count);
	pthread_mutex_unlock(&ep->domain->wire_lock);
	for (int i = 0; i < N_COUNTS; i++)
		out = dofi_put(out, count[i], 4);
	return 4 * N_COUNTS;
}

static bool behind(uint32_t count, uint32_t of)
{
	return (int32_t)(of - count) > 0;
}

bool wfab_missing(struct rdm_ep *ep, const uint8_t *in, size_t len)
{
	uint32_t ours[N_COUNTS], peer[KNOWN];
	struct rdm_conn *conn = ep->w.conn;
	bool missing;

	if (!conn || len != 4 * N_COUNTS)
		return len;
	for (int i = 0; i < KNOWN; i++)
		peer[i] = (uint32_t)dofi_get(in + 4 * i, 4);
	pthread_mutex_lock(&ep->domain->wire_lock);
	read_counts(conn, ours);
	missing = behind(ours[CONFIRMED], peer[ARRIVED_TOLD]) ||
		  behind(ours[ACKED], peer[ACKS_TOLD]) ||
		  (conn->asking && !behind(peer[IN_HAND], conn->asked));
	pthread_mutex_unlock(&ep->domain->wire_lock);
	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		missing |= behind(peer[GOT + ch], ours[SENT + ch]) ||
			   behind(ours[GOT + ch], peer[SENT + ch]) ||
			   behind(ours[GRANTED + ch], peer[TOLD + ch]);
	return missing;
}
