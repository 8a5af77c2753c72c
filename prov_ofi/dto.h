/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting of data transfer operations. */
#ifndef DOFI_DTO_H
#define DOFI_DTO_H

#include "ep.h"

/* CQ data of a send: the receiver's completion is to be notified (solicited wait). */
#define DOFI_DATA_SOLICITED 1u

/* Hands waiting operations to the fabric, as far as it takes them; ep->lock held. */
void dofi_dto_submit(struct dofi_ep *ep);

DAT_RETURN dofi_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dofi_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dofi_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags);
DAT_RETURN dofi_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags);

#endif
