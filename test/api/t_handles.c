/* SPDX-License-Identifier: BSD-2-Clause */
/* Every call refuses a NULL handle, a freed one, one of another kind, and any in a child.
 *
 * One case per call. The other arguments of the call are good, so that only the handle can be
 * what is refused.
 */
#include "rig.h"

#include <sys/wait.h>

enum kind { IA, PZ, LMR, EVD, CNO, EP, PSP, RSP, CR, KINDS };

/* Things that calls need besides the handle under test. */
struct help {
	struct pair p;
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;
};

struct call {
	const char *rule;
	enum kind kind;
	DAT_RETURN (*fn)(DAT_HANDLE h, struct help *x);
};

static int subtype(enum kind kind)
{
	static const int subs[KINDS] = {
		DAT_INVALID_HANDLE_IA,          DAT_INVALID_HANDLE_PZ,  DAT_INVALID_HANDLE_LMR,
		DAT_INVALID_HANDLE_EVD_REQUEST, DAT_INVALID_HANDLE_CNO, DAT_INVALID_HANDLE_EP,
		DAT_INVALID_HANDLE_PSP,         DAT_INVALID_HANDLE_RSP, DAT_INVALID_HANDLE_CR,
	};

	return subs[kind];
}

/* ---- an object of each kind, alive or freed ---- */

static DAT_CR_HANDLE make_cr(struct help *x)
{
	struct pair *p = &x->p;
	DAT_EP_HANDLE ep;

	OK(dat_ep_create(p->node.ia, p->node.pz, p->a.recv, p->a.req, p->a.conn, NULL, &ep));
	OK(connect_to(ep, p->node.attr.ia_address_ptr, p->qual));
	return EV_CR(p->cr_evd, p->psp, p->qual);
}

static DAT_HANDLE make(enum kind kind, struct help *x)
{
	struct node *n = &x->p.node;
	DAT_EVD_HANDLE async = NULL;
	DAT_HANDLE h = NULL;
	DAT_EP_HANDLE ep;
	DAT_CONN_QUAL qual;
	struct buf b;

	switch (kind) {
	case IA:
		OK(dat_ia_open((char *)(uintptr_t)ia_name(), 8, &async, &h));
		break;
	case PZ:
		OK(dat_pz_create(n->ia, &h));
		break;
	case LMR:
		buf_register(&b, n, n->pz, x->p.a.buf.mem, 4096, PRIV_ALL);
		h = b.lmr;
		break;
	case EVD:
		h = evd_make(n, 8, DAT_EVD_SOFTWARE_FLAG);
		break;
	case CNO:
		OK(dat_cno_create(n->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &h));
		break;
	case EP:
		OK(dat_ep_create(n->ia, n->pz, x->p.a.recv, x->p.a.req, x->p.a.conn, NULL, &h));
		break;
	case PSP:
		OK(dat_psp_create_any(n->ia, &qual, x->p.cr_evd, DAT_PSP_CONSUMER_FLAG, &h));
		break;
	case RSP:
		OK(dat_psp_create_any(n->ia, &qual, x->p.cr_evd, DAT_PSP_CONSUMER_FLAG, &h));
		OK(dat_psp_free(h));
		OK(dat_ep_create(n->ia, n->pz, x->p.a.recv, x->p.a.req, x->p.a.conn, NULL, &ep));
		OK(dat_rsp_create(n->ia, qual, ep, x->p.cr_evd, &h));
		break;
	case CR:
		h = make_cr(x);
		break;
	case KINDS:
		break;
	}
	ASSERT(h != NULL);
	return h;
}

static void destroy(enum kind kind, DAT_HANDLE h)
{
	switch (kind) {
	case IA:
		OK(dat_ia_close(h, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case PZ:
		OK(dat_pz_free(h));
		break;
	case LMR:
		OK(dat_lmr_free(h));
		break;
	case EVD:
		OK(dat_evd_free(h));
		break;
	case CNO:
		OK(dat_cno_free(h));
		break;
	case EP:
		OK(dat_ep_free(h));
		break;
	case PSP:
		OK(dat_psp_free(h));
		break;
	case RSP:
		OK(dat_rsp_free(h));
		break;
	case CR:
		OK(api_cr_reject(h));
		break;
	case KINDS:
		break;
	}
}

/* ---- the calls ---- */

#define CALL(name_, expr_) \
	static DAT_RETURN name_(DAT_HANDLE h, struct help *x) \
	{ \
		DAT_HANDLE out = NULL; \
		(void)out; \
		(void)x; \
		return expr_; \
	}

#define DEF DAT_COMPLETION_DEFAULT_FLAG
#define QOS DAT_QOS_BEST_EFFORT

CALL(ia_query, dat_ia_query(h, NULL, DAT_IA_FIELD_ALL, &x->p.node.attr, 0, NULL))
CALL(ia_close, dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG))
CALL(pz_create, dat_pz_create(h, &out))
CALL(evd_create, dat_evd_create(h, 4, NULL, DAT_EVD_SOFTWARE_FLAG, &out))
CALL(cno_create, dat_cno_create(h, DAT_OS_WAIT_PROXY_AGENT_NULL, &out))
CALL(ep_create, dat_ep_create(h, NULL, NULL, NULL, NULL, NULL, &out))
CALL(psp_create, dat_psp_create(h, x->p.qual + 7, x->p.cr_evd, DAT_PSP_CONSUMER_FLAG, &out))
CALL(psp_create_any,
     dat_psp_create_any(h, &(DAT_CONN_QUAL){ 0 }, x->p.cr_evd, DAT_PSP_CONSUMER_FLAG, &out))
CALL(rsp_create, dat_rsp_create(h, x->p.qual + 7, x->p.b.ep, x->p.cr_evd, &out))
CALL(sync_read, dat_lmr_sync_rdma_read(h, &x->t, 1))
CALL(sync_write, dat_lmr_sync_rdma_write(h, &x->t, 1))

static DAT_RETURN lmr_create(DAT_HANDLE h, struct help *x)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT lctx;
	DAT_RMR_CONTEXT rctx;
	DAT_LMR_HANDLE lmr;

	memset(&region, 0, sizeof(region));
	region.for_va = x->p.a.buf.mem;
	return api_lmr_create(h, DAT_MEM_TYPE_VIRTUAL, region, 64, x->p.node.pz, PRIV_LOCAL, &lmr,
			      &lctx, &rctx, NULL, NULL);
}

CALL(pz_query, dat_pz_query(h, DAT_PZ_FIELD_ALL, &(DAT_PZ_PARAM){ 0 }))
CALL(pz_free, dat_pz_free(h))
CALL(rmr_create, dat_rmr_create(h, &out))
CALL(lmr_query, dat_lmr_query(h, DAT_LMR_FIELD_ALL, &(DAT_LMR_PARAM){ 0 }))
CALL(lmr_free, dat_lmr_free(h))

CALL(evd_query, dat_evd_query(h, DAT_EVD_FIELD_ALL, &(DAT_EVD_PARAM){ 0 }))
CALL(evd_resize, dat_evd_resize(h, 10))
CALL(evd_modify_cno, dat_evd_modify_cno(h, NULL))
CALL(evd_enable, dat_evd_enable(h))
CALL(evd_disable, dat_evd_disable(h))
CALL(evd_wait, dat_evd_wait(h, 0, 1, &(DAT_EVENT){ 0 }, &(DAT_COUNT){ 0 }))
CALL(evd_dequeue, dat_evd_dequeue(h, &(DAT_EVENT){ 0 }))
CALL(evd_post_se, post_se(h, 1))
CALL(evd_set_unwaitable, dat_evd_set_unwaitable(h))
CALL(evd_clear_unwaitable, dat_evd_clear_unwaitable(h))
CALL(evd_free, dat_evd_free(h))

CALL(cno_query, dat_cno_query(h, DAT_CNO_FIELD_ALL, &(DAT_CNO_PARAM){ 0 }))
CALL(cno_modify_agent, dat_cno_modify_agent(h, DAT_OS_WAIT_PROXY_AGENT_NULL))
CALL(cno_wait, dat_cno_wait(h, 0, &out))
CALL(cno_free, dat_cno_free(h))

CALL(ep_query, dat_ep_query(h, DAT_EP_FIELD_ALL, &(DAT_EP_PARAM){ 0 }))
CALL(ep_get_status, dat_ep_get_status(h, NULL, NULL, NULL))
CALL(ep_reset, dat_ep_reset(h))
CALL(ep_free, dat_ep_free(h))
CALL(ep_connect, connect_to(h, x->p.node.attr.ia_address_ptr, x->p.qual))
CALL(ep_dup_connect, dat_ep_dup_connect(h, x->p.a.ep, US_CONNECT, 0, NULL, QOS))
CALL(ep_disconnect, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG))
CALL(ep_post_send, dat_ep_post_send(h, 1, &x->t, ck(1), DEF))
CALL(ep_post_recv, dat_ep_post_recv(h, 1, &x->t, ck(1), DEF))
CALL(ep_post_rdma_read, dat_ep_post_rdma_read(h, 1, &x->t, ck(1), &x->r, DEF))
CALL(ep_post_rdma_write, dat_ep_post_rdma_write(h, 1, &x->t, ck(1), &x->r, DEF))
CALL(ep_recv_query, dat_ep_recv_query(h, &(DAT_COUNT){ 0 }, &(DAT_COUNT){ 0 }))
CALL(ep_set_watermark, dat_ep_set_watermark(h, 1, 1))

static DAT_RETURN ep_modify(DAT_HANDLE h, struct help *x)
{
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	param.pz_handle = x->p.node.pz;
	return dat_ep_modify(h, DAT_EP_FIELD_PZ_HANDLE, &param);
}

CALL(psp_query, dat_psp_query(h, DAT_PSP_FIELD_ALL, &(DAT_PSP_PARAM){ 0 }))
CALL(psp_free, dat_psp_free(h))
CALL(rsp_query, dat_rsp_query(h, DAT_RSP_FIELD_ALL, &(DAT_RSP_PARAM){ 0 }))
CALL(rsp_free, dat_rsp_free(h))
CALL(cr_query, dat_cr_query(h, DAT_CR_FIELD_ALL, &(DAT_CR_PARAM){ 0 }))
CALL(cr_accept, dat_cr_accept(h, x->p.b.ep, 0, NULL))
CALL(cr_reject, api_cr_reject(h))
CALL(cr_handoff, dat_cr_handoff(h, x->p.qual))

#if DAT_TEST_API == 20
CALL(cno_fd_create, dat_cno_fd_create(h, &(DAT_FD){ 0 }, &out))
CALL(cno_trigger, dat_cno_trigger(h, &out))
CALL(srq_create_20, dat_srq_create(h, x->p.node.pz, &(DAT_SRQ_ATTR){ 1, 1, 0 }, &out))
#endif

static void run(const void *arg)
{
	const struct call *c = arg;
	struct help x;
	DAT_HANDLE freed;

	pair_open(&x.p);
	x.t = seg(&x.p.a.buf, 0, 16);
	x.r = rem(&x.p.b.buf, 0, 16);
	freed = make(c->kind, &x);
	destroy(c->kind, freed);
	ASSERT_RET(c->fn(NULL, &x), DAT_INVALID_HANDLE, subtype(c->kind));
	ASSERT_RET(c->fn(freed, &x), DAT_INVALID_HANDLE, subtype(c->kind));
	/* A live object of another kind. */
	ASSERT_RET(c->fn(c->kind == EVD ? x.p.node.pz : x.p.a.conn, &x), DAT_INVALID_HANDLE,
		   subtype(c->kind));
	node_abort(&x.p.node);
}

/* A forked child has the values of the handles but not the objects. */
static void run_child(const void *arg)
{
	const struct call *c = arg;
	struct help x;
	DAT_HANDLE alive;
	int status;
	pid_t pid;

	pair_open(&x.p);
	x.t = seg(&x.p.a.buf, 0, 16);
	x.r = rem(&x.p.b.buf, 0, 16);
	alive = make(c->kind, &x);
	pid = fork_when_idle();
	ASSERT(pid >= 0);
	if (pid == 0) {
		DAT_RETURN ret = c->fn(alive, &x);

		if (!(ret & DAT_CLASS_ERROR) || DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE)
			FAIL("in the child the call gives %#x", ret);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	/* The parent's objects have not suffered. */
	pair_connect(&x.p);
	node_abort(&x.p.node);
	if (c->kind == IA)
		OK(dat_ia_close(alive, DAT_CLOSE_GRACEFUL_FLAG));
}

/* clang-format off */
#define CALLS(say_)                                                                    \
	{ say_("ia_query"), IA, ia_query }, { say_("ia_close"), IA, ia_close },         \
	{ say_("pz_create"), IA, pz_create }, { say_("evd_create"), IA, evd_create },   \
	{ say_("cno_create"), IA, cno_create }, { say_("ep_create"), IA, ep_create },   \
	{ say_("lmr_create"), IA, lmr_create }, { say_("psp_create"), IA, psp_create }, \
	{ say_("psp_create_any"), IA, psp_create_any },                                 \
	{ say_("rsp_create"), IA, rsp_create },                                         \
	{ say_("lmr_sync_rdma_read"), IA, sync_read },                                  \
	{ say_("lmr_sync_rdma_write"), IA, sync_write },                                \
	{ say_("pz_query"), PZ, pz_query }, { say_("pz_free"), PZ, pz_free },           \
	{ say_("rmr_create"), PZ, rmr_create },                                         \
	{ say_("lmr_query"), LMR, lmr_query }, { say_("lmr_free"), LMR, lmr_free },     \
	{ say_("evd_query"), EVD, evd_query }, { say_("evd_resize"), EVD, evd_resize }, \
	{ say_("evd_modify_cno"), EVD, evd_modify_cno },                                \
	{ say_("evd_enable"), EVD, evd_enable }, { say_("evd_disable"), EVD, evd_disable }, \
	{ say_("evd_wait"), EVD, evd_wait }, { say_("evd_dequeue"), EVD, evd_dequeue }, \
	{ say_("evd_post_se"), EVD, evd_post_se },                                      \
	{ say_("evd_set_unwaitable"), EVD, evd_set_unwaitable },                        \
	{ say_("evd_clear_unwaitable"), EVD, evd_clear_unwaitable },                    \
	{ say_("evd_free"), EVD, evd_free },                                            \
	{ say_("cno_query"), CNO, cno_query },                                          \
	{ say_("cno_modify_agent"), CNO, cno_modify_agent },                            \
	{ say_("cno_wait"), CNO, cno_wait }, { say_("cno_free"), CNO, cno_free },       \
	{ say_("ep_query"), EP, ep_query }, { say_("ep_modify"), EP, ep_modify },       \
	{ say_("ep_get_status"), EP, ep_get_status }, { say_("ep_reset"), EP, ep_reset }, \
	{ say_("ep_free"), EP, ep_free }, { say_("ep_connect"), EP, ep_connect },       \
	{ say_("ep_dup_connect"), EP, ep_dup_connect },                                 \
	{ say_("ep_disconnect"), EP, ep_disconnect },                                   \
	{ say_("ep_post_send"), EP, ep_post_send },                                     \
	{ say_("ep_post_recv"), EP, ep_post_recv },                                     \
	{ say_("ep_post_rdma_read"), EP, ep_post_rdma_read },                           \
	{ say_("ep_post_rdma_write"), EP, ep_post_rdma_write },                         \
	{ say_("ep_recv_query"), EP, ep_recv_query },                                   \
	{ say_("ep_set_watermark"), EP, ep_set_watermark },                             \
	{ say_("psp_query"), PSP, psp_query }, { say_("psp_free"), PSP, psp_free },     \
	{ say_("rsp_query"), RSP, rsp_query }, { say_("rsp_free"), RSP, rsp_free },     \
	{ say_("cr_query"), CR, cr_query }, { say_("cr_accept"), CR, cr_accept },       \
	{ say_("cr_reject"), CR, cr_reject }, { say_("cr_handoff"), CR, cr_handoff },
/* clang-format on */

#if DAT_TEST_API == 20
/* clang-format off */
#define CALLS_20(say_)                                                                 \
	{ say_("cno_fd_create"), IA, cno_fd_create }, { say_("srq_create"), IA, srq_create_20 }, \
	{ say_("cno_trigger"), CNO, cno_trigger },
/* clang-format on */
#else
#define CALLS_20(say_)
#endif

#define REFUSES(name_) name_ "_refuses_NULL_freed_and_other_kinds"
#define CHILD(name_) name_ "_fails_cleanly_in_a_forked_child"

static const struct call refuses[] = { CALLS(REFUSES) CALLS_20(REFUSES) };
static const struct call in_child[] = { CALLS(CHILD) CALLS_20(CHILD) };

TEST_ROWS(handles, refuses, run)
TEST_ROWS(fork, in_child, run_child)

TEST(fork, parent_carries_on_while_a_child_lives_and_exits)
{
	struct pair p;
	int status, i;
	pid_t pid;

	pair_up(&p);
	for (i = 0; i < 3; i++) {
		pid = fork_when_idle();
		ASSERT(pid >= 0);
		if (pid == 0)
			exit(0);
		OK(post_recv(&p.b, 0, 1000, 1));
		OK(post_send(&p.a, 0, 1000, 2));
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 1000);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 1000);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		ASSERT_EQ(status, 0);
	}
	pair_close(&p);
}

TEST(fork, child_can_open_an_ia_of_its_own)
{
	struct pair p, q;
	int status;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	dt_skip("ThreadSanitizer allows no threads after a fork");
#endif
	pair_up(&p);
	pid = fork_when_idle();
	ASSERT(pid >= 0);
	if (pid == 0) {
		pair_up(&q);
		OK(post_recv(&q.b, 0, 1000, 1));
		OK(post_send(&q.a, 0, 1000, 2));
		EV_DTO(q.b.recv, q.b.ep, 1, OP_RECV, 1000);
		node_abort(&q.node);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	OK(post_recv(&p.b, 0, 1000, 1));
	OK(post_send(&p.a, 0, 1000, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 1000);
	pair_close(&p);
}

TEST(handles, of_a_freed_endpoint_is_told_before_a_NULL_remote_buffer)
{
	DAT_LMR_TRIPLET t;
	DAT_EP_HANDLE ep;
	struct pair p;

	pair_open(&p);
	t = seg(&p.a.buf, 0, 8);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, NULL, &ep));
	BAD_ARG(dat_ep_post_rdma_read(ep, 1, &t, ck(1), NULL, 0), 5);
	BAD_ARG(dat_ep_post_rdma_write(ep, 1, &t, ck(1), NULL, 0), 5);
	OK(dat_ep_free(ep));
	BAD_HANDLE(dat_ep_post_rdma_read(ep, 1, &t, ck(1), NULL, 0), EP);
	BAD_HANDLE(dat_ep_post_rdma_write(ep, 1, &t, ck(1), NULL, 0), EP);
	pair_close(&p);
}
