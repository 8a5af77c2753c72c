/* SPDX-License-Identifier: BSD-2-Clause */
/* Half-open connections: sockets whose request is not complete. There is a limit of all and one of
 * each peer, beyond which the oldest are closed, and a time after which each is.
 */
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm_int.h"

static bool cm_same_peer(const struct msgep_cm_conn *a, const struct msgep_cm_conn *b)
{
	return a->transport == b->transport && msgep_cm_same_peer(a, &b->peer, b->pid);
}

/* Counts the connections of the same peer that are not older, itself included. The list is in the
 * order of arrival. */
static unsigned int cm_count_younger(const struct msgep_cm_conn *conn)
{
	const struct dofi_list *pos;
	unsigned int n = 0;

	for (pos = &conn->link; pos != &conn->cm->half_open; pos = pos->next)
		n += cm_same_peer(dofi_container(pos, struct msgep_cm_conn, link), conn);
	return n;
}

/* Counts the connections of the same peer, and finds the oldest. */
static unsigned int cm_count_peer(const struct msgep_cm_conn *conn, struct msgep_cm_conn **oldest)
{
	unsigned int n = 0;
	struct dofi_list *pos;

	dofi_list_each(pos, &conn->cm->half_open)
	{
		struct msgep_cm_conn *other = dofi_container(pos, struct msgep_cm_conn, link);

		if (cm_same_peer(other, conn) && !n++)
			*oldest = other;
	}
	return n;
}

/* At most one log message per second, even for a flood of connections. */
static void cm_evict(struct msgep_cm_conn *conn)
{
	struct msgep_cm *cm = conn->cm;
	uint64_t now = dofi_now();
	char text[INET6_ADDRSTRLEN];

	cm->evicted++;
	if (now >= cm->evict_log_at) {
		dofi_log(DOFI_LOG_WARN,
			 "too many idle connections: closed %u, the last one from "
			 "%s:%u (process %d), which sent no request for %llu ms",
			 cm->evicted, msgep_cm_addr_text(&conn->peer, text, sizeof(text)),
			 dofi_addr_port(&conn->peer.sa), conn->pid,
			 (unsigned long long)((now - conn->started) / DOFI_MS(1)));
		cm->evicted = 0;
		cm->evict_log_at = now + DOFI_MS(1000);
	}
	msgep_cm_refuse_busy(conn);
}

/* Keeps the new connection: evicts the oldest one. */
static void cm_evict_half_open(struct msgep_cm_conn *added)
{
	struct msgep_cm *cm = added->cm;
	struct msgep_cm_conn *oldest = added;

	if (cm_count_peer(added, &oldest) > MSGEP_CM_HALF_OPEN_BURST)
		cm_evict(oldest);
	else if (cm->n_half_open > MSGEP_CM_HALF_OPEN_MAX)
		cm_evict(dofi_container(cm->half_open.next, struct msgep_cm_conn, link));
}

void msgep_cm_half_open_tick(struct msgep_cm_conn *conn)
{
	uint64_t timeout = DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS));
	char text[INET6_ADDRSTRLEN];

	if (dofi_now() - conn->started < timeout) {
		if (cm_count_younger(conn) <= MSGEP_CM_HALF_OPEN_PEER)
			msgep_cm_arm(conn->cm, &conn->timer, conn->started + timeout);
		else
			cm_evict(conn);
		return;
	}
	dofi_log(DOFI_LOG_WARN,
		 "closed idle connection from %s:%u (process %d): no %s within %ld ms "
		 "(DAPL_OFI_HALF_OPEN_MS)",
		 msgep_cm_addr_text(&conn->peer, text, sizeof(text)),
		 dofi_addr_port(&conn->peer.sa), conn->pid,
		 conn->challenged ? "proof of the secret" : "request",
		 dofi_param(DOFI_NUM_HALF_OPEN_MS));
	msgep_cm_conn_free(conn);
}

static void cm_identify(struct msgep_cm_conn *conn, const struct msgep_cm_listener *l)
{
	struct ucred cred = { .pid = -1 };
	socklen_t len = sizeof(conn->local);

	if (!conn->transport->local) {
		msgep_cm_tune(conn->fd);
		getsockname(conn->fd, &conn->local.sa, &len);
		dofi_addr_unmap(&conn->local);
		return;
	}
	len = sizeof(cred);
	getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	conn->pid = cred.pid;
	conn->local = conn->peer = l->addr;
	dofi_addr_set_port(&conn->peer.sa, 0);
	dofi_log(DOFI_LOG_DEBUG, "process %ld of user %ld connects", (long)cred.pid,
		 (long)cred.uid);
}

void msgep_cm_half_open_admit(struct msgep_cm_listener *l, int fd, const union dofi_addr *peer)
{
	struct msgep_cm *cm = l->cm;
	struct msgep_cm_conn *conn = msgep_cm_conn_new(cm, fd, l->transport, MSGEP_CM_HALF_OPEN);
	uint64_t wait;

	if (!conn) {
		dofi_log(DOFI_LOG_ERROR, "no memory for a peer that connects");
		msgep_cm_send_busy(fd, l->transport);
		dofi_forkfd_close(fd);
		return;
	}
	conn->pep = l->pep;
	if (!conn->transport->local)
		conn->peer = *peer;
	cm_identify(conn, l);
	if (msgep_cm_watch(conn, EPOLLIN | EPOLLRDHUP)) {
		dofi_log(DOFI_LOG_WARN, "no memory to wait for the request of a peer");
		msgep_cm_refuse_busy(conn);
		return;
	}
	cm_evict_half_open(conn);
	wait = DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS));
	msgep_cm_arm(cm, &conn->timer,
		     conn->started + (wait < MSGEP_CM_BURST_NS ? wait : MSGEP_CM_BURST_NS));
	msgep_cm_half_open_ready(conn, EPOLLIN);
}
