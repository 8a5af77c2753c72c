/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of the collectives: checks their arguments and starts the operation.
 *
 * The number of a wrong argument is its position in the macro of dat_ib_collectives.h.
 */
#include "base/cancel.h"
#include "base/dat_error.h"
#include "coll/coll.h"
#include "coll/coll_sched.h"

#define BAD(n) DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define FLAGS \
	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
	 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define NO_MEMORY DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

/* Arguments that all operations have at the end. */
struct tail {
	DAT_CONTEXT context;
	DAT_COMPLETION_FLAGS flags;
};

#define TAIL(args) \
	{ \
		.context = va_arg(args, DAT_CONTEXT), .flags = va_arg(args, DAT_COMPLETION_FLAGS) \
	}

static bool call_flags_ok(const struct tail *t)
{
	return !((unsigned int)t->flags & ~(unsigned int)FLAGS);
}

static struct coll_op *call_begin(struct coll_group *g, DAT_IB_EXT_TYPE type, const struct tail *t)
{
	return dofi_coll_op_new(g, type, t->context, t->flags);
}

/* True if no number of the array, one per member, is negative. */
static bool call_array_ok(const struct coll_group *g, const DAT_COUNT *array)
{
	for (uint32_t i = 0; array && i < g->size; i++)
		if (array[i] < 0)
			return false;
	return array;
}

static uint64_t call_total(const struct coll_group *g, const DAT_COUNT *sizes)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < g->size; i++)
		total += (uint64_t)sizes[i];
	return total;
}

static DAT_RETURN call_barrier(struct coll_group *g, va_list args)
{
	const struct tail t = TAIL(args);
	struct coll_op *op;

	if (!call_flags_ok(&t))
		return BAD(3);
	op = call_begin(g, DAT_IB_COLLECTIVE_BARRIER_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_barrier(op);
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_broadcast(struct coll_group *g, va_list args)
{
	char *buf = va_arg(args, void *);
	DAT_COUNT size = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	const struct tail t = TAIL(args);
	struct coll_op *op;

	if (size < 0)
		return BAD(3);
	if (size && !buf)
		return BAD(2);
	if (root >= g->size)
		return BAD(4);
	if (!call_flags_ok(&t))
		return BAD(6);
	op = call_begin(g, DAT_IB_COLLECTIVE_BROADCAST_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_broadcast(op, buf, (size_t)size, root);
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_scatter(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	const struct tail t = TAIL(args);
	DAT_COUNT block = recvsize;
	struct coll_op *op;

	if (root >= g->size)
		return BAD(6);
	if (!call_flags_ok(&t))
		return BAD(8);
	if (root == g->self) {
		if (sendsize < 0 || sendsize % (DAT_COUNT)g->size)
			return BAD(3);
		if (sendsize && !from)
			return BAD(2);
		block = sendsize / (DAT_COUNT)g->size;
		if (to && recvsize < block)
			return BAD(5);
	} else if (recvsize < 0) {
		return BAD(5);
	} else if (recvsize && !to) {
		return BAD(4);
	}
	op = call_begin(g, DAT_IB_COLLECTIVE_SCATTER_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_scatter(op, from, to, (size_t)block, root);
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_scatterv(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	const struct tail t = TAIL(args);
	struct coll_op *op;

	if (root >= g->size)
		return BAD(7);
	if (!call_flags_ok(&t))
		return BAD(9);
	if (root == g->self) {
		if (!call_array_ok(g, sizes))
			return BAD(3);
		if (!call_array_ok(g, displs))
			return BAD(4);
		if (call_total(g, sizes) && !from)
			return BAD(2);
		if (to && recvsize < sizes[root])
			return BAD(6);
	} else if (recvsize < 0) {
		return BAD(6);
	} else if (recvsize && !to) {
		return BAD(5);
	}
	op = call_begin(g, DAT_IB_COLLECTIVE_SCATTERV_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_scatterv(op, &(struct coll_parts){ from, sizes, displs }, to,
				 (size_t)recvsize, root);
	return dofi_coll_op_post(op);
}

/* Sizes of a gather where its result goes; without `from` the own block is there already. */
static DAT_RETURN call_gather_sizes(const struct coll_group *g, const void *from,
				    DAT_COUNT sendsize, const void *to, DAT_COUNT recvsize,
				    DAT_COUNT *block)
{
	*block = sendsize;
	if (recvsize < 0)
		return BAD(5);
	if (!from) {
		if (recvsize % (DAT_COUNT)g->size)
			return BAD(5);
		*block = recvsize / (DAT_COUNT)g->size;
	} else if (sendsize < 0) {
		return BAD(3);
	} else if ((uint64_t)recvsize < (uint64_t)sendsize * g->size) {
		return BAD(5);
	}
	return *block && !to ? BAD(4) : DAT_SUCCESS;
}

static DAT_RETURN call_gather(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT), block = sendsize;
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	const struct tail t = TAIL(args);
	DAT_RETURN ret = DAT_SUCCESS;
	struct coll_op *op;

	if (root >= g->size)
		return BAD(6);
	if (!call_flags_ok(&t))
		return BAD(8);
	if (root == g->self)
		ret = call_gather_sizes(g, from, sendsize, to, recvsize, &block);
	else if (sendsize < 0)
		ret = BAD(3);
	else if (sendsize && !from)
		ret = BAD(2);
	if (ret)
		return ret;
	op = call_begin(g, DAT_IB_COLLECTIVE_GATHER_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_gather(op, from, to, (size_t)block, root);
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_gatherv(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	const struct tail t = TAIL(args);
	struct coll_op *op;

	if (root >= g->size)
		return BAD(7);
	if (!call_flags_ok(&t))
		return BAD(9);
	if (root == g->self) {
		if (!call_array_ok(g, sizes))
			return BAD(5);
		if (!call_array_ok(g, displs))
			return BAD(6);
		if (call_total(g, sizes) && !to)
			return BAD(4);
		if (from && sendsize != sizes[root])
			return BAD(3);
	} else if (sendsize < 0) {
		return BAD(3);
	} else if (sendsize && !from) {
		return BAD(2);
	}
	op = call_begin(g, DAT_IB_COLLECTIVE_GATHERV_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_gatherv(op, from, (size_t)sendsize,
				&(struct coll_parts){ to, sizes, displs }, root);
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_allgather(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT), block;
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	const struct tail t = TAIL(args);
	DAT_RETURN ret;
	struct coll_op *op;

	if (!call_flags_ok(&t))
		return BAD(7);
	ret = call_gather_sizes(g, from, sendsize, to, recvsize, &block);
	if (ret)
		return ret;
	op = call_begin(g, DAT_IB_COLLECTIVE_ALLGATHER_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_allgather(op, from, to, (size_t)block);
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_allgatherv(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	const struct tail t = TAIL(args);
	struct coll_op *op;

	if (!call_flags_ok(&t))
		return BAD(8);
	if (!call_array_ok(g, sizes))
		return BAD(5);
	if (!call_array_ok(g, displs))
		return BAD(6);
	if (call_total(g, sizes) && !to)
		return BAD(4);
	if (from && sendsize != sizes[g->self])
		return BAD(3);
	op = call_begin(g, DAT_IB_COLLECTIVE_ALLGATHERV_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_allgatherv(op, from, &(struct coll_parts){ to, sizes, displs });
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_alltoall(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	const struct tail t = TAIL(args);
	struct coll_op *op;

	if (!call_flags_ok(&t))
		return BAD(7);
	if (sendsize < 0 || sendsize % (DAT_COUNT)g->size)
		return BAD(3);
	if (recvsize < sendsize)
		return BAD(5);
	if (sendsize && !from)
		return BAD(2);
	if (sendsize && !to)
		return BAD(4);
	op = call_begin(g, DAT_IB_COLLECTIVE_ALLTOALL_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_alltoall(op, from, to, (size_t)sendsize / g->size);
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_alltoallv(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT *sendsizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *senddispls = va_arg(args, DAT_COUNT *);
	char *to = va_arg(args, void *);
	DAT_COUNT *recvsizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *recvdispls = va_arg(args, DAT_COUNT *);
	const struct tail t = TAIL(args);
	struct coll_op *op;

	if (!call_flags_ok(&t))
		return BAD(9);
	if (!call_array_ok(g, sendsizes))
		return BAD(3);
	if (!call_array_ok(g, senddispls))
		return BAD(4);
	if (!call_array_ok(g, recvsizes) || recvsizes[g->self] != sendsizes[g->self])
		return BAD(6);
	if (!call_array_ok(g, recvdispls))
		return BAD(7);
	if (call_total(g, sendsizes) && !from)
		return BAD(2);
	if (call_total(g, recvsizes) && !to)
		return BAD(5);
	op = call_begin(g, DAT_IB_COLLECTIVE_ALLTOALLV_STATUS, &t);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_alltoallv(op, &(struct coll_parts){ from, sendsizes, senddispls },
				  &(struct coll_parts){ to, recvsizes, recvdispls });
	return dofi_coll_op_post(op);
}

/* ---- reductions ---- */

/* Operation and type, at the same positions in all of them. */
struct reduction {
	coll_reduce_fn *fn;
	size_t elem;
};

static DAT_RETURN call_reduction(int op, int type, struct reduction *r)
{
	if (op < 0 || op > DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC)
		return BAD(6);
	if (type < 0 || type > DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT)
		return BAD(7);
	r->fn = dofi_coll_reduction((DAT_IB_COLLECTIVE_REDUCE_DATA_OP)op,
				    (DAT_IB_COLLECTIVE_DATA_TYPE)type, &r->elem);
	return r->fn ? DAT_SUCCESS : BAD(7);
}

static struct coll_op *call_begin_reduction(struct coll_group *g, DAT_IB_EXT_TYPE type,
					    const struct tail *t, const struct reduction *r)
{
	struct coll_op *op = call_begin(g, type, t);

	if (op) {
		op->reduce = r->fn;
		op->elem = r->elem;
	}
	return op;
}

/* Sizes and buffer of a reduction where its result goes. */
static DAT_RETURN call_result(DAT_COUNT sendsize, const void *to, DAT_COUNT recvsize,
			      const struct reduction *r)
{
	if (sendsize < 0 || (size_t)sendsize % r->elem)
		return BAD(3);
	if (recvsize < sendsize)
		return BAD(5);
	return sendsize && !to ? BAD(4) : DAT_SUCCESS;
}

static DAT_RETURN call_reduce(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	int operation = va_arg(args, int), type = va_arg(args, int);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	const struct tail t = TAIL(args);
	struct reduction r;
	struct coll_op *op;
	DAT_RETURN ret = call_reduction(operation, type, &r);

	if (ret)
		return ret;
	if (root >= g->size)
		return BAD(8);
	if (!call_flags_ok(&t))
		return BAD(10);
	if (root == g->self)
		ret = call_result(sendsize, to, recvsize, &r);
	else if (sendsize < 0 || (size_t)sendsize % r.elem)
		ret = BAD(3);
	else if (sendsize && !from)
		ret = BAD(2);
	if (ret)
		return ret;
	op = call_begin_reduction(g, DAT_IB_COLLECTIVE_REDUCE_STATUS, &t, &r);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_reduce(op, from ? from : to, to, (size_t)sendsize, root);
	return dofi_coll_op_post(op);
}

/* allreduce and scan. */
static DAT_RETURN call_reduce_all(struct coll_group *g, bool scan, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	int operation = va_arg(args, int), type = va_arg(args, int);
	const struct tail t = TAIL(args);
	struct reduction r;
	struct coll_op *op;
	DAT_RETURN ret = call_reduction(operation, type, &r);

	if (!ret && !call_flags_ok(&t))
		ret = BAD(9);
	if (!ret)
		ret = call_result(sendsize, to, recvsize, &r);
	if (ret)
		return ret;
	op = call_begin_reduction(
		g, scan ? DAT_IB_COLLECTIVE_SCAN_STATUS : DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, &t,
		&r);
	if (!op)
		return NO_MEMORY;
	if (scan)
		dofi_coll_build_scan(op, from ? from : to, to, (size_t)sendsize);
	else
		dofi_coll_build_allreduce(op, from ? from : to, to, (size_t)sendsize);
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_reduce_scatter(struct coll_group *g, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	int operation = va_arg(args, int), type = va_arg(args, int);
	const struct tail t = TAIL(args);
	struct reduction r;
	struct coll_op *op;
	DAT_RETURN ret = call_reduction(operation, type, &r);

	if (ret)
		return ret;
	if (!call_flags_ok(&t))
		return BAD(9);
	if (!call_array_ok(g, sizes))
		return BAD(5);
	for (uint32_t i = 0; i < g->size; i++)
		if ((size_t)sizes[i] % r.elem)
			return BAD(5);
	if (sendsize < 0 || call_total(g, sizes) != (uint64_t)sendsize)
		return BAD(3);
	if (sendsize && !from)
		return BAD(2);
	if (sizes[g->self] && !to)
		return BAD(4);
	op = call_begin_reduction(g, DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS, &t, &r);
	if (!op)
		return NO_MEMORY;
	dofi_coll_build_reduce_scatter(op, from, to, sizes, (size_t)sendsize);
	return dofi_coll_op_post(op);
}

/* ---- clock ---- */

/* One member sets the clock of all: it sends them the time, and then how long that took. */
static DAT_RETURN call_set_clock(struct coll_group *g, va_list args)
{
	uint64_t value = va_arg(args, DAT_UINT64), now = dofi_now();
	const struct tail t = { .context = va_arg(args, DAT_CONTEXT) };
	struct coll_op *op = call_begin(g, DAT_IB_COLLECTIVE_CLOCK_SET_STATUS, &t);

	if (!op)
		return NO_MEMORY;
	op->value = value;
	op->before = now;
	for (uint32_t adjust = 0; adjust < 2; adjust++) {
		for (uint32_t i = 0; i < g->size; i++)
			if (i != g->self)
				dofi_coll_clock(op, i, adjust);
		dofi_coll_round(op);
	}
	g->clock_start = now - value;
	return dofi_coll_op_post(op);
}

static DAT_RETURN call_read_clock(struct coll_group *g, va_list args)
{
	DAT_UINT64 *value = va_arg(args, DAT_UINT64 *);

	if (!value)
		return BAD(2);
	*value = dofi_now() - g->clock_start;
	return DAT_SUCCESS;
}

/* ---- dispatch ---- */

static DAT_RETURN call_group_op(struct coll_group *g, DAT_EXTENDED_OP op, va_list args)
{
	switch ((int)op) {
	case DAT_IB_COLLECTIVE_SET_CLOCK_OP:
		return call_set_clock(g, args);
	case DAT_IB_COLLECTIVE_READ_CLOCK_OP:
		return call_read_clock(g, args);
	case DAT_IB_COLLECTIVE_SCATTER_OP:
		return call_scatter(g, args);
	case DAT_IB_COLLECTIVE_SCATTERV_OP:
		return call_scatterv(g, args);
	case DAT_IB_COLLECTIVE_GATHER_OP:
		return call_gather(g, args);
	case DAT_IB_COLLECTIVE_GATHERV_OP:
		return call_gatherv(g, args);
	case DAT_IB_COLLECTIVE_ALLGATHER_OP:
		return call_allgather(g, args);
	case DAT_IB_COLLECTIVE_ALLGATHERV_OP:
		return call_allgatherv(g, args);
	case DAT_IB_COLLECTIVE_ALLTOALL_OP:
		return call_alltoall(g, args);
	case DAT_IB_COLLECTIVE_ALLTOALLV_OP:
		return call_alltoallv(g, args);
	case DAT_IB_COLLECTIVE_REDUCE_OP:
		return call_reduce(g, args);
	case DAT_IB_COLLECTIVE_ALLREDUCE_OP:
		return call_reduce_all(g, false, args);
	case DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP:
		return call_reduce_scatter(g, args);
	case DAT_IB_COLLECTIVE_SCAN_OP:
		return call_reduce_all(g, true, args);
	case DAT_IB_COLLECTIVE_BROADCAST_OP:
		return call_broadcast(g, args);
	default:
		return call_barrier(g, args);
	}
}

static DAT_RETURN call_on_group(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	struct dofi_coll_handle *h = (struct dofi_coll_handle *)dofi_obj_check(
		handle, DOFI_HANDLE_TYPE_COLLECTIVE, NULL);
	DAT_RETURN ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	struct dofi_coll *coll;

	if (!h)
		return ret;
	if ((int)op == DAT_IB_COLLECTIVE_FREE_GROUP_OP)
		return dofi_coll_free_group(h);
	coll = h->obj.ia->coll;
	pthread_mutex_lock(&coll->lock);
	if (dofi_obj_live(h, DOFI_HANDLE_TYPE_COLLECTIVE))
		ret = call_group_op(h->group, op, args);
	dofi_coll_unlock(coll);
	return ret;
}

static DAT_RETURN call_create_member(DAT_HANDLE handle, va_list args)
{
	struct dofi_ia *ia = (struct dofi_ia *)dofi_obj_check(handle, DAT_HANDLE_TYPE_IA, NULL);
	void *progress = va_arg(args, void *);
	DAT_IB_COLLECTIVE_MEMBER *member = va_arg(args, DAT_IB_COLLECTIVE_MEMBER *);
	DAT_COUNT *size = va_arg(args, DAT_COUNT *);

	(void)progress; /* no call blocks: there is nothing to call it from */
	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!member)
		return BAD(3);
	if (!size)
		return BAD(4);
	return dofi_coll_create_member(ia, member, size);
}

static DAT_RETURN call_free_member(DAT_HANDLE handle, va_list args)
{
	struct dofi_ia *ia = (struct dofi_ia *)dofi_obj_check(handle, DAT_HANDLE_TYPE_IA, NULL);

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return dofi_coll_free_member(ia, va_arg(args, DAT_IB_COLLECTIVE_MEMBER));
}

static bool call_info_ok(const DAT_IB_COLLECTIVE_GROUP *info, DAT_COUNT size)
{
	return !info || (info->local_size >= 0 && info->local_size <= size &&
			 info->local_rank >= 0 && info->local_rank <= info->local_size);
}

static DAT_RETURN call_create_group(DAT_HANDLE handle, va_list args)
{
	struct dofi_evd *evd = (struct dofi_evd *)dofi_obj_check(handle, DAT_HANDLE_TYPE_EVD, NULL);
	struct coll_group_args a;

	a.members = va_arg(args, DAT_IB_COLLECTIVE_MEMBER *);
	a.size = va_arg(args, DAT_COUNT);
	a.self = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	a.id = va_arg(args, DAT_IB_COLLECTIVE_ID);
	a.info = va_arg(args, DAT_IB_COLLECTIVE_GROUP *);
	a.pz = va_arg(args, DAT_PZ_HANDLE);
	a.context = va_arg(args, DAT_CONTEXT);
	if (!evd || !(evd->flags & DOFI_EVD_EXTENSION))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE6);
	if (!dofi_obj_check(a.pz, DAT_HANDLE_TYPE_PZ, evd->obj.ia))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!a.members)
		return BAD(1);
	if (a.size < 1 || (uint32_t)a.size > COLL_MAX_SIZE)
		return BAD(2);
	if (a.self >= (uint32_t)a.size)
		return BAD(3);
	if (!call_info_ok(a.info, a.size))
		return BAD(5);
	return dofi_coll_create_group(evd, &a);
}

bool dofi_coll_has(DAT_EXTENDED_OP op)
{
	return (int)op >= DAT_IB_COLLECTIVE_CREATE_MEMBER_OP &&
	       (int)op <= DAT_IB_COLLECTIVE_BARRIER_OP;
}

DAT_RETURN dofi_coll_call(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DOFI_NO_CANCEL();
	switch ((int)op) {
	case DAT_IB_COLLECTIVE_CREATE_MEMBER_OP:
		return call_create_member(handle, args);
	case DAT_IB_COLLECTIVE_FREE_MEMBER_OP:
		return call_free_member(handle, args);
	case DAT_IB_COLLECTIVE_CREATE_GROUP_OP:
		return call_create_group(handle, args);
	default:
		return call_on_group(handle, op, args);
	}
}
