/* SPDX-License-Identifier: BSD-2-Clause */
/* Credits for large packets.
 *
 * There are few large packets: not enough for the windows of all connections together. Credits keep
 * connections from delaying each other: as many receives are posted as credits are granted, and one
 * that is used or returned goes to another connection when its packet has been consumed. A
 * connection has at most a quarter of them, including unconsumed packets.
 *
 * An idle connection keeps its credits, so that its next long message can use them. When another
 * one requests credits and none are left, those of the connection that has not used its own for
 * longest are revoked. A peer that does not respond, because it is stopped, keeps its credits, and
 * the other connections use ordinary packets.
 *
 * Packets of a closed connection may still arrive; its credits stay reserved for a while.
 */
#include <string.h>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/param.h"
#include "msgep/rdm/rdm_int.h"

#define SHARE 4
#define RECALL_MS 1

static bool large_later(uint16_t count, uint16_t known)
{
	return (int16_t)(count - known) > 0;
}

void rdm_large_init(struct rdm_net *net)
{
	struct rdm_large *b = &net->large;
	uint32_t bytes = (uint32_t)dofi_param(DOFI_NUM_LARGE_PACKET_KIB) * 1024;

	dofi_list_init(&b->waiting);
	dofi_list_init(&b->unused);
	if (bytes < 2 * net->packet_size || !(net->inner.info->caps & FI_TAGGED) ||
	    net->inner.info->ep_attr->max_msg_size < bytes + RDM_PACKET_HDR)
		return;
	b->size = bytes + (uint32_t)RDM_PACKET_HDR;
	b->limit = RDM_LARGE_BYTES / bytes;
}

void rdm_large_init_conn(struct rdm_conn *conn)
{
	memset(&conn->large, 0, sizeof(conn->large));
	dofi_list_init(&conn->large.waiting_link);
	dofi_list_init(&conn->large.unused_link);
}

/* ---- what we send ---- */

/* The peer, or other connections, wait for this report: the next poll sends it, unless a packet
 * carries it before. */
static void large_report(struct rdm_conn *conn)
{
	rdm_list_owing(conn);
	if (rdm_large_due(conn))
		conn->net->large.report = true;
}

static uint16_t large_unused(const struct rdm_large_credits *l)
{
	return (uint16_t)(l->granted - l->used - l->returned);
}

struct rdm_packet *rdm_large_get(struct rdm_conn *conn)
{
	struct rdm_large_credits *l = &conn->large;
	struct rdm_large *b = &conn->net->large;
	struct rdm_packet *packet = NULL;

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (large_unused(l) && b->sending < b->limit)
		packet = rdm_large_pop(conn->net);
	if (packet) {
		packet->state = RDM_PACKET_RESERVED;
		packet->conn = conn;
		packet->credit = false;
		b->sending++;
		b->sent++;
		l->sending++;
		l->used++;
	}
	/* As many as the window holds, for data that may follow. */
	l->requested = (uint16_t)(l->used + l->returned + conn->peer_window);
	return packet;
}

static void large_return_credits(struct rdm_conn *conn)
{
	struct rdm_large_credits *l = &conn->large;

	if (!large_unused(l))
		return;
	l->returned = (uint16_t)(l->granted - l->used);
	l->return_due = true;
	large_report(conn);
}

/* ---- what we receive ---- */

static bool large_wants_credits(const struct rdm_conn *conn)
{
	const struct rdm_large_credits *l = &conn->large;
	uint32_t share = (conn->net->large.limit + SHARE - 1) / SHARE;

	return conn->ep && conn->has_peer_params && !conn->broken && !l->revoked &&
	       large_later(l->peer_requested, l->peer_granted) &&
	       rdm_large_outstanding(l) + (uint32_t)l->held < share;
}

void rdm_large_update(struct rdm_conn *conn)
{
	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (dofi_list_empty(&conn->large.waiting_link) && large_wants_credits(conn))
		dofi_list_append(&conn->net->large.waiting, &conn->large.waiting_link);
}

/* Appends it to the list of those with unused credits. */
static void large_list_unused(struct rdm_conn *conn)
{
	dofi_list_remove(&conn->large.unused_link);
	if (rdm_large_outstanding(&conn->large))
		dofi_list_append(&conn->net->large.unused, &conn->large.unused_link);
	else
		conn->large.revoked = conn->large.revoke_due = false;
}

/* One more may arrive. */
static bool large_promise(struct rdm_net *net)
{
	struct rdm_large *b = &net->large;

	if (b->posted <= b->promised && !rdm_large_post_one(net))
		return false;
	b->promised++;
	return true;
}

static void large_age(struct rdm_large *b)
{
	uint64_t now;

	if (!b->expire_at)
		return;
	now = dofi_now();
	if (now < b->expire_at)
		return;
	b->promised -= b->expiring[1];
	b->expiring[1] = b->expiring[0];
	b->expiring[0] = 0;
	b->expire_at = b->expiring[1] ? now + DOFI_MS(RDM_LINGER_MS) : 0;
}

/* For a connection that has none. One at a time: the owner soon returns its credits, or is
 * stopped. */
static void large_revoke(struct rdm_net *net)
{
	uint64_t now = dofi_now();
	struct dofi_list *pos;

	if (now < net->large.revoke_at)
		return;
	net->large.revoke_at = now + DOFI_MS(RECALL_MS);
	dofi_list_each(pos, &net->large.unused)
	{
		struct rdm_conn *conn = dofi_container(pos, struct rdm_conn, large.unused_link);

		if (conn->large.revoked || conn->broken)
			continue;
		conn->large.revoked = conn->large.revoke_due = true;
		dofi_list_remove(&conn->large.waiting_link);
		large_report(conn);
		return;
	}
}

void rdm_large_grant(struct rdm_net *net)
{
	struct rdm_large *b = &net->large;

	DOFI_ASSERT_LOCKED(&net->domain->transport_lock);
	large_age(b);
	while (!dofi_list_empty(&b->waiting)) {
		struct rdm_conn *conn =
			dofi_container(b->waiting.next, struct rdm_conn, large.waiting_link);
		uint16_t before = conn->large.peer_granted;

		while (large_wants_credits(conn) && large_promise(net))
			conn->large.peer_granted++;
		if (conn->large.peer_granted != before) {
			dofi_list_remove(&conn->large.waiting_link);
			large_list_unused(conn);
			large_report(conn);
		}
		if (large_wants_credits(conn)) {
			rdm_large_update(conn);
			if (!rdm_large_outstanding(&conn->large) && !conn->large.held)
				large_revoke(net);
			return;
		}
		dofi_list_remove(&conn->large.waiting_link);
	}
}

bool rdm_large_received(struct rdm_conn *conn)
{
	struct rdm_large_credits *l = &conn->large;
	struct rdm_large *b = &conn->net->large;

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (!rdm_large_outstanding(l))
		return false;
	l->received++;
	l->held++;
	b->promised--;
	b->held++;
	b->received++;
	large_list_unused(conn);
	large_report(conn);
	return true;
}

bool rdm_large_missing(const struct rdm_conn *conn)
{
	return large_later(conn->large.peer_used, conn->large.received);
}

/* ---- counts in packets ---- */

void rdm_large_fill(struct rdm_conn *conn, struct rdm_hdr *hdr)
{
	struct rdm_large_credits *l = &conn->large;

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	hdr->requested = htole16(l->requested);
	hdr->used = htole16(l->used);
	hdr->returned = htole16(l->returned);
	hdr->granted = htole16(l->peer_granted);
	if (l->revoke_due)
		hdr->flags |= RDM_REVOKES;
	l->peer_reported = l->peer_granted;
	l->return_due = l->revoke_due = false;
}

/* Older counts than the known ones are ignored. */
static bool large_recv_credits(struct rdm_conn *conn, uint16_t used, uint16_t back)
{
	struct rdm_large_credits *l = &conn->large;

	if (large_later((uint16_t)(used + back), l->peer_granted))
		return false;
	if (large_later(used, l->peer_used))
		l->peer_used = used;
	if (!large_later(back, l->peer_returned))
		return true;
	if (large_later((uint16_t)(back + l->received), l->peer_granted))
		return false;
	conn->net->large.promised -= (uint16_t)(back - l->peer_returned);
	l->peer_returned = back;
	l->revoked = l->revoke_due = false;
	large_list_unused(conn);
	return true;
}

static bool large_recv_requested(struct rdm_conn *conn, uint16_t requests)
{
	struct rdm_large_credits *l = &conn->large;

	if (!large_later(requests, l->peer_requested))
		return true;
	/* A window, and what may be in progress in each channel. */
	if ((uint16_t)(requests - l->received - l->peer_returned) >
	    (1 + MSGEP_CHANNELS) * conn->net->window)
		return false;
	l->peer_requested = requests;
	return true;
}

bool rdm_large_counts(struct rdm_conn *conn, const struct rdm_hdr *hdr)
{
	struct rdm_large_credits *l = &conn->large;
	uint16_t granted = le16toh(hdr->granted);

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (!conn->net->large.size)
		return !(hdr->requested | hdr->used | hdr->returned | hdr->granted) &&
		       !(hdr->flags & RDM_REVOKES);
	if (!large_recv_credits(conn, le16toh(hdr->used), le16toh(hdr->returned)) ||
	    !large_recv_requested(conn, le16toh(hdr->requested)))
		return false;
	if (large_later(granted, l->granted)) {
		if (large_later(granted, l->requested))
			return false;
		l->granted = granted;
	}
	if (hdr->flags & RDM_REVOKES)
		large_return_credits(conn);
	rdm_large_update(conn);
	rdm_large_grant(conn->net);
	return true;
}

/* ---- the end ---- */

void rdm_large_close(struct rdm_conn *conn, bool settled)
{
	struct rdm_large_credits *l = &conn->large;
	struct rdm_large *b = &conn->net->large;

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	dofi_list_remove(&l->waiting_link);
	dofi_list_remove(&l->unused_link);
	if (settled) {
		b->promised -= rdm_large_outstanding(l);
	} else if (rdm_large_outstanding(l)) {
		b->expiring[0] += rdm_large_outstanding(l);
		if (!b->expire_at)
			b->expire_at = dofi_now() + DOFI_MS(RDM_LINGER_MS);
	}
	l->peer_granted = (uint16_t)(l->received + l->peer_returned);
	rdm_large_grant(conn->net);
}
