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
#define CELL_KIB 1
#define BULK_KIB 256
/* The longest payload of the peer. */
#define LONGEST (255 << 5)

static struct {
	const uint8_t *at, *end;
} input;

static struct dofi_fab_row row = { .name = "fuzz", .prov_name = "fuzz" };
static struct dofi_fab fab = { .row = &row };
static struct rdm_fabric fabric = { .fab = &fab, .wire = &rdm_wire_fab };
static struct rdm_domain domain;
static struct rdm_ep ep[CONNS];
static struct rdm_cq cq;
static struct rdm_offer own[CONNS];

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

long dofi_param(enum dofi_number number)
{
	switch (number) {
	case DOFI_NUM_CELL_KIB:
		return CELL_KIB;
	case DOFI_NUM_CELL_WINDOW:
		return 8;
	case DOFI_NUM_BULK_KIB:
		return BULK_KIB;
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

void dofi_why_info(const struct dofi_fab *f, const struct fi_info *hints, int ret)
{
	(void)f;
	(void)hints;
	(void)ret;
}

void dofi_why_object(const struct dofi_fab *f, const char *what, int ret)
{
	(void)f;
	(void)what;
	(void)ret;
}

void dofi_why_memory(const struct dofi_fab *f, uint64_t bytes, int ret)
{
	(void)f;
	(void)bytes;
	(void)ret;
}

size_t dofi_addr_len(const struct sockaddr *sa)
{
	(void)sa;
	return sizeof(struct sockaddr_in);
}

void rdm_cq_wake(struct rdm_cq *woken)
{
	MUST(woken == &cq);
}

void rdm_ep_broken(struct rdm_ep *e, int err)
{
	MUST(e >= ep && e < ep + CONNS && err > 0);
}

void rdm_ep_settled(struct rdm_ep *e)
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
	struct rdm_offer in;

	memset(&ep[i], 0, sizeof(ep[i]));
	ep[i].domain = &domain;
	ep[i].tx_cq = ep[i].rx_cq = &cq;
	ep[i].wire = &rdm_wire_fab;
	ep[i].state = RDM_UP;
	MUST(!rdm_wire_fab.offer(&ep[i], true, &own[i]));
	/* The peer sends the same parameters, or similar ones. */
	in = own[i];
	if (byte() & 1)
		for (uint8_t n = byte() % 4; n--;)
			in.data[byte() % (WFAB_OFFER_HDR + 2)] ^= byte();
	rdm_wire_fab.adopt(&ep[i], true, &in);
}

static void close_conn(unsigned int i)
{
	uint8_t out[RDM_OFFER_MAX];

	if (byte() & 1)
		MUST(rdm_wire_fab.finish(&ep[i], out) <= sizeof(out));
	rdm_wire_fab.close(&ep[i]);
}

static void peer_cell(struct rdm_ep *e, bool bulk)
{
	struct {
		struct wfab_hdr hdr;
		struct rdm_frame frame;
		uint8_t payload[LONGEST];
	} cell;
	struct rdm_conn *conn = e->w.conn;
	const uint8_t *offer = own[e - ep].data;
	uint8_t what = byte(), channel = byte();
	size_t room = fabric_next_recv_len(bulk), len = 0;
	int ch = channel % RDM_CHANNELS;

	memset(&cell, 0, sizeof(cell));
	cell.hdr.index = htole32((uint32_t)dofi_get(offer + 16, 4));
	cell.hdr.generation = htole32((uint32_t)dofi_get(offer + 20, 4));
	cell.hdr.token = htole64(dofi_get(offer + 24, 8));
	cell.hdr.channel = channel < 0x80 ? (uint8_t)ch : channel;
	cell.hdr.seq = htole32(conn->expected[ch] + delta());
	if (what & 1)
		for (int c = 0; c < RDM_CHANNELS; c++)
			cell.hdr.consumed[c] = htole32(conn->granted[c] + delta());
	if (what & 2) {
		cell.hdr.arrived = byte();
		cell.hdr.done = htole32(conn->acked + delta());
	}
	if (what & 4)
		cell.hdr.flags = byte();
	if (what & 8) {
		cell.hdr.wishes = htole16((uint16_t)(conn->bulk.peer_wishes + delta()));
		cell.hdr.used = htole16((uint16_t)(conn->bulk.peer_used + delta()));
		cell.hdr.back = htole16((uint16_t)(conn->bulk.peer_back + delta()));
		cell.hdr.leave = htole16((uint16_t)(conn->bulk.leave + delta()));
	}
	if (what & 16)
		((uint8_t *)&cell)[byte() % WFAB_CELL_HDR] ^= byte();
	if (cell.hdr.channel != WFAB_CREDIT) {
		cell.frame.kind = byte();
		cell.frame.flags = byte();
		len = (size_t)byte() << (byte() % 6);
		cell.frame.len = htole32((uint32_t)len + (what & 32 ? delta() : 0));
		len += sizeof(cell.frame);
	}
	len += WFAB_HDR;
	if (what & 64)
		len -= byte() % len;
	if (room)
		fabric_deliver(bulk, &cell, len < room ? len : room);
}

static void send_one(struct rdm_ep *e)
{
	int ch = byte() % RDM_CHANNELS;
	size_t want = byte() & 1 ? SIZE_MAX : byte(), room;
	struct rdm_frame *f = rdm_wire_fab.reserve(e, ch, want, &room);

	if (!f)
		return;
	MUST(room >= RDM_PAYLOAD_LEAST && room <= BULK_KIB * 1024);
	memset(f, 0, sizeof(*f));
	f->len = (uint32_t)(want < room ? want : room);
	f->kind = byte() & 1 ? RDM_MSG : RDM_WRITE;
	f->flags = RDM_FIRST | RDM_LAST;
	rdm_wire_fab.commit(e, ch, f);
}

static void take_some(struct rdm_ep *e)
{
	int ch = byte() % RDM_CHANNELS;

	for (uint8_t n = byte() % 16; n--;) {
		const void *payload;
		const struct rdm_frame *f = rdm_wire_fab.peek(e, ch, &payload);
		const struct wfab_cell *cell;

		if (!f)
			return;
		cell = wfab_next(e->w.conn, ch);
		MUST(f->len <= cell->len - WFAB_CELL_HDR);
		MUST(cell->len <= (cell->bulk ? wfab_of(&domain)->bulk.size
					      : wfab_of(&domain)->cell_size));
		rdm_wire_fab.release(e, ch);
	}
}

static void peers_bye(struct rdm_ep *e)
{
	struct rdm_conn *conn = e->w.conn;
	uint8_t bye[WFAB_BYE + 4], *p = bye;

	for (int ch = 0; ch < RDM_CHANNELS; ch++)
		p = dofi_put(p, conn->expected[ch] + delta(), 4);
	p = dofi_put(p, conn->confirmed + delta(), 4);
	dofi_put(p, conn->acked + delta(), 4);
	rdm_wire_fab.finished(e, bye, byte() < 0xf0 ? WFAB_BYE : byte() % sizeof(bye));
}

static void step(uint8_t what)
{
	unsigned int i = what >> 4 & (CONNS - 1);
	struct rdm_ep *e = &ep[i];

	switch (what & 15) {
	case 0:
	case 1:
	case 2:
		peer_cell(e, false);
		break;
	case 3:
	case 4:
		peer_cell(e, true);
		break;
	case 5:
	case 6:
		send_one(e);
		break;
	case 7:
		take_some(e);
		rdm_wire_fab.flush(e);
		break;
	case 8:
		now += (uint64_t)byte() * 30000000;
		break;
	case 9:
		close_conn(i);
		open_conn(i);
		break;
	case 10:
		peers_bye(e);
		rdm_wire_fab.drained(e, byte() & 1);
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
		rdm_wire_fab.may_sleep(&domain);
		break;
	default:
		rdm_wire_fab.arrived(e);
		rdm_wire_fab.ready(e);
		rdm_wire_fab.quiet(e, byte() & 1);
		break;
	}
	rdm_wire_fab.progress(&domain, NULL);
}

/* ---------------------------------------------------------------- invariants */

static void check_counts(void)
{
	const struct wfab *net = wfab_of(&domain);
	const struct wfab_bulk *b = &net->bulk;
	uint32_t promised = b->lapsing[0] + b->lapsing[1], held = 0, bulk = 0;

	for (unsigned int i = 0; i < CONNS; i++) {
		const struct rdm_conn *conn = ep[i].w.conn;
		const struct wfab_leave *l = &conn->bulk;

		promised += (uint16_t)(l->given - l->came - l->peer_back);
		held += l->held;
		for (uint32_t at = 0; at < RDM_CHANNELS * net->window; at++)
			bulk += conn->slot[at] && conn->slot[at]->bulk;
		for (const struct wfab_cell *c = conn->done; c; c = c->next)
			bulk += c->bulk;
	}
	MUST(b->promised == promised);
	MUST(held == bulk && b->held >= held);
	/* One may have been posted for a packet in progress. */
	MUST(b->posted + b->held <= b->most + 1);
	MUST(b->cells <= 2 * b->most);
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
	pthread_mutex_init(&domain.wire_lock, NULL);
	MUST(!rdm_wire_fab.domain_open(&domain));
	for (unsigned int i = 0; i < CONNS; i++)
		open_conn(i);
	while (input.at < input.end) {
		step(byte());
		check_counts();
	}
	for (unsigned int i = 0; i < CONNS; i++)
		close_conn(i);
	closing = true;
	rdm_wire_fab.domain_close(&domain);
	MUST(fabric_closed());
	pthread_mutex_destroy(&domain.wire_lock);
	domain.fabric = NULL;
	return 0;
}
