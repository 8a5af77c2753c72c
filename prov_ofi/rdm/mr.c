/* SPDX-License-Identifier: BSD-2-Clause */
/* What memory may peers access? */
#include <stdlib.h>

#include "rdm/rdm.h"

/* Keys are the contexts of lmr_table.h: the low bits are an index that no two live regions share,
 * the others tell the uses of an index apart. */
#define INDEX_BITS 20
#define CHUNK (1u << RDM_MR_CHUNK_BITS)

static struct rdm_mr **slot_of(struct rdm_domain *domain, uint32_t key, bool make)
{
	uint32_t index = key & ((1u << INDEX_BITS) - 1);
	struct rdm_mr ***chunk = &domain->mr[index >> RDM_MR_CHUNK_BITS];

	if (!*chunk && make)
		*chunk = calloc(CHUNK, sizeof(**chunk));
	return *chunk ? &(*chunk)[index & (CHUNK - 1)] : NULL;
}

void *rdm_mr_access(struct rdm_domain *domain, uint32_t key, uint64_t addr, uint64_t len,
		    uint64_t access, int *err)
{
	struct rdm_mr **slot = slot_of(domain, key, false), *mr = slot ? *slot : NULL;
	uint64_t offset;

	*err = FI_ENOKEY;
	if (!mr || mr->key != key)
		return NULL;
	*err = FI_EACCES;
	offset = addr + mr->offset - mr->base;
	if ((mr->access & access) != access || offset > mr->length || len > mr->length - offset)
		return NULL;
	*err = 0;
	return (void *)(uintptr_t)(mr->base + offset);
}

void rdm_mr_granted(struct rdm_domain *domain, uint32_t key)
{
	struct rdm_mr *mr = *slot_of(domain, key, false);

	if (!atomic_load_explicit(&mr->granted, memory_order_relaxed))
		atomic_store_explicit(&mr->granted, true, memory_order_relaxed);
}

/* What peers are taking out of the region now is refused when they have it. */
static void revoke_grants(struct rdm_mr *mr)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &mr->domain->ep_list)
		rdm_revoke_key(dofi_container(pos, struct rdm_ep, link), mr->key);
}

static int mr_close(struct fid *fid)
{
	struct rdm_mr *mr = dofi_container(fid, struct rdm_mr, fid.fid);
	struct rdm_domain *domain = mr->domain;
	struct rdm_mr **slot;

	/* Waits for accesses that have begun. */
	pthread_rwlock_wrlock(&domain->mr_lock);
	slot = slot_of(domain, mr->key, false);
	if (slot && *slot == mr)
		*slot = NULL;
	if (atomic_load_explicit(&mr->granted, memory_order_relaxed))
		revoke_grants(mr);
	pthread_rwlock_unlock(&domain->mr_lock);
	free(mr);
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
};

static int enter(struct rdm_domain *domain, struct rdm_mr *mr)
{
	struct rdm_mr **slot;
	int ret = 0;

	pthread_rwlock_wrlock(&domain->mr_lock);
	slot = slot_of(domain, mr->key, true);
	if (!slot)
		ret = -FI_ENOMEM;
	else if (*slot)
		ret = -FI_ENOKEY;
	else
		*slot = mr;
	pthread_rwlock_unlock(&domain->mr_lock);
	return ret;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **out)
{
	struct rdm_domain *domain = dofi_container(fid, struct rdm_domain, fid.fid);
	struct rdm_mr *mr;
	int ret;

	if (flags || attr->iov_count != 1 || attr->requested_key > UINT32_MAX)
		return -FI_EINVAL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.key = attr->requested_key;
	mr->domain = domain;
	mr->key = (uint32_t)attr->requested_key;
	mr->base = (uintptr_t)attr->mr_iov->iov_base;
	mr->length = attr->mr_iov->iov_len;
	mr->offset = attr->offset;
	mr->access = attr->access;
	ret = enter(domain, mr);
	if (ret) {
		free(mr);
		return ret;
	}
	*out = &mr->fid;
	return 0;
}

struct fi_ops_mr rdm_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.regattr = mr_regattr,
};
