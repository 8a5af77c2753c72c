/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements opening, connecting and posting for players. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdat.h"

#if defined(__SANITIZE_THREAD__)
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

/*
 * libfabric is not instrumented: its writes into the memory of a transfer look like races with the
 * program that reads it after the completion.
 */
const char *__tsan_default_suppressions(void)
{
	return "race:libfabric.so\n";
}
#endif

const char *rd_text(DAT_RETURN ret)
{
	static char text[2][160];
	static int turn;
	const char *major = "?", *minor = "?";
	char *p = text[turn ^= 1];

	dat_strerror(ret, &major, &minor);
	if (DAT_GET_SUBTYPE(ret))
		snprintf(p, sizeof(text[0]), "%s/%s", major, minor);
	else
		snprintf(p, sizeof(text[0]), "%s", major);
	return p;
}

void rd_check(DAT_RETURN ret, const char *what, const char *file, int line)
{
	if (ret != DAT_SUCCESS)
		rl_fail(file, line, "%.100s returned %s", what, rd_text(ret));
}

/* Life */

static DAT_EVD_HANDLE evd_create(struct rd *rd, int qlen, int flags)
{
	DAT_EVD_HANDLE evd;

	RD_OK(dat_evd_create(rd->ia, qlen, rd->cno, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

void rd_open(struct rd *rd, unsigned int flags, int qlen)
{
	DAT_OS_WAIT_PROXY_AGENT none = { NULL, NULL };
	DAT_NAME_PTR name = RL_IA;
	DAT_IA_ATTR attr;
	size_t len;

	memset(rd, 0, sizeof(*rd));
	rd->async = DAT_HANDLE_NULL;
	RD_OK(dat_ia_openv(name, 8, &rd->async, &rd->ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
			   DAT_TRUE));
	RD_OK(dat_ia_query(rd->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	len = attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							 : sizeof(struct sockaddr_in);
	memcpy(&rd->addr, attr.ia_address_ptr, len);
	RD_OK(dat_pz_create(rd->ia, &rd->pz));
	if (flags & RD_CNO)
		RD_OK(dat_cno_create(rd->ia, none, &rd->cno));
	rd->cr = evd_create(rd, qlen, DAT_EVD_CR_FLAG);
	if (flags & RD_MERGED) {
		rd->conn = evd_create(rd, qlen, DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG);
		rd->recv = rd->req = rd->conn;
		return;
	}
	rd->conn = evd_create(rd, qlen, DAT_EVD_CONNECTION_FLAG);
	rd->recv = evd_create(rd, qlen, DAT_EVD_DTO_FLAG);
	rd->req = evd_create(rd, qlen, DAT_EVD_DTO_FLAG);
}

void rd_close(struct rd *rd)
{
	if (rd->ep)
		RD_OK(dat_ep_free(rd->ep));
	if (rd->psp)
		RD_OK(dat_psp_free(rd->psp));
	RD_OK(dat_evd_free(rd->cr));
	RD_OK(dat_evd_free(rd->conn));
	if (rd->recv != rd->conn) {
		RD_OK(dat_evd_free(rd->recv));
		RD_OK(dat_evd_free(rd->req));
	}
	if (rd->cno)
		RD_OK(dat_cno_free(rd->cno));
	RD_OK(dat_pz_free(rd->pz));
	RD_OK(dat_ia_close(rd->ia, DAT_CLOSE_GRACEFUL_FLAG));
	memset(rd, 0, sizeof(*rd));
}

void rd_warm_up(void)
{
	struct rd rd;

	rl_activity("opening for the first time");
	rd_open(&rd, 0, 8);
	rd_close(&rd);
}

DAT_EP_HANDLE rd_ep_create(struct rd *rd, int dtos)
{
	return rd_ep_create_srq(rd, dtos, DAT_HANDLE_NULL);
}

DAT_EP_HANDLE rd_ep_create_srq(struct rd *rd, int dtos, DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = 0x10000000;
	attr.max_rdma_size = 0x10000000;
	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.max_recv_dtos = dtos;
	attr.max_request_dtos = dtos;
	attr.max_recv_iov = 4;
	attr.max_request_iov = 4;
	attr.max_rdma_read_in = 4;
	attr.max_rdma_read_out = 4;
	attr.max_rdma_read_iov = 4;
	attr.max_rdma_write_iov = 4;
	if (srq) {
		attr.max_recv_dtos = DAT_HW_DEFAULT;
		attr.srq_soft_hw = DAT_HW_DEFAULT;
		RD_OK(dat_ep_create_with_srq(rd->ia, rd->pz, rd->recv, rd->req, rd->conn, srq,
					     &attr, &ep));
	} else {
		RD_OK(dat_ep_create(rd->ia, rd->pz, rd->recv, rd->req, rd->conn, &attr, &ep));
	}
	return ep;
}

DAT_EP_STATE rd_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	RD_OK(dat_ep_get_status(ep, &state, NULL, NULL));
	return state;
}

void rd_reg(struct rd *rd, struct rd_mem *mem, void *p, size_t len)
{
	DAT_REGION_DESCRIPTION region;

	mem->p = p;
	mem->len = len;
	region.for_va = p;
#if RL_API == 1
	RD_OK(dat_lmr_create(rd->ia, DAT_MEM_TYPE_VIRTUAL, region, len, rd->pz,
			     DAT_MEM_PRIV_ALL_FLAG, &mem->lmr, &mem->lctx, &mem->rctx, NULL, NULL));
#else
	RD_OK(dat_lmr_create(rd->ia, DAT_MEM_TYPE_VIRTUAL, region, len, rd->pz,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &mem->lmr, &mem->lctx,
			     &mem->rctx, NULL, NULL));
#endif
}

void rd_unreg(struct rd_mem *mem)
{
	RD_OK(dat_lmr_free(mem->lmr));
}

void rd_show(int n, const struct rd_mem *mem)
{
	rl_board->va[n] = (uintptr_t)mem->p;
	rl_board->rctx[n] = mem->rctx;
}

/* Connections */

void rd_listen(struct rd *rd)
{
	DAT_CONN_QUAL qual;

	RD_OK(dat_psp_create_any(rd->ia, &qual, rd->cr, DAT_PSP_CONSUMER_FLAG, &rd->psp));
	rl_board->qual = qual;
	memcpy(rl_board->addr, &rd->addr, sizeof(rl_board->addr));
}

void rd_connect(struct rd *rd, DAT_EP_HANDLE ep, unsigned int timeout_ms, const void *priv, int len)
{
	struct sockaddr_storage addr;

	(void)rd;
	memcpy(&addr, rl_board->addr, sizeof(addr));
	RD_OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&addr, rl_board->qual, timeout_ms * 1000, len,
			     (DAT_PVOID)(uintptr_t)priv, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG));
}

DAT_CR_HANDLE rd_request(struct rd *rd, unsigned int ms)
{
	DAT_EVENT ev;

	rd_expect(rd->cr, DAT_CONNECTION_REQUEST_EVENT, ms, &ev);
	RL_CHECK(ev.event_data.cr_arrival_event_data.sp_handle.psp_handle == rd->psp,
		 "the request has the qualifier of another service point");
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

DAT_RETURN rd_reject(DAT_CR_HANDLE cr)
{
#if RL_API == 1
	return dat_cr_reject(cr);
#else
	return dat_cr_reject(cr, 0, NULL);
#endif
}

void rd_connect_up(struct rd *rd, DAT_EP_HANDLE ep)
{
	DAT_EVENT ev;

	rd_connect(rd, ep, 5000, NULL, 0);
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_ESTABLISHED, 6000, &ev);
	RL_CHECK(ev.event_data.connect_event_data.ep_handle == ep, "ESTABLISHED of another EP");
}

void rd_accept_up(struct rd *rd, DAT_EP_HANDLE ep)
{
	DAT_CR_HANDLE cr = rd_request(rd, 6000);
	DAT_EVENT ev;

	RD_OK(dat_cr_accept(cr, ep, 0, NULL));
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_ESTABLISHED, 6000, &ev);
	RL_CHECK(ev.event_data.connect_event_data.ep_handle == ep, "ESTABLISHED of another EP");
}

void rd_meet(struct rd *rd, DAT_EP_HANDLE ep, int side, int listens)
{
	if (!side) {
		rd_listen(rd);
		rl_step(listens, 1);
		rd_accept_up(rd, ep);
	} else {
		rl_await(listens, 1, 10000);
		rd_connect_up(rd, ep);
	}
}

/* Posts */

DAT_LMR_TRIPLET rd_segment(const struct rd_mem *mem, size_t off, size_t len)
{
	DAT_LMR_TRIPLET seg;

	memset(&seg, 0, sizeof(seg));
	seg.lmr_context = mem->lctx;
	seg.virtual_address = (uintptr_t)mem->p + off;
	seg.segment_length = (__typeof__(seg.segment_length))len;
	return seg;
}

DAT_RMR_TRIPLET rd_remote(uint32_t rctx, uint64_t va, size_t len)
{
	DAT_RMR_TRIPLET t;

	memset(&t, 0, sizeof(t));
	t.rmr_context = rctx;
	t.segment_length = (__typeof__(t.segment_length))len;
#if RL_API == 1
	t.target_address = va;
#else
	t.virtual_address = va;
#endif
	return t;
}

DAT_RETURN rd_send(DAT_EP_HANDLE ep, const struct rd_mem *mem, size_t off, size_t len,
		   uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = rd_segment(mem, off, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_send(ep, 1, &seg, c, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN rd_recv(DAT_EP_HANDLE ep, const struct rd_mem *mem, size_t off, size_t len,
		   uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = rd_segment(mem, off, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_recv(ep, 1, &seg, c, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN rd_rdma(DAT_EP_HANDLE ep, bool write, const struct rd_mem *mem, size_t off, size_t len,
		   uint64_t cookie, uint64_t va, uint32_t rctx)
{
	DAT_LMR_TRIPLET seg = rd_segment(mem, off, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };
	DAT_RMR_TRIPLET remote = rd_remote(rctx, va, len);

	if (write)
		return dat_ep_post_rdma_write(ep, 1, &seg, c, &remote, DAT_COMPLETION_DEFAULT_FLAG);
	return dat_ep_post_rdma_read(ep, 1, &seg, c, &remote, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN rd_write(DAT_EP_HANDLE ep, const struct rd_mem *mem, size_t off, size_t len,
		    uint64_t cookie, int n, size_t remote_off)
{
	return rd_rdma(ep, true, mem, off, len, cookie, rl_board->va[n] + remote_off,
		       rl_board->rctx[n]);
}

DAT_RETURN rd_read(DAT_EP_HANDLE ep, const struct rd_mem *mem, size_t off, size_t len,
		   uint64_t cookie, int n, size_t remote_off)
{
	return rd_rdma(ep, false, mem, off, len, cookie, rl_board->va[n] + remote_off,
		       rl_board->rctx[n]);
}
