/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements dat_ep_connect and dat_ep_dup_connect. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/param.h"
#include "base/probe.h"
#include "cm/amo_listen.h"
#include "cm/cm_parts.h"
#include "data/cq.h"
#include "fabric/fab_info.h"
#include "fabric/fab_ops.h"
#include "cm/diag_cm.h"
#include "data/dto_submit.h"
#include "base/dat_error.h"
#include "fabric/netif.h"
#include "object/progress_wakeup.h"
#include "object/deferred_work.h"
#include "object/ep_state.h"

/* The peer's address with the port that carries the qualifier. */
static DAT_RETURN cm_target(struct dofi_ia *ia, const struct sockaddr *sa, DAT_CONN_QUAL qual,
			    union dofi_addr *addr)
{
	bool any;

	memset(addr, 0, sizeof(*addr));
	if (sa->sa_family == AF_UNSPEC)
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	if (ia->fab.addr_named && !dofi_netif_has_family(&ia->fab, sa->sa_family))
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	memcpy(addr, sa, dofi_addr_len(sa));
	if (sa->sa_family == AF_INET)
		any = addr->in.sin_addr.s_addr == INADDR_ANY ||
		      addr->in.sin_addr.s_addr == INADDR_BROADCAST ||
		      IN_MULTICAST(ntohl(addr->in.sin_addr.s_addr));
	else
		any = IN6_IS_ADDR_UNSPECIFIED(&addr->in6.sin6_addr) ||
		      IN6_IS_ADDR_MULTICAST(&addr->in6.sin6_addr);
	if (any)
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	dofi_addr_set_port(&addr->sa, dofi_cm_port(qual));
	return DAT_SUCCESS;
}

/* Bound to the IA's address only if the user chose it: otherwise every peer that the host can reach
 * is reachable, also over loopback. */
static struct fi_info *cm_connect_info(struct dofi_ia *ia, const union dofi_addr *peer)
{
	return dofi_fab_info_copy(&ia->fab, ia->fab.addr_named ? &ia->fab.addr : NULL, peer);
}

struct attempt {
	struct dofi_connect_args args;
	union dofi_addr addr;
};

/* Builds the request. 0: it cannot be sealed. */
static size_t cm_build_request(uint8_t *buf, struct dofi_ep *ep, struct dofi_conn *conn,
			       const struct attempt *a)
{
	struct dofi_cm_msg msg = {
		.kind = DOFI_CM_REQUEST,
		.fabric = ep->obj.ia->fab.desc->wire_id,
		.api = DOFI_API,
		.priv_len = (uint16_t)a->args.size,
		.priv = a->args.priv,
		.qual = a->args.qual,
		.reads_in = (uint16_t)ep->attr.max_rdma_read_in,
		.reads_out = (uint16_t)ep->attr.max_rdma_read_out,
		.conn_id = ep->ud_for ? ep->ud_for->ud->sock.qpn : conn->conn_id,
		.datagram = ep->ud_for != NULL,
		.amo_port = dofi_amo_port(ep->obj.ia),
		.amo_token = ep->amo.token,
		.port_moved = dofi_cm_port(a->args.qual) != (uint16_t)a->args.qual,
	};

	return ep->obj.ia->fab.secret ? dofi_cm_build_sealed(buf, ep, conn, &a->addr, &msg)
				      : dofi_cm_build(buf, &msg);
}

/* True if the kernel reports immediately that the address is unreachable: EACCES and EPERM if a
 * route or the firewall prohibits it. */
static bool cm_is_unreachable(int ret)
{
	switch (-ret) {
	case ECONNREFUSED:
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EADDRNOTAVAIL:
	case EINVAL:
	case EACCES:
	case EPERM:
		return true;
	default:
		return false;
	}
}

/* Creates a connection of the fabric and sends the request. The EP does not refer to it yet. */
static int cm_start_attempt(struct dofi_ep *ep, const struct attempt *a, struct dofi_conn **out)
{
	struct fi_info *info = cm_connect_info(ep->obj.ia, &a->addr);
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_conn *conn;
	size_t len;
	int ret;

	dofi_diag_connecting(ep->obj.ia, &a->addr, a->args.qual);
	if (!info)
		return -ENOMEM;
	info->tx_attr->tclass = dofi_qos_tclass(a->args.qos);
	ret = dofi_conn_open(ep, info, &conn);
	if (!ret) {
		ep->obj.ia->fab.desc->ops->set_qual(&conn->fid->fid, a->args.qual);
		dofi_cm_keep_conn_id(ep, conn);
		/* The private data of the request is not needed any more, and overwritten, once a
		 * part of the answer has arrived. */
		len = dofi_cm_fetches(ep) ? 0 : cm_build_request(buf, ep, conn, a);
		if (len > ep->obj.ia->fab.desc->cm_data || dofi_cm_fetches(ep))
			len = dofi_cm_next_part(ep, conn, buf, len);
		ret = len ? fi_connect(conn->fid, &a->addr, buf, len) : -FI_EIO;
		if (!ret)
			DOFI_COUNT_IA(ep->obj.ia, CM_REQ_TX);
		/* The EP does not refer to it yet, so nothing has been submitted to it. */
		if (ret)
			dofi_conn_detach(conn);
	}
	dofi_fab_info_free(&ep->obj.ia->fab, info);
	if (!ret)
		*out = conn;
	return ret;
}

static void cm_connect_expired(struct dofi_timer *timer);

/* The request has been sent: the result is an event of the fabric, or the timeout. */
static void cm_await_outcome(struct dofi_ep *ep, struct dofi_conn *conn)
{
	struct dofi_ia *ia = ep->obj.ia;

	dofi_lock(&ep->lock);
	ep->conn = conn;
	/* A repeated attempt is part of the same connect. */
	if (ep->state != DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		dofi_ep_transit_locked(ep, DOFI_EP_CONNECT);
	dofi_dto_submit(ep);
	dofi_unlock(&ep->lock);
	dofi_conn_read_name(conn);
	dofi_cm_arm_timer(ep, ep->attempt.deadline, cm_connect_expired);
	if (ia->fab.await_route)
		dofi_cm_await_route(ep);
	dofi_progress_wakeup(ia);
}

/* Saves the arguments for later attempts. */
static void cm_remember(struct dofi_ep *ep, const struct attempt *a)
{
	uint64_t now = dofi_now();

	dofi_lock(&ep->lock);
	ep->active = true;
	ep->qual = a->args.qual;
	ep->remote = a->addr;
	ep->remote_port = dofi_addr_port(&a->addr.sa);
	dofi_addr_set_port(&ep->remote.sa, 0);
	dofi_unlock(&ep->lock);
	ep->attempt.deadline = a->args.timeout == DAT_TIMEOUT_INFINITE
				       ? DOFI_NEVER
				       : now + DOFI_US(a->args.timeout);
	ep->attempt.grace_end = now + DOFI_MS(dofi_param(DOFI_NUM_CONNECT_RETRY_MS));
	ep->attempt.delay = DOFI_CM_RETRY_FIRST;
	ep->attempt.priv_len = (uint16_t)a->args.size;
	/* It may be that of the previous connection. */
	if (a->args.size)
		memmove(ep->priv, a->args.priv, (size_t)a->args.size);
}

/* Caller holds cm_lock and has checked the arguments; the EP is unconnected. */
static DAT_RETURN cm_start(struct dofi_ep *ep, const struct attempt *a)
{
	struct dofi_conn *conn;
	int ret;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	ep->attempt.seal = (struct dofi_seal){ .on = false };
	dofi_cm_forget_parts(ep);
	ep->attempt.restarts = 0;
	ep->amo.refused = false;
	ep->amo.port = 0;
	ep->amo.token = dofi_amo_new_token(ep->obj.ia);
	ret = cm_start_attempt(ep, a, &conn);
	if (ret)
		dofi_diag_unreachable(ep->obj.ia, &a->addr, a->args.qual, -ret);
	if (ret && cm_is_unreachable(ret))
		return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	/* No port is free here; the qualifier is the peer's. */
	if (ret)
		return dofi_ret(ret == -EADDRINUSE ? -ENOSPC : ret);
	cm_remember(ep, a);
	/* A call for a datagram endpoint is done by an internal one. */
	DOFI_COUNT((ep->ud_for ? ep->ud_for : ep)->counts->connects, 1);
	DOFI_PROBE3(connect, ep, ep->qual, &ep->remote);
	cm_await_outcome(ep, conn);
	return DAT_SUCCESS;
}

/* The same for a datagram endpoint. */
static DAT_RETURN cm_start_exchange(struct dofi_ep *ep, const struct attempt *a)
{
	struct dofi_ep *x = dofi_ud_exchange(ep);
	DAT_RETURN ret;

	if (!x)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ret = cm_start(x, a);
	if (ret)
		dofi_ep_destroy(x);
	return ret;
}

/* Creates the next connection of an attempt, with the arguments of the first. */
static void cm_retry_attempt(struct dofi_ep *ep)
{
	struct attempt a = { .addr = ep->remote,
			     .args = { .qual = ep->qual,
				       .size = ep->attempt.priv_len,
				       .priv = ep->priv,
				       .qos = ep->qos } };
	struct dofi_conn *conn;
	int ret;

	dofi_addr_set_port(&a.addr.sa, ep->remote_port);
	ret = cm_start_attempt(ep, &a, &conn);
	if (!ret) {
		DOFI_COUNT_IA(ep->obj.ia, CM_ERR_REQ_RETRY);
		cm_await_outcome(ep, conn);
		return;
	}
	dofi_diag_connect_failed(ep, -ret);
	dofi_cm_end(ep,
		    cm_is_unreachable(ret) ? DAT_CONNECTION_EVENT_UNREACHABLE
					   : DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		    true);
}

static void cm_retry(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	/* Late: no time remains to receive the result. */
	if (!ep->attempt.seal.proven && !dofi_cm_in_parts(ep) &&
	    dofi_now() + DOFI_CM_RETRY_FIRST >= ep->attempt.deadline) {
		dofi_diag_connect_failed(ep, ep->attempt.err);
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, true);
		return;
	}
	cm_retry_attempt(ep);
}

/* The next connection is due, or the time limit of the call has expired. */
static void cm_connect_expired(struct dofi_timer *timer)
{
	struct dofi_ep *ep = dofi_cm_timer_ep(timer);

	if (!ep->conn) {
		cm_retry(ep);
		return;
	}
	/* The result may have arrived without having been read yet. */
	dofi_cm_read_events(ep->obj.ia);
	if (ep->state != DAT_EP_STATE_ACTIVE_CONNECTION_PENDING || !ep->conn)
		return;
	dofi_diag_connect_timed_out(ep);
	dofi_cm_end(ep, DAT_CONNECTION_EVENT_TIMED_OUT, true);
}

/* True if the EP may connect. Caller holds cm_lock. */
static DAT_RETURN cm_ready(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!dofi_ep_live(ep))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (ep->state != DAT_EP_STATE_UNCONNECTED)
		return dofi_ret_ep_state(ep->state);
	if (ep->probe)
		return dofi_ret_ep_state(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	if (!dofi_ep_conn_evd(ep))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	if (!ep->pz)
		return DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
	return DAT_SUCCESS;
}

/* Limit of the host probe: the time that address resolution may take. */
#define PROBE_MS 2000

/* Where a connect call waits for a silent host under the locks of libfabric and the kernel, for
 * minutes, the IA connects only to a host that has answered. cm_lock is held, but not during the
 * probe; closing the IA waits for its end (ia_await_probes). */
static DAT_RETURN cm_probe_host(struct dofi_ep *ep, const struct attempt *a)
{
	struct dofi_ia *ia = ep->obj.ia;
	int ms = PROBE_MS, err;
	DAT_RETURN ret;

	if (a->args.timeout / 1000 < PROBE_MS)
		ms = (int)(a->args.timeout / 1000) + 1;
	ep->probe = a;
	ia->probes++;
	pthread_mutex_unlock(&ia->cm_lock);
	err = ia->fab.desc->ops->probe_host(ia->fab.addr_named ? &ia->fab.addr : NULL, &a->addr,
					    ms);
	pthread_mutex_lock(&ia->cm_lock);
	if (!--ia->probes)
		pthread_cond_broadcast(&ia->probes_done);
	/* The EP may have been freed, and its memory reused. */
	if (ep->probe != a)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ep->probe = NULL;
	ret = cm_ready(ep);
	if (ret || !err)
		return ret;
	dofi_diag_unreachable(ia, &a->addr, a->args.qual, -err);
	return DOFI_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
}

/* Caller holds cm_lock and has checked the arguments. */
static DAT_RETURN cm_find_target(struct dofi_ep *ep, const struct attempt *a)
{
	DAT_RETURN ret = cm_ready(ep);

	if (!ret && ep->obj.ia->fab.connect_blocks)
		ret = cm_probe_host(ep, a);
	if (ret)
		return ret;
	return ep->ud ? cm_start_exchange(ep, a) : cm_start(ep, a);
}

DAT_RETURN dofi_cm_check_connect(const struct dofi_ia *ia, const struct dofi_connect_args *args)
{
	if (!args->timeout)
		return DOFI_ERR(DAT_INVALID_PARAMETER, args->timeout_arg);
	if (args->size < 0 || (size_t)args->size > ia->fab.max_priv)
		return DOFI_ERR(DAT_INVALID_PARAMETER, args->timeout_arg + 1);
	if (args->size && !args->priv)
		return DOFI_ERR(DAT_INVALID_PARAMETER, args->timeout_arg + 2);
	if (!dofi_qos_valid(ia, args->qos))
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cm_connect(struct dofi_ep *ep, const struct sockaddr *peer,
			   const struct dofi_connect_args *args)
{
	struct attempt a = { .args = *args };
	struct dofi_ia *ia = dofi_obj_ia(&ep->obj);
	DAT_RETURN ret = cm_target(ia, peer, args->qual, &a.addr);

	if (ret)
		return ret;
	pthread_mutex_lock(&ia->cm_lock);
	if (dofi_obj_remains(&ep->obj, ia)) {
		/* The argument's default value means the endpoint's attribute. */
		if (a.args.qos == DAT_QOS_BEST_EFFORT)
			a.args.qos = ep->attr.qos;
		ret = cm_find_target(ep, &a);
	} else {
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

DAT_RETURN dofi_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID priv, DAT_QOS qos,
			   DAT_CONNECT_FLAGS flags)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_connect_args args = { .qual = qual,
					  .timeout = timeout,
					  .size = size,
					  .priv = priv,
					  .qos = qos,
					  .timeout_arg = DAT_INVALID_ARG4 };
	DAT_RETURN ret;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!addr)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = dofi_cm_check_connect(dofi_obj_ia(&ep->obj), &args);
	if (ret)
		return ret;
	if (flags != DAT_CONNECT_DEFAULT_FLAG)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	return dofi_cm_connect(ep, addr, &args);
}

DAT_RETURN dofi_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
			       DAT_COUNT size, const DAT_PVOID priv, DAT_QOS qos)
{
	struct dofi_ep *ep = dofi_ep_live(handle), *dup;
	struct dofi_connect_args args = { .timeout = timeout,
					  .size = size,
					  .priv = priv,
					  .qos = qos,
					  .timeout_arg = DAT_INVALID_ARG3 };
	union dofi_addr peer;
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ia = dofi_obj_ia(&ep->obj);
	dup = (struct dofi_ep *)dofi_obj_check(dup_handle, DAT_HANDLE_TYPE_EP, ia);
	if (!dup)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = dofi_cm_check_connect(ia, &args);
	if (ret)
		return ret;
	pthread_mutex_lock(&ia->cm_lock);
	/* The passive side has no qualifier to connect to. */
	if (!dofi_obj_remains(&dup->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	else if (dup->state != DAT_EP_STATE_CONNECTED || !dup->active)
		ret = dofi_ret_ep_state(dup->state);
	args.qual = dup->qual;
	peer = dup->remote;
	pthread_mutex_unlock(&ia->cm_lock);
	return ret ? ret : dofi_cm_connect(ep, &peer.sa, &args);
}
