/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits an RDMA read or write into several. (hot)
 *
 * Operations of one kind of one connection complete in their order, and a device that fails one
 * fails those that follow. So only the last one requests a completion.
 */
#include "fabrics/verbs/split_rdma.h"
#include "object/conn_id.h"

static uint64_t split_bytes(const struct iovec *iov, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

ssize_t dofi_split_rdma(struct fid_ep *fid, struct dofi_dto *dto, const struct fi_msg_rma *whole,
			size_t most, uint64_t flags)
{
	struct fi_rma_iov target = { dto->remote_addr, 0, dto->remote_key };
	struct fi_msg_rma piece = *whole;
	ssize_t ret = 0;

	piece.rma_iov = &target;
	target.addr += split_bytes(whole->msg_iov, dto->handed_over);
	for (size_t i = dto->handed_over; i < whole->iov_count && !ret; i += piece.iov_count) {
		size_t left = whole->iov_count - i;
		bool last = left <= most;

		piece.msg_iov = &whole->msg_iov[i];
		piece.desc = &whole->desc[i];
		piece.iov_count = last ? left : most;
		piece.context = last ? whole->context : NULL;
		target.len = split_bytes(piece.msg_iov, piece.iov_count);
		/* Before the call: after the last one the operation may be complete. */
		dto->handed_over += (uint32_t)piece.iov_count;
		ret = dto->kind == DOFI_READ ? fi_readmsg(fid, &piece, last ? flags : 0)
					     : fi_writemsg(fid, &piece, last ? flags : 0);
		if (ret)
			dto->handed_over -= (uint32_t)piece.iov_count;
		target.addr += target.len;
	}
	return ret;
}

static uint32_t split_pieces(size_t segments, size_t most)
{
	return segments ? (uint32_t)((segments + most - 1) / most) : 1;
}

uint32_t dofi_split_rdma_more(const struct dofi_ep *ep)
{
	const struct dofi_fab *fab = &ep->obj.ia->fab;
	uint32_t reads = split_pieces(ep->max_iov[DOFI_READ], fab->max_read_iov);
	uint32_t writes = split_pieces(ep->max_iov[DOFI_WRITE], fab->max_write_iov);

	/* A write with immediate data is followed by a message, or announced by some to a peer that
	 * may have an SRQ. The latter cover the announcements of a send. */
	writes += ep->has_msg_prefix ? 1 : DOFI_ANNOUNCEMENTS_MAX;
	return (reads > writes ? reads : writes) - 1;
}
