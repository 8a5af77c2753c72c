/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection zones: creation, query, and when they may go. */
#include "rig.h"

TEST(pz, create_gives_distinct_zones)
{
	DAT_PZ_HANDLE other;
	struct node n;

	node_open(&n);
	OK(dat_pz_create(n.ia, &other));
	ASSERT(other != NULL && other != n.pz);
	OK(dat_pz_free(other));
	node_close(&n);
}

TEST(pz, create_pointer_NULL_is_ARG2)
{
	struct node n;

	node_open(&n);
	BAD_ARG(dat_pz_create(n.ia, NULL), 2);
	node_close(&n);
}

TEST(pz, query_tells_the_ia)
{
	DAT_PZ_PARAM param;
	struct node n;

	node_open(&n);
	param.ia_handle = NULL;
	OK(dat_pz_query(n.pz, DAT_PZ_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, n.ia);
	node_close(&n);
}

TEST(pz, query_bad_arguments)
{
	DAT_PZ_PARAM param;
	struct node n;

	node_open(&n);
	BAD_ARG(dat_pz_query(n.pz, DAT_PZ_FIELD_ALL, NULL), 3);
	BAD_ARG(dat_pz_query(n.pz, (DAT_PZ_PARAM_MASK)2, &param), 2);
	node_close(&n);
}

TEST(pz, free_with_an_ep_is_PZ_IN_USE)
{
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 16, DAT_EVD_DTO_FLAG);
	OK(dat_ep_create(n.ia, n.pz, evd, evd, NULL, NULL, &ep));
	BAD_STATE(dat_pz_free(n.pz), PZ_IN_USE);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(pz, free_with_an_lmr_is_PZ_IN_USE)
{
	struct node n;
	struct buf b;

	node_open(&n);
	buf_make(&b, &n, 4096, PRIV_ALL);
	BAD_STATE(dat_pz_free(n.pz), PZ_IN_USE);
	buf_free(&b);
	node_close(&n);
}

TEST(pz, free_after_ep_moved_to_another_zone)
{
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE other;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	struct node n;

	node_open(&n);
	OK(dat_pz_create(n.ia, &other));
	evd = evd_make(&n, 16, DAT_EVD_DTO_FLAG);
	OK(dat_ep_create(n.ia, other, evd, evd, NULL, NULL, &ep));
	memset(&param, 0, sizeof(param));
	param.pz_handle = n.pz;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	OK(dat_pz_free(other));
	BAD_STATE(dat_pz_free(n.pz), PZ_IN_USE);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(pz, of_another_ia_is_refused)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT lctx;
	DAT_RMR_CONTEXT rctx;
	DAT_EVD_HANDLE evd;
	DAT_LMR_HANDLE lmr;
	DAT_EP_HANDLE ep;
	struct node a, b;
	char mem[64];

	node_open(&a);
	node_open(&b);
	evd = evd_make(&a, 16, DAT_EVD_DTO_FLAG);
	BAD_HANDLE(dat_ep_create(a.ia, b.pz, evd, evd, NULL, NULL, &ep), PZ);
	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	BAD_HANDLE(api_lmr_create(a.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), b.pz, PRIV_LOCAL,
				  &lmr, &lctx, &rctx, NULL, NULL),
		   PZ);
	OK(dat_evd_free(evd));
	node_close(&b);
	node_close(&a);
}
