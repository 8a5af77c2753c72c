/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests several threads with several endpoints each that connect, transfer, disconnect and reset at
 * random.
 *
 * Options: seconds=N, threads=N, eps=N (endpoints of a thread), seed=N; traffic besides messages,
 * all of it unless one is 0:
 *   rdma     RDMA writes that are read back
 *   srq      endpoints with a shared receive queue, at one side or at both
 *   rmr      RMRs that are bound, used by the peer, and invalidated, unbound or bound again
 *   atomics  atomic operations
 *   immed    RDMA writes with immediate data
 * and the kinds of chaos (soak_chaos.c).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "soak.h"

struct soak_shared *soak_shared;

unsigned int soak_traffic;

long soak_eps = 8, soak_threads = 4;
unsigned int soak_kinds;
bool soak_unread;

static long seconds = 10, first_seed = 1;
static struct rd common; /* the IA of this process */

#define MEMORY ((size_t)soak_eps * (SOAK_EACH + (size_t)SOAK_SRQ_EACH * SOAK_MSG))

/* Generations */

/* For lack of resources, which is an outcome of the chaos only, the call is made again later. */
static void called(struct soak_ep *e, DAT_RETURN ret, const char *call)
{
	bool lacks = soak_lacks(ret);

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
		e->gen = e->rejected_gen = gen;
		e->my_end->mine = e->my_end->graceful = e->my_end->failed = false;
		e->my_end->sent = 0;
		e->my_end->gen = e->gen;
		t->count[SC_REJECTED]++;
		return;
	}
	soak_ep_begin(t, e, gen);
	e->accepted = cr;
	accept_request(e);
}

/*
 * The library repeats an attempt that the fabric has refused, for lack of resources here. Then the
 * accept of the first request has failed, or will, or its rejection has not been sent.
 */
static bool is_repeated(struct soak_ep *e, uint32_t gen)
{
	if (!(soak_kinds & (SOAK_FDS | SOAK_MEMORY)) || gen != e->gen)
		return false;
	if (e->phase == SP_IDLE && e->rejected_gen == gen)
		return e->their_end->gen < gen || e->their_end->failed;
	if (e->phase == SP_IDLE)
		return e->my_end->gen == gen && e->my_end->failed;
	e->repeated = true;
	return true;
}

/*
 * An attempt that has failed at the active side may have sent its request, which arrives when it
 * can, once: each attempt has a connection of the network, and one may overtake another.
 */
static bool is_late(struct soak_thread *t, const struct soak_ep *e, uint32_t gen)
{
	uint32_t behind = t->waiting_gen[e->index] - gen;
	uint64_t bit = behind < 64 ? 1ull << behind : 0;
	bool again = t->requested[e->index] & bit;

	if (!(soak_kinds & (SOAK_KILL | SOAK_FDS | SOAK_MEMORY)) ||
	    gen >= t->waiting_gen[e->index] || again ||
	    (gen > e->their_end->gen && gen / SOAK_GENERATIONS == soak_shared->process))
		return false;
	t->requested[e->index] |= bit;
	return true;
}

/* The newest request, which waits until its EP is idle. */
static void keep_request(struct soak_thread *t, int ep, DAT_CR_HANDLE cr, uint32_t gen)
{
	uint32_t ahead = gen - t->waiting_gen[ep];

	t->requested[ep] = (ahead < 64 ? t->requested[ep] << ahead : 0) | 1;
	t->waiting[ep] = cr;
	t->waiting_gen[ep] = gen;
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
	if (is_repeated(&t->ep[priv[0]], priv[1]) || is_late(t, &t->ep[priv[0]], priv[1])) {
		RD_OK(rd_reject(cr));
		return;
	}
	if (soak_kinds & (SOAK_KILL | SOAK_FDS | SOAK_MEMORY)) {
		/* Requests of attempts that have failed, or of a process that was killed. */
		RL_CHECK(priv[1] > t->ep[priv[0]].gen && priv[1] >= t->waiting_gen[priv[0]],
			 "a request for generation %u after %u, while %u waits, %u was rejected",
			 priv[1], t->ep[priv[0]].gen, t->waiting_gen[priv[0]],
			 t->ep[priv[0]].rejected_gen);
		if (t->waiting[priv[0]])
			RD_OK(rd_reject(t->waiting[priv[0]]));
	} else {
		RL_CHECK(!t->waiting[priv[0]] && priv[1] == t->ep[priv[0]].gen + 1,
			 "a request for generation %u after %u", priv[1], t->ep[priv[0]].gen);
	}
	keep_request(t, (int)priv[0], cr, priv[1]);
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
		t->count[SC_CONNECTIONS]++;
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		RL_CHECK(e->phase == SP_PENDING && t->active, "PEER_REJECTED in phase %d",
			 (int)e->phase);
		t->count[SC_REJECTED]++;
		e->rejected = true;
		soak_ep_over(t, e, false);
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
		soak_ep_over(t, e, ev->event_number == DAT_CONNECTION_EVENT_BROKEN);
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

	t->round++;
	soak_srq_fill(t);
	for (; !t->active && rd_poll(t->rd.cr, &ev); n++)
		handle_request(t, &ev);
	for (; rd_poll(t->rd.recv, &ev); n++)
		soak_ep_completed(t, &ev);
	for (; rd_poll(t->rd.req, &ev); n++)
		soak_ep_completed(t, &ev);
	for (; rd_poll(t->rd.conn, &ev); n++)
		handle_conn_event(t, &ev);
	return n;
}

/* Without descriptors or memory it may be impossible to block. */
static bool wait_on(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	if (!(soak_kinds & (SOAK_FDS | SOAK_MEMORY)))
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
			soak_ep_completed(t, &ev);
		break;
	default:
		if (wait_on(t->rd.req, &ev))
			soak_ep_completed(t, &ev);
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
		soak_ep_begin(t, e, e->gen + 1);
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

/* Peers may change them by atomic operations. */
static void reg_words(struct soak_thread *t)
{
	struct rd_mem *words = &t->words;
	DAT_REGION_DESCRIPTION region;

	words->len = SOAK_WORDS * sizeof(uint64_t);
	words->p = region.for_va = calloc(1, words->len);
	RL_CHECK(words->p, "no memory");
	RD_OK(dat_lmr_create(t->rd.ia, DAT_MEM_TYPE_VIRTUAL, region, words->len, t->rd.pz,
			     (DAT_MEM_PRIV_FLAGS)((int)DAT_MEM_PRIV_ALL_FLAG |
						  DAT_IB_MEM_PRIV_REMOTE_ATOMIC),
			     DAT_VA_TYPE_VA, &words->lmr, &words->lctx, &words->rctx, NULL, NULL));
}

static void open_thread(struct soak_thread *t)
{
	struct rd *rd = &t->rd;
	void *p = calloc(1, MEMORY);
	DAT_SRQ_ATTR srq = { .max_recv_dtos = (DAT_COUNT)soak_eps * SOAK_SRQ_EACH,
			     .max_recv_iov = 1,
			     .low_watermark = DAT_SRQ_LW_DEFAULT };

	RL_CHECK(p, "no memory");
	*rd = common;
	RD_OK(dat_pz_create(rd->ia, &rd->pz));
	RD_OK(dat_evd_create(rd->ia, 256, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &rd->cr));
	RD_OK(dat_evd_create(rd->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &rd->conn));
	RD_OK(dat_evd_create(rd->ia, 512, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &rd->recv));
	RD_OK(dat_evd_create(rd->ia, 512, DAT_HANDLE_NULL,
			     (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG), &rd->req));
	rd_reg(rd, &t->mem, p, MEMORY);
	if (soak_traffic & ST_ATOMICS)
		reg_words(t);
	if (soak_traffic & ST_SRQ)
		RD_OK(dat_srq_create(rd->ia, rd->pz, &srq, &t->srq));
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

	soak_thread_check(t);
	for (int i = 0; i < soak_eps; i++) {
		if (t->ep[i].window.rmr)
			RD_OK(dat_rmr_free(t->ep[i].window.rmr));
		RD_OK(dat_ep_free(t->ep[i].ep));
	}
	if (rd->psp)
		RD_OK(dat_psp_free(rd->psp));
	if (t->srq)
		RD_OK(dat_srq_free(t->srq));
	rd_unreg(&t->mem);
	if (t->words.p)
		rd_unreg(&t->words);
	free(t->words.p);
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

static void report(bool active, const struct soak_thread *t)
{
	static const struct {
		const char *name;
		unsigned int traffic; /* that counts it */
	} counts[SC_COUNTS] = {
		[SC_CONNECTIONS] = { "connections", 0 },
		[SC_REJECTED] = { "rejected", 0 },
		[SC_MESSAGES] = { "messages", 0 },
		[SC_BYTES] = { "bytes in them", 0 },
		[SC_RDMAS] = { "RDMA operations", ST_RDMA },
		[SC_IMMEDS] = { "with immediate data", ST_IMMED },
		[SC_ATOMICS] = { "atomic", ST_ATOMICS },
		[SC_WINDOWS] = { "windows", ST_RMR },
		[SC_INVALIDATED] = { "of them invalidated", ST_RMR },
		[SC_FROM_SRQ] = { "received by an SRQ", ST_SRQ },
		[SC_FLUSHED] = { "flushed", 0 },
		[SC_FAILED] = { "failed attempts", 0 },
		[SC_LOST] = { "connections lost", 0 },
	};
	char line[600] = "";
	uint64_t connections = 0;
	size_t len = 0;

	for (int i = 0; i < SC_COUNTS; i++) {
		uint64_t sum = 0;

		for (long j = 0; j < soak_threads; j++)
			sum += t[j].count[i];
		if (counts[i].traffic && !(soak_traffic & counts[i].traffic))
			continue;
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%llu %s",
					len ? ", " : "", (unsigned long long)sum, counts[i].name);
		if (i == SC_CONNECTIONS)
			connections = sum;
		/* On a slow machine, or after the last death, there are few connections. */
		RL_CHECK(sum || (soak_kinds && active) || (i > SC_MESSAGES && connections < 200) ||
				 i == SC_REJECTED || i == SC_FAILED || i == SC_LOST ||
				 (i == SC_FROM_SRQ && soak_eps < 4),
			 "the test has no %s", counts[i].name);
	}
	rl_note("%s: %s", active ? "active" : "passive", line);
}

static void play(bool active)
{
	static struct soak_thread t[SOAK_THREADS];
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
	soak_shim_begin(active);
	soak_shared->ready[active] = getpid();
	rl_activity("soaking");
	for (long i = 0; i < soak_threads; i++)
		RL_CHECK(!pthread_create(&id[i], NULL, run_thread, &t[i]), "no thread");
	if (active && !soak_kinds) {
		rl_sleep_ms((unsigned int)seconds * 1000);
		soak_shared->stop = 1;
		rl_activity("ending");
	}
	for (long i = 0; i < soak_threads; i++)
		pthread_join(id[i], NULL);
	soak_shim_end();
	rl_activity("closing");
	for (long i = 0; i < soak_threads; i++)
		close_thread(&t[i]);
	rd_close(&common);
	RL_CHECK(rl_fds(0) == fds, "%d descriptors, %d before it", rl_fds(0), fds);
	report(active, t);
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

static void select_traffic(void)
{
	static const char *const names[] = { "rdma", "srq", "rmr", "atomics", "immed" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		long on = i != 3 || test_fabric_has(test_fabric(), "atomics");

		rl_option(names[i], &on);
		soak_traffic |= on ? 1u << i : 0;
	}
}

static void run(void)
{
	char name[64];

	setenv("DAPL_OFI_LOG", "0", 0);
	rl_option("seconds", &seconds);
	rl_option("threads", &soak_threads);
	rl_option("eps", &soak_eps);
	rl_option("seed", &first_seed);
	select_traffic();
	soak_unread = test_fabric_has(test_fabric(), "unread");
	if (soak_threads < 1 || soak_threads > SOAK_THREADS)
		soak_threads = 4;
	if (soak_eps < 1 || soak_eps > SOAK_EPS)
		soak_eps = 8;
	seconds *= (long)rl_long();
	soak_kinds = soak_chaos_options();
	snprintf(name, sizeof(name), "%ld-threads-%ld-endpoints%s", soak_threads, soak_eps,
		 soak_kinds ? "-chaos" : "");
	if (!rl_begin(name, (unsigned int)(seconds + (soak_kinds ? 180 : 60)) * 1000))
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
	return rl_main(argc, argv, (unsigned int)requested + 240, run);
}
