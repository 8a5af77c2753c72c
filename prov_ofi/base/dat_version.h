/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the DAT version that this copy of the provider is built for and wraps the differences.
 *
 * The provider is written once. Sources that need DAT's headers are compiled once per version, all
 * others once. They use the names that both versions share. Names that differ or exist in one
 * version only are wrapped here or implemented in files of that version: object/version_12.c and
 * _20.c (what objects show), api/api_12.c and _20.c (calls and jump tables).
 */
#ifndef DOFI_API_H
#define DOFI_API_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

#if DOFI_API == 12

/* 1.2 has no common service points: this kind of handle never occurs. */
#define DOFI_HANDLE_TYPE_CSP ((DAT_HANDLE_TYPE)11)
#include <dat/udat.h>
#include <dat/dat_registry.h>
#elif DOFI_API == 20
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#else
#error "DOFI_API must be 12 or 20"
#endif

#define DOFI_API_MAJOR (DOFI_API / 10u)
#define DOFI_API_MINOR (DOFI_API % 10u)

/* Groups of collectives; 1.2 has none. */
#define DOFI_HANDLE_TYPE_COLLECTIVE ((DAT_HANDLE_TYPE)13)

/* Events of datagram endpoints, and what they are about: numbers of 2.0, which 1.2 never has. */
#define DOFI_UD_REQUEST_EVENT ((DAT_EVENT_NUMBER)0x40001)
#define DOFI_UD_ESTABLISHED_EVENT ((DAT_EVENT_NUMBER)0x40002)
#define DOFI_UD_REJECT_EVENT ((DAT_EVENT_NUMBER)0x40003)
#define DOFI_UD_ERROR_EVENT ((DAT_EVENT_NUMBER)0x40004)
#define DOFI_SERVICE_TYPE_UD ((DAT_SERVICE_TYPE)1)
enum dofi_ud_type {
	DOFI_UD_REMOTE_AH = 6,
	DOFI_UD_PASSIVE_REMOTE_AH,
	DOFI_UD_CONNECT_REJECT = 10,
	DOFI_UD_CONNECT_ERROR,
};

#define DOFI_ERR(type, sub) ((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (sub)))

#if DOFI_API == 12

typedef DAT_VLEN dofi_len_t;
#define DOFI_LEN_MAX ((DAT_VLEN)1 << 62)

static inline DAT_VADDR dofi_rmr_addr(const DAT_RMR_TRIPLET *t)
{
	return t->target_address;
}

static inline void dofi_dto_extra(DAT_DTO_COMPLETION_EVENT_DATA *d, int kind, DAT_RMR_CONTEXT key)
{
	(void)d;
	(void)kind;
	(void)key;
}

static inline void dofi_dto_copy_extra(DAT_DTO_COMPLETION_EVENT_DATA *to,
				       const DAT_DTO_COMPLETION_EVENT_DATA *from)
{
	(void)to;
	(void)from;
}

/* Returns the operation (in the order of 2.0's DAT_DTOS); -1: the event does not carry it. */
static inline int dofi_dto_operation(const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	(void)d;
	return -1;
}

/* True if immediate data consumed the receive. */
static inline bool dofi_event_immed(const DAT_EVENT *event, uint32_t *immed)
{
	(void)event;
	(void)immed;
	return false;
}

static inline void dofi_cr_extra(DAT_CR_ARRIVAL_EVENT_DATA *d)
{
	(void)d;
}

/* No extensions: a receive consumed by a peer's write with immediate data is an ordinary one. */
#define DOFI_PRIV_ATOMIC ((DAT_MEM_PRIV_FLAGS)0)
#define DOFI_EVD_EXTENSION ((DAT_EVD_FLAGS)0)

static inline DAT_EVENT_NUMBER dofi_dto_event(int kind)
{
	(void)kind;
	return DAT_DTO_COMPLETION_EVENT;
}

#else

#define DOFI_HANDLE_TYPE_CSP DAT_HANDLE_TYPE_CSP

typedef DAT_SEG_LENGTH dofi_len_t;
#define DOFI_LEN_MAX ((DAT_SEG_LENGTH)0xffffffffu)

static inline DAT_VADDR dofi_rmr_addr(const DAT_RMR_TRIPLET *t)
{
	return t->virtual_address;
}

/* 2.0 reports which operation completed (kind: enum dofi_dto_kind, in the order of DAT_DTOS). */
static inline void dofi_dto_extra(DAT_DTO_COMPLETION_EVENT_DATA *d, int kind, DAT_RMR_CONTEXT key)
{
	d->operation = (DAT_DTOS)kind;
	d->rmr_context = kind == DAT_DTO_RECEIVE_WITH_INVALIDATE ? key : 0;
}

static inline void dofi_dto_copy_extra(DAT_DTO_COMPLETION_EVENT_DATA *to,
				       const DAT_DTO_COMPLETION_EVENT_DATA *from)
{
	to->operation = from->operation;
	to->rmr_context = from->rmr_context;
}

static inline int dofi_dto_operation(const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	return (int)d->operation;
}

static inline void dofi_cr_extra(DAT_CR_ARRIVAL_EVENT_DATA *d)
{
	d->truncate_flag = DAT_FALSE;
}

#define DOFI_PRIV_ATOMIC ((DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
#define DOFI_EVD_EXTENSION ((DAT_EVD_FLAGS)DAT_IB_EVD_EXTENSION_FLAG)

/* The operations of the InfiniBand extension have the highest numbers. */
static inline DAT_EVENT_NUMBER dofi_dto_event(int kind)
{
	return kind >= DAT_IB_DTO_RDMA_WRITE_IMMED ? (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT
						   : DAT_DTO_COMPLETION_EVENT;
}

static inline bool dofi_event_immed(const DAT_EVENT *event, uint32_t *immed)
{
	DAT_IB_EXTENSION_EVENT_DATA x;

	memcpy(&x, event->event_extension_data, sizeof(x));
	*immed = x.val.immed.data;
	return x.type == DAT_IB_RDMA_WRITE_IMMED_DATA;
}

#endif

/* Copies field by field: a wide load of recently stored fields defeats store-to-load forwarding. */
static inline void dofi_dto_copy(DAT_DTO_COMPLETION_EVENT_DATA *to,
				 const DAT_DTO_COMPLETION_EVENT_DATA *from)
{
	to->ep_handle = from->ep_handle;
	to->user_cookie.as_64 = from->user_cookie.as_64;
	to->status = from->status;
	to->transfered_length = from->transfered_length;
	dofi_dto_copy_extra(to, from);
}

/* dofi_NAME implements dat_NAME: the prototypes, and the slots of the jump table (api/api_12.c,
 * api/api_20.c), come from libdat's list of calls. */
#define DAT_API_MAJOR (DOFI_API / 10)
#define CALL(n, name, kind, ...) DAT_RETURN dofi_##name(__VA_ARGS__);
#include "../src/calls.def"
#undef CALL

/* The jump table; implemented by api/api_12.c and api/api_20.c. */
extern const DAT_PROVIDER dofi_api_vtable;

#endif
