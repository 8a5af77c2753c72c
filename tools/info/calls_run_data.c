/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that move data, bind memory windows and share receives, as a part of dat_info --calls.
 * Compiled once per API version.
 */
#include "config.h"

#include <string.h>

#include "calls_run.h"

#define LEN 64
#define SRQ_LEN 8

/* ---- descriptions of memory ---- */

static DAT_VADDR address_of(const struct info_run_end *end)
{
	return (DAT_VADDR)(uintptr_t)end->mem;
}

/* ---- messages ---- */

static bool post_receive(const struct info_run_end *end)
{
	DAT_LMR_TRIPLET to = info_run_local(end, LEN);

	return TRY(dat_ep_post_recv, end->ep, 1, &to, info_run_cookie(1),
		   DAT_COMPLETION_DEFAULT_FLAG);
}

/* The message of a, whose post has returned `ret`, arrives at `recv`. */
static bool arrives(DAT_RETURN ret, const struct info_run_end *a, DAT_EVD_HANDLE recv)
{
	DAT_EVENT event;

	return ret == DAT_SUCCESS && info_run_dto(a->req, &event) && info_run_dto(recv, &event);
}

static void run_send(const struct info_run_end *a, const struct info_run_end *b)
{
	DAT_LMR_TRIPLET from = info_run_local(a, LEN);
	DAT_RETURN ret;

	if (!post_receive(b))
		return;
	ret = D.dat_ep_post_send(a->ep, 1, &from, info_run_cookie(2), DAT_COMPLETION_DEFAULT_FLAG);
	info_run_effect("dat_ep_post_send", NULL, ret, arrives(ret, a, b->recv));
}

/* ---- RDMA ---- */

static bool write_to(const struct info_run_end *a, const DAT_RMR_TRIPLET *to, const char *call,
		     const char *use)
{
	DAT_LMR_TRIPLET from = info_run_local(a, LEN);
	DAT_EVENT event;
	DAT_RETURN ret = D.dat_ep_post_rdma_write(a->ep, 1, &from, info_run_cookie(3), to,
						  DAT_COMPLETION_DEFAULT_FLAG);

	return info_run_effect(call, use, ret, ret == DAT_SUCCESS && info_run_dto(a->req, &event));
}

static void run_rdma(const struct info_run_end *a, const struct info_run_end *b)
{
	DAT_LMR_TRIPLET to = info_run_local(a, LEN);
	DAT_RMR_TRIPLET from = info_run_remote(address_of(b), LEN, b->rmr_context);
	DAT_EVENT event;
	DAT_RETURN ret;

	write_to(a, &from, "dat_ep_post_rdma_write", NULL);
	ret = D.dat_ep_post_rdma_read(a->ep, 1, &to, info_run_cookie(4), &from,
				      DAT_COMPLETION_DEFAULT_FLAG);
	info_run_effect("dat_ep_post_rdma_read", NULL, ret,
			ret == DAT_SUCCESS && info_run_dto(a->req, &event));
}

#if DAT_API_MAJOR >= 2
/* A peer writes to a region whose addresses begin at zero. */
static void run_zero_based(const struct info_run_end *a)
{
	static char mem[RUN_MEM];
	DAT_REGION_DESCRIPTION region;
	struct info_run_end zero = { .mem = mem };
	DAT_RMR_TRIPLET to;

	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	if (!info_run_register("zero-based, for peers", DAT_MEM_TYPE_VIRTUAL, region, RUN_MEM,
			       (int)RUN_PRIV, true, &zero))
		return;
	to = info_run_remote(0, LEN, zero.rmr_context);
	write_to(a, &to, "dat_lmr_create", "zero-based, for peers");
	TRY(dat_lmr_free, zero.lmr);
}
#endif

/* ---- memory windows ---- */

static DAT_RETURN bind_window(const struct info_run_end *b, DAT_RMR_HANDLE rmr,
			      DAT_RMR_CONTEXT *key)
{
	DAT_LMR_TRIPLET range = info_run_local(b, LEN);
	DAT_MEM_PRIV_FLAGS priv = (DAT_MEM_PRIV_FLAGS)((int)DAT_MEM_PRIV_REMOTE_READ_FLAG |
						       (int)DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	DAT_RMR_COOKIE cookie = { .as_64 = 5 };

#if DAT_API_MAJOR == 1
	return D.dat_rmr_bind(rmr, &range, priv, b->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, key);
#else
	return D.dat_rmr_bind(rmr, b->lmr, &range, priv, DAT_VA_TYPE_VA, b->ep, cookie,
			      DAT_COMPLETION_DEFAULT_FLAG, key);
#endif
}

/* Binds a window of b's memory; true if it has a key. */
static bool window(const struct info_run_end *b, DAT_RMR_HANDLE rmr, DAT_RMR_CONTEXT *key)
{
	DAT_RETURN ret = bind_window(b, rmr, key);
	DAT_EVENT event;
	bool bound = ret == DAT_SUCCESS &&
		     info_run_event(b->req, DAT_RMR_BIND_COMPLETION_EVENT, &event);

	if (bound && event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS)
		return info_run_wrong("dat_rmr_bind", NULL, "the bind completed with an error");
	return info_run_effect("dat_rmr_bind", NULL, ret, bound);
}

#if DAT_API_MAJOR >= 2
static void run_read_to_rmr(const struct info_run_end *a, const struct info_run_end *b,
			    DAT_RMR_CONTEXT key)
{
	DAT_RMR_TRIPLET to = info_run_remote(address_of(b), LEN, key);
	DAT_RMR_TRIPLET from = info_run_remote(address_of(a), LEN, a->rmr_context);
	DAT_EVENT event;
	DAT_RETURN ret;

	if (!D.dat_ep_post_rdma_read_to_rmr) {
		info_run_missing("dat_ep_post_rdma_read_to_rmr");
		return;
	}
	ret = D.dat_ep_post_rdma_read_to_rmr(b->ep, &to, info_run_cookie(6), &from,
					     DAT_COMPLETION_DEFAULT_FLAG);
	info_run_effect("dat_ep_post_rdma_read_to_rmr", NULL, ret,
			ret == DAT_SUCCESS && info_run_dto(b->req, &event));
}

static void run_invalidate(const struct info_run_end *a, DAT_EVD_HANDLE recv, DAT_RMR_CONTEXT key,
			   const char *use)
{
	DAT_LMR_TRIPLET from = info_run_local(a, LEN);
	DAT_RETURN ret;

	if (!D.dat_ep_post_send_with_invalidate) {
		info_run_missing("dat_ep_post_send_with_invalidate");
		return;
	}
	ret = D.dat_ep_post_send_with_invalidate(a->ep, 1, &from, info_run_cookie(7),
						 DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, key);
	info_run_effect("dat_ep_post_send_with_invalidate", use, ret, arrives(ret, a, recv));
}
#endif

static void run_windows(const struct info_run_end *a, const struct info_run_end *b)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_RMR_CONTEXT key = 0;
	DAT_RMR_TRIPLET to;

	if (!TRY(dat_rmr_create, info_run.pz, &rmr))
		return;
	if (window(b, rmr, &key)) {
		to = info_run_remote(address_of(b), LEN, key);
		write_to(a, &to, "dat_rmr_bind", NULL);
#if DAT_API_MAJOR >= 2
		run_read_to_rmr(a, b, key);
		if (post_receive(b))
			run_invalidate(a, b->recv, key, NULL);
#endif
	}
	TRY(dat_rmr_free, rmr);
#if DAT_API_MAJOR >= 2
	if (TRY(dat_rmr_create_for_ep, info_run.pz, &rmr)) {
		window(b, rmr, &key);
		TRY(dat_rmr_free, rmr);
	}
#endif
}

void info_run_data(struct info_run_end *a, struct info_run_end *b)
{
	run_send(a, b);
	run_rdma(a, b);
#if DAT_API_MAJOR >= 2
	run_zero_based(a);
#endif
	run_windows(a, b);
}

/* ---- shared receive queues ---- */

static bool srq_receive(const struct info_run_end *c, DAT_SRQ_HANDLE srq)
{
	DAT_LMR_TRIPLET to = info_run_local(c, LEN);

	return TRY(dat_srq_post_recv, srq, 1, &to, info_run_cookie(8));
}

/* c receives from the queue, and is connected to a. */
static void run_srq_connected(struct info_run_end *a, struct info_run_end *c, DAT_SRQ_HANDLE srq)
{
	DAT_LMR_TRIPLET from = info_run_local(a, LEN);
	DAT_COUNT buffers, span;
	DAT_RETURN ret;

	if (srq_receive(c, srq)) {
		ret = D.dat_ep_post_send(a->ep, 1, &from, info_run_cookie(9),
					 DAT_COMPLETION_DEFAULT_FLAG);
		info_run_effect("dat_srq_post_recv", NULL, ret, arrives(ret, a, c->recv));
	}
	TRY(dat_ep_recv_query, c->ep, &buffers, &span);
#if DAT_API_MAJOR >= 2
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_RMR_CONTEXT key = 0;

	if (TRY(dat_rmr_create, info_run.pz, &rmr)) {
		if (window(c, rmr, &key) && srq_receive(c, srq))
			run_invalidate(a, c->recv, key, "to a peer with an SRQ");
		TRY(dat_rmr_free, rmr);
	}
	if (D.dat_extension_op)
		info_run_immed_srq(a, c, srq);
#endif
}

/* The attributes of an endpoint with an SRQ: those of a, without watermarks. */
static bool srq_attr(const struct info_run_end *a, DAT_EP_ATTR *attr)
{
	DAT_EP_PARAM param;

	if (!TRY(dat_ep_query, a->ep, DAT_EP_FIELD_ALL, &param))
		return false;
	*attr = param.ep_attr;
	attr->max_recv_dtos = DAT_HW_DEFAULT;
	attr->srq_soft_hw = DAT_HW_DEFAULT;
	return true;
}

void info_run_srq(struct info_run_end *a)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_LEN,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	struct info_run_end c = { .ep = NULL };
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_SRQ_PARAM param;
	DAT_EP_ATTR ep_attr;

	if (!TRY(dat_srq_create, info_run.ia, info_run.pz, &attr, &srq))
		return;
	TRY(dat_srq_query, srq, DAT_SRQ_FIELD_ALL, &param);
	TRY(dat_srq_resize, srq, 2 * SRQ_LEN);
	if (srq_attr(a, &ep_attr) && info_run_end_make(&c, &ep_attr, srq)) {
		TRY(dat_ep_set_watermark, c.ep, SRQ_LEN, SRQ_LEN);
		if (info_run_connect(a, &c)) {
			run_srq_connected(a, &c, srq);
			info_run_disconnect(a, &c);
		}
	}
	TRY(dat_srq_set_lw, srq, 1);
	info_run_end_free(&c);
	TRY(dat_srq_free, srq);
}
