/* SPDX-License-Identifier: BSD-2-Clause */
/* Consumer contexts, handle types, strings, and what is not supported here. */
#include "rig.h"

/* ---- consumer context and handle type ---- */

static void check_object(DAT_HANDLE h, DAT_HANDLE_TYPE want)
{
	DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)99;
	DAT_CONTEXT ctx;

	OK(dat_get_handle_type(h, &type));
	ASSERT_EQ(type, want);
	/* Zero if never set. */
	ctx.as_64 = 99;
	OK(dat_get_consumer_context(h, &ctx));
	ASSERT_EQ(ctx.as_64, 0);
	ctx.as_64 = 0x123456789abcdef0ull;
	OK(dat_set_consumer_context(h, ctx));
	ctx.as_64 = 0;
	OK(dat_get_consumer_context(h, &ctx));
	ASSERT_EQ(ctx.as_64, 0x123456789abcdef0ull);
	/* A new one replaces it. */
	ctx.as_ptr = &type;
	OK(dat_set_consumer_context(h, ctx));
	OK(dat_get_consumer_context(h, &ctx));
	ASSERT_PTR(ctx.as_ptr, &type);
	BAD_ARG(dat_get_consumer_context(h, NULL), 2);
	BAD_ARG(dat_get_handle_type(h, NULL), 2);
}

TEST(context, of_every_kind_of_object)
{
	DAT_RSP_HANDLE rsp;
	DAT_PSP_HANDLE psp;
	DAT_CNO_HANDLE cno;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	struct side c;
	struct pair p;

	pair_open(&p);
	side_make(&c, &p.node, NULL);
	OK(dat_psp_create_any(p.node.ia, &qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_psp_free(psp));
	OK(dat_rsp_create(p.node.ia, qual, c.ep, p.cr_evd, &rsp));
	OK(dat_cno_create(p.node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	cr = pair_request(&p);
	check_object(p.node.ia, DAT_HANDLE_TYPE_IA);
	check_object(p.node.pz, DAT_HANDLE_TYPE_PZ);
	check_object(p.a.buf.lmr, DAT_HANDLE_TYPE_LMR);
	check_object(p.a.conn, DAT_HANDLE_TYPE_EVD);
	check_object(p.node.async, DAT_HANDLE_TYPE_EVD);
	check_object(p.a.ep, DAT_HANDLE_TYPE_EP);
	check_object(p.psp, DAT_HANDLE_TYPE_PSP);
	check_object(rsp, DAT_HANDLE_TYPE_RSP);
	check_object(cno, DAT_HANDLE_TYPE_CNO);
	check_object(cr, DAT_HANDLE_TYPE_CR);
	node_abort(&p.node);
}

TEST(context, bad_handles)
{
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT ctx;
	DAT_PZ_HANDLE pz;
	struct node n;

	ctx.as_64 = 0;
	ASSERT_RET(dat_set_consumer_context(NULL, ctx), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ASSERT_RET(dat_get_consumer_context(NULL, &ctx), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ASSERT_RET(dat_get_handle_type(NULL, &type), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	node_open(&n);
	OK(dat_pz_create(n.ia, &pz));
	OK(dat_pz_free(pz));
	ASSERT_EQ(DAT_GET_TYPE(dat_set_consumer_context(pz, ctx)), DAT_INVALID_HANDLE);
	ASSERT_EQ(DAT_GET_TYPE(dat_get_consumer_context(pz, &ctx)), DAT_INVALID_HANDLE);
	ASSERT_EQ(DAT_GET_TYPE(dat_get_handle_type(pz, &type)), DAT_INVALID_HANDLE);
	node_close(&n);
}

TEST(context, dies_with_its_object)
{
	DAT_PZ_HANDLE pz[64];
	DAT_CONTEXT ctx;
	struct node n;
	int i, round;

	node_open(&n);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 64; i++) {
			OK(dat_pz_create(n.ia, &pz[i]));
			OK(dat_get_consumer_context(pz[i], &ctx));
			ASSERT_EQ(ctx.as_64, 0);
			ctx.as_64 = 5;
			OK(dat_set_consumer_context(pz[i], ctx));
		}
		for (i = 0; i < 64; i++)
			OK(dat_pz_free(pz[i]));
	}
	node_close(&n);
}

/* ---- what later versions of this provider will bring ---- */

TEST(unsupported, calls_on_rmrs_and_srqs_are_INVALID_HANDLE)
{
	DAT_SRQ_PARAM srq;
	DAT_RMR_PARAM rmr;
	DAT_LMR_TRIPLET t;
	struct pair p;

	pair_open(&p);
	t = seg(&p.a.buf, 0, 16);
	BAD_HANDLE(dat_rmr_query(p.node.pz, DAT_RMR_FIELD_ALL, &rmr), RMR);
	BAD_HANDLE(dat_rmr_free(p.node.pz), RMR);
	BAD_HANDLE(dat_rmr_free(NULL), RMR);
	BAD_HANDLE(dat_srq_query(p.node.pz, DAT_SRQ_FIELD_ALL, &srq), SRQ);
	BAD_HANDLE(dat_srq_free(p.node.pz), SRQ);
	BAD_HANDLE(dat_srq_free(NULL), SRQ);
	BAD_HANDLE(dat_srq_resize(p.node.pz, 10), SRQ);
	BAD_HANDLE(dat_srq_set_lw(p.node.pz, 10), SRQ);
	BAD_HANDLE(dat_srq_post_recv(p.node.pz, 1, &t, ck(1)), SRQ);
	pair_close(&p);
}

#if DAT_TEST_API == 20

/* If extension_supported is NONE, the registry does not call the provider. */
TEST(unsupported, extension_op_is_NOT_IMPLEMENTED_in_2_0)
{
	struct pair p;

	pair_open(&p);
	if (p.node.attr.extension_supported != DAT_EXTENSION_NONE)
		ASSERT_RET(dat_extension_op(p.a.ep, 0x7ff), DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	else
		ASSERT_RET(dat_extension_op(p.a.ep, 0), DAT_NOT_IMPLEMENTED, 0);
	pair_close(&p);
}

#endif

/* ---- signal actions ---- */

static void mine(int sig)
{
	(void)sig;
}

TEST(signals, actions_of_the_program_are_left_alone)
{
	static const int sigs[] = {
		SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGINT, SIGTERM, SIGUSR1, SIGPIPE,
	};
	struct sigaction sa, now;
	struct pair p;
	unsigned int i;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = mine;
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		ASSERT_EQ(sigaction(sigs[i], &sa, NULL), 0);
	pair_up(&p);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		ASSERT_EQ(sigaction(sigs[i], NULL, &now), 0);
		ASSERT(now.sa_handler == mine);
	}
	pair_close(&p);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		ASSERT_EQ(sigaction(sigs[i], NULL, &now), 0);
		ASSERT(now.sa_handler == mine);
	}
}

TEST(signals, threads_of_the_provider_take_no_signals_of_the_program)
{
	sigset_t blocked;
	struct pair p;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	pair_up(&p);
	/* Blocked here: open in another thread, its default action would end the process. */
	ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, NULL), 0);
	ASSERT_EQ(kill(getpid(), SIGUSR2), 0);
	OK(post_recv(&p.b, 0, 10, 1));
	OK(post_send(&p.a, 0, 10, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
	pair_close(&p);
}
