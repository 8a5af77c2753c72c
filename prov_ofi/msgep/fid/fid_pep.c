/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive endpoints. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msgep/cm/cm.h"

static struct msgep_pep *pep_of(struct fid *fid)
{
	return dofi_container(fid, struct msgep_pep, fid.fid);
}

static int pep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	if (other->fclass != FI_CLASS_EQ || flags)
		return -FI_EINVAL;
	pep_of(fid)->eq = dofi_container(other, struct msgep_eq, fid.fid);
	return 0;
}

static int pep_control(struct fid *fid, int command, void *arg)
{
	if (command != DOFI_CONTROL_QUAL)
		return -FI_ENOSYS;
	pep_of(fid)->qual = *(const uint64_t *)arg;
	pep_of(fid)->has_qual = true;
	return 0;
}

static int pep_close(struct fid *fid)
{
	struct msgep_pep *pep = pep_of(fid);

	if (pep->eq) {
		pthread_mutex_lock(&pep->eq->lock);
		msgep_cm_forget_pep(pep);
		msgep_eq_forget(pep->eq, fid);
		pthread_mutex_unlock(&pep->eq->lock);
	}
	free(pep);
	return 0;
}

static struct fi_ops pep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = pep_close,
	.bind = pep_bind,
	.control = pep_control,
};

int msgep_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **out,
		   void *context)
{
	struct msgep_pep *pep;

	if (!info->src_addr || info->src_addrlen > sizeof(pep->addr))
		return -FI_EINVAL;
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -FI_ENOMEM;
	msgep_fid_init(&pep->fid.fid, FI_CLASS_PEP, context, &pep_fid_ops);
	pep->fid.cm = &msgep_pep_cm_ops;
	pep->fabric = dofi_container(fabric, struct msgep_fabric, fid);
	dofi_list_init(&pep->listeners);
	memcpy(&pep->addr, info->src_addr, info->src_addrlen);
	*out = &pep->fid;
	return 0;
}
