/* SPDX-License-Identifier: BSD-2-Clause */
/* Registering memory: kinds, rights, lengths, what is reported, what is refused. */
#include "rig.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static DAT_RETURN reg(struct node *n, DAT_MEM_TYPE type, void *mem, DAT_VLEN len, int priv,
		      struct buf *b)
{
	DAT_REGION_DESCRIPTION region;

	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	b->mem = mem;
	return api_lmr_create(n->ia, type, region, len, n->pz, (DAT_MEM_PRIV_FLAGS)priv, &b->lmr,
			      &b->ctx, &b->rmr, NULL, NULL);
}

TEST(lmr, create_virtual_reports_all_results)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT ctx;
	DAT_RMR_CONTEXT rmr;
	DAT_VADDR addr;
	DAT_VLEN size;
	char mem[1000];
	struct node n;

	node_open(&n);
	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	OK(api_lmr_create(n.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), n.pz, PRIV_ALL, &lmr,
			  &ctx, &rmr, &size, &addr));
	memset(&param, 0xa5, sizeof(param));
	OK(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, n.ia);
	ASSERT_EQ(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	ASSERT_PTR(param.region_desc.for_va, mem);
	ASSERT_EQ(param.length, sizeof(mem));
	ASSERT_PTR(param.pz_handle, n.pz);
	ASSERT_EQ(param.mem_priv, PRIV_ALL);
#if DAT_TEST_API == 20
	ASSERT_EQ(param.va_type, DAT_VA_TYPE_VA);
#endif
	ASSERT_EQ(param.lmr_context, ctx);
	ASSERT_EQ(param.rmr_context, rmr);
	ASSERT_EQ(param.registered_size, size);
	ASSERT_EQ(param.registered_address, addr);
	ASSERT(ctx != 0 && rmr != 0);
	OK(dat_lmr_free(lmr));
	node_close(&n);
}

TEST(lmr, rmr_context_is_0_without_remote_rights)
{
	struct buf b;
	struct node n;

	node_open(&n);
	buf_make(&b, &n, 4096, PRIV_LOCAL);
	ASSERT_EQ(b.rmr, 0);
	buf_free(&b);
	node_close(&n);
}

static const int rights[] = { 0x01, 0x02, 0x10, 0x20 };

TEST(lmr, every_combination_of_rights)
{
	DAT_LMR_PARAM param;
	struct buf b;
	struct node n;
	int i, j, priv;

	node_open(&n);
	for (i = 0; i < 16; i++) {
		for (priv = 0, j = 0; j < 4; j++)
			priv |= i & 1 << j ? rights[j] : 0;
		buf_make(&b, &n, 4096, priv);
		OK(dat_lmr_query(b.lmr, DAT_LMR_FIELD_ALL, &param));
		ASSERT_EQ(param.mem_priv, priv);
		ASSERT_EQ(b.rmr != 0, (priv & 0x22) != 0);
		buf_free(&b);
	}
	node_close(&n);
}

TEST(lmr, contexts_of_living_regions_differ)
{
	struct buf b[32];
	struct node n;
	int i, j;

	node_open(&n);
	for (i = 0; i < 32; i++)
		buf_make(&b[i], &n, 4096, PRIV_ALL);
	for (i = 0; i < 32; i++)
		for (j = 0; j < i; j++)
			ASSERT(b[i].ctx != b[j].ctx && b[i].rmr != b[j].rmr);
	for (i = 0; i < 32; i++)
		buf_free(&b[i]);
	node_close(&n);
}

TEST(lmr, same_memory_registered_twice)
{
	struct buf b, again;
	struct node n;

	node_open(&n);
	buf_make(&b, &n, 4096, PRIV_ALL);
	buf_register(&again, &n, n.pz, b.mem, b.len, PRIV_LOCAL);
	ASSERT(again.lmr != b.lmr && again.ctx != b.ctx);
	buf_unregister(&again);
	buf_free(&b);
	node_close(&n);
}

TEST(lmr, create_zero_length_is_LENGTH_ERROR)
{
	struct node n;
	struct buf b;
	char mem[64];

	node_open(&n);
	ASSERT_RET(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 0, PRIV_LOCAL, &b), DAT_LENGTH_ERROR, 0);
	node_close(&n);
}

TEST(lmr, create_unknown_mem_type_is_ARG2)
{
	struct node n;
	struct buf b;
	char mem[64];

	node_open(&n);
	BAD_ARG(reg(&n, (DAT_MEM_TYPE)9, mem, sizeof(mem), PRIV_LOCAL, &b), 2);
	node_close(&n);
}

TEST(lmr, create_unknown_privilege_is_ARG6)
{
	struct node n;
	struct buf b;
	char mem[64];

	node_open(&n);
	BAD_ARG(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, sizeof(mem), 0x11 | 0x1000, &b), 6);
	node_close(&n);
}

TEST(lmr, create_lmr_pointer_NULL)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT ctx;
	DAT_RMR_CONTEXT rmr;
	struct node n;
	char mem[64];

	node_open(&n);
	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	ASSERT_RET(api_lmr_create(n.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), n.pz, PRIV_LOCAL,
				  NULL, &ctx, &rmr, NULL, NULL),
		   DAT_INVALID_PARAMETER, API_LMR_PTR_ARG);
	node_close(&n);
}

TEST(lmr, create_bad_pz_is_INVALID_HANDLE_PZ)
{
	DAT_PZ_HANDLE freed;
	struct node n;
	struct buf b;
	char mem[64];

	node_open(&n);
	freed = n.pz;
	OK(dat_pz_free(n.pz));
	BAD_HANDLE(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, sizeof(mem), PRIV_LOCAL, &b), PZ);
	n.pz = NULL;
	BAD_HANDLE(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, sizeof(mem), PRIV_LOCAL, &b), PZ);
	n.pz = n.async;
	BAD_HANDLE(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, sizeof(mem), PRIV_LOCAL, &b), PZ);
	(void)freed;
	n.pz = NULL;
	node_close(&n);
}

TEST(lmr, create_range_beyond_the_address_space_is_refused)
{
	struct node n;
	struct buf b;

	node_open(&n);
	ASSERT(reg(&n, DAT_MEM_TYPE_VIRTUAL, (void *)(UINTPTR_MAX - 4095), 8192, PRIV_LOCAL, &b) !=
	       DAT_SUCCESS);
	node_close(&n);
}

TEST(lmr, create_unmapped_memory_is_PROTECTION_VIOLATION)
{
	/* A wide hole: what other threads map meanwhile lands at its far end. */
	const size_t hole = (size_t)1 << 30;
	struct node n;
	struct buf b;
	char *mem;

	node_open(&n);
	mem = mmap(NULL, hole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	ASSERT(mem != MAP_FAILED);
	ASSERT_EQ(munmap(mem + 4096, hole - 4096), 0);
	/* The second page is not there. */
	ASSERT_EQ(DAT_GET_TYPE(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 8192, PRIV_LOCAL, &b)),
		  DAT_PROTECTION_VIOLATION);
	OK(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 4096, PRIV_LOCAL, &b));
	OK(dat_lmr_free(b.lmr));
	ASSERT_EQ(munmap(mem, 4096), 0);
	node_close(&n);
}

/* Without a right to write the subtype names the reading. */
TEST(lmr, create_of_memory_that_cannot_be_read_names_reading)
{
	const size_t hole = (size_t)1 << 30;
	struct node n;
	struct buf b;
	char *mem;

	node_open(&n);
	mem = mmap(NULL, hole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT(mem != MAP_FAILED);
	ASSERT_RET(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &b),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	ASSERT_RET(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 4096, PRIV_LOCAL, &b),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	ASSERT_EQ(munmap(mem, hole - 4096), 0);
	ASSERT_RET(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &b),
		   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
	ASSERT_RET(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 4096, PRIV_LOCAL, &b),
		   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	ASSERT_EQ(munmap(mem + hole - 4096, 4096), 0);
	node_close(&n);
}

#if DAT_TEST_API == 20
TEST(lmr, create_unknown_va_type_is_ARG7_in_2_0)
{
	DAT_REGION_DESCRIPTION region = { .for_va = NULL };
	DAT_LMR_CONTEXT key;
	DAT_LMR_HANDLE lmr;
	struct node n;
	char mem[64];

	node_open(&n);
	region.for_va = mem;
	BAD_ARG(dat_lmr_create(n.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), n.pz, PRIV_LOCAL,
			       (DAT_VA_TYPE)7, &lmr, &key, NULL, NULL, NULL),
		7);
	node_close(&n);
}
#endif

TEST(lmr, read_only_memory_may_be_read)
{
	struct node n;
	struct buf b;
	void *mem;

	node_open(&n);
	mem = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(mem != MAP_FAILED);
	OK(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 4096,
	       DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG, &b));
	OK(dat_lmr_free(b.lmr));
	ASSERT_EQ(munmap(mem, 4096), 0);
	node_close(&n);
}

TEST(lmr, read_only_memory_with_write_rights_is_PRIVILEGES_VIOLATION)
{
	static const int writes[] = {
		DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	};
	struct node n;
	struct buf b;
	void *mem;
	int i;

	node_open(&n);
	mem = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(mem != MAP_FAILED);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_GET_TYPE(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, 4096,
					   DAT_MEM_PRIV_LOCAL_READ_FLAG | writes[i], &b)),
			  DAT_PRIVILEGES_VIOLATION);
	ASSERT_EQ(munmap(mem, 4096), 0);
	node_close(&n);
}

TEST(lmr, registering_does_not_change_the_memory)
{
	struct node n;
	struct buf b;
	char mem[5000];

	node_open(&n);
	fill(mem, sizeof(mem), 7);
	buf_register(&b, &n, n.pz, mem, sizeof(mem), PRIV_ALL);
	CHECK_FILL(mem, sizeof(mem), 7);
	buf_unregister(&b);
	CHECK_FILL(mem, sizeof(mem), 7);
	node_close(&n);
}

TEST(lmr, query_bad_arguments)
{
	DAT_LMR_PARAM param;
	struct node n;
	struct buf b;

	node_open(&n);
	buf_make(&b, &n, 4096, PRIV_ALL);
	BAD_ARG(dat_lmr_query(b.lmr, DAT_LMR_FIELD_ALL, NULL), 3);
	BAD_ARG(dat_lmr_query(b.lmr, (DAT_LMR_PARAM_MASK)(DAT_LMR_FIELD_ALL + 1), &param), 2);
	buf_free(&b);
	node_close(&n);
}

TEST(lmr, context_of_a_freed_region_is_not_given_again_soon)
{
	DAT_LMR_CONTEXT old[64];
	struct node n;
	struct buf b;
	char mem[64];
	int i, j;

	node_open(&n);
	for (i = 0; i < 64; i++) {
		buf_register(&b, &n, n.pz, mem, sizeof(mem), PRIV_ALL);
		old[i] = b.ctx;
		buf_unregister(&b);
		for (j = 0; j < i; j++)
			ASSERT(old[j] != old[i]);
	}
	node_close(&n);
}

static DAT_RETURN look_up(struct node *n, const struct buf *b, DAT_LMR_CONTEXT context)
{
	DAT_LMR_TRIPLET t = seg(b, 0, 1);

	t.lmr_context = context;
	return dat_lmr_sync_rdma_read(n->ia, &t, 1);
}

TEST(lmr, every_bit_of_a_context_counts)
{
	struct node n;
	struct buf b;
	int bit;

	node_open(&n);
	buf_make(&b, &n, 4096, PRIV_ALL);
	OK(look_up(&n, &b, b.ctx));
	for (bit = 0; bit < 32; bit++)
		BAD_ARG(look_up(&n, &b, b.ctx ^ 1u << bit), 2);
	BAD_ARG(look_up(&n, &b, 0), 2);
	buf_free(&b);
	BAD_ARG(look_up(&n, &b, b.ctx), 2);
	node_close(&n);
}

#define MANY 3000

/* The table of contexts grows and shrinks under regions that live. */
TEST(lmr, contexts_of_many_regions_lead_to_their_own)
{
	struct buf *b = calloc(MANY, sizeof(*b));
	char mem[MANY];
	struct node n;
	int i;

	ASSERT(b);
	node_open(&n);
	for (i = 0; i < MANY; i++) {
		/* One byte each: no other region covers it. */
		buf_register(&b[i], &n, n.pz, mem + i, 1, PRIV_LOCAL);
		OK(look_up(&n, &b[0], b[0].ctx));
	}
	for (i = 0; i < MANY; i += 2)
		buf_unregister(&b[i]);
	for (i = 0; i < MANY; i++)
		if (i % 2)
			OK(look_up(&n, &b[i], b[i].ctx));
		else
			BAD_ARG(look_up(&n, &b[i], b[i].ctx), 2);
	for (i = 0; i < MANY; i += 2)
		buf_register(&b[i], &n, n.pz, mem + i, 1, PRIV_LOCAL);
	for (i = 0; i < MANY; i++) {
		OK(look_up(&n, &b[i], b[i].ctx));
		BAD_ARG(look_up(&n, &b[i], b[(i + 1) % MANY].ctx), 2);
	}
	for (i = 0; i < MANY; i++)
		buf_unregister(&b[i]);
	node_close(&n);
	free(b);
}

/* ---- keys that a peer cannot guess ---- */

#define KEYS 64

struct keys {
	DAT_LMR_CONTEXT lmr[KEYS];
	DAT_RMR_CONTEXT rmr[KEYS];
};

static void make_keys(struct keys *keys)
{
	struct buf b[KEYS];
	struct node n;
	int i;

	node_open(&n);
	for (i = 0; i < KEYS; i++) {
		buf_make(&b[i], &n, 4096, PRIV_ALL);
		keys->lmr[i] = b[i].ctx;
		keys->rmr[i] = b[i].rmr;
	}
	for (i = 0; i < KEYS; i++)
		buf_free(&b[i]);
	node_close(&n);
}

/* A generator of 32 bits: no pair of numbers in 128 is equal but once in 500,000 runs, and no bit
 * is the same in 64 of them. */
static void check_keys(const uint32_t *here, const uint32_t *there)
{
	uint32_t ones = 0, zeros = 0, steps = 0;
	int i, j;

	for (i = 0; i < KEYS; i++) {
		ones |= here[i];
		zeros |= ~here[i];
		steps |= i ? here[i] - here[i - 1] == here[1] - here[0] ? 0 : 1 : 0;
		for (j = 0; j < KEYS; j++)
			if (here[i] == there[j])
				FAIL("both processes have the key %#x", here[i]);
	}
	ASSERT_EQ(ones, UINT32_MAX);
	ASSERT_EQ(zeros, UINT32_MAX);
	ASSERT(steps);
}

static void keys_of_the_peer(int fd, const void *arg)
{
	struct keys keys;

	(void)arg;
	make_keys(&keys);
	dt_put(fd, &keys, sizeof(keys));
}

TEST(lmr, keys_cannot_be_guessed)
{
	struct keys here, there;
	struct dt_peer peer;

	dt_peer_start(&peer, keys_of_the_peer, NULL);
	make_keys(&here);
	dt_get(peer.fd, &there, sizeof(there));
	dt_peer_finish(&peer);
	check_keys(here.lmr, there.lmr);
	/* Devices choose the keys of their memory themselves. */
	if (fabric_has("zones"))
		check_keys(here.rmr, there.rmr);
}

/* ---- the memory of an LMR again ---- */

static DAT_RETURN reg_lmr(struct node *n, DAT_LMR_HANDLE of, DAT_PZ_HANDLE pz, int priv,
			  struct buf *b)
{
	DAT_REGION_DESCRIPTION region;

	memset(&region, 0, sizeof(region));
	region.for_lmr_handle = of;
	/* The length is ignored. */
	return api_lmr_create(n->ia, DAT_MEM_TYPE_LMR, region, 1, pz, (DAT_MEM_PRIV_FLAGS)priv,
			      &b->lmr, &b->ctx, &b->rmr, NULL, NULL);
}

TEST(lmr, of_an_lmr_covers_its_memory_with_other_rights_and_pz)
{
	DAT_LMR_PARAM param;
	DAT_PZ_HANDLE other;
	struct buf b, c;
	struct node n;

	node_open(&n);
	OK(dat_pz_create(n.ia, &other));
	buf_make(&b, &n, 8192, PRIV_LOCAL);
	OK(reg_lmr(&n, b.lmr, other, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG,
		   &c));
	ASSERT(c.ctx != b.ctx && c.rmr != 0);
	OK(dat_lmr_query(c.lmr, DAT_LMR_FIELD_ALL, &param));
	ASSERT_EQ(param.mem_type, DAT_MEM_TYPE_LMR);
	ASSERT_PTR(param.region_desc.for_lmr_handle, b.lmr);
	ASSERT_PTR(param.pz_handle, other);
	ASSERT(param.registered_address <= (DAT_VADDR)(uintptr_t)b.mem);
	ASSERT(param.registered_address + param.registered_size >=
	       (DAT_VADDR)(uintptr_t)b.mem + b.len);
	OK(dat_lmr_free(c.lmr));
	buf_free(&b);
	OK(dat_pz_free(other));
	node_close(&n);
}

TEST(lmr, of_an_lmr_outlives_it)
{
	struct pair p;
	struct buf c;
	DAT_LMR_TRIPLET t;

	pair_up(&p);
	OK(reg_lmr(&p.node, p.a.buf.lmr, p.node.pz, PRIV_ALL, &c));
	c.mem = p.a.buf.mem;
	buf_unregister(&p.a.buf);
	fill(c.mem, 1000, 5);
	OK(post_recv(&p.b, 0, 1000, 1));
	t = seg(&c, 0, 1000);
	OK(dat_ep_post_send(p.a.ep, 1, &t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 1000);
	CHECK_FILL(p.b.buf.mem, 1000, 5);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 1000);
	OK(dat_lmr_free(c.lmr));
	pair_close(&p);
}

TEST(lmr, of_a_bad_lmr_is_INVALID_HANDLE_LMR)
{
	DAT_LMR_HANDLE freed;
	struct buf b, c;
	struct node n;

	node_open(&n);
	buf_make(&b, &n, 4096, PRIV_ALL);
	freed = b.lmr;
	buf_free(&b);
	BAD_HANDLE(reg_lmr(&n, freed, n.pz, PRIV_ALL, &c), LMR);
	BAD_HANDLE(reg_lmr(&n, NULL, n.pz, PRIV_ALL, &c), LMR);
	BAD_HANDLE(reg_lmr(&n, n.pz, n.pz, PRIV_ALL, &c), LMR);
	node_close(&n);
}

TEST(lmr, of_an_lmr_of_another_ia_is_INVALID_HANDLE_LMR)
{
	struct node n, m;
	struct buf b, c;

	node_open(&n);
	node_open(&m);
	buf_make(&b, &m, 4096, PRIV_ALL);
	BAD_HANDLE(reg_lmr(&n, b.lmr, n.pz, PRIV_ALL, &c), LMR);
	buf_free(&b);
	node_close(&m);
	node_close(&n);
}

/* ---- shared memory ---- */

static DAT_RETURN reg_shared(struct node *n, void *mem, DAT_VLEN len, char (*id)[40], struct buf *b)
{
	DAT_REGION_DESCRIPTION region;

	memset(&region, 0, sizeof(region));
	region.for_shared_memory.virtual_address = mem;
	region.for_shared_memory.shared_memory_id = id;
	b->mem = mem;
	b->len = len;
	return api_lmr_create(n->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, len, n->pz, PRIV_ALL,
			      &b->lmr, &b->ctx, &b->rmr, NULL, NULL);
}

static void *map_shared(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT(mem != MAP_FAILED);
	return mem;
}

TEST(lmr, shared_virtual_is_registered_and_queried)
{
	char id[40] = "one\0two";
	DAT_LMR_PARAM param;
	struct buf b, c;
	struct node n;
	void *mem;

	node_open(&n);
	mem = map_shared(8192);
	OK(reg_shared(&n, mem, 8192, &id, &b));
	OK(dat_lmr_query(b.lmr, DAT_LMR_FIELD_ALL, &param));
	ASSERT_EQ(param.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
	ASSERT_PTR(param.region_desc.for_shared_memory.virtual_address, mem);
	ASSERT_EQ(param.length, 8192);
	/* The same memory and identity a second time. */
	OK(reg_shared(&n, mem, 8192, &id, &c));
	OK(dat_lmr_free(b.lmr));
	OK(dat_lmr_free(c.lmr));
	ASSERT_EQ(munmap(mem, 8192), 0);
	node_close(&n);
}

TEST(lmr, shared_virtual_carries_data)
{
	DAT_RMR_TRIPLET r;
	DAT_LMR_TRIPLET t;
	char id[40] = { 1, 0, 2 };
	struct buf b;
	struct pair p;
	void *mem;

	pair_up(&p);
	mem = map_shared(8192);
	OK(reg_shared(&p.node, mem, 8192, &id, &b));
	fill(p.a.buf.mem, 8192, 3);
	t = seg(&p.a.buf, 0, 8192);
	r = rem(&b, 0, 8192);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(1), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 1, OP_WRITE, 8192);
	CHECK_WRITTEN(mem, 8192, 3);
	OK(dat_lmr_free(b.lmr));
	ASSERT_EQ(munmap(mem, 8192), 0);
	pair_close(&p);
}

TEST(lmr, shared_virtual_of_private_memory_is_INVALID_STATE)
{
	char id[40] = "private";
	struct node n;
	struct buf b;
	void *mem;

	node_open(&n);
	mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(mem != MAP_FAILED);
	ASSERT_EQ(DAT_GET_TYPE(reg_shared(&n, mem, 4096, &id, &b)), DAT_INVALID_STATE);
	ASSERT_EQ(munmap(mem, 4096), 0);
	node_close(&n);
}

TEST(lmr, shared_virtual_without_an_identity_is_ARG3)
{
	struct node n;
	struct buf b;
	void *mem;

	node_open(&n);
	mem = map_shared(4096);
	BAD_ARG(reg_shared(&n, mem, 4096, NULL, &b), 3);
	ASSERT_EQ(munmap(mem, 4096), 0);
	node_close(&n);
}

/* Without this capability the limit of locked memory applies to root, too. */
static void drop_ipc_lock(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
}

/* The kernel refuses a device's memory with another error if no memory may be locked. Other fabrics
 * lock none. */
TEST(lmr, beyond_the_limit_of_locked_memory_is_MEMORY_REGION)
{
	static const rlim_t limits[] = { 0, 16384 };
	const size_t len = 65536;
	struct rlimit limit;
	struct node n;
	struct buf b;
	char *mem;

	if (fabric_is("rxm-verbs"))
		dt_skip("the library of the endpoints registers memory of its own");
	node_open(&n);
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(mem != MAP_FAILED);
	drop_ipc_lock();
	ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		limit.rlim_cur = limits[i];
		ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
		if (!fabric_is("verbs") && !fabric_is("iwarp")) {
			OK(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, len, PRIV_ALL, &b));
			OK(dat_lmr_free(b.lmr));
			continue;
		}
		ASSERT_RET(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, len, PRIV_ALL, &b),
			   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	}
	limit.rlim_cur = 2 * len;
	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	OK(reg(&n, DAT_MEM_TYPE_VIRTUAL, mem, len, PRIV_ALL, &b));
	OK(dat_lmr_free(b.lmr));
	ASSERT_EQ(munmap(mem, len), 0);
	node_close(&n);
}
