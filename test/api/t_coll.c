/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests collectives: members and groups, order, failure, arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "coll_rig.h"

#define BARRIER(c_, i_, context_) \
	dat_ib_collective_barrier((c_)->mate[i_].group, ctx(context_), DAT_COMPLETION_DEFAULT_FLAG)

/* ---- life ---- */

TEST(coll, an_ia_has_the_operations)
{
	static const char *const names[] = {
		DAT_IB_COLL_SET_CLOCK,  DAT_IB_COLL_READ_CLOCK, DAT_IB_COLL_BROADCAST,
		DAT_IB_COLL_BARRIER,    DAT_IB_COLL_SCATTER,    DAT_IB_COLL_SCATTERV,
		DAT_IB_COLL_GATHER,     DAT_IB_COLL_GATHERV,    DAT_IB_COLL_ALLGATHER,
		DAT_IB_COLL_ALLGATHERV, DAT_IB_COLL_ALLTOALL,   DAT_IB_COLL_ALLTOALLV,
		DAT_IB_COLL_REDUCE,     DAT_IB_COLL_ALLREDUCE,  DAT_IB_COLL_REDUCE_SCATTER,
		DAT_IB_COLL_SCAN,
	};
	struct node n;

	node_open(&n);
	ASSERT_EQ(n.attr.extension_supported, DAT_EXTENSION_IB);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = "absent";

		for (DAT_COUNT j = 0; j < n.prov.num_provider_specific_attr; j++)
			if (!strcmp(n.prov.provider_specific_attr[j].name, names[i]))
				value = n.prov.provider_specific_attr[j].value;
		if (strcmp(value, "TRUE"))
			FAIL("attribute %s is %s", names[i], value);
	}
	node_close(&n);
}

TEST_LIMIT(coll, groups_of_all_sizes, 60)
{
	for (unsigned int size = 1; size <= CREW_MOST; size++) {
		struct crew c;

		crew_up(&c, size, size < CREW_NODES ? size : CREW_NODES);
		for (unsigned int i = 0; i < size; i++)
			OK(BARRIER(&c, i, i));
		for (unsigned int i = 0; i < size; i++)
			ASSERT_PTR(EV_COLL(c.mate[i].evd, BARRIER_STATUS, i), c.mate[i].group);
		crew_down(&c);
	}
}

/* More requests than the library allocates at once: the next one would use the memory of a former
 * one. */
#define FORMER 40

static void rejected_requests(DAT_CR_HANDLE *former)
{
	struct pair p;

	pair_open(&p);
	for (unsigned int i = 0; i < FORMER; i++) {
		former[i] = pair_request(&p);
		OK(dat_cr_reject(former[i], 0, NULL));
		EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
		OK(dat_ep_reset(p.a.ep));
	}
	pair_close(&p);
}

static bool is_request(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;
	DAT_RETURN ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);

	if (ret)
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
	return !ret;
}

/* The request of the first member waits until the second creates the group, too. */
TEST(coll, a_former_request_is_not_that_of_a_member)
{
	DAT_CR_HANDLE former[FORMER];
	struct crew c;
	uint64_t end;

	rejected_requests(former);
	crew_open(&c, 2, 2);
	OK(crew_create(&c, 0, 1, 100));
	end = dt_now_us() + 4 * US_SHORT;
	while (dt_now_us() < end)
		for (unsigned int i = 0; i < FORMER; i++)
			ASSERT(!is_request(former[i]));
	OK(crew_create(&c, 1, 1, 101));
	for (unsigned int i = 0; i < 2; i++)
		c.mate[i].group = EV_COLL(c.mate[i].evd, CREATE_DATA, 100 + i);
	crew_down(&c);
}

TEST(coll, a_handle_is_a_group)
{
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT back;
	struct crew c;

	crew_up(&c, 2, 1);
	OK(dat_get_handle_type(c.mate[0].group, &type));
	ASSERT_EQ((int)type, DAT_IB_HANDLE_TYPE_COLLECTIVE);
	OK(dat_set_consumer_context(c.mate[0].group, ctx(77)));
	OK(dat_get_consumer_context(c.mate[0].group, &back));
	ASSERT_EQ(back.as_64, 77);
	crew_down(&c);
}

TEST(coll, objects_in_use_are_not_freed)
{
	struct crew c;

	crew_up(&c, 2, 2);
	BAD_STATE(dat_evd_free(c.mate[0].evd), EVD_IN_USE);
	BAD_STATE(dat_pz_free(c.mate[0].node->pz), PZ_IN_USE);
	ASSERT_RET(dat_ib_collective_free_member(c.mate[0].node->ia, c.mate[0].member),
		   DAT_INVALID_STATE, 0);
	BAD_STATE(dat_ia_close(c.mate[0].node->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(BARRIER(&c, 0, 1));
	OK(BARRIER(&c, 1, 1));
	EV_COLL(c.mate[0].evd, BARRIER_STATUS, 1);
	EV_COLL(c.mate[1].evd, BARRIER_STATUS, 1);
	crew_down(&c);
}

TEST(coll, an_abrupt_close_ends_groups)
{
	struct crew c;

	crew_up(&c, 3, 3);
	OK(BARRIER(&c, 1, 5));
	OK(dat_ia_close(c.node[0].ia, DAT_CLOSE_ABRUPT_FLAG));
	EV_COLL_FAILED(c.mate[1].evd, BARRIER_STATUS, 5);
	OK(BARRIER(&c, 2, 6));
	EV_COLL_FAILED(c.mate[2].evd, BARRIER_STATUS, 6);
	for (unsigned int i = 1; i < 3; i++)
		OK(dat_ia_close(c.node[i].ia, DAT_CLOSE_ABRUPT_FLAG));
}

TEST(coll, members_create_the_group_in_any_order)
{
	struct crew c;

	crew_open(&c, 5, 2);
	for (unsigned int i = 5; i-- > 1;) {
		OK(crew_create(&c, i, 9, i));
		EV_EMPTY(c.mate[i].evd);
	}
	OK(crew_create(&c, 0, 9, 0));
	for (unsigned int i = 0; i < 5; i++)
		c.mate[i].group = EV_COLL(c.mate[i].evd, CREATE_DATA, i);
	crew_down(&c);
}

TEST(coll, a_group_that_not_all_create_fails_in_time)
{
	struct crew c;

	setenv("DAPL_OFI_COLL_CREATE_MS", "300", 1);
	crew_open(&c, 3, 1);
	OK(crew_create(&c, 0, 9, 7));
	OK(crew_create(&c, 2, 9, 8));
	ASSERT(!EV_COLL_FAILED(c.mate[0].evd, CREATE_DATA, 7));
	ASSERT(!EV_COLL_FAILED(c.mate[2].evd, CREATE_DATA, 8));
	/* Another attempt with the same number. */
	crew_group(&c, 9);
	crew_down(&c);
}

TEST(coll, several_groups_of_the_same_members)
{
	DAT_IB_COLLECTIVE_HANDLE first[4];
	struct crew c;

	crew_up(&c, 4, 2);
	for (unsigned int i = 0; i < 4; i++)
		first[i] = c.mate[i].group;
	crew_group(&c, 2);
	for (unsigned int i = 0; i < 4; i++) {
		ASSERT(first[i] != c.mate[i].group);
		OK(dat_ib_collective_barrier(first[i], ctx(1), DAT_COMPLETION_DEFAULT_FLAG));
		if (i == 3)
			break;
		EV_EMPTY(c.mate[i].evd);
		OK(BARRIER(&c, i, 2));
	}
	for (unsigned int i = 0; i < 4; i++)
		ASSERT_PTR(EV_COLL(c.mate[i].evd, BARRIER_STATUS, 1), first[i]);
	OK(BARRIER(&c, 3, 2));
	for (unsigned int i = 0; i < 4; i++) {
		ASSERT_PTR(EV_COLL(c.mate[i].evd, BARRIER_STATUS, 2), c.mate[i].group);
		OK(dat_ib_collective_free_group(first[i]));
	}
	crew_down(&c);
}

/* ---- order and notification ---- */

TEST(coll, a_barrier_waits_for_the_last_member)
{
	struct crew c;

	crew_up(&c, 6, 2);
	for (unsigned int last = 0; last < 6; last++) {
		for (unsigned int i = 0; i < 6; i++)
			if (i != last)
				OK(BARRIER(&c, i, last));
		for (unsigned int i = 0; i < 6; i++)
			EV_EMPTY(c.mate[i].evd);
		EV_NONE(c.mate[(last + 1) % 6].evd);
		OK(BARRIER(&c, last, last));
		for (unsigned int i = 0; i < 6; i++)
			EV_COLL(c.mate[i].evd, BARRIER_STATUS, last);
	}
	crew_down(&c);
}

TEST(coll, operations_complete_in_order)
{
	uint32_t in[3][50], out[3][50];
	struct crew c;

	crew_up(&c, 3, 3);
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int k = 0; k < 50; k++) {
			in[i][k] = i + k;
			OK(dat_ib_collective_allreduce(c.mate[i].group, &in[i][k], 4, &out[i][k], 4,
						       DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
						       DAT_IB_COLLECTIVE_TYPE_UINT32, ctx(k),
						       DAT_COMPLETION_DEFAULT_FLAG));
		}
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int k = 0; k < 50; k++) {
			EV_COLL(c.mate[i].evd, ALLREDUCE_STATUS, k);
			ASSERT_EQ(out[i][k], 3 + 3 * k);
		}
	crew_down(&c);
}

TEST(coll, a_suppressed_completion_has_no_event)
{
	struct crew c;

	crew_up(&c, 2, 1);
	for (unsigned int i = 0; i < 2; i++) {
		OK(dat_ib_collective_barrier(c.mate[i].group, ctx(1),
					     DAT_COMPLETION_SUPPRESS_FLAG));
		OK(BARRIER(&c, i, 2));
	}
	for (unsigned int i = 0; i < 2; i++)
		EV_COLL(c.mate[i].evd, BARRIER_STATUS, 2);
	crew_down(&c);
}

TEST(coll, completions_go_to_a_CNO)
{
	DAT_OS_WAIT_PROXY_AGENT none = { NULL, NULL };
	DAT_EVD_HANDLE evd, by;
	DAT_CNO_HANDLE cno;
	struct crew c;

	crew_open(&c, 2, 1);
	OK(dat_cno_create(c.node[0].ia, none, &cno));
	evd = c.mate[0].evd;
	OK(dat_evd_modify_cno(evd, cno));
	for (unsigned int i = 0; i < 2; i++)
		OK(crew_create(&c, i, 1, i));
	OK(dat_cno_wait(cno, US_EVENT, &by));
	ASSERT_PTR(by, evd);
	for (unsigned int i = 0; i < 2; i++)
		c.mate[i].group = EV_COLL(c.mate[i].evd, CREATE_DATA, i);
	/* No thread polls any EVD meanwhile. */
	for (unsigned int i = 0; i < 2; i++)
		OK(BARRIER(&c, i, i));
	OK(dat_cno_wait(cno, US_EVENT, &by));
	ASSERT_PTR(by, evd);
	for (unsigned int i = 0; i < 2; i++)
		EV_COLL(c.mate[i].evd, BARRIER_STATUS, i);
	OK(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	OK(dat_cno_free(cno));
	crew_down(&c);
}

struct spinner {
	DAT_EVD_HANDLE evd;
	unsigned int rounds;
	DAT_IB_COLLECTIVE_HANDLE group;
};

/* Executes barriers, and polls for their events. */
static void spin_barriers(void *arg)
{
	struct spinner *s = arg;
	DAT_EVENT ev;

	for (unsigned int k = 0; k < s->rounds; k++) {
		uint64_t end = dt_now_us() + US_GROUP;
		DAT_RETURN ret;

		OK(dat_ib_collective_barrier(s->group, ctx(k), DAT_COMPLETION_DEFAULT_FLAG));
		while ((ret = dat_evd_dequeue(s->evd, &ev)) == DAT_QUEUE_EMPTY)
			ASSERT(dt_now_us() < end);
		OK(ret);
		ASSERT_EQ((int)ev.event_number, DAT_IB_COLLECTIVE_EVENT);
	}
}

TEST_LIMIT(coll, threads_drive_members_of_one_ia, 60)
{
	struct dt_thread t[4];
	struct spinner s[4];
	struct crew c;

	crew_up(&c, 4, 1);
	for (unsigned int i = 0; i < 4; i++) {
		s[i] = (struct spinner){ c.mate[i].evd, 60, c.mate[i].group };
		dt_thread_start(&t[i], spin_barriers, &s[i]);
	}
	for (unsigned int i = 0; i < 4; i++)
		dt_thread_join(&t[i]);
	crew_down(&c);
}

TEST(coll, an_evd_with_other_streams_reports_collectives)
{
	DAT_EVD_HANDLE evd;
	struct spinner s;
	struct crew c;

	crew_open(&c, 1, 1);
	evd = evd_make(&c.node[0], 8, DAT_EVD_DTO_FLAG | DAT_IB_EVD_EXTENSION_FLAG);
	OK(dat_ib_collective_create_group(c.members, 1, 0, 3, NULL, evd, c.node[0].pz, ctx(4)));
	s = (struct spinner){ evd, 10, EV_COLL(evd, CREATE_DATA, 4) };
	spin_barriers(&s);
	OK(dat_ib_collective_free_group(s.group));
	OK(dat_evd_free(evd));
	crew_close(&c);
}

/* ---- clock ---- */

static uint64_t clock_of(const struct mate *m)
{
	DAT_UINT64 value;

	OK(dat_ib_collective_read_clock(m->group, &value));
	return value;
}

TEST(coll, one_member_sets_the_clock_of_all)
{
	const uint64_t base = 5000000000000000u;
	struct crew c;

	crew_up(&c, 4, 4);
	for (unsigned int i = 0; i < 4; i++)
		ASSERT(clock_of(&c.mate[i]) < base);
	OK(dat_ib_collective_set_clock(c.mate[2].group, base, ctx(3)));
	EV_COLL(c.mate[2].evd, CLOCK_SET_STATUS, 3);
	for (unsigned int i = 0; i < 4; i++) {
		uint64_t mine = clock_of(&c.mate[2]), other = clock_of(&c.mate[i]);

		ASSERT(mine > base && mine < base + US_GROUP * 1000ull);
		/* Read after it, and at most a message's time behind. */
		ASSERT(other + 1000000000u > mine && other < mine + 1000000000u);
		EV_EMPTY(c.mate[i].evd);
	}
	/* Setting it is no operation of the others. */
	for (unsigned int i = 0; i < 4; i++)
		OK(BARRIER(&c, i, i));
	for (unsigned int i = 0; i < 4; i++)
		EV_COLL(c.mate[i].evd, BARRIER_STATUS, i);
	crew_down(&c);
}

/* ---- failure ---- */

TEST(coll, freeing_a_group_ends_its_operations)
{
	struct crew c;

	crew_up(&c, 3, 3);
	OK(BARRIER(&c, 0, 1));
	OK(BARRIER(&c, 0, 2));
	OK(BARRIER(&c, 1, 3));
	OK(dat_ib_collective_free_group(c.mate[0].group));
	EV_COLL_FAILED(c.mate[0].evd, BARRIER_STATUS, 1);
	EV_COLL_FAILED(c.mate[0].evd, BARRIER_STATUS, 2);
	/* The others notice, whether they execute something or not. */
	EV_COLL_FAILED(c.mate[1].evd, BARRIER_STATUS, 3);
	OK(BARRIER(&c, 2, 4));
	EV_COLL_FAILED(c.mate[2].evd, BARRIER_STATUS, 4);
	/* And from then on. */
	OK(BARRIER(&c, 1, 5));
	EV_COLL_FAILED(c.mate[1].evd, BARRIER_STATUS, 5);
	ASSERT_RET(BARRIER(&c, 0, 6), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ASSERT_RET(dat_ib_collective_free_group(c.mate[0].group), DAT_INVALID_HANDLE,
		   DAT_INVALID_HANDLE1);
	OK(dat_ib_collective_free_group(c.mate[1].group));
	OK(dat_ib_collective_free_group(c.mate[2].group));
	crew_close(&c);
}

TEST(coll, a_member_that_has_left_orderly_disturbs_no_operation)
{
	char buf[3][100];
	struct crew c;

	crew_up(&c, 3, 3);
	for (unsigned int i = 0; i < 3; i++)
		fill(buf[i], 100, i);
	/* The root is done as soon as it has sent. */
	OK(dat_ib_collective_broadcast(c.mate[0].group, buf[0], 100, 0, ctx(1),
				       DAT_COMPLETION_DEFAULT_FLAG));
	EV_COLL(c.mate[0].evd, BROADCAST_STATUS, 1);
	OK(dat_ib_collective_free_group(c.mate[0].group));
	for (unsigned int i = 1; i < 3; i++) {
		OK(dat_ib_collective_broadcast(c.mate[i].group, buf[i], 100, 0, ctx(i),
					       DAT_COMPLETION_DEFAULT_FLAG));
		EV_COLL(c.mate[i].evd, BROADCAST_STATUS, i);
		CHECK_FILL(buf[i], 100, 0);
	}
	OK(BARRIER(&c, 1, 9));
	EV_COLL_FAILED(c.mate[1].evd, BARRIER_STATUS, 9);
	OK(dat_ib_collective_free_group(c.mate[1].group));
	OK(dat_ib_collective_free_group(c.mate[2].group));
	crew_close(&c);
}

TEST(coll, members_that_disagree_get_an_error)
{
	static char buf[2][90000];
	struct crew c;

	memset(buf, 0, sizeof(buf));
	for (size_t k = 0; k < 4; k++) {
		static const DAT_COUNT size[][2] = {
			{ 100, 99 }, { 70000, 90000 }, { 90000, 99 }, { 100, 70000 }
		};

		crew_up(&c, 2, 2);
		OK(dat_ib_collective_broadcast(c.mate[0].group, buf[0], size[k][0], 0, ctx(1),
					       DAT_COMPLETION_SUPPRESS_FLAG));
		OK(dat_ib_collective_broadcast(c.mate[1].group, buf[1], size[k][1], 0, ctx(2),
					       DAT_COMPLETION_DEFAULT_FLAG));
		/* The root of a short message is done before the other one looks at it. */
		OK(BARRIER(&c, 0, 3));
		if (size[k][0] > 65536)
			EV_COLL_FAILED(c.mate[0].evd, BROADCAST_STATUS, 1);
		EV_COLL_FAILED(c.mate[0].evd, BARRIER_STATUS, 3);
		EV_COLL_FAILED(c.mate[1].evd, BROADCAST_STATUS, 2);
		crew_down(&c);
	}
	/* Another operation. */
	crew_up(&c, 2, 1);
	OK(BARRIER(&c, 0, 1));
	OK(dat_ib_collective_broadcast(c.mate[1].group, buf[1], 0, 0, ctx(2),
				       DAT_COMPLETION_DEFAULT_FLAG));
	EV_COLL_FAILED(c.mate[0].evd, BARRIER_STATUS, 1);
	EV_COLL_FAILED(c.mate[1].evd, BROADCAST_STATUS, 2);
	crew_down(&c);
}

/* After a second a long message is described to its receiver. */
#define US_LATE 1300000u

TEST(coll, a_member_may_be_late)
{
	static char buf[2][90000];
	struct crew c;

	crew_up(&c, 2, 2);
	for (unsigned int k = 0; k < 2; k++) {
		fill(buf[0], sizeof(buf[0]), k);
		OK(dat_ib_collective_broadcast(c.mate[0].group, buf[0], sizeof(buf[0]), 0, ctx(1),
					       DAT_COMPLETION_DEFAULT_FLAG));
		ev_none(__FILE__, __LINE__, c.mate[0].evd, US_LATE);
		OK(dat_ib_collective_broadcast(c.mate[1].group, buf[1], sizeof(buf[1]), 0, ctx(2),
					       DAT_COMPLETION_DEFAULT_FLAG));
		for (unsigned int i = 0; i < 2; i++)
			EV_COLL(c.mate[i].evd, BROADCAST_STATUS, 1 + i);
		CHECK_FILL(buf[1], sizeof(buf[1]), k);
	}
	crew_down(&c);
}

TEST(coll, memory_that_is_not_there_fails_the_operation)
{
	char *gone = (char *)(uintptr_t)16;
	static char buf[70000];
	struct crew c;

	crew_up(&c, 2, 2);
	OK(dat_ib_collective_broadcast(c.mate[0].group, buf, 70000, 0, ctx(1),
				       DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ib_collective_broadcast(c.mate[1].group, gone, 70000, 0, ctx(2),
				       DAT_COMPLETION_DEFAULT_FLAG));
	EV_COLL_FAILED(c.mate[0].evd, BROADCAST_STATUS, 1);
	EV_COLL_FAILED(c.mate[1].evd, BROADCAST_STATUS, 2);
	crew_down(&c);
}

/* ---- arguments ---- */

#define BAD_PLACE(call_, n_) ASSERT_RET(call_, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE##n_)

TEST(coll, members_and_groups_check_their_arguments)
{
	DAT_IB_COLLECTIVE_GROUP info = { .local_size = 3 };
	DAT_IB_COLLECTIVE_MEMBER member, list[2];
	DAT_EVD_HANDLE other;
	DAT_COUNT size;
	struct crew c;
	struct mate *m;
	char junk[64];

	crew_open(&c, 2, 2);
	m = &c.mate[0];
	memset(junk, 7, sizeof(junk));
	BAD_HANDLE(dat_ib_collective_create_member(m->node->pz, NULL, &member, &size), IA);
	BAD_ARG(dat_ib_collective_create_member(m->node->ia, NULL, NULL, &size), 3);
	BAD_ARG(dat_ib_collective_create_member(m->node->ia, NULL, &member, NULL), 4);
	BAD_HANDLE(dat_ib_collective_free_member(m->evd, m->member), IA);
	BAD_ARG(dat_ib_collective_free_member(m->node->ia, junk), 2);
	BAD_ARG(dat_ib_collective_free_member(c.mate[1].node->ia, m->member), 2);
#define CREATE(members_, size_, self_, id_, info_, evd_, pz_) \
	dat_ib_collective_create_group(members_, size_, self_, id_, info_, evd_, pz_, ctx(1))
	BAD_PLACE(CREATE(c.members, 2, 0, 1, NULL, m->node->ia, m->node->pz), 6);
	other = evd_make(m->node, 8, DAT_EVD_DTO_FLAG);
	BAD_PLACE(CREATE(c.members, 2, 0, 1, NULL, other, m->node->pz), 6);
	OK(dat_evd_free(other));
	BAD_HANDLE(CREATE(c.members, 2, 0, 1, NULL, m->evd, c.mate[1].node->pz), PZ);
	BAD_ARG(CREATE(NULL, 2, 0, 1, NULL, m->evd, m->node->pz), 1);
	BAD_ARG(CREATE(c.members, 0, 0, 1, NULL, m->evd, m->node->pz), 2);
	BAD_ARG(CREATE(c.members, 5000, 0, 1, NULL, m->evd, m->node->pz), 2);
	BAD_ARG(CREATE(c.members, 2, 2, 1, NULL, m->evd, m->node->pz), 3);
	BAD_ARG(CREATE(c.members, 2, 1, 1, NULL, m->evd, m->node->pz), 3);
	BAD_ARG(CREATE(c.members, 2, 0, 1, &info, m->evd, m->node->pz), 5);
	list[0] = m->member;
	list[1] = m->member;
	BAD_ARG(CREATE(list, 2, 0, 1, NULL, m->evd, m->node->pz), 1);
	list[1] = junk;
	BAD_ARG(CREATE(list, 2, 0, 1, NULL, m->evd, m->node->pz), 1);
	list[1] = NULL;
	BAD_ARG(CREATE(list, 2, 0, 1, NULL, m->evd, m->node->pz), 1);
	crew_group(&c, 1);
	BAD_ARG(CREATE(c.members, 2, 0, 1, NULL, m->evd, m->node->pz), 4);
	crew_down(&c);
}

#define DEF DAT_COMPLETION_DEFAULT_FLAG
#define WRONG ((DAT_COMPLETION_FLAGS)0x1000)

/* Where a description has the version of its format. */
#define VERSION_AT 4

/* Each member refuses the other, at once, and nothing remains of the group. */
TEST(coll, a_member_of_another_version_is_refused_with_the_reason)
{
	char other[2][256], *own[2], expected[80];
	struct crew c;
	int own_stderr;
	FILE *log;

	setenv("DAPL_OFI_LOG", "2", 1);
	log = tmpfile();
	own_stderr = dup(2);
	ASSERT(log && own_stderr >= 0 && dup2(fileno(log), 2) == 2);
	crew_open(&c, 2, 2);
	for (int i = 0; i < 2; i++) {
		own[i] = c.members[i];
		ASSERT((size_t)c.mate[i].member_size <= sizeof(other[i]));
		memcpy(other[i], own[i], (size_t)c.mate[i].member_size);
		other[i][VERSION_AT]++;
	}
	for (unsigned int i = 0; i < 2; i++) {
		c.members[1 - i] = other[1 - i];
		ASSERT_RET(crew_create(&c, i, 7, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
		c.members[1 - i] = own[1 - i];
		EV_EMPTY(c.mate[i].evd);
	}
	crew_group(&c, 7);
	crew_down(&c);
	ASSERT_EQ(dup2(own_stderr, 2), 2);
	close(own_stderr);
	for (int i = 0; i < 2; i++) {
		snprintf(expected, sizeof(expected),
			 "refused member %d of collective group 7: its description has version %d",
			 i, other[i][VERSION_AT]);
		ASSERT(log_has(log, expected));
	}
	fclose(log);
}

TEST(coll, data_operations_check_their_arguments)
{
	DAT_COUNT sizes[2] = { 8, 8 }, displs[2] = { 0, 8 }, bad[2] = { 8, -1 };
	char a[64], b[64];
	DAT_HANDLE g;
	struct crew c;

	memset(a, 0, sizeof(a));
	crew_up(&c, 2, 1);
	g = c.mate[0].group;
	BAD_PLACE(dat_ib_collective_barrier(c.mate[0].evd, ctx(1), DEF), 1);
	BAD_PLACE(dat_ib_collective_free_group(c.mate[0].evd), 1);
	BAD_ARG(dat_ib_collective_barrier(g, ctx(1), WRONG), 3);
	BAD_ARG(dat_ib_collective_broadcast(g, NULL, 8, 0, ctx(1), DEF), 2);
	BAD_ARG(dat_ib_collective_broadcast(g, a, -1, 0, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_broadcast(g, a, 8, 2, ctx(1), DEF), 4);
	BAD_ARG(dat_ib_collective_broadcast(g, a, 8, 0, ctx(1), WRONG), 6);
	BAD_ARG(dat_ib_collective_scatter(g, NULL, 16, b, 8, 0, ctx(1), DEF), 2);
	BAD_ARG(dat_ib_collective_scatter(g, a, 15, b, 8, 0, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_scatter(g, a, -2, b, 8, 0, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_scatter(g, a, 16, NULL, 8, 1, ctx(1), DEF), 4);
	BAD_ARG(dat_ib_collective_scatter(g, a, 16, b, 7, 0, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_scatter(g, a, 16, b, -1, 1, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_scatter(g, a, 16, b, 8, 2, ctx(1), DEF), 6);
	BAD_ARG(dat_ib_collective_scatter(g, a, 16, b, 8, 0, ctx(1), WRONG), 8);
	BAD_ARG(dat_ib_collective_scatterv(g, NULL, sizes, displs, b, 8, 0, ctx(1), DEF), 2);
	BAD_ARG(dat_ib_collective_scatterv(g, a, bad, displs, b, 8, 0, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_scatterv(g, a, NULL, displs, b, 8, 0, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_scatterv(g, a, sizes, bad, b, 8, 0, ctx(1), DEF), 4);
	BAD_ARG(dat_ib_collective_scatterv(g, a, sizes, displs, NULL, 8, 1, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_scatterv(g, a, sizes, displs, b, 7, 0, ctx(1), DEF), 6);
	BAD_ARG(dat_ib_collective_scatterv(g, a, sizes, displs, b, 8, 9, ctx(1), DEF), 7);
	BAD_ARG(dat_ib_collective_scatterv(g, a, sizes, displs, b, 8, 0, ctx(1), WRONG), 9);
	BAD_ARG(dat_ib_collective_gather(g, NULL, 8, b, 16, 1, ctx(1), DEF), 2);
	BAD_ARG(dat_ib_collective_gather(g, a, -1, b, 16, 0, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_gather(g, a, 8, NULL, 16, 0, ctx(1), DEF), 4);
	BAD_ARG(dat_ib_collective_gather(g, a, 8, b, 15, 0, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_gather(g, NULL, 8, b, 15, 0, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_gather(g, a, 8, b, 16, 2, ctx(1), DEF), 6);
	BAD_ARG(dat_ib_collective_gather(g, a, 8, b, 16, 0, ctx(1), WRONG), 8);
	BAD_ARG(dat_ib_collective_gatherv(g, NULL, 8, b, sizes, displs, 1, ctx(1), DEF), 2);
	BAD_ARG(dat_ib_collective_gatherv(g, a, 7, b, sizes, displs, 0, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_gatherv(g, a, 8, NULL, sizes, displs, 0, ctx(1), DEF), 4);
	BAD_ARG(dat_ib_collective_gatherv(g, a, 8, b, bad, displs, 0, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_gatherv(g, a, 8, b, sizes, NULL, 0, ctx(1), DEF), 6);
	BAD_ARG(dat_ib_collective_gatherv(g, a, 8, b, sizes, displs, 2, ctx(1), DEF), 7);
	BAD_ARG(dat_ib_collective_gatherv(g, a, 8, b, sizes, displs, 0, ctx(1), WRONG), 9);
	BAD_ARG(dat_ib_collective_allgather(g, a, -1, b, 16, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_allgather(g, a, 8, NULL, 16, ctx(1), DEF), 4);
	BAD_ARG(dat_ib_collective_allgather(g, a, 8, b, 15, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_allgather(g, a, 8, b, 16, ctx(1), WRONG), 7);
	BAD_ARG(dat_ib_collective_allgatherv(g, a, 7, b, sizes, displs, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_allgatherv(g, a, 8, NULL, sizes, displs, ctx(1), DEF), 4);
	BAD_ARG(dat_ib_collective_allgatherv(g, a, 8, b, bad, displs, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_allgatherv(g, a, 8, b, sizes, bad, ctx(1), DEF), 6);
	BAD_ARG(dat_ib_collective_allgatherv(g, a, 8, b, sizes, displs, ctx(1), WRONG), 8);
	BAD_ARG(dat_ib_collective_alltoall(g, NULL, 16, b, 16, ctx(1), DEF), 2);
	BAD_ARG(dat_ib_collective_alltoall(g, a, 15, b, 16, ctx(1), DEF), 3);
	BAD_ARG(dat_ib_collective_alltoall(g, a, 16, NULL, 16, ctx(1), DEF), 4);
	BAD_ARG(dat_ib_collective_alltoall(g, a, 16, b, 15, ctx(1), DEF), 5);
	BAD_ARG(dat_ib_collective_alltoall(g, a, 16, b, 16, ctx(1), WRONG), 7);
#define A2AV(a_, ss_, sd_, b_, rs_, rd_, f_) \
	dat_ib_collective_alltoallv(g, a_, ss_, sd_, b_, rs_, rd_, ctx(1), f_)
	BAD_ARG(A2AV(NULL, sizes, displs, b, sizes, displs, DEF), 2);
	BAD_ARG(A2AV(a, bad, displs, b, sizes, displs, DEF), 3);
	BAD_ARG(A2AV(a, sizes, bad, b, sizes, displs, DEF), 4);
	BAD_ARG(A2AV(a, sizes, displs, NULL, sizes, displs, DEF), 5);
	BAD_ARG(A2AV(a, sizes, displs, b, bad, displs, DEF), 6);
	BAD_ARG(A2AV(a, sizes, displs, b, sizes, NULL, DEF), 7);
	BAD_ARG(A2AV(a, sizes, displs, b, sizes, displs, WRONG), 9);
	BAD_ARG(dat_ib_collective_read_clock(g, NULL), 2);
	for (unsigned int i = 0; i < 2; i++)
		EV_EMPTY(c.mate[i].evd);
	crew_down(&c);
}

TEST(coll, reductions_check_their_arguments)
{
	const int SUM = DAT_IB_COLLECTIVE_REDUCE_OP_SUM, LAND = DAT_IB_COLLECTIVE_REDUCE_OP_LAND;
	const int BXOR = DAT_IB_COLLECTIVE_REDUCE_OP_BXOR;
	const int I4 = DAT_IB_COLLECTIVE_TYPE_INT32, F = DAT_IB_COLLECTIVE_TYPE_FLOAT;
	const int I2 = DAT_IB_COLLECTIVE_TYPE_2INT;
	DAT_COUNT sizes[2] = { 8, 8 }, odd[2] = { 7, 9 };
	char a[64], b[64];
	DAT_HANDLE g;
	struct crew c;

	memset(a, 0, sizeof(a));
	crew_up(&c, 2, 1);
	g = c.mate[0].group;
#define REDUCE(a_, n_, b_, m_, op_, type_, root_, f_) \
	dat_ib_collective_reduce(g, a_, n_, b_, m_, op_, type_, root_, ctx(1), f_)
	BAD_ARG(REDUCE(NULL, 8, b, 8, SUM, I4, 1, DEF), 2);
	BAD_ARG(REDUCE(a, 7, b, 8, SUM, I4, 0, DEF), 3);
	BAD_ARG(REDUCE(a, -4, b, 8, SUM, I4, 1, DEF), 3);
	BAD_ARG(REDUCE(a, 8, NULL, 8, SUM, I4, 0, DEF), 4);
	BAD_ARG(REDUCE(a, 8, b, 7, SUM, I4, 0, DEF), 5);
	BAD_ARG(REDUCE(a, 8, b, 8, 12, I4, 0, DEF), 6);
	BAD_ARG(REDUCE(a, 8, b, 8, -1, I4, 0, DEF), 6);
	BAD_ARG(REDUCE(a, 8, b, 8, SUM, 16, 0, DEF), 7);
	BAD_ARG(REDUCE(a, 8, b, 8, LAND, F, 0, DEF), 7);
	BAD_ARG(REDUCE(a, 8, b, 8, BXOR, F, 0, DEF), 7);
	BAD_ARG(REDUCE(a, 8, b, 8, SUM, I2, 0, DEF), 7);
	BAD_ARG(REDUCE(a, 8, b, 8, SUM, I4, 2, DEF), 8);
	BAD_ARG(REDUCE(a, 8, b, 8, SUM, I4, 0, WRONG), 10);
#define ALL(name_, a_, n_, b_, m_, op_, type_, f_) \
	dat_ib_collective_##name_(g, a_, n_, b_, m_, op_, type_, ctx(1), f_)
	BAD_ARG(ALL(allreduce, a, 6, b, 8, SUM, I4, DEF), 3);
	BAD_ARG(ALL(allreduce, a, 8, NULL, 8, SUM, I4, DEF), 4);
	BAD_ARG(ALL(allreduce, a, 8, b, 4, SUM, I4, DEF), 5);
	BAD_ARG(ALL(allreduce, a, 8, b, 8, 99, I4, DEF), 6);
	BAD_ARG(ALL(allreduce, a, 8, b, 8, SUM, -1, DEF), 7);
	BAD_ARG(ALL(allreduce, a, 8, b, 8, SUM, I4, WRONG), 9);
	BAD_ARG(ALL(scan, a, 8, b, 4, SUM, I4, DEF), 5);
	BAD_ARG(ALL(scan, a, 8, b, 8, SUM, I4, WRONG), 9);
	BAD_ARG(ALL(reduce_scatter, NULL, 16, b, sizes, SUM, I4, DEF), 2);
	BAD_ARG(ALL(reduce_scatter, a, 12, b, sizes, SUM, I4, DEF), 3);
	BAD_ARG(ALL(reduce_scatter, a, 16, NULL, sizes, SUM, I4, DEF), 4);
	BAD_ARG(ALL(reduce_scatter, a, 16, b, odd, SUM, I4, DEF), 5);
	BAD_ARG(ALL(reduce_scatter, a, 16, b, NULL, SUM, I4, DEF), 5);
	BAD_ARG(ALL(reduce_scatter, a, 16, b, sizes, 12, I4, DEF), 6);
	BAD_ARG(ALL(reduce_scatter, a, 16, b, sizes, LAND, F, DEF), 7);
	BAD_ARG(ALL(reduce_scatter, a, 16, b, sizes, SUM, I4, WRONG), 9);
	for (unsigned int i = 0; i < 2; i++)
		EV_EMPTY(c.mate[i].evd);
	crew_down(&c);
}
