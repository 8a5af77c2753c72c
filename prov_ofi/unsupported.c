/* SPDX-License-Identifier: BSD-2-Clause */
/* What do calls say whose objects this provider cannot make? Those that take such an object can
 * only be given a handle that is not one. */
#include "ep.h"
#include "mr.h"
#include "unsupported.h"

#define NOT_SUPPORTED DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0)
#define NO_RMR DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)
#define NO_SRQ DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)

DAT_RETURN dofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	(void)rmr;
	return dofi_pz_live(pz) ? NOT_SUPPORTED
				: DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
}

DAT_RETURN dofi_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	(void)rmr;
	(void)mask;
	(void)param;
	return NO_RMR;
}

DAT_RETURN dofi_rmr_free(DAT_RMR_HANDLE rmr)
{
	(void)rmr;
	return NO_RMR;
}

DAT_RETURN dofi_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				   DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				   DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	(void)pz;
	(void)recv;
	(void)request;
	(void)connect;
	(void)srq;
	(void)attr;
	(void)ep;
	return dofi_ia_live(ia) ? NOT_SUPPORTED
				: DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
}

DAT_RETURN dofi_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *nbufs, DAT_COUNT *span)
{
	(void)nbufs;
	(void)span;
	return dofi_ep_live(ep) ? NOT_SUPPORTED
				: DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}

DAT_RETURN dofi_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
	(void)soft;
	(void)hard;
	return dofi_ep_live(ep) ? NOT_SUPPORTED
				: DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}

DAT_RETURN dofi_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *srq)
{
	(void)pz;
	(void)attr;
	(void)srq;
	return dofi_ia_live(ia) ? NOT_SUPPORTED
				: DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
}

DAT_RETURN dofi_srq_free(DAT_SRQ_HANDLE srq)
{
	(void)srq;
	return NO_SRQ;
}

DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie)
{
	(void)srq;
	(void)n;
	(void)iov;
	(void)cookie;
	return NO_SRQ;
}

DAT_RETURN dofi_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	(void)srq;
	(void)mask;
	(void)param;
	return NO_SRQ;
}

DAT_RETURN dofi_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT n)
{
	(void)srq;
	(void)n;
	return NO_SRQ;
}

DAT_RETURN dofi_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT lw)
{
	(void)srq;
	(void)lw;
	return NO_SRQ;
}
