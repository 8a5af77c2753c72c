/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing an IA: outputs, the asynchronous EVD, errors, what a close destroys. */
#include "rig.h"

#include <limits.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

static DAT_RETURN open_ia(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			  DAT_IA_HANDLE *ia)
{
	return dat_ia_open((char *)(uintptr_t)name, qlen, async, ia);
}

TEST(ia, open_creates_the_asynchronous_evd)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NULL;
	DAT_EVD_PARAM param;

	OK(open_ia(ia_name(), 11, &async, &ia));
	ASSERT(ia != NULL);
	ASSERT(async != DAT_HANDLE_NULL);
	OK(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, ia);
	ASSERT(param.evd_qlen >= 11);
	ASSERT_EQ(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	ASSERT_PTR(param.cno_handle, NULL);
	ASSERT_EQ(param.evd_flags, DAT_EVD_ASYNC_FLAG);
	EV_EMPTY(async);
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/*
 * Threads that sleep on a lock, and connections through shared memory, use barriers for which the
 * kernel must know the process. With several threads that takes up to hundreds of milliseconds: too
 * long for a timed wait, or while connections are handled.
 */
TEST(ia, open_registers_the_process_for_barriers)
{
	enum { GET_REGISTRATIONS = 1 << 9 }; /* of Linux 6.3 */
	long got, want = 0;
	struct node n;

#ifndef __SANITIZE_THREAD__
	want |= MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
#endif
	if (strstr(fabric_params(), "shm"))
		want |= MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
	if (syscall(SYS_membarrier, GET_REGISTRATIONS, 0, 0) < 0)
		dt_skip("the kernel does not report registrations");
	node_open(&n);
	got = syscall(SYS_membarrier, GET_REGISTRATIONS, 0, 0);
	ASSERT_EQ(got & want, want);
	node_close(&n);
}

TEST(ia, open_name_NULL_is_ARG1)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	BAD_ARG(open_ia(NULL, 8, &async, &ia), 1);
}

TEST(ia, open_name_of_256_characters_is_ARG1)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[DAT_NAME_MAX_LENGTH + 1];
	DAT_IA_HANDLE ia;

	memset(name, 'x', sizeof(name));
	name[DAT_NAME_MAX_LENGTH] = 0;
	BAD_ARG(open_ia(name, 8, &async, &ia), 1);
}

TEST(ia, open_name_of_255_characters_is_PROVIDER_NOT_FOUND)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[DAT_NAME_MAX_LENGTH];
	DAT_IA_HANDLE ia;

	memset(name, 'x', sizeof(name));
	name[DAT_NAME_MAX_LENGTH - 1] = 0;
	ASSERT_RET(open_ia(name, 8, &async, &ia), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

TEST(ia, open_unregistered_version_is_PROVIDER_NOT_FOUND)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	ASSERT_RET(dat_ia_openv((char *)(uintptr_t)ia_name(), 8, &async, &ia, DAT_VERSION_MAJOR,
				DAT_VERSION_MINOR + 1, DAT_TRUE),
		   DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

TEST(ia, open_pointer_NULL_is_INVALID_HANDLE_IA)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	BAD_HANDLE(open_ia(ia_name(), 8, &async, NULL), IA);
}

TEST(ia, open_async_evd_pointer_NULL_is_ARG3)
{
	DAT_IA_HANDLE ia;

	BAD_ARG(open_ia(ia_name(), 8, NULL, &ia), 3);
}

TEST(ia, open_async_qlen_not_positive_is_ARG2)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	BAD_ARG(open_ia(ia_name(), 0, &async, &ia), 2);
	async = DAT_HANDLE_NULL;
	BAD_ARG(open_ia(ia_name(), -1, &async, &ia), 2);
}

TEST(ia, open_of_an_entry_that_is_not_threadsafe)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_HANDLE ia;

	OK(dat_ia_openv((char *)(uintptr_t)ia_name(), 8, &async, &ia, DAT_VERSION_MAJOR,
			DAT_VERSION_MINOR, DAT_FALSE));
	OK(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &prov));
	/* The registry finds the entry by this value at the close. */
	ASSERT_EQ(prov.is_thread_safe, DAT_FALSE);
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST(ia, open_twice_gives_independent_instances)
{
	struct node a, b;

	node_open(&a);
	node_open(&b);
	ASSERT(a.ia != b.ia);
	ASSERT(a.async != b.async);
	node_close(&a);
	OK(dat_ia_query(b.ia, NULL, DAT_IA_FIELD_ALL, &b.attr, 0, NULL));
	node_close(&b);
}

TEST(ia, open_with_the_async_evd_of_an_earlier_open_shares_it)
{
	DAT_EVD_HANDLE shared, seen = NULL;
	DAT_EVD_PARAM param;
	DAT_IA_HANDLE second;
	struct node a;

	node_open(&a);
	shared = a.async;
	OK(open_ia(ia_name(), 8, &shared, &second));
	ASSERT_PTR(shared, a.async);
	OK(dat_ia_query(second, &seen, 0, NULL, 0, NULL));
	ASSERT_PTR(seen, a.async);
	/* It was passed in by the consumer and survives. */
	OK(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_evd_query(a.async, DAT_EVD_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, a.ia);
	node_close(&a);
}

TEST(ia, open_with_another_evd_is_INVALID_HANDLE_EVD_ASYNC)
{
	DAT_EVD_HANDLE evd, given;
	DAT_IA_HANDLE second;
	struct node a;

	node_open(&a);
	evd = evd_make(&a, 8, DAT_EVD_CONNECTION_FLAG);
	given = evd;
	BAD_HANDLE(open_ia(ia_name(), 8, &given, &second), EVD_ASYNC);
	OK(dat_evd_free(evd));
	given = evd;
	BAD_HANDLE(open_ia(ia_name(), 8, &given, &second), EVD_ASYNC);
	node_close(&a);
}

TEST(ia, open_with_EVD_ASYNC_EXISTS_is_answered_OUT_OF_SCOPE)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;

	OK(open_ia(ia_name(), 8, &async, &ia));
	ASSERT_PTR(async, DAT_EVD_OUT_OF_SCOPE);
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST(ia, open_ignores_async_qlen_when_the_evd_exists)
{
	static const DAT_COUNT lens[] = { 0, -5, INT_MIN, INT_MAX };
	DAT_EVD_HANDLE async, own;
	DAT_EVD_PARAM param;
	DAT_IA_HANDLE ia;
	unsigned int i;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		async = DAT_EVD_ASYNC_EXISTS;
		OK(open_ia(ia_name(), lens[i], &async, &ia));
		ASSERT_PTR(async, DAT_EVD_OUT_OF_SCOPE);
		/* What the provider uses instead is of a sensible length. */
		OK(dat_ia_query(ia, &own, 0, NULL, 0, NULL));
		OK(dat_evd_query(own, DAT_EVD_FIELD_ALL, &param));
		ASSERT(param.evd_qlen > 0 && param.evd_qlen <= 1024);
		OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
}

TEST(ia, open_async_qlen_above_the_maximum_is_RESOURCE_TEVD)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;
	DAT_IA_HANDLE ia;
	struct node n;

	node_open(&n);
	ASSERT_RET(open_ia(ia_name(), n.attr.max_evd_qlen + 1, &async, &ia),
		   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	ASSERT_RET(open_ia(ia_name(), INT_MAX, &async, &ia), DAT_INSUFFICIENT_RESOURCES,
		   DAT_RESOURCE_TEVD);
	OK(open_ia(ia_name(), n.attr.max_evd_qlen, &async, &ia));
	OK(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param));
	ASSERT(param.evd_qlen >= n.attr.max_evd_qlen);
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	node_close(&n);
}

TEST(ia, query_tells_the_async_evd)
{
	DAT_EVD_HANDLE seen = NULL;
	struct node n;

	node_open(&n);
	OK(dat_ia_query(n.ia, &seen, 0, NULL, 0, NULL));
	ASSERT_PTR(seen, n.async);
	node_close(&n);
}

TEST(ia, query_zero_masks_tolerate_NULL_pointers)
{
	struct node n;

	node_open(&n);
	OK(dat_ia_query(n.ia, NULL, 0, NULL, 0, NULL));
	node_close(&n);
}

TEST(ia, query_undefined_mask_bits_are_ARG3_and_ARG5)
{
	struct node n;

	node_open(&n);
	BAD_ARG(dat_ia_query(n.ia, NULL, DAT_IA_FIELD_ALL + 1, &n.attr, 0, NULL), 3);
	BAD_ARG(dat_ia_query(n.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &n.prov), 5);
	node_close(&n);
}

TEST(ia, query_attr_NULL_with_a_mask_is_ARG4_and_ARG6)
{
	struct node n;

	node_open(&n);
	BAD_ARG(dat_ia_query(n.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL), 4);
	BAD_ARG(dat_ia_query(n.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL), 6);
	node_close(&n);
}

TEST(ia, query_bad_handle_is_INVALID_HANDLE_IA)
{
	DAT_IA_ATTR attr;
	struct node n;

	BAD_HANDLE(dat_ia_query(NULL, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), IA);
	node_open(&n);
	BAD_HANDLE(dat_ia_query((DAT_IA_HANDLE)(uintptr_t)1000, NULL, DAT_IA_FIELD_ALL, &attr, 0,
				NULL),
		   IA);
	node_close(&n);
}

TEST(ia, close_bad_flag_is_ARG2_and_changes_nothing)
{
	struct node n;

	node_open(&n);
	BAD_ARG(dat_ia_close(n.ia, (DAT_CLOSE_FLAGS)4), 2);
	OK(dat_ia_query(n.ia, NULL, DAT_IA_FIELD_ALL, &n.attr, 0, NULL));
	node_close(&n);
}

TEST(ia, close_twice_is_INVALID_HANDLE_IA)
{
	DAT_IA_HANDLE ia;
	struct node n;

	node_open(&n);
	ia = n.ia;
	node_close(&n);
	BAD_HANDLE(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), IA);
	BAD_HANDLE(dat_ia_close(NULL, DAT_CLOSE_ABRUPT_FLAG), IA);
}

/* ---- a graceful close is refused while one object of a kind is left ---- */

static void close_refused(struct node *n)
{
	BAD_STATE(dat_ia_close(n->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	/* Nothing changed: the instance still works. */
	OK(dat_ia_query(n->ia, NULL, DAT_IA_FIELD_ALL, &n->attr, 0, NULL));
}

TEST(ia, close_graceful_with_a_pz_is_IA_IN_USE)
{
	struct node n;

	node_open(&n);
	close_refused(&n);
	node_close(&n);
}

TEST(ia, close_graceful_with_an_evd_is_IA_IN_USE)
{
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	OK(dat_pz_free(n.pz));
	n.pz = NULL;
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	close_refused(&n);
	OK(post_se(evd, 1));
	EV_SE(evd, 1);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(ia, close_graceful_with_a_cno_is_IA_IN_USE)
{
	DAT_CNO_HANDLE cno;
	struct node n;

	node_open(&n);
	OK(dat_pz_free(n.pz));
	n.pz = NULL;
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	close_refused(&n);
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(ia, close_graceful_with_a_psp_is_IA_IN_USE_and_it_still_listens)
{
	struct pair p;

	pair_open(&p);
	close_refused(&p.node);
	pair_connect(&p);
	close_refused(&p.node);
	pair_close(&p);
}

/* ---- an abrupt close takes everything ---- */

TEST(ia, close_abrupt_destroys_every_kind_of_object)
{
	DAT_CNO_HANDLE cno;
	DAT_PSP_PARAM psp;
	DAT_CNO_PARAM cp;
	DAT_LMR_PARAM lp;
	DAT_EVD_PARAM ep;
	DAT_PZ_PARAM pp;
	DAT_EP_PARAM q;
	struct pair p;

	pair_up(&p);
	OK(dat_cno_create(p.node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	OK(post_recv(&p.b, 0, 100, 1));
	node_abort(&p.node);
	BAD_HANDLE(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &q), EP);
	BAD_HANDLE(dat_pz_query(p.node.pz, DAT_PZ_FIELD_ALL, &pp), PZ);
	BAD_HANDLE(dat_lmr_query(p.a.buf.lmr, DAT_LMR_FIELD_ALL, &lp), LMR);
	BAD_HANDLE(dat_psp_query(p.psp, DAT_PSP_FIELD_ALL, &psp), PSP);
	BAD_HANDLE(dat_cno_query(cno, DAT_CNO_FIELD_IA_HANDLE, &cp), CNO);
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_query(p.a.conn, DAT_EVD_FIELD_ALL, &ep)),
		  DAT_INVALID_HANDLE);
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_query(p.node.async, DAT_EVD_FIELD_ALL, &ep)),
		  DAT_INVALID_HANDLE);
}

TEST(ia, close_abrupt_while_connecting)
{
	struct pair p;

	pair_open(&p);
	pair_request(&p);
	node_abort(&p.node);
}

TEST(ia, close_abrupt_with_a_reserved_endpoint)
{
	DAT_RSP_HANDLE rsp;
	struct pair p;

	pair_open(&p);
	OK(dat_rsp_create(p.node.ia, free_qual(&p.node, p.cr_evd), p.b.ep, p.cr_evd, &rsp));
	node_abort(&p.node);
}

TEST(ia, close_abrupt_with_transfers_outstanding)
{
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 8; i++)
		OK(post_send(&p.a, 0, SIDE_BUF, 1));
	for (i = 0; i < 8; i++)
		OK(post_read(&p.b, 0, SIDE_BUF, 2, &p.a, 0));
	node_abort(&p.node);
}

static void wait_until_abort(void *arg)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	ASSERT_RET(dat_evd_wait(arg, DAT_TIMEOUT_INFINITE, 1, &ev, &more), DAT_ABORT, 0);
}

TEST(ia, close_abrupt_releases_an_evd_waiter_with_ABORT)
{
	struct dt_thread t;
	struct node n;
	DAT_EVD_HANDLE evd;

	node_open(&n);
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	dt_thread_start(&t, wait_until_abort, evd);
	dt_thread_wait_blocked(&t);
	node_abort(&n);
	dt_thread_join(&t);
}

TEST(ia, close_abrupt_releases_a_waiter_on_the_async_evd)
{
	struct dt_thread t;
	struct node n;

	node_open(&n);
	dt_thread_start(&t, wait_until_abort, n.async);
	dt_thread_wait_blocked(&t);
	node_abort(&n);
	dt_thread_join(&t);
}

TEST(ia, close_abrupt_succeeds_while_another_open_uses_the_async_evd)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EVD_HANDLE shared, seen, evd[40];
	DAT_IA_HANDLE third;
	DAT_SRQ_HANDLE srq;
	struct node a, b;
	int i;

	node_open(&a);
	memset(&b, 0, sizeof(b));
	shared = a.async;
	OK(open_ia(ia_name(), 8, &shared, &b.ia));
	OK(dat_pz_free(a.pz));
	BAD_STATE(dat_ia_close(a.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(dat_pz_create(a.ia, &a.pz));
	node_abort(&a);
	BAD_HANDLE(dat_evd_resize(shared, 16), EVD_REQUEST);
	seen = shared;
	OK(dat_ia_query(b.ia, &seen, 0, NULL, 0, NULL));
	ASSERT_PTR(seen, DAT_HANDLE_NULL);
	BAD_HANDLE(open_ia(ia_name(), 8, &shared, &third), EVD_ASYNC);
	/* An asynchronous event is dropped, and must not reach an EVD that reuses the slot. */
	for (i = 0; i < 40; i++)
		evd[i] = evd_make(&b, 8, DAT_EVD_SOFTWARE_FLAG);
	OK(dat_pz_create(b.ia, &b.pz));
	OK(dat_srq_create(b.ia, b.pz, &attr, &srq));
	OK(dat_srq_set_lw(srq, 1));
	for (i = 0; i < 40; i++) {
		EV_EMPTY(evd[i]);
		OK(dat_evd_free(evd[i]));
	}
	OK(dat_srq_free(srq));
	node_close(&b);
}

/* Raises events for an EVD that is being destroyed. */
static void raise_events(void *arg)
{
	DAT_SRQ_HANDLE srq = arg;

	for (int i = 0; i < 2000; i++)
		OK(dat_srq_set_lw(srq, 1));
}

TEST(ia, close_abrupt_while_another_open_reports_on_the_async_evd)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	struct dt_thread t;
	DAT_SRQ_HANDLE srq;
	struct node a, b;
	int i;

	for (i = 0; i < 5; i++) {
		node_open(&a);
		memset(&b, 0, sizeof(b));
		b.async = a.async;
		OK(open_ia(ia_name(), 8, &b.async, &b.ia));
		OK(dat_pz_create(b.ia, &b.pz));
		OK(dat_srq_create(b.ia, b.pz, &attr, &srq));
		dt_thread_start(&t, raise_events, srq);
		node_abort(&a);
		dt_thread_join(&t);
		OK(dat_srq_free(srq));
		node_close(&b);
	}
}

struct makers {
	struct node node;
	DAT_EVD_HANDLE dto, conn, cr;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

static void make_endpoints_until_closed(void *arg)
{
	struct makers *m = arg;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	do {
		ret = dat_ep_create(m->node.ia, m->node.pz, m->dto, m->dto, m->conn, NULL, &ep);
		if (ret == DAT_SUCCESS) {
			connect_to(ep, m->node.attr.ia_address_ptr, m->qual);
			ret = dat_ep_free(ep);
		}
	} while (ret == DAT_SUCCESS);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

static void make_evds_until_closed(void *arg)
{
	struct makers *m = arg;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	do {
		ret = dat_evd_create(m->node.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd);
		if (ret == DAT_SUCCESS)
			ret = dat_evd_free(evd);
	} while (ret == DAT_SUCCESS);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

static void make_service_points_until_closed(void *arg)
{
	struct makers *m = arg;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_RETURN ret;

	do {
		ret = dat_psp_create_any(m->node.ia, &qual, m->cr, DAT_PSP_CONSUMER_FLAG, &psp);
		if (ret == DAT_SUCCESS)
			ret = dat_psp_free(psp);
	} while (ret == DAT_SUCCESS);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

/* It waits for their calls: none leaves an object behind, or uses a fabric that is closed. */
TEST_LIMIT(ia, close_abrupt_while_others_create_and_free_objects, 60)
{
	struct dt_thread t[6];
	struct makers m;

	for (int round = 0; round < 40; round++) {
		node_open(&m.node);
		m.dto = evd_make(&m.node, 64, DAT_EVD_DTO_FLAG);
		m.conn = evd_make(&m.node, 64, DAT_EVD_CONNECTION_FLAG);
		m.cr = evd_make(&m.node, 64, DAT_EVD_CR_FLAG);
		OK(dat_psp_create_any(m.node.ia, &m.qual, m.cr, DAT_PSP_CONSUMER_FLAG, &m.psp));
		for (int i = 0; i < 6; i++)
			dt_thread_start(&t[i],
					i < 2   ? make_endpoints_until_closed
					: i < 4 ? make_evds_until_closed
						: make_service_points_until_closed,
					&m);
		dt_sleep_us(2000);
		OK(dat_ia_close(m.node.ia, DAT_CLOSE_ABRUPT_FLAG));
		for (int i = 0; i < 6; i++)
			dt_thread_join(&t[i]);
	}
}

struct closer {
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	_Atomic bool done;
};

static void close_by_agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct closer *c = instance;

	(void)evd;
	c->ret = dat_ia_close(c->ia, DAT_CLOSE_ABRUPT_FLAG);
	c->done = true;
}

static bool same_fds(const struct dt_fds *then)
{
	struct dt_fds now;

	dt_fds_get(&now);
	return !memcmp(&now, then, sizeof(now));
}

TEST(ia, close_abrupt_by_an_agent_of_its_own_succeeds)
{
	DAT_OS_WAIT_PROXY_AGENT agent;
	struct dt_thread t;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct dt_fds fds;
	struct closer c;
	struct pair p;
	int i;

	pair_up(&p);
	pair_close(&p);
	dt_fds_get(&fds);
	for (i = 0; i < 3; i++) {
		memset(&c, 0, sizeof(c));
		memset(&agent, 0, sizeof(agent));
		agent.instance_data = &c;
		agent.proxy_agent_func = close_by_agent;
		pair_up(&p);
		c.ia = p.node.ia;
		dt_thread_start(&t, wait_until_abort, p.node.async);
		dt_thread_wait_blocked(&t);
		OK(dat_cno_create(p.node.ia, agent, &cno));
		evd = evd_make_cno(&p.node, 8, DAT_EVD_SOFTWARE_FLAG, cno);
		OK(post_se(evd, 1));
		DT_UNTIL(c.done, US_EVENT);
		OK(c.ret);
		dt_thread_join(&t);
		BAD_HANDLE(dat_ia_close(c.ia, DAT_CLOSE_ABRUPT_FLAG), IA);
		BAD_HANDLE(dat_cno_free(cno), CNO);
		DT_UNTIL(same_fds(&fds), US_EVENT);
	}
	pair_up(&p);
	pair_close(&p);
}

static void wait_for_no_evd(void *arg)
{
	DAT_EVD_HANDLE evd = arg;

	(void)dat_cno_wait(arg, DAT_TIMEOUT_INFINITE, &evd);
	ASSERT_PTR(evd, NULL);
}

TEST(ia, close_abrupt_releases_a_cno_waiter_with_a_NULL_evd)
{
	struct dt_thread t;
	DAT_CNO_HANDLE cno;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	dt_thread_start(&t, wait_for_no_evd, cno);
	dt_thread_wait_blocked(&t);
	node_abort(&n);
	dt_thread_join(&t);
}

static void open_and_close(void *arg)
{
	struct pair p;
	int i;

	(void)arg;
	for (i = 0; i < 5; i++) {
		pair_up(&p);
		OK(post_recv(&p.b, 0, 64, 1));
		OK(post_send(&p.a, 0, 64, 2));
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 64);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 64);
		pair_close(&p);
	}
}

TEST_LIMIT(ia, several_in_several_threads_at_once, 60)
{
	struct dt_thread t[4];
	int i;

	for (i = 0; i < 4; i++)
		dt_thread_start(&t[i], open_and_close, NULL);
	for (i = 0; i < 4; i++)
		dt_thread_join(&t[i]);
}

TEST(ia, handle_is_a_small_integer)
{
	struct node n;

	node_open(&n);
	ASSERT((uintptr_t)n.ia < 4096);
	node_close(&n);
}

TEST(ia, many_opened_and_closed_leave_nothing)
{
	struct node n[8];
	int i;

	for (i = 0; i < 8; i++)
		node_open(&n[i]);
	for (i = 0; i < 8; i++)
		node_close(&n[i]);
}
