/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries and modifies attributes of endpoints. */
#include <errno.h>
#include <string.h>

#include "cm/cm.h"
#include "object/ep.h"
#include "base/dat_error.h"
#include "object/limits.h"
#include "object/mr.h"
#include "object/ud.h"
#include "object/version.h"

/* True if the state is one of a connection, also of one that has ended. */
static bool ep_attr_has_connection(const struct dofi_ep *ep)
{
	switch (ep->state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
	case DAT_EP_STATE_DISCONNECTED:
		return !ep->ud;
	default:
		return false;
	}
}

DAT_RETURN dofi_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct dofi_ep *ep = dofi_ep_live(handle);

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (mask & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	dofi_lock(&ep->lock);
	if (!dofi_ep_live(handle)) {
		dofi_unlock(&ep->lock);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	memset(param, 0, sizeof(*param));
	param->ia_handle = dofi_api_ia_handle(dofi_obj_ia(&ep->obj));
	param->ep_state = ep->state;
	param->local_ia_address_ptr = &ep->local.sa;
	param->local_port_qual = ep->local_port;
	param->remote_ia_address_ptr = ep->remote.sa.sa_family ? &ep->remote.sa : NULL;
	param->remote_port_qual = ep->active ? ep->qual : ep->remote_port;
	param->pz_handle = ep->pz;
	param->recv_evd_handle = ep->has_recv_evd ? ep->recv_evd : NULL;
	param->request_evd_handle = ep->has_req_evd ? ep->req_evd : NULL;
	param->connect_evd_handle = dofi_ep_conn_evd(ep);
	param->srq_handle = ep->srq;
	param->ep_attr = ep->attr;
	if (ep_attr_has_connection(ep))
		param->ep_attr.qos = ep->qos;
	dofi_api_ep_param(ep, param);
	dofi_unlock(&ep->lock);
	return DAT_SUCCESS;
}

#define NEVER_FIELDS \
	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | \
	 DAT_EP_FIELD_LOCAL_PORT_QUAL | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | \
	 DAT_EP_FIELD_REMOTE_PORT_QUAL | DAT_EP_FIELD_SRQ_HANDLE)
#define EVD_FIELDS \
	(DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
	 DAT_EP_FIELD_CONNECT_EVD_HANDLE)
#define FLAG_FIELDS \
	(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS | DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
#define ARRAY_FIELDS \
	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
	 DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

/* X(bit of the mask, member of DAT_EP_ATTR) */
#define ATTR_FIELDS(X) \
	X(SERVICE_TYPE, service_type) \
	X(MAX_MESSAGE_SIZE, max_message_size) \
	X(MAX_RDMA_SIZE, max_rdma_size) \
	X(QOS, qos) \
	X(RECV_COMPLETION_FLAGS, recv_completion_flags) \
	X(REQUEST_COMPLETION_FLAGS, request_completion_flags) \
	X(MAX_RECV_DTOS, max_recv_dtos) \
	X(MAX_REQUEST_DTOS, max_request_dtos) \
	X(MAX_RECV_IOV, max_recv_iov) \
	X(MAX_REQUEST_IOV, max_request_iov) \
	X(MAX_RDMA_READ_IN, max_rdma_read_in) \
	X(MAX_RDMA_READ_OUT, max_rdma_read_out) \
	X(SRQ_SOFT_HW, srq_soft_hw) \
	X(MAX_RDMA_READ_IOV, max_rdma_read_iov) \
	X(MAX_RDMA_WRITE_IOV, max_rdma_write_iov)

static void ep_attr_mix_attr(DAT_EP_ATTR *attr, DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *wanted)
{
#define X(bit, member) \
	if (mask & DAT_EP_FIELD_EP_ATTR_##bit) \
		attr->member = wanted->member;
	ATTR_FIELDS(X)
#undef X
}

/* All changes of a modification; checked before any is applied. */
struct change {
	struct dofi_pz *pz;
	struct dofi_evd *recv, *req, *conn;
	DAT_EP_ATTR attr;
};

static bool ep_attr_evd_change(struct dofi_ep *ep, bool wanted, DAT_EVD_HANDLE handle,
			       DAT_EVD_FLAGS stream, struct dofi_evd **evd)
{
	return !wanted || dofi_ep_evd_arg(ep->obj.ia, handle, stream, evd);
}

/* True if the flags are compatible with the other streams on the EVDs. Chooses the flags of an EP
 * that the provider made, unless the mask names them. */
static bool ep_attr_models_fit(struct dofi_ep *ep, DAT_EP_PARAM_MASK mask, struct change *c)
{
	struct dofi_streams now;

	dofi_ep_streams(c->recv, c->req, &c->attr, &now);
	if (ep->by_provider && !(mask & FLAG_FIELDS)) {
		dofi_models_choose(&now, false);
		c->attr.recv_completion_flags = now.recv_flags;
		c->attr.request_completion_flags = now.req_flags;
	}
	return dofi_models_fit(&ep->streams, &now);
}

static bool ep_attr_plan(struct dofi_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param,
			 struct change *c)
{
	c->pz = ep->pz;
	c->recv = ep->has_recv_evd ? ep->recv_evd : NULL;
	c->req = ep->has_req_evd ? ep->req_evd : NULL;
	c->conn = dofi_ep_conn_evd(ep);
	c->attr = ep->attr;
	if (mask & DAT_EP_FIELD_PZ_HANDLE) {
		c->pz = (struct dofi_pz *)dofi_obj_check(param->pz_handle, DAT_HANDLE_TYPE_PZ,
							 ep->obj.ia);
		if (!c->pz)
			return false;
	}
	if (!ep_attr_evd_change(ep, mask & DAT_EP_FIELD_RECV_EVD_HANDLE, param->recv_evd_handle,
				DAT_EVD_DTO_FLAG, &c->recv) ||
	    !ep_attr_evd_change(ep, mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE,
				param->request_evd_handle, DAT_EVD_DTO_FLAG, &c->req) ||
	    !ep_attr_evd_change(ep, mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				param->connect_evd_handle, DAT_EVD_CONNECTION_FLAG, &c->conn))
		return false;
	ep_attr_mix_attr(&c->attr, mask, &param->ep_attr);
	if (c->attr.service_type != ep->attr.service_type)
		return false;
	if (!ep_attr_models_fit(ep, mask, c))
		return false;
	if (ep->srq)
		return dofi_ep_attr_valid_srq(ep->obj.ia, &c->attr, c->recv, c->req);
	/* A queue created without slots gets the default size together with its EVD. */
	if (c->recv && !c->attr.max_recv_dtos && !(mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS)) {
		c->attr.max_recv_dtos = DOFI_DEFAULT_DTOS;
		c->attr.max_recv_iov = DOFI_DEFAULT_IOV;
	}
	if (c->req && !c->attr.max_request_dtos &&
	    !(mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)) {
		c->attr.max_request_dtos = DOFI_DEFAULT_DTOS;
		c->attr.max_request_iov = DOFI_DEFAULT_IOV;
	}
	return dofi_ep_attr_valid(ep->obj.ia, &c->attr, c->recv, c->req);
}

/* True if the EP's state allows the change: DAT 1.2/2.0 dat_ep_modify. */
static bool ep_attr_state_allows(const struct dofi_ep *ep, DAT_EP_PARAM_MASK mask)
{
	DAT_EP_STATE s = ep->state;
	bool first = s == DAT_EP_STATE_UNCONNECTED;
	bool tentative = s == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
	bool others = first || tentative || s == DAT_EP_STATE_RESERVED ||
		      s == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING;

	if (mask & ARRAY_FIELDS)
		return first;
	if ((mask & DAT_EP_FIELD_PZ_HANDLE) && !first && !tentative)
		return false;
	if ((mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS) && dofi_queue_count(&ep->rq))
		return false;
	return others;
}

/* Fails the posted receives whose memory is not in the new PZ. */
static void ep_attr_fail_receives(struct dofi_ep *ep)
{
	for (uint32_t i = atomic_load(&ep->rq.head); i != ep->rq.tail; i++) {
		struct dofi_dto *dto = dofi_queue_at(&ep->rq, i);

		if (dto->pz && dto->pz != ep->pz) {
			dto->status = DAT_DTO_ERR_LOCAL_PROTECTION;
			atomic_store(&dto->state, DOFI_DTO_DONE);
		}
	}
}

static DAT_RETURN ep_attr_apply(struct dofi_ep *ep, const struct change *c)
{
	bool marks;
	int ret = 0;

	if (!ep->srq)
		ret = dofi_queue_resize(&ep->rq, (uint32_t)c->attr.max_recv_dtos,
					(uint32_t)c->attr.max_recv_iov);
	if (!ret)
		ret = dofi_queue_resize(&ep->sq, (uint32_t)c->attr.max_request_dtos,
					dofi_ep_request_iov(&c->attr));
	if (ret == -EBUSY)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (ret)
		return dofi_ret(ret);
	marks = ep->srq && (c->attr.max_recv_dtos != ep->attr.max_recv_dtos ||
			    c->attr.srq_soft_hw != ep->attr.srq_soft_hw);
	if (ep->ud && c->attr.qos != ep->attr.qos)
		dofi_sock_set_dscp(ep->ud->sock.fd, fi_tc_dscp_get(dofi_qos_tclass(c->attr.qos)));
	ep->attr = c->attr;
	dofi_ep_set_limits(ep);
	if (marks)
		dofi_ep_set_marks(ep);
	dofi_ep_set_evds(ep, c->recv, c->req, c->conn);
	if (c->pz != ep->pz) {
		if (ep->pz)
			ep->pz->users--;
		c->pz->users++;
		ep->pz = c->pz;
		ep_attr_fail_receives(ep);
	}
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct change c;
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (mask & (NEVER_FIELDS | ~(DAT_EP_PARAM_MASK)(EVD_FIELDS | DAT_EP_FIELD_PZ_HANDLE |
							DAT_EP_FIELD_EP_ATTR_ALL)))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ia = dofi_obj_ia(&ep->obj);
	pthread_mutex_lock(&ia->cm_lock);
	dofi_lock(&ep->lock);
	if (!dofi_obj_remains(&ep->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	else if (!ep_attr_state_allows(ep, mask))
		ret = dofi_ret_ep_state(ep->state);
	else if (!ep_attr_plan(ep, mask, param, &c))
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	else
		ret = ep_attr_apply(ep, &c);
	dofi_unlock(&ep->lock);
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}
