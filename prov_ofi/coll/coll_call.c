/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of the collectives: finds the group of an operation and starts it; clock; members and
 * groups. */
#include "base/cancel.h"
#include "coll/coll.h"
#include "coll/coll_args.h"

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
		return COLL_BAD(2);
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
	CALL(SCATTER, dofi_coll_args_scatter),
	CALL(SCATTERV, dofi_coll_args_scatterv),
	CALL(GATHER, dofi_coll_args_gather),
	CALL(GATHERV, dofi_coll_args_gatherv),
	CALL(ALLGATHER, dofi_coll_args_allgather),
	CALL(ALLGATHERV, dofi_coll_args_allgatherv),
	CALL(ALLTOALL, dofi_coll_args_alltoall),
	CALL(ALLTOALLV, dofi_coll_args_alltoallv),
	CALL(REDUCE, dofi_coll_args_reduce),
	CALL(ALLREDUCE, dofi_coll_args_reduce_all),
	CALL(REDUCE_SCATTER, dofi_coll_args_reduce_scatter),
	CALL(SCAN, dofi_coll_args_reduce_all),
	CALL(BROADCAST, dofi_coll_args_broadcast),
	CALL(BARRIER, dofi_coll_args_barrier),
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
	struct dofi_ia *ia;

	if (!h)
		return ret;
	ia = dofi_obj_ia(&h->obj);
	if (!dofi_coll_enter(ia))
		return ret;
	coll = ia->coll;
	pthread_mutex_lock(&coll->lock);
	if (dofi_obj_remains(&h->obj, ia))
		ret = call_group_op(h->group, op, args);
	dofi_coll_unlock(coll);
	dofi_coll_leave(ia);
	return ret;
}

static DAT_RETURN call_free_group(struct dofi_ia *ia, DAT_HANDLE handle)
{
	struct dofi_coll_handle *h =
		(struct dofi_coll_handle *)dofi_obj_check(handle, DOFI_HANDLE_TYPE_COLLECTIVE, ia);

	return h ? dofi_coll_free_group(ia, h) : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

static DAT_RETURN call_create_member(DAT_HANDLE handle, va_list args)
{
	struct dofi_ia *ia = (struct dofi_ia *)dofi_obj_check(handle, DAT_HANDLE_TYPE_IA, NULL);
	struct dofi_coll *coll;
	void *progress = va_arg(args, void *);
	DAT_IB_COLLECTIVE_MEMBER *member = va_arg(args, DAT_IB_COLLECTIVE_MEMBER *);
	DAT_COUNT *size = va_arg(args, DAT_COUNT *);

	(void)progress; /* no call blocks: there is nothing to call it from */
	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!member)
		return COLL_BAD(3);
	if (!size)
		return COLL_BAD(4);
	coll = dofi_coll_of(ia);
	if (!coll)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	return dofi_coll_create_member(coll, member, size);
}

static DAT_RETURN call_free_member(DAT_HANDLE handle, va_list args)
{
	struct dofi_ia *ia = (struct dofi_ia *)dofi_obj_check(handle, DAT_HANDLE_TYPE_IA, NULL);
	struct dofi_coll *coll;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	coll = dofi_coll_opened(ia);
	return coll ? dofi_coll_free_member(coll, va_arg(args, DAT_IB_COLLECTIVE_MEMBER))
		    : COLL_BAD(2);
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
	struct dofi_coll *coll;

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
		return COLL_BAD(1);
	if (a.size < 1 || (uint32_t)a.size > COLL_MAX_SIZE)
		return COLL_BAD(2);
	if (a.self >= (uint32_t)a.size)
		return COLL_BAD(3);
	if (!call_info_ok(a.info, a.size))
		return COLL_BAD(5);
	coll = dofi_coll_of(evd->obj.ia);
	if (!coll)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	return dofi_coll_create_group(coll, evd, &a);
}

bool dofi_coll_has(DAT_EXTENDED_OP op)
{
	return (int)op >= DAT_IB_COLLECTIVE_CREATE_MEMBER_OP &&
	       (int)op <= DAT_IB_COLLECTIVE_BARRIER_OP;
}

/* Calls that create or free. */
static DAT_RETURN call_life(struct dofi_ia *ia, DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	switch ((int)op) {
	case DAT_IB_COLLECTIVE_CREATE_MEMBER_OP:
		return call_create_member(handle, args);
	case DAT_IB_COLLECTIVE_FREE_MEMBER_OP:
		return call_free_member(handle, args);
	case DAT_IB_COLLECTIVE_CREATE_GROUP_OP:
		return call_create_group(handle, args);
	default:
		return call_free_group(ia, handle);
	}
}

DAT_RETURN dofi_coll_call(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	bool uses = (int)op == DAT_IB_COLLECTIVE_CREATE_GROUP_OP;
	struct dofi_ia *ia;
	DAT_RETURN ret;

	DOFI_NO_CANCEL();
	if ((int)op > DAT_IB_COLLECTIVE_FREE_GROUP_OP)
		return call_on_group(handle, op, args);
	if (!dofi_ia_enter(handle, uses, &ia))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ret = call_life(ia, handle, op, args);
	dofi_ia_leave(ia, uses);
	return ret;
}
