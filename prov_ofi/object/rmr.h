/* SPDX-License-Identifier: BSD-2-Clause */
/* Remote memory regions: windows on pieces of LMRs, opened and closed by requests on an EP's queue.
 *
 * A bind registers its window when it is posted, so that the key can be returned at once and a
 * failure too. It takes effect in its turn: then the former window of the RMR closes. A bind that
 * is flushed leaves the RMR as it was, but for one case: if its turn came while earlier requests
 * were still running, and one of these fails, it is reported as flushed behind them and has had its
 * effect.
 *
 * ia->mr_lock guards what RMRs are bound to; only ia->obj_lock, those of tables and
 * libfabric's own are taken under it.
 */
#ifndef DOFI_RMR_H
#define DOFI_RMR_H

#include "object/ep.h"
#include "object/mr.h"

struct dofi_rmr;

struct dofi_window {
	struct dofi_rmr *rmr;
	struct dofi_lmr *lmr;
	struct dofi_region *region;
	struct fid_mr *mr;
	uint32_t context;		/* of the region */
	uint32_t key;			/* what peers use */
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS priv;
	bool zero_based;
	uint64_t nothing;		/* what the key of a window without rights opens */
};

struct dofi_rmr {
	struct dofi_obj obj;
	struct dofi_pz *pz;
	bool for_ep;			/* only through one EP, and no longer than its connection */
	bool dying;			/* freed, but binds are on the way */
	unsigned int queued;		/* binds that have not been reported */
	struct dofi_window *bound;	/* NULL: unbound */
	struct dofi_ep *bound_ep;
};

/* The version's dat_rmr_bind. lmr NULL: the one that the triplet names. */
struct dofi_bind {
	DAT_RMR_HANDLE rmr;
	bool lmr_given;
	DAT_LMR_HANDLE lmr;
	const DAT_LMR_TRIPLET *triplet;
	DAT_MEM_PRIV_FLAGS priv;
	bool zero_based;
	DAT_EP_HANDLE ep;
	DAT_RMR_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
};

DAT_RETURN dofi_rmr_do_bind(const struct dofi_bind *bind, DAT_RMR_CONTEXT *context);

/* The bind's turn has come (window NULL: unbind); ep->lock held. */
void dofi_rmr_take_effect(struct dofi_rmr *rmr, struct dofi_window *window, struct dofi_ep *ep);
/* The bind is over: reported, or forgotten. A window that was never opened goes with it. */
void dofi_rmr_bind_over(struct dofi_rmr *rmr, struct dofi_window *unopened);
/* A message for this EP asks to invalidate a key. False: it may not. */
bool dofi_rmr_invalidate(struct dofi_ep *ep, uint32_t key);
/* The EP's connection has ended: windows that served it alone close. */
void dofi_rmr_ep_ended(struct dofi_ep *ep);
void dofi_rmr_destroy(struct dofi_rmr *rmr);

DAT_RETURN dofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dofi_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dofi_rmr_free(DAT_RMR_HANDLE rmr);

static inline struct dofi_rmr *dofi_rmr_live(DAT_RMR_HANDLE handle)
{
	return (struct dofi_rmr *)dofi_obj_live(handle, DAT_HANDLE_TYPE_RMR);
}

#endif
