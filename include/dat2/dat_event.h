/* SPDX-License-Identifier: BSD-2-Clause */
/* Events and their data. */
#ifndef _DAT_EVENT_H_
#define _DAT_EVENT_H_

#include <dat2/dat_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The group of an event number (its upper bits) names the stream and the union member. */
typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT = 0x00001,		/* a DTO has completed */
	DAT_RMR_BIND_COMPLETION_EVENT = 0x01001,	/* an RMR bind has completed */
	DAT_CONNECTION_REQUEST_EVENT = 0x02001,		/* a peer requests a connection */
	DAT_CONNECTION_EVENT_ESTABLISHED = 0x04001,	/* connected */
	DAT_CONNECTION_EVENT_PEER_REJECTED = 0x04002,	/* the remote program rejected */
	/* no listener, or the remote provider rejected */
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x04003,
	/* an accept did not come to a connection */
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x04004,
	DAT_CONNECTION_EVENT_DISCONNECTED = 0x04005,	/* ended by either side's disconnect */
	DAT_CONNECTION_EVENT_BROKEN = 0x04006,		/* ended by an error */
	DAT_CONNECTION_EVENT_TIMED_OUT = 0x04007,	/* the connect timeout passed first */
	DAT_CONNECTION_EVENT_UNREACHABLE = 0x04008,	/* remote host unreachable */
	DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x08001,		/* an EVD was full and lost an event */
	DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x08002,	/* the IA is unusable */
	DAT_ASYNC_ERROR_EP_BROKEN = 0x08003,		/* an EP or SRQ failed or crossed a
							 * watermark */
	DAT_ASYNC_ERROR_TIMED_OUT = 0x08004,		/* an operation of an object timed out */
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x08005, /* internal error of the provider */
	DAT_HA_DOWN_TO_1 = 0x08101,			/* a connection is down to one path (2.0) */
	DAT_HA_UP_TO_MULTI_PATH = 0x08102,		/* a connection is back on several paths
							 * (2.0) */
	DAT_SOFTWARE_EVENT = 0x10001,			/* dat_evd_post_se() was called */
	DAT_EXTENSION_EVENT = 0x20000,			/* any extension (2.0) */
	DAT_IB_EXTENSION_RANGE_BASE = 0x40000,		/* InfiniBand extensions count from here
							 * (2.0) */
	DAT_IW_EXTENSION_RANGE_BASE = 0x80000		/* iWARP extensions count from here (2.0) */
} DAT_EVENT_NUMBER;

/* How a DTO or bind ended. All but success and flushed break the connection. */
typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS = 0,			/* done */
	DAT_DTO_ERR_FLUSHED = 1,		/* not executed: the connection ended before */
	DAT_DTO_ERR_LOCAL_LENGTH = 2,		/* message longer than the buffer */
	DAT_DTO_ERR_LOCAL_EP = 3,		/* fault of the local endpoint */
	DAT_DTO_ERR_LOCAL_PROTECTION = 4,	/* local key, range or PZ is wrong */
	DAT_DTO_ERR_BAD_RESPONSE = 5,		/* the peer sent an invalid response */
	DAT_DTO_ERR_REMOTE_ACCESS = 6,		/* remote key, range or right is wrong */
	DAT_DTO_ERR_REMOTE_RESPONDER = 7,	/* the peer could not execute it */
	DAT_DTO_ERR_TRANSPORT = 8,		/* link or retries failed */
	DAT_DTO_ERR_RECEIVER_NOT_READY = 9,	/* the peer had no receive posted in time */
	DAT_DTO_ERR_PARTIAL_PACKET = 10,	/* the message came incomplete */
	DAT_RMR_OPERATION_FAILED = 11,		/* the bind failed */
	DAT_DTO_ERR_LOCAL_MM_ERROR = 12		/* local memory management (kernel level, 2.0) */
} DAT_DTO_COMPLETION_STATUS;

/* Old names. */
#define DAT_DTO_LENGTH_ERROR		DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE			DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_COMPLETION_STATUS	DAT_DTO_COMPLETION_STATUS
#define DAT_RMR_BIND_SUCCESS		DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE		DAT_DTO_ERR_FLUSHED

/*
 * DAT_DTO_COMPLETION_EVENT.
 *
 * 2.0 made the length 32 bits wide and added the last two members.
 */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;		/* EP posted to; for an SRQ the EP that took the
						 * buffer */
	DAT_DTO_COOKIE user_cookie;		/* cookie of the post */
	DAT_DTO_COMPLETION_STATUS status;	/* how it ended */
	DAT_SEG_LENGTH transfered_length;	/* bytes moved; only after success */
	DAT_DTOS operation;			/* kind of DTO */
	DAT_RMR_CONTEXT rmr_context;		/* key invalidated; only for
						 * DAT_DTO_RECEIVE_WITH_INVALIDATE */
} DAT_DTO_COMPLETION_EVENT_DATA;

/* DAT_RMR_BIND_COMPLETION_EVENT. */
typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;		/* RMR that was bound */
	DAT_RMR_COOKIE user_cookie;		/* cookie of the bind */
	DAT_DTO_COMPLETION_STATUS status;	/* how it ended */
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/* Service point of a request. */
typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;	/* when it is an RSP */
	DAT_PSP_HANDLE psp_handle;	/* when it is a PSP */
	DAT_CSP_HANDLE csp_handle;	/* when it is a CSP (2.0) */
} DAT_SP_HANDLE;

/* DAT_CONNECTION_REQUEST_EVENT. */
typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;			/* service point that received it */
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;	/* requested local address */
	DAT_CONN_QUAL conn_qual;			/* requested qualifier */
	DAT_CR_HANDLE cr_handle;			/* the request: accept, reject or hand it
							 * off */
	DAT_BOOLEAN truncate_flag;			/* private data was cut short (2.0) */
} DAT_CR_ARRIVAL_EVENT_DATA;

/*
 * DAT_CONNECTION_EVENT_*.
 *
 * Private data comes with ESTABLISHED on the active side, from the peer's accept. It stays good
 * until dat_ep_free() or dat_ep_reset().
 *
 * 2.0 adds private data of the peer's reject to PEER_REJECTED.
 */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;	/* EP concerned */
	DAT_COUNT private_data_size;	/* bytes of the next; 0 in all other cases */
	DAT_PVOID private_data;		/* private data of the peer */
} DAT_CONNECTION_EVENT_DATA;

/* DAT_ASYNC_ERROR_*. */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle;	/* object concerned */
	DAT_COUNT reason;	/* number of the enumeration below that fits the object */
} DAT_ASYNCH_ERROR_EVENT_DATA;

/* Reasons when the object is an IA. */
typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR = 0,	/* close the IA, nothing else works */
	DAT_IA_OTHER_ERROR = 1		/* anything else */
} DAT_IA_ASYNC_ERROR_REASON;

/* Reasons when the object is an EP. */
typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR = 0,		/* the EP has failed */
	DAT_EP_OTHER_ERROR = 1,			/* anything else */
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2	/* it holds more SRQ buffers than its soft
						 * watermark */
} DAT_EP_ASYNC_ERROR_REASON;

/* Reasons when the object is an EVD. */
typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR = 0,	/* full, an event is lost */
	DAT_EVD_OTHER_ERROR = 1		/* anything else */
} DAT_EVD_ASYNC_ERROR_REASON;

/* Reasons when the object is an SRQ. */
typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR = 0,	/* the SRQ has failed */
	DAT_SRQ_OTHER_ERROR = 1,	/* anything else */
	DAT_SRQ_LOW_WATERMARK_EVENT = 2	/* fewer buffers left than dat_srq_set_lw() armed for */
} DAT_SRQ_ASYNC_ERROR_REASON;

/* Reasons when the object is an LMR. */
typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR = 0	/* anything */
} DAT_LMR_ASYNC_ERROR_REASON;

/* Reasons when the object is an RMR. */
typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR = 0	/* anything */
} DAT_RMR_ASYNC_ERROR_REASON;

/* Reasons when the object is a PZ. */
typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR = 0	/* anything */
} DAT_PZ_ASYNC_ERROR_REASON;

/* DAT_SOFTWARE_EVENT. */
typedef struct dat_software_event_data {
	DAT_PVOID pointer;	/* as posted; not dereferenced */
} DAT_SOFTWARE_EVENT_DATA;

/* Which member holds the facts follows from the event number. */
typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;	/* DTO completion */
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;	/* RMR bind completion */
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;		/* connection request */
	DAT_CONNECTION_EVENT_DATA connect_event_data;			/* connection */
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;		/* asynchronous error */
	DAT_SOFTWARE_EVENT_DATA software_event_data;			/* software event */
} DAT_EVENT_DATA;

/*
 * What an EVD hands out.
 *
 * 2.0 appended the room for extensions: 120 bytes, 48 in 1.2.
 */
typedef struct dat_event {
	DAT_EVENT_NUMBER event_number;		/* what happened */
	DAT_EVD_HANDLE evd_handle;		/* EVD that it was read from */
	DAT_EVENT_DATA event_data;		/* the facts */
	DAT_UINT64 event_extension_data[8];	/* facts of extension events, laid out by the
						 * extension (2.0) */
} DAT_EVENT;

#ifdef __cplusplus
}
#endif

#endif /* _DAT_EVENT_H_ */
