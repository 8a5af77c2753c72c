/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection zones and local memory regions. */
#ifndef DOFI_MR_H
#define DOFI_MR_H

#include "object/ia.h"

struct dofi_ep;
struct dofi_window;

struct dofi_pz {
	struct dofi_obj obj;
	_Atomic unsigned int users; /* EPs and LMRs */
};

struct dofi_lmr {
	struct dofi_obj obj;
	struct dofi_pz *pz;
	struct dofi_region *region;
	struct fid_mr *mr; /* NULL: no peer and no device needs it */
	uint32_t context;
	uint32_t rmr_context; /* 0 without remote rights */
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION desc;
	char shared_id[40];
	DAT_VLEN length; /* requested */
	DAT_MEM_PRIV_FLAGS priv;
	bool zero_based;
	uint64_t address;
	_Atomic unsigned int users; /* RMRs bound to it */
};

static inline struct dofi_pz *dofi_pz_live(DAT_PZ_HANDLE handle)
{
	return (struct dofi_pz *)dofi_obj_live(handle, DAT_HANDLE_TYPE_PZ);
}

static inline struct dofi_lmr *dofi_lmr_live(DAT_LMR_HANDLE handle)
{
	return (struct dofi_lmr *)dofi_obj_live(handle, DAT_HANDLE_TYPE_LMR);
}

struct dofi_lmr_request {
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz;
	DAT_MEM_PRIV_FLAGS priv;
	bool zero_based;
	bool internal; /* see dofi_obj_new_for */
};

/* The rights that let peers access memory. */
#define DOFI_PRIV_REMOTE \
	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DOFI_PRIV_ATOMIC)
#define DOFI_PRIV_ALL \
	(DOFI_PRIV_REMOTE | DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

/* What ops->register_mr registers with the fabric: a region, or a window on a part of one. */
struct dofi_mr_request {
	uint64_t address, length;
	DAT_MEM_PRIV_FLAGS priv;
	uint32_t context; /* of the memory: becomes the key where the fabric chooses none */
	bool zero_based;
	/* Where the owner's software executes the accesses of peers: only through EPs of this PZ,
	 * or, unless `only` is NULL, through that EP. */
	const struct dofi_pz *pz;
	const struct dofi_ep *only;
	struct dofi_window *window; /* NULL: a region */
};

/* Implements dat_lmr_create of both versions, without its outputs. */
DAT_RETURN dofi_lmr_make(DAT_IA_HANDLE ia, const struct dofi_lmr_request *req,
			 struct dofi_lmr **out);
void dofi_lmr_destroy(struct dofi_lmr *lmr);
/* The registration as libfabric describes it, the same for all fabrics. `iov` belongs to it. */
struct fi_mr_attr dofi_mr_attr(const struct dofi_fab *fab, const struct dofi_mr_request *req,
			       struct iovec *iov);
/* Closes an LMR whose key a peer has invalidated. False: local operations need the registration.
 * Caller holds ia->mr_lock. */
bool dofi_lmr_close_to_peers(struct dofi_lmr *lmr);
/* Sets the outputs of dat_lmr_create; each pointer except `handle` may be NULL. */
void dofi_lmr_outputs(struct dofi_lmr *lmr, DAT_LMR_HANDLE *handle, DAT_LMR_CONTEXT *lmr_context,
		      DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size, DAT_VADDR *address);

#endif
