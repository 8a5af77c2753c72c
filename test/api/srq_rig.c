/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets up an SRQ and its endpoints for a case, uses and frees them. */
#include "srq_rig.h"

DAT_SRQ_HANDLE srq_make(struct node *n, DAT_COUNT dtos, DAT_COUNT iov)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = dtos,
			      .max_recv_iov = iov,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq = NULL;

	OK(dat_srq_create(n->ia, n->pz, &attr, &srq));
	ASSERT(srq != NULL);
	return srq;
}

DAT_EP_ATTR srq_ep_attr(struct node *n)
{
	DAT_EP_ATTR attr = default_attr(n);

	attr.max_recv_dtos = DAT_HW_DEFAULT;
	attr.srq_soft_hw = DAT_HW_DEFAULT;
	return attr;
}

void side_make_srq(struct side *s, struct node *n, DAT_SRQ_HANDLE srq, DAT_EVD_HANDLE recv,
		   const DAT_EP_ATTR *attr)
{
	DAT_EP_ATTR defaults = srq_ep_attr(n);

	memset(s, 0, sizeof(*s));
	s->node = n;
	s->recv = recv ? recv : evd_make(n, 256, DAT_EVD_DTO_FLAG);
	s->req = evd_make(n, 64, DAT_EVD_DTO_FLAG);
	s->conn = evd_make(n, 8, DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create_with_srq(n->ia, n->pz, s->recv, s->req, s->conn, srq,
				  attr ? attr : &defaults, &s->ep));
	buf_make(&s->buf, n, SIDE_BUF, PRIV_ALL);
}

void hub_connect(struct hub *h, int i)
{
	struct side *a = h->flags & HUB_ACTIVE ? &h->on[i] : &h->peer[i];
	struct side *b = h->flags & HUB_ACTIVE ? &h->peer[i] : &h->on[i];

	OK(connect_to(a->ep, h->node.attr.ia_address_ptr, h->qual));
	OK(dat_cr_accept(EV_CR(h->cr_evd, h->psp, h->qual), b->ep, 0, NULL));
	EV_CONN(b->conn, ESTABLISHED, b->ep);
	EV_CONN(a->conn, ESTABLISHED, a->ep);
}

void hub_open_attr(struct hub *h, int n, DAT_COUNT dtos, int flags, const DAT_EP_ATTR *attr)
{
	int i;

	memset(h, 0, sizeof(*h));
	node_open(&h->node);
	h->n = n;
	h->flags = flags;
	h->srq = srq_make(&h->node, dtos, 4);
	buf_make(&h->mem, &h->node, (size_t)HUB_SLOT * HUB_SLOTS, PRIV_ALL);
	h->cr_evd = evd_make(&h->node, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(h->node.ia, &h->qual, h->cr_evd, DAT_PSP_CONSUMER_FLAG, &h->psp));
	for (i = 0; i < n; i++) {
		side_make_srq(&h->on[i], &h->node, h->srq,
			      i && (flags & HUB_ONE_EVD) ? h->on[0].recv : NULL, attr);
		if (flags & HUB_BOTH)
			side_make_srq(&h->peer[i], &h->node, h->srq, NULL, attr);
		else
			side_make(&h->peer[i], &h->node, NULL);
		hub_connect(h, i);
	}
}

void hub_open(struct hub *h, int n, DAT_COUNT dtos, int flags)
{
	hub_open_attr(h, n, dtos, flags, NULL);
}

void hub_disconnect(struct hub *h, int i)
{
	OK(dat_ep_disconnect(h->peer[i].ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(h->peer[i].conn, DISCONNECTED, h->peer[i].ep);
	EV_CONN(h->on[i].conn, DISCONNECTED, h->on[i].ep);
	EV_ASYNC(&h->node, h->on[i].ep, DAT_EP_TRANSFER_TO_ERROR);
}

static void free_sides(struct hub *h)
{
	int i;

	for (i = 0; i < h->n; i++) {
		if (h->on[i].ep)
			OK(dat_ep_free(h->on[i].ep));
		h->on[i].ep = NULL;
	}
	for (i = 0; i < h->n; i++) {
		if (i && (h->flags & HUB_ONE_EVD))
			h->on[i].recv = evd_make(&h->node, 1, DAT_EVD_DTO_FLAG);
		side_free(&h->on[i]);
		side_free(&h->peer[i]);
	}
}

void hub_close(struct hub *h)
{
	OK(dat_psp_free(h->psp));
	free_sides(h);
	if (h->srq)
		OK(dat_srq_free(h->srq));
	OK(dat_evd_free(h->cr_evd));
	buf_free(&h->mem);
	node_close(&h->node);
}

DAT_RETURN hub_post(struct hub *h, int slot, size_t len, uint64_t cookie)
{
	DAT_LMR_TRIPLET t = seg(&h->mem, (size_t)slot * HUB_SLOT, len);

	return dat_srq_post_recv(h->srq, 1, &t, ck(cookie));
}

void hub_send(struct hub *h, int i, size_t len, unsigned int seed)
{
	fill(h->peer[i].buf.mem, len, seed);
	OK(post_send(&h->peer[i], 0, len, seed));
	EV_DTO(h->peer[i].req, h->peer[i].ep, seed, OP_SEND, len);
}

void hub_received(const char *file, int line, struct hub *h, int i, uint64_t cookie, int slot,
		  size_t len, unsigned int seed)
{
	ev_dto(file, line, h->on[i].recv, h->on[i].ep, cookie, OP_RECV, DAT_DTO_SUCCESS, len);
	check_fill(file, line, h->mem.mem + (size_t)slot * HUB_SLOT, len, seed);
}

void srq_counts(const char *file, int line, DAT_SRQ_HANDLE srq, DAT_COUNT available,
		DAT_COUNT outstanding)
{
	DAT_SRQ_PARAM param;

	check_ret(file, line, "dat_srq_query", dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param),
		  DAT_SUCCESS);
	if (param.available_dto_count != available || param.outstanding_dto_count != outstanding)
		dt_fail(file, line, "the SRQ counts %d available, %d outstanding, not %d, %d",
			param.available_dto_count, param.outstanding_dto_count, available,
			outstanding);
}

static DAT_COUNT available_now(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	OK(dat_srq_query(srq, DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT, &param));
	return param.available_dto_count;
}

void srq_until_available(DAT_SRQ_HANDLE srq, DAT_COUNT available)
{
	DT_UNTIL(available_now(srq) == available, US_EVENT);
}

void ev_async(const char *file, int line, struct node *n, DAT_HANDLE handle, int reason)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *d;
	DAT_EVENT ev;

	ev_next(file, line, n->async, &ev);
	d = &ev.event_data.asynch_error_event_data;
	if (ev.event_number != DAT_ASYNC_ERROR_EP_BROKEN || d->dat_handle != handle ||
	    (int)d->reason != reason)
		dt_fail(file, line, "asynchronous event %#x of %p, reason %d; not of %p, %d",
			(unsigned int)ev.event_number, d->dat_handle, (int)d->reason, handle,
			reason);
}

void recv_counts(const char *file, int line, DAT_EP_HANDLE ep, DAT_COUNT nbufs)
{
	DAT_COUNT n = -7, span = -7;

	check_ret(file, line, "dat_ep_recv_query", dat_ep_recv_query(ep, &n, &span), DAT_SUCCESS);
	if (n != nbufs || span < n)
		dt_fail(file, line, "%d buffers, span %d; not %d", n, span, nbufs);
}

void srq_wait_once(void *waiter)
{
	struct srq_waiter *w = waiter;

	OK(dat_evd_wait(w->evd, US_EVENT * dt_slow(), w->threshold, &w->ev, &w->more));
	w->back = true;
}
