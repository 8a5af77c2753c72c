/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that this provider does not carry: DAT_MODEL_NOT_SUPPORTED, as the attributes say. */
#ifndef DOFI_UNSUPPORTED_H
#define DOFI_UNSUPPORTED_H

#include "dofi_api.h"

DAT_RETURN dofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dofi_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN dofi_rmr_free(DAT_RMR_HANDLE rmr);
DAT_RETURN dofi_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				   DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				   DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
DAT_RETURN dofi_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *nbufs, DAT_COUNT *span);
DAT_RETURN dofi_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);
DAT_RETURN dofi_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *srq);
DAT_RETURN dofi_srq_free(DAT_SRQ_HANDLE srq);
DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie);
DAT_RETURN dofi_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN dofi_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT n);
DAT_RETURN dofi_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT lw);

#endif
