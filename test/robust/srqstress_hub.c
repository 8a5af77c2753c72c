/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements the hub, the side with the shared receive queue: verifies messages and accounts for
 * buffers.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "srqstress.h"

/* Includes requests of killed peers. */
#define SS_REQUESTS 512

enum phase { HU_IDLE, HU_PENDING, HU_UP, HU_OVER };

struct hub_ep {
	DAT_EP_HANDLE ep;
	enum phase phase;
	struct ss_hello hello;
	uint32_t seq;
	bool mine;  /* this side disconnected */
	int budget; /* messages until it does */
};

struct request {
	DAT_CR_HANDLE cr;
	struct ss_hello hello;
};

struct hub_thread {
	int number;
	uint64_t seed;
	struct rd rd;
	struct hub_ep ep[SS_SLOTS];
	struct request waiting[SS_REQUESTS];
	int waits;
	int spare[SS_BUFFERS], spares;
	uint64_t posted, completed, flushed, too_long, connections, ended, compared;
};

static struct rd common;
static DAT_SRQ_HANDLE srq;
static struct rd_mem mem;
static _Atomic bool at_fabric[SS_BUFFERS];

static void post_spares(struct hub_thread *t)
{
	while (t->spares) {
		int b = t->spare[--t->spares];
		DAT_LMR_TRIPLET seg;
		DAT_DTO_COOKIE cookie = { .as_64 = (uint64_t)b };

		memset(&seg, 0, sizeof(seg));
		seg.lmr_context = mem.lctx;
		seg.virtual_address = (uintptr_t)mem.p + (size_t)b * SS_LEN;
		seg.segment_length = SS_LEN;
		RL_CHECK(!atomic_exchange(&at_fabric[b], true), "buffer %d is posted twice", b);
		RD_OK(dat_srq_post_recv(srq, 1, &seg, cookie));
		t->posted++;
	}
}

static struct hub_ep *find_ep(struct hub_thread *t, DAT_EP_HANDLE ep, const char *what)
{
	for (int i = 0; i < SS_SLOTS; i++)
		if (t->ep[i].ep == ep)
			return &t->ep[i];
	RL_FAIL("%s of an endpoint that is not thread %d's", what, t->number);
}

static void verify(struct hub_thread *t, struct hub_ep *e, int b, size_t len)
{
	const char *buf = (char *)mem.p + (size_t)b * SS_LEN;
	struct ss_head head;

	RL_CHECK(len >= sizeof(head), "a message of %zu bytes", len);
	memcpy(&head, buf, sizeof(head));
	RL_CHECK(head.len == len && head.conn == e->hello.conn && head.seq == e->seq,
		 "thread %d: message %u of connection %u, %u bytes; expected %u of %u, %zu bytes",
		 t->number, head.seq, head.conn, head.len, e->seq, e->hello.conn, len);
	RL_CHECK(rl_differs(buf + sizeof(head), len - sizeof(head), head.seed) < 0,
		 "message %u of connection %u is damaged", head.seq, head.conn);
	e->seq++;
	ss_shared->messages++;
}

static void handle_receive(struct hub_thread *t, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	struct hub_ep *e = find_ep(t, d->ep_handle, "a receive");
	int b = (int)d->user_cookie.as_64;

	RL_CHECK(d->user_cookie.as_64 < SS_BUFFERS && atomic_exchange(&at_fabric[b], false),
		 "buffer %d completes, which is not posted (status %d)", b, (int)d->status);
	RL_CHECK(e->phase != HU_IDLE, "a receive of an idle endpoint, status %d", (int)d->status);
	switch ((int)d->status) {
	case DAT_DTO_SUCCESS:
		t->completed++;
		verify(t, e, b, d->transfered_length);
		break;
	case DAT_DTO_ERR_FLUSHED:
		t->flushed++;
		break;
	case DAT_DTO_ERR_LOCAL_LENGTH:
		t->too_long++;
		break;
	default:
		RL_FAIL("a receive has status %d", (int)d->status);
	}
	t->spare[t->spares++] = b;
	if (e->phase == HU_UP && !--e->budget) {
		e->mine = true;
		RD_OK(dat_ep_disconnect(e->ep, rl_random(&t->seed) & 1 ? DAT_CLOSE_ABRUPT_FLAG
								       : DAT_CLOSE_GRACEFUL_FLAG));
	}
}

static void handle_conn_event(struct hub_thread *t, const DAT_EVENT *ev)
{
	struct hub_ep *e = find_ep(t, ev->event_data.connect_event_data.ep_handle, "an event");

	switch ((int)ev->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		RL_CHECK(e->phase == HU_PENDING, "ESTABLISHED in phase %d", (int)e->phase);
		e->phase = HU_UP;
		t->connections++;
		ss_shared->connections++;
		break;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		RL_CHECK(e->phase == HU_PENDING, "ACCEPT_COMPLETION_ERROR in phase %d",
			 (int)e->phase);
		RL_CHECK(ss_shared->killed[e->hello.epoch],
			 "accept failed although the peer is alive");
		e->mine = true;
		e->phase = HU_OVER;
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		RL_CHECK(e->phase == HU_UP, "%s in phase %d", rd_event_text(ev->event_number),
			 (int)e->phase);
		e->phase = HU_OVER;
		t->ended++;
		break;
	default:
		RL_FAIL("%s", rd_event_text(ev->event_number));
	}
}

static void handle_request(struct hub_thread *t, const DAT_EVENT *ev)
{
	struct request *r = &t->waiting[t->waits];
	DAT_CR_PARAM param;

	r->cr = ev->event_data.cr_arrival_event_data.cr_handle;
	RL_CHECK(t->waits < SS_REQUESTS, "too many requests wait");
	RD_OK(dat_cr_query(r->cr, DAT_CR_FIELD_ALL, &param));
	RL_CHECK(param.private_data_size == sizeof(r->hello), "%d bytes of private data",
		 (int)param.private_data_size);
	memcpy(&r->hello, param.private_data, sizeof(r->hello));
	RL_CHECK(r->hello.epoch < SS_EPOCHS && r->hello.slot < SS_SLOTS,
		 "a request with bad private data");
	t->waits++;
}

static void accept_one(struct hub_thread *t, struct hub_ep *e)
{
	struct request r = t->waiting[0];
	DAT_RETURN ret;

	memmove(&t->waiting[0], &t->waiting[1], (size_t)--t->waits * sizeof(r));
	ret = dat_cr_accept(r.cr, e->ep, 0, NULL);
	if (ret != DAT_SUCCESS) {
		RL_CHECK(ss_shared->killed[r.hello.epoch], "dat_cr_accept returned %s",
			 rd_text(ret));
		return;
	}
	e->hello = r.hello;
	e->seq = 0;
	e->mine = false;
	e->budget = 1 + (int)(rl_random(&t->seed) % 8000);
	e->phase = HU_PENDING;
}

/* If a live peer disconnected gracefully, everything it sent must have arrived. */
static void compare_with_peer(struct hub_thread *t, const struct hub_ep *e)
{
	const struct ss_note *note =
		&ss_shared->note[t->number][e->hello.slot][e->hello.conn % SS_NOTES];

	if (e->mine || note->conn != e->hello.conn || note->epoch != e->hello.epoch ||
	    ss_shared->killed[e->hello.epoch])
		return;
	RL_CHECK(e->seq == note->messages, "%u messages of %u arrived before the graceful end",
		 e->seq, note->messages);
	t->compared++;
}

static void recycle(struct hub_thread *t)
{
	for (int i = 0; i < SS_SLOTS; i++) {
		struct hub_ep *e = &t->ep[i];

		if (e->phase == HU_OVER) {
			compare_with_peer(t, e);
			RD_OK(dat_ep_reset(e->ep));
			e->phase = HU_IDLE;
		}
		if (e->phase == HU_IDLE && t->waits)
			accept_one(t, e);
	}
}

static bool busy(const struct hub_thread *t)
{
	for (int i = 0; i < SS_SLOTS; i++)
		if (t->ep[i].phase != HU_IDLE)
			return true;
	return !ss_shared->peers_gone;
}

static void *serve(void *arg)
{
	struct hub_thread *t = arg;
	DAT_EVENT ev;

	while (busy(t)) {
		int n = 0;

		for (; rd_poll(t->rd.cr, &ev); n++)
			handle_request(t, &ev);
		for (; rd_poll(t->rd.conn, &ev); n++)
			handle_conn_event(t, &ev);
		/* All completions before the end of a connection have been read. */
		for (; rd_poll(t->rd.recv, &ev); n++) {
			handle_receive(t, &ev);
			/* Lets the queue run empty at times. */
			if ((uint32_t)t->spares > rl_random(&t->seed) % 24)
				post_spares(t);
		}
		recycle(t);
		if (n)
			continue;
		post_spares(t);
		if (rd_next(t->rd.recv, 2, &ev))
			handle_receive(t, &ev);
	}
	return NULL;
}

/* Life */

static DAT_EP_HANDLE create_ep(struct hub_thread *t)
{
	DAT_EP_HANDLE model = rd_ep_create(&t->rd, 4), ep;
	DAT_EP_PARAM param;

	RD_OK(dat_ep_query(model, DAT_EP_FIELD_ALL, &param));
	RD_OK(dat_ep_free(model));
	param.ep_attr.max_recv_dtos = DAT_HW_DEFAULT;
	param.ep_attr.srq_soft_hw = DAT_HW_DEFAULT;
	RD_OK(dat_ep_create_with_srq(t->rd.ia, t->rd.pz, t->rd.recv, t->rd.req, t->rd.conn, srq,
				     &param.ep_attr, &ep));
	return ep;
}

static void open_thread(struct hub_thread *t)
{
	struct rd *rd = &t->rd;
	DAT_CONN_QUAL qual;

	*rd = common;
	RD_OK(dat_evd_create(rd->ia, 128, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &rd->cr));
	RD_OK(dat_evd_create(rd->ia, 128, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &rd->conn));
	RD_OK(dat_evd_create(rd->ia, 512, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rd->recv));
	RD_OK(dat_evd_create(rd->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rd->req));
	for (int i = 0; i < SS_SLOTS; i++)
		t->ep[i].ep = create_ep(t);
	for (int b = t->number; b < SS_BUFFERS; b += SS_THREADS)
		t->spare[t->spares++] = b;
	RD_OK(dat_psp_create_any(rd->ia, &qual, rd->cr, DAT_PSP_CONSUMER_FLAG, &rd->psp));
	ss_shared->qual[t->number] = qual;
}

static void close_thread(struct hub_thread *t)
{
	for (int i = 0; i < SS_SLOTS; i++)
		RD_OK(dat_ep_free(t->ep[i].ep));
	RD_OK(dat_psp_free(t->rd.psp));
	RD_OK(dat_evd_free(t->rd.cr));
	RD_OK(dat_evd_free(t->rd.conn));
	RD_OK(dat_evd_free(t->rd.recv));
	RD_OK(dat_evd_free(t->rd.req));
}

/* Checks that posted = completed + flushed + queued, by our counts and by dat_srq_query. */
static void check_balance(const struct hub_thread *t)
{
	uint64_t posted = 0, back = 0, completed = 0, flushed = 0, too_long = 0, conns = 0,
		 compared = 0;
	DAT_SRQ_PARAM p;
	int queued = 0;

	for (int i = 0; i < SS_THREADS; i++) {
		posted += t[i].posted;
		completed += t[i].completed;
		flushed += t[i].flushed;
		too_long += t[i].too_long;
		conns += t[i].connections;
		compared += t[i].compared;
	}
	back = completed + flushed + too_long;
	for (int b = 0; b < SS_BUFFERS; b++)
		queued += at_fabric[b];
	RD_OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	rl_note("%llu connections, %llu compared; %llu buffers posted = %llu completed + %llu "
		"flushed + %llu too short + %d queued (dat_srq_query: %d, %d outstanding)",
		(unsigned long long)conns, (unsigned long long)compared, (unsigned long long)posted,
		(unsigned long long)completed, (unsigned long long)flushed,
		(unsigned long long)too_long, queued, p.available_dto_count,
		p.outstanding_dto_count);
	RL_CHECK(posted - back == (uint64_t)queued, "%llu posted, %llu back, %d queued",
		 (unsigned long long)posted, (unsigned long long)back, queued);
	RL_CHECK(p.available_dto_count == queued && p.outstanding_dto_count == queued,
		 "the SRQ counts %d available, %d outstanding; %d are queued",
		 p.available_dto_count, p.outstanding_dto_count, queued);
	RL_CHECK(completed && conns > SS_EPS && compared, "the test did nothing");
}

/* Each connection that ended gave one asynchronous event. */
static void count_async(const struct hub_thread *t)
{
	uint64_t ended = 0, reported = 0;
	DAT_EVENT ev;

	for (int i = 0; i < SS_THREADS; i++)
		ended += t[i].ended;
	while (rd_poll(common.async, &ev)) {
		RL_CHECK(ev.event_number == DAT_ASYNC_ERROR_EP_BROKEN, "%s on the async EVD",
			 rd_event_text(ev.event_number));
		reported++;
	}
	RL_CHECK(reported == (ended < 65536 ? ended : 65536),
		 "%llu connections ended, %llu asynchronous events", (unsigned long long)ended,
		 (unsigned long long)reported);
}

void ss_hub(void *arg)
{
	static struct hub_thread t[SS_THREADS];
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SS_BUFFERS,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	void *p = calloc(SS_BUFFERS, SS_LEN);
	pthread_t id[SS_THREADS];
	int fds;

	(void)arg;
	rd_warm_up();
	fds = rl_fds(0);
	RL_CHECK(p, "no memory");
	rd_open(&common, 0, 8);
	memcpy(rl_board->addr, &common.addr, sizeof(rl_board->addr));
	rd_reg(&common, &mem, p, (size_t)SS_BUFFERS * SS_LEN);
	RD_OK(dat_srq_create(common.ia, common.pz, &attr, &srq));
	for (int i = 0; i < SS_THREADS; i++) {
		t[i].number = i;
		t[i].seed = (uint64_t)ss_seed * 31 + (uint64_t)i;
		open_thread(&t[i]);
	}
	rl_step(0, 1);
	rl_activity("serving");
	for (int i = 0; i < SS_THREADS; i++)
		RL_CHECK(!pthread_create(&id[i], NULL, serve, &t[i]), "no thread");
	for (int i = 0; i < SS_THREADS; i++)
		pthread_join(id[i], NULL);
	rl_activity("closing");
	check_balance(t);
	count_async(t);
	for (int i = 0; i < SS_THREADS; i++)
		close_thread(&t[i]);
	RD_OK(dat_srq_free(srq));
	rd_unreg(&mem);
	rd_close(&common);
	free(p);
	RL_CHECK(rl_fds(0) == fds, "%d descriptors, %d before it", rl_fds(0), fds);
}
