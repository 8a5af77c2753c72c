/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements the connection manager around cm_route.c, as far as messages on pairs reach it:
 * connections without timers, sockets and events.
 */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fuzz.h"
#include "pairs.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

static struct rdm_cm cm;
static struct rdm_eq eq = { .cm = &cm };
static struct rdm_pep pep;
static struct rdm_cm_listener listener = { .cm = &cm, .pep = &pep };

/* ---------------------------------------------------------------- what cm_route.c calls */

int rdm_cm_timer_init(struct rdm_cm *of, struct dofi_timer *t, void (*fire)(struct dofi_timer *))
{
	(void)of;
	(void)t;
	(void)fire;
	return 0;
}

void rdm_cm_timer_fini(struct rdm_cm *of, struct dofi_timer *t)
{
	(void)of;
	(void)t;
}

void rdm_cm_arm(struct rdm_cm *of, struct dofi_timer *t, uint64_t when)
{
	(void)of;
	(void)t;
	(void)when;
}

struct rdm_cm_conn *rdm_cm_conn_new(struct rdm_cm *of, int fd, const struct rdm_wire *wire,
				    enum rdm_cm_step step)
{
	struct rdm_cm_conn *conn = calloc(1, sizeof(*conn));

	MUST(conn && of == &cm && fd == -1);
	conn->bufs = calloc(1, sizeof(*conn->bufs));
	MUST(conn->bufs);
	conn->cm = of;
	conn->fd = fd;
	conn->wire = wire;
	conn->step = step;
	dofi_list_append(&cm.conns, &conn->link);
	return conn;
}

static void cm_free(struct rdm_cm_conn *conn)
{
	if (conn->ep)
		conn->ep->cm = NULL;
	cm.n_routed -= conn->routed;
	dofi_list_remove(&conn->link);
	free(conn->bufs);
	free(conn);
}

static void check_bytes(const struct rdm_cm_conn *conn, const uint8_t *at, size_t len)
{
	MUST(conn->bufs->in.have <= sizeof(conn->bufs->in.buf));
	MUST(!len || at);
}

void rdm_cm_give(struct rdm_cm_conn *conn, const struct rdm_cm_msg *msg)
{
	check_bytes(conn, msg->offer, msg->offer_len);
	check_bytes(conn, msg->data, msg->data_len);
	MUST(conn->route && conn->routed && conn->pep == &pep);
	MUST(msg->kind == RDM_CM_REQUEST && msg->wire == rdm_wire_pair.id);
	conn->step = RDM_CM_GIVEN;
}

void rdm_cm_take_answer(struct rdm_cm_conn *conn, bool again)
{
	(void)again;
	MUST(conn->step == RDM_CM_ASKING && pairs_may_end(conn->ep));
	conn->step = RDM_CM_ENDED;
}

void rdm_cm_fail(struct rdm_cm_conn *conn, int err, const void *data, size_t len)
{
	(void)data;
	MUST(conn->step == RDM_CM_PROVING && err > 0 && !len && pairs_may_end(conn->ep));
	conn->step = RDM_CM_ENDED;
}

void rdm_cm_peer_end(struct rdm_cm_conn *conn)
{
	MUST(conn->step == RDM_CM_LIVE && conn->over && pairs_may_end(conn->ep));
}

void rdm_cm_settled(struct rdm_ep *ep)
{
	MUST(ep->eq == &eq);
}

bool rdm_cm_pack(struct rdm_cm_conn *conn, struct rdm_cm_msg *msg)
{
	(void)conn;
	(void)msg;
	return false;
}

int rdm_cm_send(struct rdm_cm_conn *conn)
{
	(void)conn;
	return -1;
}

void rdm_cm_close_socket(struct rdm_cm_conn *conn)
{
	(void)conn;
}

void rdm_cm_keep_alive(int fd)
{
	(void)fd;
}

void rdm_cm_forget(struct rdm_ep *ep)
{
	if (ep->cm)
		cm_free(ep->cm);
}

int rdm_cm_adopt_request(struct fid *handle, struct rdm_ep *ep)
{
	(void)handle;
	(void)ep;
	return -FI_EINVAL;
}

struct fi_ops_cm rdm_ep_cm_ops;

/* ---------------------------------------------------------------- eq.c */

void rdm_ep_settled(struct rdm_ep *ep)
{
	MUST(ep->eq == &eq);
}

void rdm_eq_forget(struct rdm_eq *of, struct fid *fid)
{
	(void)of;
	(void)fid;
}

void rdm_eq_forget_settled(struct rdm_eq *of, struct rdm_ep *ep)
{
	(void)of;
	(void)ep;
}

/* ---------------------------------------------------------------- for the target */

struct rdm_eq *pairs_cm_open(struct rdm_domain *domain)
{
	memset(&cm, 0, sizeof(cm));
	cm.eq = &eq;
	cm.epfd = epoll_create1(EPOLL_CLOEXEC);
	dofi_list_init(&cm.conns);
	dofi_list_init(&cm.inboxes);
	dofi_list_init(&cm.listeners);
	listener.wire = &rdm_wire_pair;
	listener.addr.sa.sa_family = AF_INET;
	dofi_addr_set_port(&listener.addr.sa, PAIRS_PORT);
	dofi_list_append(&cm.listeners, &listener.link);
	pthread_mutex_init(&eq.lock, NULL);
	MUST(!rdm_inbox_open(domain) && !rdm_inbox_attach(domain, &eq));
	return &eq;
}

void pairs_cm_set(struct rdm_ep *ep, unsigned int step, uint64_t route)
{
	static const enum rdm_cm_step steps[] = {
		RDM_CM_ASKING, RDM_CM_PROVING, RDM_CM_LIVE, RDM_CM_LIVE,
	};
	struct rdm_cm_conn *conn = ep->cm;

	if (!conn) {
		conn = rdm_cm_conn_new(&cm, -1, &rdm_wire_pair, RDM_CM_LIVE);
		conn->ep = ep;
		conn->domain = ep->domain;
		ep->cm = conn;
	}
	conn->step = steps[step % 4];
	conn->route = route;
	conn->over = conn->bye = false;
}

void pairs_cm_work(struct rdm_domain *domain)
{
	pthread_mutex_lock(&eq.lock);
	rdm_cm_take_items(&cm, domain);
	pthread_mutex_unlock(&eq.lock);
}

void pairs_cm_decide(void)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &cm.conns) {
		struct rdm_cm_conn *conn = dofi_container(pos, struct rdm_cm_conn, link);

		if (conn->step != RDM_CM_GIVEN)
			continue;
		rdm_cm_tell_gone(conn);
		cm_free(conn);
	}
}

void pairs_cm_close(struct rdm_domain *domain)
{
	rdm_inbox_close(domain);
	while (!dofi_list_empty(&cm.conns))
		cm_free(dofi_container(cm.conns.next, struct rdm_cm_conn, link));
	MUST(!cm.n_routed);
	close(cm.epfd);
	pthread_mutex_destroy(&eq.lock);
}
