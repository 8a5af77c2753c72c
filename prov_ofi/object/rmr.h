/* SPDX-License-Identifier: BSD-2-Clause */
/* Remote memory regions: windows on parts of LMRs, opened and closed by requests of an EP.
 *
 * A bind registers its window when it is posted, so that the key or a failure can be returned at
 * once. It takes effect in its order in the queue: then the former window of the RMR closes. A
 * flushed bind leaves the RMR unchanged, with one exception: if it took effect while earlier
 * requests were outstanding and one of these fails, it is reported as flushed after them but
 * remains in effect.
 *
 * ia->mr_lock guards the bindings of RMRs; only ia->obj_lock, the locks of tables and those of
 * libfabric are taken under it.
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
	uint32_t context;           /* of the region */
	uint32_t key;               /* remote key */
	const struct dofi_ep *only; /* accessible through this EP only; NULL: through any */
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS priv;
	bool zero_based;
	uint64_t nothing; /* memory of a device's key of a window without rights */
};

struct dofi_rmr {
	struct dofi_obj obj;
	struct dofi_pz *pz;
	bool for_ep;               /* accessible through one EP, until its connection ends */
	bool dying;                /* freed, but binds are queued */
	unsigned int queued;       /* binds not yet reported */
	struct dofi_window *bound; /* NULL: unbound */
	struct dofi_ep *bound_ep;
};

/* Arguments of dat_rmr_bind of both versions. lmr NULL: the LMR that the triplet names. */
struct dofi_bind {
	DAT_RMR_HANDLE rmr;
	bool lmr_given;
	DAT_LMR_HANDLE lmr;
	const DAT_LMR_TRIPLET *triplet;
	DAT_MEM_PRIV_FLAGS priv;
	bool zero_based, unknown_va_type;
	DAT_EP_HANDLE ep;
	DAT_RMR_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
};

DAT_RETURN dofi_rmr_do_bind(const struct dofi_bind *bind, DAT_RMR_CONTEXT *context);

/* Puts the bind into effect (window NULL: unbind). Caller holds ep->lock. */
void dofi_rmr_take_effect(struct dofi_rmr *rmr, struct dofi_window *window, struct dofi_ep *ep);
/* Ends a bind that has been reported or discarded; frees its window if that was never opened. */
void dofi_rmr_bind_over(struct dofi_rmr *rmr, struct dofi_window *unopened);
/* Invalidates a key on request of a message to this EP. False: not allowed. */
bool dofi_rmr_invalidate(struct dofi_ep *ep, uint32_t key);
/* Closes the windows that only this EP uses, because its connection has ended. */
void dofi_rmr_ep_ended(struct dofi_ep *ep);
void dofi_rmr_destroy(struct dofi_rmr *rmr);
/* A call of 2.0 only; both versions compile it. */
DAT_RETURN dofi_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);

static inline struct dofi_rmr *dofi_rmr_live(DAT_RMR_HANDLE handle)
{
	return (struct dofi_rmr *)dofi_obj_live(handle, DAT_HANDLE_TYPE_RMR);
}

#endif
