/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads completion queues outside of the calls that take events. */
#include "base/cancel.h"
#include "data/cq.h"

#define SERVICE_LIMIT 512
/* Bounds the drain while peers keep filling the CQ. */
#define DRAIN_ROUNDS 1024

unsigned int dofi_evd_service(struct dofi_evd *evd)
{
	unsigned int total = 0, n;
	uint32_t before;

	dofi_lock(&evd->lock);
	before = evd->notified;
	do {
		n = dofi_cq_read_batch(evd);
		total += n;
	} while (n && total < SERVICE_LIMIT);
	evd->served |= total != 0;
	dofi_evd_notify(evd, before);
	dofi_unlock(&evd->lock);
	return total;
}

void dofi_evd_drain(struct dofi_evd *evd)
{
	for (int i = 0; i < DRAIN_ROUNDS && dofi_evd_service(evd) >= SERVICE_LIMIT; i++)
		;
}

bool dofi_cq_may_sleep(struct dofi_evd *evd)
{
	struct fid *fid = &evd->cq->fid;

	DOFI_ASSERT_LOCKED(&evd->lock);
	DOFI_NO_CANCEL();
	return !fi_trywait(evd->obj.ia->fab.fabric, &fid, 1);
}
