/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a DAT_RETURN: class, type, subtype. */
#ifndef _DAT_ERROR_H_
#define _DAT_ERROR_H_

#include <dat2/dat_platform_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every call returns one 32-bit word: class (bits 31-30), type (bits 29-16) and
 * subtype (bits 15-0). DAT_INVALID_HANDLE because of the IA handle is
 *
 *	DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA
 *
 * Success is 0. Some providers leave the class out, so compare
 * DAT_GET_TYPE(result) with a type rather than the whole word.
 *
 * The numbers of the subtypes from DAT_INVALID_HANDLE_CSP on are not those of 1.2.
 */
typedef DAT_UINT32 DAT_RETURN;

#define DAT_CLASS_ERROR		0x80000000U	/* the call failed */
#define DAT_CLASS_WARNING	0x40000000U	/* done, with a reservation */
#define DAT_CLASS_SUCCESS	0x00000000U
#define DAT_TYPE_MASK		0x3FFF0000U
#define DAT_SUBTYPE_MASK	0x0000FFFFU

#define DAT_IS_WARNING(status)	((DAT_UINT32)(status) & DAT_CLASS_WARNING)
#define DAT_GET_TYPE(status)	((DAT_UINT32)(status) & DAT_TYPE_MASK)
#define DAT_GET_SUBTYPE(status)	((DAT_UINT32)(status) & DAT_SUBTYPE_MASK)

/* The error. The values stand in their bit position. */
typedef enum dat_return_type {
	DAT_SUCCESS = 0x00000000,			/* done, or accepted when the outcome
							 * comes as an event */
	DAT_ABORT = 0x00010000,				/* a wait ended because its IA or EVD
							 * went away */
	DAT_CONN_QUAL_IN_USE = 0x00020000,		/* a service point uses this qualifier
							 * already */
	DAT_INSUFFICIENT_RESOURCES = 0x00030000,	/* no memory, device object or queue
							 * entry left */
	DAT_INTERNAL_ERROR = 0x00040000,		/* fault of the provider or the registry */
	DAT_INVALID_HANDLE = 0x00050000,		/* a handle is dead, foreign or of the
							 * wrong kind */
	DAT_INVALID_PARAMETER = 0x00060000,		/* a non-handle argument is wrong */
	DAT_INVALID_STATE = 0x00070000,			/* the object does not allow the call now */
	DAT_LENGTH_ERROR = 0x00080000,			/* local and remote lengths do not match */
	DAT_MODEL_NOT_SUPPORTED = 0x00090000,		/* optional feature that this provider
							 * lacks */
	DAT_PROVIDER_NOT_FOUND = 0x000A0000,		/* no registration fits name, version and
							 * thread-safety */
	DAT_PRIVILEGES_VIOLATION = 0x000B0000,		/* the memory does not grant the access */
	DAT_PROTECTION_VIOLATION = 0x000C0000,		/* wrong PZ, or range outside the region */
	DAT_QUEUE_EMPTY = 0x000D0000,			/* no event there; a CNO wait timed out */
	DAT_QUEUE_FULL = 0x000E0000,			/* the EVD had no room for the event */
	DAT_TIMEOUT_EXPIRED = 0x000F0000,		/* an EVD wait timed out */
	DAT_PROVIDER_ALREADY_REGISTERED = 0x00100000,	/* same name, version and thread-safety
							 * are taken */
	DAT_PROVIDER_IN_USE = 0x00110000,		/* open IAs still need the provider */
	DAT_INVALID_ADDRESS = 0x00120000,		/* remote address malformed, unsupported
							 * or unreachable */
	DAT_INTERRUPTED_CALL = 0x00130000,		/* a signal ended a wait */
	DAT_CONN_QUAL_UNAVAILABLE = 0x00140000,		/* no free qualifier is left */
	DAT_RESERVED_LMR = 0x00150000,			/* the reserved LMR may not be used here
							 * (2.0) */
	DAT_PORT_IN_USE = 0x00160000,			/* the port of a CSP is taken (2.0) */
	DAT_COMM_NOT_SUPPORTED = 0x00170000,		/* the provider lacks this communicator
							 * (2.0) */
	DAT_EXTENSION_BASE = 0x10000000,		/* extensions number their types from
							 * here (2.0) */
	DAT_NOT_IMPLEMENTED = 0x3FFF0000		/* the call has no code (another value
							 * than in 1.2) */
} DAT_RETURN_TYPE;

/* Old name. */
#define DAT_NAME_NOT_FOUND DAT_PROVIDER_NOT_FOUND

/* Which resource, handle, argument or state it was. */
typedef enum dat_return_subtype {
	DAT_NO_SUBTYPE = 0x00,				/* nothing more is known */
	DAT_SUB_INTERRUPTED = 0x01,			/* with DAT_INTERRUPTED_CALL */
	DAT_RESOURCE_MEMORY = 0x02,			/* out of memory */
	DAT_RESOURCE_DEVICE = 0x03,			/* device objects used up */
	DAT_RESOURCE_TEP = 0x04,			/* transport endpoints used up */
	DAT_RESOURCE_TEVD = 0x05,			/* event queues used up, or too long a
							 * queue requested */
	DAT_RESOURCE_PROTECTION_DOMAIN = 0x06,		/* protection zones used up */
	DAT_RESOURCE_MEMORY_REGION = 0x07,		/* registrations used up */
	DAT_RESOURCE_ERROR_HANDLER = 0x08,		/* error handlers used up */
	DAT_RESOURCE_CREDITS = 0x09,			/* credits used up */
	DAT_RESOURCE_SRQ = 0x0A,			/* shared receive queues used up */
	DAT_INVALID_HANDLE_IA = 0x0B,			/* the IA handle */
	DAT_INVALID_HANDLE_EP = 0x0C,			/* the EP handle */
	DAT_INVALID_HANDLE_LMR = 0x0D,			/* the LMR handle */
	DAT_INVALID_HANDLE_RMR = 0x0E,			/* the RMR handle */
	DAT_INVALID_HANDLE_PZ = 0x0F,			/* the PZ handle */
	DAT_INVALID_HANDLE_PSP = 0x10,			/* the PSP handle */
	DAT_INVALID_HANDLE_RSP = 0x11,			/* the RSP handle */
	DAT_INVALID_HANDLE_CR = 0x12,			/* the CR handle */
	DAT_INVALID_HANDLE_CNO = 0x13,			/* the CNO handle */
	DAT_INVALID_HANDLE_EVD_CR = 0x14,		/* the EVD for connection requests */
	DAT_INVALID_HANDLE_EVD_REQUEST = 0x15,		/* the request EVD, or the EVD of an EVD
							 * call */
	DAT_INVALID_HANDLE_EVD_RECV = 0x16,		/* the receive EVD */
	DAT_INVALID_HANDLE_EVD_CONN = 0x17,		/* the connection EVD */
	DAT_INVALID_HANDLE_EVD_ASYNC = 0x18,		/* the asynchronous EVD */
	DAT_INVALID_HANDLE_SRQ = 0x19,			/* the SRQ handle */
	DAT_INVALID_HANDLE_CSP = 0x1A,			/* the CSP handle (2.0) */
	DAT_INVALID_HANDLE1 = 0x1B,			/* handle in first position; likewise
							 * below */
	DAT_INVALID_HANDLE2 = 0x1C,			/* second position */
	DAT_INVALID_HANDLE3 = 0x1D,			/* third position */
	DAT_INVALID_HANDLE4 = 0x1E,			/* fourth position */
	DAT_INVALID_HANDLE5 = 0x1F,			/* fifth position */
	DAT_INVALID_HANDLE6 = 0x20,			/* sixth position */
	DAT_INVALID_HANDLE7 = 0x21,			/* seventh position */
	DAT_INVALID_HANDLE8 = 0x22,			/* eighth position */
	DAT_INVALID_HANDLE9 = 0x23,			/* ninth position */
	DAT_INVALID_HANDLE10 = 0x24,			/* tenth position */
	DAT_INVALID_ARG1 = 0x25,			/* argument in first position; likewise
							 * below */
	DAT_INVALID_ARG2 = 0x26,			/* second position */
	DAT_INVALID_ARG3 = 0x27,			/* third position */
	DAT_INVALID_ARG4 = 0x28,			/* fourth position */
	DAT_INVALID_ARG5 = 0x29,			/* fifth position */
	DAT_INVALID_ARG6 = 0x2A,			/* sixth position */
	DAT_INVALID_ARG7 = 0x2B,			/* seventh position */
	DAT_INVALID_ARG8 = 0x2C,			/* eighth position */
	DAT_INVALID_ARG9 = 0x2D,			/* ninth position */
	DAT_INVALID_ARG10 = 0x2E,			/* tenth position */
	DAT_INVALID_STATE_EP_UNCONNECTED = 0x2F,	/* the EP is unconnected */
	DAT_INVALID_STATE_EP_ACTCONNPENDING = 0x30,	/* the EP is connecting actively */
	DAT_INVALID_STATE_EP_PASSCONNPENDING = 0x31,	/* the EP holds a request that came in
							 * through an RSP */
	DAT_INVALID_STATE_EP_TENTCONNPENDING = 0x32,	/* the EP was made for a request and is
							 * not accepted yet */
	DAT_INVALID_STATE_EP_CONNECTED = 0x33,		/* the EP is connected */
	DAT_INVALID_STATE_EP_DISCONNECTED = 0x34,	/* the EP is disconnected */
	DAT_INVALID_STATE_EP_RESERVED = 0x35,		/* the EP waits on an RSP */
	DAT_INVALID_STATE_EP_COMPLPENDING = 0x36,	/* the EP is accepted, not yet
							 * established */
	DAT_INVALID_STATE_EP_DISCPENDING = 0x37,	/* the EP is draining before a disconnect */
	DAT_INVALID_STATE_EP_PROVIDERCONTROL = 0x38,	/* the EP has gone back to the provider */
	DAT_INVALID_STATE_EP_NOTREADY = 0x39,		/* the EP lacks its PZ or an EVD */
	DAT_INVALID_STATE_EP_RECV_WATERMARK = 0x3A,	/* watermark in the way */
	DAT_INVALID_STATE_EP_PZ = 0x3B,			/* the EP has no PZ */
	DAT_INVALID_STATE_EP_EVD_REQUEST = 0x3C,	/* the EP has no request EVD */
	DAT_INVALID_STATE_EP_EVD_RECV = 0x3D,		/* the EP has no receive EVD */
	DAT_INVALID_STATE_EP_EVD_CONNECT = 0x3E,	/* the EP has no connection EVD */
	DAT_INVALID_STATE_EP_UNCONFIGURED = 0x3F,	/* the EP is unconfigured */
	DAT_INVALID_STATE_EP_UNCONFRESERVED = 0x40,	/* the EP is unconfigured and reserved */
	DAT_INVALID_STATE_EP_UNCONFPASSIVE = 0x41,	/* the EP is unconfigured, passive side
							 * pending */
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE = 0x42,	/* the EP is unconfigured, tentative */
	DAT_INVALID_STATE_CNO_IN_USE = 0x43,		/* an EVD or a waiter holds the CNO */
	DAT_INVALID_STATE_CNO_DEAD = 0x44,		/* the CNO is being torn down */
	DAT_INVALID_STATE_EVD_OPEN = 0x45,		/* the EVD is open */
	DAT_INVALID_STATE_EVD_ENABLED = 0x46,		/* the EVD is enabled */
	DAT_INVALID_STATE_EVD_DISABLED = 0x47,		/* the EVD is disabled */
	DAT_INVALID_STATE_EVD_WAITABLE = 0x48,		/* the EVD may be waited on */
	DAT_INVALID_STATE_EVD_UNWAITABLE = 0x49,	/* the EVD may not be waited on */
	DAT_INVALID_STATE_EVD_IN_USE = 0x4A,		/* a stream or a waiter holds the EVD */
	DAT_INVALID_STATE_EVD_CONFIG_NOTIFY = 0x4B,	/* the EVD notifies on unsignalled terms */
	DAT_INVALID_STATE_EVD_CONFIG_SOLICITED = 0x4C,	/* the EVD notifies on solicited events */
	DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD = 0x4D,	/* the EVD notifies on a threshold */
	DAT_INVALID_STATE_EVD_WAITER = 0x4E,		/* a thread waits on the EVD */
	DAT_INVALID_STATE_EVD_ASYNC = 0x4F,		/* the EVD serves asynchronous errors */
	DAT_INVALID_STATE_IA_IN_USE = 0x50,		/* objects of the IA are left */
	DAT_INVALID_STATE_LMR_IN_USE = 0x51,		/* an RMR is bound to the LMR */
	DAT_INVALID_STATE_LMR_FREE = 0x52,		/* the LMR is freed */
	DAT_INVALID_STATE_PZ_IN_USE = 0x53,		/* an EP, LMR, RMR or SRQ uses the PZ */
	DAT_INVALID_STATE_PZ_FREE = 0x54,		/* the PZ is freed */
	DAT_INVALID_STATE_SRQ_OPERATIONAL = 0x55,	/* the SRQ works */
	DAT_INVALID_STATE_SRQ_ERROR = 0x56,		/* the SRQ has failed */
	DAT_INVALID_STATE_SRQ_IN_USE = 0x57,		/* an EP uses the SRQ */
	DAT_INVALID_STATE_SRQ_SHUTDOWN = 0x58,		/* the SRQ is shut down (2.0) */
	DAT_PRIVILEGES_READ = 0x59,			/* no local read right */
	DAT_PRIVILEGES_WRITE = 0x5A,			/* no local write right */
	DAT_PRIVILEGES_RDMA_READ = 0x5B,		/* no remote read right */
	DAT_PRIVILEGES_RDMA_WRITE = 0x5C,		/* no remote write right */
	DAT_PROTECTION_READ = 0x5D,			/* local read outside region or PZ */
	DAT_PROTECTION_WRITE = 0x5E,			/* local write outside region or PZ */
	DAT_PROTECTION_RDMA_READ = 0x5F,		/* remote read outside region or PZ */
	DAT_PROTECTION_RDMA_WRITE = 0x60,		/* remote write outside region or PZ */
	DAT_INVALID_ADDRESS_UNSUPPORTED = 0x61,		/* address family not served */
	DAT_INVALID_ADDRESS_UNREACHABLE = 0x62,		/* no route known */
	DAT_INVALID_ADDRESS_MALFORMED = 0x63,		/* not an address */
	DAT_NAME_NOT_REGISTERED = 0x64,			/* no entry with this IA name */
	DAT_MAJOR_NOT_FOUND = 0x65,			/* name known, not in this major version */
	DAT_MINOR_NOT_FOUND = 0x66,			/* name known, not in this minor version */
	DAT_THREAD_SAFETY_NOT_FOUND = 0x67		/* name known, not with this thread-
							 * safety */
} DAT_RETURN_SUBTYPE;

#ifdef __cplusplus
}
#endif

#endif /* _DAT_ERROR_H_ */
