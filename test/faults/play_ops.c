/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations over a connection: all kinds, memory windows, shared receive queues. */
#include "play.h"

#include <string.h>

#if RL_API == 2
#include <dat2/dat_ib_extensions.h>
#endif

#define IMMED 0x12345678u
#define FLAGS DAT_COMPLETION_DEFAULT_FLAG

/* Of the data that this side, or the peer, sends in this attempt. */
static uint32_t seed(const struct play *p, bool peers)
{
	return (uint32_t)p->round * 2u + (p->server != peers);
}

static DAT_RMR_TRIPLET peers(const struct play *p, size_t off, size_t len)
{
	return rd_remote(rl_board->rctx[!p->server], rl_board->va[!p->server] + off, len);
}

static void *at(const struct play *p, size_t off)
{
	return (char *)p->mem.p + off;
}

void make_ep(struct play *p, int conn)
{
	DAT_SRQ_ATTR srq = { .max_recv_dtos = 8,
			     .max_recv_iov = 4,
			     .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = 0x1000000;
	attr.max_rdma_size = 0x1000000;
	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.max_recv_dtos = conn ? DAT_HW_DEFAULT : 8;
	attr.max_request_dtos = 16;
	attr.max_recv_iov = 4;
	attr.max_request_iov = 4;
	attr.max_rdma_read_in = 4;
	attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = 4;
	attr.max_rdma_write_iov = 4;
	if (conn) {
		attr.srq_soft_hw = DAT_HW_DEFAULT;
		CALL(dat_srq_create(p->ia, p->pz, &srq, &p->srq));
		CALL(dat_ep_create_with_srq(p->ia, p->pz, p->recv, p->req, p->conn, p->srq, &attr,
					    &p->c[conn].ep));
	} else {
		CALL(dat_ep_create(p->ia, p->pz, p->recv, p->req, p->conn, &attr, &p->c[conn].ep));
	}
}

void free_ep(struct play *p, int conn)
{
	MUST(dat_ep_free(p->c[conn].ep));
	p->c[conn].ep = DAT_HANDLE_NULL;
	if (!conn)
		return;
	MUST(dat_srq_free(p->srq));
	p->srq = DAT_HANDLE_NULL;
}

void prepare(struct play *p)
{
	static const uint64_t five = 5;

	rl_fill(at(p, OUT_SMALL), SMALL, seed(p, false));
	rl_fill(at(p, OUT_LARGE), LARGE, seed(p, false));
	memset(at(p, WRITTEN_SMALL), 0, SMALL);
	memset(at(p, WRITTEN_LARGE), 0, LARGE);
	memset(at(p, BY_IMMED), 0, SMALL);
	memset(at(p, BY_WINDOW), 0, SMALL);
	memcpy(at(p, WORD), &five, sizeof(five));
}

static void recv_into(struct play *p, int conn, const char *what, size_t off, size_t len)
{
	DAT_LMR_TRIPLET t = rd_segment(&p->mem, off, len);

	POST(conn, what, dat_ep_post_recv(p->c[conn].ep, 1, &t, cookie, FLAGS));
}

static void send_from(struct play *p, int conn, const char *what, size_t off, size_t len)
{
	DAT_LMR_TRIPLET t = rd_segment(&p->mem, off, len);

	POST(conn, what, dat_ep_post_send(p->c[conn].ep, 1, &t, cookie, FLAGS));
}

static void write_to(struct play *p, int conn, const char *what, size_t off, DAT_RMR_TRIPLET to)
{
	DAT_LMR_TRIPLET t = rd_segment(&p->mem, off, (size_t)to.segment_length);

	POST(conn, what, dat_ep_post_rdma_write(p->c[conn].ep, 1, &t, cookie, &to, FLAGS));
}

static void read_from(struct play *p, int conn, const char *what, size_t off, DAT_RMR_TRIPLET from)
{
	DAT_LMR_TRIPLET t = rd_segment(&p->mem, off, (size_t)from.segment_length);

	POST(conn, what, dat_ep_post_rdma_read(p->c[conn].ep, 1, &t, cookie, &from, FLAGS));
}

static void check(struct play *p, const char *what, size_t off, size_t len)
{
	long differs = rl_differs(at(p, off), len, seed(p, true));

	RL_CHECK(differs < 0, "%s: byte %ld is wrong", what, differs);
}

static bool went_well(const struct play *p, int conn)
{
	return p->c[conn].state == CONN_UP && !p->c[conn].failed;
}

void post_receives(struct play *p, int conn)
{
	recv_into(p, conn, "recv small", IN_SMALL, SMALL);
	recv_into(p, conn, "recv large", IN_LARGE, LARGE);
#if RL_API == 2
	recv_into(p, conn, "recv immediate", BY_IMMED, SMALL);
#endif
}

static void post_extended(struct play *p, int conn)
{
#if RL_API == 2
	DAT_LMR_TRIPLET small = rd_segment(&p->mem, OUT_SMALL, SMALL),
			former = rd_segment(&p->mem, FORMER, 8),
			latter = rd_segment(&p->mem, FORMER + 8, 8);
	DAT_RMR_TRIPLET by = peers(p, BY_IMMED, SMALL), word = peers(p, WORD, 8);

	POST(conn, "write immediate",
	     dat_ib_post_rdma_write_immed(p->c[conn].ep, 1, &small, cookie, &by, IMMED, FLAGS));
	POST(conn, "fetch and add",
	     dat_ib_post_fetch_and_add(p->c[conn].ep, 3, &former, cookie, &word, FLAGS));
	POST(conn, "compare and swap",
	     dat_ib_post_cmp_and_swap(p->c[conn].ep, 8, 9, &latter, cookie, &word, FLAGS));
#else
	(void)p;
	(void)conn;
#endif
}

static void check_extended(struct play *p)
{
#if RL_API == 2
	uint64_t former[2], word;

	memcpy(former, at(p, FORMER), sizeof(former));
	memcpy(&word, at(p, WORD), sizeof(word));
	RL_CHECK(former[0] == 5 && former[1] == 8 && word == 9,
		 "atomic operations: %llu, %llu, %llu", (unsigned long long)former[0],
		 (unsigned long long)former[1], (unsigned long long)word);
	check(p, "write immediate", BY_IMMED, SMALL);
#else
	(void)p;
#endif
}

/* Waits for the peer; true if all its operations have succeeded. */
static bool tell_peer(struct play *p, int conn)
{
	rl_board->value[V_WELL + p->server] = went_well(p, conn) ? (uint64_t)p->round : 0;
	meet(p);
	return rl_board->value[V_WELL + !p->server] == (uint64_t)p->round;
}

void do_everything(struct play *p, int conn)
{
	bool peer_well;

	send_from(p, conn, "send small", OUT_SMALL, SMALL);
	write_to(p, conn, "write small", OUT_SMALL, peers(p, WRITTEN_SMALL, SMALL));
	read_from(p, conn, "read small", READ_SMALL, peers(p, OUT_SMALL, SMALL));
	send_from(p, conn, "send large", OUT_LARGE, LARGE);
	write_to(p, conn, "write large", OUT_LARGE, peers(p, WRITTEN_LARGE, LARGE));
	read_from(p, conn, "read large", READ_LARGE, peers(p, OUT_LARGE, LARGE));
	post_extended(p, conn);
	pump(p, all_done, conn);
	/* Writes of the peer are complete when it has seen their completions. */
	peer_well = tell_peer(p, conn);
	if (!went_well(p, conn))
		return;
	check(p, "read small", READ_SMALL, SMALL);
	check(p, "read large", READ_LARGE, LARGE);
	check(p, "recv small", IN_SMALL, SMALL);
	check(p, "recv large", IN_LARGE, LARGE);
	RL_CHECK(p->c[conn].op[0].len == SMALL && p->c[conn].op[1].len == LARGE,
		 "receives of %zu and %zu bytes", p->c[conn].op[0].len, p->c[conn].op[1].len);
	if (!peer_well)
		return;
	check(p, "write small", WRITTEN_SMALL, SMALL);
	check(p, "write large", WRITTEN_LARGE, LARGE);
	check_extended(p);
}

void post_one_receive(struct play *p, int conn)
{
	recv_into(p, conn, "recv", IN_SMALL, SMALL);
	recv_into(p, conn, "recv to be flushed", IN_LARGE, SMALL);
}

static bool first_and_last_done(struct play *p, int conn)
{
	const struct conn *c = &p->c[conn];

	return c->state == CONN_UP && !c->failed ? c->op[0].done && c->op[2].done
						 : all_done(p, conn);
}

/* A receive stays outstanding. */
void do_little(struct play *p, int conn)
{
	send_from(p, conn, "send", OUT_SMALL, SMALL);
	pump(p, first_and_last_done, conn);
	if (went_well(p, conn))
		check(p, "recv", IN_SMALL, SMALL);
}

void post_none(struct play *p, int conn)
{
	(void)p;
	(void)conn;
}

static DAT_RETURN bind_window(struct play *p, DAT_RMR_HANDLE rmr, int conn, size_t len,
			      DAT_RMR_COOKIE cookie, DAT_RMR_CONTEXT *key)
{
	DAT_LMR_TRIPLET t = rd_segment(&p->mem, BY_WINDOW, len);
	DAT_MEM_PRIV_FLAGS rights = len ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : (DAT_MEM_PRIV_FLAGS)0;

#if RL_API == 1
	return dat_rmr_bind(rmr, &t, rights, p->c[conn].ep, cookie, FLAGS, key);
#else
	return dat_rmr_bind(rmr, p->mem.lmr, &t, rights, DAT_VA_TYPE_VA, p->c[conn].ep, cookie,
			    FLAGS, key);
#endif
}

static DAT_RMR_COOKIE as_rmr(DAT_DTO_COOKIE cookie)
{
	DAT_RMR_COOKIE same = { .as_64 = cookie.as_64 };

	return same;
}

void use_window(struct play *p, int conn)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT key = 0, none;

	CALL(dat_rmr_create(p->pz, &rmr));
	POST(conn, "bind", bind_window(p, rmr, conn, SMALL, as_rmr(cookie), &key));
	pump(p, all_done, conn);
	rl_board->rctx[2 + p->server] = key;
	meet(p);
	write_to(p, conn, "write to window", OUT_SMALL,
		 rd_remote(rl_board->rctx[2 + !p->server], rl_board->va[!p->server] + BY_WINDOW,
			   SMALL));
	pump(p, all_done, conn);
	if (tell_peer(p, conn))
		check(p, "write to window", BY_WINDOW, SMALL);
	POST(conn, "unbind", bind_window(p, rmr, conn, 0, as_rmr(cookie), &none));
	pump(p, all_done, conn);
	MUST(dat_rmr_free(rmr));
}

void post_to_srq(struct play *p, int conn)
{
	DAT_LMR_TRIPLET small = rd_segment(&p->mem, IN_SMALL, SMALL),
			large = rd_segment(&p->mem, IN_LARGE, LARGE);

	POST(conn, "*small of SRQ", dat_srq_post_recv(p->srq, 1, &small, cookie));
	POST(conn, "*large of SRQ", dat_srq_post_recv(p->srq, 1, &large, cookie));
}

void use_srq(struct play *p, int conn)
{
	CALL(dat_srq_resize(p->srq, 32));
	send_from(p, conn, "send small to SRQ", OUT_SMALL, SMALL);
	send_from(p, conn, "send large to SRQ", OUT_LARGE, LARGE);
	pump(p, all_done, conn);
	if (!went_well(p, conn))
		return;
	check(p, "small of SRQ", IN_SMALL, SMALL);
	check(p, "large of SRQ", IN_LARGE, LARGE);
}
