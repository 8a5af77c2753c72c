/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds messages of the hostile peer: valid enough to pass the first checks. */
#include <string.h>

#include "fabric_msg.h"
#include "fuzz.h"
#include "pairs.h"
#include "msgep/cm/cm_msg.h"

static struct {
	_Alignas(8) uint8_t bytes[PAIR_MESSAGE];
	size_t len;
} message;

static uint64_t a_mark(struct pair_conn **conn)
{
	unsigned int which = byte();
	const struct msgep_ep *e = eps[which % EPS];

	*conn = e ? e->w.pair : NULL;
	if (!*conn || which >= 0xf0)
		return which & 1 ? 0 : number(8);
	return (*conn)->mark + ((uint64_t)(which >= 0xe0) << 32);
}

static uint8_t a_kind(void)
{
	uint8_t b = byte();

	if (b < 0xa0)
		return (uint8_t)(MSGEP_MSG + b % MSGEP_GO);
	return b < 0xf8 ? (uint8_t)(PAIR_ATTACH + b % 6) : byte();
}

static uint64_t counts_of(const struct pair_conn *conn)
{
	uint32_t requests = conn->sent[MSGEP_REQ] + (uint32_t)(int8_t)byte();

	return (uint64_t)requests << 32 | (conn->sent[MSGEP_ANS] + (uint32_t)(int8_t)byte());
}

static void fill_numbers(struct msgep_frame *f, const struct pair_conn *conn)
{
	f->total = htole64(some(f->len));
	f->value = htole64(some(0));
	f->key = htole32((uint32_t)some(KEY));
	switch (f->kind) {
	case PAIR_ATTACH:
		if (conn)
			f->value = htole64(conn->peer_mark + ((uint64_t)(byte() > 0xf0) << 32));
		break;
	case PAIR_CREDIT:
		if (conn) {
			f->value = htole64(counts_of(conn));
			f->total = htole64(conn->packets + (uint32_t)(int8_t)byte());
		}
		break;
	case MSGEP_GO:
		if (conn)
			f->value = htole64(conn->next_out - byte() % 4);
		break;
	case MSGEP_ACK:
		if (conn && conn->ep)
			f->value = htole64(conn->ep->acked + byte() % 8);
		f->key = htole32(byte() % 4 ? 0 : FI_EACCES);
		break;
	case MSGEP_WRITE:
	case MSGEP_READ:
	case MSGEP_ADD:
	case MSGEP_SWAP:
		f->value = htole64((uintptr_t)memory + (byte() & 1 ? some(REGION) : 0));
		break;
	default:
		break;
	}
}

static uint32_t fill_handshake(uint8_t *at)
{
	static const uint8_t zeros[MSGEP_CM_DATA];
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_REQUEST + byte() % (MSGEP_CM_GONE + 1),
				    .transport = msgep_transport_pair.id,
				    .params = zeros,
				    .data = zeros };

	if (msg.kind == MSGEP_CM_REQUEST) {
		msg.to.sa.sa_family = AF_INET;
		msg.port = byte();
	}
	msg.params_len = byte() % (MSGEP_PARAMS_MAX + 1);
	msg.data_len = byte();
	return (uint32_t)msgep_cm_build(at, &msg);
}

/* Long data, with numbers that agree. */
static uint32_t announce(struct msgep_frame *f, uint8_t *at)
{
	struct msgep_segment segment = { .addr = byte() };
	uint32_t tail = f->kind == MSGEP_WRITE ? byte() % 80 : 0;

	segment.len = some(PAIR_BULK_FROM) % (PAIR_BULK_FROM + 64);
	f->flags = (uint8_t)(MSGEP_PULL |
			     ((byte() & (MSGEP_FIRST | MSGEP_LAST)) ^ MSGEP_FIRST ^ MSGEP_LAST));
	f->segments = 1;
	f->key = htole32(f->kind == MSGEP_DATA ? 0 : KEY);
	f->total = htole64(segment.len + tail + (f->flags & MSGEP_LAST ? 0 : number(2)));
	memcpy(at, &segment, sizeof(segment));
	return sizeof(segment) + tail;
}

static uint32_t fill_payload(struct msgep_frame *f, uint8_t *at, size_t room)
{
	struct msgep_segment segment;
	uint32_t len;

	if (f->kind == PAIR_CM_REQUEST || f->kind == PAIR_CM_MESSAGE) {
		if (f->kind == PAIR_CM_REQUEST && byte() % 8)
			f->total = htole64(PAIRS_PORT);
		return room < MSGEP_CM_MAX ? 0 : fill_handshake(at);
	}
	len = (uint32_t)some(f->kind == MSGEP_SWAP ? 16 : 8) % (PAIR_PAYLOAD + 64);
	if (f->kind >= PAIR_ATTACH)
		len = byte() < 0xf8 ? 0 : len;
	if (len > room)
		len = (uint32_t)room;
	for (size_t n = 0; f->flags & MSGEP_PULL && n < f->segments; n++) {
		if ((n + 1) * sizeof(segment) > len)
			break;
		segment.addr = some(0);
		segment.len = some(le64toh(f->total));
		memcpy(at + n * sizeof(segment), &segment, sizeof(segment));
	}
	return len;
}

/* False if there is no space. */
static bool add_packet(void)
{
	struct msgep_frame f = { .kind = a_kind() };
	uint8_t *at = message.bytes + message.len;
	size_t room = sizeof(message.bytes) - message.len;
	struct pair_conn *conn;
	uint32_t len, how;

	if (room < sizeof(f) + 8)
		return false;
	f.mark = htole64(a_mark(&conn));
	f.flags = byte();
	f.segments = byte() % (MSGEP_IOV_INLINE + 2);
	fill_numbers(&f, conn);
	memset(at, 0, room);
	how = byte();
	room -= sizeof(f);
	if ((how & 4) && room >= 128 && f.kind >= MSGEP_MSG && f.kind <= MSGEP_DATA)
		len = announce(&f, at + sizeof(f));
	else
		len = fill_payload(&f, at + sizeof(f), room & ~7u);
	/* A request of one packet. */
	if ((how & 5) == 1)
		f.total = htole64(len);
	if (conn && (how & 2)) {
		f.counts[0] = (uint8_t)(conn->sent[MSGEP_REQ] / PAIR_UNIT);
		f.counts[1] = (uint8_t)(conn->sent[MSGEP_REQ] / PAIR_UNIT >> 8);
		f.counts[2] = (uint8_t)(conn->sent[MSGEP_ANS] / PAIR_UNIT);
		f.counts[3] = (uint8_t)(conn->sent[MSGEP_ANS] / PAIR_UNIT >> 8);
		f.counts[4] = (uint8_t)conn->packets;
	} else if (conn) {
		f.counts[0] = (uint8_t)(atomic_load(&conn->granted[MSGEP_REQ]) / PAIR_UNIT);
		f.counts[1] = (uint8_t)(atomic_load(&conn->granted[MSGEP_REQ]) / PAIR_UNIT >> 8);
		f.counts[2] = (uint8_t)(atomic_load(&conn->granted[MSGEP_ANS]) / PAIR_UNIT);
		f.counts[3] = (uint8_t)(atomic_load(&conn->granted[MSGEP_ANS]) / PAIR_UNIT >> 8);
		f.counts[4] = (uint8_t)atomic_load(&conn->arrived);
	}
	f.len = htole32(len);
	if (how >= 0xf0)
		f.len = htole32((uint32_t)some(len));
	memcpy(at, &f, sizeof(f));
	if (how >= 0xe8) {
		at += byte() % (sizeof(f) + 1);
		*at ^= byte();
	}
	message.len += sizeof(f) + pair_padded(len);
	return true;
}

static void begin_message(void)
{
	const struct pair *pair = pair_of_peer(&peers[0]);
	struct pair_head head = { .index = htole32(peers[0].index) };

	if (pair)
		head.key = htole64(pair->key);
	memcpy(message.bytes, &head, sizeof(head));
	message.len = sizeof(head);
}

/* True if the packets of the message are complete, and none exceeds the limit of its kind. */
static bool is_in_order(void)
{
	const uint8_t *at = message.bytes + sizeof(struct pair_head);
	size_t left = message.len - sizeof(struct pair_head);

	while (left) {
		struct msgep_frame f;
		size_t len, most = 0;

		if (left < sizeof(f))
			return false;
		memcpy(&f, at, sizeof(f));
		len = le32toh(f.len);
		if (f.kind < 0x80)
			most = PAIR_PAYLOAD;
		else if (f.kind == PAIR_CM_REQUEST || f.kind == PAIR_CM_MESSAGE)
			most = MSGEP_CM_MAX;
		if (len > most || sizeof(f) + (len + 7) / 8 * 8 > left)
			return false;
		at += sizeof(f) + (len + 7) / 8 * 8;
		left -= sizeof(f) + (len + 7) / 8 * 8;
	}
	return true;
}

/* A message that names no pair is dropped. */
static bool names_pair(const struct pair *pair)
{
	struct pair_head head;

	memcpy(&head, message.bytes, sizeof(head));
	return message.len >= sizeof(head) && le32toh(head.index) == pair->index &&
	       le64toh(head.key) == pair->key;
}

static void deliver(void)
{
	const struct pair *pair = pair_of_peer(&peers[0]);
	bool good = !pair || !names_pair(pair) || is_in_order();

	if (!fabric_msg_deliver(message.bytes, message.len))
		return;
	look();
	if (pair)
		MUST(!pair_of_peer(&peers[0]) == !good);
}

void packets(void)
{
	begin_message();
	for (unsigned int n = 1 + byte() % 4; n && add_packet(); n--)
		;
	if (byte() >= 0xf0)
		message.len -= byte() % message.len;
	deliver();
}

void carried(const struct fid_ep *ep)
{
	begin_message();
	for (unsigned int n = 1 + byte() % 4; n && add_packet(); n--)
		;
	fabric_msg_arrive_with(ep, PAIR_CARRY, message.bytes + sizeof(struct pair_head),
			       message.len - sizeof(struct pair_head));
}

void raw_bytes(void)
{
	size_t n = number(2) % 1024;

	begin_message();
	while (n-- && input.at < input.end)
		message.bytes[message.len++] = *input.at++;
	if (byte() >= 0xf0)
		memset(message.bytes, byte(), sizeof(struct pair_head));
	deliver();
}
