/* SPDX-License-Identifier: BSD-2-Clause */
/* Every macro of the 2.0 headers compiles where a program or provider uses it. */
#include <stdarg.h>
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_iw_extensions.h>

/* The values mean nothing: this file is compiled and never run. */
static char name[] = "ofi";
static DAT_IA_ADDRESS_PTR address;
static DAT_BOOLEAN boolean;
static DAT_PVOID buf;
static DAT_CLOSE_FLAGS close_flags;
static DAT_CNO_HANDLE cno;
static DAT_CNO_PARAM cno_param;
static DAT_CNO_PARAM_MASK cno_param_mask;
static DAT_COMM comm;
static DAT_CONN_QUAL conn_qual;
static DAT_CONNECT_FLAGS connect_flags;
static DAT_CONTEXT context;
static DAT_COUNT count;
static DAT_CR_HANDLE cr;
static DAT_CR_PARAM cr_param;
static DAT_CR_PARAM_MASK cr_param_mask;
static DAT_CSP_HANDLE csp;
static DAT_CSP_PARAM csp_param;
static DAT_CSP_PARAM_MASK csp_param_mask;
static DAT_DTO_COOKIE dto_cookie;
static DAT_EP_HANDLE ep;
static DAT_EP_ATTR ep_attr;
static DAT_EP_PARAM ep_param;
static DAT_EP_PARAM_MASK ep_param_mask;
static DAT_EP_STATE ep_state;
static DAT_EVD_HANDLE evd;
static DAT_EVD_FLAGS evd_flags;
static DAT_EVD_PARAM evd_param;
static DAT_EVD_PARAM_MASK evd_param_mask;
static DAT_EVENT event;
static DAT_EXTENDED_OP extended_op;
static DAT_FD fd;
static DAT_COMPLETION_FLAGS flags;
static DAT_HANDLE handle;
static DAT_HANDLE_TYPE handle_type;
static DAT_IA_HANDLE ia;
static DAT_IA_ATTR ia_attr;
static DAT_IA_ATTR_MASK ia_attr_mask;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_context;
static DAT_LMR_PARAM lmr_param;
static DAT_LMR_PARAM_MASK lmr_param_mask;
static DAT_LMR_TRIPLET lmr_triplet;
static DAT_MEM_PRIV_FLAGS mem_priv_flags;
static DAT_MEM_TYPE mem_type;
static DAT_PROVIDER_ATTR provider_attr;
static DAT_PROVIDER_ATTR_MASK provider_attr_mask;
static DAT_PSP_HANDLE psp;
static DAT_PSP_FLAGS psp_flags;
static DAT_PSP_PARAM psp_param;
static DAT_PSP_PARAM_MASK psp_param_mask;
static DAT_PZ_HANDLE pz;
static DAT_PZ_PARAM pz_param;
static DAT_PZ_PARAM_MASK pz_param_mask;
static DAT_QOS qos;
static DAT_REGION_DESCRIPTION region_description;
static DAT_RMR_HANDLE rmr;
static DAT_RMR_CONTEXT rmr_context;
static DAT_RMR_COOKIE rmr_cookie;
static DAT_RMR_PARAM rmr_param;
static DAT_RMR_PARAM_MASK rmr_param_mask;
static DAT_RMR_TRIPLET rmr_triplet;
static DAT_RSP_HANDLE rsp;
static DAT_RSP_PARAM rsp_param;
static DAT_RSP_PARAM_MASK rsp_param_mask;
static DAT_SRQ_HANDLE srq;
static DAT_SRQ_ATTR srq_attr;
static DAT_SRQ_PARAM srq_param;
static DAT_SRQ_PARAM_MASK srq_param_mask;
static DAT_TIMEOUT timeout;
static DAT_VA_TYPE va_type;
static DAT_VADDR vaddr;
static DAT_VLEN vlen;
static const char *text;
static struct dat_ib_addr_handle ah;
static DAT_UINT64 counters[DCNT_IA_ALL_COUNTERS];
static DAT_UINT64 clock_value;
static int sizes[2];
static DAT_IB_COLLECTIVE_HANDLE coll;
static DAT_IB_COLLECTIVE_MEMBER member;
static DAT_IB_COLLECTIVE_RANK rank;
static DAT_IB_COLLECTIVE_ID id;
static DAT_IB_COLLECTIVE_GROUP group;
static DAT_IB_COLLECTIVE_DATA_TYPE type;
static DAT_IB_COLLECTIVE_REDUCE_DATA_OP op;

DAT_RETURN use_redirection(va_list args);

DAT_RETURN use_redirection(va_list args)
{
	DAT_RETURN result = DAT_SUCCESS;

	result |= DAT_LMR_CREATE(
		ia, mem_type, region_description, vlen, pz, mem_priv_flags, va_type, &lmr,
		&lmr_context, &rmr_context, &vlen, &vaddr);
	result |= DAT_EVD_CREATE(ia, count, cno, evd_flags, &evd);
	result |= DAT_EVD_ENABLE(evd);
	result |= DAT_EVD_WAIT(evd, timeout, count, &event, &count);
	result |= DAT_EVD_DISABLE(evd);
	result |= DAT_EVD_SET_UNWAITABLE(evd);
	result |= DAT_EVD_CLEAR_UNWAITABLE(evd);
	result |= DAT_EVD_MODIFY_CNO(evd, cno);
	result |= DAT_CNO_CREATE(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno);
	result |= DAT_CNO_FD_CREATE(ia, &fd, &cno);
	result |= DAT_CNO_TRIGGER(cno, &evd);
	result |= DAT_CNO_MODIFY_AGENT(cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
	result |= DAT_CNO_QUERY(cno, cno_param_mask, &cno_param);
	result |= DAT_CNO_FREE(cno);
	result |= DAT_CNO_WAIT(cno, timeout, &evd);
	result |= DAT_IA_QUERY(
		ia, &evd, ia_attr_mask, &ia_attr, provider_attr_mask, &provider_attr);
	result |= DAT_SET_CONSUMER_CONTEXT(handle, context);
	result |= DAT_GET_CONSUMER_CONTEXT(handle, &context);
	result |= DAT_GET_HANDLE_TYPE(handle, &handle_type);
	result |= DAT_CR_QUERY(cr, cr_param_mask, &cr_param);
	result |= DAT_CR_ACCEPT(cr, ep, count, buf);
	result |= DAT_CR_REJECT(cr, count, buf);
	result |= DAT_CR_HANDOFF(cr, conn_qual);
	result |= DAT_EVD_QUERY(evd, evd_param_mask, &evd_param);
	result |= DAT_EVD_RESIZE(evd, count);
	result |= DAT_EVD_POST_SE(evd, &event);
	result |= DAT_EVD_DEQUEUE(evd, &event);
	result |= DAT_EVD_FREE(evd);
	result |= DAT_EP_CREATE(ia, pz, evd, evd, evd, &ep_attr, &ep);
	result |= DAT_EP_CREATE_WITH_SRQ(ia, pz, evd, evd, evd, srq, &ep_attr, &ep);
	result |= DAT_EP_QUERY(ep, ep_param_mask, &ep_param);
	result |= DAT_EP_MODIFY(ep, ep_param_mask, &ep_param);
	result |= DAT_EP_CONNECT(ep, address, conn_qual, timeout, count, buf, qos, connect_flags);
	result |= DAT_EP_COMMON_CONNECT(ep, address, timeout, count, buf);
	result |= DAT_EP_DUP_CONNECT(ep, ep, timeout, count, buf, qos);
	result |= DAT_EP_DISCONNECT(ep, close_flags);
	result |= DAT_EP_POST_SEND(ep, count, &lmr_triplet, dto_cookie, flags);
	result |= DAT_EP_POST_SEND_WITH_INVALIDATE(
		ep, count, &lmr_triplet, dto_cookie, flags, boolean, rmr_context);
	result |= DAT_EP_POST_RECV(ep, count, &lmr_triplet, dto_cookie, flags);
	result |= DAT_EP_POST_RDMA_READ(ep, count, &lmr_triplet, dto_cookie, &rmr_triplet, flags);
	result |= DAT_EP_POST_RDMA_READ_TO_RMR(ep, &rmr_triplet, dto_cookie, &rmr_triplet, flags);
	result |= DAT_EP_POST_RDMA_WRITE(ep, count, &lmr_triplet, dto_cookie, &rmr_triplet, flags);
	result |= DAT_EP_GET_STATUS(ep, &ep_state, &boolean, &boolean);
	result |= DAT_EP_FREE(ep);
	result |= DAT_EP_RESET(ep);
	result |= DAT_EP_RECV_QUERY(ep, &count, &count);
	result |= DAT_EP_SET_WATERMARK(ep, count, count);
	result |= DAT_LMR_QUERY(lmr, lmr_param_mask, &lmr_param);
	result |= DAT_LMR_FREE(lmr);
	result |= DAT_LMR_SYNC_RDMA_READ(ia, &lmr_triplet, vlen);
	result |= DAT_LMR_SYNC_RDMA_WRITE(ia, &lmr_triplet, vlen);
	result |= DAT_RMR_CREATE(pz, &rmr);
	result |= DAT_RMR_CREATE_FOR_EP(pz, &rmr);
	result |= DAT_RMR_QUERY(rmr, rmr_param_mask, &rmr_param);
	result |= DAT_RMR_BIND(
		rmr, lmr, &lmr_triplet, mem_priv_flags, va_type, ep, rmr_cookie, flags,
		&rmr_context);
	result |= DAT_RMR_FREE(rmr);
	result |= DAT_PSP_CREATE(ia, conn_qual, evd, psp_flags, &psp);
	result |= DAT_PSP_CREATE_ANY(ia, &conn_qual, evd, psp_flags, &psp);
	result |= DAT_PSP_QUERY(psp, psp_param_mask, &psp_param);
	result |= DAT_PSP_FREE(psp);
	result |= DAT_RSP_CREATE(ia, conn_qual, ep, evd, &rsp);
	result |= DAT_RSP_QUERY(rsp, rsp_param_mask, &rsp_param);
	result |= DAT_RSP_FREE(rsp);
	result |= DAT_CSP_CREATE(ia, &comm, address, evd, &csp);
	result |= DAT_CSP_QUERY(csp, csp_param_mask, &csp_param);
	result |= DAT_CSP_FREE(csp);
	result |= DAT_PZ_CREATE(ia, &pz);
	result |= DAT_PZ_QUERY(pz, pz_param_mask, &pz_param);
	result |= DAT_PZ_FREE(pz);
	result |= DAT_SRQ_CREATE(ia, pz, &srq_attr, &srq);
	result |= DAT_SRQ_SET_LW(srq, count);
	result |= DAT_SRQ_FREE(srq);
	result |= DAT_SRQ_QUERY(srq, srq_param_mask, &srq_param);
	result |= DAT_SRQ_RESIZE(srq, count);
	result |= DAT_SRQ_POST_RECV(srq, count, &lmr_triplet, dto_cookie);
	result |= DAT_HANDLE_EXTENDEDOP(handle, extended_op, args);
	return result;
}

DAT_RETURN use_common(void);

DAT_RETURN use_common(void)
{
	DAT_RETURN result = DAT_SUCCESS;

	result |= dat_ia_open(name, 8, &evd, &ia);
	result |= dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno);
	result |= DAT_IS_WARNING(result);
	result |= DAT_GET_TYPE(result);
	result |= DAT_GET_SUBTYPE(result);
	result |= (DAT_RETURN)DAT_IA_HANDLE_TO_UL(DAT_UL_TO_IA_HANDLE(1));
	result |= (DAT_RETURN)(DAT_IA_ALL & ~DAT_IA_FIELD_IA_MAX_MTU_SIZE);
	result |= (DAT_RETURN)(ia_attr.max_mtu_size + (DAT_UINT32)ia_attr.max_rdma_read_per_ep);
	return result;
}

DAT_RETURN use_extensions(void);

DAT_RETURN use_extensions(void)
{
	DAT_RETURN result = DAT_SUCCESS;

	result |= dat_ib_post_fetch_and_add(ep, 1, &lmr_triplet, dto_cookie, &rmr_triplet, flags);
	result |= dat_ib_post_cmp_and_swap(
		ep, 1, 2, &lmr_triplet, dto_cookie, &rmr_triplet, flags);
	result |= dat_ib_post_rdma_write_immed(
		ep, 1, &lmr_triplet, dto_cookie, &rmr_triplet, 3, flags);
	result |= dat_ib_post_send_ud(ep, 1, &lmr_triplet, &ah, dto_cookie, flags);
	result |= dat_ib_post_recv_ud(ep, 1, &lmr_triplet, dto_cookie, flags);
	result |= dat_ib_ud_cm_free(ep, context);
	result |= dat_ib_ud_ah_free(ep, &ah);
	result |= dat_ib_query_counters(ep, DCNT_EP_ALL_COUNTERS, counters, 0);
	result |= dat_ib_print_counters(evd, DCNT_EVD_WAIT, 1);
	result |= dat_query_counters(ia, DCNT_IA_PZ_CREATE, counters, 0);
	result |= dat_print_counters(ia, DCNT_IA_ALL_COUNTERS, 0);
	result |= dat_ib_start_counter(ia, DCNT_IA_CM);
	result |= dat_ib_stop_counter(ia, DCNT_IA_DIAG);
	result |= dat_ib_open_query(
		name, &ia, DAT_IA_FIELD_ALL, &ia_attr, DAT_PROVIDER_FIELD_ALL, &provider_attr);
	result |= dat_ib_close_query(ia);
	result |= dat_ib_collective_create_member(ia, (void *)0, &member, &count);
	result |= dat_ib_collective_free_member(ia, member);
	result |= dat_ib_collective_create_group(&member, 1, rank, id, &group, evd, pz, context);
	result |= dat_ib_collective_free_group(coll);
	result |= dat_ib_collective_set_clock(coll, clock_value, context);
	result |= dat_ib_collective_read_clock(coll, &clock_value);
	result |= dat_ib_collective_scatter(coll, buf, 8, buf, 8, 0, context, flags);
	result |= dat_ib_collective_scatterv(coll, buf, sizes, sizes, buf, 8, 0, context, flags);
	result |= dat_ib_collective_gather(coll, buf, 8, buf, 8, 0, context, flags);
	result |= dat_ib_collective_gatherv(coll, buf, 8, buf, sizes, sizes, 0, context, flags);
	result |= dat_ib_collective_allgather(coll, buf, 8, buf, 8, context, flags);
	result |= dat_ib_collective_allgatherv(coll, buf, 8, buf, sizes, sizes, context, flags);
	result |= dat_ib_collective_alltoall(coll, buf, 8, buf, 8, context, flags);
	result |= dat_ib_collective_alltoallv(
		coll, buf, sizes, sizes, buf, sizes, sizes, context, flags);
	result |= dat_ib_collective_reduce(coll, buf, 8, buf, 8, op, type, 0, context, flags);
	result |= dat_ib_collective_allreduce(coll, buf, 8, buf, 8, op, type, context, flags);
	result |= dat_ib_collective_reduce_scatter(
		coll, buf, 8, buf, sizes, op, type, context, flags);
	result |= dat_ib_collective_scan(coll, buf, 8, buf, 8, op, type, context, flags);
	result |= dat_ib_collective_broadcast(coll, buf, 8, 0, context, flags);
	result |= dat_ib_collective_barrier(coll, context, flags);
	result |= dat_iw_query_counters(ia, DCNT_IA_ALL_COUNTERS, counters, 1);
	result |= dat_iw_print_counters(ep, DCNT_EP_RECV, 0);
	result |= dat_strerror_extension(DAT_IB_COLLECTIVE_ERR, &text);
	result |= dat_strerror_ext_status(DAT_IB_OP_ERR, &text);
	return result;
}
