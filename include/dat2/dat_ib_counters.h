/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters that the extensions can read. */
#ifndef _DAT_IB_COUNTERS_H_
#define _DAT_IB_COUNTERS_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counters of an IA. */
typedef enum dat_ia_counters {
	DCNT_IA_PZ_CREATE = 0,			/* PZs created */
	DCNT_IA_PZ_FREE = 1,			/* PZs freed */
	DCNT_IA_LMR_CREATE = 2,			/* LMRs created */
	DCNT_IA_LMR_FREE = 3,			/* LMRs freed */
	DCNT_IA_RMR_CREATE = 4,			/* RMRs created */
	DCNT_IA_RMR_FREE = 5,			/* RMRs freed */
	DCNT_IA_PSP_CREATE = 6,			/* PSPs created */
	DCNT_IA_PSP_CREATE_ANY = 7,		/* PSPs created on any qualifier */
	DCNT_IA_PSP_FREE = 8,			/* PSPs freed */
	DCNT_IA_RSP_CREATE = 9,			/* RSPs created */
	DCNT_IA_RSP_FREE = 10,			/* RSPs freed */
	DCNT_IA_EVD_CREATE = 11,		/* EVDs created */
	DCNT_IA_EVD_FREE = 12,			/* EVDs freed */
	DCNT_IA_EP_CREATE = 13,			/* EPs created */
	DCNT_IA_EP_FREE = 14,			/* EPs freed */
	DCNT_IA_SRQ_CREATE = 15,		/* SRQs created */
	DCNT_IA_SRQ_FREE = 16,			/* SRQs freed */
	DCNT_IA_SP_CR = 17,			/* connection requests received */
	DCNT_IA_SP_CR_ACCEPTED = 18,		/* connection requests accepted */
	DCNT_IA_SP_CR_REJECTED = 19,		/* connection requests rejected */
	DCNT_IA_MEM_ALLOC = 20,			/* allocations of the provider */
	DCNT_IA_MEM_ALLOC_DATA = 21,		/* bytes of these */
	DCNT_IA_MEM_FREE = 22,			/* allocations given back */
	DCNT_IA_ASYNC_ERROR = 23,		/* asynchronous errors */
	DCNT_IA_ASYNC_QP_ERROR = 24,		/* of these, of endpoints */
	DCNT_IA_ASYNC_CQ_ERROR = 25,		/* of these, of completion queues */
	DCNT_IA_CM_LISTEN = 26,			/* CM: listeners */
	DCNT_IA_CM_REQ_TX = 27,			/* CM: requests sent */
	DCNT_IA_CM_REQ_RX = 28,			/* CM: requests received */
	DCNT_IA_CM_REP_TX = 29,			/* CM: replies sent */
	DCNT_IA_CM_REP_RX = 30,			/* CM: replies received */
	DCNT_IA_CM_RTU_TX = 31,			/* CM: ready-to-use messages sent */
	DCNT_IA_CM_RTU_RX = 32,			/* CM: ready-to-use messages received */
	DCNT_IA_CM_USER_REJ_TX = 33,		/* CM: rejections by this program */
	DCNT_IA_CM_USER_REJ_RX = 34,		/* CM: rejections by remote programs */
	DCNT_IA_CM_ACTIVE_EST = 35,		/* CM: connections established actively */
	DCNT_IA_CM_PASSIVE_EST = 36,		/* CM: connections established passively */
	DCNT_IA_CM_AH_REQ_TX = 37,		/* CM: UD address requests sent */
	DCNT_IA_CM_AH_REQ_RX = 38,		/* CM: UD address requests received */
	DCNT_IA_CM_AH_RESOLVED = 39,		/* CM: UD addresses obtained */
	DCNT_IA_CM_DREQ_TX = 40,		/* CM: disconnect requests sent */
	DCNT_IA_CM_DREQ_RX = 41,		/* CM: disconnect requests received */
	DCNT_IA_CM_DREP_TX = 42,		/* CM: disconnect replies sent */
	DCNT_IA_CM_DREP_RX = 43,		/* CM: disconnect replies received */
	DCNT_IA_CM_MRA_TX = 44,			/* CM: receipt acknowledgements sent */
	DCNT_IA_CM_MRA_RX = 45,			/* CM: receipt acknowledgements received */
	DCNT_IA_CM_REQ_FULLQ_POLL = 46,		/* CM: polls because the request queue was full */
	DCNT_IA_CM_ERR = 47,			/* CM errors of all kinds */
	DCNT_IA_CM_ERR_REQ_FULLQ = 48,		/* CM error: request queue full */
	DCNT_IA_CM_ERR_REQ_DUP = 49,		/* CM error: request came twice */
	DCNT_IA_CM_ERR_REQ_RETRY = 50,		/* CM error: request sent again */
	DCNT_IA_CM_ERR_REP_DUP = 51,		/* CM error: reply came twice */
	DCNT_IA_CM_ERR_REP_RETRY = 52,		/* CM error: reply sent again */
	DCNT_IA_CM_ERR_RTU_DUP = 53,		/* CM error: ready-to-use came twice */
	DCNT_IA_CM_ERR_RTU_RETRY = 54,		/* CM error: ready-to-use sent again */
	DCNT_IA_CM_ERR_REFUSED = 55,		/* CM error: refused */
	DCNT_IA_CM_ERR_RESET = 56,		/* CM error: reset */
	DCNT_IA_CM_ERR_TIMEOUT = 57,		/* CM error: timed out */
	DCNT_IA_CM_ERR_REJ_TX = 58,		/* CM error: rejected by this provider */
	DCNT_IA_CM_ERR_REJ_RX = 59,		/* CM error: rejected by a remote provider */
	DCNT_IA_CM_ERR_DREQ_DUP = 60,		/* CM error: disconnect request came twice */
	DCNT_IA_CM_ERR_DREQ_RETRY = 61,		/* CM error: disconnect request sent again */
	DCNT_IA_CM_ERR_DREP_DUP = 62,		/* CM error: disconnect reply came twice */
	DCNT_IA_CM_ERR_DREP_RETRY = 63,		/* CM error: disconnect reply sent again */
	DCNT_IA_CM_ERR_MRA_DUP = 64,		/* CM error: receipt came twice */
	DCNT_IA_CM_ERR_MRA_RETRY = 65,		/* CM error: receipt sent again */
	DCNT_IA_CM_ERR_UNEXPECTED = 66,		/* CM error: message that fits no state */
	DCNT_IA_LNK_ERR_RCV = 67,		/* link: receive errors */
	DCNT_IA_LNK_ERR_RCV_REM_PHYS = 68,	/* link: errors marked by the far end */
	DCNT_IA_LNK_ERR_RCV_CONSTRAINT = 69,	/* link: receive constraints violated */
	DCNT_IA_LNK_ERR_XMT_DISCARDS = 70,	/* link: packets dropped on sending */
	DCNT_IA_LNK_ERR_XMT_CONTRAINT = 71,	/* link: send constraints violated */
	DCNT_IA_LNK_ERR_INTEGRITY = 72,		/* link: local integrity errors */
	DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN = 73,	/* link: buffer overruns */
	DCNT_IA_LNK_WARN_RCV_SW_RELAY = 74,	/* link: packets that a switch could not relay */
	DCNT_IA_LNK_WARN_XMT_WAIT = 75,		/* link: waits before sending */
	DCNT_IA_DIAG_ERR_RQ_RAE = 76,		/* device, receiving: remote access errors */
	DCNT_IA_DIAG_ERR_RQ_OOS = 77,		/* device, receiving: packets out of sequence */
	DCNT_IA_DIAG_ERR_RQ_RIRE = 78,		/* device, receiving: invalid requests */
	DCNT_IA_DIAG_ERR_RQ_UDSDPRD = 79,	/* device, receiving: datagrams dropped for want
						 * of a receive */
	DCNT_IA_DIAG_ERR_SQ_RAE = 80,		/* device, sending: remote access errors */
	DCNT_IA_DIAG_ERR_SQ_OOS = 81,		/* device, sending: packets out of sequence */
	DCNT_IA_DIAG_ERR_SQ_RIRE = 82,		/* device, sending: invalid requests */
	DCNT_IA_DIAG_ERR_SQ_RREE = 83,		/* device, sending: peer not ready too often */
	DCNT_IA_DIAG_ERR_SQ_TREE = 84,		/* device, sending: transport retries used up */
	DCNT_IA_ALL_COUNTERS = 85		/* how many there are; in a call: all of them */
} DAT_IA_COUNTERS;

/* Counters of an EP. Those in DATA count bytes. */
typedef enum dat_ep_counters {
	DCNT_EP_CONNECT = 0,			/* connects */
	DCNT_EP_DISCONNECT = 1,			/* disconnects */
	DCNT_EP_POST_SEND = 2,			/* sends posted */
	DCNT_EP_POST_SEND_DATA = 3,		/* bytes of these */
	DCNT_EP_POST_SEND_UD = 4,		/* UD sends posted */
	DCNT_EP_POST_SEND_UD_DATA = 5,		/* bytes of these */
	DCNT_EP_POST_RECV = 6,			/* receives posted */
	DCNT_EP_POST_RECV_DATA = 7,		/* bytes of these */
	DCNT_EP_POST_WRITE = 8,			/* RDMA writes posted */
	DCNT_EP_POST_WRITE_DATA = 9,		/* bytes of these */
	DCNT_EP_POST_WRITE_IMM = 10,		/* RDMA writes with immediate data posted */
	DCNT_EP_POST_WRITE_IMM_DATA = 11,	/* bytes of these */
	DCNT_EP_POST_READ = 12,			/* RDMA reads posted */
	DCNT_EP_POST_READ_DATA = 13,		/* bytes of these */
	DCNT_EP_POST_CMP_SWAP = 14,		/* compare and swaps posted */
	DCNT_EP_POST_FETCH_ADD = 15,		/* fetch and adds posted */
	DCNT_EP_RECV = 16,			/* messages received */
	DCNT_EP_RECV_DATA = 17,			/* bytes of these */
	DCNT_EP_RECV_UD = 18,			/* datagrams received */
	DCNT_EP_RECV_UD_DATA = 19,		/* bytes of these */
	DCNT_EP_RECV_IMM = 20,			/* messages with immediate data received */
	DCNT_EP_RECV_IMM_DATA = 21,		/* bytes of these */
	DCNT_EP_RECV_RDMA_IMM = 22,		/* receives used up by writes with immediate data */
	DCNT_EP_RECV_RDMA_IMM_DATA = 23,	/* bytes of these */
	DCNT_EP_ALL_COUNTERS = 24		/* how many there are; in a call: all of them */
} DAT_EP_COUNTERS;

/* Counters of an EVD. */
typedef enum dat_evd_counters {
	DCNT_EVD_WAIT = 0,			/* calls of dat_evd_wait() */
	DCNT_EVD_WAIT_BLOCKED = 1,		/* of these, those that slept */
	DCNT_EVD_WAIT_NOTIFY = 2,		/* notifications */
	DCNT_EVD_DEQUEUE = 3,			/* calls of dat_evd_dequeue() */
	DCNT_EVD_DEQUEUE_FOUND = 4,		/* of these, with an event */
	DCNT_EVD_DEQUEUE_NOT_FOUND = 5,		/* of these, without */
	DCNT_EVD_DEQUEUE_POLL = 6,		/* looks at the device */
	DCNT_EVD_DEQUEUE_POLL_FOUND = 7,	/* of these, with a completion */
	DCNT_EVD_CONN_CALLBACK = 8,		/* connection events delivered */
	DCNT_EVD_DTO_CALLBACK = 9,		/* DTO completions delivered */
	DCNT_EVD_ALL_COUNTERS = 10		/* how many there are; in a call: all of them */
} DAT_EVD_COUNTERS;

/* Groups of counters that can be started and stopped. */
typedef enum dat_ia_counter_type {
	DCNT_IA_CM = 0,		/* of the connection manager */
	DCNT_IA_LNK = 1,	/* of the link */
	DCNT_IA_DIAG = 2	/* of the device */
} DAT_IA_COUNTER_TYPE;

#ifdef __cplusplus
}
#endif

#endif /* _DAT_IB_COUNTERS_H_ */
