/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts with bad arguments in each respect: which error is reported, and that nothing changes. */
#include "srq_rig.h"

/* A call of a kind with the arguments that the cases vary. */
struct call {
	struct side *s;
	DAT_EP_HANDLE ep;
	DAT_COUNT n;
	DAT_LMR_TRIPLET *iov;
	const DAT_RMR_TRIPLET *remote;
	int flags;
};

static DAT_RETURN post(enum op op, const struct call *c)
{
	DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)c->flags;
	DAT_RMR_TRIPLET *remote = (DAT_RMR_TRIPLET *)(uintptr_t)c->remote;

	switch (op) {
	case OP_SEND:
		return dat_ep_post_send(c->ep, c->n, c->iov, ck(9), flags);
	case OP_RECV:
		return dat_ep_post_recv(c->ep, c->n, c->iov, ck(9), flags);
	case OP_READ:
		return dat_ep_post_rdma_read(c->ep, c->n, c->iov, ck(9), remote, flags);
	case OP_WRITE:
		return dat_ep_post_rdma_write(c->ep, c->n, c->iov, ck(9), remote, flags);
	}
	abort();
}

static DAT_EVD_HANDLE queue_of(const struct side *s, enum op op)
{
	return op == OP_RECV ? s->recv : s->req;
}

static bool writes_local(enum op op)
{
	return op == OP_RECV || op == OP_READ;
}

static bool is_rdma(enum op op)
{
	return op == OP_READ || op == OP_WRITE;
}

static DAT_RETURN privileges(enum op op)
{
	return API_ERR(DAT_PRIVILEGES_VIOLATION,
		       writes_local(op) ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
}

static DAT_RETURN protection(enum op op)
{
	return API_ERR(DAT_PROTECTION_VIOLATION,
		       writes_local(op) ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
}

#define GIVES(call_, want_) check_ret(__FILE__, __LINE__, #call_, (call_), (want_))
#define BAD_ARG_N(n_) API_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n_)

static const enum op ops[] = { OP_SEND, OP_RECV, OP_READ, OP_WRITE };

/* The arguments are wrong in each respect at first, and put right one after the other. */
static void put_right_in_turn(struct pair *p, enum op op, struct buf *foreign)
{
	DAT_RMR_TRIPLET r = rem(&p->b.buf, 0, op == OP_READ ? 17 : 15);
	DAT_LMR_TRIPLET t = seg(foreign, 0, 16);
	struct call c = { .s = &p->a, .ep = p->a.recv, .n = -1, .remote = &r, .flags = 0x4000 };

	GIVES(post(op, &c), API_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
	if (op != OP_RECV) {
		c.ep = p->b.ep; /* not connected */
		GIVES(post(op, &c), API_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED));
	}
	c.ep = p->a.ep;
	GIVES(post(op, &c), BAD_ARG_N(2));
	c.n = 1;
	GIVES(post(op, &c), BAD_ARG_N(3));
	c.iov = &t;
	GIVES(post(op, &c), is_rdma(op) ? BAD_ARG_N(6) : BAD_ARG_N(5));
	c.flags = 0;
	t.lmr_context ^= 0x5a5a0000u;
	GIVES(post(op, &c), privileges(op));
	t = seg(foreign, foreign->len - 15, 16);
	GIVES(post(op, &c), BAD_ARG_N(3));
	t = seg(foreign, 0, 16);
	GIVES(post(op, &c), protection(op));
	t = seg(&p->a.buf, 0, 16);
	if (is_rdma(op)) {
		GIVES(post(op, &c), API_ERR(DAT_LENGTH_ERROR, 0));
		r.segment_length = 16;
	}
	EV_EMPTY(p->a.recv);
	EV_EMPTY(p->a.req);
	OK(post(op, &c));
}

TEST(post_checks, of_several_errors_handle_and_state_come_first)
{
	DAT_PZ_HANDLE pz;
	struct buf foreign;
	struct pair p, q;
	unsigned int i;
	char mem[64];

	pair_open(&q);
	pair_up(&p);
	OK(dat_pz_create(p.node.ia, &pz));
	buf_register(&foreign, &p.node, pz, mem, sizeof(mem), PRIV_ALL);
	for (i = 0; i < 4; i++) {
		struct pair both = p;

		both.b.ep = q.a.ep;
		OK(post_recv(&p.b, 0, 16, 1));
		put_right_in_turn(&both, ops[i], &foreign);
		if (ops[i] == OP_SEND)
			EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 16);
		if (ops[i] == OP_RECV)
			OK(post_send(&p.b, 0, 16, 2));
		EV_DTO(queue_of(&p.a, ops[i]), p.a.ep, 9, ops[i], 16);
	}
	buf_unregister(&foreign);
	OK(dat_pz_free(pz));
	pair_close(&p);
	pair_close(&q);
}

/* Only what is accepted is flushed. */
TEST(post_checks, a_disconnected_endpoint_checks_them_too)
{
	DAT_RMR_TRIPLET r;
	DAT_LMR_TRIPLET t;
	struct pair p;
	unsigned int i;

	pair_up(&p);
	pair_disconnect(&p);
	r = rem(&p.b.buf, 0, 16);
	for (i = 0; i < 4; i++) {
		enum op op = ops[i];
		struct call c = { .s = &p.a, .ep = p.a.ep, .n = -1, .iov = &t, .remote = &r };

		t = seg(&p.a.buf, 0, 16);
		GIVES(post(op, &c), BAD_ARG_N(2));
		c.n = 1;
		c.flags = 0x4000;
		GIVES(post(op, &c), is_rdma(op) ? BAD_ARG_N(6) : BAD_ARG_N(5));
		c.flags = 0;
		t = seg(&p.a.buf, SIDE_BUF - 15, 16);
		GIVES(post(op, &c), BAD_ARG_N(3));
		t.lmr_context ^= 0x5a5a0000u;
		GIVES(post(op, &c), privileges(op));
		t = seg(&p.a.buf, 0, 16);
		if (is_rdma(op)) {
			r.segment_length = op == OP_READ ? 17 : 15;
			GIVES(post(op, &c), API_ERR(DAT_LENGTH_ERROR, 0));
			r.segment_length = 16;
		}
		EV_EMPTY(p.a.recv);
		EV_EMPTY(p.a.req);
		OK(post(op, &c));
		EV_FLUSH(queue_of(&p.a, op), p.a.ep, 9, op);
	}
	pair_close(&p);
}

TEST(post_checks, a_segment_without_bytes_needs_a_region_too)
{
	DAT_RMR_TRIPLET r;
	DAT_LMR_TRIPLET t;
	struct pair p;
	unsigned int i;

	pair_up(&p);
	r = rem(&p.b.buf, 0, 0);
	for (i = 0; i < 4; i++) {
		struct call c = { .s = &p.a, .ep = p.a.ep, .n = 1, .iov = &t, .remote = &r };

		t = seg(&p.a.buf, 0, 0);
		t.lmr_context = 0;
		GIVES(post(ops[i], &c), privileges(ops[i]));
		t = seg(&p.a.buf, SIDE_BUF + 1, 0);
		GIVES(post(ops[i], &c), BAD_ARG_N(3));
		t = seg(&p.a.buf, (size_t)-1, 0);
		GIVES(post(ops[i], &c), BAD_ARG_N(3));
	}
	EV_EMPTY(p.a.recv);
	EV_EMPTY(p.a.req);
	pair_close(&p);
}

/* The remote rights of a region are for peers; local write is enough for what is received. */
TEST(post_checks, receives_and_reads_need_local_write_and_no_other_right)
{
	static const int without[] = { 0, DAT_MEM_PRIV_LOCAL_READ_FLAG,
				       DAT_MEM_PRIV_REMOTE_READ_FLAG,
				       DAT_MEM_PRIV_LOCAL_READ_FLAG |
					       DAT_MEM_PRIV_REMOTE_READ_FLAG };
	DAT_RMR_TRIPLET r;
	DAT_LMR_TRIPLET t;
	struct pair p;
	struct buf b;
	unsigned int i;

	pair_up(&p);
	r = rem(&p.b.buf, 0, 100);
	for (i = 0; i < 4; i++) {
		buf_make(&b, &p.node, 4096, without[i]);
		t = seg(&b, 0, 100);
		GIVES(dat_ep_post_recv(p.a.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG),
		      privileges(OP_RECV));
		GIVES(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(1), &r, DAT_COMPLETION_DEFAULT_FLAG),
		      privileges(OP_READ));
		buf_free(&b);
	}
	buf_make(&b, &p.node, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	t = seg(&b, 0, 100);
	OK(dat_ep_post_recv(p.a.ep, 1, &t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	fill(p.b.buf.mem, 100, 5);
	OK(post_send(&p.b, 0, 100, 3));
	EV_DTO(p.a.recv, p.a.ep, 2, OP_RECV, 100);
	CHECK_FILL(b.mem, 100, 5);
	fill(p.b.buf.mem, 100, 6);
	OK(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(4), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 4, OP_READ, 100);
	CHECK_FILL(b.mem, 100, 6);
	buf_free(&b);
	pair_close(&p);
}

TEST(post_checks, of_several_errors_of_a_shared_receive_the_handle_comes_first)
{
	DAT_LMR_TRIPLET t;
	DAT_SRQ_HANDLE freed;
	struct buf foreign, gone;
	DAT_PZ_HANDLE pz;
	struct hub h;

	hub_open(&h, 1, 4, 0);
	freed = srq_make(&h.node, 1, 1);
	OK(dat_srq_free(freed));
	OK(dat_pz_create(h.node.ia, &pz));
	buf_register(&foreign, &h.node, pz, h.mem.mem, 100, PRIV_ALL);
	buf_register(&gone, &h.node, h.node.pz, h.mem.mem, 100, PRIV_ALL);
	t = seg(&gone, 0, 16);
	buf_unregister(&gone);
	BAD_HANDLE(dat_srq_post_recv(freed, -1, NULL, ck(1)), SRQ);
	BAD_ARG(dat_srq_post_recv(h.srq, -1, NULL, ck(1)), 2);
	BAD_ARG(dat_srq_post_recv(h.srq, 1, NULL, ck(1)), 3);
	GIVES(dat_srq_post_recv(h.srq, 1, &t, ck(1)), privileges(OP_RECV));
	t = seg(&foreign, 99, 2);
	BAD_ARG(dat_srq_post_recv(h.srq, 1, &t, ck(1)), 3);
	t = seg(&foreign, 0, 16);
	GIVES(dat_srq_post_recv(h.srq, 1, &t, ck(1)), protection(OP_RECV));
	SRQ_COUNTS(h.srq, 0, 0);
	/* Nothing of all this has taken one of the four places. */
	for (int i = 0; i < 4; i++)
		OK(hub_post(&h, i, 100, 100 + (uint64_t)i));
	hub_send(&h, 0, 50, 3);
	HUB_GOT(&h, 0, 100, 0, 50, 3);
	buf_unregister(&foreign);
	OK(dat_pz_free(pz));
	hub_close(&h);
}
