/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of operations that move data. */
#include "coll/coll_args.h"

#define FLAGS \
	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
	 DAT_COMPLETION_BARRIER_FENCE_FLAG)

bool dofi_coll_args_tail(struct coll_op *op, va_list args)
{
	unsigned int flags;

	op->context = va_arg(args, DAT_CONTEXT);
	flags = (unsigned int)va_arg(args, DAT_COMPLETION_FLAGS);
	op->suppressed = flags & DAT_COMPLETION_SUPPRESS_FLAG;
	op->unsignalled = flags & DAT_COMPLETION_UNSIGNALLED_FLAG;
	return !(flags & ~(unsigned int)FLAGS);
}

bool dofi_coll_args_array_ok(const struct coll_group *g, const DAT_COUNT *array)
{
	for (uint32_t i = 0; array && i < g->size; i++)
		if (array[i] < 0)
			return false;
	return array;
}

uint64_t dofi_coll_args_total(const struct coll_group *g, const DAT_COUNT *sizes)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < g->size; i++)
		total += (uint64_t)sizes[i];
	return total;
}

DAT_RETURN dofi_coll_args_barrier(struct coll_op *op, va_list args)
{
	if (!dofi_coll_args_tail(op, args))
		return COLL_BAD(3);
	dofi_coll_build_barrier(op);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_broadcast(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *buf = va_arg(args, void *);
	DAT_COUNT size = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = dofi_coll_args_tail(op, args);

	if (size < 0)
		return COLL_BAD(3);
	if (size && !buf)
		return COLL_BAD(2);
	if (root >= g->size)
		return COLL_BAD(4);
	if (!flags_ok)
		return COLL_BAD(6);
	dofi_coll_build_broadcast(op, buf, (size_t)size, root);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_scatter(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = dofi_coll_args_tail(op, args);
	DAT_COUNT block = recvsize;

	if (root >= g->size)
		return COLL_BAD(6);
	if (!flags_ok)
		return COLL_BAD(8);
	if (root == g->self) {
		if (sendsize < 0 || sendsize % (DAT_COUNT)g->size)
			return COLL_BAD(3);
		if (sendsize && !from)
			return COLL_BAD(2);
		block = sendsize / (DAT_COUNT)g->size;
		if (to && recvsize < block)
			return COLL_BAD(5);
	} else if (recvsize < 0) {
		return COLL_BAD(5);
	} else if (recvsize && !to) {
		return COLL_BAD(4);
	}
	dofi_coll_build_scatter(op, from, to, (size_t)block, root);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_scatterv(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = dofi_coll_args_tail(op, args);

	if (root >= g->size)
		return COLL_BAD(7);
	if (!flags_ok)
		return COLL_BAD(9);
	if (root == g->self) {
		if (!dofi_coll_args_array_ok(g, sizes))
			return COLL_BAD(3);
		if (!dofi_coll_args_array_ok(g, displs))
			return COLL_BAD(4);
		if (dofi_coll_args_total(g, sizes) && !from)
			return COLL_BAD(2);
		if (to && recvsize < sizes[root])
			return COLL_BAD(6);
	} else if (recvsize < 0) {
		return COLL_BAD(6);
	} else if (recvsize && !to) {
		return COLL_BAD(5);
	}
	dofi_coll_build_scatterv(op, &(struct coll_parts){ from, sizes, displs }, to,
				 (size_t)recvsize, root);
	return DAT_SUCCESS;
}

/* Sizes of a gather where its result goes; without `from` the own block is there already. */
static DAT_RETURN args_gather_sizes(const struct coll_group *g, const void *from,
				    DAT_COUNT sendsize, const void *to, DAT_COUNT recvsize,
				    DAT_COUNT *block)
{
	*block = sendsize;
	if (recvsize < 0)
		return COLL_BAD(5);
	if (!from) {
		if (recvsize % (DAT_COUNT)g->size)
			return COLL_BAD(5);
		*block = recvsize / (DAT_COUNT)g->size;
	} else if (sendsize < 0) {
		return COLL_BAD(3);
	} else if ((uint64_t)recvsize < (uint64_t)sendsize * g->size) {
		return COLL_BAD(5);
	}
	return *block && !to ? COLL_BAD(4) : DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_gather(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT), block = sendsize;
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = dofi_coll_args_tail(op, args);
	DAT_RETURN ret = DAT_SUCCESS;

	if (root >= g->size)
		return COLL_BAD(6);
	if (!flags_ok)
		return COLL_BAD(8);
	if (root == g->self)
		ret = args_gather_sizes(g, from, sendsize, to, recvsize, &block);
	else if (sendsize < 0)
		ret = COLL_BAD(3);
	else if (sendsize && !from)
		ret = COLL_BAD(2);
	if (ret)
		return ret;
	dofi_coll_build_gather(op, from, to, (size_t)block, root);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_gatherv(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = dofi_coll_args_tail(op, args);

	if (root >= g->size)
		return COLL_BAD(7);
	if (!flags_ok)
		return COLL_BAD(9);
	if (root == g->self) {
		if (!dofi_coll_args_array_ok(g, sizes))
			return COLL_BAD(5);
		if (!dofi_coll_args_array_ok(g, displs))
			return COLL_BAD(6);
		if (dofi_coll_args_total(g, sizes) && !to)
			return COLL_BAD(4);
		if (from && sendsize != sizes[root])
			return COLL_BAD(3);
	} else if (sendsize < 0) {
		return COLL_BAD(3);
	} else if (sendsize && !from) {
		return COLL_BAD(2);
	}
	dofi_coll_build_gatherv(op, from, (size_t)sendsize,
				&(struct coll_parts){ to, sizes, displs }, root);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_allgather(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT), block;
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	bool flags_ok = dofi_coll_args_tail(op, args);
	DAT_RETURN ret;

	if (!flags_ok)
		return COLL_BAD(7);
	ret = args_gather_sizes(g, from, sendsize, to, recvsize, &block);
	if (ret)
		return ret;
	dofi_coll_build_allgather(op, from, to, (size_t)block);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_allgatherv(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	bool flags_ok = dofi_coll_args_tail(op, args);

	if (!flags_ok)
		return COLL_BAD(8);
	if (!dofi_coll_args_array_ok(g, sizes))
		return COLL_BAD(5);
	if (!dofi_coll_args_array_ok(g, displs))
		return COLL_BAD(6);
	if (dofi_coll_args_total(g, sizes) && !to)
		return COLL_BAD(4);
	if (from && sendsize != sizes[g->self])
		return COLL_BAD(3);
	dofi_coll_build_allgatherv(op, from, &(struct coll_parts){ to, sizes, displs });
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_alltoall(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	bool flags_ok = dofi_coll_args_tail(op, args);

	if (!flags_ok)
		return COLL_BAD(7);
	if (sendsize < 0 || sendsize % (DAT_COUNT)g->size)
		return COLL_BAD(3);
	if (recvsize < sendsize)
		return COLL_BAD(5);
	if (sendsize && !from)
		return COLL_BAD(2);
	if (sendsize && !to)
		return COLL_BAD(4);
	dofi_coll_build_alltoall(op, from, to, (size_t)sendsize / g->size);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_coll_args_alltoallv(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT *sendsizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *senddispls = va_arg(args, DAT_COUNT *);
	char *to = va_arg(args, void *);
	DAT_COUNT *recvsizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *recvdispls = va_arg(args, DAT_COUNT *);
	bool flags_ok = dofi_coll_args_tail(op, args);

	if (!flags_ok)
		return COLL_BAD(9);
	if (!dofi_coll_args_array_ok(g, sendsizes))
		return COLL_BAD(3);
	if (!dofi_coll_args_array_ok(g, senddispls))
		return COLL_BAD(4);
	if (!dofi_coll_args_array_ok(g, recvsizes) || recvsizes[g->self] != sendsizes[g->self])
		return COLL_BAD(6);
	if (!dofi_coll_args_array_ok(g, recvdispls))
		return COLL_BAD(7);
	if (dofi_coll_args_total(g, sendsizes) && !from)
		return COLL_BAD(2);
	if (dofi_coll_args_total(g, recvsizes) && !to)
		return COLL_BAD(5);
	dofi_coll_build_alltoallv(op, &(struct coll_parts){ from, sendsizes, senddispls },
				  &(struct coll_parts){ to, recvsizes, recvdispls });
	return DAT_SUCCESS;
}
