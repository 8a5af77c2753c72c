/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that large packets are used within their credits, and no connection delays another. */
#include <stdlib.h>
#include <string.h>

#include "rdm_rig.h"

static const struct mode modes[] = {
	{ "rxm", false, true },
	{ "shuffled", true, true },
};
RIG_ONE_MODE;

/* More connections than can have credits at the same time. */
#define CROWD 6
/* Maximum of one connection; all together have four times as many; the window has this size. */
#define SHARE 8

static struct side left, right;

static struct rdm_large *bulk_of(struct side *s)
{
	return &rdm_net_of(&s->domain)->large;
}

/* Credits that have been granted to the peer of `e`, and are not used. */
static uint16_t leave_of(struct end *e)
{
	const struct rdm_large_credits *l = &e->ep.w.conn->large;

	return (uint16_t)(l->peer_granted - l->received - l->peer_returned);
}

static bool take(struct end *e)
{
	bool any = rig_recv(e, MSGEP_REQ);

	rig_flush(e);
	return any;
}

/* p.a has credits that it knows of; nothing is in transit. */
static void warm_up(struct pair *p)
{
	const struct rdm_large_credits *l = &p->a.ep.w.conn->large;

	do {
		rig_pump(&left, &right);
		rig_send_long(&p->a, MSGEP_REQ);
		while (take(&p->b))
			;
	} while (l->granted == (uint16_t)(l->used + l->returned));
	PUMP_UNTIL(&left, &right, (take(&p->b), p->b.got[MSGEP_REQ] == p->a.sent[MSGEP_REQ]),
		   5000000);
	PUMP_UNTIL(&left, &right,
		   !l->sending &&
			   p->a.ep.w.conn->sent[MSGEP_REQ] - p->a.ep.w.conn->granted[MSGEP_REQ] <
				   p->a.ep.w.conn->peer_window / 2,
		   5000000);
}

/* See rdm_avoid_fetching in rdm_open.c. Everywhere else there are large packets. */
static void need_large_packets(void)
{
	if (sizeof(size_t) < sizeof(uint64_t))
		dt_skip("no large packets over tcp on a 32-bit system");
}

static void set_up(struct pair *p, int n, const void *mode)
{
	need_large_packets();
	rig_open(&left, &right, mode);
	for (int i = 0; i < n; i++)
		rig_connect(&p[i], &left, &right);
}

static void tear_down(struct pair *p, int n)
{
	for (int i = 0; i < n; i++) {
		ASSERT_EQ(p[i].a.broken | p[i].b.broken, 0);
		rig_disconnect(&p[i]);
	}
	ASSERT_EQ(bulk_of(&left)->held, 0);
	ASSERT_EQ(bulk_of(&right)->held, 0);
	rig_close(&left);
	rig_close(&right);
}

/* With credits, long frames always travel in large packets, short ones never; finally the counts of
 * both sides are equal. */
static void used(const void *arg)
{
	uint32_t n = 200 / dt_slow() + 20, large;
	struct pair p;

	set_up(&p, 1, arg);
	ASSERT(bulk_of(&left)->size > 2 * rdm_net_of(&left.domain)->packet_size);
	while (p.a.sent[MSGEP_REQ] < 40) {
		p.a.large = false;
		rig_send(&p.a, MSGEP_REQ);
		rig_pump(&left, &right);
		take(&p.b);
	}
	ASSERT_EQ(bulk_of(&left)->packets + bulk_of(&right)->packets, 0);
	warm_up(&p);
	large = (uint32_t)bulk_of(&right)->received;
	for (uint32_t i = 0; i < n; i++) {
		PUMP_UNTIL(&left, &right, rig_send_long(&p.a, MSGEP_REQ), 5000000);
		PUMP_UNTIL(&left, &right, take(&p.b), 5000000);
	}
	dt_note("%u of %u in large packets", (uint32_t)bulk_of(&right)->received - large, n);
	ASSERT_EQ(bulk_of(&right)->received - large, n);
	PUMP_UNTIL(&left, &right, !bulk_of(&left)->sending, 5000000);
	ASSERT_EQ(p.a.ep.w.conn->large.used, p.b.ep.w.conn->large.received);
	ASSERT_EQ(bulk_of(&right)->promised, leave_of(&p.b));
	ASSERT(bulk_of(&right)->posted >= bulk_of(&right)->promised);
	tear_down(&p, 1);
}
TEST_ROWS(bulk_used, modes, used)

/* Long and short ones in both channels and directions. */
static void mixed(const void *arg)
{
	struct pair p[2];

	set_up(p, 2, arg);
	for (int i = 0; i < 10; i++) {
		rig_exchange(&p[0], &left, &right, 400 / dt_slow() / 10 + 1);
		rig_exchange(&p[1], &left, &right, 400 / dt_slow() / 10 + 1);
	}
	ASSERT(bulk_of(&left)->received > 0);
	ASSERT(bulk_of(&right)->received > 0);
	tear_down(p, 2);
}
TEST_ROWS(bulk_mixed, modes, mixed)

/* Polls after which a refusal lasts. */
#define REFUSED 50

/* Nothing of what these have sent is consumed: they keep their credits. Another one streams, and
 * gets credits as soon as they have been served. */
static void stalled(const void *arg)
{
	static struct pair p[CROWD];
	struct pair *q = &p[CROWD - 1];
	const struct rdm_large *b;
	uint64_t end;

	set_up(p, CROWD, arg);
	b = bulk_of(&right);
	for (int i = 0; i < CROWD - 1; i++) {
		const struct rdm_large_credits *l = &p[i].b.ep.w.conn->large;

		unsigned int refused = 0;

		/* A packet is refused for a moment, too, until its sender has read what the fabric
		 * has completed: only when that lasts is one consumed, which brings a credit. */
		for (end = dt_now_us() + 5000000; l->held + b->held / b->limit * SHARE < SHARE;) {
			ASSERT(dt_now_us() < end);
			rig_pump(&left, &right);
			refused = rig_send_long(&p[i].a, MSGEP_REQ) ? 0 : refused + 1;
			if (refused > REFUSED && l->held < SHARE &&
			    p[i].b.ep.w.conn->arrived == p[i].a.sent[MSGEP_REQ]) {
				take(&p[i].b);
				refused = 0;
			}
			ASSERT(l->held + leave_of(&p[i].b) <= SHARE);
		}
	}
	ASSERT_EQ(b->held, b->limit);
	for (int i = 0; i < 40; i++) {
		PUMP_UNTIL(&left, &right, rig_send_long(&q->a, MSGEP_REQ), 5000000);
		PUMP_UNTIL(&left, &right, take(&q->b), 5000000);
	}
	ASSERT_EQ(q->b.ep.w.conn->large.received, 0);
	for (int i = 0; i < CROWD - 1; i++)
		PUMP_UNTIL(&left, &right, (take(&p[i].b), p[i].b.got[0] == p[i].a.sent[0]),
			   5000000);
	warm_up(q);
	tear_down(p, CROWD);
}
TEST_ROWS(bulk_stalled, modes, stalled)

/* Idle connections have all credits: they are revoked for one that requests some. */
static void recalled(const void *arg)
{
	static struct pair p[CROWD];
	unsigned int back = 0;

	set_up(p, CROWD, arg);
	for (int i = 0; i < CROWD; i++)
		warm_up(&p[i]);
	for (int i = 0; i < CROWD; i++) {
		back += p[i].a.ep.w.conn->large.returned;
		ASSERT_EQ(p[i].a.ep.w.conn->large.returned, p[i].b.ep.w.conn->large.peer_returned);
	}
	dt_note("%u given back", back);
	ASSERT(back > 0);
	ASSERT(bulk_of(&right)->promised <= bulk_of(&right)->limit);
	/* A connection that has returned its credits can request new ones. */
	for (int i = 0; i < CROWD; i++)
		warm_up(&p[i]);
	tear_down(p, CROWD);
}
TEST_ROWS(bulk_recalled, modes, recalled)

/* A stopped peer does not return credits; those of another one are revoked. */
static void recalled_in_vain(const void *arg)
{
	static struct pair p[CROWD];

	set_up(p, CROWD, arg);
	for (int i = 0; i < CROWD - 2; i++)
		warm_up(&p[i]);
	p[0].a.ep.w.conn->broken = true; /* it sends nothing any more */
	warm_up(&p[CROWD - 2]);
	ASSERT_EQ(p[0].b.ep.w.conn->large.peer_returned, 0);
	ASSERT(leave_of(&p[0].b) > 0);
	p[0].a.ep.w.conn->broken = false;
	tear_down(p, CROWD);
}
TEST_ROWS(bulk_recalled_in_vain, one_mode, recalled_in_vain)

/* The receiver closes while large packets are in transit. They are dropped, and after a time limit
 * other connections get those credits. */
static void closed_early(const void *arg)
{
	static struct pair p[2];
	struct rdm_net *net;
	uint32_t n = 0;

	set_up(p, 2, arg);
	net = rdm_net_of(&right.domain);
	warm_up(&p[0]);
	while (rig_send_long(&p[0].a, MSGEP_REQ))
		n++;
	ASSERT(n > 1);
	msgep_transport_rdm.close(&p[0].b.ep);
	ASSERT(net->large.promised > 0);
	PUMP_UNTIL(&left, &right, net->late >= n, 5000000);
	warm_up(&p[1]);
	rig_exchange(&p[1], &left, &right, 20);
	ASSERT(net->large.posted >= net->large.promised);
	msgep_transport_rdm.close(&p[0].a.ep);
	PUMP_UNTIL(&left, &right,
		   (rig_send_long(&p[1].a, MSGEP_REQ), take(&p[1].b), !net->large.expire_at),
		   15000000);
	PUMP_UNTIL(&left, &right, (take(&p[1].b), p[1].b.got[0] == p[1].a.sent[0]), 5000000);
	ASSERT_EQ(net->large.promised, leave_of(&p[1].b));
	tear_down(&p[1], 1);
}
TEST_ROWS(bulk_closed_early, one_mode, closed_early)

/* In order: everything has arrived, so all credits are available to others at once. */
static void settled(const void *arg)
{
	uint8_t data[MSGEP_PARAMS_MAX];
	struct pair p[2];
	size_t len;

	set_up(p, 2, arg);
	warm_up(&p[0]);
	ASSERT(rig_send_long(&p[0].a, MSGEP_REQ));
	len = msgep_transport_rdm.finish(&p[0].a.ep, data);
	msgep_transport_rdm.finished(&p[0].b.ep, data, len);
	ASSERT(!msgep_transport_rdm.drained(&p[0].b.ep, false));
	PUMP_UNTIL(&left, &right, take(&p[0].b), 5000000);
	ASSERT(msgep_transport_rdm.drained(&p[0].b.ep, false));
	ASSERT(leave_of(&p[0].b) > 0);
	rig_disconnect(&p[0]);
	ASSERT_EQ(bulk_of(&right)->promised, 0);
	ASSERT(!bulk_of(&right)->expire_at);
	tear_down(&p[1], 1);
}
TEST_ROWS(bulk_settled, modes, settled)

/* The sender closes everything at once: what it committed arrives, the last in large packets. */
static void close_at_once(const void *arg)
{
	struct leaver l;
	struct pair p;

	set_up(&p, 1, arg);
	warm_up(&p);
	while (rig_send_long(&p.a, MSGEP_REQ))
		;
	ASSERT(bulk_of(&left)->sending > 0);
	rig_close_thread(&l, &p.a, &left);
	PUMP_UNTIL(&right, &right, (take(&p.b), p.b.got[MSGEP_REQ] == p.a.sent[MSGEP_REQ]),
		   10000000);
	PUMP_UNTIL(&right, &right, l.gone, 10000000);
	dt_thread_join(&l.thread);
	msgep_transport_rdm.close(&p.b.ep);
	ASSERT_EQ(bulk_of(&right)->held, 0);
	rig_close(&right);
}
TEST_ROWS(bulk_close_at_once, modes, close_at_once)

/* The peer does not fetch the packets in transit: they are abandoned after a time limit, and their
 * buffers are not reused before the fabric has completed them. */
static void close_in_vain(const void *arg)
{
	struct msgep_frame *f;
	struct rdm_net *net;
	struct pair p;
	uint64_t start;
	size_t room;

	set_up(&p, 1, arg);
	net = rdm_net_of(&left.domain);
	warm_up(&p);
	dofi_lock(&p.a.ep.lock);
	f = msgep_transport_rdm.reserve(&p.a.ep, MSGEP_REQ, SIZE_MAX, &room);
	ASSERT(f && room == p.a.ep.w.conn->large_payload);
	memset(f, 0, sizeof(*f) + room);
	f->len = (uint32_t)room;
	f->kind = MSGEP_MSG;
	msgep_transport_rdm.commit(&p.a.ep, MSGEP_REQ, f);
	dofi_unlock(&p.a.ep.lock);
	PUMP_UNTIL(&left, &left, !p.a.ep.w.conn->waiting, 5000000);
	start = dt_now_us();
	msgep_transport_rdm.close(&p.a.ep);
	PUMP_UNTIL(&left, &left, dofi_list_empty(&net->closed), 5000000);
	ASSERT(dt_now_us() - start < (RDM_LINGER_MS + 1000) * 1000u * dt_slow());
	ASSERT_EQ(net->want_tx, 0);
	ASSERT_EQ(net->lost, 0);
	/* A fabric that copies the packet has completed it. */
	ASSERT_EQ(net->large.sending, net->copied < net->large.size);
	PUMP_UNTIL(&left, &right, !net->large.sending, 5000000);
	msgep_transport_rdm.close(&p.b.ep);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(bulk_close_in_vain, one_mode, close_in_vain)

/* A large packet that the fabric has accepted and does not transfer yet. */
static struct {
	const void *buf;
	size_t len;
	void *desc, *context;
	fi_addr_t to;
} kept;

static ssize_t keep_tsend(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			  uint64_t tag, void *context)
{
	(void)ep;
	ASSERT(!kept.buf && tag == RDM_LARGE_TAG);
	kept.buf = buf;
	kept.len = len;
	kept.desc = desc;
	kept.context = context;
	kept.to = to;
	return 0;
}

/* For longer than the time limit of other missing packets, a large one is overtaken. */
static void overtaken(const void *arg)
{
	struct fi_ops_tagged *original, keeping;
	uint64_t end;
	struct rdm_conn *conn;
	struct fid_ep *ep;
	struct pair p;

	set_up(&p, 1, arg);
	warm_up(&p);
	conn = p.b.ep.w.conn;
	ep = rdm_net_of(&left.domain)->ep;
	original = ep->tagged;
	keeping = *original;
	keeping.send = keep_tsend;
	ep->tagged = &keeping;
	p.a.large = false;
	ASSERT(rig_send_long(&p.a, MSGEP_REQ));
	for (int i = 0; i < 3; i++)
		ASSERT(rig_send(&p.a, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, kept.buf && rdm_large_missing(conn), 5000000);
	for (end = dt_now_us() + (RDM_GAP_MS + 1000) * 1000; dt_now_us() < end;) {
		rig_pump(&left, &right);
		dt_sleep_us(1000);
	}
	ASSERT_EQ(p.b.broken, 0);
	ASSERT(!take(&p.b));
	ep->tagged = original;
	while (fi_tsend(ep, kept.buf, kept.len, kept.desc, kept.to, RDM_LARGE_TAG, kept.context))
		rig_pump(&left, &right);
	PUMP_UNTIL(&left, &right, (take(&p.b), p.b.got[MSGEP_REQ] == p.a.sent[MSGEP_REQ]), 5000000);
	tear_down(&p, 1);
}
TEST_ROWS(bulk_overtaken, one_mode, overtaken)

/* A side without large packets, and one with smaller ones. */
static void none(const void *arg)
{
	struct pair p;

	need_large_packets();
	setenv("DAPL_OFI_LARGE_PACKET_KIB", "0", 1);
	rig_open_one(&left, arg);
	setenv("DAPL_OFI_LARGE_PACKET_KIB", "256", 1);
	rig_open_one(&right, arg);
	ASSERT_EQ(bulk_of(&left)->size, 0);
	ASSERT(bulk_of(&right)->size > 0);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 100 / dt_slow());
	ASSERT_EQ(bulk_of(&right)->packets, 0);
	tear_down(&p, 1);
	setenv("DAPL_OFI_LARGE_PACKET_KIB", "128", 1);
	rig_open_one(&left, arg);
	setenv("DAPL_OFI_LARGE_PACKET_KIB", "512", 1);
	rig_open_one(&right, arg);
	rig_connect(&p, &left, &right);
	ASSERT_EQ(p.a.ep.w.conn->large_payload, 128 * 1024);
	ASSERT_EQ(p.b.ep.w.conn->large_payload, 128 * 1024);
	warm_up(&p);
	rig_exchange(&p, &left, &right, 100 / dt_slow());
	ASSERT(bulk_of(&right)->received > 0);
	tear_down(&p, 1);
	unsetenv("DAPL_OFI_LARGE_PACKET_KIB");
}
TEST_ROWS(bulk_none, modes, none)

/* ---- what no valid peer sends ---- */

struct forged {
	struct rdm_hdr hdr;
	struct msgep_frame frame;
};

struct breach {
	const char *name;
	void (*spoil)(struct forged *f, const struct rdm_large_credits *peer);
	bool large, leave; /* a large packet; of a connection that has credits */
};

static void honest(struct forged *f, const struct rdm_large_credits *peer)
{
	(void)f;
	(void)peer;
}

static void credit(struct forged *f, const struct rdm_large_credits *peer)
{
	(void)peer;
	f->hdr.channel = RDM_CREDIT;
}

static void longer(struct forged *f, const struct rdm_large_credits *peer)
{
	(void)peer;
	f->frame.len = htole32(1);
}

/* A window, and two that may be in transit. */
static void absurd(struct forged *f, const struct rdm_large_credits *peer)
{
	f->hdr.requested = htole16((uint16_t)(peer->received + peer->peer_returned + 3 * 8 + 1));
}

static void sent_more(struct forged *f, const struct rdm_large_credits *peer)
{
	f->hdr.used = htole16((uint16_t)(peer->peer_granted - peer->peer_returned + 1));
}

static void back_more(struct forged *f, const struct rdm_large_credits *peer)
{
	f->hdr.used = 0;
	f->hdr.returned = htole16((uint16_t)(peer->peer_granted + 1));
}

/* Used credits cannot be returned. */
static void back_used(struct forged *f, const struct rdm_large_credits *peer)
{
	f->hdr.used = 0;
	f->hdr.returned = htole16((uint16_t)(peer->peer_granted - peer->received + 1));
}

static void gives_unasked(struct forged *f, const struct rdm_large_credits *peer)
{
	(void)peer;
	f->hdr.granted = htole16(1);
}

static const struct breach breaches[] = {
	{ "without_leave", honest, true, false },
	{ "credit_in_a_bulk_cell", credit, true, true },
	{ "frame_longer_than_cell", longer, true, true },
	{ "wishes_too_many", absurd, false, false },
	{ "wishes_too_many_later", absurd, false, true },
	{ "sent_without_leave", sent_more, false, false },
	{ "sent_more_than_leave", sent_more, false, true },
	{ "back_without_leave", back_more, false, false },
	{ "back_more_than_leave", back_more, false, true },
	{ "back_what_was_sent", back_used, false, true },
	{ "leave_that_nobody_wanted", gives_unasked, false, true },
};

static struct forged forge(struct end *e)
{
	struct rdm_conn *conn = e->ep.w.conn;
	struct forged f;

	memset(&f, 0, sizeof(f));
	f.hdr = rig_header(e, MSGEP_REQ, conn->sent[MSGEP_REQ]);
	f.hdr.requested = htole16(conn->large.requested);
	f.hdr.used = htole16(conn->large.used);
	f.hdr.returned = htole16(conn->large.returned);
	f.frame.kind = MSGEP_MSG;
	return f;
}

static void breach(const void *arg)
{
	const struct breach *row = arg;
	struct pair p[2];
	struct forged f;

	for (size_t i = 0; i < 2; i++) {
		set_up(p, 2, &modes[i]);
		warm_up(&p[0]); /* so that there are buffers */
		if (row->leave)
			warm_up(&p[1]);
		f = forge(&p[1].a);
		row->spoil(&f, &p[1].b.ep.w.conn->large);
		if (row->large)
			rig_raw_bulk(&left, &right, &p[1].a, &f,
				     row->spoil == credit ? RDM_HDR : sizeof(f));
		else
			rig_raw(&left, &right, &p[1].a, &f, sizeof(f));
		PUMP_UNTIL(&left, &right, p[1].b.broken, 5000000);
		ASSERT_EQ(p[1].b.broken, FI_EINVAL);
		ASSERT_PTR(rig_peek(&p[1].b), NULL);
		rig_exchange(&p[0], &left, &right, 20);
		ASSERT(bulk_of(&right)->posted >= bulk_of(&right)->promised);
		rig_disconnect(&p[1]);
		tear_down(p, 1);
	}
}
TEST_ROWS(bulk_breach, breaches, breach)

/* A large packet from an unknown sender is dropped, and its buffer is reused. */
static void unknown_senders(const void *arg)
{
	struct rdm_net *net;
	struct forged f;
	struct pair p;

	set_up(&p, 1, arg);
	net = rdm_net_of(&right.domain);
	warm_up(&p);
	for (uint64_t n = 1; n <= 3 * net->large.limit; n++) {
		f = forge(&p.a);
		f.hdr.token = ~f.hdr.token;
		rig_raw_bulk(&left, &right, &p.a, &f, sizeof(f));
		PUMP_UNTIL(&left, &right, net->dropped == n, 5000000);
		ASSERT(net->large.posted >= net->large.promised);
	}
	ASSERT(net->large.packets <= 2 * net->large.limit);
	rig_exchange(&p, &left, &right, 20);
	tear_down(&p, 1);
}
TEST_ROWS(large_unknown_senders, modes, unknown_senders)

/* Without large packets, all their counts are 0. */
static void unwanted(const void *arg)
{
	static const struct mode small = { "constrained", true, false };
	struct forged f;
	struct pair p;

	(void)arg;
	for (int i = 0; i < 5; i++) {
		set_up(&p, 1, &small);
		ASSERT_EQ(bulk_of(&right)->size, 0);
		f = forge(&p.a);
		if (i < 4)
			(&f.hdr.requested)[i] = htole16(1);
		else
			f.hdr.flags = RDM_REVOKES;
		rig_raw(&left, &right, &p.a, &f, sizeof(f));
		PUMP_UNTIL(&left, &right, p.b.broken, 5000000);
		rig_disconnect(&p);
		rig_close(&left);
		rig_close(&right);
	}
}
TEST_ROWS(bulk_unwanted, modes, unwanted)
