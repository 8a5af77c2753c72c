/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of the InfiniBand extension except collectives, as a part of dat_info --calls. 2.0
 * only.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls_run_ib.h"

#define LEN 64
#define GRH 40 /* bytes before a datagram in its receive */
#define UD_DTOS 8

bool info_run_ib_dto(DAT_EVD_HANDLE evd, DAT_EVENT *event, DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	memset(ext, 0, sizeof(*ext));
	if (!info_run_event(evd, DAT_IB_DTO_EVENT, event))
		return false;
	memcpy(ext, event->event_extension_data, sizeof(*ext));
	if (ext->status == DAT_OP_SUCCESS)
		return true;
	snprintf(info_run.why, sizeof(info_run.why), "completed with status %d",
		 (int)event->event_data.dto_completion_event_data.status);
	return false;
}

/* ---- atomic operations ---- */

/* Memory of b's that peers may change atomically. */
static bool atomic_memory(const struct info_run_end *b, struct info_run_end *word)
{
	DAT_REGION_DESCRIPTION region;

	memset(&region, 0, sizeof(region));
	word->mem = b->mem;
	region.for_va = b->mem;
	return info_run_register("for atomic operations", DAT_MEM_TYPE_VIRTUAL, region, RUN_MEM,
				 (int)RUN_PRIV | DAT_IB_MEM_PRIV_REMOTE_ATOMIC, false, word);
}

static void run_atomics(const struct info_run_end *a, const struct info_run_end *b)
{
	DAT_LMR_TRIPLET old = info_run_local(a, sizeof(DAT_UINT64));
	DAT_IB_EXTENSION_EVENT_DATA ext;
	struct info_run_end word;
	DAT_RMR_TRIPLET at;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (!atomic_memory(b, &word))
		return;
	at = info_run_remote((DAT_VADDR)(uintptr_t)word.mem, sizeof(DAT_UINT64), word.rmr_context);
	memset(word.mem, 0, sizeof(DAT_UINT64));
	ret = dat_ib_post_fetch_and_add(a->ep, 5, &old, info_run_cookie(10), &at,
					DAT_COMPLETION_DEFAULT_FLAG);
	info_run_effect("dat_ib_post_fetch_and_add", NULL, ret,
			ret == DAT_SUCCESS && info_run_ib_dto(a->req, &event, &ext));
	ret = dat_ib_post_cmp_and_swap(a->ep, 5, 7, &old, info_run_cookie(11), &at,
				       DAT_COMPLETION_DEFAULT_FLAG);
	info_run_effect("dat_ib_post_cmp_and_swap", NULL, ret,
			ret == DAT_SUCCESS && info_run_ib_dto(a->req, &event, &ext));
	TRY(dat_lmr_free, word.lmr);
}

/* ---- immediate data ---- */

static void write_immed(const struct info_run_end *a, const struct info_run_end *b, const char *use)
{
	DAT_LMR_TRIPLET from = info_run_local(a, LEN);
	DAT_RMR_TRIPLET to = info_run_remote((DAT_VADDR)(uintptr_t)b->mem, LEN, b->rmr_context);
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT event;
	DAT_RETURN ret = dat_ib_post_rdma_write_immed(a->ep, 1, &from, info_run_cookie(12), &to, 17,
						      DAT_COMPLETION_DEFAULT_FLAG);
	bool came = ret == DAT_SUCCESS && info_run_ib_dto(a->req, &event, &ext) &&
		    info_run_ib_dto(b->recv, &event, &ext);

	if (came && ext.val.immed.data != 17)
		info_run_wrong("dat_ib_post_rdma_write_immed", use, "other immediate data arrived");
	else
		info_run_effect("dat_ib_post_rdma_write_immed", use, ret, came);
}

void info_run_immed_srq(struct info_run_end *a, struct info_run_end *b, DAT_SRQ_HANDLE srq)
{
	DAT_LMR_TRIPLET to = info_run_local(b, LEN);

	if (TRY(dat_srq_post_recv, srq, 1, &to, info_run_cookie(13)))
		write_immed(a, b, "to a peer with an SRQ");
}

/* ---- all of them on a connection ---- */

void info_run_extension(struct info_run_end *a, struct info_run_end *b)
{
	DAT_LMR_TRIPLET to = info_run_local(b, LEN);

	info_run_counters(a);
	run_atomics(a, b);
	if (TRY(dat_ep_post_recv, b->ep, 1, &to, info_run_cookie(14), DAT_COMPLETION_DEFAULT_FLAG))
		write_immed(a, b, NULL);
	info_run_open_query();
}

/* ---- datagrams ---- */

/* An address that an exchange has yielded. */
struct address {
	DAT_IB_ADDR_HANDLE to;
	DAT_CONTEXT cm;
};

static bool ud_event(const struct info_run_end *end, struct address *address)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT event;

	if (!info_run_event(end->conn, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, &event))
		return false;
	memcpy(&ext, event.event_extension_data, sizeof(ext));
	address->to = ext.remote_ah;
	address->cm = ext.context;
	return true;
}

/* a connects, b accepts; each has the address of the other then. */
static bool ud_exchange(const struct info_run_end *a, const struct info_run_end *b,
			struct address *of_a, struct address *of_b)
{
	DAT_EVENT event;

	return TRY_USE(dat_ep_connect, "of datagram endpoints", a->ep, info_run.attr.ia_address_ptr,
		       info_run.qual, info_run.wait_us, 0, NULL, DAT_QOS_BEST_EFFORT,
		       DAT_CONNECT_DEFAULT_FLAG) &&
	       info_run_event(info_run.cr_evd, DAT_IB_UD_CONNECTION_REQUEST_EVENT, &event) &&
	       D.dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b->ep, 0, NULL) ==
		       DAT_SUCCESS &&
	       ud_event(b, of_a) && ud_event(a, of_b);
}

static void ud_send(const struct info_run_end *a, const struct info_run_end *b,
		    const struct address *of_b)
{
	DAT_LMR_TRIPLET from = info_run_local(a, LEN), to = info_run_local(b, LEN + GRH);
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT event;
	DAT_RETURN ret = D.dat_ib_post_recv_ud(b->ep, 1, &to, info_run_cookie(15),
					       DAT_COMPLETION_DEFAULT_FLAG);

	if (!info_run_result("dat_ib_post_recv_ud", NULL, ret))
		return;
	ret = dat_ib_post_send_ud(a->ep, 1, &from, &of_b->to, info_run_cookie(16),
				  DAT_COMPLETION_DEFAULT_FLAG);
	if (!info_run_effect("dat_ib_post_send_ud", NULL, ret,
			     ret == DAT_SUCCESS && info_run_ib_dto(a->req, &event, &ext)))
		return;
	info_run_effect("dat_ib_post_recv_ud", NULL, ret, info_run_ib_dto(b->recv, &event, &ext));
}

static void ud_free(const struct info_run_end *end, const struct address *address)
{
	TRY_IB(dat_ib_ud_ah_free, end->ep, &address->to);
	TRY_IB(dat_ib_ud_cm_free, end->ep, address->cm);
}

void info_run_datagrams(void)
{
	struct info_run_end a = { .ep = NULL }, b = a;
	struct address of_a, of_b;
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr.max_recv_dtos = attr.max_request_dtos = UD_DTOS;
	attr.max_recv_iov = attr.max_request_iov = 1;
	if (info_run.psp && info_run_end_make(&a, &attr, NULL) &&
	    info_run_end_make(&b, &attr, NULL)) {
		if (ud_exchange(&a, &b, &of_a, &of_b)) {
			ud_send(&a, &b, &of_b);
			ud_free(&a, &of_b);
			ud_free(&b, &of_a);
		} else {
			info_run_wrong("dat_ep_connect", "of datagram endpoints", info_run.why);
		}
	}
	info_run_end_free(&a);
	info_run_end_free(&b);
}

/* ---- counters ---- */

static void run_group(DAT_IA_COUNTER_TYPE group, const char *use)
{
	/* Stopped and started again: the order that leaves them as they were. */
	if (TRY_IB_USE(dat_ib_stop_counter, use, info_run.ia, group))
		TRY_IB_USE(dat_ib_start_counter, use, info_run.ia, group);
	else
		TRY_IB_USE(dat_ib_start_counter, use, info_run.ia, group);
}

void info_run_counters(const struct info_run_end *end)
{
	DAT_UINT64 n[DCNT_IA_ALL_COUNTERS];

	if (TRY_IB(dat_ib_query_counters, info_run.ia, DCNT_IA_ALL_COUNTERS, n, 0))
		info_run_result("dat_extension_op", NULL, DAT_SUCCESS);
	TRY_IB(dat_ib_query_counters, end->ep, DCNT_EP_ALL_COUNTERS, n, 0);
	TRY_IB(dat_ib_query_counters, end->req, DCNT_EVD_ALL_COUNTERS, n, 0);
	TRY_IB(dat_ib_print_counters, end->req, DCNT_EVD_WAIT, 0);
	run_group(DCNT_IA_CM, NULL);
	run_group(DCNT_IA_LNK, "of the link");
	run_group(DCNT_IA_DIAG, "of the device");
}

/* ---- attributes without an open ---- */

void info_run_open_query(void)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	if (TRY_IB(dat_ib_open_query, info_run.name, &ia, DAT_IA_FIELD_ALL, &attr,
		   DAT_PROVIDER_FIELD_ALL, &prov))
		TRY_IB(dat_ib_close_query, ia);
}
