/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the objects of a side, posts, and waits for the events of a step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario.h"

#define SLICE_US 2000

/* Life */

static void reg(struct sc_side *s, struct rd_mem *mem, void *p, size_t len, int rights)
{
	DAT_REGION_DESCRIPTION region = { .for_va = p };

	mem->p = p;
	mem->len = len;
	RD_OK(dat_lmr_create(s->rd.ia, DAT_MEM_TYPE_VIRTUAL, region, len, s->rd.pz,
			     (DAT_MEM_PRIV_FLAGS)rights, DAT_VA_TYPE_VA, &mem->lmr, &mem->lctx,
			     &mem->rctx, NULL, NULL));
}

static void memory_open(struct sc_side *s)
{
	size_t size = SC_PIECES + SC_WINDOW;
	char *p = malloc(size), *rest = malloc(2 * 4096);

	RL_CHECK(p && rest, "no memory");
	memset(p, 0, size);
	memset(rest, 0, 2 * 4096);
	reg(s, &s->mem, p, size, DAT_MEM_PRIV_ALL_FLAG);
	reg(s, &s->may_read, rest, 4096,
	    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
		    DAT_MEM_PRIV_REMOTE_READ_FLAG);
	reg(s, &s->may_write, rest + 4096, 4096,
	    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
		    DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	rl_fill(p + SC_PIECES, SC_WINDOW, (uint32_t)s->side);
	rl_board->va[s->side] = (uintptr_t)p + SC_PIECES;
	rl_board->rctx[s->side] = s->mem.rctx;
	rl_board->value[s->side * 4] = (uintptr_t)s->may_read.p;
	rl_board->value[s->side * 4 + 1] = s->may_read.rctx;
	rl_board->value[s->side * 4 + 2] = (uintptr_t)s->may_write.p;
	rl_board->value[s->side * 4 + 3] = s->may_write.rctx;
}

static void srq_open(struct sc_side *s)
{
	DAT_SRQ_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.max_recv_dtos = SC_OPS;
	attr.max_recv_iov = SC_SEGMENTS;
	attr.low_watermark = DAT_SRQ_LW_DEFAULT;
	RD_OK(dat_srq_create(s->rd.ia, s->rd.pz, &attr, &s->srq));
}

void sc_listen(struct sc_side *s)
{
	RD_OK(dat_psp_create_any(s->rd.ia, &s->qual, s->rd.cr, DAT_PSP_CONSUMER_FLAG, &s->rd.psp));
	rl_board->value[16 + s->side] = s->qual;
}

void sc_ep_open(struct sc_side *s, int n)
{
	struct sc_ep *ep = &s->ep[n];
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = attr.max_rdma_size = 1 << 24;
	attr.recv_completion_flags = s->scene->solicited[s->side]
					     ? DAT_COMPLETION_SOLICITED_WAIT_FLAG
					     : DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.request_completion_flags = s->scene->unsignalled ? DAT_COMPLETION_UNSIGNALLED_FLAG
							      : DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.max_recv_dtos = attr.max_request_dtos = SC_OPS;
	attr.max_recv_iov = attr.max_request_iov = SC_SEGMENTS;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = attr.max_rdma_write_iov = SC_SEGMENTS;
	attr.srq_soft_hw = DAT_HW_DEFAULT;
	if (s->srq)
		RD_OK(dat_ep_create_with_srq(s->rd.ia, s->rd.pz, s->rd.recv, s->rd.req, s->rd.conn,
					     s->srq, &attr, &ep->h));
	else
		RD_OK(dat_ep_create(s->rd.ia, s->rd.pz, s->rd.recv, s->rd.req, s->rd.conn, &attr,
				    &ep->h));
	ep->up = ep->ended = false;
}

void sc_open_side(struct sc_side *s, const struct sc_scene *scene, int side)
{
	unsigned int flags = scene->merged ? RD_MERGED : 0;

	memset(s, 0, sizeof(*s));
	s->scene = scene;
	s->side = side;
	rd_open(&s->rd, flags | (scene->wait == SC_CNO_WAIT ? RD_CNO : 0), 512);
	memory_open(s);
	if (scene->srq[side])
		srq_open(s);
	for (int i = 0; i < scene->eps; i++)
		sc_ep_open(s, i);
	sc_listen(s);
	sc_meet(s);
}

void sc_close_side(struct sc_side *s)
{
	void *p[2] = { s->mem.p, s->may_read.p };

	rl_activity("closing");
	for (int i = 0; i < s->scene->eps; i++)
		RD_OK(dat_ep_free(s->ep[i].h));
	if (s->srq)
		RD_OK(dat_srq_free(s->srq));
	rd_unreg(&s->mem);
	rd_unreg(&s->may_read);
	rd_unreg(&s->may_write);
	rd_close(&s->rd);
	free(p[0]);
	free(p[1]);
}

/* Meeting and waiting */

void sc_meet(struct sc_side *s)
{
	s->meeting++;
	rl_step(s->side, s->meeting);
	rl_await(!s->side, s->meeting, SC_WAIT_MS + 4000);
}

static int find_ep(struct sc_side *s, DAT_EP_HANDLE h)
{
	for (int i = 0; i < s->scene->eps; i++)
		if (s->ep[i].h == h)
			return i;
	RL_FAIL("an event of an unknown endpoint");
}

static void take_conn(struct sc_side *s, const DAT_EVENT *ev)
{
	const DAT_CONNECTION_EVENT_DATA *d = &ev->event_data.connect_event_data;
	int n = find_ep(s, d->ep_handle);
	struct sc_ep *ep = &s->ep[n];
	DAT_EP_STATE state = rd_state(ep->h);

	ep->got[SC_CONN]++;
	ep->up = ev->event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	ep->ended = !ep->up;
	sc_write(s->side, n, SC_CONN, "step %d %s, state %s, private data %d:%08x\n", s->step,
		 sc_conn_text(ev->event_number, ep->end),
		 state == DAT_EP_STATE_CONNECTED      ? "CONNECTED"
		 : state == DAT_EP_STATE_DISCONNECTED ? "DISCONNECTED"
						      : "another",
		 (int)d->private_data_size,
		 sc_hash(SC_HASH, d->private_data, (size_t)d->private_data_size));
}

/* The clock of a message depends on time. */
static uint32_t hash_op(const struct sc_op *op, size_t len)
{
	size_t skip = op->kind == RD_SEND || op->kind == RD_RECV ? sc_clock_size(len) : 0;
	uint32_t hash = SC_HASH;

	for (int i = 0; i < op->segments && len; i++) {
		size_t part = op->seg[i].segment_length < len ? op->seg[i].segment_length : len;
		size_t from = skip < part ? skip : part;

		hash = sc_hash(hash, (char *)(uintptr_t)op->seg[i].virtual_address + from,
			       part - from);
		len -= part;
		skip -= from;
	}
	return hash;
}

static void take_dto(struct sc_side *s, const DAT_EVENT *ev)
{
	static const char *const kinds[] = { "send", "receive", "write", "read" };
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	unsigned int number = d->user_cookie.as_64 & 0xffffff;
	bool is_recv = d->user_cookie.as_64 >> 32 & 1;
	int n = find_ep(s, d->ep_handle), from = (int)(d->user_cookie.as_64 >> 40);
	/* A buffer of an SRQ is not bound to an endpoint. */
	const struct sc_op *op = &s->ep[is_recv ? from : n].op[!is_recv][number % SC_OPS];
	enum sc_stream stream = is_recv ? SC_RECV : SC_REQ;
	struct sc_ep *ep = &s->ep[n];
	char name[32];

	RL_CHECK((is_recv && s->srq) || from == n, "a cookie of another endpoint");
	if (d->status == DAT_DTO_ERR_FLUSHED &&
	    sc_open_flush(&s->scene->step[s->step], s->step, op))
		return;
	ep->got[stream]++;
	if (d->status == DAT_DTO_SUCCESS && is_recv)
		sc_clock_receive(s, n, op, (size_t)d->transfered_length);
	else if (d->status == DAT_DTO_SUCCESS)
		sc_clock_complete(s, n, op);
	if (is_recv && s->srq)
		snprintf(name, sizeof(name), "receive");
	else
		snprintf(name, sizeof(name), "%s %u", kinds[op->kind], number);
	if (d->status != DAT_DTO_SUCCESS || op->open != SC_STRICT)
		sc_write(s->side, n, stream, "step %d %s %s\n", s->step, name,
			 sc_status_text(d->status, op->open));
	else
		sc_write(s->side, n, stream, "step %d %s SUCCESS %llu:%08x%s\n", s->step, name,
			 (unsigned long long)d->transfered_length,
			 hash_op(op, (size_t)d->transfered_length),
			 s->scene->merged && ep->ended ? " behind the end" : "");
}

static void take(struct sc_side *s, const DAT_EVENT *ev)
{
	if (ev->event_number == DAT_DTO_COMPLETION_EVENT)
		take_dto(s, ev);
	else if (ev->event_number == DAT_CONNECTION_REQUEST_EVENT)
		RL_FAIL("an unexpected connection request");
	else
		take_conn(s, ev);
}

void sc_sweep(struct sc_side *s)
{
	DAT_EVD_HANDLE evds[3] = { s->rd.conn, s->rd.recv, s->rd.req };
	DAT_EVENT ev;

	for (int i = 0; i < (s->scene->merged ? 1 : 3); i++)
		while (rd_poll(evds[i], &ev))
			take(s, &ev);
}

/* The first stream that lacks something. */
static bool lacks(struct sc_side *s, int *ep, enum sc_stream *stream)
{
	static const enum sc_stream streams[] = { SC_RECV, SC_REQ, SC_CONN };

	for (int i = 0; i < s->scene->eps; i++)
		for (int k = 0; k < 3; k++)
			if (s->ep[i].got[streams[k]] < s->ep[i].want[streams[k]]) {
				*ep = i;
				*stream = streams[k];
				return true;
			}
	return false;
}

/* Waits in slices: unsignalled and unsolicited completions wake no waiter. */
void sc_sleep(struct sc_side *s, enum sc_stream stream)
{
	DAT_EVD_HANDLE evd = stream == SC_CONN   ? s->rd.conn
			     : stream == SC_RECV ? s->rd.recv
						 : s->rd.req;
	DAT_EVENT ev;
	DAT_COUNT more;
	DAT_RETURN ret;

	switch (s->scene->wait) {
	case SC_EVD_WAIT:
		ret = dat_evd_wait(evd, SLICE_US, 1, &ev, &more);
		if (ret == DAT_SUCCESS)
			take(s, &ev);
		else if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
			RD_OK(ret);
		break;
	case SC_CNO_WAIT:
		ret = dat_cno_wait(s->rd.cno, SLICE_US, &evd);
		if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
			RD_OK(ret);
		break;
	default:
		usleep(30);
	}
}

void sc_settle(struct sc_side *s)
{
	struct rl_limit limit = rl_limit(SC_WAIT_MS);
	enum sc_stream stream;
	int ep;

	for (;;) {
		sc_sweep(s);
		if (!lacks(s, &ep, &stream))
			break;
		RL_CHECK(!rl_passed(&limit),
			 "step %d, %s: endpoint %d has %u of %u events of kind %d", s->step,
			 sc_act_name(s->scene->step[s->step].act), ep, s->ep[ep].got[stream],
			 s->ep[ep].want[stream], (int)stream);
		sc_sleep(s, stream);
	}
	sc_meet(s);
	sc_sweep(s);
	for (ep = 0; ep < s->scene->eps; ep++)
		for (int k = 0; k < SC_STREAMS; k++)
			RL_CHECK(s->ep[ep].got[k] <= s->ep[ep].want[k],
				 "step %d, %s: endpoint %d has more events of kind %d than it may",
				 s->step, sc_act_name(s->scene->step[s->step].act), ep, k);
}

void sc_want_all(struct sc_side *s, int n)
{
	struct sc_ep *ep = &s->ep[n];

	ep->want[SC_REQ] = ep->shown[1];
	if (!s->srq)
		ep->want[SC_RECV] = ep->shown[0];
}

void sc_want_end(struct sc_side *s, int n, enum sc_open end)
{
	s->ep[n].end = end;
	s->ep[n].want[SC_CONN]++;
	sc_want_all(s, n);
}

/* Posting */

int sc_segments(struct sc_side *s, DAT_LMR_TRIPLET *seg, int n, size_t len)
{
	for (int i = 0; i < n; i++) {
		size_t part = i + 1 < n ? len / (size_t)(n - i) / 2 * 2 : len;

		RL_CHECK(s->used + part + 64 <= SC_PIECES, "no memory left for this step");
		memset(&seg[i], 0, sizeof(seg[i]));
		seg[i].lmr_context = s->mem.lctx;
		seg[i].virtual_address = (uintptr_t)s->mem.p + s->used;
		seg[i].segment_length = (DAT_SEG_LENGTH)part;
		s->used += part + 61;
		len -= part;
	}
	return n;
}

static struct sc_op *new_op(struct sc_side *s, int n, enum rd_kind kind, enum sc_open open,
			    bool shown, DAT_DTO_COOKIE *cookie)
{
	int request = kind != RD_RECV;
	struct sc_ep *ep = &s->ep[n];
	unsigned int number = ep->posted[request]++;
	struct sc_op *op = &ep->op[request][number % SC_OPS];

	op->kind = kind;
	op->open = open;
	op->shown = shown;
	op->step = s->step;
	op->sent = ep->sent + (kind == RD_SEND);
	ep->shown[request] += shown;
	cookie->as_64 = number | (uint64_t)!request << 32 | (uint64_t)n << 40;
	return op;
}

void sc_recv(struct sc_side *s, int n, size_t room, int segments)
{
	DAT_DTO_COOKIE cookie;
	struct sc_op *op = new_op(s, n, RD_RECV, SC_STRICT, true, &cookie);

	op->segments = sc_segments(s, op->seg, segments, room);
	if (s->srq)
		RD_OK(dat_srq_post_recv(s->srq, op->segments, op->seg, cookie));
	else
		RD_OK(dat_ep_post_recv(s->ep[n].h, op->segments, op->seg, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG));
}

static void fill(const struct sc_op *op, uint32_t seed)
{
	for (int i = 0; i < op->segments; i++)
		rl_fill((void *)(uintptr_t)op->seg[i].virtual_address, op->seg[i].segment_length,
			seed + (uint32_t)i);
}

void sc_send(struct sc_side *s, int n, const struct sc_piece *p, uint32_t seed, enum sc_open open)
{
	bool shown = !(p->flags & DAT_COMPLETION_SUPPRESS_FLAG);
	int flags = p->flags | (seed & 1 ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0);
	DAT_DTO_COOKIE cookie;
	struct sc_op *op = new_op(s, n, RD_SEND, open, shown, &cookie);

	op->segments = sc_segments(s, op->seg, p->from, p->len);
	fill(op, seed);
	sc_clock_send(s, n, op, p->len);
	RD_OK(dat_ep_post_send(s->ep[n].h, op->segments, op->seg, cookie,
			       (DAT_COMPLETION_FLAGS)flags));
}

void sc_rdma(struct sc_side *s, int n, bool write, const struct sc_piece *p, uint32_t seed,
	     uint64_t va, DAT_RMR_CONTEXT rctx)
{
	bool shown = !(p->flags & DAT_COMPLETION_SUPPRESS_FLAG);
	DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)p->flags;
	DAT_DTO_COOKIE cookie;
	struct sc_op *op = new_op(s, n, write ? RD_WRITE : RD_READ, SC_STRICT, shown, &cookie);
	DAT_RMR_TRIPLET remote;

	memset(&remote, 0, sizeof(remote));
	remote.rmr_context = rctx;
	remote.virtual_address = va;
	remote.segment_length = (DAT_SEG_LENGTH)p->len;
	op->segments = sc_segments(s, op->seg, write ? p->from : p->to, write ? p->len : p->room);
	if (write) {
		fill(op, seed);
		RD_OK(dat_ep_post_rdma_write(s->ep[n].h, op->segments, op->seg, cookie, &remote,
					     flags));
	} else {
		RD_OK(dat_ep_post_rdma_read(s->ep[n].h, op->segments, op->seg, cookie, &remote,
					    flags));
	}
}
