/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of reductions: one per operation and type.
 *
 * MAXLOC and MINLOC work on pairs of a value and a number, of which the smaller one is kept when
 * values are equal. With a type that is no pair they work on pairs of that type and 32 bits.
 */
#include "coll/coll_sched.h"

/* Without it the compiler does not use vector instructions, which take a third of the time. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define NAME(op, type) reduce_##op##_##type

#define EACH(op, type, ctype, expr) \
	static void NAME(op, type)(void *into, const void *from, size_t count) \
	{ \
		ctype *restrict a = into; \
		const ctype *restrict b = from; \
		for (size_t i = 0; i < count; i++) \
			a[i] = (ctype)(expr); \
	}

#define PAIR(type, vtype, ntype) \
	struct pair_##type { \
		vtype value; \
		ntype number; \
	}; \
	static void NAME(maxloc, type)(void *into, const void *from, size_t count) \
	{ \
		struct pair_##type *a = into; \
		const struct pair_##type *b = from; \
		for (size_t i = 0; i < count; i++) \
			if (b[i].value > a[i].value || \
			    (b[i].value == a[i].value && b[i].number < a[i].number)) \
				a[i] = b[i]; \
	} \
	static void NAME(minloc, type)(void *into, const void *from, size_t count) \
	{ \
		struct pair_##type *a = into; \
		const struct pair_##type *b = from; \
		for (size_t i = 0; i < count; i++) \
			if (b[i].value < a[i].value || \
			    (b[i].value == a[i].value && b[i].number < a[i].number)) \
				a[i] = b[i]; \
	}

/* `stype` is the unsigned type in which sums and products of integers wrap around. */
#define ORDERED(type, ctype, stype) \
	EACH(max, type, ctype, b[i] > a[i] ? b[i] : a[i]) \
	EACH(min, type, ctype, b[i] < a[i] ? b[i] : a[i]) \
	EACH(sum, type, ctype, (stype)a[i] + (stype)b[i]) \
	EACH(prod, type, ctype, (stype)a[i] * (stype)b[i]) \
	PAIR(type, ctype, uint32_t)

#define INTEGER(type, ctype, stype) \
	ORDERED(type, ctype, stype) \
	EACH(land, type, ctype, a[i] && b[i]) \
	EACH(band, type, ctype, a[i] & b[i]) \
	EACH(lor, type, ctype, a[i] || b[i]) \
	EACH(bor, type, ctype, a[i] | b[i]) \
	EACH(lxor, type, ctype, !a[i] != !b[i]) \
	EACH(bxor, type, ctype, a[i] ^ b[i])

INTEGER(int8, int8_t, uint32_t)
INTEGER(uint8, uint8_t, uint32_t)
INTEGER(int16, int16_t, uint32_t)
INTEGER(uint16, uint16_t, uint32_t)
INTEGER(int32, int32_t, uint32_t)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint64, uint64_t, uint64_t)
ORDERED(float, float, float)
ORDERED(double, double, double)
ORDERED(longdouble, long double, long double)
PAIR(short_int, short, int)
PAIR(2int, int, int)
PAIR(float_int, float, int)
PAIR(long_int, long, int)
PAIR(double_int, double, int)

#define OPS (DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC + 1)
#define TYPES (DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT + 1)

/* clang-format off */
#define PAIR_OPS(type) \
	[DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC] = NAME(maxloc, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC] = NAME(minloc, type)

#define ORDERED_OPS(type) \
	PAIR_OPS(type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_MAX] = NAME(max, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_MIN] = NAME(min, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_SUM] = NAME(sum, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_PROD] = NAME(prod, type)

#define INTEGER_OPS(type) \
	ORDERED_OPS(type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_LAND] = NAME(land, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_BAND] = NAME(band, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_LOR] = NAME(lor, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_BOR] = NAME(bor, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_LXOR] = NAME(lxor, type), \
	[DAT_IB_COLLECTIVE_REDUCE_OP_BXOR] = NAME(bxor, type)

static const struct {
	size_t size, pair; /* of an element; of a pair with such a value */
	coll_reduce_fn *fn[OPS];
} types[TYPES] = {
	[DAT_IB_COLLECTIVE_TYPE_INT8] =
		{ 1, sizeof(struct pair_int8), { INTEGER_OPS(int8) } },
	[DAT_IB_COLLECTIVE_TYPE_UINT8] =
		{ 1, sizeof(struct pair_uint8), { INTEGER_OPS(uint8) } },
	[DAT_IB_COLLECTIVE_TYPE_INT16] =
		{ 2, sizeof(struct pair_int16), { INTEGER_OPS(int16) } },
	[DAT_IB_COLLECTIVE_TYPE_UINT16] =
		{ 2, sizeof(struct pair_uint16), { INTEGER_OPS(uint16) } },
	[DAT_IB_COLLECTIVE_TYPE_INT32] =
		{ 4, sizeof(struct pair_int32), { INTEGER_OPS(int32) } },
	[DAT_IB_COLLECTIVE_TYPE_UINT32] =
		{ 4, sizeof(struct pair_uint32), { INTEGER_OPS(uint32) } },
	[DAT_IB_COLLECTIVE_TYPE_INT64] =
		{ 8, sizeof(struct pair_int64), { INTEGER_OPS(int64) } },
	[DAT_IB_COLLECTIVE_TYPE_UINT64] =
		{ 8, sizeof(struct pair_uint64), { INTEGER_OPS(uint64) } },
	[DAT_IB_COLLECTIVE_TYPE_FLOAT] =
		{ sizeof(float), sizeof(struct pair_float), { ORDERED_OPS(float) } },
	[DAT_IB_COLLECTIVE_TYPE_DOUBLE] =
		{ sizeof(double), sizeof(struct pair_double), { ORDERED_OPS(double) } },
	[DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE] =
		{ sizeof(long double), sizeof(struct pair_longdouble),
		  { ORDERED_OPS(longdouble) } },
	[DAT_IB_COLLECTIVE_TYPE_SHORT_INT] =
		{ 0, sizeof(struct pair_short_int), { PAIR_OPS(short_int) } },
	[DAT_IB_COLLECTIVE_TYPE_2INT] =
		{ 0, sizeof(struct pair_2int), { PAIR_OPS(2int) } },
	[DAT_IB_COLLECTIVE_TYPE_FLOAT_INT] =
		{ 0, sizeof(struct pair_float_int), { PAIR_OPS(float_int) } },
	[DAT_IB_COLLECTIVE_TYPE_LONG_INT] =
		{ 0, sizeof(struct pair_long_int), { PAIR_OPS(long_int) } },
	[DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT] =
		{ 0, sizeof(struct pair_double_int), { PAIR_OPS(double_int) } },
};
/* clang-format on */

coll_reduce_fn *dofi_coll_reduction(DAT_IB_COLLECTIVE_REDUCE_DATA_OP op,
				    DAT_IB_COLLECTIVE_DATA_TYPE type, size_t *size)
{
	bool located = op == DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC ||
		       op == DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC;

	*size = located ? types[type].pair : types[type].size;
	return types[type].fn[op];
}
