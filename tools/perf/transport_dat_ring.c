/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends eager messages over DAT: RDMA writes into a ring of slots at the peer, which polls its
 * memory and its event queue in turn, and returns slots by sends.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "proc.h"
#include "tdat.h"

/* Events taken in one look at the queue. */
#define MAX_EVENTS 16

/* An eager message is complete when it has been copied into its slot. */
int tdat_start(struct perf_transport *t, int peer)
{
	struct tdat *d = tdat(t);
	struct tdat_peer *p = &d->peer[peer];
	struct perf_msgs *out = &t->peer[peer].out;
	int ret = 0;

	while (!ret && perf_msg_waits(out) && tdat_has_slot(p)) {
		struct perf_msg *msg = perf_msg_at(out, out->next);

		if (msg->len > t->eager_limit) {
			if (p->requested - p->noticed == TDAT_LONG)
				break;
			ret = tdat_long_request(d, peer, msg);
		} else {
			ret = tdat_fill_slot(d, peer, TDAT_EAGER, msg->buf, msg->len);
			out->done++;
		}
		out->next++;
	}
	return ret;
}

/* ---------------------------------------------------------------- incoming */

static int take_eager(struct tdat *d, int peer, const struct tdat_tail *tail, size_t len)
{
	struct perf_msgs *in = &d->base.peer[peer].in;
	uint8_t *into = len <= d->base.eager_limit ? perf_msg_take(in, len) : NULL;

	if (!into)
		return perf_error(-EPROTO, "dat", "ring", "%zu bytes came", len);
	memcpy(into, (const uint8_t *)tail - len, len);
	in->done++;
	return 1;
}

/* 1 if a message was taken from the ring; 0 if none has come, or it has no receive yet. */
static int take_slot(struct tdat *d, int peer)
{
	struct tdat_peer *p = &d->peer[peer];
	struct tdat_tail *tail = tdat_tail_of(d, p->b->target, p->taken);
	size_t len;
	int ret;

	if (perf_peek(&tail->round) != tdat_round_of(p->taken) ||
	    !perf_msg_waits(&d->base.peer[peer].in))
		return 0;
	len = be32toh(tail->len);
	if (tail->type == TDAT_EAGER)
		ret = take_eager(d, peer, tail, len);
	else if (tail->type == TDAT_REQUEST)
		ret = tdat_long_requested(d, peer, len);
	else
		ret = perf_error(-EPROTO, "dat", "ring", "unknown type %d", tail->type);
	if (ret > 0)
		p->taken++;
	return ret;
}

static int return_slots(struct tdat *d, int peer)
{
	struct tdat_peer *p = &d->peer[peer];
	uint64_t n = p->taken - p->returned;
	struct tdat_control message = {
		.type = htobe32(TDAT_CREDIT),
		.count = htobe32((uint32_t)n),
	};

	if (n < TDAT_SLOTS / 2 || !tdat_has_control(p))
		return 0;
	p->returned = p->taken;
	return tdat_post_control(d, peer, &message);
}

static int take_credit(struct tdat_peer *p, uint32_t n)
{
	if (n > p->filled - p->freed)
		return perf_error(-EPROTO, "dat", "credit", "%u slots came back", n);
	p->freed += n;
	return 0;
}

/* Takes a message of connection A, and posts its receive again. */
static int take_control(struct tdat *d, int peer, uint64_t index, size_t len)
{
	struct tdat_peer *p = &d->peer[peer];
	struct tdat_control message;
	uint32_t count;
	int ret;

	if (len != sizeof(message))
		return perf_error(-EPROTO, "dat", "control", "%zu bytes came", len);
	memcpy(&message, p->a->rx.slot->mem + index * TDAT_CONTROL_SIZE, sizeof(message));
	count = be32toh(message.count);
	switch (be32toh(message.type)) {
	case TDAT_CREDIT:
		ret = take_credit(p, count);
		break;
	case TDAT_PERMIT:
		ret = tdat_long_permitted(d, peer, &message);
		break;
	case TDAT_NOTICE:
		ret = tdat_long_noticed(d, peer, count);
		break;
	default:
		ret = perf_error(-EPROTO, "dat", "control", "unknown type");
		break;
	}
	return ret ? ret : tdat_post_receive(d, peer, index);
}

static int take_event(struct tdat *d, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	uint64_t cookie = dto->user_cookie.as_64;
	int peer = (int)(cookie >> 32 & 0xffff);
	int err = pdat_check_event(event);

	if (err)
		return err;
	switch (cookie >> 48) {
	case TDAT_WORK_SLOT:
		d->peer[peer].written++;
		return 0;
	case TDAT_WORK_CONTROL:
		d->peer[peer].controls_done++;
		return 0;
	case TDAT_WORK_LONG:
		return tdat_long_written(d, peer);
	default:
		return take_control(d, peer, cookie & 0xffffffff, (size_t)dto->transfered_length);
	}
}

static int take_events(struct tdat *d)
{
	DAT_EVENT event;
	DAT_RETURN ret;
	int n, err = 0;

	for (n = 0; !err && n < MAX_EVENTS; n++) {
		ret = dat_evd_dequeue(d->evd_a, &event);
		if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
			break;
		err = ret == DAT_SUCCESS ? take_event(d, &event)
					 : pdat_error(ret, "dat_evd_dequeue");
	}
	return err ? err : n;
}

/* Looks at the memory of each peer, then at the queue. */
int tdat_progress(struct perf_transport *t)
{
	struct tdat *d = tdat(t);
	int i, n = 0, ret = 0;

	for (i = 0; ret >= 0 && i < t->peers; i++) {
		if (perf_msg_waits(&t->peer[i].out))
			ret = tdat_start(t, i);
		if (!ret)
			ret = take_slot(d, i);
		n += ret > 0;
		if (ret >= 0)
			ret = tdat_long_notice(d, i);
		if (!ret)
			ret = return_slots(d, i);
	}
	if (ret < 0)
		return ret;
	ret = take_events(d);
	return ret < 0 ? ret : n + ret;
}
