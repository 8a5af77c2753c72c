/* SPDX-License-Identifier: BSD-2-Clause */
/* Packs and unpacks the completion data of messages and of writes with immediate data, whose
 * layout is in object/conn_id.h. (hot)
 */
#ifndef DOFI_CQ_DATA_H
#define DOFI_CQ_DATA_H

#include "object/conn_id.h"
#include "object/ep.h"

/* Data of every message to that peer. */
static inline uint64_t dofi_cq_data_conn_id(const struct dofi_ep *ep)
{
	return (uint64_t)ep->peer_conn_id << DOFI_DATA_CONN_ID_SHIFT;
}

static inline uint64_t dofi_cq_data_solicited(const struct dofi_dto *dto)
{
	return dto->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG ? DOFI_DATA_SOLICITED : 0;
}

/* Data of this message. */
static inline uint64_t dofi_cq_data_msg(const struct dofi_ep *ep, const struct dofi_dto *dto)
{
	uint64_t data = dofi_cq_data_conn_id(ep) | dofi_cq_data_solicited(dto);

	if (dto->inv_key)
		data |= DOFI_DATA_INVALIDATE | (uint64_t)dto->inv_key << 32;
	return data;
}

/* Data of this write with immediate data. */
static inline uint64_t dofi_cq_data_immed(const struct dofi_ep *ep, const struct dofi_dto *dto)
{
	if (ep->obj.ia->fab.narrow_cq_data)
		return dto->immed;
	return (uint64_t)dto->immed << 32 | dofi_cq_data_conn_id(ep) | dofi_cq_data_solicited(dto);
}

/* Prefix of the message that follows this write, to an EP without an SRQ. */
static inline uint64_t dofi_cq_data_written(const struct dofi_dto *dto)
{
	return (uint64_t)dto->immed << 32 | (dto->length + DOFI_DATA_WRITTEN) << 1 |
	       dofi_cq_data_solicited(dto);
}

/* True if the prefix of a message that an EP without an SRQ has received is such a one. */
static inline bool dofi_cq_data_is_written(uint64_t data)
{
	return (uint32_t)data >> 1 >= DOFI_DATA_WRITTEN;
}

static inline size_t dofi_cq_data_bytes_written(uint64_t data)
{
	return ((uint32_t)data >> 1) - DOFI_DATA_WRITTEN;
}

/* Reads the data of a write with immediate data. Where it has no room for more, the completion
 * notifies. */
static inline void dofi_cq_data_read_immed(struct dofi_dto *dto, const struct dofi_fab *fab,
					   uint64_t data)
{
	bool narrow = fab->narrow_cq_data;

	dto->solicited = narrow || (data & DOFI_DATA_SOLICITED);
	dto->immed = (uint32_t)(narrow ? data : data >> 32);
}

/* False: the data has no room for what this request has to tell the peer. `inv_key`: the key that
 * a message invalidates. */
static inline bool dofi_cq_data_fits(const struct dofi_ep *ep, enum dofi_dto_kind kind,
				     uint32_t inv_key)
{
	bool more = kind == DOFI_SEND ? inv_key != 0 : kind == DOFI_WRITE_IMMED && ep->peer_conn_id;

	if (!more)
		return true;
	return !ep->obj.ia->fab.narrow_cq_data && (kind == DOFI_SEND || !ep->has_msg_prefix);
}

#endif
