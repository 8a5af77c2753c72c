/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends long messages over DAT: a request in the ring, a permission with the registered memory of
 * the receiver, one RDMA write on connection B, and a notice on connection A.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "tdat.h"

static struct tdat_long *long_at(struct tdat_long *list, uint64_t number)
{
	return &list[number % TDAT_LONG];
}

/* ---------------------------------------------------------------- registration */

static int region_create(struct tdat *d, struct tdat_region *r, uint8_t *buf, size_t len)
{
	struct pdat_dev *dev = pdat_dev(d->session.dev);
	DAT_REGION_DESCRIPTION region = { .for_va = buf };
	DAT_VLEN size;
	DAT_VADDR addr;
	DAT_RETURN ret;

	r->buf = buf;
	r->len = len;
	ret = dat_lmr_create(dev->ia, DAT_MEM_TYPE_VIRTUAL, region, len, dev->pz,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &r->lmr, &r->local, &r->remote,
			     &size, &addr);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_lmr_create");
}

static int region_free(struct tdat_region *r)
{
	DAT_RETURN ret = dat_lmr_free(r->lmr);

	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_lmr_free");
}

/* A cached registration has the address and the length of an earlier message. */
static int cache_get(struct tdat *d, struct tdat_region *r, uint8_t *buf, size_t len)
{
	struct tdat_region *more;
	int i, ret;

	for (i = 0; i < d->cached; i++)
		if (d->cache[i].buf == buf && d->cache[i].len == len) {
			*r = d->cache[i];
			return 0;
		}
	more = realloc(d->cache, sizeof(*more) * (size_t)(d->cached + 1));
	if (!more)
		return perf_error(-ENOMEM, "dat", "realloc", "out of memory");
	d->cache = more;
	ret = region_create(d, r, buf, len);
	if (!ret)
		d->cache[d->cached++] = *r;
	return ret;
}

static int region_get(struct tdat *d, struct tdat_long *l, const struct perf_msg *msg)
{
	l->msg = *msg;
	return d->plan.cached ? cache_get(d, &l->region, msg->buf, msg->len)
			      : region_create(d, &l->region, msg->buf, msg->len);
}

static int region_put(struct tdat *d, struct tdat_long *l)
{
	return d->plan.cached ? 0 : region_free(&l->region);
}

int tdat_cache_put(struct tdat *d)
{
	int ret = 0;

	while (!ret && d->cached)
		ret = region_free(&d->cache[--d->cached]);
	free(d->cache);
	d->cache = NULL;
	return ret;
}

/* ---------------------------------------------------------------- sender */

int tdat_long_request(struct tdat *d, int peer, const struct perf_msg *msg)
{
	struct tdat_peer *p = &d->peer[peer];
	int ret = region_get(d, long_at(p->out, p->requested++), msg);

	return ret ? ret : tdat_fill_slot(d, peer, TDAT_REQUEST, NULL, msg->len);
}

int tdat_long_permitted(struct tdat *d, int peer, const struct tdat_control *message)
{
	struct tdat_peer *p = &d->peer[peer];
	struct tdat_long *l = long_at(p->out, p->permitted);
	DAT_LMR_TRIPLET from = {
		.virtual_address = (uintptr_t)l->msg.buf,
		.segment_length = (DAT_SEG_LENGTH)l->msg.len,
		.lmr_context = l->region.local,
	};
	DAT_RMR_TRIPLET to = {
		.virtual_address = be64toh(message->addr),
		.segment_length = (DAT_SEG_LENGTH)l->msg.len,
		.rmr_context = (DAT_RMR_CONTEXT)be64toh(message->key),
	};

	if (p->permitted == p->requested || be32toh(message->count) != (uint32_t)p->permitted)
		return perf_error(-EPROTO, "dat", "permission", "for message %u",
				  be32toh(message->count));
	p->permitted++;
	return tdat_post_write(d, peer, &from, &to, tdat_cookie(TDAT_WORK_LONG, peer, 0));
}

/* The writes of a connection complete in order. */
int tdat_long_written(struct tdat *d, int peer)
{
	struct tdat_peer *p = &d->peer[peer];
	struct tdat_long *l = long_at(p->out, p->long_written++);
	int ret = tdat_long_notice(d, peer);

	return ret ? ret : region_put(d, l);
}

/* The notice travels on another connection: the write has to be complete before. */
int tdat_long_notice(struct tdat *d, int peer)
{
	struct tdat_peer *p = &d->peer[peer];
	int ret = 0;

	while (!ret && p->noticed < p->long_written && tdat_has_control(p)) {
		struct tdat_control message = {
			.type = htobe32(TDAT_NOTICE),
			.count = htobe32((uint32_t)p->noticed),
		};

		p->noticed++;
		d->base.peer[peer].out.done++;
		ret = tdat_post_control(d, peer, &message);
	}
	return ret;
}

/* ---------------------------------------------------------------- receiver */

int tdat_long_requested(struct tdat *d, int peer, size_t len)
{
	struct tdat_peer *p = &d->peer[peer];
	struct tdat_long *l = long_at(p->in, p->granted);
	struct tdat_control message;
	struct perf_msg msg = { .len = len };
	int ret;

	if (p->granted - p->arrived == TDAT_LONG || !tdat_has_control(p))
		return 0;
	msg.buf = perf_msg_take(&d->base.peer[peer].in, len);
	if (!msg.buf)
		return perf_error(-EPROTO, "dat", "request", "%zu bytes", len);
	ret = region_get(d, l, &msg);
	if (ret)
		return ret;
	message = (struct tdat_control){
		.type = htobe32(TDAT_PERMIT),
		.count = htobe32((uint32_t)p->granted++),
		.addr = htobe64((uintptr_t)msg.buf),
		.key = htobe64(l->region.remote),
	};
	ret = tdat_post_control(d, peer, &message);
	return ret ? ret : 1;
}

int tdat_long_noticed(struct tdat *d, int peer, uint32_t number)
{
	struct tdat_peer *p = &d->peer[peer];
	int ret;

	if (p->arrived == p->granted || number != (uint32_t)p->arrived)
		return perf_error(-EPROTO, "dat", "notice", "for message %u", number);
	ret = region_put(d, long_at(p->in, p->arrived++));
	d->base.peer[peer].in.done++;
	return ret;
}
