/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares helpers for the cases of memory windows: binding, and use of the keys. */
#ifndef TEST_RMR_H
#define TEST_RMR_H

#include "rig.h"

#define READS ((int)DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define WRITES ((int)DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

static inline DAT_RMR_COOKIE rck(uint64_t value)
{
	DAT_RMR_COOKIE c;

	c.as_64 = value;
	return c;
}

/* 1.2 identifies the LMR by the triplet, 2.0 by its handle. */
static inline DAT_RETURN api_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *t,
				  int priv, DAT_EP_HANDLE ep, uint64_t cookie, int flags,
				  DAT_RMR_CONTEXT *key)
{
#if DAT_TEST_API == 12
	(void)lmr;
	return dat_rmr_bind(rmr, (DAT_LMR_TRIPLET *)(uintptr_t)t, (DAT_MEM_PRIV_FLAGS)priv, ep,
			    rck(cookie), (DAT_COMPLETION_FLAGS)flags, key);
#else
	return dat_rmr_bind(rmr, lmr, t, (DAT_MEM_PRIV_FLAGS)priv, DAT_VA_TYPE_VA, ep, rck(cookie),
			    (DAT_COMPLETION_FLAGS)flags, key);
#endif
}

static inline DAT_RETURN post_bind(struct side *s, DAT_RMR_HANDLE rmr, const struct buf *b,
				   size_t off, size_t len, int priv, uint64_t cookie,
				   DAT_RMR_CONTEXT *key)
{
	DAT_LMR_TRIPLET t = seg(b, off, len);

	return api_bind(rmr, b->lmr, &t, priv, s->ep, cookie, 0, key);
}

static inline DAT_RETURN post_unbind(struct side *s, DAT_RMR_HANDLE rmr, const struct buf *b,
				     uint64_t cookie)
{
	DAT_RMR_CONTEXT key;

	return post_bind(s, rmr, b, 0, 0, 0, cookie, &key);
}

static inline void check_bind(const char *file, int line, const DAT_EVENT *ev, DAT_RMR_HANDLE rmr,
			      uint64_t cookie, DAT_RMR_BIND_COMPLETION_STATUS status)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *d = &ev->event_data.rmr_completion_event_data;

	if (ev->event_number != DAT_RMR_BIND_COMPLETION_EVENT)
		dt_fail(file, line, "event %#x, expected an RMR bind completion",
			(unsigned int)ev->event_number);
	if (d->rmr_handle != rmr)
		dt_fail(file, line, "rmr_handle is %p, not %p", d->rmr_handle, rmr);
	if (d->user_cookie.as_64 != cookie)
		dt_fail(file, line, "user_cookie is %#llx, not %#llx",
			(unsigned long long)d->user_cookie.as_64, (unsigned long long)cookie);
	if (d->status != status)
		dt_fail(file, line, "status is %d, not %d", (int)d->status, (int)status);
}

static inline void ev_bind(const char *file, int line, DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr,
			   uint64_t cookie, DAT_RMR_BIND_COMPLETION_STATUS status)
{
	DAT_EVENT ev;

	ev_next(file, line, evd, &ev);
	check_bind(file, line, &ev, rmr, cookie, status);
}

#define EV_BIND(evd_, rmr_, cookie_) \
	ev_bind(__FILE__, __LINE__, evd_, rmr_, cookie_, DAT_RMR_BIND_SUCCESS)
#define EV_BIND_FLUSHED(evd_, rmr_, cookie_) \
	ev_bind(__FILE__, __LINE__, evd_, rmr_, cookie_, \
		(DAT_RMR_BIND_COMPLETION_STATUS)DAT_DTO_ERR_FLUSHED)

/* A window of b's memory, bound through b's endpoint: its key. */
static inline DAT_RMR_CONTEXT window(struct side *s, DAT_RMR_HANDLE rmr, const struct buf *b,
				     size_t off, size_t len, int priv)
{
	DAT_RMR_CONTEXT key = 0;

	OK(post_bind(s, rmr, b, off, len, priv, 77, &key));
	EV_BIND(s->req, rmr, 77);
	ASSERT(key != 0);
	return key;
}

/* Transfers a segment of s's memory to or from the memory of the key. */
static inline DAT_RETURN access_key(struct side *s, enum op op, uint64_t addr, size_t len,
				    DAT_RMR_CONTEXT key)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, 0, len);
	DAT_RMR_TRIPLET r = rem_raw(addr, len, key);

	return op == OP_WRITE ? dat_ep_post_rdma_write(s->ep, 1, &t, ck(5), &r,
						       DAT_COMPLETION_DEFAULT_FLAG)
			      : dat_ep_post_rdma_read(s->ep, 1, &t, ck(5), &r,
						      DAT_COMPLETION_DEFAULT_FLAG);
}

/* The access moves its data. */
static inline void allowed(struct side *s, enum op op, char *mem, uint64_t addr, size_t len,
			   DAT_RMR_CONTEXT key)
{
	unsigned int seed = (unsigned int)key + (unsigned int)len + (unsigned int)op;

	fill(op == OP_WRITE ? s->buf.mem : mem, len, seed);
	OK(access_key(s, op, addr, len, key));
	EV_DTO(s->req, s->ep, 5, op, len);
	if (op == OP_WRITE)
		CHECK_WRITTEN(mem, len, seed);
	else
		CHECK_FILL(s->buf.mem, len, seed);
}

static inline void usable(struct side *s, char *mem, size_t len, DAT_RMR_CONTEXT key)
{
	allowed(s, OP_WRITE, mem, (uintptr_t)mem, len, key);
	allowed(s, OP_READ, mem, (uintptr_t)mem, len, key);
}

/* a's access by the key breaks the connection and changes nothing; both are connected again. */
static inline void refused(struct pair *p, enum op op, uint64_t addr, size_t len,
			   DAT_RMR_CONTEXT key)
{
	OK(access_key(&p->a, op, addr, len, key));
	refusal(p, op);
	OK(dat_ep_reset(p->a.ep));
	OK(dat_ep_reset(p->b.ep));
	pair_connect(p);
}

/* Frees the endpoints, then the RMR and (if any) the region; call pair_close afterwards. */
static inline void rmr_close(struct pair *p, DAT_RMR_HANDLE rmr, struct buf *b)
{
	OK(dat_rmr_free(rmr));
	if (b)
		buf_free(b);
	pair_close(p);
}

#endif
