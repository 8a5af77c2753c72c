/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests several threads with several endpoints each that connect, transfer, disconnect and reset at
 * random.
 *
 * Options: seconds=N, threads=N, eps=N (endpoints of a thread), seed=N, rdma=0 (messages only), and
 * those of soak_chaos.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soak.h"

struct soak_shared *soak_shared;

bool soak_rdma = true;

long soak_eps = 8, soak_threads = 4;
unsigned int soak_kinds;

static long seconds = 10, first_seed = 1;
static struct rd common; /* the IA of this process */

#define MEMORY ((size_t)soak_eps * ((size_t)SOAK_OPS * SOAK_MSG + 3 * SOAK_AREA))

/* Generations */

static void begin_generation(struct soak_thread *t, struct soak_ep *e, uint32_t gen)
{
	e->gen = gen;
	e->budget = 1 + (int)(rl_random(&t->seed) % 60);
	soak_ep_fill(t, e);
}

/* For lack of resources, which is an outcome of the chaos only, the call is made again later. */
static void called(struct soak_ep *e, DAT_RETURN ret, const char *call)
{
	bool lacks = (soak_kinds & SOAK_FDS) && DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES;

	RL_CHECK(ret == DAT_SUCCESS || lacks, "%s returned %s", call, rd_text(ret));
	e->phase = lacks ? SP_RETRY : SP_PENDING;
}

static void start_connecting(struct soak_thread *t, struct soak_ep *e)
{
	uint32_t priv[2];
	struct sockaddr_storage addr;

	priv[0] = (uint32_t)e->index;
	priv[1] = e->gen;
	memcpy(&addr, rl_board->addr, sizeof(rl_board->addr));
	called(e,
	       dat_ep_connect(e->ep, (DAT_IA_ADDRESS_PTR)&addr, soak_shared->qual[t->number],
			      soak_bound(10000) * 1000, sizeof(priv), priv, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG),
	       "dat_ep_connect");
}

static void accept_request(struct soak_ep *e)
{
	called(e, dat_cr_accept(e->accepted, e->ep, 0, NULL), "dat_cr_accept");
}

static void answer(struct soak_thread *t, struct soak_ep *e, DAT_CR_HANDLE cr, uint32_t gen)
{
	if (rl_random(&t->seed) % 20 == 0) {
		/* The generation ends at once: nothing was sent in it. */
		RD_OK(rd_reject(cr));
		e->gen = gen;
		e->my_end->mine = e->my_end->graceful = e->my_end->failed = false;
		e->my_end->sent = 0;
		e->my_end->gen = e->gen;
		t->rejected++;
		return;
	}
	begin_generation(t, e, gen);
	e->accepted = cr;
	accept_request(e);
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
	RL_CHECK(priv[0] < (uint32_t)soak_eps, "a request for EP %u", priv[0]);
	if (soak_kinds & (SOAK_KILL | SOAK_FDS)) {
		/* Requests of attempts that have failed, or of a process that was killed. */
		RL_CHECK(priv[1] > t->ep[priv[0]].gen && priv[1] > t->waiting_gen[priv[0]],
			 "a request for generation %u after %u", priv[1], t->ep[priv[0]].gen);
		if (t->waiting[priv[0]])
			RD_OK(rd_reject(t->waiting[priv[0]]));
	} else {
		RL_CHECK(!t->waiting[priv[0]] && priv[1] == t->ep[priv[0]].gen + 1,
			 "a request for generation %u after %u", priv[1], t->ep[priv[0]].gen);
	}
	t->waiting[priv[0]] = cr;
	t->waiting_gen[priv[0]] = priv[1];
}

static void handle_conn_event(struct soak_thread *t, const DAT_EVENT *ev)
{
	DAT_EP_HANDLE ep = ev->event_data.connect_event_data.ep_handle;
	struct soak_ep *e = NULL;

	for (int i = 0; i < soak_eps; i++)
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
		e->rejected = true;
		soak_ep_over(e, false);
		break;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		RL_CHECK(!t->active, "ACCEPT_COMPLETION_ERROR at the active side");
		soak_ep_failed(t, e, "ACCEPT_COMPLETION_ERROR");
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		RL_CHECK(t->active, "%s at the passive side", rd_event_text(ev->event_number));
		soak_ep_failed(t, e, rd_event_text(ev->event_number));
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

/* Without descriptors it may be impossible to block. */
static bool wait_on(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	if (!(soak_kinds & SOAK_FDS))
		return rd_next(evd, 1, ev);
	ret = dat_evd_wait(evd, 1000, 1, ev, &more);
	RL_CHECK(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED ||
			 DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL ||
			 DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES,
		 "dat_evd_wait returned %s", rd_text(ret));
	return ret == DAT_SUCCESS;
}

static void wait_for_event(struct soak_thread *t)
{
	DAT_EVENT ev;

	switch (rl_random(&t->seed) % 3) {
	case 0:
		if (wait_on(t->rd.conn, &ev))
			handle_conn_event(t, &ev);
		break;
	case 1:
		if (wait_on(t->rd.recv, &ev))
			soak_ep_completed(t, &ev.event_data.dto_completion_event_data);
		break;
	default:
		if (wait_on(t->rd.req, &ev))
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
				answer(t, e, cr, t->waiting_gen[e->index]);
			}
			return !soak_shared->finished[t->number];
		}
		if (soak_shared->stop)
			return false;
		begin_generation(t, e, e->gen + 1);
		start_connecting(t, e);
		return true;
	case SP_RETRY:
		if (t->active)
			start_connecting(t, e);
		else
			accept_request(e);
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
	RD_OK(dat_evd_create(rd->ia, 256, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &rd->cr));
	RD_OK(dat_evd_create(rd->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &rd->conn));
	RD_OK(dat_evd_create(rd->ia, 512, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rd->recv));
	RD_OK(dat_evd_create(rd->ia, 512, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rd->req));
	rd_reg(rd, &t->mem, p, MEMORY);
	for (int i = 0; i < soak_eps; i++)
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

	for (int i = 0; i < soak_eps; i++)
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
		for (int i = 0; i < soak_eps; i++)
			busy |= step_ep(t, &t->ep[i]);
	}
	if (t->active)
		soak_shared->finished[t->number] = 1;
	return NULL;
}

static void play(bool active)
{
	static struct soak_thread t[SOAK_THREADS];
	uint64_t sum[7] = { 0 };
	pthread_t id[SOAK_THREADS];
	int fds;

	soak_chaos_enter(active);
	rd_warm_up();
	fds = rl_fds(0);
	rd_open(&common, 0, 8);
	if (!active)
		memcpy(rl_board->addr, &common.addr, sizeof(rl_board->addr));
	for (long i = 0; i < soak_threads; i++) {
		t[i].number = (int)i;
		t[i].active = active;
		t[i].seed = (uint64_t)(first_seed * 1000 + i * 2 + active) +
			    ((uint64_t)soak_shared->process << 32);
		open_thread(&t[i]);
	}
	rl_step(active, 1);
	rl_await(!active, 1, 20000);
	soak_shared->ready[active] = getpid();
	rl_activity("soaking");
	for (long i = 0; i < soak_threads; i++)
		RL_CHECK(!pthread_create(&id[i], NULL, run_thread, &t[i]), "no thread");
	if (active && !soak_kinds) {
		rl_sleep_ms((unsigned int)seconds * 1000);
		soak_shared->stop = 1;
		rl_activity("ending");
	}
	for (long i = 0; i < soak_threads; i++) {
		pthread_join(id[i], NULL);
		sum[0] += t[i].connections;
		sum[1] += t[i].rejected;
		sum[2] += t[i].messages;
		sum[3] += t[i].bytes;
		sum[4] += t[i].rdmas;
		sum[5] += t[i].flushed;
		sum[6] += t[i].failed;
	}
	rl_activity("closing");
	for (long i = 0; i < soak_threads; i++)
		close_thread(&t[i]);
	rd_close(&common);
	RL_CHECK(rl_fds(0) == fds, "%d descriptors, %d before it", rl_fds(0), fds);
	rl_note("%s: %llu connections, %llu rejected, %llu messages (%llu MiB), %llu RDMA "
		"operations, %llu flushed, %llu failed attempts",
		active ? "active" : "passive", (unsigned long long)sum[0],
		(unsigned long long)sum[1], (unsigned long long)sum[2],
		(unsigned long long)sum[3] >> 20, (unsigned long long)sum[4],
		(unsigned long long)sum[5], (unsigned long long)sum[6]);
	/* The last active process may have been started a moment before the end. */
	RL_CHECK((soak_kinds && active) || (sum[0] && sum[2] && (sum[4] || !soak_rdma) && sum[5]),
		 "the test did nothing");
}

static void active(void *arg)
{
	(void)arg;
	play(true);
}

static void chaos(void *arg)
{
	(void)arg;
	soak_chaos(active, (unsigned int)seconds, (uint64_t)first_seed);
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
	rl_option("threads", &soak_threads);
	rl_option("eps", &soak_eps);
	rl_option("seed", &first_seed);
	rl_option("rdma", &rdma);
	soak_rdma = rdma;
	if (soak_threads < 1 || soak_threads > SOAK_THREADS)
		soak_threads = 4;
	if (soak_eps < 1 || soak_eps > SOAK_EPS)
		soak_eps = 8;
	seconds *= (long)rl_long();
	soak_kinds = soak_chaos_options();
	snprintf(name, sizeof(name), "%ld-threads-%ld-endpoints%s", soak_threads, soak_eps,
		 soak_kinds ? "-chaos" : "");
	if (!rl_begin(name, (unsigned int)(seconds + (soak_kinds ? 120 : 30)) * 1000))
		return;
	soak_shared = rl_shared(sizeof(*soak_shared));
	soak_chaos_prepare();
	rl_start("passive", passive, NULL);
	if (soak_kinds)
		rl_start("chaos", chaos, NULL);
	else
		rl_start("active", active, NULL);
	if (!rl_end())
		rl_note("seed=%ld", first_seed);
	rl_unshare(soak_shared, sizeof(*soak_shared));
}

int main(int argc, char **argv)
{
	long requested = seconds;

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "seconds=", 8))
			requested = atol(argv[i] + 8);
	return rl_main(argc, argv, (unsigned int)requested + 180, run);
}
