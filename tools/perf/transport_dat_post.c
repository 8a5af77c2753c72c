/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts the operations of the transport over DAT: control messages, RDMA writes, slots. */
#include <endian.h>
#include <string.h>

#include "tdat.h"

int tdat_post_control(struct tdat *d, int peer, const struct tdat_control *message)
{
	struct tdat_peer *p = &d->peer[peer];
	uint8_t *mem = p->a->tx.slot->mem + p->controls % TDAT_CONTROLS * TDAT_CONTROL_SIZE;
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (uintptr_t)mem,
		.segment_length = sizeof(*message),
		.lmr_context = pdat_side(p->a)->lmr_context,
	};
	DAT_RETURN ret;

	memcpy(mem, message, sizeof(*message));
	ret = dat_ep_post_send(pdat_side(p->a)->ep, 1, &iov,
			       tdat_cookie(TDAT_WORK_CONTROL, peer, 0),
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_ep_post_send");
	p->controls++;
	return 0;
}

int tdat_post_receive(struct tdat *d, int peer, uint64_t index)
{
	struct perf_side *a = d->peer[peer].a;
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (uintptr_t)(a->rx.slot->mem + index * TDAT_CONTROL_SIZE),
		.segment_length = TDAT_CONTROL_SIZE,
		.lmr_context = pdat_side(a)->lmr_context,
	};
	DAT_RETURN ret = dat_ep_post_recv(pdat_side(a)->ep, 1, &iov,
					  tdat_cookie(TDAT_WORK_RECV, peer, index),
					  DAT_COMPLETION_DEFAULT_FLAG);

	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_ep_post_recv");
}

int tdat_post_write(struct tdat *d, int peer, DAT_LMR_TRIPLET *from, DAT_RMR_TRIPLET *to,
		    DAT_DTO_COOKIE cookie)
{
	DAT_RETURN ret = dat_ep_post_rdma_write(pdat_side(d->peer[peer].b)->ep, 1, from, cookie, to,
						DAT_COMPLETION_DEFAULT_FLAG);

	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_ep_post_rdma_write");
}

/* The caller has checked that there is a slot. */
int tdat_fill_slot(struct tdat *d, int peer, enum tdat_slot_type type, const uint8_t *data,
		   size_t len)
{
	struct tdat_peer *p = &d->peer[peer];
	uint8_t *ring = p->b->tx.slot->mem;
	struct tdat_tail *tail = tdat_tail_of(d, ring, p->filled);
	size_t bytes = data ? len : 0;
	uint8_t *from = (uint8_t *)tail - bytes;
	DAT_LMR_TRIPLET local = {
		.virtual_address = (uintptr_t)from,
		.segment_length = (DAT_SEG_LENGTH)(bytes + sizeof(*tail)),
		.lmr_context = pdat_side(p->b)->lmr_context,
	};
	DAT_RMR_TRIPLET remote = {
		.virtual_address = p->b->peer.addr + (uint64_t)(from - ring),
		.segment_length = (DAT_SEG_LENGTH)(bytes + sizeof(*tail)),
		.rmr_context = (DAT_RMR_CONTEXT)p->b->peer.key,
	};

	if (bytes)
		memcpy(from, data, bytes);
	tail->len = htobe32((uint32_t)len);
	tail->type = (uint8_t)type;
	tail->round = tdat_round_of(p->filled++);
	return tdat_post_write(d, peer, &local, &remote, tdat_cookie(TDAT_WORK_SLOT, peer, 0));
}
