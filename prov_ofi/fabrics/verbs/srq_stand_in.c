/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts receives to a device's shared receive context so that one that fails crashes nothing.
 *
 * QUIRK libfabric>=1.19 verbs: for each completion with another status than success and "flushed",
 * vrb_poll_cq (verbs_cq.c) ends the endpoint that the request's record names. The record of a
 * receive of a shared context names the context in that place, and what follows it in memory is
 * called as a function (SIGSEGV in 2.1; a peer causes it by a message that is too long). An
 * endpoint that is NULL is passed over. So receives are posted to a copy of the context, whose
 * queue is one of ours: posting to it sets the record's endpoint to NULL and posts to the device's
 * queue. Nothing else reads that member of such a record.
 *
 * The layouts are those of all releases from 1.19.0 to 2.6.0. The record is compared with what it
 * must contain before it is changed, and the context before it is copied; the adapter has no SRQs
 * if they differ, and with later versions.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "fabrics/verbs/device_calls.h"
#include "fabrics/verbs/srq_stand_in.h"

/* A receive request of libibverbs. */
struct device_recv {
	uint64_t id;
	struct device_recv *next;
	void *segments;
	int count;
};

#ifdef HAVE_VERBS_H
_Static_assert(offsetof(struct device_recv, id) == offsetof(struct ibv_recv_wr, wr_id) &&
		       sizeof(struct device_recv) == sizeof(struct ibv_recv_wr),
	       "a receive request of libibverbs");
#endif

/* Of libfabric: how struct vrb_srx and struct vrb_context begin (verbs_ofi.h). */
struct shared_context {
	struct fid_ep fid;
	struct device_queue *queue;
	struct fid_domain *domain;
};

struct request_record {
	void *next;
	void *endpoint; /* or the shared context */
	void *user_context;
};

struct stand_in {
	struct shared_context context; /* first: receives are posted to its fid */
	struct device_queue queue, *device;
	struct device_calls calls;
};

static int stand_in_post(struct device_queue *queue, struct device_recv *recv,
			 struct device_recv **refused)
{
	struct stand_in *s = (void *)((char *)queue - offsetof(struct stand_in, queue));
	struct request_record *record = (struct request_record *)(uintptr_t)recv->id;

	if (record->endpoint != &s->context || recv->next) {
		*refused = recv;
		return EINVAL;
	}
	record->endpoint = NULL;
	return s->device->calls->post_srq_recv(s->device, recv, refused);
}

static bool stand_in_needed(const struct dofi_fab *fab)
{
	return !dofi_fab_older(fab, 1, 19);
}

static bool stand_in_knows(const struct dofi_fab *fab, const struct fid_ep *srx)
{
	const struct shared_context *context = (const struct shared_context *)srx;

	/* A later version may have other layouts, also behind what is compared here. */
	return dofi_fab_older(fab, 2, 7) && srx->fid.fclass == FI_CLASS_SRX_CTX &&
	       context->domain == fab->domain && context->queue;
}

bool dofi_srq_stand_in_fits(const struct dofi_fab *fab)
{
	struct fi_rx_attr attr = *fab->info->rx_attr;
	struct fid_ep *srx;
	bool fits;

	if (!stand_in_needed(fab))
		return true;
	attr.size = attr.iov_limit = 1;
	attr.op_flags = 0;
	/* A device without such contexts fails later, as with other versions. */
	if (fi_srx_context(fab->domain, &attr, &srx, NULL))
		return true;
	fits = stand_in_knows(fab, srx);
	fi_close(&srx->fid);
	return fits;
}

int dofi_srq_stand_in(const struct dofi_fab *fab, struct fid_ep *srx, struct fid_ep **out)
{
	struct stand_in *s;

	*out = srx;
	if (!stand_in_needed(fab))
		return 0;
	if (!stand_in_knows(fab, srx))
		return -FI_ENOSYS;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -FI_ENOMEM;
	s->context = *(const struct shared_context *)srx;
	s->device = s->context.queue;
	s->context.queue = &s->queue;
	s->queue.calls = &s->calls;
	s->calls.post_srq_recv = stand_in_post;
	*out = &s->context.fid;
	return 0;
}

void dofi_srq_stand_in_free(struct fid_ep *srx, struct fid_ep *stand_in)
{
	if (stand_in != srx)
		free(stand_in);
}
