/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls for endpoints, service points and connections, as a part of dat_info --calls. Compiled
 * once per API version.
 */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "calls_run.h"

#define QLEN 64
#define CM_QLEN 8
#define DTO_STREAMS (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
/* Qualifiers that are tried until one is free. */
#define ATTEMPTS 8

/* ---- endpoints ---- */

bool info_run_end_make(struct info_run_end *end, const DAT_EP_ATTR *attr, DAT_SRQ_HANDLE srq)
{
	bool reliable = !attr || attr->service_type == DAT_SERVICE_TYPE_RC;
	const char *use = reliable ? NULL : "for datagrams";
	DAT_REGION_DESCRIPTION region;

	memset(end, 0, sizeof(*end));
	end->mem = calloc(1, RUN_MEM);
	memset(&region, 0, sizeof(region));
	region.for_va = end->mem;
	if (!end->mem ||
	    !TRY(dat_evd_create, info_run.ia, QLEN, DAT_HANDLE_NULL, DTO_STREAMS, &end->recv) ||
	    !TRY(dat_evd_create, info_run.ia, QLEN, DAT_HANDLE_NULL, DTO_STREAMS, &end->req) ||
	    !TRY(dat_evd_create, info_run.ia, CM_QLEN, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
		 &end->conn) ||
	    !info_run_register(NULL, DAT_MEM_TYPE_VIRTUAL, region, RUN_MEM, (int)RUN_PRIV, false,
			       end))
		return false;
	if (srq)
		return TRY(dat_ep_create_with_srq, info_run.ia, info_run.pz, end->recv, end->req,
			   end->conn, srq, attr, &end->ep);
	return TRY_USE(dat_ep_create, use, info_run.ia, info_run.pz, end->recv, end->req, end->conn,
		       attr, &end->ep);
}

void info_run_end_free(struct info_run_end *end)
{
	if (end->ep)
		TRY(dat_ep_free, end->ep);
	if (end->conn)
		TRY(dat_evd_free, end->conn);
	if (end->req)
		TRY(dat_evd_free, end->req);
	if (end->recv)
		TRY(dat_evd_free, end->recv);
	if (end->lmr)
		TRY(dat_lmr_free, end->lmr);
	free(end->mem);
	memset(end, 0, sizeof(*end));
}

static void run_end(struct info_run_end *end)
{
	DAT_BOOLEAN recv_idle, req_idle;
	DAT_EP_STATE state;
	DAT_EP_PARAM param;

	if (TRY(dat_ep_query, end->ep, DAT_EP_FIELD_ALL, &param))
		TRY(dat_ep_modify, end->ep, DAT_EP_FIELD_PZ_HANDLE, &param);
	TRY(dat_ep_get_status, end->ep, &state, &recv_idle, &req_idle);
}

/* ---- connections ---- */

static DAT_RETURN start_connect(const struct info_run_end *end, DAT_CONN_QUAL qual, DAT_QOS qos,
				DAT_CONNECT_FLAGS flags)
{
	return D.dat_ep_connect(end->ep, info_run.attr.ia_address_ptr, qual, info_run.wait_us, 0,
				NULL, qos, flags);
}

static DAT_CR_HANDLE next_request(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (!info_run_event(evd, DAT_CONNECTION_REQUEST_EVENT, &event))
		return DAT_HANDLE_NULL;
	return event.event_data.cr_arrival_event_data.cr_handle;
}

static DAT_RETURN reject(DAT_CR_HANDLE cr)
{
#if DAT_API_MAJOR == 1
	return D.dat_cr_reject(cr);
#else
	return D.dat_cr_reject(cr, 0, NULL);
#endif
}

static bool established(const struct info_run_end *a, const struct info_run_end *b)
{
	DAT_EVENT event;

	return info_run_event(b->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event) &&
	       info_run_event(a->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* Accepts a request with b, or with the endpoint that the request has. True: they are connected. */
static bool accept_request(DAT_CR_HANDLE cr, const struct info_run_end *a,
			   const struct info_run_end *b, bool has_ep)
{
	DAT_RETURN ret;

	if (!cr)
		return false;
	ret = D.dat_cr_accept(cr, has_ep ? DAT_HANDLE_NULL : b->ep, 0, NULL);
	return info_run_effect("dat_cr_accept", NULL, ret, ret == DAT_SUCCESS && established(a, b));
}

/* Completes a connect that has returned `ret`. */
static bool finish_connect(const char *call, const char *use, DAT_RETURN ret,
			   const struct info_run_end *a, const struct info_run_end *b)
{
	bool came = ret == DAT_SUCCESS &&
		    accept_request(next_request(info_run.cr_evd), a, b, false);

	return info_run_effect(call, use, ret, came);
}

bool info_run_connect(struct info_run_end *a, struct info_run_end *b)
{
	DAT_RETURN ret =
		start_connect(a, info_run.qual, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);

	return finish_connect("dat_ep_connect", NULL, ret, a, b);
}

/* Removes the completions that the end of a connection has flushed. */
static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (D.dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		;
}

static void make_ready(struct info_run_end *end)
{
	drain(end->recv);
	drain(end->req);
	drain(end->conn);
	TRY(dat_ep_reset, end->ep);
}

void info_run_disconnect(struct info_run_end *a, struct info_run_end *b)
{
	DAT_RETURN ret = D.dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG);
	DAT_EVENT event;

	info_run_effect("dat_ep_disconnect", NULL, ret,
			ret == DAT_SUCCESS &&
				info_run_event(a->conn, DAT_CONNECTION_EVENT_DISCONNECTED,
					       &event) &&
				info_run_event(b->conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event));
	make_ready(a);
	make_ready(b);
}

/* ---- service points ---- */

static bool run_listen(void)
{
	DAT_PSP_PARAM param;

	if (!TRY(dat_evd_create, info_run.ia, CM_QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
		 &info_run.cr_evd) ||
	    !TRY(dat_psp_create_any, info_run.ia, &info_run.qual, info_run.cr_evd,
		 DAT_PSP_CONSUMER_FLAG, &info_run.psp))
		return false;
	TRY(dat_psp_query, info_run.psp, DAT_PSP_FIELD_ALL, &param);
	return true;
}

/* A qualifier that was free a moment ago. */
static bool free_qualifier(DAT_CONN_QUAL *qual)
{
	DAT_PSP_HANDLE psp;

	return D.dat_psp_create_any(info_run.ia, qual, info_run.cr_evd, DAT_PSP_CONSUMER_FLAG,
				    &psp) == DAT_SUCCESS &&
	       D.dat_psp_free(psp) == DAT_SUCCESS;
}

static bool in_use(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE;
}

/* The request goes to a second service point, which accepts it. */
static void run_handoff(struct info_run_end *a, struct info_run_end *b, DAT_CONN_QUAL qual,
			DAT_EVD_HANDLE evd)
{
	DAT_RETURN ret =
		start_connect(a, info_run.qual, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	DAT_CR_HANDLE cr = DAT_HANDLE_NULL;

	if (ret == DAT_SUCCESS)
		cr = next_request(info_run.cr_evd);
	if (!cr || !TRY(dat_cr_handoff, cr, qual))
		return;
	if (accept_request(next_request(evd), a, b, false))
		info_run_disconnect(a, b);
	else
		info_run_wrong("dat_cr_handoff", NULL, info_run.why);
}

static void run_second_psp(struct info_run_end *a, struct info_run_end *b)
{
	DAT_RETURN ret = DAT_CLASS_ERROR | DAT_CONN_QUAL_IN_USE;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qual;

	if (!TRY(dat_evd_create, info_run.ia, CM_QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd))
		return;
	for (int i = 0; i < ATTEMPTS && in_use(ret) && free_qualifier(&qual); i++)
		ret = D.dat_psp_create(info_run.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp);
	if (info_run_result("dat_psp_create", NULL, ret)) {
		run_handoff(a, b, qual, evd);
		TRY(dat_psp_free, psp);
	}
	TRY(dat_evd_free, evd);
}

static void run_reserved(struct info_run_end *a, struct info_run_end *b)
{
	DAT_RETURN ret = DAT_CLASS_ERROR | DAT_CONN_QUAL_IN_USE;
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
	DAT_RSP_PARAM param;
	DAT_CONN_QUAL qual;

	for (int i = 0; i < ATTEMPTS && in_use(ret) && free_qualifier(&qual); i++)
		ret = D.dat_rsp_create(info_run.ia, qual, b->ep, info_run.cr_evd, &rsp);
	if (!info_run_result("dat_rsp_create", NULL, ret))
		return;
	TRY(dat_rsp_query, rsp, DAT_RSP_FIELD_ALL, &param);
	ret = start_connect(a, qual, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS && accept_request(next_request(info_run.cr_evd), a, b, true))
		info_run_disconnect(a, b);
	else
		info_run_effect("dat_rsp_create", NULL, ret, false);
	TRY(dat_rsp_free, rsp);
}

/* ---- the parts ---- */

static void run_reject(struct info_run_end *a)
{
	DAT_CR_HANDLE cr = DAT_HANDLE_NULL;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (start_connect(a, info_run.qual, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) ==
	    DAT_SUCCESS)
		cr = next_request(info_run.cr_evd);
	if (!cr)
		return;
	TRY(dat_cr_query, cr, DAT_CR_FIELD_ALL, &param);
	ret = reject(cr);
	info_run_effect("dat_cr_reject", NULL, ret,
			ret == DAT_SUCCESS &&
				info_run_event(a->conn, DAT_CONNECTION_EVENT_PEER_REJECTED,
					       &event));
	make_ready(a);
}

/* A connect with an option that a fabric may lack. */
static void run_option(struct info_run_end *a, struct info_run_end *b, const char *use, DAT_QOS qos,
		       DAT_CONNECT_FLAGS flags)
{
	DAT_RETURN ret = start_connect(a, info_run.qual, qos, flags);

	if (finish_connect("dat_ep_connect", use, ret, a, b))
		info_run_disconnect(a, b);
}

static void run_duplicate(struct info_run_end *a, struct info_run_end *b)
{
	struct info_run_end c = { .ep = NULL }, d = c;

	if (info_run_end_make(&c, NULL, NULL) && info_run_end_make(&d, NULL, NULL)) {
		if (info_run_connect(a, b)) {
			DAT_RETURN ret = D.dat_ep_dup_connect(c.ep, a->ep, info_run.wait_us, 0,
							      NULL, DAT_QOS_BEST_EFFORT);

			if (finish_connect("dat_ep_dup_connect", NULL, ret, &c, &d))
				info_run_disconnect(&c, &d);
			info_run_disconnect(a, b);
		}
	}
	info_run_end_free(&c);
	info_run_end_free(&d);
}

void info_run_connections(void)
{
	struct info_run_end a = { .ep = NULL }, b = a;

	if (run_listen() && info_run_end_make(&a, NULL, NULL) &&
	    info_run_end_make(&b, NULL, NULL)) {
		run_end(&a);
		run_reject(&a);
		run_duplicate(&a, &b);
		run_second_psp(&a, &b);
		run_reserved(&a, &b);
		run_option(&a, &b, "with a class of quality of service", DAT_QOS_LOW_LATENCY,
			   DAT_CONNECT_DEFAULT_FLAG);
		run_option(&a, &b, "with a multipath flag", DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_MULTIPATH_FLAG);
#if DAT_API_MAJOR >= 2
		info_run_common(&a, &b);
#endif
	}
	info_run_end_free(&a);
	info_run_end_free(&b);
}

#if DAT_API_MAJOR >= 2
/* A common service point at a port of the system's choice. */
void info_run_common(struct info_run_end *a, struct info_run_end *b)
{
	struct sockaddr_storage at;
	DAT_COMM comm = { info_run.attr.ia_address_ptr->sa_family, SOCK_STREAM, 0 };
	DAT_CSP_HANDLE csp = DAT_HANDLE_NULL;
	DAT_CSP_PARAM param;
	DAT_RETURN ret;

	memset(&at, 0, sizeof(at));
	memcpy(&at, info_run.attr.ia_address_ptr,
	       comm.domain == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	if (!TRY(dat_csp_create, info_run.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, info_run.cr_evd,
		 &csp))
		return;
	if (TRY(dat_csp_query, csp, DAT_CSP_FIELD_ALL, &param)) {
		if (!D.dat_ep_common_connect) {
			info_run_missing("dat_ep_common_connect");
		} else {
			ret = D.dat_ep_common_connect(a->ep, param.address_ptr, info_run.wait_us, 0,
						      NULL);
			if (finish_connect("dat_ep_common_connect", NULL, ret, a, b))
				info_run_disconnect(a, b);
		}
	}
	TRY(dat_csp_free, csp);
}
#endif
