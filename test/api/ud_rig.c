/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates datagram endpoints, exchanges their addresses, checks their events. */
#include "ud.h"

DAT_EP_ATTR ud_attr(void)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	attr.max_recv_dtos = attr.max_request_dtos = 16;
	attr.max_recv_iov = attr.max_request_iov = 4;
	return attr;
}

void ud_open(struct ud *u)
{
	DAT_EP_ATTR attr = ud_attr();

	memset(u, 0, sizeof(*u));
	pair_open_attr(&u->p, &attr, &attr);
}

void ud_up(struct ud *u)
{
	ud_open(u);
	ud_exchange(u, &u->p.a, &u->b_of_a, &u->a_of_b);
}

void ud_close(struct ud *u)
{
	pair_close(&u->p);
}

DAT_RETURN ud_connect(struct ud *u, DAT_EP_HANDLE ep, DAT_COUNT size, void *priv)
{
	return dat_ep_connect(ep, u->p.node.attr.ia_address_ptr, u->p.qual, US_CONNECT, size, priv,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE ud_cr(struct ud *u)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_IB_EXTENSION_EVENT_DATA x;
	DAT_EVENT ev;

	EV_NEXT(u->p.cr_evd, &ev);
	ASSERT_EQ((int)ev.event_number, DAT_IB_UD_CONNECTION_REQUEST_EVENT);
	d = &ev.event_data.cr_arrival_event_data;
	ASSERT_PTR(d->sp_handle.psp_handle, u->p.psp);
	ASSERT_EQ(d->conn_qual, u->p.qual);
	memcpy(&x, ev.event_extension_data, sizeof(x));
	ASSERT_EQ(x.type, DAT_IB_UD_CONNECT_REQUEST);
	ASSERT_EQ(x.status, DAT_OP_SUCCESS);
	return d->cr_handle;
}

void ud_exchange(struct ud *u, struct side *from, struct found *there, struct found *here)
{
	DAT_IB_EXTENSION_EVENT_DATA x;

	OK(ud_connect(u, from->ep, 0, NULL));
	OK(dat_cr_accept(ud_cr(u), u->p.b.ep, 0, NULL));
	x = UD_EVENT(u->p.b.conn, u->p.b.ep, EVENT_ESTABLISHED, PASSIVE_REMOTE_AH);
	*here = (struct found){ x.remote_ah, x.context };
	x = UD_EVENT(from->conn, from->ep, EVENT_ESTABLISHED, REMOTE_AH);
	*there = (struct found){ x.remote_ah, x.context };
}

DAT_IB_EXTENSION_EVENT_DATA ud_event(const char *file, int line, DAT_EVD_HANDLE evd,
				     DAT_EP_HANDLE ep, int number, DAT_IB_EXT_TYPE type,
				     DAT_CONNECTION_EVENT_DATA *private)
{
	const DAT_CONNECTION_EVENT_DATA *d;
	DAT_IB_EXTENSION_EVENT_DATA x;
	bool error = number == DAT_IB_UD_CONNECTION_ERROR_EVENT;
	DAT_EVENT ev;

	ev_next(file, line, evd, &ev);
	d = &ev.event_data.connect_event_data;
	memcpy(&x, ev.event_extension_data, sizeof(x));
	if ((int)ev.event_number != number || x.type != type)
		dt_fail(file, line, "event %#x type %d, expected %#x %d",
			(unsigned int)ev.event_number, (int)x.type, (unsigned int)number,
			(int)type);
	if (d->ep_handle != ep || x.status != (error ? DAT_IB_OP_ERR : DAT_OP_SUCCESS))
		dt_fail(file, line, "ep_handle %p status %d, expected %p", d->ep_handle,
			(int)x.status, ep);
	if (!private && d->private_data_size)
		dt_fail(file, line, "%d bytes of private data", d->private_data_size);
	if (private)
		*private = *d;
	return x;
}

DAT_RETURN ud_send(struct side *s, const DAT_IB_ADDR_HANDLE *to, size_t off, size_t len,
		   uint64_t cookie)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, off, len);

	return dat_ib_post_send_ud(s->ep, 1, &t, to, ck(cookie), DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_IB_ADDR_HANDLE ud_received(const char *file, int line, struct side *s, uint64_t cookie,
			       size_t len)
{
	DAT_IB_EXTENSION_EVENT_DATA x = check_ext(file, line, s->recv, s->ep, cookie,
						  (DAT_IB_DTOS)DAT_IB_DTO_RECV_UD, DAT_DTO_SUCCESS,
						  GRH + len, 0);

	return x.remote_ah;
}
