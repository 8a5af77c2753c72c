/* SPDX-License-Identifier: BSD-2-Clause */
/* How does one connection of the fabric begin and end?
 *
 * The end of a connection has an order: no post gets through any more (ep->conn is NULL), the
 * fabric flushes what it has and the completions are read, the fabric endpoint is closed. Its
 * socket, if we know it, stays open, shut down, until the peer has closed its end too: closing it
 * while data of the peer is unread would reset the connection, and with it what the peer has
 * not read yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/log.h"
#include "base/param.h"
#include "base/slab.h"
#include "cm.h"
#include "conn.h"
#include "cq.h"
#include "device.h"
#include "ep.h"
#include "link.h"
#include "progress.h"
#include "rdm/rdm.h"
#include "srq.h"
#include "tcpfd.h"
#include "word.h"

static struct dofi_slab slab = DOFI_SLAB_INIT(struct dofi_conn, 64, NULL);

static void watch(struct dofi_conn *conn, uint32_t events)
{
	struct epoll_event ev = { .events = events };

	if (conn->fd < 0)
		return;
	ev.data.u64 = dofi_progress_key(conn, DOFI_KEY_CONN);
	if (epoll_ctl(conn->ia->prog.epfd, EPOLL_CTL_ADD, conn->fd, &ev))
		dofi_log(DOFI_LOG_WARN, "a connection cannot be watched: %s", strerror(errno));
	else
		conn->watched = true;
}

static void unwatch(struct dofi_conn *conn)
{
	if (conn->watched)
		epoll_ctl(conn->ia->prog.epfd, EPOLL_CTL_DEL, conn->fd, NULL);
	conn->watched = false;
}

static void destroy(struct dofi_conn *conn)
{
	struct dofi_ia *ia = conn->ia;

	dofi_timer_cancel(&ia->timers, &conn->timer);
	dofi_cm_timer_fini(ia);
	dofi_list_remove(&conn->link);
	conn->ia = NULL;
	dofi_slab_put(&slab, conn);
}

/* Binding an endpoint, and closing it, touch both its CQs (evd.h); cm_lock held. */
static void enter_queues(struct dofi_ep *ep)
{
	struct dofi_evd *a = ep->recv_evd, *b = ep->req_evd;
	bool bare = ep->bare;

	dofi_evd_enter((uintptr_t)a < (uintptr_t)b ? a : b, bare);
	dofi_evd_enter((uintptr_t)a < (uintptr_t)b ? b : a, bare && a != b);
}

static void leave_queues(struct dofi_ep *ep)
{
	dofi_evd_leave(ep->recv_evd, ep->bare);
	dofi_evd_leave(ep->req_evd, ep->bare && ep->req_evd != ep->recv_evd);
}

static void close_fid(struct fid_ep *fid, struct dofi_ep *ep)
{
	bool entered;

	enter_queues(ep);
	entered = dofi_srx_enter(ep->obj.ia, ep->srq);
	fi_close(&fid->fid);
	dofi_srx_leave(ep->obj.ia, entered);
	leave_queues(ep);
}

/* Selective completion: operations say themselves whether they want one (see dto.c). */
static int bind_queues(struct dofi_conn *conn, struct dofi_ep *ep)
{
	struct fid *recv = &ep->recv_evd->cq->fid, *req = &ep->req_evd->cq->fid;
	int ret = fi_ep_bind(conn->fid, &ep->obj.ia->fab.eq->fid, 0);

	if (!ret && ep->srq)
		ret = fi_ep_bind(conn->fid, &ep->srq->srx->fid, 0);
	if (ret)
		return ret;
	if (recv == req)
		return fi_ep_bind(conn->fid, recv, FI_RECV | FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
	ret = fi_ep_bind(conn->fid, recv, FI_RECV);
	return ret ? ret : fi_ep_bind(conn->fid, req, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
}

/* Where the fabric's objects are ours they check what the peer may reach: see rdm.h. */
static int authorize(struct dofi_ep *ep, struct fi_info *info)
{
	const struct rdm_auth auth = { (uintptr_t)ep->pz, (uintptr_t)ep };

	/* The info's: it is freed with it. */
	free(info->ep_attr->auth_key);
	info->ep_attr->auth_key = malloc(sizeof(auth));
	info->ep_attr->auth_key_size = info->ep_attr->auth_key ? sizeof(auth) : 0;
	if (!info->ep_attr->auth_key)
		return -FI_ENOMEM;
	memcpy(info->ep_attr->auth_key, &auth, sizeof(auth));
	return 0;
}

/* How much of the EP's queues may be at the fabric at once, and what each message needs. */
static int prepare_queues(struct dofi_conn *conn, struct dofi_ep *ep, struct fi_info *info)
{
	struct dofi_fab *fab = &ep->obj.ia->fab;
	int ret = 0;

	ep->rq.depth = ep->sq.depth = ep->most_reads = UINT32_MAX;
	/* Ours have exactly the room that was asked for. */
	if (fab->row->wire) {
		info->rx_attr->size = (size_t)ep->attr.max_recv_dtos;
		ret = authorize(ep, info);
	}
	if (fab->row->device)
		ret = dofi_device_reserve(conn, ep, info);
	if (!ret && fab->worded)
		ret = dofi_words_make(fab, &ep->rq.words, ep->rq.limit ? ep->rq.room : 0,
				      true);
	if (!ret && fab->worded)
		ret = dofi_words_make(fab, &ep->sq.words, ep->sq.limit ? ep->sq.room : 0,
				      true);
	return ret;
}

int dofi_conn_open(struct dofi_ep *ep, struct fi_info *info, struct dofi_conn **out)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_conn *conn = dofi_slab_get(&slab);
	int ret;

	if (!conn)
		return -ENOMEM;
	memset(conn, 0, sizeof(*conn));
	conn->fd = -1;
	ret = dofi_cm_timer_init(ia, &conn->timer, dofi_conn_tick);
	if (ret)
		goto no_timer;
	ret = -ENOMEM;
	if (ep->srq) {
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
		/* What the endpoint takes out of the context completes by the endpoint's flags. */
		if (!ia->fab.row->device)
			info->rx_attr->op_flags |= FI_COMPLETION;
		conn->tag = dofi_tag_take(&ia->tags, ep);
		if (!conn->tag)
			goto no_fid;
	}
	ret = prepare_queues(conn, ep, info);
	if (ret)
		goto no_fid;
	ret = fi_endpoint(ia->fab.domain, info, &conn->fid, conn);
	if (ret)
		goto no_fid;
	enter_queues(ep);
	ret = bind_queues(conn, ep);
	leave_queues(ep);
	if (!ret)
		ret = fi_enable(conn->fid);
	if (ret)
		goto no_enable;
	conn->ia = ia;
	conn->ep = ep;
	dofi_list_append(&ia->conns, &conn->link);
	*out = conn;
	return 0;
no_enable:
	close_fid(conn->fid, ep);
	info->handle = NULL;
no_fid:
	dofi_device_release(conn, ep);
	if (conn->tag)
		dofi_tag_drop(&ia->tags, conn->tag);
	dofi_cm_timer_fini(ia);
no_timer:
	dofi_slab_put(&slab, conn);
	return ret;
}

void dofi_conn_set_reads(struct dofi_conn *conn, unsigned int served)
{
	struct dofi_ep *ep = conn->ep;
	unsigned int most = (unsigned int)ep->attr.max_rdma_read_out;

	/* Software fabrics serve as many as there are. */
	if (!conn->ia->fab.row->device)
		return;
	if (served < most)
		most = served;
	dofi_lock(&ep->lock);
	ep->most_reads = most ? most : 1;
	dofi_unlock(&ep->lock);
}

void dofi_conn_find_socket(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	union dofi_addr peer = ep->remote;

	if (!conn->ia->fab.row->tcp_quirks || conn->fd >= 0)
		return;
	dofi_addr_set_port(&peer.sa, ep->remote_port);
	conn->fd = dofi_tcpfd_of_ep(conn->fid, &peer, ep->active);
}

void dofi_conn_read_name(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	union dofi_addr name;
	size_t len = sizeof(name);

	memset(&name, 0, sizeof(name));
	if (fi_getname(&conn->fid->fid, &name, &len))
		name = conn->ia->fab.addr;
	dofi_lock(&ep->lock);
	ep->local_port = dofi_addr_port(&name.sa);
	dofi_addr_set_port(&name.sa, 0);
	ep->local = name;
	dofi_unlock(&ep->lock);
}

void dofi_conn_established(struct dofi_conn *conn)
{
	dofi_conn_read_name(conn);
	conn->up = true;
	if (!conn->ia->fab.row->tcp_quirks)
		return;
	dofi_conn_find_socket(conn);
	if (conn->fd < 0) {
		dofi_log(DOFI_LOG_INFO, "the socket of a connection was not found");
		return;
	}
	dofi_tcpfd_keepalive(conn->fd, (int)dofi_param(DOFI_NUM_KEEPALIVE_S), true);
	watch(conn, EPOLLRDHUP | EPOLLET);
}

/* libfabric before 1.18 must not be told to stop while a read response is half received: it
 * corrupts its free list. It finds out by itself, cleanly, when the socket ends. */
static void end_reads_first(struct dofi_ep *ep)
{
	for (int i = 0; i < 1000 && ep->reads_begun != atomic_load(&ep->reads_done); i++) {
		dofi_evd_service(ep->recv_evd);
		dofi_evd_service(ep->req_evd);
	}
}

/* Ends the fabric's use of the socket without ending the peer's reading; returns the socket. */
static int release_socket(struct dofi_conn *conn, struct dofi_ep *ep)
{
	int sets[2] = { ep->recv_evd->cq_fd, ep->req_evd->cq_fd };
	bool entered;
	int keep;

	if (dofi_fab_older(&conn->ia->fab, 1, 18)) {
		keep = dofi_tcpfd_take(conn->fd, sets, sets[0] == sets[1] ? 1 : 2,
				       &conn->fid->fid);
		end_reads_first(ep);
	} else {
		/* Later versions do not show their epoll sets: they shut the socket down in both
		 * directions, which loses what the peer has not read if it sends meanwhile. */
		keep = dofi_tcpfd_keep(conn->fd);
	}
	entered = dofi_srx_enter(conn->ia, ep->srq);
	fi_shutdown(conn->fid, 0);
	dofi_srx_leave(conn->ia, entered);
	return keep;
}

/* Is there a reason to keep the socket for a while? */
static bool linger(struct dofi_conn *conn, bool unsent)
{
	/* Shut down in both directions it always looks ended: only the time limit ends it. */
	if (!dofi_fab_older(&conn->ia->fab, 1, 18))
		return unsent;
	if (!dofi_tcpfd_discard(conn->fd))
		return false;
	watch(conn, EPOLLIN | EPOLLRDHUP);
	return true;
}

/* A device that closes a queue pair forgets the buffer of a shared queue that it was filling. If
 * the queue pair fails first, the buffer comes back as flushed, a moment later. */
static void give_up_shared(struct dofi_conn *conn, struct dofi_ep *ep)
{
	const struct timespec nap = { .tv_nsec = 200000 };

	fi_shutdown(conn->fid, 0);
	for (int i = 0; i < 10; i++) {
		nanosleep(&nap, NULL);
		dofi_evd_drain(ep->recv_evd);
	}
}

void dofi_conn_detach(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	uint16_t local_port = ep->local_port, remote_port = ep->remote_port;
	bool unsent;
	int keep = -1;

	dofi_lock(&ep->lock);
	conn->shut = true;
	ep->conn = NULL;
	dofi_unlock(&ep->lock);
	conn->ep = NULL;
	unwatch(conn);
	dofi_timer_cancel(&conn->ia->timers, &conn->timer);
	/* Before that nothing has been sent that the peer might lose. */
	if (conn->fd >= 0 && conn->up)
		keep = release_socket(conn, ep);
	else if (conn->ia->fab.row->wire)
		fi_shutdown(conn->fid, 0);
	else if (conn->ia->fab.row->device && ep->srq && conn->up)
		give_up_shared(conn, ep);
	dofi_evd_drain(ep->recv_evd);
	dofi_evd_drain(ep->req_evd);
	if (conn->fd >= 0)
		dofi_tcpfd_disclaim(conn->fd);
	close_fid(conn->fid, ep);
	conn->fid = NULL;
	dofi_device_release(conn, ep);
	/* What fi_close itself flushed. */
	dofi_evd_drain(ep->recv_evd);
	dofi_evd_drain(ep->req_evd);
	if (conn->tag)
		dofi_tag_drop(&conn->ia->tags, conn->tag);
	conn->tag = 0;
	conn->fd = keep;
	/* What the peer has not taken holds the end of the stream back: tell it beside. */
	unsent = keep >= 0 && dofi_tcpfd_unsent(keep);
	if (unsent)
		dofi_link_bye(conn->ia, conn->peer, local_port, remote_port);
	if (keep < 0 || !dofi_param(DOFI_NUM_LINGER_MS) || !linger(conn, unsent)) {
		dofi_conn_close(conn);
		return;
	}
	dofi_timer_arm(&conn->ia->timers, &conn->timer,
		       dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_LINGER_MS)));
	dofi_progress_ring(conn->ia);
}

/* A connection that has been detached. */
void dofi_conn_close(struct dofi_conn *conn)
{
	unwatch(conn);
	if (conn->fd >= 0)
		dofi_tcpfd_close(conn->fd);
	destroy(conn);
}

/* How many receives have been used; of an SRQ's by all its endpoints: others may be quicker to take
 * what is posted, and the messages of this one wait their turn. */
static uint32_t receives_used(const struct dofi_ep *ep)
{
	return ep->srq ? atomic_load(&ep->srq->taken)
		       : atomic_load(&ep->rq.rewound) + atomic_load(&ep->rq.head);
}

/* The peer's end is closed, yet the provider has not noticed: a message waits for a receive.
 * The consumer gets some time to post one, and more while it keeps doing so. */
static void look_after(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;

	dofi_evd_service(ep->recv_evd);
	dofi_evd_service(ep->req_evd);
	dofi_cm_read_events(conn->ia);
	if (conn->ep != ep)
		return;		/* it has noticed; the connection is over */
	if (dofi_patience_ends(&conn->patience, receives_used(ep),
			       DOFI_MS(dofi_param(DOFI_NUM_GRACE_MS)), ep->srq)) {
		dofi_log(DOFI_LOG_INFO, "the peer has gone; what it sent last was never received");
		if (conn->bye)
			dofi_cm_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED, true);
		else
			dofi_cm_break(ep);
		return;
	}
	dofi_timer_arm(&conn->ia->timers, &conn->timer, dofi_now() + DOFI_PATIENCE_TICK);
}

void dofi_conn_tick(struct dofi_timer *timer)
{
	struct dofi_conn *conn = dofi_container(timer, struct dofi_conn, timer);

	if (conn->ep)
		look_after(conn);
	else
		dofi_conn_close(conn);
}

void dofi_conn_hangup(struct dofi_ia *ia, struct dofi_conn *conn)
{
	if (conn->ia != ia || conn->fd < 0)
		return;		/* closed since epoll returned */
	if (!conn->ep) {
		if (!dofi_tcpfd_discard(conn->fd))
			dofi_conn_close(conn);
	} else if (dofi_tcpfd_peer_gone(conn->fd)) {
		look_after(conn);
	}
}

void dofi_conn_peer_lost(struct dofi_ia *ia, uint64_t peer)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->conns) {
		struct dofi_conn *conn = dofi_container(pos, struct dofi_conn, link);

		if (conn->ep && conn->peer == peer)
			dofi_timer_arm(&ia->timers, &conn->timer, dofi_now());
	}
}

void dofi_conn_bye(struct dofi_ia *ia, uint64_t peer, uint16_t local_port, uint16_t remote_port)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->conns) {
		struct dofi_conn *conn = dofi_container(pos, struct dofi_conn, link);

		if (!conn->ep || conn->peer != peer || conn->ep->local_port != local_port ||
		    conn->ep->remote_port != remote_port)
			continue;
		conn->bye = true;
		dofi_timer_arm(&ia->timers, &conn->timer, dofi_now());
	}
}

void dofi_conn_close_lingering(struct dofi_ia *ia, bool all)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &ia->conns) {
		struct dofi_conn *conn = dofi_container(pos, struct dofi_conn, link);

		if (!conn->ep && (all || !dofi_tcpfd_discard(conn->fd)))
			dofi_conn_close(conn);
	}
}
