/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting a pair of members, and the end of their connection. */
#include <string.h>

#include "cm/cm.h"
#include "coll/coll_int.h"

void dofi_coll_peer_init(struct coll_peer *p, struct coll_group *g, uint32_t rank)
{
	memset(p, 0, sizeof(*p));
	p->group = g;
	p->rank = rank;
	p->sends.last = &p->sends.first;
	p->recvs.last = &p->recvs.first;
	for (uint32_t i = 0; i < COLL_TX; i++)
		p->tx_free[i] = (uint8_t)i;
	p->tx_count = COLL_TX;
}

static struct dofi_ep *peer_make_ep(struct coll_peer *p)
{
	struct dofi_coll *coll = p->group->member->coll;
	struct dofi_ia *ia = coll->ia;
	struct dofi_ep *ep = NULL;
	DAT_EP_ATTR attr;

	dofi_ep_attr_default(ia, &attr);
	attr.max_recv_dtos = COLL_RX;
	attr.max_request_dtos = 2 * COLL_TX;
	pthread_mutex_lock(&ia->cm_lock);
	if (!dofi_ep_make(ia, &attr, NULL, true, &ep)) {
		dofi_ep_set_evds(ep, coll->evd, coll->evd, coll->evd);
		ep->pz = p->group->pz;
		ep->pz->users++;
		dofi_obj_publish(&ep->obj);
		ep->obj.context.as_ptr = p;
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ep;
}

static bool peer_open(struct coll_peer *p)
{
	p->ep = peer_make_ep(p);
	if (!p->ep) {
		dofi_coll_fail(p->group, "no memory for an endpoint");
		return false;
	}
	p->state = COLL_PEER_PENDING;
	p->credits = COLL_CREDITS;
	for (uint32_t i = 0; i < COLL_RX; i++)
		dofi_coll_peer_post_recv(p, i);
	return !p->group->cause;
}

static void peer_put_hello(const struct coll_peer *p, uint8_t data[COLL_HELLO])
{
	const struct coll_group *g = p->group;
	struct coll_hello hello = { .group = g->id, .size = g->size, .rank = g->self };

	memcpy(hello.token, g->idents[p->rank].token, COLL_TOKEN);
	dofi_coll_put_hello(data, &hello);
}

bool dofi_coll_peer_connect(struct coll_peer *p, uint64_t limit_us)
{
	const struct coll_ident *to = &p->group->idents[p->rank];
	uint8_t hello[COLL_HELLO];
	const struct dofi_connect_args args = {
		.qual = to->qual,
		.timeout = (DAT_TIMEOUT)(limit_us < 0xfffffffe ? limit_us : 0xfffffffe),
		.size = COLL_HELLO,
		.priv = hello,
	};

	if (!peer_open(p))
		return false;
	peer_put_hello(p, hello);
	if (!dofi_cm_connect(p->ep, &to->addr.sa, &args))
		return true;
	dofi_coll_fail(p->group, "a member is unreachable");
	return false;
}

bool dofi_coll_peer_accept(struct coll_peer *p, DAT_CR_HANDLE cr)
{
	uint8_t hello[COLL_HELLO];

	if (!peer_open(p)) {
		dofi_cr_refuse(cr, 0, NULL);
		return false;
	}
	peer_put_hello(p, hello);
	if (!dofi_cr_accept(cr, p->ep, COLL_HELLO, hello))
		return true;
	dofi_coll_fail(p->group, "the request of a member could not be accepted");
	return false;
}

void dofi_coll_peer_destroy(struct coll_peer *p)
{
	struct dofi_coll *coll = p->group->member->coll;

	p->state = COLL_PEER_DOWN;
	p->sends.first = p->recvs.first = p->unacked = NULL;
	p->sends.last = &p->sends.first;
	p->recvs.last = &p->recvs.first;
	if (!p->ep)
		return;
	pthread_mutex_lock(&coll->ia->cm_lock);
	if (dofi_obj_retire(&p->ep->obj))
		dofi_ep_destroy(p->ep);
	dofi_coll_forget(coll, p->ep);
	pthread_mutex_unlock(&coll->ia->cm_lock);
	p->ep = NULL;
}

void dofi_coll_peer_reset(struct coll_peer *p)
{
	dofi_coll_peer_destroy(p);
	dofi_coll_peer_init(p, p->group, p->rank);
}

/* The passive side proves that it is the member that was meant. */
static bool peer_check_answer(const struct coll_peer *p, const DAT_CONNECTION_EVENT_DATA *data)
{
	const struct coll_group *g = p->group;
	struct coll_hello hello;

	return dofi_coll_get_hello(data->private_data, data->private_data_size, &hello) &&
	       !memcmp(hello.token, g->member->ident.token, COLL_TOKEN) && hello.group == g->id &&
	       hello.size == g->size && hello.rank == p->rank;
}

void dofi_coll_peer_conn_event(struct coll_peer *p, DAT_EVENT_NUMBER number,
			       const DAT_CONNECTION_EVENT_DATA *data)
{
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (p->state != COLL_PEER_PENDING)
			return;
		if (p->group->self < p->rank && !peer_check_answer(p, data)) {
			dofi_coll_fail(p->group, "another program answers for a member");
			return;
		}
		p->state = COLL_PEER_UP;
		p->group->up++;
		dofi_coll_peer_move(p);
		return;
	}
	if (p->state == COLL_PEER_PENDING && p->group->self > p->rank)
		dofi_coll_peer_reset(p);
	else if (p->state == COLL_PEER_PENDING)
		dofi_coll_fail(p->group, "a member could not be connected");
	else if (p->state == COLL_PEER_UP)
		dofi_coll_fail(p->group, "the connection to a member has ended");
}
