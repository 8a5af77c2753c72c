/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls for event dispatchers, notification and memory, as a part of dat_info --calls. Compiled
 * once per API version.
 */
#include "config.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "calls_run.h"

#define QLEN 8

/* ---- events and notification ---- */

static DAT_RETURN post_software(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.evd_handle = evd;
	return D.dat_evd_post_se(evd, &event);
}

static void run_cno(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL, seen = DAT_HANDLE_NULL;
	DAT_CNO_PARAM cno_param;
	DAT_EVD_PARAM evd_param;
	DAT_EVENT event;

	TRY(dat_cno_modify_agent, cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
	TRY(dat_cno_query, cno, DAT_CNO_FIELD_ALL, &cno_param);
	if (!TRY(dat_evd_create, info_run.ia, QLEN, cno, DAT_EVD_SOFTWARE_FLAG, &evd))
		return;
	TRY(dat_evd_query, evd, DAT_EVD_FIELD_ALL, &evd_param);
	TRY(dat_evd_disable, evd);
	TRY(dat_evd_enable, evd);
	TRY(dat_evd_resize, evd, 2 * QLEN);
	if (info_run_result("dat_evd_post_se", NULL, post_software(evd))) {
		if (TRY(dat_cno_wait, cno, info_run.wait_us, &seen) && seen != evd)
			info_run_wrong("dat_cno_wait", NULL, "not the EVD with the event");
		TRY(dat_evd_dequeue, evd, &event);
	}
	TRY(dat_evd_modify_cno, evd, DAT_HANDLE_NULL);
	if (post_software(evd) == DAT_SUCCESS)
		info_run_effect("dat_evd_wait", NULL, DAT_SUCCESS,
				info_run_event(evd, DAT_SOFTWARE_EVENT, &event));
	TRY(dat_evd_set_unwaitable, evd);
	TRY(dat_evd_clear_unwaitable, evd);
	TRY(dat_evd_free, evd);
}

#if DAT_API_MAJOR >= 2
static void run_cno_fd(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL, seen = DAT_HANDLE_NULL;
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	struct pollfd fd = { .events = POLLIN };
	DAT_EVENT event;

	if (!TRY(dat_cno_fd_create, info_run.ia, &fd.fd, &cno))
		return;
	if (TRY(dat_evd_create, info_run.ia, QLEN, cno, DAT_EVD_SOFTWARE_FLAG, &evd)) {
		if (post_software(evd) == DAT_SUCCESS) {
			if (poll(&fd, 1, (int)(info_run.wait_us / 1000)) != 1)
				info_run_wrong("dat_cno_fd_create", NULL,
					       "the descriptor is not readable after an event");
			if (TRY(dat_cno_trigger, cno, &seen) && seen != evd)
				info_run_wrong("dat_cno_trigger", NULL,
					       "not the EVD with the event");
			TRY(dat_evd_dequeue, evd, &event);
		}
		TRY(dat_evd_free, evd);
	}
	TRY(dat_cno_free, cno);
}
#endif

void info_run_events(void)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	if (TRY(dat_cno_create, info_run.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno)) {
		run_cno(cno);
		TRY(dat_cno_free, cno);
	}
#if DAT_API_MAJOR >= 2
	run_cno_fd();
#endif
}

/* ---- memory ---- */

DAT_DTO_COOKIE info_run_cookie(uint64_t value)
{
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = value;
	return cookie;
}

DAT_LMR_TRIPLET info_run_local(const struct info_run_end *end, size_t len)
{
	DAT_LMR_TRIPLET triplet;

	memset(&triplet, 0, sizeof(triplet));
	triplet.lmr_context = end->lmr_context;
	triplet.virtual_address = (DAT_VADDR)(uintptr_t)end->mem;
	triplet.segment_length = (__typeof__(triplet.segment_length))len;
	return triplet;
}

DAT_RMR_TRIPLET info_run_remote(DAT_VADDR address, size_t len, DAT_RMR_CONTEXT context)
{
	DAT_RMR_TRIPLET triplet;

	memset(&triplet, 0, sizeof(triplet));
	triplet.rmr_context = context;
#if DAT_API_MAJOR == 1
	triplet.target_address = address;
#else
	triplet.virtual_address = address;
#endif
	triplet.segment_length = (__typeof__(triplet.segment_length))len;
	return triplet;
}

bool info_run_register(const char *use, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
		       size_t len, int priv, bool zero_based, struct info_run_end *end)
{
	DAT_VLEN size;
	DAT_VADDR address;

#if DAT_API_MAJOR == 1
	(void)zero_based;
	return TRY_USE(dat_lmr_create, use, info_run.ia, type, region, len, info_run.pz,
		       (DAT_MEM_PRIV_FLAGS)priv, &end->lmr, &end->lmr_context, &end->rmr_context,
		       &size, &address);
#else
	return TRY_USE(dat_lmr_create, use, info_run.ia, type, region, len, info_run.pz,
		       (DAT_MEM_PRIV_FLAGS)priv, zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA,
		       &end->lmr, &end->lmr_context, &end->rmr_context, &size, &address);
#endif
}

static void run_lmr_of_lmr(const struct info_run_end *of)
{
	DAT_REGION_DESCRIPTION region;
	struct info_run_end end;

	memset(&region, 0, sizeof(region));
	region.for_lmr_handle = of->lmr;
	if (info_run_register("of another LMR", DAT_MEM_TYPE_LMR, region, 1, (int)RUN_PRIV, false,
			      &end))
		TRY(dat_lmr_free, end.lmr);
}

static void run_lmr_shared(void)
{
	static char id[40] = "dat_info";
	DAT_REGION_DESCRIPTION region;
	struct info_run_end end;
	void *mem = mmap(NULL, RUN_MEM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return;
	memset(&region, 0, sizeof(region));
	region.for_shared_memory.virtual_address = mem;
	region.for_shared_memory.shared_memory_id = &id;
	if (info_run_register("of shared memory", DAT_MEM_TYPE_SHARED_VIRTUAL, region, RUN_MEM,
			      (int)RUN_PRIV, false, &end))
		TRY(dat_lmr_free, end.lmr);
	munmap(mem, RUN_MEM);
}

static void run_rmr(void)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_RMR_PARAM param;

	if (TRY(dat_rmr_create, info_run.pz, &rmr)) {
		/* It is not bound: only these members have values. */
		TRY(dat_rmr_query, rmr, DAT_RMR_FIELD_IA_HANDLE | DAT_RMR_FIELD_PZ_HANDLE, &param);
		TRY(dat_rmr_free, rmr);
	}
}

void info_run_memory(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET triplet;
	struct info_run_end end;
	DAT_LMR_PARAM lmr_param;
	DAT_PZ_PARAM pz_param;
	char *mem = calloc(1, RUN_MEM);

	if (!mem)
		return;
	TRY(dat_pz_query, info_run.pz, DAT_PZ_FIELD_ALL, &pz_param);
	memset(&region, 0, sizeof(region));
	region.for_va = end.mem = mem;
	if (info_run_register(NULL, DAT_MEM_TYPE_VIRTUAL, region, RUN_MEM, (int)RUN_PRIV, false,
			      &end)) {
		TRY(dat_lmr_query, end.lmr, DAT_LMR_FIELD_ALL, &lmr_param);
		triplet = info_run_local(&end, RUN_MEM);
		TRY(dat_lmr_sync_rdma_read, info_run.ia, &triplet, 1);
		TRY(dat_lmr_sync_rdma_write, info_run.ia, &triplet, 1);
		run_lmr_of_lmr(&end);
		TRY(dat_lmr_free, end.lmr);
	}
	run_lmr_shared();
	run_rmr();
	free(mem);
}
