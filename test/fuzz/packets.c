/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the transport over RDM endpoints: no sequence of packets may make it access other memory,
 * or lose count of its buffers.
 *
 * The input is a list of steps: packets of the peer, valid enough to pass the first checks, in any
 * order; its parameters and last messages; actions of our side (send, receive, end); failures of
 * the fabric; time that passes. Invariants: a frame that is read lies within its packet, and there
 * are as many buffers as credits were granted for.
 */
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/env.h"
#include "base/param.h"
#include "base/be_bytes.h"
#include "fabric.h"
#include "fuzz.h"
#include "msgep/rdm/rdm.h"
#include "diag/diag.h"

#define CONNS 4
#define PACKET_KIB 1
#define LARGE_PACKET_KIB 256
/* The longest payload of the peer. */
#define LONGEST (255 << 5)

static struct {
	const uint8_t *at, *end;
} input;

static struct dofi_fabric_desc row = { .name = "fuzz", .prov_name = "fuzz" };
static struct dofi_fab fab = { .desc = &row };
static struct msgep_fabric fabric = { .fab = &fab, .transport = &msgep_transport_rdm };
static struct msgep_domain domain;
static struct msgep_ep ep[CONNS];
static struct msgep_cq cq;
static struct msgep_params own[CONNS];

/* ---------------------------------------------------------------- environment */

/*
 * A fake clock, which advances only in a step, or while a domain is closed, which waits for peers
 * that do not answer.
 */
static uint64_t now;
static bool closing;
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!domain.fabric || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ts);
	if (closing)
		now += 100000000;
	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

void dofi_log(enum dofi_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

const char *dofi_param_str(enum dofi_string which)
{
	(void)which;
	return NULL;
}

long dofi_param(enum dofi_number number)
{
	switch (number) {
	case DOFI_NUM_PACKET_KIB:
		return PACKET_KIB;
	case DOFI_NUM_PACKET_WINDOW:
		return 8;
	case DOFI_NUM_LARGE_PACKET_KIB:
		return LARGE_PACKET_KIB;
	default:
		return 0;
	}
}

const char *dofi_env(const char *name)
{
	(void)name;
	return NULL;
}

const char *dofi_env_secure(const char *name)
{
	return dofi_env(name);
}

void dofi_diag_info(const struct dofi_fab *f, const struct fi_info *hints, int ret)
{
	(void)f;
	(void)hints;
	(void)ret;
}

void dofi_diag_object(const struct dofi_fab *f, const char *what, int ret)
{
	(void)f;
	(void)what;
	(void)ret;
}

void dofi_diag_memory(const struct dofi_fab *f, uint64_t bytes, int ret)
{
	(void)f;
	(void)bytes;
	(void)ret;
}

void msgep_cq_wake(struct msgep_cq *woken)
{
	MUST(woken == &cq);
}

void msgep_ep_broken(struct msgep_ep *e, int err)
{
	MUST(e >= ep && e < ep + CONNS && err > 0);
}

void msgep_ep_path_checked(struct msgep_ep *e)
{
	MUST(e >= ep && e < ep + CONNS);
}

/* ---------------------------------------------------------------- input */

static uint8_t byte(void)
{
	return input.at < input.end ? *input.at++ : 0;
}

/* Small numbers of either sign, occasionally large ones. */
static uint32_t delta(void)
{
	uint8_t b = byte();

	if (b == 0x80)
		return (uint32_t)byte() << 8 | byte();
	return (uint32_t)(int8_t)b;
}

/* ---------------------------------------------------------------- steps */

static void open_conn(unsigned int i)
{
	struct msgep_params in;

	memset(&ep[i], 0, sizeof(ep[i]));
	dofi_lock_init(&ep[i].lock);
	ep[i].domain = &domain;
	ep[i].tx_cq = ep[i].rx_cq = &cq;
	ep[i].transport = &msgep_transport_rdm;
	ep[i].state = MSGEP_UP;
	MUST(!msgep_transport_rdm.get_params(&ep[i], true, &own[i]));
	/* The peer sends the same parameters, or similar ones. */
	in = own[i];
	if (byte() & 1)
		for (uint8_t n = byte() % 4; n--;)
			in.data[byte() % (RDM_PARAMS_HDR + 2)] ^= byte();
	msgep_transport_rdm.set_peer_params(&ep[i], true, &in);
}

static void close_conn(unsigned int i)
{
	uint8_t out[MSGEP_PARAMS_MAX];

	dofi_lock(&ep[i].lock);
	if (byte() & 1)
		MUST(msgep_transport_rdm.finish(&ep[i], out) <= sizeof(out));
	dofi_unlock(&ep[i].lock);
	msgep_transport_rdm.close(&ep[i]);
}

static void peer_packet(struct msgep_ep *e, bool bulk)
{
	struct {
		struct rdm_hdr hdr;
		struct msgep_frame frame;
		uint8_t payload[LONGEST];
	} packet;
	struct rdm_conn *conn = e->w.conn;
	const uint8_t *params = own[e - ep].data;
	uint8_t what = byte(), channel = byte();
	size_t room = fabric_next_recv_len(bulk), len = 0;
	int ch = channel % MSGEP_CHANNELS;

	memset(&packet, 0, sizeof(packet));
	packet.hdr.index = htole32((uint32_t)dofi_get_be(params + 16, 4));
	packet.hdr.generation = htole32((uint32_t)dofi_get_be(params + 20, 4));
	packet.hdr.token = htole64(dofi_get_be(params + 24, 8));
	packet.hdr.channel = channel < 0x80 ? (uint8_t)ch : channel;
	packet.hdr.seq = htole32(conn->expected[ch] + delta());
	if (what & 1)
		for (int c = 0; c < MSGEP_CHANNELS; c++)
			packet.hdr.consumed[c] = htole32(conn->granted[c] + delta());
	if (what & 2) {
		packet.hdr.arrived = byte();
		packet.hdr.done = htole32(conn->acked + delta());
	}
	if (what & 4)
		packet.hdr.flags = byte();
	if (what & 8) {
		packet.hdr.requested = htole16((uint16_t)(conn->large.peer_requested + delta()));
		packet.hdr.used = htole16((uint16_t)(conn->large.peer_used + delta()));
		packet.hdr.returned = htole16((uint16_t)(conn->large.peer_returned + delta()));
		packet.hdr.granted = htole16((uint16_t)(conn->large.granted + delta()));
	}
	if (what & 16)
		((uint8_t *)&packet)[byte() % RDM_PACKET_HDR] ^= byte();
	if (packet.hdr.channel != RDM_CREDIT) {
		packet.frame.kind = byte();
		packet.frame.flags = byte();
		len = (size_t)byte() << (byte() % 6);
		packet.frame.len = htole32((uint32_t)len + (what & 32 ? delta() : 0));
		len += sizeof(packet.frame);
	}
	len += RDM_HDR;
	if (what & 64)
		len -= byte() % len;
	if (room)
		fabric_deliver(bulk, &packet, len < room ? len : room);
}

static void send_one(struct msgep_ep *e)
{
	int ch = byte() % MSGEP_CHANNELS;
	size_t want = byte() & 1 ? SIZE_MAX : byte(), room;
	struct msgep_frame *f = msgep_transport_rdm.reserve(e, ch, want, &room);

	if (!f)
		return;
	MUST(room >= MSGEP_PAYLOAD_LEAST && room <= LARGE_PACKET_KIB * 1024);
	memset(f, 0, sizeof(*f));
	f->len = (uint32_t)(want < room ? want : room);
	f->kind = byte() & 1 ? MSGEP_MSG : MSGEP_WRITE;
	f->flags = MSGEP_FIRST | MSGEP_LAST;
	msgep_transport_rdm.commit(e, ch, f);
}

static void take_some(struct msgep_ep *e)
{
	int ch = byte() % MSGEP_CHANNELS;

	for (uint8_t n = byte() % 16; n--;) {
		const void *payload;
		const struct msgep_frame *f = msgep_transport_rdm.peek(e, ch, &payload);
		const struct rdm_packet *packet;

		if (!f)
			return;
		packet = rdm_next(e->w.conn, ch);
		MUST(f->len <= packet->len - RDM_PACKET_HDR);
		MUST(packet->len <= (packet->large ? rdm_net_of(&domain)->large.size
						   : rdm_net_of(&domain)->packet_size));
		msgep_transport_rdm.release(e, ch);
	}
}

static void peers_bye(struct msgep_ep *e)
{
	struct rdm_conn *conn = e->w.conn;
	uint8_t bye[RDM_BYE + 4], *p = bye;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		p = dofi_put_be(p, conn->expected[ch] + delta(), 4);
	p = dofi_put_be(p, conn->confirmed + delta(), 4);
	dofi_put_be(p, conn->acked + delta(), 4);
	msgep_transport_rdm.finished(e, bye, byte() < 0xf0 ? RDM_BYE : byte() % sizeof(bye));
}

/* What the owner of an endpoint does with its lock. */
static void step_of(struct msgep_ep *e, uint8_t what)
{
	dofi_lock(&e->lock);
	switch (what) {
	case 5:
	case 6:
		send_one(e);
		break;
	case 7:
		take_some(e);
		msgep_transport_rdm.flush(e);
		break;
	case 10:
		peers_bye(e);
		msgep_transport_rdm.drained(e, byte() & 1);
		break;
	default:
		msgep_transport_rdm.arrived(e);
		msgep_transport_rdm.ready(e);
		msgep_transport_rdm.quiet(e, byte() & 1);
		break;
	}
	dofi_unlock(&e->lock);
}

static void step(uint8_t what)
{
	unsigned int i = what >> 4 & (CONNS - 1);
	struct msgep_ep *e = &ep[i];

	what &= 15;
	switch (what) {
	case 0:
	case 1:
	case 2:
		peer_packet(e, false);
		break;
	case 3:
	case 4:
		peer_packet(e, true);
		break;
	case 8:
		now += (uint64_t)byte() * 30000000;
		break;
	case 9:
		close_conn(i);
		open_conn(i);
		break;
	case 11:
		fabric_fail_receive(byte() & 1);
		break;
	case 12:
		fabric_fail_send();
		break;
	case 13:
		fabric_refuse(byte() % 16);
		break;
	case 14:
		msgep_transport_rdm.may_sleep(&domain, true);
		break;
	default:
		step_of(e, what);
		break;
	}
	msgep_transport_rdm.progress(&domain, NULL);
}

/* ---------------------------------------------------------------- invariants */

static void check_counts(void)
{
	const struct rdm_net *net = rdm_net_of(&domain);
	const struct rdm_large *b = &net->large;
	uint32_t promised = b->expiring[0] + b->expiring[1], held = 0, bulk = 0;

	for (unsigned int i = 0; i < CONNS; i++) {
		const struct rdm_conn *conn = ep[i].w.conn;
		const struct rdm_large_credits *l = &conn->large;

		promised += (uint16_t)(l->peer_granted - l->received - l->peer_returned);
		held += l->held;
		for (uint32_t at = 0; at < MSGEP_CHANNELS * net->window; at++)
			bulk += conn->slot[at] && conn->slot[at]->large;
		for (const struct rdm_packet *c = conn->done; c; c = c->next)
			bulk += c->large;
	}
	MUST(b->promised == promised);
	MUST(held == bulk && b->held >= held);
	/* One may have been posted for a packet in progress. */
	MUST(b->posted + b->held <= b->limit + 1);
	MUST(b->packets <= 2 * b->limit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input.at = data;
	input.end = data + size;
	now = 1000000000;
	closing = false;
	fabric_open(byte() & 1);
	memset(&domain, 0, sizeof(domain));
	domain.fabric = &fabric;
	dofi_lock_init(&domain.transport_lock);
	MUST(!msgep_transport_rdm.domain_open(&domain));
	for (unsigned int i = 0; i < CONNS; i++)
		open_conn(i);
	while (input.at < input.end) {
		step(byte());
		check_counts();
	}
	for (unsigned int i = 0; i < CONNS; i++)
		close_conn(i);
	closing = true;
	msgep_transport_rdm.domain_close(&domain);
	MUST(fabric_closed());
	domain.fabric = NULL;
	return 0;
}
