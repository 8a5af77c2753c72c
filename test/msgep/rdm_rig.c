/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs two sides of the transport over RDM endpoints in one process, without upper layers. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"
#include "fabric/fab_lib.h"
#include "rdm_rig.h"

/* By hand: WIRE_FAB_PROVIDER names another inner provider. */
/* clang-format off */
static struct dofi_fabric_desc row = {
	.name = "rxm", .prov_name = "tcp;ofi_rxm", .wire_id = 200,
	.max_iov = MSGEP_IOV_MAX, .cm_data = 256,
	.rx_depth = 1024,
};
/* clang-format on */

/* ---- stubs called by the transport ---- */

void msgep_cq_wake(struct msgep_cq *cq)
{
	struct end *e = dofi_container(cq, struct end, cq);

	atomic_fetch_add(&e->woken, 1);
}

void msgep_ep_broken(struct msgep_ep *ep, int err)
{
	struct end *e = dofi_container(ep, struct end, ep);

	e->broken = err;
}

/* Parameters of entries are fabric/fab.c's. */
void dofi_fab_unknown_words(const char *params, void (*fn)(const char *word, const char *near))
{
	(void)params;
	(void)fn;
}

void msgep_ep_path_checked(struct msgep_ep *ep)
{
	struct end *e = dofi_container(ep, struct end, ep);

	e->settled++;
}

/* ---- sides ---- */

static bool bulk_mode;

static void open_domain(struct side *s)
{
	struct fi_info *info;
	int ret;

	memset(s, 0, sizeof(*s));
	if (getenv("WIRE_FAB_PROVIDER"))
		row.prov_name = getenv("WIRE_FAB_PROVIDER");
	s->fab.desc = &row;
	s->fab.lib_version = dofi_lib.version();
	s->fab.addr.in.sin_family = AF_INET;
	s->fab.addr.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	strcpy(s->fab.netdev, "lo");
	s->fabric.fab = &s->fab;
	s->fabric.transport = &msgep_transport_rdm;
	s->domain.fabric = &s->fabric;
	dofi_lock_init(&s->domain.transport_lock);
	ret = msgep_transport_rdm.find_inner(&s->fab, &info);
	if (ret == -FI_ENODATA)
		dt_skip("this libfabric has no provider %s", row.prov_name);
	ASSERT_EQ(ret, 0);
	dofi_lib.freeinfo(info);
	ASSERT_EQ(msgep_transport_rdm.domain_open(&s->domain), 0);
}

void rig_open_one(struct side *s, const struct mode *mode)
{
	char value[32];

	if (mode->constrained) {
		snprintf(value, sizeof(value), "%s:%llu", mode->large ? "shuffle" : "efa",
			 (unsigned long long)rig_random());
		dt_note("DAPL_OFI_TEST_CONSTRAIN=%s", value);
		setenv("DAPL_OFI_TEST_CONSTRAIN", value, 1);
	} else {
		unsetenv("DAPL_OFI_TEST_CONSTRAIN");
	}
	bulk_mode = mode->large;
	dofi_param_load();
	ASSERT_EQ(dofi_lib_load(), 0);
	open_domain(s);
	dofi_lib_signals_restore();
}

void rig_open(struct side *a, struct side *b, const struct mode *mode)
{
	rig_open_one(a, mode);
	rig_open_one(b, mode);
}

void rig_close(struct side *s)
{
	msgep_transport_rdm.domain_close(&s->domain);
}

void rig_pump(struct side *a, struct side *b)
{
	msgep_transport_rdm.progress(&a->domain, NULL);
	msgep_transport_rdm.progress(&b->domain, NULL);
}

/* ---- ends ---- */

void rig_end_init(struct end *e, struct side *s)
{
	memset(e, 0, sizeof(*e));
	dofi_lock_init(&e->ep.lock);
	e->ep.domain = &s->domain;
	e->ep.tx_cq = e->ep.rx_cq = &e->cq;
	e->ep.transport = &msgep_transport_rdm;
	e->ep.state = MSGEP_UP;
	e->large = bulk_mode;
}

void rig_connect(struct pair *p, struct side *a, struct side *b)
{
	struct msgep_params params = { .fd = -1 };

	rig_end_init(&p->a, a);
	rig_end_init(&p->b, b);
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		p->a.out[ch] = p->b.in[ch] = rig_random() | 1;
		p->b.out[ch] = p->a.in[ch] = rig_random() | 1;
	}
	ASSERT_EQ(msgep_transport_rdm.get_params(&p->a.ep, true, &params), 0);
	ASSERT_EQ(msgep_transport_rdm.set_peer_params(&p->b.ep, false, &params), 0);
	ASSERT_EQ(msgep_transport_rdm.get_params(&p->b.ep, false, &params), 0);
	ASSERT_EQ(msgep_transport_rdm.set_peer_params(&p->a.ep, true, &params), 0);
}

void rig_disconnect(struct pair *p)
{
	msgep_transport_rdm.close(&p->a.ep);
	msgep_transport_rdm.close(&p->b.ep);
}

/* ---- frames ---- */

static uint64_t step(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

uint64_t rig_random(void)
{
	static uint64_t state;

	if (!state) {
		state = dt_now_us() * 2654435761u + 1;
		dt_note("seed %llu", (unsigned long long)state);
	}
	return step(&state);
}

/*
 * Both sides derive the same length and contents from the state. Lengths: often zero, small, or
 * the maximum.
 */
static size_t frame_len(uint64_t *state, size_t room)
{
	uint64_t r = step(state);

	switch (r >> 60 & 3) {
	case 0:
		return (r >> 8) % 3 ? (r >> 16) % 64 : 0;
	case 1:
		return room - (r >> 8) % 3;
	default:
		return (r >> 8) % (room + 1);
	}
}

static void fill(uint64_t *state, uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = step(state);

		memcpy(p + i, &v, len - i < 8 ? len - i : 8);
	}
}

static bool send_frame(struct end *e, int ch, size_t want)
{
	struct msgep_frame *f;
	size_t room = 0, len;

	dofi_lock(&e->ep.lock);
	f = msgep_transport_rdm.reserve(&e->ep, ch, want, &room);
	if (!f) {
		dofi_unlock(&e->ep.lock);
		return false;
	}
	ASSERT(room >= 1);
	len = frame_len(&e->out[ch], room);
	memset(f, 0, sizeof(*f));
	f->len = (uint32_t)len;
	f->kind = (uint8_t)(MSGEP_MSG + ch);
	f->flags = MSGEP_FIRST | MSGEP_LAST;
	f->key = (uint32_t)e->out[ch];
	f->total = e->out[ch];
	f->value = e->sent[ch]++;
	fill(&e->out[ch], msgep_payload(f), len);
	msgep_transport_rdm.commit(&e->ep, ch, f);
	dofi_unlock(&e->ep.lock);
	return true;
}

bool rig_send(struct end *e, int ch)
{
	return send_frame(e, ch, e->large && (e->out[ch] >> 20) % 3 ? SIZE_MAX : 1);
}

bool rig_send_long(struct end *e, int ch)
{
	return send_frame(e, ch, SIZE_MAX);
}

bool rig_recv(struct end *e, int ch)
{
	static __thread uint8_t want[RDM_LARGE_MAX + 8];
	struct rdm_conn *conn = e->ep.w.conn;
	const struct msgep_frame *f;
	const void *payload;
	size_t len;

	dofi_lock(&e->ep.lock);
	f = msgep_transport_rdm.peek(&e->ep, ch, &payload);
	if (!f) {
		dofi_unlock(&e->ep.lock);
		return false;
	}
	len = frame_len(&e->in[ch],
			rdm_next(conn, ch)->large ? conn->large_payload : conn->payload);
	ASSERT_EQ(f->len, len);
	ASSERT_EQ(f->kind, MSGEP_MSG + ch);
	ASSERT_EQ(f->key, (uint32_t)e->in[ch]);
	ASSERT(f->total == e->in[ch]);
	ASSERT_EQ(f->value, e->got[ch]++);
	fill(&e->in[ch], want, len);
	ASSERT_MEM(payload, want, len);
	msgep_transport_rdm.release(&e->ep, ch);
	dofi_unlock(&e->ep.lock);
	return true;
}

const struct msgep_frame *rig_peek(struct end *e)
{
	const struct msgep_frame *f;
	const void *payload;

	dofi_lock(&e->ep.lock);
	f = msgep_transport_rdm.peek(&e->ep, MSGEP_REQ, &payload);
	dofi_unlock(&e->ep.lock);
	return f;
}

void rig_flush(struct end *e)
{
	dofi_lock(&e->ep.lock);
	msgep_transport_rdm.flush(&e->ep);
	dofi_unlock(&e->ep.lock);
}

static bool move(struct end *from, struct end *to, uint32_t until)
{
	bool done = true;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		while (from->sent[ch] < until && rig_random() % 8 && rig_send(from, ch))
			;
		while (rig_random() % 8 && rig_recv(to, ch))
			;
		done &= to->got[ch] == until;
	}
	rig_flush(to);
	return done;
}

void rig_exchange(struct pair *p, struct side *a, struct side *b, uint32_t n)
{
	uint32_t until = p->a.sent[0] + n;
	bool there, back;

	do {
		rig_pump(a, b);
		there = move(&p->a, &p->b, until);
		back = move(&p->b, &p->a, until);
		ASSERT_EQ(p->a.broken, 0);
		ASSERT_EQ(p->b.broken, 0);
	} while (!there || !back);
}

/* ---- by hand ---- */

struct rdm_hdr rig_header(struct end *e, uint8_t channel, uint32_t seq)
{
	struct rdm_conn *conn = e->ep.w.conn;
	struct rdm_hdr hdr = {
		.index = htole32(conn->peer_index),
		.generation = htole32(conn->peer_generation),
		.token = htole64(conn->peer_token),
		.seq = htole32(seq),
		.channel = channel,
	};

	return hdr;
}

static void raw(struct side *from, struct side *to, struct end *e, const void *data, size_t len,
		bool large)
{
	struct rdm_net *net = rdm_net_of(&from->domain);
	uint64_t end = dt_now_us() + 5000000u * dt_slow();
	struct rdm_conn *conn = e->ep.w.conn;
	struct rdm_packet *packet;
	ssize_t ret;

	dofi_lock(&from->domain.transport_lock);
	packet = rdm_packet_get(conn);
	dofi_unlock(&from->domain.transport_lock);
	ASSERT(packet != NULL);
	memcpy(packet->hdr, data, len);
	packet->len = (uint32_t)len;
	packet->state = RDM_PACKET_SENDING;
	/* The first send to a peer establishes a connection of the fabric: both sides must make
	 * progress. */
	do {
		rig_pump(from, to);
		dofi_lock(&from->domain.transport_lock);
		if (large)
			ret = fi_tsend(net->ep, packet->hdr, len, packet->desc, conn->peer->addr,
				       RDM_LARGE_TAG, &packet->context);
		else
			ret = fi_send(net->ep, packet->hdr, len, packet->desc, conn->peer->addr,
				      &packet->context);
		dofi_unlock(&from->domain.transport_lock);
	} while (ret == -FI_EAGAIN && dt_now_us() < end);
	ASSERT_EQ(ret, 0);
}

void rig_raw(struct side *from, struct side *to, struct end *e, const void *data, size_t len)
{
	raw(from, to, e, data, len, false);
}

void rig_raw_bulk(struct side *from, struct side *to, struct end *e, const void *data, size_t len)
{
	raw(from, to, e, data, len, true);
}

bool rig_wakes(struct side *side, int ms)
{
	struct pollfd pfd[MSGEP_WAIT_FDS];
	int fd[MSGEP_WAIT_FDS], n = msgep_transport_rdm.wait_fds(&side->domain, fd);

	for (int i = 0; i < n; i++)
		pfd[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	return poll(pfd, (nfds_t)n, ms) > 0;
}

static void leave(void *arg)
{
	struct leaver *l = arg;

	msgep_transport_rdm.close(&l->end->ep);
	rig_close(l->side);
	l->gone = true;
}

void rig_close_thread(struct leaver *l, struct end *end, struct side *side)
{
	l->end = end;
	l->side = side;
	l->gone = false;
	dt_thread_start(&l->thread, leave, l);
}
