/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA reads into several segments, on devices that read into one only (iWARP). */
#ifndef DOFI_SPLIT_RDMA_READ_H
#define DOFI_SPLIT_RDMA_READ_H

#include "object/ep.h"

/* Issues one read per segment; the completion of the last one is that of all. */
ssize_t dofi_split_rdma_read(struct fid_ep *fid, const struct dofi_dto *dto,
			     const struct fi_msg_rma *whole);

#endif
