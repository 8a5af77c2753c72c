/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports counters: the calls of dat_ib_extensions.h. Only 2.0 has them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ext.h"
#include "base/dat_error.h"
#include "fabric/port_counters.h"
#include "object/ep.h"

_Static_assert((int)DCNT_IA_ALL_COUNTERS - (int)DCNT_IA_LNK_ERR_RCV == DOFI_PORT_COUNTERS,
	       "those of link and device are the last ones");
_Static_assert((int)DCNT_IA_ALL_COUNTERS == DOFI_IA_COUNTERS &&
		       (int)DCNT_EP_ALL_COUNTERS == DOFI_EP_COUNTERS &&
		       (int)DCNT_EVD_ALL_COUNTERS == DOFI_EVD_COUNTERS,
	       "the tables are complete");

#define X(name) #name,
static const char *const ia_names[] = {
#define DOFI_COUNTERS_IA
#include "base/counters.def"
#undef DOFI_COUNTERS_IA
};
static const char *const ep_names[] = {
#define DOFI_COUNTERS_EP
#include "base/counters.def"
#undef DOFI_COUNTERS_EP
};
static const char *const evd_names[] = {
#define DOFI_COUNTERS_EVD
#include "base/counters.def"
#undef DOFI_COUNTERS_EVD
};
#undef X

static struct dofi_count_base *counters_base(struct dofi_count_base **base)
{
	if (!*base)
		*base = calloc(1, sizeof(**base));
	return *base;
}

/* Those of the link and the device are files, and are read only if `which` is one, or all. */
static void counters_read_ia(const struct dofi_ia *ia, int which, uint64_t *to)
{
	for (int i = 0; i < DOFI_IA_COUNTERS; i++)
		to[i] = DOFI_COUNT_READ(ia->counts->n[i]);
	if (which >= DCNT_IA_LNK_ERR_RCV)
		dofi_read_port_counters(&ia->fab, &to[DCNT_IA_LNK_ERR_RCV]);
}

static void counters_read_tally(const struct dofi_tally *t, uint64_t *n, uint64_t *bytes)
{
	*n = DOFI_COUNT_READ(t->n);
	*bytes = DOFI_COUNT_READ(t->bytes);
}

static void counters_read_ep(const struct dofi_ep *ep, uint64_t *to)
{
	const struct dofi_ep_slot *c = ep->counts;

#define TALLY(tally, name) \
	counters_read_tally(&c->tally, &to[DCNT_EP_##name], &to[DCNT_EP_##name##_DATA])
	TALLY(posted[DOFI_SEND], POST_SEND);
	TALLY(posted[DOFI_RECV], POST_RECV);
	TALLY(posted[DOFI_WRITE], POST_WRITE);
	TALLY(posted[DOFI_READ], POST_READ);
	TALLY(write_immed, POST_WRITE_IMM);
	TALLY(ud_sent, POST_SEND_UD);
	TALLY(received, RECV);
	TALLY(ud_received, RECV_UD);
	TALLY(write_immed_received, RECV_RDMA_IMM);
#undef TALLY
	to[DCNT_EP_CONNECT] = DOFI_COUNT_READ(c->connects);
	to[DCNT_EP_DISCONNECT] = DOFI_COUNT_READ(c->disconnects);
	to[DCNT_EP_POST_FETCH_ADD] = DOFI_COUNT_READ(c->fetch_adds);
	to[DCNT_EP_POST_CMP_SWAP] = DOFI_COUNT_READ(c->cmp_swaps);
}

static void counters_read_evd(struct dofi_evd *evd, uint64_t *to)
{
	struct dofi_evd_slot c;

	dofi_lock(&evd->lock);
	c = *evd->counts;
	dofi_unlock(&evd->lock);
	to[DCNT_EVD_WAIT] = c.waits;
	to[DCNT_EVD_WAIT_BLOCKED] = c.sleeps;
	to[DCNT_EVD_WAIT_NOTIFY] = c.notifies;
	to[DCNT_EVD_DEQUEUE] = c.polls + c.takes;
	to[DCNT_EVD_DEQUEUE_FOUND] = c.direct + c.popped - c.waits_found;
	to[DCNT_EVD_DEQUEUE_NOT_FOUND] = to[DCNT_EVD_DEQUEUE] - to[DCNT_EVD_DEQUEUE_FOUND];
	to[DCNT_EVD_DEQUEUE_POLL] = c.polls;
	to[DCNT_EVD_DEQUEUE_POLL_FOUND] = c.direct + c.poll_ring;
	to[DCNT_EVD_CONN_CALLBACK] = c.conn_events;
	to[DCNT_EVD_DTO_CALLBACK] = c.direct + c.queued - c.other_events;
}

/* The counters of one object. */
struct counted {
	struct dofi_count_base **base;
	const char *kind;
	const char *const *names;
	int count;
	bool is_ia;
	uint64_t now[DOFI_IA_COUNTERS];
};

/* A set of the counter's group, which can be stopped; empty without a group. */
static unsigned int counters_group(const struct counted *c, int i)
{
	if (!c->is_ia || i < DCNT_IA_CM_LISTEN)
		return 0;
	if (i < DCNT_IA_LNK_ERR_RCV)
		return 1u << DCNT_IA_CM;
	return 1u << (i < DCNT_IA_DIAG_ERR_RQ_RAE ? DCNT_IA_LNK : DCNT_IA_DIAG);
}

/* Reads at least counter `which`, or all. False: not the handle of an object that has counters. */
static bool counters_of(DAT_HANDLE handle, int which, struct counted *c)
{
	struct dofi_obj *obj = dofi_obj_any(handle);

	memset(c, 0, sizeof(*c));
	switch (obj ? (int)obj->type : -1) {
	case DAT_HANDLE_TYPE_IA:
		c->base = &((struct dofi_ia *)obj)->count_base;
		c->kind = "IA";
		c->names = ia_names;
		c->count = DOFI_IA_COUNTERS;
		c->is_ia = true;
		counters_read_ia((struct dofi_ia *)obj, which, c->now);
		return true;
	case DAT_HANDLE_TYPE_EP:
		c->base = &((struct dofi_ep *)obj)->count_base;
		c->kind = "EP";
		c->names = ep_names;
		c->count = DOFI_EP_COUNTERS;
		counters_read_ep((struct dofi_ep *)obj, c->now);
		return true;
	case DAT_HANDLE_TYPE_EVD:
		c->base = &((struct dofi_evd *)obj)->count_base;
		c->kind = "EVD";
		c->names = evd_names;
		c->count = DOFI_EVD_COUNTERS;
		counters_read_evd((struct dofi_evd *)obj, c->now);
		return true;
	default:
		return false;
	}
}

static uint64_t counters_last(const struct counted *c, const struct dofi_count_base *base, int i)
{
	return base && base->stopped & counters_group(c, i) ? base->last[i] : c->now[i];
}

/* Reads counter `which`, or all, and resets what it has read. */
static DAT_RETURN counters_take(DAT_HANDLE handle, int which, bool reset, struct counted *c,
				uint64_t *out)
{
	struct dofi_count_base *base;
	DAT_RETURN ret = DAT_SUCCESS;

	pthread_mutex_lock(&dofi_count_base_lock);
	if (!counters_of(handle, which, c)) {
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	} else if (which < 0 || which > c->count) {
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	} else {
		base = reset ? counters_base(c->base) : *c->base;
		if (reset && !base)
			ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		for (int i = 0; i < c->count && !ret; i++) {
			uint64_t last = counters_last(c, base, i);

			out[i] = last - (base ? base->reset[i] : 0);
			if (reset && (which == i || which == c->count))
				base->reset[i] = last;
		}
	}
	pthread_mutex_unlock(&dofi_count_base_lock);
	return ret;
}

DAT_RETURN dofi_query_counters(DAT_HANDLE handle, int which, DAT_UINT64 *out, bool reset)
{
	uint64_t n[DOFI_IA_COUNTERS];
	struct counted c;
	DAT_RETURN ret;

	/* A null pointer must not reset anything; a bad handle or number is reported first. */
	ret = counters_take(handle, which, out && reset, &c, n);
	if (ret)
		return ret;
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (which == c.count)
		memcpy(out, n, (size_t)c.count * sizeof(*n));
	else
		*out = n[which];
	return DAT_SUCCESS;
}

DAT_RETURN dofi_print_counters(DAT_HANDLE handle, int which, bool reset)
{
	uint64_t n[DOFI_IA_COUNTERS];
	struct counted c;
	DAT_RETURN ret = counters_take(handle, which, reset, &c, n);

	for (int i = 0; i < c.count && !ret; i++)
		if (which == c.count || which == i)
			fprintf(stderr, "DCNT_%s_%s = %" PRIu64 "\n", c.kind, c.names[i], n[i]);
	return ret;
}

DAT_RETURN dofi_run_counters(DAT_HANDLE handle, int group, bool run)
{
	struct dofi_count_base *base;
	DAT_RETURN ret = DAT_SUCCESS;
	struct counted c;

	pthread_mutex_lock(&dofi_count_base_lock);
	if (!counters_of(handle, DCNT_IA_ALL_COUNTERS, &c) || !c.is_ia) {
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	} else if (group < DCNT_IA_CM || group > DCNT_IA_DIAG) {
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	} else if (!(base = counters_base(c.base))) {
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	} else if (!(base->stopped & 1u << group) == !run) {
		for (int i = 0; i < c.count; i++) {
			if (counters_group(&c, i) != 1u << group)
				continue;
			if (run)
				base->reset[i] += c.now[i] - base->last[i];
			base->last[i] = c.now[i];
		}
		base->stopped ^= 1u << group;
	}
	pthread_mutex_unlock(&dofi_count_base_lock);
	return ret;
}
