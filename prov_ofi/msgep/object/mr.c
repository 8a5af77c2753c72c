/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks which memory peers may access. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "msgep/object/proto.h"

void *msgep_mr_access(const struct msgep_ep *ep, uint32_t key, uint64_t addr, uint64_t len,
		      uint64_t access, int *err)
{
	struct msgep_mr *mr = dofi_key_map_find(&ep->domain->mrs, key);
	uint64_t offset;

	DOFI_ASSERT_LOCKED(&ep->domain->mr_lock);
	*err = FI_ENOKEY;
	if (!mr)
		return NULL;
	*err = FI_EACCES;
	if (mr->auth.zone != ep->auth.zone || (mr->auth.ep && mr->auth.ep != ep->auth.ep))
		return NULL;
	offset = addr + mr->offset - mr->base;
	if ((mr->access & access) != access || offset > mr->length || len > mr->length - offset)
		return NULL;
	*err = 0;
	return (void *)(uintptr_t)(mr->base + offset);
}

void msgep_mr_set_granted(struct msgep_domain *domain, uint32_t key)
{
	struct msgep_mr *mr = dofi_key_map_find(&domain->mrs, key);

	DOFI_ASSERT_LOCKED(&domain->mr_lock);
	if (!atomic_load_explicit(&mr->granted, memory_order_relaxed))
		atomic_store_explicit(&mr->granted, true, memory_order_relaxed);
}

struct msgep_mr *msgep_mr_hold(struct msgep_domain *domain, uint32_t key)
{
	struct msgep_mr *mr = dofi_key_map_find(&domain->mrs, key);

	DOFI_ASSERT_LOCKED(&domain->mr_lock);
	atomic_fetch_add(&mr->transfers, 1);
	return mr;
}

/* Ends transfers of long data into and out of the region. False: a connection is in use; try again.
 * Caller holds mr_lock for writing. */
static bool mr_abort_transfers(struct msgep_mr *mr)
{
	struct dofi_list *pos;
	bool all = true;

	DOFI_ASSERT_WRITE_LOCKED(&mr->domain->mr_lock);
	dofi_list_each(pos, &mr->domain->ep_list)
	{
		struct msgep_ep *ep = dofi_container(pos, struct msgep_ep, link);

		/* Against the lock order: never blocks. */
		if (!dofi_trylock(&ep->lock)) {
			all = false;
			continue;
		}
		if (ep->transport->bulk_abort)
			ep->transport->bulk_abort(ep, mr);
		dofi_unlock(&ep->lock);
	}
	return all;
}

void msgep_revoke_key(struct msgep_ep *ep, uint32_t key)
{
	uint64_t reads = 0;

	DOFI_ASSERT_WRITE_LOCKED(&ep->domain->mr_lock);
	for (uint32_t i = 0; i < MSGEP_TARGET_READS; i++)
		if ((ep->granted & msgep_target_read_bit(i)) && ep->target_reads[i].key == key)
			reads |= msgep_target_read_bit(i);
	if (!reads)
		return;
	ep->granted &= ~reads;
	ep->transport->revoke(ep, reads);
}

/* Revokes grants: a peer that is pulling from the region now discards what it has pulled. */
static void mr_revoke_grants(struct msgep_mr *mr)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &mr->domain->ep_list)
		msgep_revoke_key(dofi_container(pos, struct msgep_ep, link), mr->key);
}

/* Ends transfers whose end has not been noticed: a peer may have all data of a read before the
 * fabric has reported to this side that it is sent. Caller holds no lock. */
static void mr_complete_transfers(struct msgep_mr *mr)
{
	const struct msgep_transport *transport = mr->domain->fabric->transport;

	if (transport->bulk_finish)
		transport->bulk_finish(mr->domain);
}

static int mr_close(struct fid *fid)
{
	struct msgep_mr *mr = dofi_container(fid, struct msgep_mr, fid.fid);
	struct msgep_domain *domain = mr->domain;

	/* Waits for accesses that have begun. */
	pthread_rwlock_wrlock(&domain->mr_lock);
	dofi_key_map_remove(&domain->mrs, mr->key);
	if (atomic_load_explicit(&mr->granted, memory_order_relaxed))
		mr_revoke_grants(mr);
	if (atomic_load(&mr->transfers)) {
		pthread_rwlock_unlock(&domain->mr_lock);
		mr_complete_transfers(mr);
		pthread_rwlock_wrlock(&domain->mr_lock);
	}
	while (atomic_load(&mr->transfers) && !mr_abort_transfers(mr)) {
		pthread_rwlock_unlock(&domain->mr_lock);
		sched_yield();
		pthread_rwlock_wrlock(&domain->mr_lock);
	}
	pthread_rwlock_unlock(&domain->mr_lock);
	free(mr);
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
};

static int mr_enter(struct msgep_domain *domain, struct msgep_mr *mr)
{
	int ret = 0;

	pthread_rwlock_wrlock(&domain->mr_lock);
	if (dofi_key_map_find(&domain->mrs, mr->key))
		ret = -FI_ENOKEY;
	else if (!dofi_key_map_insert(&domain->mrs, mr->key, mr))
		ret = -FI_ENOMEM;
	pthread_rwlock_unlock(&domain->mr_lock);
	return ret;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **out)
{
	struct msgep_domain *domain = dofi_container(fid, struct msgep_domain, fid.fid);
	struct msgep_mr *mr;
	int ret;

	if (flags || attr->iov_count != 1 || attr->requested_key > UINT32_MAX)
		return -FI_EINVAL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	msgep_fid_init(&mr->fid.fid, FI_CLASS_MR, attr->context, &mr_fid_ops);
	mr->fid.key = attr->requested_key;
	mr->domain = domain;
	mr->key = (uint32_t)attr->requested_key;
	mr->base = (uintptr_t)attr->mr_iov->iov_base;
	mr->length = attr->mr_iov->iov_len;
	mr->offset = attr->offset;
	mr->access = attr->access;
	msgep_auth_copy(&mr->auth, attr->auth_key, attr->auth_key_size);
	ret = mr_enter(domain, mr);
	if (ret) {
		free(mr);
		return ret;
	}
	*out = &mr->fid;
	return 0;
}

struct fi_ops_mr msgep_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.regattr = mr_regattr,
};
