/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests connection parameters and packets that no valid peer sends. */
#include <string.h>

#include "base/be_bytes.h"
#include "rdm_rig.h"

RIG_MODES;
RIG_ONE_MODE;

static struct side left, right;

struct forged {
	struct rdm_hdr hdr;
	struct msgep_frame frame;
	uint8_t payload[104];
};
_Static_assert(sizeof(struct forged) == RDM_PACKET_HDR + 104, "no padding");

static struct forged forge(struct end *e, uint8_t channel, uint32_t seq)
{
	struct forged f;

	memset(&f, 0, sizeof(f));
	f.hdr = rig_header(e, channel, seq);
	f.frame.kind = MSGEP_MSG;
	f.frame.len = htole32(sizeof(f.payload));
	return f;
}

/* Random messages of all lengths are dropped and counted. */
static void garbage(const void *arg)
{
	static uint8_t junk[65536];
	struct rdm_net *net;
	struct pair p;

	rig_open(&left, &right, arg);
	net = rdm_net_of(&right.domain);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 5);
	for (unsigned int i = 1; i <= 200; i++) {
		size_t len = i < 80 ? i : rig_random() % (net->packet_size + 1);

		for (size_t k = 0; k < len; k++)
			junk[k] = (uint8_t)rig_random();
		if (len >= 4 && i % 2)
			memset(junk, 0, 4); /* an index that exists */
		rig_raw(&left, &right, &p.a, junk, len);
		PUMP_UNTIL(&left, &right, net->dropped == i, 5000000);
	}
	ASSERT_EQ(p.b.broken, 0);
	rig_exchange(&p, &left, &right, 50);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(garbage, modes, garbage)

/* Valid except for one number of the name. */
static void unknown_senders(const void *arg)
{
	struct rdm_net *net;
	struct forged f;
	struct pair p;

	rig_open(&left, &right, arg);
	net = rdm_net_of(&right.domain);
	rig_connect(&p, &left, &right);
	f = forge(&p.a, MSGEP_REQ, 0);
	f.hdr.index = htole32(le32toh(f.hdr.index) + 1);
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	f = forge(&p.a, MSGEP_REQ, 0);
	f.hdr.generation = htole32(le32toh(f.hdr.generation) - 1);
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	f = forge(&p.a, MSGEP_REQ, 0);
	f.hdr.token = ~f.hdr.token;
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	PUMP_UNTIL(&left, &right, net->dropped == 3, 5000000);
	ASSERT_EQ(p.b.broken, 0);
	ASSERT(!msgep_transport_rdm.ready(&p.b.ep));
	rig_exchange(&p, &left, &right, 20);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(unknown_senders, modes, unknown_senders)

/* A protocol violation ends the connection of its sender, and no other. */
struct breach {
	const char *name;
	void (*spoil)(struct forged *f, size_t *len, uint32_t window);
};

static void beyond(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	f->hdr.seq = htole32(window);
}

static void far_beyond(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->hdr.seq = htole32(0x7fffffff);
}

static void channel(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->hdr.channel = 2;
}

static void zero(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->hdr.zero = 1;
}

static void zero_end(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->hdr.zero_end = 1;
}

static void flag(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->hdr.flags = RDM_REVOKES << 1;
}

static void arrived(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->hdr.arrived = 1;
}

static void question(struct forged *f, size_t *len, uint32_t window)
{
	f->hdr.channel = RDM_CREDIT;
	f->hdr.flags = RDM_WANTS_ARRIVED;
	f->hdr.seq = htole32(window + 1);
	*len = RDM_HDR;
}

static void credit(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->hdr.consumed[MSGEP_ANS] = htole32(1);
}

static void longer(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->frame.len = htole32(sizeof(f->payload) + 1);
}

static void longest(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->frame.len = 0xffffffff;
}

static void shorter(struct forged *f, size_t *len, uint32_t window)
{
	(void)f;
	(void)window;
	*len = RDM_PACKET_HDR - 1;
}

static void credit_with_frame(struct forged *f, size_t *len, uint32_t window)
{
	(void)len;
	(void)window;
	f->hdr.channel = RDM_CREDIT;
}

static const struct breach breaches[] = {
	{ "beyond_the_window", beyond },
	{ "far_beyond_the_window", far_beyond },
	{ "no_such_channel", channel },
	{ "not_zero", zero },
	{ "end_not_zero", zero_end },
	{ "unknown_flag", flag },
	{ "got_what_was_not_sent", arrived },
	{ "asks_about_what_was_not_sent", question },
	{ "consumed_what_was_not_sent", credit },
	{ "frame_longer_than_cell", longer },
	{ "frame_much_longer_than_cell", longest },
	{ "no_whole_frame_header", shorter },
	{ "credit_cell_with_a_frame", credit_with_frame },
};

static void breach(const void *arg)
{
	const struct breach *row = arg;
	struct pair p, q;
	struct forged f;
	size_t len = sizeof(f);

	for (size_t i = 0; i < 2; i++) {
		rig_open(&left, &right, &modes[i]);
		rig_connect(&p, &left, &right);
		rig_connect(&q, &left, &right);
		f = forge(&p.a, MSGEP_REQ, 0);
		row->spoil(&f, &len, rdm_net_of(&right.domain)->window);
		p.b.woken = 0;
		rig_raw(&left, &right, &p.a, &f, len);
		PUMP_UNTIL(&left, &right, p.b.broken, 5000000);
		ASSERT_EQ(p.b.broken, FI_EINVAL);
		ASSERT(p.b.woken > 0);
		ASSERT_PTR(rig_peek(&p.b), NULL);
		ASSERT(msgep_transport_rdm.drained(&p.b.ep, false));
		ASSERT(!rig_send(&p.b, MSGEP_REQ));
		rig_exchange(&q, &left, &right, 20);
		rig_disconnect(&p);
		rig_disconnect(&q);
		rig_close(&left);
		rig_close(&right);
	}
}
TEST_ROWS(breach, breaches, breach)

/* The same packet again: before it has been consumed, and after. */
static void repeated(const void *arg)
{
	struct rdm_net *net;
	struct forged f;
	struct pair p;

	rig_open(&left, &right, arg);
	net = rdm_net_of(&right.domain);
	rig_connect(&p, &left, &right);
	f = forge(&p.a, MSGEP_REQ, 0);
	f.frame.value = 4711;
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	PUMP_UNTIL(&left, &right, net->repeated == 1, 5000000);
	ASSERT(rig_peek(&p.b)->value == 4711);
	dofi_lock(&p.b.ep.lock);
	msgep_transport_rdm.release(&p.b.ep, MSGEP_REQ);
	dofi_unlock(&p.b.ep.lock);
	rig_flush(&p.b);
	ASSERT_PTR(rig_peek(&p.b), NULL);
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	PUMP_UNTIL(&left, &right, net->repeated == 2, 5000000);
	ASSERT_PTR(rig_peek(&p.b), NULL);
	ASSERT_EQ(p.b.broken, 0);
	ASSERT_EQ(net->held, 0);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(repeated, modes, repeated)

/* The second packet without the first is kept, cannot be consumed, and finally ends the connection.
 * If the first one still arrives, the connection continues. */
static void gap(const void *arg)
{
	uint64_t start = dt_now_us();
	struct pair p, q;
	struct forged f;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	rig_connect(&q, &left, &right);
	f = forge(&p.a, MSGEP_ANS, 1);
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	f = forge(&q.a, MSGEP_ANS, 1);
	rig_raw(&left, &right, &q.a, &f, sizeof(f));
	PUMP_UNTIL(&left, &right, rdm_net_of(&right.domain)->held == 2, 5000000);
	ASSERT(!msgep_transport_rdm.ready(&p.b.ep));
	ASSERT(msgep_transport_rdm.quiet(&p.b.ep, false));
	f = forge(&q.a, MSGEP_ANS, 0);
	rig_raw(&left, &right, &q.a, &f, sizeof(f));
	PUMP_UNTIL(&left, &right, msgep_transport_rdm.ready(&q.b.ep), 5000000);
	PUMP_UNTIL(&left, &right, p.b.broken, 15000000);
	ASSERT_EQ(p.b.broken, FI_ETIMEDOUT);
	ASSERT(dt_now_us() - start >= RDM_GAP_MS * 1000);
	for (int i = 0; i < 100; i++)
		rig_pump(&left, &right);
	ASSERT_EQ(q.b.broken, 0);
	rig_disconnect(&p);
	rig_disconnect(&q);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(gap, one_mode, gap)

/* A gap after packets that the program has not consumed yet. */
static void gap_behind(const void *arg)
{
	struct forged f;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	f = forge(&p.a, MSGEP_REQ, 0);
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	f = forge(&p.a, MSGEP_REQ, 2);
	rig_raw(&left, &right, &p.a, &f, sizeof(f));
	PUMP_UNTIL(&left, &right, rdm_net_of(&right.domain)->held == 2, 5000000);
	PUMP_UNTIL(&left, &right, p.b.broken, 15000000);
	ASSERT_EQ(p.b.broken, FI_ETIMEDOUT);
	/* Packets before the gap can still be consumed. */
	ASSERT(!msgep_transport_rdm.drained(&p.b.ep, false));
	ASSERT(rig_peek(&p.b) != NULL);
	dofi_lock(&p.b.ep.lock);
	msgep_transport_rdm.release(&p.b.ep, MSGEP_REQ);
	dofi_unlock(&p.b.ep.lock);
	ASSERT(msgep_transport_rdm.drained(&p.b.ep, false));
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(gap_behind, one_mode, gap_behind)

/* Parameters with one wrong number, truncated, or random. */
static void refused(struct end *e, const struct msgep_params *params)
{
	struct msgep_params copy = *params;

	ASSERT(msgep_transport_rdm.set_peer_params(&e->ep, false, &copy) < 0);
}

static void spoil(struct end *e, const struct msgep_params *good, size_t at, int bytes,
		  uint64_t value)
{
	struct msgep_params bad = *good;

	dofi_put_be(bad.data + at, value, bytes);
	refused(e, &bad);
}

static void bad_params(const void *arg)
{
	struct msgep_params params = { .fd = -1 }, cut;
	struct end a, b;

	rig_open(&left, &right, arg);
	rig_end_init(&a, &left);
	rig_end_init(&b, &right);
	ASSERT_EQ(msgep_transport_rdm.get_params(&a.ep, true, &params), 0);
	ASSERT(params.len <= MSGEP_PARAMS_MAX);
	spoil(&b, &params, 0, 1, RDM_VERSION + 1);
	spoil(&b, &params, 1, 1, params.data[1] - 1u);
	spoil(&b, &params, 1, 1, 0);
	spoil(&b, &params, 1, 1, 255);
	spoil(&b, &params, 2, 2, 0);
	spoil(&b, &params, 2, 2, RDM_WINDOW_MAX + 1);
	spoil(&b, &params, 4, 4, RDM_PACKET_HDR);
	spoil(&b, &params, 4, 4, RDM_PACKET_MAX + 1);
	spoil(&b, &params, 4, 4, 0xffffffff);
	spoil(&b, &params, 8, 4, RDM_PACKET_HDR);
	spoil(&b, &params, 8, 4, RDM_LARGE_MAX + 1);
	spoil(&b, &params, RDM_PARAMS_HDR, 2, 0x7777);
	for (cut = params; cut.len--;)
		refused(&b, &cut);
	cut = params;
	cut.len++;
	refused(&b, &cut);
	for (int i = 0; i < 2000; i++) {
		cut.len = (uint16_t)(rig_random() % (MSGEP_PARAMS_MAX + 1));
		for (size_t k = 0; k < sizeof(cut.data); k++)
			cut.data[k] = (uint8_t)rig_random();
		refused(&b, &cut);
	}
	cut = params;
	ASSERT_EQ(msgep_transport_rdm.set_peer_params(&b.ep, false, &cut), 0);
	/* Parameters can be set only once. */
	refused(&b, &params);
	msgep_transport_rdm.close(&a.ep);
	msgep_transport_rdm.close(&b.ep);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(bad_params, modes, bad_params)
