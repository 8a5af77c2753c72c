/* SPDX-License-Identifier: BSD-2-Clause */
/* Listeners: the sockets of a service point, and the calls of a passive endpoint. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

/* Connections accepted per event. */
#define ACCEPTS 64
/* Pause of a listener when descriptors or memory are exhausted. */
#define ACCEPT_PAUSE DOFI_MS(50)
/* Free ports that are tried at all addresses and on both transports. */
#define PORT_TRIES 64

/* ---------------------------------------------------------------- listeners */

static void cm_listen_events(struct msgep_cm_listener *l, uint32_t events)
{
	struct epoll_event ev = { .events = events };

	ev.data.ptr = &l->source;
	epoll_ctl(l->cm->epfd, EPOLL_CTL_MOD, l->fd, &ev);
}

static void cm_listener_ready(struct msgep_cm_source *source, uint32_t events)
{
	struct msgep_cm_listener *l = dofi_container(source, struct msgep_cm_listener, source);

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		union dofi_addr peer;
		socklen_t len = sizeof(peer);
		int fd;

		memset(&peer, 0, sizeof(peer));
		fd = accept4(l->fd, l->transport->local ? NULL : &peer.sa, &len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			dofi_addr_unmap(&peer);
			msgep_cm_half_open_admit(l, dofi_forkfd(fd), &peer);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			/* The peers wait in the kernel's queue; retrying at once would spin. */
			dofi_log(DOFI_LOG_WARN, "cannot accept a connection: %s", strerror(errno));
			cm_listen_events(l, 0);
			msgep_cm_arm(l->cm, &l->timer, dofi_now() + ACCEPT_PAUSE);
			return;
		}
		/* Others concern one connection that has gone meanwhile. */
		if (errno == EAGAIN)
			return;
	}
}

static void cm_listener_resume(struct dofi_timer *timer)
{
	cm_listen_events(dofi_container(timer, struct msgep_cm_listener, timer), EPOLLIN);
}

static int cm_start_listener(struct msgep_cm_listener *l)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ret = dofi_timer_add(&l->cm->timers, &l->timer, cm_listener_resume);

	if (ret)
		return ret;
	l->fd = msgep_cm_listen_at(l->transport, &l->addr, l->pep->has_qual ? &l->pep->qual : NULL);
	if (l->fd < 0) {
		ret = l->fd;
		goto no_socket;
	}
	ev.data.ptr = &l->source;
	if (epoll_ctl(l->cm->epfd, EPOLL_CTL_ADD, l->fd, &ev)) {
		ret = -errno;
		dofi_forkfd_close(l->fd);
		goto no_socket;
	}
	dofi_addr_set_port(&l->pep->addr.sa, dofi_addr_port(&l->addr.sa));
	return 0;
no_socket:
	dofi_timer_drop(&l->cm->timers, &l->timer);
	return ret;
}

void msgep_cm_listener_free(struct msgep_cm_listener *l)
{
	struct dofi_list *lists[] = { &l->cm->half_open, &l->cm->conns }, *pos, *tmp;

	for (size_t i = 0; i < 2; i++) {
		dofi_list_each_safe(pos, tmp, lists[i])
		{
			struct msgep_cm_conn *conn =
				dofi_container(pos, struct msgep_cm_conn, link);

			if (conn->pep != l->pep)
				continue;
			conn->pep = NULL;
			if (conn->state == MSGEP_CM_HALF_OPEN)
				msgep_cm_conn_free(conn);
		}
	}
	epoll_ctl(l->cm->epfd, EPOLL_CTL_DEL, l->fd, NULL);
	/* A child made by clone(2), for which no handler runs, may have it open still. */
	if (dofi_forkfd_is_open(l->fd))
		shutdown(l->fd, SHUT_RDWR);
	dofi_forkfd_close(l->fd);
	dofi_timer_drop(&l->cm->timers, &l->timer);
	dofi_list_remove(&l->link);
	dofi_list_remove(&l->pep_link);
	free(l);
}

void msgep_cm_forget_pep(struct msgep_pep *pep)
{
	while (!dofi_list_empty(&pep->listeners))
		msgep_cm_listener_free(
			dofi_container(pep->listeners.next, struct msgep_cm_listener, pep_link));
}

/* ---------------------------------------------------------------- fi_ops_cm */

static struct msgep_pep *cm_pep_of(struct fid_pep *fid)
{
	return dofi_container(fid, struct msgep_pep, fid);
}

static int cm_listen_on(struct msgep_pep *pep, const struct msgep_transport *transport,
			const union dofi_addr *addr)
{
	struct msgep_cm *cm = pep->eq->cm;
	struct msgep_cm_listener *l = calloc(1, sizeof(*l));
	int ret;

	if (!l)
		return -FI_ENOMEM;
	l->source.ready = cm_listener_ready;
	l->cm = cm;
	l->pep = pep;
	l->transport = transport;
	l->addr = *addr;
	dofi_addr_set_port(&l->addr.sa, dofi_addr_port(&pep->addr.sa));
	if (!transport->local && dofi_addr_is_any(addr))
		dofi_addr_set_any_family(&l->addr);
	ret = cm_start_listener(l);
	if (ret) {
		free(l);
		return ret;
	}
	dofi_list_append(&cm->listeners, &l->link);
	dofi_list_append(&pep->listeners, &l->pep_link);
	return 0;
}

/* Listens on every transport of the fabric. The network comes first: it checks the address. */
static int cm_listen_at(struct msgep_pep *pep, const union dofi_addr *addr)
{
	const struct msgep_fabric *fabric = pep->fabric;
	int ret = cm_listen_on(pep, fabric->transport, addr);

	return ret || !fabric->local_transport ? ret
					       : cm_listen_on(pep, fabric->local_transport, addr);
}

static bool cm_has_vanished(int err)
{
	return err == -FI_EADDRNOTAVAIL || err == -FI_ENODEV;
}

/* Listens at all addresses of the interface that the user named, except those that it has lost. */
static int cm_listen_at_each(struct msgep_pep *pep, const struct dofi_fab *fab)
{
	char text[INET6_ADDRSTRLEN];
	int ret = 0;

	for (size_t i = 0; i < fab->n_addrs; i++) {
		ret = cm_listen_at(pep, &fab->addrs[i]);
		if (ret && !cm_has_vanished(ret))
			return ret;
		if (ret)
			dofi_log(DOFI_LOG_WARN, "does not listen at %s: %s has no such address now",
				 msgep_cm_addr_text(&fab->addrs[i], text, sizeof(text)),
				 fab->netdev);
	}
	return dofi_list_empty(&pep->listeners) ? ret : 0;
}

/* Listens at every address, or at none. */
static int cm_listen_on_all(struct msgep_pep *pep)
{
	const struct dofi_fab *fab = pep->fabric->fab;
	bool each = fab->n_addrs && dofi_addr_same_host(&pep->addr.sa, &fab->addr.sa);
	int ret = each ? cm_listen_at_each(pep, fab) : cm_listen_at(pep, &pep->addr);

	if (ret)
		msgep_cm_forget_pep(pep);
	return ret;
}

/* A port that the kernel picks is free at one address, and may be taken at another or on the other
 * transport. */
static int cm_listen_now(struct msgep_pep *pep)
{
	union dofi_addr wanted = pep->addr;
	int ret = -FI_EADDRINUSE;

	if (!dofi_list_empty(&pep->listeners))
		return -FI_EINVAL;
	for (int i = 0; i < PORT_TRIES && ret == -FI_EADDRINUSE; i++) {
		pep->addr = wanted;
		ret = cm_listen_on_all(pep);
		if (dofi_addr_port(&wanted.sa))
			break;
	}
	if (ret)
		pep->addr = wanted;
	return ret;
}

static int cm_pep_listen(struct fid_pep *fid)
{
	struct msgep_pep *pep = cm_pep_of(fid);
	struct msgep_domain *domain = pep->fabric->domain;
	int ret = 0;

	if (!pep->eq)
		return -FI_ENOEQ;
	pthread_mutex_lock(&pep->eq->lock);
	/* The reaper of the transport's own listeners starts with the first service point. */
	if (domain)
		ret = msgep_inbox_attach(domain, pep->eq);
	if (!ret)
		ret = cm_listen_now(pep);
	pthread_mutex_unlock(&pep->eq->lock);
	return ret;
}

static int cm_pep_reject(struct fid_pep *fid, struct fid *handle, const void *param, size_t len)
{
	struct msgep_pep *pep = cm_pep_of(fid);
	struct msgep_cm_conn *conn;
	int ret = 0;

	if (!handle || handle->fclass != FI_CLASS_CONNREQ || len > MSGEP_CM_DATA || !pep->eq)
		return -FI_EINVAL;
	conn = msgep_cm_conn_of(handle);
	pthread_mutex_lock(&pep->eq->lock);
	if (conn->state != MSGEP_CM_REQUEST_PENDING || conn->ep)
		ret = -FI_EINVAL;
	else
		msgep_cm_refuse(conn, param, len);
	pthread_mutex_unlock(&pep->eq->lock);
	return ret;
}

static int cm_pep_getname(struct fid *fid, void *addr, size_t *len)
{
	struct msgep_pep *pep = dofi_container(fid, struct msgep_pep, fid.fid);
	size_t room = *len;

	*len = dofi_addr_len(&pep->addr.sa);
	memcpy(addr, &pep->addr, room < *len ? room : *len);
	return room < *len ? -FI_ETOOSMALL : 0;
}

struct fi_ops_cm msgep_pep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = cm_pep_getname,
	.listen = cm_pep_listen,
	.reject = cm_pep_reject,
};
