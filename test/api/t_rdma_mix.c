/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that requests of all kinds and lengths keep their order and their data, in both directions
 * of a connection at once, also behind messages that have no receive yet. */
#include <stdlib.h>

#include "rig.h"

#define SLOT ((size_t)256 << 10)
#define AREA ((size_t)1 << 20)
#define REQUESTS 8

struct request {
	enum op op;
	size_t len;
	char *expected; /* of a read */
};

/* One side: what it has posted, and what the peer's memory contains once that is complete. */
struct mixer {
	struct side *side;
	DAT_EP_HANDLE ep;
	struct mixer *peer;
	struct buf from, back, into, target;
	struct request at[REQUESTS];
	uint64_t posted, done, sent, receives, received;
	uint64_t sent_at[REQUESTS]; /* numbers of the messages that have not been received */
	char *model;
};

static size_t slot(uint64_t n)
{
	return (size_t)(n % REQUESTS) * SLOT;
}

static void mixer_open(struct mixer *m, struct node *node, struct side *side, struct mixer *peer)
{
	memset(m, 0, sizeof(*m));
	m->side = side;
	m->ep = side->ep;
	m->peer = peer;
	buf_make(&m->from, node, REQUESTS * SLOT, PRIV_ALL);
	buf_make(&m->back, node, REQUESTS * SLOT, PRIV_ALL);
	buf_make(&m->into, node, REQUESTS * SLOT, PRIV_ALL);
	buf_make(&m->target, node, AREA, PRIV_ALL);
	memset(m->target.mem, 0, AREA);
	m->model = calloc(1, AREA);
	ASSERT(m->model);
}

static void mixer_close(struct mixer *m)
{
	OK(dat_ep_free(m->ep));
	m->side->ep = NULL;
	buf_free(&m->from);
	buf_free(&m->back);
	buf_free(&m->into);
	buf_free(&m->target);
	free(m->model);
}

static unsigned int seed;

static size_t any(size_t n)
{
	return (size_t)rand_r(&seed) % n;
}

static size_t any_length(void)
{
	static const size_t most[] = { 64, 4096, 40000, 100000, SLOT };

	return 1 + any(most[any(sizeof(most) / sizeof(*most))]);
}

/* Posts the receives of the messages that have been sent to this side. */
static void provide(struct mixer *m)
{
	while (m->receives < m->peer->sent) {
		DAT_LMR_TRIPLET t = seg(&m->into, slot(m->receives), SLOT);

		OK(dat_ep_post_recv(m->ep, 1, &t, ck(m->receives++), DAT_COMPLETION_DEFAULT_FLAG));
	}
}

static void receive(struct mixer *m)
{
	uint64_t number = m->peer->sent_at[m->received % REQUESTS];
	size_t len = m->peer->at[number % REQUESTS].len;

	EV_DTO(m->side->recv, m->ep, m->received, OP_RECV, len);
	CHECK_FILL(m->into.mem + slot(m->received), len, (unsigned int)number);
	m->received++;
}

/* The oldest request completes. */
static void complete(struct mixer *m)
{
	struct request *r = &m->at[m->done % REQUESTS];

	if (r->op == OP_SEND)
		provide(m->peer);
	EV_DTO(m->side->req, m->ep, m->done, r->op, r->len);
	if (r->op == OP_READ)
		ASSERT(!memcmp(m->back.mem + slot(m->done), r->expected, r->len));
	free(r->expected);
	r->expected = NULL;
	if (r->op == OP_SEND)
		receive(m->peer);
	m->done++;
}

/* A write that is posted after a read may overtake it, unless it has a fence. */
static void post(struct mixer *m)
{
	static const enum op ops[] = { OP_WRITE, OP_WRITE, OP_READ, OP_SEND };
	uint64_t n = m->posted++;
	struct request *r = &m->at[n % REQUESTS];
	size_t len = any_length(), at = any(AREA - len);
	DAT_LMR_TRIPLET from = seg(&m->from, slot(n), len), back = seg(&m->back, slot(n), len);
	DAT_RMR_TRIPLET target = rem(&m->peer->target, at, len);

	*r = (struct request){ ops[any(4)], len, NULL };
	fill(m->from.mem + slot(n), len, (unsigned int)n);
	if (r->op == OP_WRITE) {
		memcpy(m->model + at, m->from.mem + slot(n), len);
		OK(dat_ep_post_rdma_write(m->ep, 1, &from, ck(n), &target,
					  DAT_COMPLETION_BARRIER_FENCE_FLAG));
	} else if (r->op == OP_READ) {
		r->expected = malloc(len);
		ASSERT(r->expected);
		memcpy(r->expected, m->model + at, len);
		OK(dat_ep_post_rdma_read(m->ep, 1, &back, ck(n), &target,
					 DAT_COMPLETION_DEFAULT_FLAG));
	} else {
		m->sent_at[m->sent++ % REQUESTS] = n;
		OK(dat_ep_post_send(m->ep, 1, &from, ck(n), DAT_COMPLETION_DEFAULT_FLAG));
	}
}

/* True if the oldest request waits for no receive of the peer. */
static bool may_complete(const struct mixer *m)
{
	return m->done != m->posted && m->at[m->done % REQUESTS].op != OP_SEND;
}

static void mix(unsigned int first, unsigned int most)
{
	struct mixer a, b;
	struct pair p;
	int i;

	seed = first;
	pair_up(&p);
	mixer_open(&a, &p.node, &p.a, &b);
	mixer_open(&b, &p.node, &p.b, &a);
	for (i = 0; i < 600; i++) {
		struct mixer *m = any(2) ? &a : &b;

		if (m->posted - m->done < 1 + any(most))
			post(m);
		else if (may_complete(m) || any(3) == 0)
			complete(m);
	}
	while (a.done != a.posted)
		complete(&a);
	while (b.done != b.posted)
		complete(&b);
	ASSERT(!memcmp(a.model, b.target.mem, AREA));
	ASSERT(!memcmp(b.model, a.target.mem, AREA));
	mixer_close(&a);
	mixer_close(&b);
	pair_close(&p);
}

TEST_LIMIT(rdma_mix, few_requests_of_all_kinds_keep_order_and_data, 60)
{
	for (unsigned int i = 0; i < 4; i++)
		mix(1000 + i, 2);
}

TEST_LIMIT(rdma_mix, many_requests_of_all_kinds_keep_order_and_data, 60)
{
	for (unsigned int i = 0; i < 4; i++)
		mix(2000 + i, REQUESTS);
}

/* Each write overlaps the end of the one before. */
TEST(rdma_mix, long_writes_that_overlap_leave_what_the_last_one_wrote)
{
	struct mixer a, b;
	struct pair p;
	int round;

	pair_up(&p);
	mixer_open(&a, &p.node, &p.a, &b);
	mixer_open(&b, &p.node, &p.b, &a);
	for (round = 0; round < 100; round++) {
		uint64_t i;

		for (i = 0; i < REQUESTS; i++) {
			size_t at = (size_t)i * 100;
			DAT_LMR_TRIPLET from = seg(&a.from, slot(i), SLOT);
			DAT_RMR_TRIPLET target = rem(&b.target, at, SLOT);

			fill(a.from.mem + slot(i), SLOT, (unsigned int)(i + 1) * (round + 1));
			memcpy(a.model + at, a.from.mem + slot(i), SLOT);
			OK(dat_ep_post_rdma_write(a.ep, 1, &from, ck(i), &target,
						  DAT_COMPLETION_DEFAULT_FLAG));
		}
		for (i = 0; i < REQUESTS; i++)
			EV_DTO(p.a.req, a.ep, i, OP_WRITE, SLOT);
		ASSERT(!memcmp(a.model, b.target.mem, AREA));
	}
	mixer_close(&a);
	mixer_close(&b);
	pair_close(&p);
}
