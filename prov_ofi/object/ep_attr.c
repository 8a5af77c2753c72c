/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of endpoints: defaults, limits, and what follows from them. */
#include <string.h>

#include "object/ep.h"
#include "object/limits.h"
#include "object/ud.h"

/* RFC 4594: "High-Throughput Data" is AF11, "Low-Latency Data" AF21, and EF is for traffic that has
 * capacity of its own; RFC 8622: lower effort. */
static const struct {
	DAT_QOS qos;
	uint8_t dscp;
} qos_classes[] = {
	{ DAT_QOS_HIGH_THROUGHPUT, 10 },
	{ DAT_QOS_LOW_LATENCY, 18 },
	{ DAT_QOS_ECONOMY, 1 },
	{ DAT_QOS_PREMIUM, 46 },
};

#define QOS_CLASSES (sizeof(qos_classes) / sizeof(*qos_classes))

uint32_t dofi_qos_tclass(DAT_QOS qos)
{
	for (size_t i = 0; i < QOS_CLASSES; i++)
		if (qos_classes[i].qos == qos)
			return fi_tc_dscp_set(qos_classes[i].dscp);
	return FI_TC_UNSPEC;
}

DAT_QOS dofi_qos_of_tclass(uint32_t tclass)
{
	for (size_t i = 0; i < QOS_CLASSES; i++)
		if (fi_tc_dscp_set(qos_classes[i].dscp) == tclass)
			return qos_classes[i].qos;
	return DAT_QOS_BEST_EFFORT;
}

DAT_QOS dofi_qos_supported(const struct dofi_ia *ia)
{
	unsigned int all = DAT_QOS_BEST_EFFORT;

	for (size_t i = 0; i < QOS_CLASSES && ia->fab.traffic_classes; i++)
		all |= qos_classes[i].qos;
	return (DAT_QOS)all;
}

bool dofi_qos_valid(const struct dofi_ia *ia, DAT_QOS qos)
{
	return qos == DAT_QOS_BEST_EFFORT || (dofi_qos_tclass(qos) != FI_TC_UNSPEC &&
					      ((unsigned int)dofi_qos_supported(ia) & qos));
}

void dofi_ep_attr_default(struct dofi_ia *ia, DAT_EP_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->max_message_size = ia->fab.max_size;
	attr->max_rdma_size = ia->fab.max_size;
	attr->qos = DAT_QOS_BEST_EFFORT;
	attr->recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr->request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr->max_recv_dtos = attr->max_request_dtos = DOFI_DEFAULT_DTOS;
	attr->max_recv_iov = attr->max_request_iov = DOFI_DEFAULT_IOV;
	attr->max_rdma_read_in = DOFI_DEFAULT_READS;
	attr->max_rdma_read_out = DOFI_DEFAULT_READS;
}

void dofi_ep_attr_merge(DAT_EP_ATTR *attr, const DAT_EP_ATTR *wanted)
{
	DAT_EP_ATTR def = *attr;

	*attr = *wanted;
	/* 0 means "default" for the sizes. */
	if (!attr->max_message_size)
		attr->max_message_size = def.max_message_size;
	if (!attr->max_rdma_size)
		attr->max_rdma_size = def.max_rdma_size;
	/* The arrays belong to the caller and are valid during the call only. */
	attr->ep_transport_specific_count = 0;
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific_count = 0;
	attr->ep_provider_specific = NULL;
}

static bool ep_attr_count_ok(DAT_COUNT value, DAT_COUNT most)
{
	return value >= 0 && value <= most;
}

static bool ep_attr_limits_ok(struct dofi_ia *ia, const DAT_EP_ATTR *attr)
{
	DAT_COUNT iov = (DAT_COUNT)ia->fab.max_iov, rdma_iov = (DAT_COUNT)ia->fab.max_rdma_iov;

	return ep_attr_count_ok(attr->max_recv_dtos, DOFI_MAX_DTOS) &&
	       ep_attr_count_ok(attr->max_request_dtos, DOFI_MAX_DTOS) &&
	       ep_attr_count_ok(attr->max_recv_iov, iov) &&
	       ep_attr_count_ok(attr->max_request_iov, iov) &&
	       ep_attr_count_ok(attr->max_rdma_read_in, DOFI_MAX_READS) &&
	       ep_attr_count_ok(attr->max_rdma_read_out, DOFI_MAX_READS) &&
	       ep_attr_count_ok(attr->max_rdma_read_iov, rdma_iov) &&
	       ep_attr_count_ok(attr->max_rdma_write_iov, rdma_iov) &&
	       attr->max_message_size <= (attr->service_type == DOFI_SERVICE_TYPE_UD
						  ? DOFI_DGRAM_MAX
						  : ia->fab.max_size) &&
	       attr->max_rdma_size <= ia->fab.max_size;
}

static bool ep_attr_flags_ok(const DAT_EP_ATTR *attr)
{
	unsigned int recv = DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			    DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	/* Suppression and fences are always allowed for requests: accept their flags. */
	unsigned int request = DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_EVD_THRESHOLD_FLAG |
			       DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG;

	return !((unsigned int)attr->recv_completion_flags & ~recv) &&
	       !((unsigned int)attr->request_completion_flags & ~request) &&
	       dofi_model_valid(attr->recv_completion_flags) &&
	       dofi_model_valid(attr->request_completion_flags);
}

bool dofi_ep_attr_valid(struct dofi_ia *ia, const DAT_EP_ATTR *attr, bool recv, bool request)
{
	if (!dofi_qos_valid(ia, attr->qos))
		return false;
	/* A direction without an EVD works, too: it generates no events. */
	if (recv && (!attr->max_recv_dtos || !attr->max_recv_iov))
		return false;
	if (request && !attr->max_request_dtos)
		return false;
	return ep_attr_limits_ok(ia, attr) && ep_attr_flags_ok(attr);
}

bool dofi_ep_attr_valid_srq(struct dofi_ia *ia, const DAT_EP_ATTR *attr, bool recv, bool request)
{
	DAT_EP_ATTR plain = *attr;

	if (attr->max_recv_dtos < DAT_HW_DEFAULT || attr->max_recv_dtos > DOFI_MAX_SRQ_DTOS ||
	    attr->srq_soft_hw < DAT_HW_DEFAULT || attr->srq_soft_hw > DOFI_MAX_SRQ_DTOS)
		return false;
	plain.max_recv_dtos = plain.max_recv_iov = 1;
	return dofi_ep_attr_valid(ia, &plain, recv, request);
}

void dofi_ep_streams(struct dofi_evd *recv, struct dofi_evd *req, const DAT_EP_ATTR *attr,
		     struct dofi_streams *s)
{
	s->recv = recv;
	s->req = req;
	s->recv_flags = attr->recv_completion_flags;
	s->req_flags = attr->request_completion_flags;
}

void dofi_ep_set_marks(struct dofi_ep *ep)
{
	ep->has_watermarks = false;
	/* 0 disables a watermark: programs that do not know the member leave it zero. */
	atomic_store(&ep->shared.soft, ep->attr.srq_soft_hw > 0 ? ep->attr.srq_soft_hw : -1);
	atomic_store(&ep->shared.hard, ep->attr.max_recv_dtos > 0 ? ep->attr.max_recv_dtos : -1);
}

/* 0, the default, stands for the limit of other requests. */
static uint8_t ep_attr_rdma_iov(DAT_COUNT rdma, const DAT_EP_ATTR *a)
{
	return (uint8_t)(rdma ? rdma : a->max_request_iov);
}

uint32_t dofi_ep_request_iov(const DAT_EP_ATTR *a)
{
	uint8_t most = (uint8_t)a->max_request_iov;
	uint8_t read = ep_attr_rdma_iov(a->max_rdma_read_iov, a);
	uint8_t write = ep_attr_rdma_iov(a->max_rdma_write_iov, a);

	if (most < read)
		most = read;
	return most < write ? write : most;
}

void dofi_ep_set_limits(struct dofi_ep *ep)
{
	const DAT_EP_ATTR *a = &ep->attr;

	/* The IA's limit: programs set a small attribute and send large messages. */
	ep->max_size = a->service_type == DOFI_SERVICE_TYPE_UD ? DOFI_DGRAM_MAX
							       : ep->obj.ia->fab.max_size;
	ep->max_iov[DOFI_RECV] = (uint8_t)a->max_recv_iov;
	ep->max_iov[DOFI_SEND] = (uint8_t)a->max_request_iov;
	ep->max_iov[DOFI_READ] = ep_attr_rdma_iov(a->max_rdma_read_iov, a);
	ep->max_iov[DOFI_WRITE] = ep_attr_rdma_iov(a->max_rdma_write_iov, a);
}

bool dofi_ep_evd_arg(struct dofi_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream,
		     struct dofi_evd **evd)
{
	struct dofi_obj *obj;

	*evd = NULL;
	if (handle == DAT_HANDLE_NULL)
		return true;
	obj = dofi_obj_check(handle, DAT_HANDLE_TYPE_EVD,
			     stream == DAT_EVD_CONNECTION_FLAG ? NULL : ia);
	*evd = (struct dofi_evd *)obj;
	return obj && ((*evd)->flags & stream);
}
