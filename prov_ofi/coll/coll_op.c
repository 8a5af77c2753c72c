/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations: their execution by rounds, completion, memory. */
#include <stdlib.h>
#include <string.h>

#include "coll/coll_int.h"

/* Memory of an operation that is kept for the next one. */
#define KEEP_TMP 65536u

void dofi_coll_report(struct coll_group *g, DAT_IB_EXT_TYPE type, DAT_IB_STATUS status,
		      DAT_HANDLE handle, DAT_CONTEXT context, bool notify)
{
	struct dofi_event e = { .number = (DAT_EVENT_NUMBER)DAT_IB_COLLECTIVE_EVENT,
				.notify = notify };
	const struct dofi_coll_event data = {
		.context = context, .handle = handle, .type = type, .status = status
	};

	_Static_assert(sizeof(data) <= sizeof(e.data), "has to fit");
	memcpy(&e.data, &data, sizeof(data));
	/* Memory for it was reserved when the operation was posted. */
	dofi_evd_push_reserved(g->evd, &e);
	g->member->coll->reported = true;
}

struct coll_op *dofi_coll_op_new(struct coll_group *g, DAT_IB_EXT_TYPE type)
{
	struct coll_op *op = g->spare;

	if (op)
		g->spare = op->next;
	else
		op = calloc(1, sizeof(*op));
	if (!op)
		return NULL;
	op->next = NULL;
	op->group = g;
	op->type = type;
	op->suppressed = op->unsignalled = op->no_memory = false;
	op->count = op->at = op->pending = 0;
	op->regions = 0;
	op->reduce = NULL;
	op->elem = 1;
	return op;
}

void dofi_coll_op_release(struct coll_op *op)
{
	struct coll_group *g = op->group;

	for (unsigned int i = 0; i < op->regions; i++)
		if (op->region[i].lmr)
			dofi_lmr_free(op->region[i].lmr);
	op->regions = 0;
	if (op->tmp_capacity > KEEP_TMP) {
		free(op->tmp);
		op->tmp = NULL;
		op->tmp_capacity = 0;
	}
	op->next = g->spare;
	g->spare = op;
}

static void op_complete(struct coll_op *op, DAT_IB_STATUS status)
{
	struct coll_group *g = op->group;

	if (status || !op->suppressed)
		dofi_coll_report(g, op->type, status, g->handle, op->context,
				 status || !op->unsignalled);
	else
		dofi_evd_unreserve(g->evd);
	dofi_coll_op_release(op);
}

static void op_start_step(struct coll_op *op, struct coll_step *step)
{
	switch (step->kind) {
	case COLL_COPY:
		if (step->buf != step->src && step->len)
			memmove(step->buf, step->src, step->len);
		break;
	case COLL_REDUCE:
		op->reduce(step->buf, step->src, step->len / op->elem);
		break;
	default:
		op->pending++;
		step->op = op;
		dofi_coll_peer_add(&op->group->peers[step->rank], step);
		break;
	}
}

/* Starts the next round. False: there is none. */
static bool op_next_round(struct coll_op *op)
{
	if (op->at == op->count)
		return false;
	while (op->at < op->count && !op->group->cause) {
		struct coll_step *step = &op->steps[op->at++];

		if (step->kind == COLL_ROUND)
			break;
		op_start_step(op, step);
	}
	return true;
}

void dofi_coll_ops_advance(struct coll_group *g)
{
	struct coll_op *op;

	while (!g->cause && (op = g->first) && !op->pending) {
		if (op_next_round(op))
			continue;
		g->first = op->next;
		if (!g->first)
			g->last = &g->first;
		op_complete(op, DAT_OP_SUCCESS);
	}
}

void dofi_coll_ops_fail(struct coll_group *g)
{
	struct coll_op *op;

	while ((op = g->first)) {
		g->first = op->next;
		op_complete(op, DAT_IB_COLL_COMP_ERR);
	}
	g->last = &g->first;
}

void dofi_coll_ops_free(struct coll_group *g)
{
	struct coll_op *op;

	while ((op = g->spare)) {
		g->spare = op->next;
		free(op->steps);
		free(op->tmp);
		free(op);
	}
}
