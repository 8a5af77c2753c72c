/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits an RDMA read into several. (hot)
 *
 * Reads of one connection complete in their order, and a device that fails one fails those that
 * follow. So only the last one requests a completion.
 */
#include "fabric/verbs/split_rdma_read.h"

ssize_t dofi_split_rdma_read(struct fid_ep *fid, const struct dofi_dto *dto,
			     const struct fi_msg_rma *whole)
{
	struct fi_rma_iov source = { dto->remote_addr, 0, dto->remote_key };
	struct fi_msg_rma piece = *whole;
	ssize_t ret = 0;

	piece.iov_count = 1;
	piece.rma_iov = &source;
	for (size_t i = 0; i < dto->iov_count && !ret; i++) {
		bool last = i + 1 == dto->iov_count;

		piece.msg_iov = &whole->msg_iov[i];
		piece.desc = &whole->desc[i];
		piece.context = last ? whole->context : NULL;
		source.len = whole->msg_iov[i].iov_len;
		/* -FI_EAGAIN: all reads will be submitted again, which is harmless. */
		ret = fi_readmsg(fid, &piece, last ? FI_COMPLETION : 0);
		source.addr += source.len;
	}
	return ret;
}
