/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a connection ends without delay, whatever is in transit. */
#include "rig.h"

#define ROUNDS 80
#define LONG 100000
/* How many of the calls a stopped machine may have delayed. */
#define DELAYED 2

struct end {
	struct side side;
	struct buf buf;
};

/* Messages for which there is no receive, and RDMA operations between them. */
static void post_mixed(struct end *e, const struct end *peer, bool reads)
{
	DAT_LMR_TRIPLET local = seg(&e->buf, 0, LONG);
	DAT_RMR_TRIPLET remote = rem(&peer->buf, 0, LONG);

	for (int i = 0; i < 3; i++) {
		OK(post_send(&e->side, 0, 100, 1));
		OK((reads ? dat_ep_post_rdma_read : dat_ep_post_rdma_write)(
			e->side.ep, 1, &local, ck(2), &remote, DAT_COMPLETION_DEFAULT_FLAG));
	}
}

/* True if it takes more than a second, also on a slow machine. */
static bool free_is_late(struct side *s)
{
	struct dt_start start = dt_start();

	OK(dat_ep_free(s->ep));
	s->ep = NULL;
	return !dt_in_time(&start, 1000000u / dt_slow());
}

TEST_LIMIT(end_time, an_endpoint_with_messages_that_wait_is_freed_at_once, 60)
{
	unsigned int late = 0;
	struct node other;
	struct end a, b;
	struct pair p;

	pair_open(&p);
	node_open(&other);
	buf_make(&a.buf, &other, LONG, PRIV_ALL);
	buf_make(&b.buf, &p.node, LONG, PRIV_ALL);
	for (int i = 0; i < ROUNDS; i++) {
		side_make(&a.side, &other, NULL);
		side_make(&b.side, &p.node, NULL);
		OK(connect_to(a.side.ep, p.node.attr.ia_address_ptr, p.qual));
		OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), b.side.ep, 0, NULL));
		EV_CONN(a.side.conn, ESTABLISHED, a.side.ep);
		EV_CONN(b.side.conn, ESTABLISHED, b.side.ep);
		post_mixed(&a, &b, false);
		post_mixed(&b, &a, true);
		dt_sleep_us(i % 6 * 300u);
		late += free_is_late(&a.side);
		late += free_is_late(&b.side);
		side_free(&a.side);
		side_free(&b.side);
	}
	ASSERT(late <= DELAYED);
	buf_free(&a.buf);
	buf_free(&b.buf);
	node_close(&other);
	pair_close(&p);
}
