/* SPDX-License-Identifier: BSD-2-Clause */
/* Basic types, handles and flags that all DAT calls share. */
#ifndef _DAT_TYPES_H_
#define _DAT_TYPES_H_

#include <dat/dat_error.h>
#include <dat/dat_platform_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Longest name of an IA, adapter, vendor or provider in bytes, final NUL included. */
#define DAT_NAME_MAX_LENGTH 256

/* A plain pointer to text; const DAT_NAME_PTR is a constant pointer, not constant text. */
typedef char *DAT_NAME_PTR;

/* Microseconds. 0 polls where a call allows it. */
typedef DAT_UINT32 DAT_TIMEOUT;
#define DAT_TIMEOUT_INFINITE ((DAT_TIMEOUT)~0U)

typedef enum dat_boolean {
	DAT_FALSE = 0,	/* no */
	DAT_TRUE = 1	/* yes */
} DAT_BOOLEAN;

/*
 * Handles. All kinds share one C type, so the compiler cannot tell them apart;
 * providers check them. A handle is good from creation to destruction, in its own
 * process and next to objects of its own IA instance. An IA handle is a small number,
 * never a pointer to follow.
 */
typedef DAT_PVOID DAT_HANDLE;
#define DAT_HANDLE_NULL ((DAT_HANDLE)0)

typedef DAT_HANDLE DAT_IA_HANDLE;	/* interface adapter: an opened device or port */
typedef DAT_HANDLE DAT_PZ_HANDLE;	/* protection zone: ties EPs to memory */
typedef DAT_HANDLE DAT_LMR_HANDLE;	/* local memory region: registered memory */
typedef DAT_HANDLE DAT_RMR_HANDLE;	/* remote memory region: window on an LMR for a peer */
typedef DAT_HANDLE DAT_EVD_HANDLE;	/* event dispatcher: queue of events */
typedef DAT_HANDLE DAT_CNO_HANDLE;	/* consumer notification object: wakes for many EVDs */
typedef DAT_HANDLE DAT_EP_HANDLE;	/* endpoint of a connection */
typedef DAT_HANDLE DAT_SRQ_HANDLE;	/* shared receive queue: receive buffers of many EPs */
typedef DAT_HANDLE DAT_PSP_HANDLE;	/* public service point: persistent listener */
typedef DAT_HANDLE DAT_RSP_HANDLE;	/* reserved service point: listener for one EP */
typedef DAT_HANDLE DAT_CR_HANDLE;	/* connection request that has arrived */

/* Kinds of objects, as dat_get_handle_type() reports them. */
typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR = 0,		/* connection request */
	DAT_HANDLE_TYPE_EP = 1,		/* endpoint */
	DAT_HANDLE_TYPE_EVD = 2,	/* event dispatcher */
	DAT_HANDLE_TYPE_IA = 3,		/* interface adapter */
	DAT_HANDLE_TYPE_LMR = 4,	/* local memory region */
	DAT_HANDLE_TYPE_PSP = 5,	/* public service point */
	DAT_HANDLE_TYPE_PZ = 6,		/* protection zone */
	DAT_HANDLE_TYPE_RMR = 7,	/* remote memory region */
	DAT_HANDLE_TYPE_RSP = 8,	/* reserved service point */
	DAT_HANDLE_TYPE_CNO = 9,	/* consumer notification object */
	DAT_HANDLE_TYPE_SRQ = 10	/* shared receive queue */
} DAT_HANDLE_TYPE;

/* Eight bytes of the program's own: consumer contexts and completion cookies. */
typedef union dat_context {
	DAT_PVOID as_ptr;	/* a pointer */
	DAT_UINT64 as_64;	/* a number */
	DAT_UVERYLONG as_index;	/* a number in its widest type */
} DAT_CONTEXT;

typedef DAT_CONTEXT DAT_DTO_COOKIE;	/* comes back in a DTO completion */
typedef DAT_CONTEXT DAT_RMR_COOKIE;	/* comes back in an RMR bind completion */

/* An attribute that only one transport, provider or vendor knows. */
typedef struct dat_named_attr {
	const char *name;	/* name, text */
	const char *value;	/* value, text */
} DAT_NAMED_ATTR;

/* Addresses of connections. */
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;
typedef DAT_UINT64 DAT_CONN_QUAL;	/* what a service point listens on */
typedef DAT_UINT64 DAT_PORT_QUAL;	/* port of one end of a connection */

/* Memory. */
typedef DAT_UINT64 DAT_VADDR;		/* address, or offset where zero-based */
typedef DAT_UINT64 DAT_VLEN;		/* length in bytes */
typedef DAT_UINT32 DAT_LMR_CONTEXT;	/* key of an LMR for local use */
typedef DAT_UINT32 DAT_RMR_CONTEXT;	/* key of an LMR or RMR for a remote peer */

/* A piece of local memory: one segment of an IOV. */
typedef struct dat_lmr_triplet {
	DAT_LMR_CONTEXT lmr_context;	/* key of the LMR that holds it */
	DAT_UINT32 pad;			/* unused */
	DAT_VADDR virtual_address;	/* where it starts */
	DAT_VLEN segment_length;	/* bytes */
} DAT_LMR_TRIPLET;

/* A piece of a peer's memory: target of an RDMA operation. */
typedef struct dat_rmr_triplet {
	DAT_RMR_CONTEXT rmr_context;	/* key that the peer gave out */
	DAT_UINT32 pad;			/* unused */
	DAT_VADDR target_address;	/* where it starts at the peer */
	DAT_VLEN segment_length;	/* bytes */
} DAT_RMR_TRIPLET;

/* Access rights of memory. Remote rights never follow from local ones. */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG = 0x00,		/* no access */
	DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x01,	/* source of sends and RDMA writes */
	DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x02,	/* peers may read */
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,	/* sink of receives and RDMA reads */
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20,	/* peers may write */
	DAT_MEM_PRIV_ALL_FLAG = 0x33		/* the four above */
} DAT_MEM_PRIV_FLAGS;

#define DAT_MEM_PRIV_READ_FLAG	0x03	/* local and remote read */
#define DAT_MEM_PRIV_WRITE_FLAG	0x30	/* local and remote write */

/*
 * How one DTO completes, and in DAT_EP_ATTR how an EP's DTOs may complete.
 *
 * An event "notifies" when it releases the thread in dat_evd_wait() or triggers the CNO. One
 * that does not notify is queued all the same. Flags of a post:
 *
 *	send		SUPPRESS, SOLICITED_WAIT, UNSIGNALLED, BARRIER_FENCE
 *	RDMA, bind	SUPPRESS, UNSIGNALLED, BARRIER_FENCE
 *	receive		UNSIGNALLED
 *
 * UNSIGNALLED needs the like flag in the EP's attribute. A suppressed request keeps its queue
 * entry until a later one that is not suppressed completes. Attributes:
 *
 *	recv_completion_flags		UNSIGNALLED, SOLICITED_WAIT or EVD_THRESHOLD
 *	request_completion_flags	UNSIGNALLED or EVD_THRESHOLD
 *
 * With SOLICITED_WAIT only receives of solicited sends notify; with EVD_THRESHOLD, the default,
 * all do, and a waiter counts events up to its threshold.
 */
typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG = 0x00,		/* one event, which notifies */
	DAT_COMPLETION_SUPPRESS_FLAG = 0x01,		/* no event, unless it fails */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x02,	/* send: the peer's receive notifies */
	DAT_COMPLETION_UNSIGNALLED_FLAG = 0x04,		/* the event does not notify */
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x08,	/* wait for earlier reads and binds */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10	/* attribute: see above */
} DAT_COMPLETION_FLAGS;

/* Requested service level of a connection; see DAT_PROVIDER_ATTR for those that exist. */
typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT = 0x00,	/* no preference, always there */
	DAT_QOS_HIGH_THROUGHPUT = 0x01,	/* favour bandwidth */
	DAT_QOS_LOW_LATENCY = 0x02,	/* favour latency */
	DAT_QOS_ECONOMY = 0x04,		/* lowest cost */
	DAT_QOS_PREMIUM = 0x08		/* highest class */
} DAT_QOS;

/* Transport service of an EP. */
typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC = 0	/* reliable connection */
} DAT_SERVICE_TYPE;

/* For dat_ep_connect(). */
typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG = 0x00,	/* one path */
	DAT_CONNECT_MULTIPATH_FLAG = 0x01	/* several paths if possible */
} DAT_CONNECT_FLAGS;

/* For dat_ia_close() and dat_ep_disconnect(). */
typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG = 0x00,	/* now, whatever is outstanding */
	DAT_CLOSE_GRACEFUL_FLAG = 0x01	/* let outstanding work finish; an IA must be empty */
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

/* Streams that may feed an EVD. */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG = 0x001,		/* dat_evd_post_se() */
	DAT_EVD_CR_FLAG = 0x010,		/* connection requests */
	DAT_EVD_DTO_FLAG = 0x020,		/* completions of sends, receives and RDMA */
	DAT_EVD_CONNECTION_FLAG = 0x040,	/* outcome and end of connections */
	DAT_EVD_RMR_BIND_FLAG = 0x080,		/* completions of RMR binds */
	DAT_EVD_ASYNC_FLAG = 0x100,		/* asynchronous errors of the IA */
	DAT_EVD_DEFAULT_FLAG = 0x1F0		/* all but software events */
} DAT_EVD_FLAGS;

/* Who supplies the EP for a request that arrives on a PSP. */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG = 0x00,	/* the program, in dat_cr_accept() */
	DAT_PSP_PROVIDER_FLAG = 0x01	/* the provider, with each request */
} DAT_PSP_FLAGS;

/* Masks of 64 bits are built from this. */
#define DAT_FIELD_BIT(n) ((DAT_UINT64)1 << (n))

#ifdef __cplusplus
}
#endif

#endif /* _DAT_TYPES_H_ */
