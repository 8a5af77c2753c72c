/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA operations of more segments than one of the device takes: a read into several, over iWARP; a
 * write from many. */
#ifndef DOFI_SPLIT_RDMA_H
#define DOFI_SPLIT_RDMA_H

#include "object/ep.h"

/* Issues one operation for each `most` segments; the completion of the last one is that of all, and
 * it alone has `flags`. After -FI_EAGAIN the next call continues with the operation that the device
 * refused. */
ssize_t dofi_split_rdma(struct fid_ep *fid, struct dofi_dto *dto, const struct fi_msg_rma *whole,
			size_t most, uint64_t flags);

/* Maximum number of operations of the device that one of the EP becomes, beyond the first. */
uint32_t dofi_split_rdma_more(const struct dofi_ep *ep);

#endif
