/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds endpoints and ready rings to a queue. */
#include <errno.h>
#include <sys/epoll.h>

#include "base/grow.h"
#include "msgep/object/cq_eps.h"
#include "msgep/ready.h"

/* A queue for both directions has one entry: a search among all of them would make binding, and so
 * connecting, slower with each connection. */
int msgep_cq_attach(struct msgep_cq *cq, struct msgep_ep *ep)
{
	bool ok;

	if (ep->tx_cq == cq || ep->rx_cq == cq)
		return 0;
	dofi_lock(&cq->poll);
	ok = DOFI_TABLE_RESERVE(cq->eps, cq->eps_capacity, cq->n_eps + 1, 4, UINT32_MAX);
	if (ok) {
		cq->eps[cq->n_eps++] = cq->eps[cq->n_polled];
		cq->eps[cq->n_polled++] = cq->eps[cq->n_active];
		cq->eps[cq->n_active++] =
			(struct msgep_cq_ep){ .ep = ep, .last_active = cq->polls };
		msgep_cq_bind_touch(cq, ep);
	}
	dofi_unlock(&cq->poll);
	return ok ? 0 : -FI_ENOMEM;
}

/* The endpoint receives there. The second receiver requires order from the first, too; later ones
 * announce a shared queue when they connect. */
void msgep_cq_add_receiver(struct msgep_cq *cq, struct msgep_ep *newest)
{
	dofi_lock(&cq->poll);
	newest->rx_cq = cq;
	if (atomic_fetch_add(&cq->receivers, 1) != 1)
		goto out;
	for (uint32_t i = 0; i < cq->n_eps; i++) {
		struct msgep_ep *ep = cq->eps[i].ep;

		if (ep == newest || ep->rx_cq != cq || !ep->transport->keep_order)
			continue;
		dofi_lock(&ep->lock);
		if (atomic_load_explicit(&ep->state, memory_order_relaxed) == MSGEP_UP)
			ep->transport->keep_order(ep);
		dofi_unlock(&ep->lock);
	}
out:
	dofi_unlock(&cq->poll);
}

/* Moves an entry behind those that are polled; returns its new place. */
static uint32_t cq_move_back(struct msgep_cq *cq, uint32_t i)
{
	if (i < cq->n_active) {
		msgep_cq_swap(cq, i, --cq->n_active);
		i = cq->n_active;
	}
	if (i < cq->n_polled) {
		msgep_cq_swap(cq, i, --cq->n_polled);
		i = cq->n_polled;
	}
	return i;
}

void msgep_cq_stop_polling(struct msgep_cq *cq, const struct msgep_ep *ep)
{
	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_polled; i++) {
		if (cq->eps[i].ep != ep)
			continue;
		cq_move_back(cq, i);
		break;
	}
	dofi_unlock(&cq->poll);
}

void msgep_cq_rely_on_reports(struct msgep_cq *cq, struct msgep_ep *ep)
{
	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_polled && cq->n_polled > MSGEP_BUSY_LEAST; i++) {
		if (cq->eps[i].ep != ep)
			continue;
		atomic_store(&cq->has_reported, true);
		cq_move_back(cq, i);
		/* What has come before that. */
		msgep_ep_touch(ep);
		break;
	}
	dofi_unlock(&cq->poll);
}

bool msgep_cq_attach_ready(struct msgep_cq *cq, struct msgep_ready *r)
{
	bool ok = true;

	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_ready; i++)
		if (cq->ready[i] == r)
			goto out;
	ok = DOFI_TABLE_RESERVE(cq->ready, cq->ready_capacity, cq->n_ready + 1, 2, UINT32_MAX);
	if (ok)
		cq->ready[cq->n_ready++] = r;
out:
	dofi_unlock(&cq->poll);
	return ok;
}

void msgep_cq_detach_ready(struct msgep_cq *cq, const struct msgep_ready *r)
{
	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_ready; i++)
		if (cq->ready[i] == r)
			cq->ready[i--] = cq->ready[--cq->n_ready];
	dofi_unlock(&cq->poll);
}

void msgep_cq_detach(struct msgep_cq *cq, struct msgep_ep *ep)
{
	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_eps; i++) {
		if (cq->eps[i].ep != ep)
			continue;
		cq->eps[cq_move_back(cq, i)] = cq->eps[--cq->n_eps];
		msgep_cq_unbind_touch(cq, ep);
		if (ep->rx_cq == cq)
			atomic_fetch_sub(&cq->receivers, 1);
		break;
	}
	if (ep->counts_as_local)
		atomic_fetch_sub(&cq->n_local, 1);
	if (ep->transport->doorbell && ep->sock >= 0)
		epoll_ctl(cq->epfd, EPOLL_CTL_DEL, ep->sock, NULL);
	dofi_unlock(&cq->poll);
}

bool msgep_cq_add_doorbell(struct msgep_cq *cq, struct msgep_ep *ep)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ev.data.ptr = ep;
	/* EEXIST: it serves both directions. */
	return !epoll_ctl(cq->epfd, EPOLL_CTL_ADD, ep->sock, &ev) || errno == EEXIST;
}
