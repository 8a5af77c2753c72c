/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements calls of t_calls.c that transfer data. */
#include "calls_rig.h"

#if DAT_TEST_API == 20
#include <dat2/dat_ib_extensions.h>
#endif

void call_receive_queue(struct caller *c)
{
	DAT_SRQ_ATTR attr = { some_count(c, 64), some_count(c, SEGMENTS), DAT_SRQ_LW_DEFAULT };
	DAT_LMR_TRIPLET iov[SEGMENTS];
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;
	DAT_COUNT n;

	switch (below(c, 6)) {
	case 0:
		if (has_room(c, SRQ) && DONE(dat_srq_create(some_ia(c), some(c, PZ), &attr, &srq)))
			keep(c, SRQ, srq);
		break;
	case 1:
		if (one_in(c, 2))
			FREE(SRQ, dat_srq_free);
		break;
	case 2:
		DONE(dat_srq_resize(some(c, SRQ), some_count(c, 200)));
		break;
	case 3:
		DONE(dat_srq_set_lw(some(c, SRQ), some_count(c, 10)));
		break;
	case 4:
		DONE(dat_srq_query(some(c, SRQ), DAT_SRQ_FIELD_ALL, &param));
		break;
	default:
		n = some_segments(c, iov);
		DONE(dat_srq_post_recv(some(c, SRQ), n, iov, ck(2)));
	}
}

#if DAT_TEST_API == 20
static void post_extended(struct caller *c, DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov)
{
	DAT_RMR_TRIPLET target = some_target(c, iov, n);
	DAT_COMPLETION_FLAGS flags = some_flags(c);

	switch (below(c, 3)) {
	case 0:
		DONE(dat_ib_post_rdma_write_immed(ep, n, iov, ck(8), &target, 1, flags));
		break;
	case 1:
		DONE(dat_ib_post_fetch_and_add(ep, 1, iov, ck(9), &target, flags));
		break;
	default:
		DONE(dat_ib_post_cmp_and_swap(ep, 1, 2, iov, ck(10), &target, flags));
	}
}
#endif

static void post_one(struct caller *c)
{
	DAT_LMR_TRIPLET iov[SEGMENTS];
	DAT_COUNT n = some_segments(c, iov);
	DAT_RMR_TRIPLET target = some_target(c, iov, n);
	DAT_EP_HANDLE ep = some(c, EP);
	DAT_COMPLETION_FLAGS flags = some_flags(c);

	switch (below(c, 8)) {
	case 0:
	case 1:
		DONE(dat_ep_post_recv(ep, n, iov, ck(3), flags));
		break;
	case 2:
	case 3:
		DONE(dat_ep_post_send(ep, n, iov, ck(4), flags));
		break;
	case 4:
		DONE(dat_ep_post_rdma_write(ep, n, iov, ck(5), &target, flags));
		break;
#if DAT_TEST_API == 20
	case 5:
		post_extended(c, ep, n, iov);
		break;
	case 6:
		DONE(dat_ep_post_send_with_invalidate(ep, n, iov, ck(7), flags, DAT_TRUE,
						      c->all->bound[below(c, SLOTS)]));
		break;
#endif
	default:
		DONE(dat_ep_post_rdma_read(ep, n, iov, ck(6), &target, flags));
	}
}

void call_post(struct caller *c)
{
	for (int i = 0; i < 5; i++)
		post_one(c);
}
