/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the choice of objects and arguments at random. */
#include "calls_rig.h"

/* Adapters at a time: with more of them, objects of one would seldom meet in a call. */
#define IAS 2
/* Of that number of freed handles, one stays among the others. */
#define STALE 20

unsigned int below(struct caller *c, unsigned int n)
{
	return n ? (unsigned int)rand_r(&c->seed) % n : 0;
}

bool one_in(struct caller *c, unsigned int n)
{
	return !below(c, n);
}

static bool wild(struct caller *c)
{
	return below(c, 1000) < c->wild;
}

static int wild_number(struct caller *c)
{
	static const int numbers[] = {
		0, -1, 1, 2, INT32_MAX, INT32_MIN, 64, 4096, 100000,
	};

	return numbers[below(c, sizeof(numbers) / sizeof(numbers[0]))];
}

DAT_COUNT some_count(struct caller *c, unsigned int most)
{
	return wild(c) ? wild_number(c) : (DAT_COUNT)(1 + below(c, most));
}

unsigned int some_slot(struct caller *c, enum kind kind)
{
	unsigned int slot = 0;

	for (int i = 0; i < 6; i++) {
		slot = below(c, SLOTS);
		if (c->all->object[kind][slot])
			break;
	}
	return slot;
}

DAT_HANDLE some(struct caller *c, enum kind kind)
{
	if (wild(c))
		kind = (enum kind)below(c, KINDS);
	else if (kind == EP && DAT_TEST_API == 20 && one_in(c, 5))
		kind = UD;
	return c->all->object[kind][some_slot(c, kind)];
}

DAT_HANDLE some_or_null(struct caller *c, enum kind kind)
{
	return one_in(c, 6) ? DAT_HANDLE_NULL : some(c, kind);
}

DAT_IA_HANDLE some_ia(struct caller *c)
{
	return one_in(c, 30) ? some(c, IA) : c->all->ia;
}

bool has_room(struct caller *c, enum kind kind)
{
	unsigned int n = 0;

	for (int i = 0; i < SLOTS; i++)
		n += c->all->object[kind][i] != NULL;
	return n < (kind == IA ? IAS : SLOTS);
}

unsigned int keep(struct caller *c, enum kind kind, DAT_HANDLE object)
{
	unsigned int first = below(c, SLOTS);

	for (unsigned int i = 0; i < SLOTS; i++) {
		unsigned int slot = (first + i) % SLOTS;
		DAT_HANDLE none = NULL;

		if (atomic_compare_exchange_strong(&c->all->object[kind][slot], &none, object))
			return slot;
	}
	return SLOTS;
}

bool forget(struct caller *c, enum kind kind, DAT_HANDLE object)
{
	bool found = false;

	for (int i = 0; i < SLOTS; i++) {
		DAT_HANDLE it = object;

		if (one_in(c, STALE))
			continue;
		if (atomic_compare_exchange_strong(&c->all->object[kind][i], &it, NULL))
			found = true;
		else if (kind == EP && (it = object))
			atomic_compare_exchange_strong(&c->all->object[UD][i], &it, NULL);
	}
	return found && object;
}

DAT_COMPLETION_FLAGS some_flags(struct caller *c)
{
	static const int flags[] = { 0, 0, 0, 0, 1, 2, 4, 8, 0x10, 0x20 };
	const unsigned int n = sizeof(flags) / sizeof(flags[0]);
	int value = flags[below(c, n)];

	return (DAT_COMPLETION_FLAGS)(one_in(c, 10) ? value | flags[below(c, n)] : value);
}

DAT_EP_ATTR some_attr(struct caller *c)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = 1 << 20;
	attr.max_rdma_size = 1 << 20;
	attr.qos = DAT_QOS_BEST_EFFORT;
	if (one_in(c, 4))
		attr.recv_completion_flags = one_in(c, 2) ? DAT_COMPLETION_UNSIGNALLED_FLAG
							  : DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (one_in(c, 4))
		attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	attr.max_recv_dtos = some_count(c, 32);
	attr.max_request_dtos = some_count(c, 32);
	attr.max_recv_iov = some_count(c, SEGMENTS);
	attr.max_request_iov = some_count(c, SEGMENTS);
	attr.max_rdma_read_in = some_count(c, 4);
	attr.max_rdma_read_out = some_count(c, 4);
	attr.srq_soft_hw = one_in(c, 3) ? some_count(c, 8) : 0;
	attr.max_rdma_read_iov = some_count(c, 3);
	attr.max_rdma_write_iov = some_count(c, 3);
	return attr;
}

DAT_COUNT some_segments(struct caller *c, DAT_LMR_TRIPLET *iov)
{
	DAT_COUNT n = (DAT_COUNT)below(c, SEGMENTS + 1);

	memset(iov, 0, SEGMENTS * sizeof(*iov));
	for (DAT_COUNT i = 0; i < n; i++) {
		unsigned int slot = some_slot(c, LMR);
		unsigned int len = (unsigned int)c->all->len[slot], off = below(c, len);
		unsigned int part = below(c, len - off);

		iov[i].lmr_context = c->all->lmr_ctx[slot];
		iov[i].virtual_address = (DAT_VADDR)((uintptr_t)c->all->mem[slot] + off);
		iov[i].segment_length = (seg_len_t)(one_in(c, 2) ? part : part % 512);
		if (wild(c))
			iov[i].lmr_context += (DAT_LMR_CONTEXT)wild_number(c);
		if (wild(c))
			iov[i].segment_length = (seg_len_t)wild_number(c);
		if (wild(c))
			iov[i].virtual_address = (DAT_VADDR)wild_number(c);
	}
	/* Never more than there are. */
	return wild(c) ? -(DAT_COUNT)below(c, 2) : n;
}

DAT_RMR_TRIPLET some_target(struct caller *c, const DAT_LMR_TRIPLET *iov, DAT_COUNT n)
{
	unsigned int slot = some_slot(c, LMR);
	DAT_RMR_CONTEXT key = one_in(c, 4) ? c->all->bound[below(c, SLOTS)] : c->all->rmr_ctx[slot];
	size_t len = 0;

	for (DAT_COUNT i = 0; i < n; i++)
		len += (size_t)iov[i].segment_length;
	if (one_in(c, 8))
		len = below(c, 70000);
	return rem_raw((uintptr_t)c->all->mem[slot] + below(c, 64), len, key);
}

bool call_ended(const char *call, DAT_RETURN ret)
{
	const char *type, *subtype;

	if (dat_strerror(ret, &type, &subtype) || DAT_GET_TYPE(ret) == DAT_INTERNAL_ERROR)
		FAIL("%s returned 0x%x", call, (unsigned int)ret);
	return ret == DAT_SUCCESS;
}
