/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests collectives: the data of all operations, compared with a plain implementation, for random
 * groups, sizes and roots. */
#include <stdio.h>

#include "coll_rig.h"

#define GUARD 64
#define GUARD_BYTE 0x5c

/* A buffer of a member, with bytes around it that must not change. */
struct area {
	char *mem;
	size_t len;
};

static struct area area_make(size_t len)
{
	struct area a = { NULL, len };
	char *mem = malloc(len + 2 * GUARD);

	ASSERT(mem);
	memset(mem, GUARD_BYTE, len + 2 * GUARD);
	a.mem = mem + GUARD;
	return a;
}

static void area_free(struct area *a)
{
	for (size_t i = 0; i < GUARD; i++) {
		ASSERT_EQ(a->mem[-1 - (ptrdiff_t)i], GUARD_BYTE);
		ASSERT_EQ(a->mem[a->len + i], GUARD_BYTE);
	}
	free(a->mem - GUARD);
}

static uint32_t dice;

static uint32_t roll(uint32_t n)
{
	dice = dice * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)dice * n >> 32);
}

/* Sizes around the limits of the protocol and of the algorithms. */
static size_t roll_size(void)
{
	static const size_t sizes[] = { 0,     1,     2,     8,     40,    100,    512,
					1000,  2048,  4096,  4097,  8191,  8192,   8193,
					16384, 20000, 32768, 33000, 65536, 140000, 262144 };

	return sizes[roll(sizeof(sizes) / sizeof(*sizes))];
}

/* ---- data without reduction ---- */

enum what {
	BROADCAST,
	SCATTER,
	SCATTERV,
	GATHER,
	GATHERV,
	ALLGATHER,
	ALLGATHERV,
	ALLTOALL,
	ALLTOALLV,
	WHATS,
};

static const DAT_IB_EXT_TYPE what_type[WHATS] = {
	[BROADCAST] = DAT_IB_COLLECTIVE_BROADCAST_STATUS,
	[SCATTER] = DAT_IB_COLLECTIVE_SCATTER_STATUS,
	[SCATTERV] = DAT_IB_COLLECTIVE_SCATTERV_STATUS,
	[GATHER] = DAT_IB_COLLECTIVE_GATHER_STATUS,
	[GATHERV] = DAT_IB_COLLECTIVE_GATHERV_STATUS,
	[ALLGATHER] = DAT_IB_COLLECTIVE_ALLGATHER_STATUS,
	[ALLGATHERV] = DAT_IB_COLLECTIVE_ALLGATHERV_STATUS,
	[ALLTOALL] = DAT_IB_COLLECTIVE_ALLTOALL_STATUS,
	[ALLTOALLV] = DAT_IB_COLLECTIVE_ALLTOALLV_STATUS,
};

/* One operation. Part (i, j) is what member i sends to j; the same for all j where all get the
 * same. Its bytes follow from i and j. */
struct plan {
	enum what what;
	unsigned int n, root;
	bool in_place;
	DAT_COUNT block; /* of each part, unless sizes differ */
	DAT_COUNT sizes[CREW_MOST][CREW_MOST];
	DAT_COUNT displs[CREW_MOST][CREW_MOST]; /* of i in j's buffer, or of j in i's */
	DAT_COUNT send_sizes[CREW_MOST][CREW_MOST], send_displs[CREW_MOST][CREW_MOST];
	struct area in[CREW_MOST], out[CREW_MOST];
};

static unsigned int part_seed(unsigned int i, unsigned int j)
{
	return i * 31 + j + 1;
}

static bool sends(const struct plan *p, unsigned int i)
{
	return (p->what != BROADCAST && p->what != SCATTER && p->what != SCATTERV) || i == p->root;
}

static bool is_personal(const struct plan *p)
{
	return p->what == SCATTER || p->what == SCATTERV || p->what >= ALLTOALL;
}

static bool has_root(const struct plan *p)
{
	return p->what <= GATHERV;
}

/* Whether part (i, j) is transferred. */
static bool has_part(const struct plan *p, unsigned int i, unsigned int j)
{
	if (p->what == GATHER || p->what == GATHERV)
		return j == p->root;
	return sends(p, i);
}

static bool varies(const struct plan *p)
{
	return p->what == SCATTERV || p->what == GATHERV || p->what == ALLGATHERV ||
	       p->what == ALLTOALLV;
}

/* Draws sizes, and places the parts in the buffers of both sides. */
static void plan_layout(struct plan *p)
{
	p->block = (DAT_COUNT)(p->n > 8 ? roll_size() / 8 : roll_size());
	for (unsigned int i = 0; i < p->n; i++)
		for (unsigned int j = 0; j < p->n; j++) {
			p->sizes[i][j] = varies(p) ? (DAT_COUNT)(roll_size() / 8) : p->block;
			/* Gathered: the same part for each receiver. */
			if (!is_personal(p) && j)
				p->sizes[i][j] = p->sizes[i][0];
		}
	for (unsigned int i = 0; i < p->n; i++) {
		DAT_COUNT in = 0, out = 0;

		for (unsigned int j = 0; j < p->n; j++) {
			DAT_COUNT gap = varies(p) ? (DAT_COUNT)roll(20) : 0;

			p->send_sizes[i][j] = p->sizes[i][j];
			p->send_displs[i][j] = in;
			in += p->sizes[i][j] + gap;
			p->displs[i][j] = out;
			out += p->sizes[j][i] + gap;
		}
		p->in[i] = area_make((size_t)(is_personal(p) ? in : p->sizes[i][i]));
		p->out[i] = area_make((size_t)out);
	}
}

static void plan_fill(struct plan *p)
{
	for (unsigned int i = 0; i < p->n; i++) {
		for (unsigned int j = 0; j < p->n; j++)
			if (is_personal(p))
				fill(p->in[i].mem + p->send_displs[i][j], (size_t)p->sizes[i][j],
				     part_seed(i, j));
		if (!is_personal(p))
			fill(p->in[i].mem, p->in[i].len, part_seed(i, 0));
	}
}

/* The sizes of what member i receives, as the calls want them. */
static void received_sizes(const struct plan *p, unsigned int i, DAT_COUNT sizes[CREW_MOST])
{
	for (unsigned int j = 0; j < p->n; j++)
		sizes[j] = p->sizes[j][i];
}

static void plan_start(struct plan *p, struct crew *c, unsigned int i)
{
	DAT_IB_COLLECTIVE_HANDLE g = c->mate[i].group;
	char *in = p->in[i].mem, *out = p->out[i].mem;
	DAT_COUNT n = (DAT_COUNT)p->n, block = p->block, sizes[CREW_MOST];
	DAT_COUNT *from = p->send_sizes[i], *from_at = p->send_displs[i], *to_at = p->displs[i];
	bool root = i == p->root, own = p->in_place;
	DAT_COMPLETION_FLAGS def = DAT_COMPLETION_DEFAULT_FLAG;

	received_sizes(p, i, sizes);
	/* In place: the own part is where it belongs already. */
	if (own && !is_personal(p) && p->what != BROADCAST && (!has_root(p) || root)) {
		memcpy(out + to_at[i], in, (size_t)sizes[i]);
		in = NULL;
	}
	switch (p->what) {
	case BROADCAST:
		OK(dat_ib_collective_broadcast(g, root ? in : out + to_at[p->root],
					       p->sizes[p->root][i], p->root, ctx(i), def));
		break;
	case SCATTER:
		OK(dat_ib_collective_scatter(g, root ? in : NULL, root ? n * block : 0,
					     own && root ? NULL : out + to_at[p->root], block,
					     p->root, ctx(i), def));
		break;
	case SCATTERV:
		OK(dat_ib_collective_scatterv(g, root ? in : NULL, root ? from : NULL,
					      root ? from_at : NULL,
					      own && root ? NULL : out + to_at[p->root],
					      sizes[p->root], p->root, ctx(i), def));
		break;
	case GATHER:
		OK(dat_ib_collective_gather(g, in, block, root ? out : NULL, root ? n * block : 0,
					    p->root, ctx(i), def));
		break;
	case GATHERV:
		OK(dat_ib_collective_gatherv(g, in, from[p->root], root ? out : NULL,
					     root ? sizes : NULL, root ? to_at : NULL, p->root,
					     ctx(i), def));
		break;
	case ALLGATHER:
		OK(dat_ib_collective_allgather(g, in, block, out, n * block, ctx(i), def));
		break;
	case ALLGATHERV:
		OK(dat_ib_collective_allgatherv(g, in, from[i], out, sizes, to_at, ctx(i), def));
		break;
	case ALLTOALL:
		OK(dat_ib_collective_alltoall(g, in, n * block, out, n * block, ctx(i), def));
		break;
	default:
		OK(dat_ib_collective_alltoallv(g, in, from, from_at, out, sizes, to_at, ctx(i),
					       def));
		break;
	}
}

static void plan_check(const struct plan *p, unsigned int i)
{
	for (unsigned int j = 0; j < p->n; j++) {
		const char *got = p->out[i].mem + p->displs[i][j];
		size_t len = (size_t)p->sizes[j][i];

		if (!has_part(p, j, i) || (p->what == BROADCAST && i == j) ||
		    (p->in_place && i == j && is_personal(p) && has_root(p)))
			continue;
		CHECK_FILL(got, len, part_seed(j, is_personal(p) ? i : 0));
	}
}

static void run_plan(struct crew *c, enum what what)
{
	static struct plan p;
	unsigned int first = roll(c->size);

	memset(&p, 0, sizeof(p));
	p.what = what;
	p.n = c->size;
	p.root = roll(c->size);
	p.in_place = roll(4) == 0;
	plan_layout(&p);
	plan_fill(&p);
	dt_note("operation %d, %u members, root %u, block %d%s", (int)what, p.n, p.root,
		(int)p.block, p.in_place ? ", in place" : "");
	for (unsigned int k = 0; k < p.n; k++)
		plan_start(&p, c, (first + k) % p.n);
	for (unsigned int i = 0; i < p.n; i++)
		ev_coll(__FILE__, __LINE__, c->mate[i].evd, what_type[what], DAT_OP_SUCCESS, i,
			US_GROUP);
	for (unsigned int i = 0; i < p.n; i++)
		plan_check(&p, i);
	for (unsigned int i = 0; i < p.n; i++) {
		area_free(&p.in[i]);
		area_free(&p.out[i]);
	}
}

static void all_operations(unsigned int size, unsigned int times)
{
	struct crew c;

	dice = size;
	crew_up(&c, size, size < 3 ? size : 3);
	for (unsigned int k = 0; k < times; k++)
		for (int what = 0; what < WHATS; what++)
			run_plan(&c, (enum what)what);
	crew_down(&c);
}

struct row {
	const char *name;
	unsigned int size;
};

static const struct row sizes[] = {
	{ "members_1", 1 },   { "members_2", 2 },   { "members_3", 3 },   { "members_4", 4 },
	{ "members_5", 5 },   { "members_6", 6 },   { "members_7", 7 },   { "members_8", 8 },
	{ "members_9", 9 },   { "members_10", 10 }, { "members_11", 11 }, { "members_12", 12 },
	{ "members_13", 13 }, { "members_14", 14 }, { "members_15", 15 }, { "members_16", 16 },
	{ "members_17", 17 },
};

static void data_of_size(const void *arg)
{
	const struct row *row = arg;

	all_operations(row->size, DT_SANITIZED ? 4 : 12);
}

TEST_ROWS(coll_data, sizes, data_of_size)

/* ---- reductions ---- */

#define OPS (DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC + 1)
#define TYPES (DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT + 1)

/* The formats of the elements, independent of the provider's. */
/* clang-format off */
#define FORMATS(X) \
	X(INT8, int8_t) X(UINT8, uint8_t) X(INT16, int16_t) X(UINT16, uint16_t) \
	X(INT32, int32_t) X(UINT32, uint32_t) X(INT64, int64_t) X(UINT64, uint64_t) \
	X(FLOAT, float) X(DOUBLE, double) X(LONG_DOUBLE, long double)
#define PAIRS(X) \
	X(SHORT_INT, short, int) X(2INT, int, int) X(FLOAT_INT, float, int) \
	X(LONG_INT, long, int) X(DOUBLE_INT, double, int)
/* clang-format on */

#define X(name, ctype) \
	struct pair_##name { \
		ctype value; \
		uint32_t number; \
	};
FORMATS(X)
#undef X
#define X(name, vtype, ntype) \
	struct pair_##name { \
		vtype value; \
		ntype number; \
	};
PAIRS(X)
#undef X

static bool is_located(int op)
{
	return op == DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC || op == DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC;
}

static bool is_bitwise(int op)
{
	return op >= DAT_IB_COLLECTIVE_REDUCE_OP_LAND && op <= DAT_IB_COLLECTIVE_REDUCE_OP_BXOR;
}

static bool is_valid(int op, int type)
{
	if (is_located(op))
		return true;
	if (type > DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE)
		return false;
	return !is_bitwise(op) || type < DAT_IB_COLLECTIVE_TYPE_FLOAT;
}

static size_t elem_size(int op, int type)
{
	switch (type) {
#define X(name, ctype) \
	case DAT_IB_COLLECTIVE_TYPE_##name: \
		return is_located(op) ? sizeof(struct pair_##name) : sizeof(ctype);
		FORMATS(X)
#undef X
#define X(name, vtype, ntype) \
	case DAT_IB_COLLECTIVE_TYPE_##name: \
		return sizeof(struct pair_##name);
		PAIRS(X)
#undef X
	}
	FAIL("type %d", type);
}

/* Stores an element; sums of such values are exact in every type. */
static void put(int op, int type, void *mem, size_t i, int value, int number)
{
	switch (type) {
#define X(name, ctype) \
	case DAT_IB_COLLECTIVE_TYPE_##name: \
		if (is_located(op)) \
			((struct pair_##name *)mem)[i] = \
				(struct pair_##name){ (ctype)value, (uint32_t)number }; \
		else \
			((ctype *)mem)[i] = (ctype)value; \
		break;
		FORMATS(X)
#undef X
#define X(name, vtype, ntype) \
	case DAT_IB_COLLECTIVE_TYPE_##name: \
		((struct pair_##name *)mem)[i] = \
			(struct pair_##name){ (vtype)value, (ntype)number }; \
		break;
		PAIRS(X)
#undef X
	}
}

#define COMBINE_ALL(a, b) \
	switch (op) { \
	case DAT_IB_COLLECTIVE_REDUCE_OP_MAX: \
		r = a > b ? a : b; \
		break; \
	case DAT_IB_COLLECTIVE_REDUCE_OP_MIN: \
		r = a < b ? a : b; \
		break; \
	case DAT_IB_COLLECTIVE_REDUCE_OP_SUM: \
		r = a + b; \
		break; \
	case DAT_IB_COLLECTIVE_REDUCE_OP_PROD: \
		r = a * b; \
		break; \
	default: \
		break; \
	}

static uint64_t combine_bits(int op, uint64_t a, uint64_t b)
{
	switch (op) {
	case DAT_IB_COLLECTIVE_REDUCE_OP_LAND:
		return a && b;
	case DAT_IB_COLLECTIVE_REDUCE_OP_BAND:
		return a & b;
	case DAT_IB_COLLECTIVE_REDUCE_OP_LOR:
		return a || b;
	case DAT_IB_COLLECTIVE_REDUCE_OP_BOR:
		return a | b;
	case DAT_IB_COLLECTIVE_REDUCE_OP_LXOR:
		return (a != 0) ^ (b != 0);
	default:
		return a ^ b;
	}
}

/* The plain implementation: combines element i of `from` into that of `into`. */
static void combine(int op, int type, void *into, const void *from, size_t i)
{
	bool max = op == DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC;

	switch (type) {
#define X(name, ctype) \
	case DAT_IB_COLLECTIVE_TYPE_##name: \
		if (is_located(op)) { \
			struct pair_##name *a = (struct pair_##name *)into + i; \
			const struct pair_##name *b = (const struct pair_##name *)from + i; \
			bool better = max ? b->value > a->value : b->value < a->value; \
			if (better || (b->value == a->value && b->number < a->number)) \
				*a = *b; \
		} else { \
			ctype *a = (ctype *)into + i, b = ((const ctype *)from)[i]; \
			long double r = 0; \
			if (is_bitwise(op)) { \
				*a = (ctype)combine_bits(op, (uint64_t)*a, (uint64_t)b); \
				break; \
			} \
			COMBINE_ALL((long double)*a, (long double)b) \
			*a = (ctype)(type < DAT_IB_COLLECTIVE_TYPE_FLOAT ? (ctype)(int64_t)r : r); \
		} \
		break;
		FORMATS(X)
#undef X
#define X(name, vtype, ntype) \
	case DAT_IB_COLLECTIVE_TYPE_##name: { \
		struct pair_##name *a = (struct pair_##name *)into + i; \
		const struct pair_##name *b = (const struct pair_##name *)from + i; \
		bool better = max ? b->value > a->value : b->value < a->value; \
		if (better || (b->value == a->value && b->number < a->number)) \
			*a = *b; \
		break; \
	}
		PAIRS(X)
#undef X
	}
}

/* True if element i is the same; padding is not compared. */
static bool same(int op, int type, const void *x, const void *y, size_t i)
{
	switch (type) {
#define X(name, ctype) \
	case DAT_IB_COLLECTIVE_TYPE_##name: \
		if (is_located(op)) { \
			const struct pair_##name *a = (const struct pair_##name *)x + i; \
			const struct pair_##name *b = (const struct pair_##name *)y + i; \
			return a->value == b->value && a->number == b->number; \
		} \
		return ((const ctype *)x)[i] == ((const ctype *)y)[i];
		FORMATS(X)
#undef X
#define X(name, vtype, ntype) \
	case DAT_IB_COLLECTIVE_TYPE_##name: { \
		const struct pair_##name *a = (const struct pair_##name *)x + i; \
		const struct pair_##name *b = (const struct pair_##name *)y + i; \
		return a->value == b->value && a->number == b->number; \
	}
		PAIRS(X)
#undef X
	}
	return false;
}

enum reduction {
	REDUCE,
	ALLREDUCE,
	REDUCE_SCATTER,
	SCAN,
	REDUCTIONS,
};

static const DAT_IB_EXT_TYPE reduction_type[REDUCTIONS] = {
	[REDUCE] = DAT_IB_COLLECTIVE_REDUCE_STATUS,
	[ALLREDUCE] = DAT_IB_COLLECTIVE_ALLREDUCE_STATUS,
	[REDUCE_SCATTER] = DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS,
	[SCAN] = DAT_IB_COLLECTIVE_SCAN_STATUS,
};

struct sum {
	enum reduction how;
	int op, type;
	unsigned int n, root;
	bool in_place;
	size_t count, elem;
	DAT_COUNT sizes[CREW_MOST]; /* reduce_scatter */
	struct area in[CREW_MOST], out[CREW_MOST];
};

static void sum_start(struct sum *s, struct crew *c, unsigned int i)
{
	DAT_IB_COLLECTIVE_HANDLE g = c->mate[i].group;
	DAT_COUNT size = (DAT_COUNT)(s->count * s->elem);
	char *in = s->in[i].mem, *out = s->out[i].mem;
	DAT_COMPLETION_FLAGS def = DAT_COMPLETION_DEFAULT_FLAG;

	if (s->in_place &&
	    (s->how == ALLREDUCE || s->how == SCAN || (s->how == REDUCE && i == s->root))) {
		memcpy(out, in, (size_t)size);
		in = NULL;
	}
	switch (s->how) {
	case REDUCE:
		OK(dat_ib_collective_reduce(g, in, size, i == s->root ? out : NULL,
					    i == s->root ? size : 0, s->op, s->type, s->root,
					    ctx(i), def));
		break;
	case ALLREDUCE:
		OK(dat_ib_collective_allreduce(g, in, size, out, size, s->op, s->type, ctx(i),
					       def));
		break;
	case REDUCE_SCATTER:
		OK(dat_ib_collective_reduce_scatter(g, in, size, out, s->sizes, s->op, s->type,
						    ctx(i), def));
		break;
	default:
		OK(dat_ib_collective_scan(g, in, size, out, size, s->op, s->type, ctx(i), def));
		break;
	}
}

/* Compares the results of all members with the plain one. */
static void sum_check(const struct sum *s)
{
	char *want = malloc(s->count * s->elem + 1);
	size_t at = 0;

	ASSERT(want);
	for (unsigned int last = 0; last < s->n; last++) {
		unsigned int most = s->how == SCAN ? last : s->n - 1;
		size_t first = s->how == REDUCE_SCATTER ? at : 0, count = s->count;

		if (s->how == REDUCE_SCATTER)
			count = (size_t)s->sizes[last] / s->elem;
		at += count;
		if (s->how == REDUCE && last != s->root)
			continue;
		memcpy(want, s->in[0].mem, s->count * s->elem);
		for (unsigned int k = 1; k <= most; k++)
			for (size_t i = 0; i < s->count; i++)
				combine(s->op, s->type, want, s->in[k].mem, i);
		for (size_t i = 0; i < count; i++)
			if (!same(s->op, s->type, want + first * s->elem, s->out[last].mem, i))
				FAIL("element %zu of member %u differs", i, last);
	}
	free(want);
}

static void run_sum(struct crew *c, enum reduction how, int op, int type, size_t count)
{
	unsigned int range = op == DAT_IB_COLLECTIVE_REDUCE_OP_PROD ? 2 : 5;
	static struct sum s;
	size_t left = count;

	memset(&s, 0, sizeof(s));
	s.how = how;
	s.op = op;
	s.type = type;
	s.n = c->size;
	s.root = roll(c->size);
	s.in_place = roll(3) == 0;
	s.elem = elem_size(op, type);
	s.count = count;
	for (unsigned int i = 0; i < s.n; i++) {
		size_t part = i + 1 == s.n ? left : roll((uint32_t)left + 1);

		s.sizes[i] = (DAT_COUNT)(part * s.elem);
		left -= part;
		s.in[i] = area_make(count * s.elem);
		s.out[i] = area_make(count * s.elem);
		memset(s.in[i].mem, 0, count * s.elem);
		for (size_t k = 0; k < count; k++)
			put(op, type, s.in[i].mem, k, (int)roll(range), (int)roll(50));
	}
	dt_note("reduction %d, operation %d, type %d, %u members, root %u, %zu elements%s",
		(int)how, op, type, s.n, s.root, count, s.in_place ? ", in place" : "");
	for (unsigned int i = 0; i < s.n; i++)
		sum_start(&s, c, i);
	for (unsigned int i = 0; i < s.n; i++)
		ev_coll(__FILE__, __LINE__, c->mate[i].evd, reduction_type[how], DAT_OP_SUCCESS, i,
			US_GROUP);
	sum_check(&s);
	for (unsigned int i = 0; i < s.n; i++) {
		area_free(&s.in[i]);
		area_free(&s.out[i]);
	}
}

static void reductions_of_size(const void *arg)
{
	static const size_t counts[] = { 0, 1, 3, 17, 100, 1000, 1030, 2100, 5000, 20000 };
	const struct row *row = arg;
	struct crew c;

	dice = 99 + row->size;
	crew_up(&c, row->size, row->size < 3 ? row->size : 3);
	for (unsigned int k = 0; k < (DT_SANITIZED ? 15 : 40); k++) {
		int op = (int)roll(OPS), type = (int)roll(TYPES);

		if (is_valid(op, type))
			run_sum(&c, (enum reduction)roll(REDUCTIONS), op, type,
				counts[roll(sizeof(counts) / sizeof(*counts))]);
	}
	crew_down(&c);
}

TEST_ROWS(coll_reduce, sizes, reductions_of_size)

/* Around the sizes at which an allreduce takes another way, and those of long messages. */
static void allreduces_of_size(const void *arg)
{
	static const size_t bytes[] = { 4,     8192,  8196,  16380,  16384,  32772,
					65536, 65540, 70000, 131072, 524284, 524288 };
	const struct row *row = arg;
	struct crew c;

	dice = 5 + row->size;
	crew_up(&c, row->size, row->size < 3 ? row->size : 3);
	for (unsigned int k = 0; k < sizeof(bytes) / sizeof(*bytes); k++)
		run_sum(&c, ALLREDUCE, DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
			DAT_IB_COLLECTIVE_TYPE_UINT32, bytes[k] / sizeof(uint32_t));
	crew_down(&c);
}

TEST_ROWS(coll_allreduce, sizes, allreduces_of_size)

TEST_LIMIT(coll_reduce, all_operations_of_all_types, 60)
{
	struct crew c;

	dice = 7;
	crew_up(&c, 3, 1);
	for (int op = 0; op < OPS; op++)
		for (int type = 0; type < TYPES; type++)
			if (is_valid(op, type))
				run_sum(&c, (enum reduction)roll(REDUCTIONS), op, type, 13);
	crew_down(&c);
}
