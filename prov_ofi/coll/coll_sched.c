/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds schedules: steps, rounds, temporary memory. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "coll/coll_sched.h"

#define STEPS_FIRST 32u

static struct coll_step *sched_add(struct coll_op *op, enum coll_step_kind kind)
{
	struct coll_step *step;

	if (!DOFI_TABLE_RESERVE(op->steps, op->capacity, op->count + 1, STEPS_FIRST, UINT32_MAX)) {
		op->no_memory = true;
		return NULL;
	}
	step = &op->steps[op->count++];
	memset(step, 0, sizeof(*step));
	step->kind = kind;
	return step;
}

static void sched_put(struct coll_op *op, enum coll_step_kind kind, uint32_t rank, char *buf,
		      const char *src, size_t len)
{
	struct coll_step *step = sched_add(op, kind);

	if (!step)
		return;
	step->rank = rank;
	step->buf = buf;
	step->src = src;
	step->len = len;
}

void dofi_coll_send(struct coll_op *op, uint32_t rank, const char *from, size_t len)
{
	sched_put(op, COLL_SEND, rank, NULL, from, len);
}

void dofi_coll_recv(struct coll_op *op, uint32_t rank, char *to, size_t len)
{
	sched_put(op, COLL_RECV, rank, to, NULL, len);
}

void dofi_coll_copy(struct coll_op *op, char *to, const char *from, size_t len)
{
	if (len && to != from)
		sched_put(op, COLL_COPY, 0, to, from, len);
}

void dofi_coll_combine(struct coll_op *op, char *to, const char *from, size_t len)
{
	if (len)
		sched_put(op, COLL_REDUCE, 0, to, from, len);
}

void dofi_coll_clock(struct coll_op *op, uint32_t rank, bool adjust)
{
	sched_put(op, adjust ? COLL_CLOCK_ADJUST : COLL_CLOCK_SET, rank, NULL, NULL, 0);
}

void dofi_coll_round(struct coll_op *op)
{
	if (op->count && op->steps[op->count - 1].kind != COLL_ROUND)
		sched_add(op, COLL_ROUND);
}

char *dofi_coll_tmp(struct coll_op *op, size_t len)
{
	if (len > op->tmp_capacity) {
		free(op->tmp);
		op->tmp = malloc(len);
		op->tmp_capacity = op->tmp ? len : 0;
		op->no_memory |= !op->tmp;
	}
	if (op->tmp)
		dofi_coll_region(op, op->tmp, len, true);
	return op->tmp;
}

void dofi_coll_region(struct coll_op *op, const void *base, size_t len, bool writable)
{
	if (!base || len <= op->group->eager || op->regions == COLL_REGIONS)
		return;
	op->region[op->regions++] =
		(struct coll_region){ .base = base, .len = len, .writable = writable };
}
