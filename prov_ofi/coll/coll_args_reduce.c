/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of reductions. */
#include "coll/coll_args.h"

/* Operation and type are at the same positions in all of them. */
static DAT_RETURN args_set_reduction(struct coll_op *op, int operation, int type)
{
	if (operation < 0 || operation > DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC)
		return COLL_BAD(6);
	if (type < 0 || type > DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT)
		return COLL_BAD(7);
	op->reduce = dofi_coll_reduction((DAT_IB_COLLECTIVE_REDUCE_DATA_OP)operation,
					 (DAT_IB_COLLECTIVE_DATA_TYPE)type, &op->elem);
	return op->reduce ? DAT_SUCCESS : COLL_BAD(7);
}

/* Sizes and buffer of a reduction where its result goes. */
static DAT_RETURN args_result(const struct coll_op *op, DAT_COUNT sendsize, const void *to,
			      DAT_COUNT recvsize)
{
	if (sendsize < 0 || (size_t)sendsize % op->elem)
		return COLL_BAD(3);
	if (recvsize < sendsize)
		return COLL_BAD(5);
	return sendsize && !to ? COLL_BAD(4) : DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_reduce(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	int operation = va_arg(args, int), type = va_arg(args, int);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = dofi_coll_args_tail(op, args);
	DAT_RETURN ret = args_set_reduction(op, operation, type);

	if (ret)
		return ret;
	if (root >= g->size)
		return COLL_BAD(8);
	if (!flags_ok)
		return COLL_BAD(10);
	if (root == g->self)
		ret = args_result(op, sendsize, to, recvsize);
	else if (sendsize < 0 || (size_t)sendsize % op->elem)
		ret = COLL_BAD(3);
	else if (sendsize && !from)
		ret = COLL_BAD(2);
	if (ret)
		return ret;
	dofi_coll_build_reduce(op, from ? from : to, to, (size_t)sendsize, root);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_reduce_all(struct coll_op *op, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	int operation = va_arg(args, int), type = va_arg(args, int);
	bool flags_ok = dofi_coll_args_tail(op, args);
	DAT_RETURN ret = args_set_reduction(op, operation, type);

	if (!ret && !flags_ok)
		ret = COLL_BAD(9);
	if (!ret)
		ret = args_result(op, sendsize, to, recvsize);
	if (ret)
		return ret;
	if (op->type == DAT_IB_COLLECTIVE_SCAN_STATUS)
		dofi_coll_build_scan(op, from ? from : to, to, (size_t)sendsize);
	else
		dofi_coll_build_allreduce(op, from ? from : to, to, (size_t)sendsize);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_reduce_scatter(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	int operation = va_arg(args, int), type = va_arg(args, int);
	bool flags_ok = dofi_coll_args_tail(op, args);
	DAT_RETURN ret = args_set_reduction(op, operation, type);

	if (ret)
		return ret;
	if (!flags_ok)
		return COLL_BAD(9);
	if (!dofi_coll_args_array_ok(g, sizes))
		return COLL_BAD(5);
	for (uint32_t i = 0; i < g->size; i++)
		if ((size_t)sizes[i] % op->elem)
			return COLL_BAD(5);
	if (sendsize < 0 || dofi_coll_args_total(g, sizes) != (uint64_t)sendsize)
		return COLL_BAD(3);
	if (sendsize && !from)
		return COLL_BAD(2);
	if (sizes[g->self] && !to)
		return COLL_BAD(4);
	dofi_coll_build_reduce_scatter(op, from, to, sizes, (size_t)sendsize);
	return DAT_SUCCESS;
}
