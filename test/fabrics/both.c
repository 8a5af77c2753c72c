/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that one adapter serves local and remote peers at once, each over the right transport. One
 * EVD for everything, one SRQ and one region of a hub are used by a peer in its network namespace,
 * over shared memory, and by one in another, over the network; each is killed while the other
 * transfers. Then, on one host: connections of such an adapter with adapters of one of the two
 * transports, or of another fabric. The first cases need root and /dev/net/tun, and are skipped
 * without.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../robust/rdat.h"
#include "net.h"

#define BOTH "tcp+shm"
#define PIECE 40000 /* read with CMA over shm, several packets over the network */
#define BUFFERS 16
#define ROUNDS 40
#define PEERS 2
/* The hub's memory: buffers of its SRQ, then an area for each peer to write to. */
#define HUB_AREA ((size_t)(BUFFERS + PEERS) * PIECE)
/* A peer's: what it sends, receives, writes, reads. */
#define PEER_AREA ((size_t)4 * PIECE)

enum { NEAR, FAR };
/* clang-format off */
enum { ST_LISTEN, ST_UP, ST_GO = ST_UP + PEERS, ST_ROUNDS, ST_HUB_DONE = ST_ROUNDS + PEERS,
       ST_KILL };
/* clang-format on */

struct plan {
	const char *name;
	bool hub_connects; /* the hub is the active side */
	bool sleeps;       /* the hub waits for events, or polls */
	int victim;        /* is killed while it transfers; -1: none */
};

static const struct plan plans[] = {
	{ "together-waiting", false, true, -1 },
	{ "together-polling", false, false, -1 },
	{ "together-hub-connects", true, true, -1 },
	{ "local-peer-killed", false, true, NEAR },
	{ "remote-peer-killed", true, true, FAR },
	{ "remote-peer-killed-polling", false, false, FAR },
};

struct role {
	const struct plan *plan;
	int peer;
};

/* Counts connections over shared memory: each has one mapped segment. */
static int shm_connections(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	RL_CHECK(f, "no /proc/self/maps");
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "memfd:dat-ofi") != NULL;
	fclose(f);
	return n;
}

static void use(const char *fabric, const char *domain)
{
	setenv("DAPL_OFI_PROVIDER", fabric, 1);
	setenv("DAPL_OFI_DOMAIN", domain, 1);
}

/* ---------------------------------------------------------------- the hub */

struct hub {
	const struct plan *plan;
	struct rd rd;
	struct rd_mem mem;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep[PEERS];
	unsigned int messages[PEERS];
	int over[PEERS]; /* the event that ended it */
};

static void give_buffer(struct hub *h, unsigned int i)
{
	DAT_DTO_COOKIE cookie = { .as_64 = i };
	DAT_LMR_TRIPLET seg;

	memset(&seg, 0, sizeof(seg));
	seg.lmr_context = h->mem.lctx;
	seg.virtual_address = (uintptr_t)h->mem.p + (size_t)i * PIECE;
	seg.segment_length = PIECE;
	RD_OK(dat_srq_post_recv(h->srq, 1, &seg, cookie));
}

static DAT_EP_HANDLE hub_ep(struct hub *h)
{
	DAT_EP_HANDLE ep = rd_ep_create(&h->rd, BUFFERS), with_srq;
	DAT_EP_PARAM param;

	RD_OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	RD_OK(dat_ep_free(ep));
	param.ep_attr.max_recv_dtos = DAT_HW_DEFAULT;
	param.ep_attr.srq_soft_hw = DAT_HW_DEFAULT;
	RD_OK(dat_ep_create_with_srq(h->rd.ia, h->rd.pz, h->rd.recv, h->rd.req, h->rd.conn, h->srq,
				     &param.ep_attr, &with_srq));
	return with_srq;
}

static void hub_open(struct hub *h)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = BUFFERS,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };

	rd_open(&h->rd, RD_MERGED, 256);
	rd_reg(&h->rd, &h->mem, calloc(1, HUB_AREA), HUB_AREA);
	rd_show(0, &h->mem);
	RD_OK(dat_srq_create(h->rd.ia, h->rd.pz, &attr, &h->srq));
	for (unsigned int i = 0; i < BUFFERS; i++)
		give_buffer(h, i);
	for (int i = 0; i < PEERS; i++)
		h->ep[i] = hub_ep(h);
}

static void hub_close(struct hub *h)
{
	void *p = h->mem.p;

	rl_activity("closing");
	for (int i = 0; i < PEERS; i++)
		RD_OK(dat_ep_free(h->ep[i]));
	RD_OK(dat_srq_free(h->srq));
	rd_unreg(&h->mem);
	rd_close(&h->rd);
	free(p);
}

static int peer_of(struct hub *h, DAT_EP_HANDLE ep)
{
	for (int i = 0; i < PEERS; i++)
		if (h->ep[i] == ep)
			return i;
	RL_FAIL("an event of an endpoint that is none of ours");
}

/* Echoes a message; its buffer is free when the send has completed. */
static void completed(struct hub *h, const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	int peer = peer_of(h, d->ep_handle);
	unsigned int i = (unsigned int)d->user_cookie.as_64;
	bool received = i < BUFFERS;

	i %= BUFFERS;
	if (d->status != DAT_DTO_SUCCESS) {
		RL_CHECK(peer == h->plan->victim, "a %s of peer %d failed: %d",
			 received ? "receive" : "send", peer, (int)d->status);
		give_buffer(h, i);
	} else if (!received) {
		give_buffer(h, i);
	} else {
		RL_CHECK(d->transfered_length == PIECE, "%llu bytes",
			 (unsigned long long)d->transfered_length);
		h->messages[peer]++;
		if (rd_send(h->ep[peer], &h->mem, (size_t)i * PIECE, PIECE, BUFFERS + i))
			give_buffer(h, i); /* the peer has ended: the event follows */
	}
}

static void take(struct hub *h, const DAT_EVENT *ev)
{
	int peer;

	if (ev->event_number == DAT_DTO_COMPLETION_EVENT) {
		completed(h, &ev->event_data.dto_completion_event_data);
		return;
	}
	peer = peer_of(h, ev->event_data.connect_event_data.ep_handle);
	RL_CHECK(ev->event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			 ev->event_number == DAT_CONNECTION_EVENT_BROKEN,
		 "peer %d: %s", peer, rd_event_text(ev->event_number));
	RL_CHECK(!h->over[peer], "peer %d ended twice", peer);
	h->over[peer] = (int)ev->event_number;
}

static void serve(struct hub *h)
{
	struct rl_limit limit = rl_limit(30000);
	DAT_EVENT ev;

	rl_activity("serving");
	while (!h->over[NEAR] || !h->over[FAR]) {
		if (h->plan->sleeps ? rd_next(h->rd.conn, 1000, &ev) : rd_poll(h->rd.conn, &ev))
			take(h, &ev);
		RL_CHECK(!rl_passed(&limit),
			 "%u messages of the local peer, %u of the remote one, "
			 "ends %d and %d",
			 h->messages[NEAR], h->messages[FAR], h->over[NEAR], h->over[FAR]);
	}
	/* Buffers on their way back to the SRQ. */
	while (rd_poll(h->rd.conn, &ev))
		take(h, &ev);
}

static void play_hub(void *arg)
{
	const struct plan *plan = ((const struct role *)arg)->plan;
	struct hub h = { .plan = plan };
	DAT_EVENT ev;

	net_enter(0);
	use(BOTH, net_wire(0));
	hub_open(&h);
	for (int i = 0; i < PEERS; i++) {
		rl_activity("connecting with peer %d", i);
		if (plan->hub_connects) {
			rl_await(ST_LISTEN, i + 1, 20000);
			rd_connect_up(&h.rd, h.ep[i]);
		} else {
			if (!i)
				rd_listen(&h.rd);
			rl_step(ST_LISTEN, i + 1);
			RD_OK(dat_cr_accept(rd_request(&h.rd, 20000), h.ep[i], 0, NULL));
			rd_expect(h.rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, 6000, &ev);
		}
		RL_CHECK(shm_connections() == 1, "%d connections over shared memory with %d in all",
			 shm_connections(), i + 1);
		rl_await(ST_UP + i, 1, 20000);
	}
	rl_step(ST_GO, 1);
	serve(&h);
	for (int i = 0; i < PEERS; i++)
		RL_CHECK(i == plan->victim || h.messages[i] == ROUNDS, "%u messages of peer %d",
			 h.messages[i], i);
	hub_close(&h);
}

/* ---------------------------------------------------------------- its peers */

static void one_round(struct rd *rd, struct rd_mem *mem, int peer, uint32_t round)
{
	uint32_t seed = (uint32_t)peer * 100000 + round;
	size_t there = (size_t)(BUFFERS + peer) * PIECE;

	rl_fill(mem->p, PIECE, seed);
	rl_fill((char *)mem->p + (size_t)2 * PIECE, PIECE, seed + 50000);
	RD_OK(rd_recv(rd->ep, mem, PIECE, PIECE, 1));
	RD_OK(rd_write(rd->ep, mem, (size_t)2 * PIECE, PIECE, 2, 0, there));
	rd_expect_dto(rd->req, 2, 10000);
	RD_OK(rd_send(rd->ep, mem, 0, PIECE, 3));
	RD_OK(rd_read(rd->ep, mem, (size_t)3 * PIECE, PIECE, 4, 0, there));
	rd_expect_dto(rd->req, 3, 10000);
	rd_expect_dto(rd->req, 4, 10000);
	rd_expect_dto(rd->recv, 1, 10000);
	RL_CHECK(rl_differs((char *)mem->p + PIECE, PIECE, seed) < 0, "another message came back");
	RL_CHECK(rl_differs((char *)mem->p + (size_t)3 * PIECE, PIECE, seed + 50000) < 0,
		 "what was written is not what is read");
}

static void play_peer(void *arg)
{
	const struct role *role = arg;
	int peer = role->peer;
	bool victim = role->plan->victim == peer;
	struct rd_mem mem;
	struct rd rd;

	net_enter(peer);
	use(BOTH, net_wire(0));
	rd_open(&rd, 0, 64);
	rd_reg(&rd, &mem, calloc(1, PEER_AREA), PEER_AREA);
	rd.ep = rd_ep_create(&rd, 8);
	rl_activity("connecting");
	if (role->plan->hub_connects) {
		if (peer)
			rl_await(ST_UP, 1, 20000);
		rd_listen(&rd);
		rl_step(ST_LISTEN, peer + 1);
		rd_accept_up(&rd, rd.ep);
	} else {
		rl_await(ST_LISTEN, peer + 1, 30000);
		rd_connect_up(&rd, rd.ep);
	}
	RL_CHECK(shm_connections() == (peer == NEAR), "%d connections over shared memory",
		 shm_connections());
	rl_step(ST_UP + peer, 1);
	rl_await(ST_GO, 1, 30000);
	for (uint32_t i = 0; victim || i < ROUNDS; i++) {
		rl_activity("round %u", i);
		one_round(&rd, &mem, peer, i);
		rl_step(ST_ROUNDS + peer, (int)i + 1);
		/* The other peer is killed while this one transfers, which must be unaffected. */
		if (!victim && role->plan->victim >= 0 && i == ROUNDS / 2)
			rl_await(ST_KILL, 1, 20000);
	}
	rl_activity("disconnecting");
	RD_OK(dat_ep_disconnect(rd.ep, DAT_CLOSE_GRACEFUL_FLAG));
	rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, 10000, &(DAT_EVENT){ 0 });
	RD_OK(dat_ep_free(rd.ep));
	rd.ep = NULL;
	rd_unreg(&mem);
	free(mem.p);
	rd_close(&rd);
}

static void hangman(void *arg)
{
	const struct plan *plan = arg;

	rl_await(ST_ROUNDS + plan->victim, 5, 60000);
	rl_await(ST_ROUNDS + !plan->victim, 5, 60000);
	kill(rl_pid(plan->victim == NEAR ? "local" : "remote"), SIGKILL);
	rl_step(ST_KILL, 1);
}

static void run_plan(const struct plan *plan)
{
	struct role roles[PEERS] = { { plan, NEAR }, { plan, FAR } };
	static const char *const names[PEERS] = { "local", "remote" };

	if (!rl_begin(plan->name, 120000))
		return;
	net_carry();
	rl_start("hub", play_hub, &roles[0]);
	for (int i = 0; i < PEERS; i++) {
		if (plan->victim == i)
			rl_start_victim(names[i], play_peer, &roles[i]);
		else
			rl_start(names[i], play_peer, &roles[i]);
	}
	if (plan->victim >= 0)
		rl_start("hangman", hangman, (void *)(uintptr_t)plan);
	rl_end();
}

/* ---------------------------------------------------------------- pairs of fabrics, on one host */

static const struct pair {
	const char *name, *client, *listener;
	bool meet, over_shm;
} pairs[] = {
	{ "both-to-both", BOTH, BOTH, true, true },
	{ "both-to-network-falls-back", BOTH, "tcp", true, false },
	{ "network-to-both", "tcp", BOTH, true, false },
	{ "rxm-and-shm", "rxm+shm", "rxm+shm", true, true },
	{ "rxm-and-shm-to-network-falls-back", "rxm+shm", "rxm", true, false },
	{ "rxm-to-rxm-and-shm", "rxm", "rxm+shm", true, false },
	{ "both-to-shm", BOTH, "shm", true, true },
	{ "shm-to-both", "shm", BOTH, true, true },
	{ "both-to-rxm-is-refused", BOTH, "rxm", false, false },
	{ "rxm-to-both-is-refused", "rxm", BOTH, false, false },
	{ "shm-to-network-is-refused", "shm", "tcp", false, false },
	{ "both-to-another-network-is-refused", BOTH, "constrained", false, false },
};

/* Serves until the client is done; accepts its connection if one is expected. */
static void play_listener(void *arg)
{
	const struct pair *pair = arg;
	struct rd_mem mem;
	struct rd rd;
	DAT_EVENT ev;

	use(pair->listener, "127.0.0.1");
	rd_open(&rd, 0, 64);
	rd_reg(&rd, &mem, calloc(1, PIECE), PIECE);
	rd.ep = rd_ep_create(&rd, 8);
	RD_OK(rd_recv(rd.ep, &mem, 0, PIECE, 1));
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	if (pair->meet) {
		rd_accept_up(&rd, rd.ep);
		RL_CHECK(shm_connections() == pair->over_shm, "the wrong wire");
		rl_step(ST_UP, 1);
		rd_expect_dto(rd.recv, 1, 10000);
		RL_CHECK(rl_differs(mem.p, PIECE, 7) < 0, "wrong data");
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, 10000, &ev);
	} else {
		rl_await(ST_HUB_DONE, 1, 20000);
		RL_CHECK(!rd_poll(rd.cr, &ev), "a request of another fabric was accepted");
	}
	RD_OK(dat_ep_free(rd.ep));
	rd.ep = NULL;
	rd_unreg(&mem);
	free(mem.p);
	rd_close(&rd);
}

static void play_client(void *arg)
{
	const struct pair *pair = arg;
	struct rd_mem mem;
	struct rd rd;
	DAT_EVENT ev;

	use(pair->client, "127.0.0.1");
	rd_open(&rd, 0, 64);
	rd_reg(&rd, &mem, calloc(1, PIECE), PIECE);
	rd.ep = rd_ep_create(&rd, 8);
	rl_await(ST_LISTEN, 1, 20000);
	if (pair->meet) {
		rd_connect_up(&rd, rd.ep);
		RL_CHECK(shm_connections() == pair->over_shm, "the wrong wire");
		rl_fill(mem.p, PIECE, 7);
		RD_OK(rd_send(rd.ep, &mem, 0, PIECE, 2));
		rd_expect_dto(rd.req, 2, 10000);
		rl_await(ST_UP, 1, 10000);
		RD_OK(dat_ep_disconnect(rd.ep, DAT_CLOSE_GRACEFUL_FLAG));
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, 10000, &ev);
	} else {
		/* Much faster than the timeout of the connect. */
		rd_connect(&rd, rd.ep, 20000, NULL, 0);
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 8000, &ev);
	}
	rl_step(ST_HUB_DONE, 1);
	RD_OK(dat_ep_free(rd.ep));
	rd.ep = NULL;
	rd_unreg(&mem);
	free(mem.p);
	rd_close(&rd);
}

static void run_pair(const struct pair *pair)
{
	if (!rl_begin(pair->name, 60000))
		return;
	rl_start("listener", play_listener, (void *)(uintptr_t)pair);
	rl_start("client", play_client, (void *)(uintptr_t)pair);
	rl_end();
}

static void run(void)
{
	char why[120];

	setenv("DAPL_OFI_LOG", "0", 0);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		run_pair(&pairs[i]);
	if (!net_make(why, sizeof(why))) {
		rl_skip("together", why);
		return;
	}
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		run_plan(&plans[i]);
}

int main(int argc, char **argv)
{
	setenv("DAT_TEST_FABRIC", BOTH, 1);
	return rl_main(argc, argv, 240, run);
}
