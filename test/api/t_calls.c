/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests calls at random, by several threads on the same objects, which others free meanwhile.
 *
 * Most arguments are valid, so that connections are established and data is transferred. The other
 * threads decide which result is right, so it is not compared: each must be one that the
 * specification has, each call must end, and the adapter must close afterwards. The sanitizers
 * judge the rest.
 */
#include "calls_rig.h"

#define CALLERS 4
#define CALLS 12000

/* Requests, established connections and completions without which nothing was tested. */
#define LEAST 5

/* ---- adapters, zones, memory ---- */

static void open_or_close(struct caller *c)
{
	DAT_EVD_HANDLE async = one_in(c, 6) ? some(c, EVD) : DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	bool known;

	if (!one_in(c, 8))
		return;
	if (has_room(c, IA)) {
		if (!DONE(dat_ia_open((char *)(uintptr_t)ia_name(), 8, &async, &ia)))
			return;
		keep(c, IA, ia);
		keep(c, EVD, async);
	} else {
		ia = some(c, IA);
		if (ia == c->all->ia)
			return;
		/* Afterwards it may be the number of an adapter that another thread has opened. */
		known = forget(c, IA, ia);
		if (!DONE(dat_ia_close(ia, one_in(c, 4) ? DAT_CLOSE_GRACEFUL_FLAG
							: DAT_CLOSE_ABRUPT_FLAG)) &&
		    known)
			keep(c, IA, ia);
	}
}

static void zones(struct caller *c)
{
	DAT_PZ_HANDLE pz;

	if (one_in(c, 4))
		FREE(PZ, dat_pz_free);
	else if (has_room(c, PZ) && DONE(dat_pz_create(some_ia(c), &pz)))
		keep(c, PZ, pz);
}

static void create_lmr(struct caller *c)
{
	static const int rights[] = { 0x33, 0x33, 0x33, 0x33, 0x11, 0x01, 0x13, 0x31, 0 };
	size_t len = 1 + below(c, below(c, one_in(c, 2) ? 200000 : 4096));
	char *mem = c->all->arena + below(c, (unsigned int)(ARENA - len));
	int priv = rights[below(c, sizeof(rights) / sizeof(rights[0]))];
	DAT_REGION_DESCRIPTION region = { .for_va = mem };
	DAT_LMR_CONTEXT lmr_ctx = 0;
	DAT_RMR_CONTEXT rmr_ctx = 0;
	DAT_LMR_HANDLE lmr;
	unsigned int slot;
	DAT_VADDR at;
	DAT_VLEN size;

	if (!has_room(c, LMR) ||
	    !DONE(api_lmr_create(some_ia(c), DAT_MEM_TYPE_VIRTUAL, region, len, some(c, PZ),
				 (DAT_MEM_PRIV_FLAGS)priv, &lmr, &lmr_ctx, &rmr_ctx, &size, &at)))
		return;
	slot = keep(c, LMR, lmr);
	if (slot == SLOTS) {
		DONE(dat_lmr_free(lmr));
		return;
	}
	c->all->mem[slot] = mem;
	c->all->len[slot] = len;
	c->all->lmr_ctx[slot] = lmr_ctx;
	c->all->rmr_ctx[slot] = rmr_ctx;
}

static void memory(struct caller *c)
{
	DAT_LMR_TRIPLET iov[SEGMENTS];
	DAT_LMR_PARAM param;
	DAT_COUNT n;

	switch (below(c, 6)) {
	case 0:
		FREE(LMR, dat_lmr_free);
		break;
	case 1:
		DONE(dat_lmr_query(some(c, LMR), DAT_LMR_FIELD_ALL, &param));
		break;
	case 2:
		n = some_segments(c, iov);
		if (n >= 0)
			DONE(dat_lmr_sync_rdma_read(some_ia(c), iov, (DAT_VLEN)n));
		break;
	default:
		create_lmr(c);
	}
}

static void windows(struct caller *c)
{
	unsigned int slot = some_slot(c, LMR);
	DAT_RMR_CONTEXT key = 0;
	DAT_LMR_TRIPLET part;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	switch (below(c, 5)) {
	case 0:
		FREE(RMR, dat_rmr_free);
		break;
	case 1:
		if (has_room(c, RMR) && DONE(dat_rmr_create(some(c, PZ), &rmr)))
			keep(c, RMR, rmr);
		break;
	case 2:
		DONE(dat_rmr_query(some(c, RMR), DAT_RMR_FIELD_RMR_CONTEXT, &param));
		break;
	default:
		memset(&part, 0, sizeof(part));
		part.lmr_context = c->all->lmr_ctx[slot];
		part.virtual_address = (DAT_VADDR)(uintptr_t)c->all->mem[slot];
		part.segment_length = (seg_len_t)below(c, 1 + (unsigned int)c->all->len[slot]);
#if DAT_TEST_API == 12
		if (DONE(dat_rmr_bind(some(c, RMR), &part, PRIV_ALL, some(c, EP), ck(1),
				      some_flags(c), &key)))
#else
		if (DONE(dat_rmr_bind(some(c, RMR), c->all->object[LMR][slot], &part, PRIV_ALL,
				      DAT_VA_TYPE_VA, some(c, EP), ck(1), some_flags(c), &key)))
#endif
			c->all->bound[below(c, SLOTS)] = key;
	}
}

/* ---- events ---- */

static void create_evd(struct caller *c)
{
	static const int streams[] = {
		0x20, 0x30, 0x40, 0x10, 0x01, 0xf0, 0x60, 0xa0, 0x80, 0x400
	};
	int flags = DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG;
	DAT_EVD_HANDLE evd;

	if (one_in(c, 4))
		flags = streams[below(c, sizeof(streams) / sizeof(streams[0]))];
	if (DAT_TEST_API == 20 && one_in(c, 2))
		flags |= 0x200; /* of the extension */
	if (has_room(c, EVD) && DONE(dat_evd_create(some_ia(c), some_count(c, 64),
						    one_in(c, 2) ? DAT_HANDLE_NULL : some(c, CNO),
						    (DAT_EVD_FLAGS)flags, &evd)))
		keep(c, EVD, evd);
}

static void change_evd(struct caller *c)
{
	DAT_EVD_PARAM param;

	switch (below(c, 8)) {
	case 0:
		DONE(dat_evd_resize(some(c, EVD), some_count(c, 200)));
		break;
	case 1:
		DONE(dat_evd_set_unwaitable(some(c, EVD)));
		break;
	case 2:
		DONE(dat_evd_clear_unwaitable(some(c, EVD)));
		break;
	case 3:
		DONE(dat_evd_disable(some(c, EVD)));
		break;
	case 4:
		DONE(dat_evd_enable(some(c, EVD)));
		break;
	case 5:
		DONE(dat_evd_modify_cno(some(c, EVD), some_or_null(c, CNO)));
		break;
	case 6:
		if (one_in(c, 4))
			FREE(EVD, dat_evd_free);
		break;
	default:
		DONE(dat_evd_query(some(c, EVD), DAT_EVD_FIELD_ALL, &param));
	}
}

static void take(struct caller *c, const DAT_EVENT *ev)
{
	switch (ev->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		c->all->requests++;
		keep(c, CR, cr_of(ev));
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		c->all->established++;
		break;
	case DAT_DTO_COMPLETION_EVENT:
		c->all->completions++;
		break;
	default:
#if DAT_TEST_API == 20
		take_extended(c, ev);
#endif
		break;
	}
}

static void events(struct caller *c)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_COUNT more;

	if (one_in(c, 12)) {
		DONE(dat_evd_post_se(some(c, EVD), &ev));
	} else if (one_in(c, 3)) {
		if (DONE(dat_evd_wait(some(c, EVD), one_in(c, 3) ? 0 : below(c, 2000),
				      some_count(c, 3), &ev, &more)))
			take(c, &ev);
	} else {
		for (int i = 0; i < 8; i++)
			if (DONE(dat_evd_dequeue(some(c, EVD), &ev)))
				take(c, &ev);
	}
}

static void agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	(void)instance;
	(void)evd;
}

static DAT_OS_WAIT_PROXY_AGENT some_agent(struct caller *c)
{
	DAT_OS_WAIT_PROXY_AGENT call = { NULL, one_in(c, 2) ? agent : NULL };

	return call;
}

static void notification(struct caller *c)
{
	DAT_EVD_HANDLE evd;
	DAT_CNO_PARAM param;
	DAT_CNO_HANDLE cno;

	switch (below(c, 8)) {
	case 0:
		if (has_room(c, CNO) && DONE(dat_cno_create(some_ia(c), some_agent(c), &cno)))
			keep(c, CNO, cno);
		break;
	case 1:
		FREE(CNO, dat_cno_free);
		break;
	case 2:
		DONE(dat_cno_query(some(c, CNO), DAT_CNO_FIELD_ALL, &param));
		break;
	case 3:
		DONE(dat_cno_modify_agent(some(c, CNO), some_agent(c)));
		break;
#if DAT_TEST_API == 20
	case 4:
		DONE(dat_cno_trigger(some(c, CNO), &evd));
		break;
#endif
	default:
		DONE(dat_cno_wait(some(c, CNO), below(c, 1500), &evd));
	}
}

/* ---- endpoints and connections ---- */

static void create_ep(struct caller *c)
{
	DAT_EP_ATTR attr = some_attr(c);
	DAT_EP_HANDLE ep;

	if (!has_room(c, EP))
		return;
	if (one_in(c, 4)) {
		if (!DONE(dat_ep_create_with_srq(some_ia(c), some(c, PZ), some(c, EVD),
						 some(c, EVD), some(c, EVD), some(c, SRQ), &attr,
						 &ep)))
			return;
	} else if (!DONE(dat_ep_create(some_ia(c), some(c, PZ), some_or_null(c, EVD),
				       some_or_null(c, EVD), some_or_null(c, EVD),
				       one_in(c, 3) ? NULL : &attr, &ep))) {
		return;
	}
	keep(c, EP, ep);
}

static void change_ep(struct caller *c)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_COUNT buffers, span;
	DAT_EP_PARAM param;
	DAT_EP_STATE state;

	switch (below(c, 8)) {
	case 0:
		DONE(dat_ep_query(some(c, EP), DAT_EP_FIELD_ALL, &param));
		break;
	case 1:
		memset(&param, 0, sizeof(param));
		param.pz_handle = some(c, PZ);
		param.recv_evd_handle = some(c, EVD);
		param.request_evd_handle = some(c, EVD);
		param.connect_evd_handle = some(c, EVD);
		param.ep_attr = some_attr(c);
		DONE(dat_ep_modify(some(c, EP), (DAT_EP_PARAM_MASK)(1u << below(c, 31)), &param));
		break;
	case 2:
		DONE(dat_ep_get_status(some(c, EP), &state, &recv_idle, &request_idle));
		break;
	case 3:
		DONE(dat_ep_reset(some(c, EP)));
		break;
	case 4:
		DONE(dat_ep_recv_query(some(c, EP), &buffers, &span));
		break;
	case 5:
		DONE(dat_ep_set_watermark(some(c, EP), some_count(c, 8), some_count(c, 8)));
		break;
	case 6:
		DONE(dat_ep_disconnect(some(c, EP), one_in(c, 2) ? DAT_CLOSE_ABRUPT_FLAG
								 : DAT_CLOSE_GRACEFUL_FLAG));
		break;
	default:
		if (one_in(c, 4))
			FREE(EP, dat_ep_free);
	}
}

static void listening(struct caller *c)
{
	DAT_CONN_QUAL qual = 20000 + below(c, 200);
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_HANDLE sp;

	switch (below(c, 8)) {
	case 0:
	case 1:
		if (has_room(c, PSP) &&
		    DONE(dat_psp_create_any(
			    some_ia(c), &qual, some(c, EVD),
			    one_in(c, 4) ? DAT_PSP_PROVIDER_FLAG : DAT_PSP_CONSUMER_FLAG, &sp))) {
			keep(c, PSP, sp);
			c->all->qual[below(c, 4)] = qual;
		}
		break;
	case 2:
		if (has_room(c, RSP) &&
		    DONE(dat_rsp_create(some_ia(c), qual, some(c, EP), some(c, EVD), &sp))) {
			keep(c, RSP, sp);
			c->all->qual[below(c, 4)] = qual;
		}
		break;
	case 3:
		if (one_in(c, 3))
			FREE(PSP, dat_psp_free);
		break;
	case 4:
		FREE(RSP, dat_rsp_free);
		break;
	case 5:
		DONE(dat_rsp_query(some(c, RSP), DAT_RSP_FIELD_ALL, &rsp_param));
		break;
	default:
		DONE(dat_psp_query(some(c, PSP), DAT_PSP_FIELD_ALL, &psp_param));
	}
}

#if DAT_TEST_API == 20
static void common_points(struct caller *c)
{
	DAT_COMM comm = { .domain = AF_INET, .type = SOCK_STREAM };
	DAT_CSP_PARAM param;
	DAT_CSP_HANDLE csp;

	switch (below(c, 4)) {
	case 0:
		if (has_room(c, CSP) &&
		    DONE(dat_csp_create(some_ia(c), &comm, c->all->addr, some(c, EVD), &csp)))
			keep(c, CSP, csp);
		break;
	case 1:
		FREE(CSP, dat_csp_free);
		break;
	case 2:
		DONE(dat_csp_query(some(c, CSP), DAT_CSP_FIELD_ALL, &param));
		break;
	default:
		DONE(dat_ep_common_connect(some(c, EP), c->all->addr, below(c, 1000000), 0, NULL));
	}
}
#endif

static void connections(struct caller *c)
{
	static char priv[64];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	switch (below(c, 12)) {
	case 0:
		DONE(dat_cr_query(some(c, CR), DAT_CR_FIELD_ALL, &param));
		break;
	case 1:
		cr = some(c, CR);
		if (DONE(api_cr_reject(cr)))
			forget(c, CR, cr);
		break;
	case 2:
		cr = some(c, CR);
		if (DONE(dat_cr_handoff(cr, c->all->qual[below(c, 4)])))
			forget(c, CR, cr);
		break;
	case 3:
		DONE(dat_ep_dup_connect(some(c, EP), some(c, EP), DAT_TIMEOUT_INFINITE, 0, NULL,
					DAT_QOS_BEST_EFFORT));
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		cr = some(c, CR);
		if (DONE(dat_cr_accept(cr, one_in(c, 8) ? DAT_HANDLE_NULL : some(c, EP),
				       some_count(c, sizeof(priv)), priv)))
			forget(c, CR, cr);
		break;
	default:
		DONE(dat_ep_connect(some(c, EP), c->all->addr, c->all->qual[below(c, 4)],
				    one_in(c, 3) ? below(c, 100000) : DAT_TIMEOUT_INFINITE,
				    some_count(c, sizeof(priv)), priv, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG));
	}
}

/* ---- anything ---- */

static void any_object(struct caller *c)
{
	DAT_CONTEXT context = { .as_64 = below(c, 100) };
	enum kind kind = (enum kind)below(c, KINDS);
	DAT_HANDLE_TYPE type;

	DONE(dat_set_consumer_context(some(c, kind), context));
	DONE(dat_get_consumer_context(some(c, kind), &context));
	DONE(dat_get_handle_type(some(c, kind), &type));
}

static void (*const calls[])(struct caller *c) = {
	open_or_close, zones,           memory,
	memory,        windows,         create_evd,
	change_evd,    change_evd,      events,
	events,        events,          events,
	events,        notification,    notification,
	create_ep,     create_ep,       change_ep,
	change_ep,     change_ep,       listening,
	listening,     connections,     connections,
	connections,   connections,     call_receive_queue,
	call_post,     call_post,       call_post,
	any_object,
#if DAT_TEST_API == 20
	common_points, call_collective, call_datagram,
	call_datagram, call_counters,
#endif
};

static void call_at_random(void *arg)
{
	struct caller *c = arg;

	for (int i = 0; i < CALLS; i++)
		calls[below(c, sizeof(calls) / sizeof(calls[0]))](c);
}

/* ---- the case ---- */

static const struct row {
	const char *name;
	unsigned int seed, wild;
} rows[] = {
	{ "at_random", 1, 0 },
	{ "at_random_with_few_bad_arguments", 2, 10 },
	{ "at_random_with_many_bad_arguments", 3, 100 },
};

static void run_row(const void *arg)
{
	const struct row *row = arg;
	static struct shared all;
	struct dt_thread thread[CALLERS];
	struct caller caller[CALLERS];
	struct node n;

	setenv("DAPL_OFI_LOG", "0", 1);
	node_open(&n);
	all.ia = n.ia;
	all.addr = n.attr.ia_address_ptr;
	all.arena = aligned_alloc(4096, ARENA);
	ASSERT(all.arena != NULL);
	memset(all.arena, 1, ARENA);
#if DAT_TEST_API == 20
	calls_ext_open(&all);
#endif
	for (int i = 0; i < CALLERS; i++) {
		caller[i] = (struct caller){ .all = &all,
					     .seed = 100 * row->seed + (unsigned int)i,
					     .wild = row->wild };
		if (!i)
			keep(&caller[0], IA, n.ia);
		dt_thread_start(&thread[i], call_at_random, &caller[i]);
	}
	for (int i = 0; i < CALLERS; i++)
		dt_thread_join(&thread[i]);
	dt_note("%u requests, %u established, %u completions", all.requests, all.established,
		all.completions);
	if (DAT_TEST_API == 20)
		dt_note("%u groups, %u collectives, %u exchanges, %u datagrams", all.groups,
			all.collectives, all.exchanges, all.datagrams);
	ASSERT(all.requests >= LEAST && all.established >= LEAST && all.completions >= LEAST);
	if (DAT_TEST_API == 20)
		ASSERT(all.groups && all.collectives && all.exchanges);
	for (int i = 0; i < SLOTS; i++)
		if (all.object[IA][i] != n.ia)
			dat_ia_close(all.object[IA][i], DAT_CLOSE_ABRUPT_FLAG);
	node_abort(&n);
	free(all.arena);
}

TEST_ROWS(calls, rows, run_row)
