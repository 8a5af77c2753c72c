/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection of the fabric. An EP uses a new one for each connection of its life. All of it
 * belongs to cm_lock.
 */
#ifndef DOFI_CONN_H
#define DOFI_CONN_H

#include "base/list.h"
#include "fabric/fab.h"

struct dofi_ep;
struct dofi_evd;
struct dofi_ia;

struct dofi_conn {
	/* NULL: freed. The memory is type-stable, and then perhaps another adapter's. */
	struct dofi_ia *_Atomic ia;
	struct dofi_ep *ep;
	struct fid_ep *fid;
	uint32_t conn_id;		/* of messages to the local SRQ (object/conn_id.h); 0: none */
	bool up;			/* established */
	bool ended_early;		/* its end was reported before its beginning */
	bool shut;			/* posting is no longer permitted */
	struct dofi_evd *rx_evd, *tx_evd;	/* EVDs in whose CQs entries are reserved */
	uint32_t rx_held, tx_held;	/* number of those entries (verbs/cq_reservation.c) */
	struct dofi_list link;		/* ia->conns */
};

/* Makes the fabric endpoint for `ep` out of `info` and binds it to the EP's queues. If that fails
 * when the endpoint has taken over the request in info->handle, that is NULL afterwards. */
int dofi_conn_open(struct dofi_ep *ep, struct fi_info *info, struct dofi_conn **out);
/* What the EP shows as its address and port: of the connection, as far as the fabric knows. */
void dofi_conn_read_name(struct dofi_conn *conn);
/* The connection is established: queries its addresses. */
void dofi_conn_established(struct dofi_conn *conn);
/* Sets the number of RDMA reads that the peer serves at once (IRD). */
void dofi_conn_set_reads(struct dofi_conn *conn, unsigned int served);
/* The EP has no interest any more. After the call the fabric has none of its operations, and all
 * completions it gave are in the EP's queues; the connection is freed. */
void dofi_conn_detach(struct dofi_conn *conn);

#endif
