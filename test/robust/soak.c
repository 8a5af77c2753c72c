/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests several threads with several endpoints each that connect, transfer, disconnect and reset at
 * random.
 *
 * Options: seconds=N, threads=N (at most 8), seed=N, rdma=0 (messages only).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

struct soak_shared *soak_shared;

bool soak_rdma = true;

static long seconds = 10, threads = 4, first_seed = 1;
static struct rd common; /* the IA of this process */

#define MEMORY ((size_t)SOAK_EPS * ((size_t)SOAK_OPS * SOAK_MSG + 3 * SOAK_AREA))

/* Generations */

static void begin_generation(struct soak_thread *t, struct soak_ep *e)
{
	e->gen++;
	e->budget = 1 + (int)(rl_random(&t->seed) % 60);
	soak_ep_fill(t, e);
	e->phase = SP_PENDING;
}

static void start_connecting(struct soak_thread *t, struct soak_ep *e)
{
	uint32_t priv[2];
	struct sockaddr_storage addr;

	begin_generation(t, e);
	priv[0] = (uint32_t)e->index;
	priv[1] = e->gen;
	memcpy(&addr, rl_board->addr, sizeof(rl_board->addr));
	RD_OK(dat_ep_connect(e->ep, (DAT_IA_ADDRESS_PTR)&addr, soak_shared->qual[t->number],
			     rl_bound(10000) * 1000, sizeof(priv), priv, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG));
}

static void answer(struct soak_thread *t, struct soak_ep *e, DAT_CR_HANDLE cr)
{
	if (rl_random(&t->seed) % 20 == 0) {
		/* The generation ends at once: nothing was sent in it. */
		RD_OK(rd_reject(cr));
		e->gen++;
		e->my_end->mine = e->my_end->graceful = false;
		e->my_end->sent = 0;
		e->my_end->gen = e->gen;
		t->rejected++;
		return;
	}
	begin_generation(t, e);
	RD_OK(dat_cr_accept(cr, e->ep, 0, NULL));
}

static void handle_request(struct soak_thread *t, const DAT_EVENT *ev)
{
	DAT_CR_HANDLE cr = ev->event_data.cr_arrival_event_data.cr_handle;
	DAT_CR_PARAM param;
	uint32_t priv[2];

	RL_CHECK(ev->event_number == DAT_CONNECTION_REQUEST_EVENT, "%s on the CR EVD",
		 rd_event_text(ev->event_number));
	RD_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	RL_CHECK(param.private_data_size == sizeof(priv), "%d bytes of private data",
		 (int)param.private_data_size);
	memcpy(priv, param.private_data, sizeof(priv));
	RL_CHECK(priv[0] < SOAK_EPS && !t->waiting[priv[0]], "a request for EP %u", priv[0]);
	RL_CHECK(priv[1] == t->ep[priv[0]].gen + 1, "a request for generation %u after %u", priv[1],
		 t->ep[priv[0]].gen);
	t->waiting[priv[0]] = cr;
}

static void handle_conn_event(struct soak_thread *t, const DAT_EVENT *ev)
{
	DAT_EP_HANDLE ep = ev->event_data.connect_event_data.ep_handle;
	struct soak_ep *e = NULL;

	for (int i = 0; i < SOAK_EPS; i++)
		if (t->ep[i].ep == ep)
			e = &t->ep[i];
	RL_CHECK(e, "%s of an unknown EP", rd_event_text(ev->event_number));
	switch ((int)ev->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		RL_CHECK(e->phase == SP_PENDING, "ESTABLISHED in phase %d", (int)e->phase);
		e->phase = SP_UP;
		t->connections++;
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		RL_CHECK(e->phase == SP_PENDING && t->active, "PEER_REJECTED in phase %d",
			 (int)e->phase);
		t->rejected++;
		soak_ep_over(e, false);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		RL_CHECK(e->phase == SP_UP || e->phase == SP_ENDING, "%s in phase %d",
			 rd_event_text(ev->event_number), (int)e->phase);
		soak_ep_over(e, ev->event_number == DAT_CONNECTION_EVENT_BROKEN);
		break;
	default:
		RL_FAIL("%s on EP %d, generation %u", rd_event_text(ev->event_number), e->index,
			e->gen);
	}
}

/* The loop of a thread: polls while there are events, and waits otherwise */

static int handle_events(struct soak_thread *t)
{
	DAT_EVENT ev;
	int n = 0;

	for (; !t->active && rd_poll(t->rd.cr, &ev); n++)
		handle_request(t, &ev);
	for (; rd_poll(t->rd.recv, &ev); n++)
		soak_ep_completed(t, &ev.event_data.dto_completion_event_data);
	for (; rd_poll(t->rd.req, &ev); n++)
		soak_ep_completed(t, &ev.event_data.dto_completion_event_data);
	for (; rd_poll(t->rd.conn, &ev); n++)
		handle_conn_event(t, &ev);
	return n;
}

static void wait_for_event(struct soak_thread *t)
{
	DAT_EVENT ev;

	switch (rl_random(&t->seed) % 3) {
	case 0:
		if (rd_next(t->rd.conn, 1, &ev))
			handle_conn_event(t, &ev);
		break;
	case 1:
		if (rd_next(t->rd.recv, 1, &ev))
			soak_ep_completed(t, &ev.event_data.dto_completion_event_data);
		break;
	default:
		if (rd_next(t->rd.req, 1, &ev))
			soak_ep_completed(t, &ev.event_data.dto_completion_event_data);
		break;
	}
}

/* False: the EP is done. */
static bool step_ep(struct soak_thread *t, struct soak_ep *e)
{
	switch (e->phase) {
	case SP_IDLE:
		if (!t->active) {
			if (t->waiting[e->index]) {
				DAT_CR_HANDLE cr = t->waiting[e->index];

				t->waiting[e->index] = DAT_HANDLE_NULL;
				answer(t, e, cr);
			}
			return !soak_shared->finished[t->number];
		}
		if (soak_shared->stop)
			return false;
		start_connecting(t, e);
		return true;
	case SP_UP:
		if (t->active && soak_shared->stop)
			e->budget = 0;
		soak_ep_act(t, e);
		return true;
	case SP_ENDING:
		if (e->ended)
			soak_ep_recycle(t, e);
		return true;
	default:
		return true;
	}
}

static void open_thread(struct soak_thread *t)
{
	struct rd *rd = &t->rd;
	void *p = calloc(1, MEMORY);

	RL_CHECK(p, "no memory");
	*rd = common;
	RD_OK(dat_pz_create(rd->ia, &rd->pz));
	RD_OK(dat_evd_create(rd->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &rd->cr));
	RD_OK(dat_evd_create(rd->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &rd->conn));
	RD_OK(dat_evd_create(rd->ia, 512, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rd->recv));
	RD_OK(dat_evd_create(rd->ia, 512, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rd->req));
	rd_reg(rd, &t->mem, p, MEMORY);
	for (int i = 0; i < SOAK_EPS; i++)
		soak_ep_init(t, i);
	if (!t->active) {
		DAT_CONN_QUAL qual;

		RD_OK(dat_psp_create_any(rd->ia, &qual, rd->cr, DAT_PSP_CONSUMER_FLAG, &rd->psp));
		soak_shared->qual[t->number] = qual;
	}
}

static void close_thread(struct soak_thread *t)
{
	struct rd *rd = &t->rd;

	for (int i = 0; i < SOAK_EPS; i++)
		RD_OK(dat_ep_free(t->ep[i].ep));
	if (rd->psp)
		RD_OK(dat_psp_free(rd->psp));
	rd_unreg(&t->mem);
	RD_OK(dat_evd_free(rd->cr));
	RD_OK(dat_evd_free(rd->conn));
	RD_OK(dat_evd_free(rd->recv));
	RD_OK(dat_evd_free(rd->req));
	RD_OK(dat_pz_free(rd->pz));
	free(t->mem.p);
}

static void *run_thread(void *arg)
{
	struct soak_thread *t = arg;
	bool busy = true;

	while (busy) {
		busy = false;
		if (!handle_events(t))
			wait_for_event(t);
		for (int i = 0; i < SOAK_EPS; i++)
			busy |= step_ep(t, &t->ep[i]);
	}
	if (t->active)
		soak_shared->finished[t->number] = 1;
	return NULL;
}

static void play(bool active)
{
	static struct soak_thread t[8];
	uint64_t sum[6] = { 0 };
	pthread_t id[8];
	int fds;

	rd_warm_up();
	fds = rl_fds(0);
	rd_open(&common, 0, 8);
	if (!active)
		memcpy(rl_board->addr, &common.addr, sizeof(rl_board->addr));
	for (long i = 0; i < threads; i++) {
		t[i].number = (int)i;
		t[i].active = active;
		t[i].seed = (uint64_t)(first_seed * 1000 + i * 2 + active);
		open_thread(&t[i]);
	}
	rl_step(active, 1);
	rl_await(!active, 1, 20000);
	rl_activity("soaking");
	for (long i = 0; i < threads; i++)
		RL_CHECK(!pthread_create(&id[i], NULL, run_thread, &t[i]), "no thread");
	if (active) {
		rl_sleep_ms((unsigned int)seconds * 1000);
		soak_shared->stop = 1;
		rl_activity("ending");
	}
	for (long i = 0; i < threads; i++) {
		pthread_join(id[i], NULL);
		sum[0] += t[i].connections;
		sum[1] += t[i].rejected;
		sum[2] += t[i].messages;
		sum[3] += t[i].bytes;
		sum[4] += t[i].rdmas;
		sum[5] += t[i].flushed;
	}
	rl_activity("closing");
	for (long i = 0; i < threads; i++)
		close_thread(&t[i]);
	rd_close(&common);
	RL_CHECK(rl_fds(0) == fds, "%d descriptors, %d before it", rl_fds(0), fds);
	RL_CHECK(sum[0] && sum[2] && (sum[4] || !soak_rdma) && sum[5], "the test did nothing");
	rl_note("%s: %llu connections, %llu rejected, %llu messages (%llu MiB), %llu RDMA "
		"operations, %llu flushed",
		active ? "active" : "passive", (unsigned long long)sum[0],
		(unsigned long long)sum[1], (unsigned long long)sum[2],
		(unsigned long long)sum[3] >> 20, (unsigned long long)sum[4],
		(unsigned long long)sum[5]);
}

static void active(void *arg)
{
	(void)arg;
	play(true);
}

static void passive(void *arg)
{
	(void)arg;
	play(false);
}

static void run(void)
{
	long rdma = 1;
	char name[64];

	setenv("DAPL_OFI_LOG", "0", 0);
	rl_option("seconds", &seconds);
	rl_option("threads", &threads);
	rl_option("seed", &first_seed);
	rl_option("rdma", &rdma);
	soak_rdma = rdma;
	if (threads < 1 || threads > 8)
		threads = 4;
	seconds *= (long)rl_long();
	snprintf(name, sizeof(name), "%ld-threads-%d-endpoints", threads, SOAK_EPS);
	if (!rl_begin(name, (unsigned int)(seconds + 30) * 1000))
		return;
	soak_shared = rl_shared(sizeof(*soak_shared));
	rl_start("passive", passive, NULL);
	rl_start("active", active, NULL);
	rl_end();
	rl_unshare(soak_shared, sizeof(*soak_shared));
}

int main(int argc, char **argv)
{
	long requested = seconds;

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "seconds=", 8))
			requested = atol(argv[i] + 8);
	return rl_main(argc, argv, (unsigned int)requested + 60, run);
}
