/* SPDX-License-Identifier: BSD-2-Clause */
/* The sync calls of coherent machines: they check their segments and do nothing else. */
#include "rig.h"

typedef DAT_RETURN (*sync_fn)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);

struct row {
	const char *rule;
	sync_fn fn;
};

static void check_good(sync_fn fn)
{
	DAT_LMR_TRIPLET t[3];
	DAT_PZ_HANDLE other;
	struct buf b, c;
	struct node n;
	char mem[128];

	node_open(&n);
	OK(dat_pz_create(n.ia, &other));
	buf_make(&b, &n, 4096, PRIV_ALL);
	/* Segments of different regions and zones in one call; a right is not needed. */
	buf_register(&c, &n, other, mem, sizeof(mem), 0);
	t[0] = seg(&b, 0, 4096);
	t[1] = seg(&c, 5, 100);
	t[2] = seg(&b, 4096, 0);
	OK(fn(n.ia, t, 3));
	OK(fn(n.ia, t, 1));
	OK(fn(n.ia, NULL, 0));
	buf_unregister(&c);
	buf_free(&b);
	OK(dat_pz_free(other));
	node_close(&n);
}

static void check_bad(sync_fn fn)
{
	DAT_LMR_TRIPLET t[2];
	struct node n;
	struct buf b;

	node_open(&n);
	buf_make(&b, &n, 4096, PRIV_ALL);
	t[0] = seg(&b, 0, 16);
	t[1] = seg(&b, 1, 4096);
	BAD_ARG(fn(n.ia, t, 2), 2);
	t[1] = seg(&b, (size_t)-1, 2);
	BAD_ARG(fn(n.ia, t, 2), 2);
	t[1] = seg(&b, 0, 16);
	t[1].lmr_context ^= 0x10101;
	BAD_ARG(fn(n.ia, t, 2), 2);
	t[1].lmr_context = 0;
	BAD_ARG(fn(n.ia, t, 2), 2);
	BAD_ARG(fn(n.ia, NULL, 2), 2);
	t[1] = seg(&b, 0, 16);
	buf_free(&b);
	BAD_ARG(fn(n.ia, &t[1], 1), 2);
	BAD_HANDLE(fn(NULL, t, 1), IA);
	node_close(&n);
}

static void run_good(const void *row)
{
	check_good(((const struct row *)row)->fn);
}

static void run_bad(const void *row)
{
	check_bad(((const struct row *)row)->fn);
}

static const struct row good[] = {
	{ "read_accepts_segments_of_several_regions_and_zones", dat_lmr_sync_rdma_read },
	{ "write_accepts_segments_of_several_regions_and_zones", dat_lmr_sync_rdma_write },
};

static const struct row bad[] = {
	{ "read_refuses_segments_outside_their_region_with_ARG2", dat_lmr_sync_rdma_read },
	{ "write_refuses_segments_outside_their_region_with_ARG2", dat_lmr_sync_rdma_write },
};

TEST_ROWS(lmr_sync, good, run_good)
TEST_ROWS(lmr_sync, bad, run_bad)
