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

/* Takes the arguments that all operations have at the end. False: bad flags. */
static bool call_take_tail(struct coll_op *op, va_list args)
{
	unsigned int flags;

	op->context = va_arg(args, DAT_CONTEXT);
	flags = (unsigned int)va_arg(args, DAT_COMPLETION_FLAGS);
	op->suppressed = flags & DAT_COMPLETION_SUPPRESS_FLAG;
	op->unsignalled = flags & DAT_COMPLETION_UNSIGNALLED_FLAG;
	return !(flags & ~(unsigned int)FLAGS);
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

static DAT_RETURN call_barrier(struct coll_op *op, va_list args)
{
	if (!call_take_tail(op, args))
		return BAD(3);
	dofi_coll_build_barrier(op);
	return DAT_SUCCESS;
}

static DAT_RETURN call_broadcast(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *buf = va_arg(args, void *);
	DAT_COUNT size = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = call_take_tail(op, args);

	if (size < 0)
		return BAD(3);
	if (size && !buf)
		return BAD(2);
	if (root >= g->size)
		return BAD(4);
	if (!flags_ok)
		return BAD(6);
	dofi_coll_build_broadcast(op, buf, (size_t)size, root);
	return DAT_SUCCESS;
}

static DAT_RETURN call_scatter(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = call_take_tail(op, args);
	DAT_COUNT block = recvsize;

	if (root >= g->size)
		return BAD(6);
	if (!flags_ok)
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
	dofi_coll_build_scatter(op, from, to, (size_t)block, root);
	return DAT_SUCCESS;
}

static DAT_RETURN call_scatterv(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = call_take_tail(op, args);

	if (root >= g->size)
		return BAD(7);
	if (!flags_ok)
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
	dofi_coll_build_scatterv(op, &(struct coll_parts){ from, sizes, displs }, to,
				 (size_t)recvsize, root);
	return DAT_SUCCESS;
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

static DAT_RETURN call_gather(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT), block = sendsize;
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = call_take_tail(op, args);
	DAT_RETURN ret = DAT_SUCCESS;

	if (root >= g->size)
		return BAD(6);
	if (!flags_ok)
		return BAD(8);
	if (root == g->self)
		ret = call_gather_sizes(g, from, sendsize, to, recvsize, &block);
	else if (sendsize < 0)
		ret = BAD(3);
	else if (sendsize && !from)
		ret = BAD(2);
	if (ret)
		return ret;
	dofi_coll_build_gather(op, from, to, (size_t)block, root);
	return DAT_SUCCESS;
}

static DAT_RETURN call_gatherv(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = call_take_tail(op, args);

	if (root >= g->size)
		return BAD(7);
	if (!flags_ok)
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
	dofi_coll_build_gatherv(op, from, (size_t)sendsize,
				&(struct coll_parts){ to, sizes, displs }, root);
	return DAT_SUCCESS;
}

static DAT_RETURN call_allgather(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT), block;
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	bool flags_ok = call_take_tail(op, args);
	DAT_RETURN ret;

	if (!flags_ok)
		return BAD(7);
	ret = call_gather_sizes(g, from, sendsize, to, recvsize, &block);
	if (ret)
		return ret;
	dofi_coll_build_allgather(op, from, to, (size_t)block);
	return DAT_SUCCESS;
}

static DAT_RETURN call_allgatherv(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *displs = va_arg(args, DAT_COUNT *);
	bool flags_ok = call_take_tail(op, args);

	if (!flags_ok)
		return BAD(8);
	if (!call_array_ok(g, sizes))
		return BAD(5);
	if (!call_array_ok(g, displs))
		return BAD(6);
	if (call_total(g, sizes) && !to)
		return BAD(4);
	if (from && sendsize != sizes[g->self])
		return BAD(3);
	dofi_coll_build_allgatherv(op, from, &(struct coll_parts){ to, sizes, displs });
	return DAT_SUCCESS;
}

static DAT_RETURN call_alltoall(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	bool flags_ok = call_take_tail(op, args);

	if (!flags_ok)
		return BAD(7);
	if (sendsize < 0 || sendsize % (DAT_COUNT)g->size)
		return BAD(3);
	if (recvsize < sendsize)
		return BAD(5);
	if (sendsize && !from)
		return BAD(2);
	if (sendsize && !to)
		return BAD(4);
	dofi_coll_build_alltoall(op, from, to, (size_t)sendsize / g->size);
	return DAT_SUCCESS;
}

static DAT_RETURN call_alltoallv(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT *sendsizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *senddispls = va_arg(args, DAT_COUNT *);
	char *to = va_arg(args, void *);
	DAT_COUNT *recvsizes = va_arg(args, DAT_COUNT *);
	DAT_COUNT *recvdispls = va_arg(args, DAT_COUNT *);
	bool flags_ok = call_take_tail(op, args);

	if (!flags_ok)
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
	dofi_coll_build_alltoallv(op, &(struct coll_parts){ from, sendsizes, senddispls },
				  &(struct coll_parts){ to, recvsizes, recvdispls });
	return DAT_SUCCESS;
}

/* ---- reductions ---- */

/* Operation and type are at the same positions in all of them. */
static DAT_RETURN call_set_reduction(struct coll_op *op, int operation, int type)
{
	if (operation < 0 || operation > DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC)
		return BAD(6);
	if (type < 0 || type > DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT)
		return BAD(7);
	op->reduce = dofi_coll_reduction((DAT_IB_COLLECTIVE_REDUCE_DATA_OP)operation,
					 (DAT_IB_COLLECTIVE_DATA_TYPE)type, &op->elem);
	return op->reduce ? DAT_SUCCESS : BAD(7);
}

/* Sizes and buffer of a reduction where its result goes. */
static DAT_RETURN call_result(const struct coll_op *op, DAT_COUNT sendsize, const void *to,
			      DAT_COUNT recvsize)
{
	if (sendsize < 0 || (size_t)sendsize % op->elem)
		return BAD(3);
	if (recvsize < sendsize)
		return BAD(5);
	return sendsize && !to ? BAD(4) : DAT_SUCCESS;
}

static DAT_RETURN call_reduce(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	int operation = va_arg(args, int), type = va_arg(args, int);
	DAT_IB_COLLECTIVE_RANK root = va_arg(args, DAT_IB_COLLECTIVE_RANK);
	bool flags_ok = call_take_tail(op, args);
	DAT_RETURN ret = call_set_reduction(op, operation, type);

	if (ret)
		return ret;
	if (root >= g->size)
		return BAD(8);
	if (!flags_ok)
		return BAD(10);
	if (root == g->self)
		ret = call_result(op, sendsize, to, recvsize);
	else if (sendsize < 0 || (size_t)sendsize % op->elem)
		ret = BAD(3);
	else if (sendsize && !from)
		ret = BAD(2);
	if (ret)
		return ret;
	dofi_coll_build_reduce(op, from ? from : to, to, (size_t)sendsize, root);
	return DAT_SUCCESS;
}

/* allreduce and scan. */
static DAT_RETURN call_reduce_all(struct coll_op *op, va_list args)
{
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT recvsize = va_arg(args, DAT_COUNT);
	int operation = va_arg(args, int), type = va_arg(args, int);
	bool flags_ok = call_take_tail(op, args);
	DAT_RETURN ret = call_set_reduction(op, operation, type);

	if (!ret && !flags_ok)
		ret = BAD(9);
	if (!ret)
		ret = call_result(op, sendsize, to, recvsize);
	if (ret)
		return ret;
	if (op->type == DAT_IB_COLLECTIVE_SCAN_STATUS)
		dofi_coll_build_scan(op, from ? from : to, to, (size_t)sendsize);
	else
		dofi_coll_build_allreduce(op, from ? from : to, to, (size_t)sendsize);
	return DAT_SUCCESS;
}

static DAT_RETURN call_reduce_scatter(struct coll_op *op, va_list args)
{
	const struct coll_group *g = op->group;
	char *from = va_arg(args, void *);
	DAT_COUNT sendsize = va_arg(args, DAT_COUNT);
	char *to = va_arg(args, void *);
	DAT_COUNT *sizes = va_arg(args, DAT_COUNT *);
	int operation = va_arg(args, int), type = va_arg(args, int);
	bool flags_ok = call_take_tail(op, args);
	DAT_RETURN ret = call_set_reduction(op, operation, type);

	if (ret)
		return ret;
	if (!flags_ok)
		return BAD(9);
	if (!call_array_ok(g, sizes))
		return BAD(5);
	for (uint32_t i = 0; i < g->size; i++)
		if ((size_t)sizes[i] % op->elem)
			return BAD(5);
	if (sendsize < 0 || call_total(g, sizes) != (uint64_t)sendsize)
		return BAD(3);
	if (sendsize && !from)
		return BAD(2);
	if (sizes[g->self] && !to)
		return BAD(4);
	dofi_coll_build_reduce_scatter(op, from, to, sizes, (size_t)sendsize);
	return DAT_SUCCESS;
}

/* ---- clock ---- */

/* One member sets the clock of all: it sends them the time, and then how long that took. */
static DAT_RETURN call_set_clock(struct coll_op *op, va_list args)
{
	struct coll_group *g = op->group;

	op->value = va_arg(args, DAT_UINT64);
	op->context = va_arg(args, DAT_CONTEXT);
	op->before = dofi_now();
	for (uint32_t adjust = 0; adjust < 2; adjust++) {
		for (uint32_t i = 0; i < g->size; i++)
			if (i != g->self)
				dofi_coll_clock(op, i, adjust);
		dofi_coll_round(op);
	}
	g->clock_start = op->before - op->value;
	return DAT_SUCCESS;
}

static DAT_RETURN call_read_clock(const struct coll_group *g, va_list args)
{
	DAT_UINT64 *value = va_arg(args, DAT_UINT64 *);

	if (!value)
		return BAD(2);
	*value = dofi_now() - g->clock_start;
	return DAT_SUCCESS;
}

/* ---- dispatch ---- */

/* Checks the arguments of an operation and builds its schedule. */
static const struct {
	DAT_RETURN (*build)(struct coll_op *op, va_list args);
	DAT_IB_EXT_TYPE type;
} calls[] = {
#define PLACE(name) [DAT_IB_COLLECTIVE_##name##_OP - DAT_IB_COLLECTIVE_SET_CLOCK_OP]
#define CALL(name, build) PLACE(name) = { build, DAT_IB_COLLECTIVE_##name##_STATUS }
	PLACE(SET_CLOCK) = { call_set_clock, DAT_IB_COLLECTIVE_CLOCK_SET_STATUS },
	CALL(SCATTER, call_scatter),
	CALL(SCATTERV, call_scatterv),
	CALL(GATHER, call_gather),
	CALL(GATHERV, call_gatherv),
	CALL(ALLGATHER, call_allgather),
	CALL(ALLGATHERV, call_allgatherv),
	CALL(ALLTOALL, call_alltoall),
	CALL(ALLTOALLV, call_alltoallv),
	CALL(REDUCE, call_reduce),
	CALL(ALLREDUCE, call_reduce_all),
	CALL(REDUCE_SCATTER, call_reduce_scatter),
	CALL(SCAN, call_reduce_all),
	CALL(BROADCAST, call_broadcast),
	CALL(BARRIER, call_barrier),
};

static DAT_RETURN call_group_op(struct coll_group *g, DAT_EXTENDED_OP number, va_list args)
{
	int place = (int)number - DAT_IB_COLLECTIVE_SET_CLOCK_OP;
	struct coll_op *op;
	DAT_RETURN ret;

	if ((int)number == DAT_IB_COLLECTIVE_READ_CLOCK_OP)
		return call_read_clock(g, args);
	op = dofi_coll_op_new(g, calls[place].type);
	if (!op)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ret = calls[place].build(op, args);
	if (!ret)
		return dofi_coll_op_post(op);
	dofi_coll_op_release(op);
	return ret;
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
