/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA reads into several segments, where the device reads into one (iWARP). */
#ifndef DOFI_PIECES_H
#define DOFI_PIECES_H

#include "object/ep.h"

/* Makes one read for each segment; the last one's completion is that of all. */
ssize_t dofi_read_pieces(struct fid_ep *fid, const struct dofi_dto *dto,
			 const struct fi_msg_rma *whole);

#endif
