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
	if (!dofi_cq_data_is_narrow(&ep->obj.ia->fab))
		return data | DOFI_DATA_INVALIDATE | (uint64_t)dto->inv_key << 32;
	return ep->peer_conn_id ? data | DOFI_DATA_ANNOUNCED : dto->inv_key;
}

/* True if the value of the message or write with this data must be announced. The compiler knows
 * that the data of ordinary messages lacks the bit. */
static inline bool dofi_cq_data_is_announced(const struct dofi_ep *ep, uint64_t data)
{
	return (data & DOFI_DATA_ANNOUNCED) && ep->peer_conn_id &&
	       dofi_cq_data_is_narrow(&ep->obj.ia->fab);
}

/* Reads the data of a message that has no announced value. Returns the key that it invalidates; 0:
 * none. */
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
	uint64_t data = dofi_cq_data_conn_id(ep) | dofi_cq_data_solicited(dto);

	if (!dofi_cq_data_is_narrow(&ep->obj.ia->fab))
		return (uint64_t)dto->immed << 32 | data;
	return ep->peer_conn_id ? data | DOFI_DATA_ANNOUNCED : dto->immed;
}

/* Reads the data of a write with immediate data that were not announced. Where it has no room for
 * more, the completion notifies. */
static inline void dofi_cq_data_read_immed(struct dofi_dto *dto, const struct dofi_fab *fab,
					   uint64_t data)
{
	bool narrow = dofi_cq_data_is_narrow(fab);

	dto->solicited = narrow || (data & DOFI_DATA_SOLICITED);
	dto->immed = (uint32_t)(narrow ? data : data >> 32);
}

/* True if a message or a write to an SRQ has a value that was announced. */
static inline bool dofi_cq_data_has_announced(const struct dofi_dto *dto,
					      const struct dofi_fab *fab, uint64_t data)
{
	return (data & DOFI_DATA_ANNOUNCED) && dto->shared && dofi_cq_data_is_narrow(fab);
}

/* False: the data has no room for the key that a message invalidates. Keys of RMRs always have. */
static inline bool dofi_cq_data_fits(const struct dofi_ep *ep, enum dofi_dto_kind kind,
				     uint32_t inv_key)
{
	return kind != DOFI_SEND || inv_key != DOFI_DATA_SOLICITED || ep->peer_conn_id ||
	       !dofi_cq_data_is_narrow(&ep->obj.ia->fab);
}

#endif
