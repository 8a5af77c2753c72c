/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection of a pair of members: slots, credits, and the messages of both directions.
 *
 * A message of up to the eager size of the group is copied into a slot, sent, received into a slot
 * that the peer has posted in advance, and copied out when the operation that it belongs to gets
 * there. For a longer one the receiver names its memory (CTS), the sender writes it there and sends
 * DONE. A receiver that expects a shorter one sends no CTS: a sender that has waited for a while
 * describes its message (WAITS), so that the receiver finds out.
 *
 * Cookies of the posted operations: their kind in the low bits, above them the slot or the address
 * of the step. Events of EPs that no longer exist are discarded (dofi_coll_forget).
 */
#include <string.h>

#include "base/clock.h"
#include "cm/cm.h"
#include "coll/coll_int.h"

enum {
	TAG_RX,
	TAG_TX,
	TAG_WRITE,
	TAG_MASK = 3,
};

/* Time for which a long message waits before its receiver learns that. */
#define WATCH_MS 1000

#define OTHER_OPERATION "a member executes another operation"

/* A clock is never set over a round trip longer than this. */
#define CLOCK_TRIP_MAX 10000000000u

/* The slots of a peer: COLL_RX to receive into, then COLL_TX to send from. */
static char *peer_slot(const struct coll_peer *p, uint32_t slot)
{
	return p->group->slots + ((size_t)p->rank * COLL_SLOTS + slot) * dofi_coll_slot(p->group);
}

static DAT_DTO_COOKIE peer_cookie(uint64_t value, unsigned int tag)
{
	return (DAT_DTO_COOKIE){ .as_64 = value | tag };
}

static DAT_LMR_TRIPLET peer_segment(const struct dofi_lmr *lmr, const void *mem, size_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = lmr->context,
				  .virtual_address = (uintptr_t)mem,
				  .segment_length = (dofi_len_t)len };
}

void dofi_coll_peer_post_recv(struct coll_peer *p, uint32_t slot)
{
	DAT_LMR_TRIPLET t =
		peer_segment(p->group->slots_lmr, peer_slot(p, slot), dofi_coll_slot(p->group));

	if (dofi_ep_post_recv(p->ep, 1, &t, peer_cookie((uint64_t)slot << 2, TAG_RX),
			      DAT_COMPLETION_DEFAULT_FLAG))
		dofi_coll_fail(p->group, "a receive could not be posted");
}

/* The slot's message has been processed. */
static void peer_release_slot(struct coll_peer *p, uint32_t slot)
{
	if (p->state != COLL_PEER_UP)
		return;
	dofi_coll_peer_post_recv(p, slot);
	p->owed++;
}

static bool peer_may_send(const struct coll_peer *p)
{
	return p->state == COLL_PEER_UP && p->credits && p->tx_count && !p->group->cause;
}

/* Sends a packet, with data if it is EAGER; there is a slot and, except for CREDIT, a credit. */
static void peer_send(struct coll_peer *p, struct coll_packet *packet, const void *data)
{
	size_t len = packet->kind == COLL_PKT_EAGER ? packet->length : 0;
	uint32_t slot = p->tx_free[--p->tx_count];
	char *mem = peer_slot(p, COLL_RX + slot);
	DAT_LMR_TRIPLET t = peer_segment(p->group->slots_lmr, mem, COLL_HDR + len);

	packet->credits = (uint8_t)p->owed;
	p->owed = 0;
	if (packet->kind != COLL_PKT_CREDIT)
		p->credits--;
	dofi_coll_put_packet((uint8_t *)mem, packet);
	if (len)
		memcpy(mem + COLL_HDR, data, len);
	if (dofi_ep_post_send(p->ep, 1, &t, peer_cookie((uint64_t)slot << 2, TAG_TX),
			      DAT_COMPLETION_DEFAULT_FLAG))
		dofi_coll_fail(p->group, "a message could not be posted");
}

static void peer_send_control(struct coll_peer *p, enum coll_packet_kind kind, uint64_t length)
{
	struct coll_packet packet = { .kind = kind, .length = length };

	peer_send(p, &packet, NULL);
}

static struct coll_step *peer_pop(struct coll_queue *q)
{
	struct coll_step *step = q->first;

	q->first = step->next;
	if (!q->first)
		q->last = &q->first;
	return step;
}

void dofi_coll_peer_add(struct coll_peer *p, struct coll_step *step)
{
	struct coll_queue *q = step->kind == COLL_RECV ? &p->recvs : &p->sends;

	step->next = NULL;
	step->announced = false;
	*q->last = step;
	q->last = &step->next;
	dofi_coll_peer_move(p);
}

/* True if a packet of the peer belongs to the step. */
static bool peer_matches(const struct coll_packet *packet, const struct coll_step *step)
{
	return packet->seq == step->op->seq && packet->type == (uint8_t)step->op->type &&
	       packet->length == step->len;
}

/* Writes a long message to the memory that CTS has named. */
static void peer_write(struct coll_peer *p, struct coll_step *step)
{
	struct coll_packet *cts = &p->cts[p->cts_head];
	struct coll_packet done = *cts;
	struct dofi_lmr *lmr;
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET to;

	p->cts_head = (p->cts_head + 1) % COLL_CTS_MAX;
	p->cts_count--;
	if (!peer_matches(&done, step)) {
		dofi_coll_fail(p->group, OTHER_OPERATION);
		return;
	}
	lmr = dofi_coll_op_lmr(step->op, step->src, step->len);
	if (!lmr) {
		dofi_coll_fail(p->group, "the memory of an operation cannot be registered");
		return;
	}
	t = peer_segment(lmr, step->src, step->len);
	memset(&to, 0, sizeof(to));
	to.rmr_context = done.key;
	to.virtual_address = done.addr;
	to.segment_length = (DAT_SEG_LENGTH)step->len;
	if (dofi_ep_post_rdma_write(p->ep, 1, &t, peer_cookie((uintptr_t)step, TAG_WRITE), &to,
				    DAT_COMPLETION_DEFAULT_FLAG)) {
		dofi_coll_fail(p->group, "a write could not be posted");
		return;
	}
	done.kind = COLL_PKT_DONE;
	peer_send(p, &done, NULL);
}

static void peer_send_clock(struct coll_peer *p, struct coll_step *step)
{
	uint64_t now = dofi_now(), time = step->op->value + (now - step->op->before);
	bool set = step->kind == COLL_CLOCK_SET;

	p->unacked = step;
	p->sent_at = now;
	peer_send_control(p, set ? COLL_PKT_CLOCK : COLL_PKT_ADJUST,
			  set ? time : p->round_trip / 2);
}

static void peer_watch(struct coll_group *g)
{
	if (g->watching)
		return;
	g->watching = true;
	dofi_coll_timer_arm(g, WATCH_MS);
}

void dofi_coll_peer_announce(struct coll_peer *p)
{
	struct coll_step *step = p->sends.first;
	struct coll_packet packet = { .kind = COLL_PKT_WAITS };

	if (!step || step->kind != COLL_SEND || step->len <= p->group->eager || p->cts_count ||
	    step->announced)
		return;
	if (!peer_may_send(p)) {
		peer_watch(p->group);
		return;
	}
	packet.type = (uint8_t)step->op->type;
	packet.seq = step->op->seq;
	packet.length = step->len;
	step->announced = true;
	peer_send(p, &packet, NULL);
}

/* Sends the message of the first sending step. False: not now. */
static bool peer_send_first(struct coll_peer *p)
{
	struct coll_step *step = p->sends.first;
	struct coll_packet packet = { .kind = COLL_PKT_EAGER };

	if (!step || !peer_may_send(p))
		return false;
	if (step->kind != COLL_SEND) {
		if (p->unacked)
			return false;
		peer_pop(&p->sends);
		peer_send_clock(p, step);
		return true;
	}
	if (step->len > p->group->eager) {
		if (!p->cts_count) {
			peer_watch(p->group);
			return false;
		}
		peer_pop(&p->sends);
		peer_write(p, step);
		return true;
	}
	packet.type = (uint8_t)step->op->type;
	packet.seq = step->op->seq;
	packet.length = step->len;
	peer_pop(&p->sends);
	peer_send(p, &packet, step->src);
	dofi_coll_step_done(step);
	return true;
}

/* Names the memory of a long message to its sender. */
static void peer_offer(struct coll_peer *p, struct coll_step *step)
{
	struct dofi_lmr *lmr = dofi_coll_op_lmr(step->op, step->buf, step->len);
	struct coll_packet packet = { .kind = COLL_PKT_CTS,
				      .type = (uint8_t)step->op->type,
				      .seq = step->op->seq,
				      .length = step->len,
				      .addr = (uintptr_t)step->buf };

	if (!lmr) {
		dofi_coll_fail(p->group, "the memory of an operation cannot be registered");
		return;
	}
	packet.key = lmr->rmr_context;
	step->announced = true;
	peer_send(p, &packet, NULL);
}

/* True if the message that the peer is about to send is not that of the first receiving step. All
 * messages before both have been taken if none is left. */
static bool peer_waits_in_vain(const struct coll_peer *p, const struct coll_step *step)
{
	return p->waits_known && !p->arrived_count && !peer_matches(&p->waits, step);
}

/* Takes the message of the first receiving step. False: it has not arrived. */
static bool peer_receive_first(struct coll_peer *p)
{
	struct coll_step *step = p->recvs.first;
	const struct coll_packet *packet;
	uint32_t slot;

	if (!step || p->group->cause)
		return false;
	if (peer_waits_in_vain(p, step)) {
		dofi_coll_fail(p->group, OTHER_OPERATION);
		return false;
	}
	if (step->len > p->group->eager && !step->announced) {
		if (!peer_may_send(p))
			return false;
		peer_offer(p, step);
	}
	if (!p->arrived_count)
		return false;
	slot = p->arrived[p->arrived_head];
	packet = &p->packet[slot];
	if (!peer_matches(packet, step) ||
	    packet->kind != (step->len > p->group->eager ? COLL_PKT_DONE : COLL_PKT_EAGER)) {
		dofi_coll_fail(p->group, OTHER_OPERATION);
		return false;
	}
	p->arrived_head = (p->arrived_head + 1) % COLL_RX;
	p->arrived_count--;
	if (packet->kind == COLL_PKT_EAGER && step->len)
		memcpy(step->buf, peer_slot(p, slot) + COLL_HDR, step->len);
	peer_pop(&p->recvs);
	peer_release_slot(p, slot);
	dofi_coll_step_done(step);
	return true;
}

void dofi_coll_peer_move(struct coll_peer *p)
{
	while (peer_send_first(p))
		;
	while (peer_receive_first(p))
		;
	for (; p->acks && peer_may_send(p); p->acks--)
		peer_send_control(p, COLL_PKT_ACK, 0);
	if (p->bye && !p->sends.first && peer_may_send(p)) {
		p->bye = false;
		peer_send_control(p, COLL_PKT_BYE, 0);
	}
	if (p->owed >= COLL_CREDITS / 2 && p->state == COLL_PEER_UP && p->tx_count &&
	    !p->group->cause)
		peer_send_control(p, COLL_PKT_CREDIT, 0);
	/* It has freed the group: it sends and receives nothing more. */
	if (p->state >= COLL_PEER_LEFT && (p->sends.first || p->unacked || p->recvs.first))
		dofi_coll_fail(p->group, "a member has freed the group");
}

bool dofi_coll_peer_idle(const struct coll_peer *p)
{
	return p->state != COLL_PEER_UP || (p->tx_count == COLL_TX && !p->bye);
}

/* ---- events ---- */

static void peer_arrived(struct coll_peer *p, uint32_t slot)
{
	/* The peer waits no more. */
	p->waits_known = false;
	p->arrived[(p->arrived_head + p->arrived_count) % COLL_RX] = (uint8_t)slot;
	p->arrived_count++;
}

static void peer_take_cts(struct coll_peer *p, const struct coll_packet *packet)
{
	if (p->cts_count == COLL_CTS_MAX) {
		dofi_coll_fail(p->group, "a member announces too many messages");
		return;
	}
	p->cts[(p->cts_head + p->cts_count) % COLL_CTS_MAX] = *packet;
	p->cts_count++;
}

static void peer_take_ack(struct coll_peer *p)
{
	if (!p->unacked) {
		dofi_coll_fail(p->group, "a member confirms what was not sent");
		return;
	}
	p->round_trip = dofi_now() - p->sent_at;
	if (p->round_trip > CLOCK_TRIP_MAX)
		p->round_trip = CLOCK_TRIP_MAX;
	dofi_coll_step_done(p->unacked);
	p->unacked = NULL;
}

/* Packets that are no messages of operations. */
static void peer_take_control(struct coll_peer *p, const struct coll_packet *packet)
{
	switch (packet->kind) {
	case COLL_PKT_CTS:
		peer_take_cts(p, packet);
		break;
	case COLL_PKT_CLOCK:
		p->group->clock_start = dofi_now() - packet->length;
		p->acks++;
		break;
	case COLL_PKT_ADJUST:
		if (packet->length > CLOCK_TRIP_MAX) {
			dofi_coll_fail(p->group, "a member sets an invalid clock");
			break;
		}
		p->group->clock_start -= packet->length;
		p->acks++;
		break;
	case COLL_PKT_ACK:
		peer_take_ack(p);
		break;
	case COLL_PKT_BYE:
		p->state = COLL_PEER_LEFT;
		break;
	case COLL_PKT_WAITS:
		p->waits = *packet;
		p->waits_known = true;
		break;
	default:
		break;
	}
}

static void peer_received(struct coll_peer *p, uint32_t slot, size_t len)
{
	struct coll_packet *packet = &p->packet[slot];

	if (!dofi_coll_get_packet((const uint8_t *)peer_slot(p, slot), len, packet)) {
		dofi_coll_fail(p->group, "a member has sent an invalid packet");
		return;
	}
	p->credits += packet->credits;
	if (p->credits > COLL_CREDITS) {
		dofi_coll_fail(p->group, "a member returns more credits than it got");
		return;
	}
	if (packet->kind == COLL_PKT_EAGER || packet->kind == COLL_PKT_DONE) {
		peer_arrived(p, slot);
		return;
	}
	peer_take_control(p, packet);
	peer_release_slot(p, slot);
	if (packet->kind == COLL_PKT_CREDIT && p->owed)
		p->owed--;
}

void dofi_coll_peer_dto_event(struct coll_peer *p, const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	uint64_t value = data->user_cookie.as_64;
	unsigned int tag = value & TAG_MASK;
	uint32_t slot = (uint32_t)(value >> 2);

	/* An end of the connection reports itself. A member that has freed the group had
	 * everything. */
	if (data->status != DAT_DTO_SUCCESS && p->state != COLL_PEER_LEFT) {
		if (data->status != DAT_DTO_ERR_FLUSHED)
			dofi_coll_fail(p->group, "a message to a member failed");
		return;
	}
	if (tag == TAG_WRITE)
		dofi_coll_step_done((struct coll_step *)(uintptr_t)(value & ~(uint64_t)TAG_MASK));
	else if (tag == TAG_TX)
		p->tx_free[p->tx_count++] = (uint8_t)slot;
	else if (data->status == DAT_DTO_SUCCESS)
		peer_received(p, slot, data->transfered_length);
	dofi_coll_peer_move(p);
}
