/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection of the fabric. An EP uses a new one for each of its connections. cm_lock protects
 * all of it.
 */
#ifndef DOFI_CONN_H
#define DOFI_CONN_H

#include "base/list.h"
#include "fabric/fab.h"

struct dofi_ep;
struct dofi_evd;
struct dofi_ia;

struct dofi_conn {
	/* NULL: freed. The memory is type-stable and may then belong to another adapter. */
	struct dofi_ia *_Atomic ia;
	struct dofi_ep *ep;
	struct fid_ep *fid;
	uint32_t conn_id;                 /* of messages to the SRQ (object/conn_id.h) */
	bool up;                          /* established */
	bool ended_early;                 /* its end was reported before its establishment */
	bool shut;                        /* posting is no longer permitted */
	struct dofi_evd *rx_evd, *tx_evd; /* EVDs in whose CQs entries are reserved */
	uint32_t rx_held, tx_held;        /* number of those entries (ops->prepare_ep) */
	struct dofi_list link;            /* ia->conns */
};

#endif
