/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes incorrect calls and prints the result of each: call, type, subtype. results.sh looks up
 * each result in the manual page of the call. Results are not checked here; only calls that the
 * others depend on must succeed.
 */
#include <limits.h>
#include <sys/mman.h>

#include "examples/common.h"
#include <dat2/dat_registry.h>

/* The result of calls that 1.2 lacks (as12/dat2/udat.h); unused in 2.0. */
#ifndef ABSENT
#define ABSENT ((DAT_RETURN)-1)
#endif

/* RESULT(name, (arguments)) calls dat_<name> and prints its result. */
#define RESULT(name, args) print_result("dat_" #name, dat_##name args)

#define PAGE 4096

static struct ex ex;
static DAT_HANDLE wrong; /* not a valid object of any kind */
static DAT_EVD_HANDLE dto, conn, soft;
static struct ex_mem mem;
static DAT_DTO_COOKIE cookie;

static void print_result(const char *call, DAT_RETURN ret)
{
	const char *type, *subtype;

	if (ret == ABSENT)
		return;
	dat_strerror(ret, &type, &subtype);
	printf("%s %s %s\n", call, type, subtype);
}

static void try_ia(void)
{
	DAT_IA_HANDLE ia = ex.ia, other;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL, out;
	DAT_PROVIDER_INFO *list[1] = { NULL };
	DAT_HA_RELATIONSHIP answer;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;
	char name[300];
	DAT_COUNT n;

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	RESULT(ia_openv, (NULL, 8, &evd, &other, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE));
	RESULT(ia_openv, (name, 8, &evd, &other, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE));
	RESULT(ia_openv,
	       (name + 290, 8, &evd, &other, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE));
	RESULT(ia_openv,
	       ((char *)"ofi", 0, &evd, &other, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE));
	RESULT(ia_openv, ((char *)"ofi", INT_MAX, &evd, &other, DAT_VERSION_MAJOR,
			  DAT_VERSION_MINOR, DAT_FALSE));
	RESULT(ia_openv,
	       ((char *)"ofi", 8, NULL, &other, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE));
	RESULT(ia_openv, ((char *)"ofi", 8, &evd, NULL, 2, 0, DAT_FALSE));
	out = dto;
	RESULT(ia_openv,
	       ((char *)"ofi", 8, &out, &other, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE));
	RESULT(ia_query, (NULL, &out, 0, NULL, 0, NULL));
	RESULT(ia_query, (ia, &out, ~(DAT_IA_ATTR_MASK)0, &attr, 0, NULL));
	RESULT(ia_query, (ia, &out, DAT_IA_FIELD_ALL, NULL, 0, NULL));
	RESULT(ia_query, (ia, &out, 0, NULL, ~(DAT_PROVIDER_ATTR_MASK)0, &prov));
	RESULT(ia_query, (ia, &out, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL));
	RESULT(ia_close, (wrong, DAT_CLOSE_ABRUPT_FLAG));
	RESULT(ia_close, (ia, (DAT_CLOSE_FLAGS)7));
	RESULT(ia_close, (ia, DAT_CLOSE_GRACEFUL_FLAG));
	RESULT(registry_list_providers, (0, &n, NULL));
	RESULT(registry_list_providers, (1, NULL, list));
	RESULT(registry_list_providers, (1, &n, list));
	RESULT(registry_add_provider, (NULL, NULL));
	RESULT(registry_remove_provider, (wrong, NULL));
	RESULT(registry_providers_related, (NULL, name, &answer));
	RESULT(registry_providers_related, (name, NULL, &answer));
	RESULT(registry_providers_related, (name, name, NULL));
	RESULT(registry_providers_related, (name, (char *)"ofi", &answer));
}

static void try_any(void)
{
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context = { .as_64 = 0 };

	RESULT(set_consumer_context, (wrong, context));
	RESULT(get_consumer_context, (NULL, &context));
	RESULT(get_consumer_context, (ex.pz, NULL));
	RESULT(get_handle_type, (wrong, &type));
	RESULT(get_handle_type, (ex.pz, NULL));
	RESULT(strerror, (0, NULL, NULL));
	RESULT(extension_op, (NULL, 1));
	RESULT(extension_op, (NULL, DAT_OPEN_EXTENSION_BASE, NULL));
	RESULT(extension_op, (NULL, DAT_OPEN_EXTENSION_BASE, "no such name"));
}

static DAT_RETURN lmr(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN len,
		      DAT_PZ_HANDLE pz, int rights, int va)
{
	DAT_LMR_CONTEXT key;
	DAT_LMR_HANDLE out;

	return dat_lmr_create(ex.ia, type, region, len, pz, (DAT_MEM_PRIV_FLAGS)rights,
			      (DAT_VA_TYPE)va, &out, &key, NULL, NULL, NULL);
}

static void try_lmr(void)
{
	int both = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	int rd = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	char *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), id[40] = "";
	DAT_LMR_TRIPLET segment = ex_segment(&mem, 0, mem.len + 1);
	DAT_REGION_DESCRIPTION region = { .for_va = p };
	DAT_LMR_PARAM lmr_param;
	DAT_PZ_PARAM param;

	RESULT(pz_create, (NULL, NULL));
	RESULT(pz_create, (ex.ia, NULL));
	RESULT(pz_query, (wrong, DAT_PZ_FIELD_ALL, &param));
	RESULT(pz_query, (ex.pz, (DAT_PZ_PARAM_MASK)2, &param));
	RESULT(pz_query, (ex.pz, DAT_PZ_FIELD_ALL, NULL));
	RESULT(pz_free, (wrong));
	RESULT(pz_free, (ex.pz));
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_VIRTUAL, region, 8, wrong, rd, 0));
	print_result("dat_lmr_create", lmr((DAT_MEM_TYPE)9, region, 8, ex.pz, rd, 0));
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_VIRTUAL, region, 0, ex.pz, rd, 0));
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_VIRTUAL, region, 8, ex.pz, 0x1000, 0));
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_VIRTUAL, region, 8, ex.pz, rd, 5));
	RESULT(lmr_create, (ex.ia, DAT_MEM_TYPE_VIRTUAL, region, 8, ex.pz, DAT_MEM_PRIV_NONE_FLAG,
			    DAT_VA_TYPE_VA, NULL, NULL, NULL, NULL, NULL));
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_VIRTUAL, region, 8, ex.pz, both, 0));
	mprotect(p, PAGE, PROT_NONE);
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_VIRTUAL, region, 8, ex.pz, rd, 0));
	munmap(p, PAGE);
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_VIRTUAL, region, 8, ex.pz, rd, 0));
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_VIRTUAL, region, 8, ex.pz, both, 0));
	region.for_lmr_handle = wrong;
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_LMR, region, 8, ex.pz, rd, 0));
	region.for_shared_memory.virtual_address = p + PAGE;
	region.for_shared_memory.shared_memory_id = NULL;
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, 8, ex.pz, rd, 0));
	region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)id;
	print_result("dat_lmr_create", lmr(DAT_MEM_TYPE_SHARED_VIRTUAL, region, 8, ex.pz, rd, 0));
	RESULT(lmr_query, (wrong, DAT_LMR_FIELD_ALL, &lmr_param));
	RESULT(lmr_query, (mem.lmr, (DAT_LMR_PARAM_MASK)0x800, &lmr_param));
	RESULT(lmr_query, (mem.lmr, DAT_LMR_FIELD_ALL, NULL));
	RESULT(lmr_free, (wrong));
	RESULT(lmr_sync_rdma_read, (NULL, &segment, 1));
	RESULT(lmr_sync_rdma_read, (ex.ia, &segment, 1));
	RESULT(lmr_sync_rdma_write, (ex.ia, NULL, 1));
	munmap(p + PAGE, PAGE);
}

static DAT_RETURN rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE region,
			   const DAT_LMR_TRIPLET *triplet, int va, DAT_EP_HANDLE ep, int flags)
{
	DAT_RMR_COOKIE rmr_cookie = { .as_64 = 0 };
	DAT_RMR_CONTEXT key;

	return dat_rmr_bind(rmr, region, triplet, DAT_MEM_PRIV_REMOTE_READ_FLAG, (DAT_VA_TYPE)va,
			    ep, rmr_cookie, (DAT_COMPLETION_FLAGS)flags, &key);
}

static void try_bind(DAT_RMR_HANDLE rmr)
{
	DAT_LMR_TRIPLET inside = ex_segment(&mem, 0, 8), none = ex_segment(&mem, 0, 0);
	DAT_LMR_TRIPLET outside = ex_segment(&mem, 0, mem.len + 1);
	DAT_EP_HANDLE ep, zoneless;

	ex_check(dat_ep_create(ex.ia, ex.pz, dto, dto, conn, NULL, &ep), "dat_ep_create");
	ex_check(dat_ep_create(ex.ia, DAT_HANDLE_NULL, dto, dto, conn, NULL, &zoneless),
		 "dat_ep_create");
	print_result("dat_rmr_bind", rmr_bind(wrong, mem.lmr, &inside, 0, ep, 0));
	print_result("dat_rmr_bind", rmr_bind(rmr, wrong, &inside, 0, ep, 0));
	print_result("dat_rmr_bind", rmr_bind(rmr, mem.lmr, &inside, 0, wrong, 0));
	print_result("dat_rmr_bind", rmr_bind(rmr, mem.lmr, NULL, 0, ep, 0));
	print_result("dat_rmr_bind", rmr_bind(rmr, mem.lmr, &outside, 0, ep, 0));
	print_result("dat_rmr_bind", rmr_bind(rmr, mem.lmr, &inside, 5, ep, 0));
	print_result("dat_rmr_bind", rmr_bind(rmr, mem.lmr, &inside, 0, zoneless, 0));
	print_result("dat_rmr_bind", rmr_bind(rmr, mem.lmr, &none, 0, zoneless, 0));
	print_result("dat_rmr_bind", rmr_bind(rmr, mem.lmr, &inside, 0, ep, 0));
	ex_check(dat_ep_free(ep), "dat_ep_free");
	ex_check(dat_ep_free(zoneless), "dat_ep_free");
}

static void try_rmr(void)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM param;

	RESULT(rmr_create, (wrong, &rmr));
	RESULT(rmr_create_for_ep, (wrong, &rmr));
	RESULT(rmr_free, (wrong));
	RESULT(rmr_query, (wrong, DAT_RMR_FIELD_ALL, &param));
	if (dat_rmr_create(ex.pz, &rmr) != DAT_SUCCESS) {
		RESULT(rmr_create, (ex.pz, &rmr));
		return;
	}
	RESULT(rmr_create, (ex.pz, NULL));
	RESULT(rmr_query, (rmr, (DAT_RMR_PARAM_MASK)0x80, &param));
	RESULT(rmr_query, (rmr, DAT_RMR_FIELD_LMR_TRIPLET, &param));
	RESULT(rmr_query, (rmr, DAT_RMR_FIELD_PZ_HANDLE, NULL));
	try_bind(rmr);
	ex_check(dat_rmr_free(rmr), "dat_rmr_free");
	RESULT(rmr_free, (rmr));
}

static void try_evd(void)
{
	DAT_EVD_FLAGS software = DAT_EVD_SOFTWARE_FLAG;
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;

	RESULT(evd_create, (NULL, 8, DAT_HANDLE_NULL, software, &evd));
	RESULT(evd_create, (ex.ia, 0, DAT_HANDLE_NULL, software, &evd));
	RESULT(evd_create, (ex.ia, 1 << 30, DAT_HANDLE_NULL, software, &evd));
	RESULT(evd_create, (ex.ia, 8, wrong, software, &evd));
	RESULT(evd_create, (ex.ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)0, &evd));
	RESULT(evd_create, (ex.ia, 8, DAT_HANDLE_NULL, software, NULL));
	RESULT(evd_query, (wrong, DAT_EVD_FIELD_ALL, &param));
	RESULT(evd_query, (soft, (DAT_EVD_PARAM_MASK)0x1000, &param));
	RESULT(evd_query, (soft, DAT_EVD_FIELD_ALL, NULL));
	RESULT(evd_dequeue, (wrong, &event));
	RESULT(evd_dequeue, (soft, &event));
	RESULT(evd_dequeue, (soft, NULL));
	RESULT(evd_wait, (wrong, 0, 1, &event, &more));
	RESULT(evd_wait, (soft, 0, 1, &event, &more));
	RESULT(evd_wait, (soft, 0, 0, &event, &more));
	RESULT(evd_wait, (soft, 0, 1, NULL, &more));
	RESULT(evd_wait, (soft, 0, 1, &event, NULL));
	ex_check(dat_evd_set_unwaitable(soft), "dat_evd_set_unwaitable");
	RESULT(evd_wait, (soft, 0, 1, &event, &more));
	ex_check(dat_evd_clear_unwaitable(soft), "dat_evd_clear_unwaitable");
	RESULT(evd_set_unwaitable, (wrong));
	RESULT(evd_enable, (wrong));
	RESULT(evd_modify_cno, (wrong, DAT_HANDLE_NULL));
	RESULT(evd_modify_cno, (soft, wrong));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.event_data.software_event_data.pointer = NULL;
	RESULT(evd_post_se, (wrong, &event));
	RESULT(evd_post_se, (dto, &event));
	RESULT(evd_post_se, (soft, NULL));
	while (dat_evd_post_se(soft, &event) == DAT_SUCCESS)
		;
	RESULT(evd_post_se, (soft, &event));
	RESULT(evd_resize, (soft, 1));
	RESULT(evd_resize, (soft, 0));
	RESULT(evd_resize, (wrong, 8));
	RESULT(evd_free, (wrong));
	RESULT(evd_free, (ex.async));
}

static void try_cno(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = { NULL, NULL }, bad = { wrong, NULL };
	DAT_CNO_PARAM param;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	int fd;

	RESULT(cno_create, (NULL, none, &cno));
	RESULT(cno_create, (ex.ia, bad, &cno));
	RESULT(cno_create, (ex.ia, none, NULL));
	RESULT(cno_fd_create, (NULL, &fd, &cno));
	RESULT(cno_fd_create, (ex.ia, NULL, &cno));
	RESULT(cno_fd_create, (ex.ia, &fd, NULL));
	ex_check(dat_cno_create(ex.ia, none, &cno), "dat_cno_create");
	RESULT(cno_modify_agent, (wrong, none));
	RESULT(cno_modify_agent, (cno, bad));
	RESULT(cno_query, (wrong, DAT_CNO_FIELD_ALL, &param));
	RESULT(cno_query, (cno, (DAT_CNO_PARAM_MASK)0x10, &param));
	RESULT(cno_query, (cno, DAT_CNO_FIELD_ALL, NULL));
	RESULT(cno_wait, (wrong, 0, &evd));
	RESULT(cno_wait, (cno, 0, &evd));
	RESULT(cno_wait, (cno, 0, NULL));
	RESULT(cno_trigger, (wrong, &evd));
	RESULT(cno_trigger, (cno, &evd));
	RESULT(cno_trigger, (cno, NULL));
	ex_check(dat_evd_modify_cno(soft, cno), "dat_evd_modify_cno");
	RESULT(cno_free, (cno));
	ex_check(dat_evd_modify_cno(soft, DAT_HANDLE_NULL), "dat_evd_modify_cno");
	RESULT(cno_free, (wrong));
}

static void try_ep(void)
{
	DAT_BOOLEAN idle;
	DAT_EP_ATTR attr;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_COUNT n;

	memset(&attr, 0, sizeof(attr));
	memset(&param, 0, sizeof(param));
	RESULT(ep_create, (NULL, ex.pz, dto, dto, conn, NULL, &ep));
	RESULT(ep_create, (ex.ia, wrong, dto, dto, conn, NULL, &ep));
	RESULT(ep_create, (ex.ia, ex.pz, conn, dto, conn, NULL, &ep));
	RESULT(ep_create, (ex.ia, ex.pz, dto, conn, conn, NULL, &ep));
	RESULT(ep_create, (ex.ia, ex.pz, dto, dto, dto, NULL, &ep));
	RESULT(ep_create, (ex.ia, ex.pz, dto, dto, conn, NULL, NULL));
	RESULT(ep_create, (ex.ia, ex.pz, dto, dto, conn, &attr, &ep));
	attr.service_type = (DAT_SERVICE_TYPE)2;
	RESULT(ep_create, (ex.ia, ex.pz, dto, dto, conn, &attr, &ep));
	ex_check(dat_ep_create(ex.ia, ex.pz, dto, dto, conn, NULL, &ep), "dat_ep_create");
	RESULT(ep_query, (wrong, DAT_EP_FIELD_ALL, &param));
	RESULT(ep_query, (ep, ~(DAT_EP_PARAM_MASK)0, &param));
	RESULT(ep_query, (ep, DAT_EP_FIELD_ALL, NULL));
	RESULT(ep_modify, (wrong, DAT_EP_FIELD_PZ_HANDLE, &param));
	RESULT(ep_modify, (ep, DAT_EP_FIELD_EP_STATE, &param));
	RESULT(ep_modify, (ep, DAT_EP_FIELD_PZ_HANDLE, NULL));
	RESULT(ep_modify, (ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	RESULT(ep_get_status, (wrong, NULL, &idle, NULL));
	RESULT(ep_reset, (wrong));
	RESULT(ep_free, (wrong));
	RESULT(ep_disconnect, (wrong, DAT_CLOSE_ABRUPT_FLAG));
	RESULT(ep_disconnect, (ep, (DAT_CLOSE_FLAGS)9));
	RESULT(ep_disconnect, (ep, DAT_CLOSE_ABRUPT_FLAG));
	RESULT(ep_recv_query, (wrong, &n, &n));
	RESULT(ep_recv_query, (ep, &n, &n));
	RESULT(ep_set_watermark, (wrong, -1, -1));
	RESULT(ep_set_watermark, (ep, -1, -1));
	ex_check(dat_ep_free(ep), "dat_ep_free");
}

static void try_connect(void)
{
	DAT_QOS best = DAT_QOS_BEST_EFFORT;
	struct sockaddr_in in = { .sin_family = AF_INET };
	DAT_IA_ADDRESS_PTR addr = (DAT_IA_ADDRESS_PTR)&in;
	DAT_CONNECT_FLAGS none = DAT_CONNECT_DEFAULT_FLAG;
	DAT_EP_HANDLE ep;

	ex_check(dat_ep_create(ex.ia, DAT_HANDLE_NULL, dto, dto, DAT_HANDLE_NULL, NULL, &ep),
		 "dat_ep_create");
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	RESULT(ep_connect, (wrong, addr, 1, 1, 0, NULL, best, none));
	RESULT(ep_connect, (ep, NULL, 1, 1, 0, NULL, best, none));
	RESULT(ep_connect, (ep, addr, 1, 0, 0, NULL, best, none));
	RESULT(ep_connect, (ep, addr, 1, 1, -1, NULL, best, none));
	RESULT(ep_connect, (ep, addr, 1, 1, 4, NULL, best, none));
	RESULT(ep_connect, (ep, addr, 1, 1, 0, NULL, (DAT_QOS)3, none));
	RESULT(ep_connect, (ep, addr, 1, 1, 0, NULL, best, DAT_CONNECT_MULTIPATH_FLAG));
	RESULT(ep_connect, (ep, addr, 1, 1, 0, NULL, best, none));
	RESULT(ep_dup_connect, (ep, wrong, 1, 0, NULL, best));
	RESULT(ep_dup_connect, (ep, ep, 0, 0, NULL, best));
	RESULT(ep_dup_connect, (ep, ep, 1, -1, NULL, best));
	RESULT(ep_dup_connect, (ep, ep, 1, 4, NULL, best));
	RESULT(ep_dup_connect, (ep, ep, 1, 0, NULL, (DAT_QOS)3));
	RESULT(ep_dup_connect, (ep, ep, 1, 0, NULL, best));
	ex_check(dat_ep_free(ep), "dat_ep_free");
	ex_check(dat_ep_create(ex.ia, DAT_HANDLE_NULL, dto, dto, conn, NULL, &ep), "dat_ep_create");
	RESULT(ep_connect, (ep, addr, 1, 1, 0, NULL, best, none));
	in.sin_addr.s_addr = htonl(INADDR_ANY);
	RESULT(ep_connect, (ep, addr, 1, 1, 0, NULL, best, none));
	in.sin_family = AF_UNIX;
	RESULT(ep_connect, (ep, addr, 1, 1, 0, NULL, best, none));
	ex_check(dat_ep_free(ep), "dat_ep_free");
}

static void try_service_points(void)
{
	DAT_PSP_FLAGS flags = DAT_PSP_CONSUMER_FLAG;
	DAT_PSP_HANDLE psp, more;
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;

	ex_check(dat_ep_create(ex.ia, ex.pz, dto, dto, conn, NULL, &ep), "dat_ep_create");
	RESULT(psp_create_any, (NULL, &qual, conn, flags, &psp));
	RESULT(psp_create_any, (ex.ia, NULL, conn, flags, &psp));
	RESULT(psp_create_any, (ex.ia, &qual, dto, flags, &psp));
	RESULT(psp_create_any, (ex.ia, &qual, conn, (DAT_PSP_FLAGS)5, &psp));
	RESULT(psp_create_any, (ex.ia, &qual, conn, flags, NULL));
	ex_check(dat_psp_create_any(ex.ia, &qual, conn, flags, &psp), "dat_psp_create_any");
	RESULT(psp_create, (NULL, qual, conn, flags, &more));
	RESULT(psp_create, (ex.ia, qual, conn, flags, &more));
	RESULT(psp_create, (ex.ia, qual, dto, flags, &more));
	RESULT(psp_create, (ex.ia, qual, conn, (DAT_PSP_FLAGS)5, &more));
	RESULT(psp_create, (ex.ia, qual, conn, flags, NULL));
	RESULT(psp_query, (wrong, DAT_PSP_FIELD_ALL, &psp_param));
	RESULT(psp_query, (psp, (DAT_PSP_PARAM_MASK)0x10, &psp_param));
	RESULT(psp_query, (psp, DAT_PSP_FIELD_ALL, NULL));
	RESULT(psp_free, (wrong));
	RESULT(rsp_create, (ex.ia, qual, wrong, conn, &rsp));
	RESULT(rsp_create, (ex.ia, qual, ep, dto, &rsp));
	RESULT(rsp_create, (ex.ia, qual, ep, conn, NULL));
	RESULT(rsp_create, (ex.ia, qual, ep, conn, &rsp));
	ex_check(dat_psp_free(psp), "dat_psp_free");
	ex_check(dat_rsp_create(ex.ia, qual, ep, conn, &rsp), "dat_rsp_create");
	RESULT(rsp_create, (ex.ia, qual, ep, conn, &more));
	RESULT(ep_free, (ep));
	RESULT(ep_reset, (ep));
	RESULT(rsp_query, (wrong, DAT_RSP_FIELD_ALL, &rsp_param));
	RESULT(rsp_query, (rsp, (DAT_RSP_PARAM_MASK)0x10, &rsp_param));
	RESULT(rsp_query, (rsp, DAT_RSP_FIELD_ALL, NULL));
	ex_check(dat_rsp_free(rsp), "dat_rsp_free");
	RESULT(rsp_free, (wrong));
	ex_check(dat_ep_free(ep), "dat_ep_free");
}

#if DAT_VERSION_MAJOR == 2
static void try_csp(void)
{
	struct sockaddr_storage storage = { .ss_family = AF_INET };
	DAT_IA_ADDRESS_PTR any = (DAT_IA_ADDRESS_PTR)&storage;
	DAT_COMM comm = { 0, 0, 0 };
	DAT_CSP_HANDLE csp, more;
	DAT_CSP_PARAM param;
	DAT_IA_ATTR attr;
	DAT_EP_HANDLE ep;

	ex_check(dat_ia_query(ex.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL),
		 "dat_ia_query");
	any->sa_family = attr.ia_address_ptr->sa_family;
	RESULT(csp_create, (NULL, &comm, NULL, conn, &csp));
	RESULT(csp_create, (ex.ia, NULL, any, conn, &csp));
	RESULT(csp_create, (ex.ia, &comm, NULL, conn, &csp));
	RESULT(csp_create, (ex.ia, &comm, any, dto, &csp));
	RESULT(csp_create, (ex.ia, &comm, any, conn, NULL));
	RESULT(csp_create, (ex.ia, &comm, any, conn, &csp));
	comm.domain = any->sa_family;
	comm.type = SOCK_STREAM;
	ex_check(dat_csp_create(ex.ia, &comm, any, conn, &csp), "dat_csp_create");
	RESULT(csp_query, (wrong, DAT_CSP_FIELD_ALL, &param));
	RESULT(csp_query, (csp, (DAT_CSP_PARAM_MASK)0x10, &param));
	RESULT(csp_query, (csp, DAT_CSP_FIELD_ALL, NULL));
	ex_check(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param), "dat_csp_query");
	RESULT(csp_create, (ex.ia, &comm, param.address_ptr, conn, &more));
	RESULT(csp_free, (wrong));
	ex_check(dat_csp_free(csp), "dat_csp_free");
	ex_check(dat_ep_create(ex.ia, ex.pz, dto, dto, conn, NULL, &ep), "dat_ep_create");
	RESULT(ep_common_connect, (wrong, any, 1, 0, NULL));
	RESULT(ep_common_connect, (ep, NULL, 1, 0, NULL));
	RESULT(ep_common_connect, (ep, any, 0, 0, NULL));
	RESULT(ep_common_connect, (ep, any, 1, -1, NULL));
	RESULT(ep_common_connect, (ep, any, 1, 4, NULL));
	RESULT(ep_common_connect, (ep, any, 1, 0, NULL));
	ex_check(dat_ep_free(ep), "dat_ep_free");
}
#endif

static void try_srq(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_LMR_TRIPLET segment = ex_segment(&mem, 0, 8);
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep, none;
	DAT_EP_PARAM like;

	RESULT(srq_create, (NULL, ex.pz, &attr, &srq));
	RESULT(srq_query, (wrong, DAT_SRQ_FIELD_ALL, &param));
	RESULT(srq_post_recv, (wrong, 1, &segment, cookie));
	RESULT(srq_resize, (wrong, 8));
	RESULT(srq_set_lw, (wrong, 1));
	RESULT(srq_free, (wrong));
	RESULT(ep_create_with_srq, (NULL, ex.pz, dto, dto, conn, wrong, NULL, &ep));
	RESULT(ep_create_with_srq, (ex.ia, ex.pz, dto, dto, conn, wrong, NULL, &ep));
	if (dat_srq_create(ex.ia, ex.pz, &attr, &srq) != DAT_SUCCESS) {
		RESULT(srq_create, (ex.ia, ex.pz, &attr, &srq));
		return;
	}
	RESULT(srq_create, (ex.ia, wrong, &attr, &srq));
	RESULT(srq_create, (ex.ia, ex.pz, NULL, &srq));
	RESULT(srq_create, (ex.ia, ex.pz, &attr, NULL));
	RESULT(srq_query, (srq, (DAT_SRQ_PARAM_MASK)0x100, &param));
	RESULT(srq_query, (srq, DAT_SRQ_FIELD_ALL, NULL));
	RESULT(srq_post_recv, (srq, -1, &segment, cookie));
	RESULT(srq_post_recv, (srq, 1, NULL, cookie));
	segment.lmr_context = 0;
	RESULT(srq_post_recv, (srq, 1, &segment, cookie));
	RESULT(srq_resize, (srq, 0));
	RESULT(srq_set_lw, (srq, -1));
	/* 1.2 rejects NULL */
	ex_check(dat_ep_create(ex.ia, ex.pz, dto, dto, conn, NULL, &ep), "dat_ep_create");
	ex_check(dat_ep_query(ep, DAT_EP_FIELD_ALL, &like), "dat_ep_query");
	ex_check(dat_ep_free(ep), "dat_ep_free");
	like.ep_attr.max_recv_dtos = like.ep_attr.srq_soft_hw = -1;
	ex_check(dat_ep_create_with_srq(ex.ia, ex.pz, dto, dto, conn, srq, &like.ep_attr, &ep),
		 "dat_ep_create_with_srq");
	if (dat_ep_create_with_srq(ex.ia, ex.pz, dto, dto, conn, srq, NULL, &none) == DAT_SUCCESS)
		ex_check(dat_ep_free(none), "dat_ep_free");
	else
		RESULT(ep_create_with_srq, (ex.ia, ex.pz, dto, dto, conn, srq, NULL, &none));
	RESULT(ep_create_with_srq, (ex.ia, ex.pz, dto, dto, conn, srq, NULL, NULL));
	RESULT(ep_set_watermark, (ep, -2, -1));
	RESULT(ep_set_watermark, (ep, -1, 1 << 30));
	segment = ex_segment(&mem, 0, 8);
	RESULT(ep_post_recv, (ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	RESULT(srq_free, (srq));
	ex_check(dat_ep_free(ep), "dat_ep_free");
	ex_check(dat_srq_free(srq), "dat_srq_free");
}

static void try_requests(DAT_EP_HANDLE active, DAT_EP_HANDLE passive)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	ex_wait(conn, EX_PATIENCE, DAT_CONNECTION_REQUEST_EVENT, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	RESULT(cr_query, (wrong, DAT_CR_FIELD_ALL, &param));
	RESULT(cr_query, (cr, (DAT_CR_PARAM_MASK)0x20, &param));
	RESULT(cr_query, (cr, DAT_CR_FIELD_ALL, NULL));
	RESULT(cr_accept, (cr, DAT_HANDLE_NULL, 0, NULL));
	RESULT(cr_accept, (cr, passive, -1, NULL));
	RESULT(cr_accept, (cr, passive, 4, NULL));
	RESULT(cr_accept, (cr, active, 0, NULL));
	RESULT(cr_handoff, (wrong, 1));
	RESULT(cr_handoff, (cr, 1));
	RESULT(cr_reject, (wrong, 0, NULL));
	RESULT(cr_reject, (cr, -1, NULL));
	RESULT(cr_reject, (cr, 4, NULL));
	ex_check(dat_cr_accept(cr, passive, 0, NULL), "dat_cr_accept");
	RESULT(cr_accept, (cr, passive, 0, NULL));
}

static void try_posts(DAT_EP_HANDLE ep)
{
	DAT_COMPLETION_FLAGS plain = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_COMPLETION_FLAGS quiet = DAT_COMPLETION_UNSIGNALLED_FLAG;
	DAT_LMR_TRIPLET seg = ex_segment(&mem, 0, 64), unknown = seg;
	DAT_LMR_TRIPLET outside = ex_segment(&mem, 0, mem.len + 1);
	DAT_RMR_TRIPLET far = { .segment_length = 32, .rmr_context = mem.remote_key };

	unknown.lmr_context = 0;
	RESULT(ep_post_recv, (wrong, 1, &seg, cookie, plain));
	RESULT(ep_post_recv, (ep, 5, &seg, cookie, plain));
	RESULT(ep_post_recv, (ep, 1, NULL, cookie, plain));
	RESULT(ep_post_recv, (ep, 1, &outside, cookie, plain));
	RESULT(ep_post_recv, (ep, 1, &unknown, cookie, plain));
	RESULT(ep_post_recv, (ep, 1, &seg, cookie, quiet));
	RESULT(ep_post_send, (wrong, 1, &seg, cookie, plain));
	RESULT(ep_post_send, (ep, -1, &seg, cookie, plain));
	RESULT(ep_post_send, (ep, 1, &outside, cookie, plain));
	RESULT(ep_post_send, (ep, 1, &unknown, cookie, plain));
	RESULT(ep_post_send, (ep, 1, &seg, cookie, quiet));
	RESULT(ep_post_rdma_write, (ep, 1, &seg, cookie, NULL, plain));
	RESULT(ep_post_rdma_write, (ep, 1, &seg, cookie, &far, plain));
	RESULT(ep_post_rdma_write, (ep, 1, &unknown, cookie, &far, plain));
	RESULT(ep_post_rdma_write, (ep, 1, &seg, cookie, &far, quiet));
	far.segment_length = 65;
	RESULT(ep_post_rdma_read, (ep, 1, &seg, cookie, NULL, plain));
	RESULT(ep_post_rdma_read, (ep, 1, &seg, cookie, &far, plain));
	RESULT(ep_post_rdma_read, (ep, 9, &seg, cookie, &far, plain));
	RESULT(ep_post_rdma_read, (ep, 1, &unknown, cookie, &far, plain));
	RESULT(ep_post_rdma_read, (ep, 1, &seg, cookie, &far, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	RESULT(ep_post_send_with_invalidate, (wrong, 1, &seg, cookie, plain, DAT_TRUE, 1));
	RESULT(ep_post_send_with_invalidate, (ep, 1, &seg, cookie, plain, DAT_TRUE, 0));
	RESULT(ep_post_send_with_invalidate, (ep, 9, &seg, cookie, plain, DAT_TRUE, 1));
	RESULT(ep_post_rdma_read_to_rmr, (ep, NULL, cookie, &far, plain));
	RESULT(ep_post_rdma_read_to_rmr, (ep, &far, cookie, NULL, plain));
	RESULT(ep_post_rdma_read_to_rmr, (ep, &far, cookie, &far, quiet));
	while (dat_ep_post_recv(ep, 1, &seg, cookie, plain) == DAT_SUCCESS)
		;
	RESULT(ep_post_recv, (ep, 1, &seg, cookie, plain));
}

static void try_connected(void)
{
	DAT_EP_HANDLE active, passive, third;
	DAT_LMR_TRIPLET seg = ex_segment(&mem, 0, 64);
	DAT_EP_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;

	ex_check(dat_ia_query(ex.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), "dat_ia_query");
	ex_check(dat_ep_create(ex.ia, ex.pz, dto, dto, conn, NULL, &active), "dat_ep_create");
	ex_check(dat_ep_create(ex.ia, ex.pz, dto, dto, conn, NULL, &passive), "dat_ep_create");
	ex_check(dat_ep_create(ex.ia, ex.pz, dto, dto, conn, NULL, &third), "dat_ep_create");
	ex_check(dat_psp_create_any(ex.ia, &qual, conn, DAT_PSP_CONSUMER_FLAG, &psp),
		 "dat_psp_create_any");
	ex_check(dat_ep_connect(active, attr.ia_address_ptr, qual, EX_PATIENCE, 0, NULL,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		 "dat_ep_connect");
	RESULT(ep_post_send, (active, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	try_requests(active, passive);
	ex_expect(conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	ex_expect(conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	try_posts(active);
	RESULT(ep_dup_connect, (third, passive, 1, 0, NULL, DAT_QOS_BEST_EFFORT));
	RESULT(ep_reset, (active));
	memset(&param, 0, sizeof(param));
	param.pz_handle = ex.pz;
	RESULT(ep_modify, (active, DAT_EP_FIELD_PZ_HANDLE, &param));
	RESULT(evd_free, (dto));
}

int main(void)
{
	char name[] = "ofi";

	/* Aligned memory that begins like an object of the provider. */
	wrong = calloc(1, PAGE);
	ex_open(&ex, name);
	if (!wrong)
		ex_die("no memory");
	*(void **)wrong = *(void **)ex.pz;
	dto = ex_evd(&ex, DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	conn = ex_evd(&ex, DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	soft = ex_evd(&ex, DAT_EVD_SOFTWARE_FLAG, DAT_HANDLE_NULL);
	ex_register(&ex, &mem, PAGE);
	try_ia();
	try_any();
	try_lmr();
	try_rmr();
	try_evd();
	try_cno();
	try_ep();
	try_connect();
	try_service_points();
#if DAT_VERSION_MAJOR == 2
	try_csp();
#endif
	try_srq();
	try_connected();
	ex_close(&ex);
	free(mem.p);
	free(wrong);
	return 0;
}
