/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers the memory of operations that long messages use. */
#include "coll/coll_int.h"

/* A receiver's memory is written by the sender. */
static struct dofi_lmr *op_register(struct coll_op *op, const struct coll_region *r)
{
	struct dofi_lmr_request req = { .mem_type = DAT_MEM_TYPE_VIRTUAL,
					.desc.for_va = (void *)(uintptr_t)r->base,
					.length = r->len,
					.internal = true,
					.pz = op->group->pz,
					.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG };
	struct dofi_lmr *lmr = NULL;

	if (r->writable)
		req.priv |= DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	return dofi_lmr_make(op->group->member->coll->ia, &req, &lmr) ? NULL : lmr;
}

struct dofi_lmr *dofi_coll_op_lmr(struct coll_op *op, const char *mem, size_t len)
{
	for (unsigned int i = 0; i < op->regions; i++) {
		struct coll_region *r = &op->region[i];

		if (mem < r->base || mem + len > r->base + r->len)
			continue;
		if (!r->lmr)
			r->lmr = op_register(op, r);
		return r->lmr;
	}
	return NULL;
}
