/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares helpers for the cases of the InfiniBand extension. */
#ifndef TEST_EXT_H
#define TEST_EXT_H

#include "rig.h"
#include <dat2/dat_ib_extensions.h>

/* All privileges, including atomic operations. */
#define PRIV_ATOMIC ((int)PRIV_ALL | DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/*
 * Checks all fields of the event of an extended operation; immed: the immediate data of a receive.
 */
static inline DAT_IB_EXTENSION_EVENT_DATA check_ext(const char *file, int line, DAT_EVD_HANDLE evd,
						    DAT_EP_HANDLE ep, uint64_t cookie,
						    DAT_IB_DTOS op,
						    DAT_DTO_COMPLETION_STATUS status, size_t len,
						    uint32_t immed)
{
	static const DAT_IB_EXT_TYPE types[] = {
		[DAT_IB_DTO_RDMA_WRITE_IMMED] = DAT_IB_RDMA_WRITE_IMMED,
		[DAT_IB_DTO_RECV_IMMED] = DAT_IB_RDMA_WRITE_IMMED_DATA,
		[DAT_IB_DTO_FETCH_ADD] = DAT_IB_FETCH_AND_ADD,
		[DAT_IB_DTO_CMP_SWAP] = DAT_IB_CMP_AND_SWAP,
		[DAT_IB_DTO_SEND_UD] = DAT_IB_UD_SEND,
		[DAT_IB_DTO_RECV_UD] = DAT_IB_UD_RECV,
	};
	DAT_IB_EXTENSION_EVENT_DATA ext;
	const DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT ev;

	ev_next(file, line, evd, &ev);
	d = dto_of(&ev);
	memcpy(&ext, ev.event_extension_data, sizeof(ext));
	if ((int)ev.event_number != DAT_IB_DTO_EVENT)
		dt_fail(file, line, "event %#x, expected DAT_IB_DTO_EVENT",
			(unsigned int)ev.event_number);
	if (d->ep_handle != ep || d->user_cookie.as_64 != cookie)
		dt_fail(file, line, "ep_handle %p cookie %llu, expected %p %llu", d->ep_handle,
			(unsigned long long)d->user_cookie.as_64, ep, (unsigned long long)cookie);
	if (d->status != status || ext.status != (status ? DAT_IB_OP_ERR : DAT_OP_SUCCESS))
		dt_fail(file, line, "status %d and %d, expected %d", (int)d->status,
			(int)ext.status, (int)status);
	if ((int)d->operation != (int)op || ext.type != types[op])
		dt_fail(file, line, "operation %d type %d, expected %d %d", (int)d->operation,
			(int)ext.type, (int)op, (int)types[op]);
	if (!status && d->transfered_length != len)
		dt_fail(file, line, "length %llu, expected %llu",
			(unsigned long long)d->transfered_length, (unsigned long long)len);
	if (op == DAT_IB_DTO_RECV_IMMED && ext.val.immed.data != immed)
		dt_fail(file, line, "immediate data %#x, expected %#x", ext.val.immed.data, immed);
	return ext;
}

#define EV_EXT(evd_, ep_, cookie_, op_, len_) \
	check_ext(__FILE__, __LINE__, evd_, ep_, cookie_, DAT_IB_DTO_##op_, DAT_DTO_SUCCESS, len_, \
		  0)
#define EV_EXT_STATUS(evd_, ep_, cookie_, op_, status_) \
	check_ext(__FILE__, __LINE__, evd_, ep_, cookie_, DAT_IB_DTO_##op_, status_, 0, 0)
#define EV_IMMED(evd_, ep_, cookie_, len_, immed_) \
	check_ext(__FILE__, __LINE__, evd_, ep_, cookie_, DAT_IB_DTO_RECV_IMMED, DAT_DTO_SUCCESS, \
		  len_, immed_)

static inline DAT_RETURN immed_to(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET t, uint64_t cookie,
				  DAT_RMR_TRIPLET to, uint32_t immed, int flags)
{
	return dat_ib_post_rdma_write_immed(ep, 1, &t, ck(cookie), &to, immed,
					    (DAT_COMPLETION_FLAGS)flags);
}

/* Writes behind the first 4096 bytes of the target. */
static inline DAT_RETURN immed(struct side *s, struct side *target, size_t len, uint64_t cookie,
			       uint32_t data)
{
	return immed_to(s->ep, seg(&s->buf, 0, len), cookie, rem(&target->buf, 4096, len), data, 0);
}

/* The connection has ended because of an operation of a; b has read its event as well. */
static inline void pair_both_ended(struct pair *p)
{
	DAT_EVENT ev;

	EV_CONN(p->a.conn, BROKEN, p->a.ep);
	EV_NEXT(p->b.conn, &ev);
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	       ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	ASSERT_EQ(side_state(&p->a), DAT_EP_STATE_DISCONNECTED);
	ASSERT_EQ(side_state(&p->b), DAT_EP_STATE_DISCONNECTED);
}

/* Two connected endpoints; the words of each may be operated on by the other, results come to the
 * endpoint's own buffer. */
struct rig {
	struct pair p;
	struct buf words;
};

static inline void rig_open_priv(struct rig *r, int priv)
{
	pair_up(&r->p);
	buf_make(&r->words, &r->p.node, 4096, priv);
	memset(r->words.mem, 0, 4096);
}

static inline void rig_open(struct rig *r)
{
	rig_open_priv(r, PRIV_ATOMIC);
}

static inline void rig_close(struct rig *r)
{
	OK(dat_ep_free(r->p.a.ep));
	OK(dat_ep_free(r->p.b.ep));
	r->p.a.ep = r->p.b.ep = NULL;
	buf_free(&r->words);
	pair_close(&r->p);
}

#endif
