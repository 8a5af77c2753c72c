/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements calls of t_calls.c that only 2.0 has: collectives, datagrams, counters. */
#include "calls_rig.h"
#include "ext.h"

#define RANKS 3
#define IDS 4
/* Each group of a member has memory of its own: its operations execute one after another. */
#define AREA 1024
#define PART 64

static struct {
	DAT_IB_COLLECTIVE_MEMBER member[RANKS];
	_Atomic(DAT_HANDLE) group[IDS * RANKS];
	_Alignas(64) char area[IDS * RANKS][AREA];

	/* What address exchanges and messages have yielded. */
	pthread_mutex_t lock;
	struct {
		DAT_IB_ADDR_HANDLE to;
		DAT_CONTEXT cm;
	} found[SLOTS];
} ext = { .lock = PTHREAD_MUTEX_INITIALIZER };

void calls_ext_open(const struct shared *all)
{
	DAT_COUNT size;

	memset(ext.found, 0, sizeof(ext.found));
	for (int i = 0; i < IDS * RANKS; i++)
		ext.group[i] = NULL;
	for (int i = 0; i < RANKS; i++)
		OK(dat_ib_collective_create_member(all->ia, NULL, &ext.member[i], &size));
}

/* ---- collectives ---- */

static void create_group(struct caller *c)
{
	unsigned int self = below(c, RANKS), id = below(c, IDS);
	DAT_COUNT size = one_in(c, 20) ? (DAT_COUNT)below(c, RANKS) : RANKS;
	DAT_CONTEXT context = { .as_64 = id * RANKS + self };

	if (has_room(c, GROUP))
		DONE(dat_ib_collective_create_group(ext.member, size, self, id, NULL, some(c, EVD),
						    some(c, PZ), context));
}

static void free_group(struct caller *c)
{
	DAT_HANDLE group = some(c, GROUP);

	if (!DONE(dat_ib_collective_free_group(group)))
		return;
	for (int i = 0; i < IDS * RANKS; i++) {
		DAT_HANDLE it = group;

		atomic_compare_exchange_strong(&ext.group[i], &it, NULL);
	}
	forget(c, GROUP, group);
}

static char *area_of(DAT_HANDLE group)
{
	for (int i = 0; i < IDS * RANKS; i++)
		if (group && ext.group[i] == group)
			return ext.area[i];
	return NULL;
}

/* Most are of one kind, so that those of several members often match. */
static void operate(struct caller *c)
{
	DAT_HANDLE group = some(c, GROUP);
	char *at = area_of(group), *to;
	DAT_COMPLETION_FLAGS flags = one_in(c, 8) ? some_flags(c) : DAT_COMPLETION_DEFAULT_FLAG;
	DAT_CONTEXT context = { .as_64 = below(c, 1000) };
	unsigned int root = below(c, RANKS);
	DAT_UINT64 time;

	if (!at)
		return;
	to = at + AREA / 2;
	switch (below(c, 16)) {
	case 0:
		DONE(dat_ib_collective_broadcast(group, at, PART, root, context, flags));
		break;
	case 1:
		DONE(dat_ib_collective_allgather(group, at, PART, to, PART, context, flags));
		break;
	case 2:
		DONE(dat_ib_collective_alltoall(group, at, PART, to, PART, context, flags));
		break;
	case 3:
		DONE(dat_ib_collective_allreduce(group, at, PART, to, PART,
						 DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
						 DAT_IB_COLLECTIVE_TYPE_UINT32, context, flags));
		break;
	case 4:
		DONE(dat_ib_collective_reduce(group, at, PART, to, PART,
					      DAT_IB_COLLECTIVE_REDUCE_OP_BXOR,
					      DAT_IB_COLLECTIVE_TYPE_UINT64, root, context, flags));
		break;
	case 5:
		DONE(dat_ib_collective_scatter(group, at, PART, to, PART, root, context, flags));
		break;
	case 6:
		DONE(dat_ib_collective_gather(group, at, PART, to, PART, root, context, flags));
		break;
	case 7:
		DONE(dat_ib_collective_set_clock(group, below(c, 1000), context));
		break;
	case 8:
		DONE(dat_ib_collective_read_clock(group, &time));
		break;
	default:
		DONE(dat_ib_collective_barrier(group, context, flags));
	}
}

void call_collective(struct caller *c)
{
	if (one_in(c, 4)) {
		create_group(c);
	} else if (one_in(c, 16)) {
		free_group(c);
	} else {
		for (int i = 0; i < 4; i++)
			operate(c);
	}
}

static void take_collective(struct caller *c, const DAT_IB_EXTENSION_EVENT_DATA *x)
{
	DAT_UINT64 number = x->coll.context.as_64;

	if (x->status != DAT_OP_SUCCESS)
		return;
	if (x->type == DAT_IB_COLLECTIVE_CREATE_DATA) {
		ASSERT(number < IDS * RANKS);
		ext.group[number] = x->coll.handle;
		keep(c, GROUP, x->coll.handle);
		c->all->groups++;
	} else {
		c->all->collectives++;
	}
}

/* ---- datagrams ---- */

static void remember(struct caller *c, const DAT_IB_EXTENSION_EVENT_DATA *x)
{
	unsigned int slot = below(c, SLOTS);

	pthread_mutex_lock(&ext.lock);
	ext.found[slot].to = x->remote_ah;
	ext.found[slot].cm = x->context;
	pthread_mutex_unlock(&ext.lock);
}

static void create_ud(struct caller *c)
{
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr.max_recv_dtos = some_count(c, 32);
	attr.max_request_dtos = some_count(c, 32);
	attr.max_recv_iov = some_count(c, SEGMENTS);
	attr.max_request_iov = some_count(c, SEGMENTS);
	if (has_room(c, UD) && DONE(dat_ep_create(some_ia(c), some(c, PZ), some(c, EVD),
						  some(c, EVD), some(c, EVD), &attr, &ep)))
		keep(c, UD, ep);
}

/* Room for any message. */
static void receive_ud(struct caller *c)
{
	unsigned int slot = some_slot(c, LMR);
	DAT_LMR_TRIPLET iov;

	memset(&iov, 0, sizeof(iov));
	iov.lmr_context = c->all->lmr_ctx[slot];
	iov.virtual_address = (DAT_VADDR)(uintptr_t)c->all->mem[slot];
	iov.segment_length = (seg_len_t)c->all->len[slot];
	DONE(dat_ib_post_recv_ud(some(c, UD), 1, &iov, ck(12), some_flags(c)));
}

void call_datagram(struct caller *c)
{
	unsigned int slot = below(c, SLOTS);
	DAT_LMR_TRIPLET iov[SEGMENTS];
	DAT_COUNT n = some_segments(c, iov);
	DAT_IB_ADDR_HANDLE to;
	DAT_CONTEXT cm;

	pthread_mutex_lock(&ext.lock);
	to = ext.found[slot].to;
	cm = ext.found[slot].cm;
	pthread_mutex_unlock(&ext.lock);
	switch (below(c, 16)) {
	case 0:
		DONE(dat_ib_ud_ah_free(some(c, UD), &to));
		break;
	case 1:
		DONE(dat_ib_ud_cm_free(some(c, UD), cm));
		break;
	case 2:
	case 3:
		create_ud(c);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		receive_ud(c);
		break;
	default:
		for (DAT_COUNT i = 0; i < n; i++)
			iov[i].segment_length %= 512;
		DONE(dat_ib_post_send_ud(some(c, UD), n, iov, &to, ck(11), some_flags(c)));
	}
}

static void take_datagram(struct caller *c, const DAT_EVENT *ev,
			  const DAT_IB_EXTENSION_EVENT_DATA *x)
{
	switch ((int)ev->event_number) {
	case DAT_IB_UD_CONNECTION_REQUEST_EVENT:
		keep(c, CR, cr_of(ev));
		break;
	case DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED:
		c->all->exchanges++;
		remember(c, x);
		break;
	default:
		if (x->type != DAT_IB_UD_RECV || x->status != DAT_OP_SUCCESS)
			return;
		c->all->datagrams++;
		remember(c, x);
	}
}

/* ---- all ---- */

void take_extended(struct caller *c, const DAT_EVENT *ev)
{
	DAT_IB_EXTENSION_EVENT_DATA x;

	if ((int)ev->event_number < DAT_IB_DTO_EVENT)
		return;
	memcpy(&x, ev->event_extension_data, sizeof(x));
	if ((int)ev->event_number == DAT_IB_COLLECTIVE_EVENT)
		take_collective(c, &x);
	else
		take_datagram(c, ev, &x);
}

void call_counters(struct caller *c)
{
	DAT_UINT64 count[64];
	DAT_IA_HANDLE query;
	DAT_IA_ATTR attr;

	switch (below(c, 4)) {
	case 0:
		DONE(dat_ib_start_counter(some_ia(c), below(c, 4)));
		break;
	case 1:
		if (one_in(c, 8) && DONE(dat_ib_open_query((char *)(uintptr_t)ia_name(), &query,
							   DAT_IA_FIELD_ALL, &attr, 0, NULL)))
			DONE(dat_ib_close_query(query));
		break;
	default:
		DONE(dat_ib_query_counters(some(c, one_in(c, 2) ? EP : EVD), below(c, 8), count,
					   one_in(c, 8)));
	}
}
