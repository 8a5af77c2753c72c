/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements the connection manager around cm_route.c and cm_route_recv.c, as far as messages on
 * pairs reach it: connections without timers, sockets and events.
 */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fuzz.h"
#include "pairs.h"
#include "msgep/cm/cm_int.h"
#include "msgep/cm/inbox.h"

static struct msgep_cm cm;
static struct msgep_eq eq = { .cm = &cm };
static struct msgep_pep pep;
static struct msgep_cm_listener listener = { .cm = &cm, .pep = &pep };

/* ---------------------------------------------------------------- what they call */

void msgep_cm_arm(struct msgep_cm *of, struct dofi_timer *t, uint64_t when)
{
	(void)of;
	(void)t;
	(void)when;
}

void msgep_cm_retry_soon(struct msgep_cm *of)
{
	(void)of;
}

struct msgep_cm_conn *msgep_cm_conn_new(struct msgep_cm *of, int fd,
					const struct msgep_transport *transport,
					enum msgep_cm_state step)
{
	struct msgep_cm_conn *conn = calloc(1, sizeof(*conn));

	MUST(conn && of == &cm && fd == -1);
	conn->bufs = calloc(1, sizeof(*conn->bufs));
	MUST(conn->bufs);
	conn->cm = of;
	conn->fd = fd;
	conn->transport = transport;
	conn->state = step;
	dofi_list_append(&cm.conns, &conn->link);
	return conn;
}

static void cm_free(struct msgep_cm_conn *conn)
{
	if (conn->ep)
		conn->ep->cm = NULL;
	cm.n_routed -= conn->routed;
	dofi_list_remove(&conn->link);
	free(conn->bufs);
	free(conn);
}

static void check_bytes(const struct msgep_cm_conn *conn, const uint8_t *at, size_t len)
{
	MUST(conn->bufs->in.have <= sizeof(conn->bufs->in.buf));
	MUST(!len || at);
}

void msgep_cm_report_request(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	check_bytes(conn, msg->params, msg->params_len);
	check_bytes(conn, msg->data, msg->data_len);
	MUST(conn->route && conn->routed && conn->pep == &pep);
	MUST(msg->kind == MSGEP_CM_REQUEST && msg->transport == msgep_transport_pair.id);
	conn->state = MSGEP_CM_REQUEST_PENDING;
}

void msgep_cm_recv_answer(struct msgep_cm_conn *conn, bool again)
{
	(void)again;
	MUST(conn->state == MSGEP_CM_REQUEST_SENT && pairs_may_end(conn->ep));
	conn->state = MSGEP_CM_ENDED;
}

void msgep_cm_fail(struct msgep_cm_conn *conn, int err, const void *data, size_t len)
{
	(void)data;
	MUST(conn->state == MSGEP_CM_PATH_CHECK && err > 0 && !len && pairs_may_end(conn->ep));
	conn->state = MSGEP_CM_ENDED;
}

void msgep_cm_end_routed(struct msgep_cm_conn *conn, bool bye)
{
	conn->eof = true;
	conn->bye_received = bye;
	MUST(conn->state == MSGEP_CM_LIVE && pairs_may_end(conn->ep));
}

void msgep_cm_path_checked(struct msgep_ep *ep)
{
	MUST(ep->eq == &eq);
}

bool msgep_cm_pack(struct msgep_cm_conn *conn, struct msgep_cm_msg *msg)
{
	(void)conn;
	(void)msg;
	return false;
}

int msgep_cm_send(struct msgep_cm_conn *conn)
{
	(void)conn;
	return -1;
}

void msgep_cm_close_socket(struct msgep_cm_conn *conn)
{
	(void)conn;
}

void msgep_cm_keep_alive(int fd)
{
	(void)fd;
}

void msgep_cm_forget(struct msgep_ep *ep)
{
	if (ep->cm)
		cm_free(ep->cm);
}

int msgep_cm_attach_request(struct fid *handle, struct msgep_ep *ep)
{
	(void)handle;
	(void)ep;
	return -FI_EINVAL;
}

struct fi_ops_cm msgep_ep_cm_ops;

/* ---------------------------------------------------------------- eq_events.c */

void msgep_ep_path_checked(struct msgep_ep *ep)
{
	MUST(ep->eq == &eq);
}

void msgep_eq_forget(struct msgep_eq *of, struct fid *fid)
{
	(void)of;
	(void)fid;
}

void msgep_eq_forget_checked(struct msgep_eq *of, struct msgep_ep *ep)
{
	(void)of;
	(void)ep;
}

/* ---------------------------------------------------------------- for the target */

struct msgep_eq *pairs_cm_open(struct msgep_domain *domain)
{
	memset(&cm, 0, sizeof(cm));
	cm.eq = &eq;
	cm.process_inbox = msgep_cm_process_inbox;
	cm.epfd = epoll_create1(EPOLL_CLOEXEC);
	dofi_list_init(&cm.conns);
	dofi_list_init(&cm.inboxes);
	dofi_list_init(&cm.listeners);
	listener.transport = &msgep_transport_pair;
	listener.addr.sa.sa_family = AF_INET;
	dofi_addr_set_port(&listener.addr.sa, PAIRS_PORT);
	dofi_list_append(&cm.listeners, &listener.link);
	pthread_mutex_init(&eq.lock, NULL);
	MUST(!msgep_inbox_open(domain));
	pthread_mutex_lock(&eq.lock);
	MUST(!msgep_inbox_attach(domain, &eq));
	pthread_mutex_unlock(&eq.lock);
	return &eq;
}

void pairs_cm_set(struct msgep_ep *ep, unsigned int step, uint64_t route)
{
	static const enum msgep_cm_state steps[] = {
		MSGEP_CM_REQUEST_SENT,
		MSGEP_CM_PATH_CHECK,
		MSGEP_CM_LIVE,
		MSGEP_CM_LIVE,
	};
	struct msgep_cm_conn *conn = ep->cm;

	if (!conn) {
		conn = msgep_cm_conn_new(&cm, -1, &msgep_transport_pair, MSGEP_CM_LIVE);
		conn->ep = ep;
		conn->domain = ep->domain;
		ep->cm = conn;
	}
	conn->state = steps[step % 4];
	conn->route = route;
	conn->eof = conn->bye_received = false;
}

void pairs_cm_work(struct msgep_domain *domain)
{
	pthread_mutex_lock(&eq.lock);
	msgep_cm_process_inbox(&cm, domain);
	pthread_mutex_unlock(&eq.lock);
}

void pairs_cm_decide(void)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &cm.conns)
	{
		struct msgep_cm_conn *conn = dofi_container(pos, struct msgep_cm_conn, link);

		if (conn->state != MSGEP_CM_REQUEST_PENDING)
			continue;
		msgep_cm_send_gone(conn);
		cm_free(conn);
	}
}

void pairs_cm_close(struct msgep_domain *domain)
{
	msgep_inbox_close(domain);
	while (!dofi_list_empty(&cm.conns))
		cm_free(dofi_container(cm.conns.next, struct msgep_cm_conn, link));
	MUST(!cm.n_routed);
	dofi_timers_free(&cm.timers);
	close(cm.epfd);
	pthread_mutex_destroy(&eq.lock);
}
