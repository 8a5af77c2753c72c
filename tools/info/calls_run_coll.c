/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The collectives of the InfiniBand extension, between two members of this process, as a part of
 * dat_info --calls. 2.0 only.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "calls_run_ib.h"

#define MEMBERS 2
#define QLEN 8
#define GROUP_ID 1
#define ROOT 0u

/* The memory of a member: one part for each of them. */
#define PART ((DAT_COUNT)sizeof(int32_t))
#define ALL ((DAT_COUNT)(MEMBERS * sizeof(int32_t)))

struct member {
	DAT_IB_COLLECTIVE_MEMBER member;
	DAT_IB_COLLECTIVE_HANDLE group;
	DAT_EVD_HANDLE evd;
	int32_t in[MEMBERS], out[MEMBERS];
};

static struct member members[MEMBERS];
static DAT_COUNT sizes[MEMBERS] = { PART, PART }, displs[MEMBERS] = { 0, PART };

static DAT_CONTEXT context_of(uint64_t value)
{
	DAT_CONTEXT context = { .as_64 = value };

	return context;
}

/* Waits for the event of a collective; false unless it has this type and success. */
static bool coll_event(struct member *m, DAT_IB_EXT_TYPE type)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT event;

	if (!info_run_event(m->evd, DAT_IB_COLLECTIVE_EVENT, &event))
		return false;
	memcpy(&ext, event.event_extension_data, sizeof(ext));
	if (type == DAT_IB_COLLECTIVE_CREATE_DATA)
		m->group = ext.coll.handle;
	if (ext.type == type && ext.status == DAT_OP_SUCCESS)
		return true;
	snprintf(info_run.why, sizeof(info_run.why), "completed with type %d, status %d",
		 (int)ext.type, (int)ext.status);
	return false;
}

/* Makes the call for each member, then waits for the events. */
#define ALL_MEMBERS(name, type, ...) \
	do { \
		DAT_RETURN ret_ = DAT_SUCCESS; \
		bool came_ = true; \
\
		for (unsigned int i = 0; i < MEMBERS && ret_ == DAT_SUCCESS; i++) { \
			struct member *m = &members[i]; \
\
			ret_ = dat_ib_collective_##name(m->group, __VA_ARGS__); \
		} \
		for (unsigned int i = 0; i < MEMBERS && ret_ == DAT_SUCCESS && came_; i++) \
			came_ = coll_event(&members[i], DAT_IB_COLLECTIVE_##type##_STATUS); \
		info_run_effect("dat_ib_collective_" #name, NULL, ret_, came_); \
	} while (0)

#define LAST context_of(1), DAT_COMPLETION_DEFAULT_FLAG
#define SUM (int)DAT_IB_COLLECTIVE_REDUCE_OP_SUM, (int)DAT_IB_COLLECTIVE_TYPE_INT32

static void run_operations(void)
{
	ALL_MEMBERS(barrier, BARRIER, LAST);
	ALL_MEMBERS(broadcast, BROADCAST, m->in, ALL, ROOT, LAST);
	ALL_MEMBERS(scatter, SCATTER, m->in, ALL, m->out, PART, ROOT, LAST);
	ALL_MEMBERS(scatterv, SCATTERV, m->in, sizes, displs, m->out, PART, ROOT, LAST);
	ALL_MEMBERS(gather, GATHER, m->in, PART, m->out, ALL, ROOT, LAST);
	ALL_MEMBERS(gatherv, GATHERV, m->in, PART, m->out, sizes, displs, ROOT, LAST);
	ALL_MEMBERS(allgather, ALLGATHER, m->in, PART, m->out, ALL, LAST);
	ALL_MEMBERS(allgatherv, ALLGATHERV, m->in, PART, m->out, sizes, displs, LAST);
	ALL_MEMBERS(alltoall, ALLTOALL, m->in, ALL, m->out, ALL, LAST);
	ALL_MEMBERS(alltoallv, ALLTOALLV, m->in, sizes, displs, m->out, sizes, displs, LAST);
	ALL_MEMBERS(reduce, REDUCE, m->in, ALL, m->out, ALL, SUM, ROOT, LAST);
	ALL_MEMBERS(allreduce, ALLREDUCE, m->in, ALL, m->out, ALL, SUM, LAST);
	ALL_MEMBERS(reduce_scatter, REDUCE_SCATTER, m->in, ALL, m->out, sizes, SUM, LAST);
	ALL_MEMBERS(scan, SCAN, m->in, ALL, m->out, ALL, SUM, LAST);
}

static void run_clock(void)
{
	DAT_UINT64 value;
	DAT_RETURN ret = dat_ib_collective_set_clock(members[0].group, 1, context_of(2));

	info_run_effect("dat_ib_collective_set_clock", NULL, ret,
			ret == DAT_SUCCESS &&
				coll_event(&members[0], DAT_IB_COLLECTIVE_CLOCK_SET_STATUS));
	TRY_IB(dat_ib_collective_read_clock, members[1].group, &value);
}

static bool make_members(void)
{
	DAT_COUNT size;
	bool ok = true;

	for (unsigned int i = 0; i < MEMBERS && ok; i++) {
		struct member *m = &members[i];

		ok = TRY(dat_evd_create, info_run.ia, QLEN, DAT_HANDLE_NULL,
			 (DAT_EVD_FLAGS)DAT_IB_EVD_EXTENSION_FLAG, &m->evd) &&
		     TRY_IB(dat_ib_collective_create_member, info_run.ia, NULL, &m->member, &size);
	}
	return ok;
}

static bool make_group(void)
{
	DAT_IB_COLLECTIVE_MEMBER all[MEMBERS];
	DAT_RETURN ret = DAT_SUCCESS;
	bool came = true;

	for (unsigned int i = 0; i < MEMBERS; i++)
		all[i] = members[i].member;
	for (unsigned int i = 0; i < MEMBERS && ret == DAT_SUCCESS; i++)
		ret = dat_ib_collective_create_group(all, (DAT_COUNT)MEMBERS, i, GROUP_ID, NULL,
						     members[i].evd, info_run.pz, context_of(3));
	for (unsigned int i = 0; i < MEMBERS && ret == DAT_SUCCESS && came; i++)
		came = coll_event(&members[i], DAT_IB_COLLECTIVE_CREATE_DATA);
	return info_run_effect("dat_ib_collective_create_group", NULL, ret, came);
}

void info_run_collectives(void)
{
	if (make_members() && make_group()) {
		run_operations();
		run_clock();
	}
	for (unsigned int i = 0; i < MEMBERS; i++) {
		struct member *m = &members[i];

		if (m->group)
			TRY_IB(dat_ib_collective_free_group, m->group);
		if (m->member)
			TRY_IB(dat_ib_collective_free_member, info_run.ia, m->member);
		if (m->evd)
			TRY(dat_evd_free, m->evd);
	}
}
