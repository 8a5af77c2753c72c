/* SPDX-License-Identifier: BSD-2-Clause */
/* An adapter is closed abruptly while other threads are inside calls of collectives. */
#include "coll_rig.h"

#define ROUNDS 8
#define RANKS 2
#define THREADS 5

struct race {
	struct crew crew;
	_Atomic unsigned int ids; /* of groups */
	_Atomic unsigned int calls;
};

static bool has_ended(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE || DAT_GET_TYPE(ret) == DAT_ABORT;
}

/* Returns false once the IA is closed. */
static bool take_group(struct race *r, const struct mate *m, DAT_HANDLE *group)
{
	DAT_IB_EXTENSION_EVENT_DATA x;
	DAT_COUNT more;
	DAT_EVENT ev;
	DAT_RETURN ret = dat_evd_wait(m->evd, 20000, 1, &ev, &more);

	*group = DAT_HANDLE_NULL;
	r->calls++;
	if (ret)
		return !has_ended(ret);
	memcpy(&x, ev.event_extension_data, sizeof(x));
	if (x.type == DAT_IB_COLLECTIVE_CREATE_DATA)
		*group = x.coll.handle;
	return true;
}

static void make_groups(void *arg)
{
	struct race *r = arg;
	DAT_HANDLE group[RANKS];
	bool more = true;

	while (more) {
		unsigned int id = ++r->ids;

		for (unsigned int i = 0; i < RANKS; i++)
			if (has_ended(crew_create(&r->crew, i, id, 1)))
				return;
		for (unsigned int i = 0; i < RANKS && more; i++)
			more = take_group(r, &r->crew.mate[i], &group[i]);
		for (unsigned int i = 0; i < RANKS && more; i++)
			if (group[i])
				(void)dat_ib_collective_free_group(group[i]);
	}
}

static void make_members(void *arg)
{
	DAT_IB_COLLECTIVE_MEMBER member;
	struct race *r = arg;
	DAT_COUNT size;

	while (!dat_ib_collective_create_member(r->crew.node[0].ia, NULL, &member, &size)) {
		r->calls++;
		if (has_ended(dat_ib_collective_free_member(r->crew.node[0].ia, member)))
			return;
	}
}

static void operate(void *arg)
{
	struct race *r = arg;
	DAT_RETURN ret = DAT_SUCCESS;

	for (unsigned int i = 0; !has_ended(ret); i++) {
		ret = dat_ib_collective_barrier(r->crew.mate[i % RANKS].group, ctx(i),
						DAT_COMPLETION_DEFAULT_FLAG);
		r->calls++;
	}
}

static void poll_events(void *arg)
{
	struct race *r = arg;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT ev;

	while (!has_ended(ret)) {
		ret = dat_evd_dequeue(r->crew.mate[0].evd, &ev);
		r->calls++;
	}
}

TEST_LIMIT(coll_close, abrupt_while_others_call, 120)
{
	static void (*const does[THREADS])(void *) = { make_groups, make_groups, make_members,
						       operate, poll_events };
	struct dt_thread t[THREADS];
	struct race r = { 0 };

	for (unsigned int round = 0; round < ROUNDS; round++) {
		crew_up(&r.crew, RANKS, 1);
		r.ids = 10;
		r.calls = 0;
		for (int i = 0; i < THREADS; i++)
			dt_thread_start(&t[i], does[i], &r);
		DT_UNTIL(r.calls > 50 * round, US_EVENT);
		OK(dat_ia_close(r.crew.node[0].ia, DAT_CLOSE_ABRUPT_FLAG));
		for (int i = 0; i < THREADS; i++)
			dt_thread_join(&t[i]);
	}
}
