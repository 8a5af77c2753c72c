/* SPDX-License-Identifier: BSD-2-Clause */
/* Packs and unpacks the completion data of messages and of writes with immediate data, whose
 * layout is in object/conn_id.h. (hot)
 */
#ifndef DOFI_CQ_DATA_H
#define DOFI_CQ_DATA_H

#include "object/conn_id.h"
#include "object/ep.h"

/* 32 bits, on devices. */
static inline bool dofi_cq_data_is_narrow(const struct dofi_fab *fab)
{
	return fab->narrow_cq_data;
}

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

	if (!dto->inv_key)
		return data;
	if (dofi_cq_data_is_narrow(&ep->obj.ia->fab))
		return dto->inv_key;
	return data | DOFI_DATA_INVALIDATE | (uint64_t)dto->inv_key << 32;
}

/* Reads the data of a message. Returns the key that it invalidates; 0: none. */
static inline uint32_t dofi_cq_data_read_msg(struct dofi_dto *dto, const struct dofi_fab *fab,
					     uint64_t data)
{
	bool key_only = dofi_cq_data_is_narrow(fab) && !dto->shared && data != DOFI_DATA_SOLICITED;

	dto->solicited = key_only || (data & DOFI_DATA_SOLICITED);
	if (key_only)
		return (uint32_t)data;
	return data & DOFI_DATA_INVALIDATE ? (uint32_t)(data >> 32) : 0;
}

/* Data of this write with immediate data. */
static inline uint64_t dofi_cq_data_immed(const struct dofi_ep *ep, const struct dofi_dto *dto)
{
	if (dofi_cq_data_is_narrow(&ep->obj.ia->fab))
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
	bool narrow = dofi_cq_data_is_narrow(fab);

	dto->solicited = narrow || (data & DOFI_DATA_SOLICITED);
	dto->immed = (uint32_t)(narrow ? data : data >> 32);
}

/* False: the data has no room for what this request has to tell the peer. `inv_key`: the key that
 * a message invalidates. */
static inline bool dofi_cq_data_fits(const struct dofi_ep *ep, enum dofi_dto_kind kind,
				     uint32_t inv_key)
{
	bool narrow = dofi_cq_data_is_narrow(&ep->obj.ia->fab);

	if (kind == DOFI_SEND)
		return !inv_key || !narrow || (!ep->peer_conn_id && inv_key != DOFI_DATA_SOLICITED);
	return kind != DOFI_WRITE_IMMED || !ep->peer_conn_id || (!narrow && !ep->has_msg_prefix);
}

#endif
