/* SPDX-License-Identifier: BSD-2-Clause */
/* Service points, the listeners that they share, and connection requests. All of it belongs to
 * cm_lock.
 */
#ifndef DOFI_SP_H
#define DOFI_SP_H

#include "object/ia.h"
#include "proto/cm_proto.h"
#include "proto/cm_seal.h"

struct dofi_ep;

/* One listening endpoint of the fabric, shared by the service points whose qualifiers map to its
 * port (on fabrics that have only ports), and kept while requests that it received are pending. */
struct dofi_listener {
	struct dofi_list link; /* ia->listeners */
	struct dofi_ia *ia;
	struct fid_pep *pep;
	uint16_t port;
	uint64_t qual; /* the only one where listeners' names contain the
			* qualifier */
	unsigned int users;
	struct dofi_list sps;
};

/* A communicator, with the layout of DAT_COMM, which 1.2 lacks. */
struct dofi_comm {
	int domain, type, protocol;
};

/* PSP, RSP or CSP. */
struct dofi_sp {
	struct dofi_obj obj;
	DAT_CONN_QUAL qual;
	struct dofi_evd *evd;
	DAT_PSP_FLAGS flags;
	struct dofi_ep *ep; /* RSP: the reserved EP; NULL: created for the request */
	bool spent;         /* RSP: its only request has arrived */
	struct dofi_listener *listener;
	struct dofi_list link; /* listener->sps */
	union dofi_addr addr;  /* CSP: the consumer's, with the port that it listens on */
	struct dofi_comm comm; /* CSP */
};

struct dofi_cr {
	struct dofi_obj obj;
	struct dofi_listener *listener;
	struct fi_info *info; /* holds the fabric's request; NULL once decided */
	DAT_CONN_QUAL qual;
	struct dofi_ep *ep; /* of the RSP, or made for the request; NULL: consumer's */
	bool for_rsp;
	union dofi_addr remote;
	uint16_t remote_port;
	struct dofi_cm_msg msg;
	uint8_t priv[DOFI_CM_MAX];
	struct dofi_seal seal;
};

#endif
