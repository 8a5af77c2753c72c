/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends the messages that announce a value to a peer with an SRQ. */
#include "fabrics/verbs/announce.h"
#include "object/conn_id.h"

static uint32_t announce_count(uint32_t value)
{
	uint32_t n = 1;

	while (n < DOFI_ANNOUNCEMENTS_MAX && value >> n * DOFI_ANNOUNCEMENT_BITS)
		n++;
	return n;
}

/* Completion data of the announcement after which `left` follow. */
static uint32_t announce_data(const struct dofi_dto *dto, uint32_t left)
{
	uint32_t index = dto->ep->peer_conn_id & ((1u << DOFI_CONN_ID_INDEX_BITS) - 1);
	uint32_t part = dto->immed >> left * DOFI_ANNOUNCEMENT_BITS &
			((1u << DOFI_ANNOUNCEMENT_BITS) - 1);

	return DOFI_ANNOUNCEMENT | part << DOFI_ANNOUNCEMENT_SHIFT | index |
	       (dto->kind == DOFI_WRITE_IMMED ? DOFI_ANNOUNCEMENT_IMMED : 0);
}

ssize_t dofi_announce(struct fid_ep *fid, struct dofi_dto *dto)
{
	uint32_t n = announce_count(dto->immed);

	for (; dto->announced < n; dto->announced++) {
		struct fi_msg msg = { .data = announce_data(dto, n - 1 - dto->announced) };
		ssize_t ret = fi_sendmsg(fid, &msg, FI_REMOTE_CQ_DATA);

		if (ret)
			return ret;
	}
	return 0;
}
