/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection requests: receiving, checking, reporting, refusing, and attaching to an endpoint. */
#include <errno.h>
#include <string.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "fabric/fab_info.h"
#include "msgep/cm/cm_int.h"

static struct fi_info *cm_request_info(struct msgep_cm_conn *conn)
{
	struct fi_info *info =
		dofi_own_info_copy(conn->pep->fabric->fab->info, &conn->local, &conn->peer);

	if (!info)
		return NULL;
	info->handle = &conn->handle;
	if (conn->dscp)
		info->tx_attr->tclass = fi_tc_dscp_set(conn->dscp);
	return info;
}

void msgep_cm_refuse_busy(struct msgep_cm_conn *conn)
{
	const struct msgep_cm_msg busy = { .kind = MSGEP_CM_BUSY,
					   .transport = conn->transport->id };

	if (conn->route)
		msgep_cm_send_last(conn, &busy);
	else if (conn->fd >= 0)
		msgep_cm_send_busy(conn->fd, conn->transport);
	msgep_cm_conn_free(conn);
}

void msgep_cm_report_request(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	struct msgep_event event = { .event = FI_CONNREQ, .fid = &conn->pep->fid.fid };

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	conn->dscp = msg->dscp;
	if (conn->dscp && conn->fd >= 0 && !conn->transport->local)
		dofi_sock_set_dscp(conn->fd, conn->dscp);
	event.info = cm_request_info(conn);
	if (!event.info) {
		msgep_cm_refuse_busy(conn);
		return;
	}
	dofi_timer_cancel(&conn->cm->timers, &conn->timer);
	/* While the request is pending, events of the client do not matter. */
	msgep_cm_watch(conn, 0);
	msgep_cm_state(conn, MSGEP_CM_REQUEST_PENDING);
	if (!msgep_cm_post_request(conn->cm, &event, msg->data, msg->data_len)) {
		dofi_own_info_free(event.info);
		msgep_cm_refuse_busy(conn);
	}
}

/* A unix socket has the listener's address, unless the listener accepts requests for all addresses.
 * False: the client requests another address. */
static bool cm_set_local_names(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	uint16_t port = dofi_addr_port(&conn->local.sa);

	if (dofi_addr_is_any(&conn->local))
		conn->local = msg->to;
	else if (!dofi_addr_same_host(&conn->local.sa, &msg->to.sa))
		return false;
	conn->peer = conn->local;
	dofi_addr_set_port(&conn->local.sa, port);
	dofi_addr_set_port(&conn->peer.sa, msg->port);
	return true;
}

/* True if the client connects to another address than this one: a host that knows the secret may
 * only be receiving what the intended host forwards. */
static bool cm_is_passed_on(const struct msgep_cm_conn *conn, const union dofi_addr *to)
{
	return conn->cm->secret && !conn->transport->local &&
	       !dofi_addr_same_host(&conn->local.sa, &to->sa);
}

/* Answers HELLO with a challenge, which proves knowledge of the secret to the client. */
static void cm_challenge(struct msgep_cm_conn *conn, const struct msgep_cm_msg *hello)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_CHALLENGE,
				    .transport = conn->transport->id,
				    .params = conn->bufs->nonces + MSGEP_CM_NONCE,
				    .params_len = MSGEP_CM_NONCE };
	char text[MSGEP_CM_PEER_TEXT];

	if (!conn->cm->secret) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: it expects a secret; try: the same "
			 "DAPL_OFI_CM_SECRET_FILE here",
			 msgep_cm_peer_text(conn, text));
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	memcpy(conn->bufs->nonces, hello->params, MSGEP_CM_NONCE);
	conn->bufs->in.have = 0;
	/* The socket's send buffer is empty: the message fits, or the socket is unusable. */
	if (conn->challenged || !msgep_secret_nonce(conn->bufs->nonces + MSGEP_CM_NONCE) ||
	    !msgep_cm_pack(conn, &msg) || msgep_cm_send(conn) <= 0)
		msgep_cm_conn_free(conn);
	else
		conn->challenged = true;
}

/* False: the request is for another fabric or address; the reason has been logged. */
static bool cm_request_is_for_us(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg)
{
	char text[MSGEP_CM_PEER_TEXT], to[DOFI_ADDR_TEXT];

	if (msg->transport != conn->transport->id) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a peer over %s (transport %u), got one over "
			 "transport %u; try: let both sides use the same fabric "
			 "(DAPL_OFI_PROVIDER)",
			 msgep_cm_peer_text(conn, text), conn->pep->fabric->fab->desc->name,
			 conn->transport->id, msg->transport);
		return false;
	}
	if (cm_is_passed_on(conn, &msg->to)) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: it shares the secret; expected a connection to this "
			 "adapter's address, got one to %s; try: no address translation between "
			 "the two",
			 msgep_cm_peer_text(conn, text),
			 dofi_addr_text(&msg->to, 0, to, sizeof(to)));
		return false;
	}
	if (conn->transport->local && !cm_set_local_names(conn, msg)) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a connection to this adapter's address, got one "
			 "to %s (DAPL_OFI_DOMAIN)",
			 msgep_cm_peer_text(conn, text),
			 dofi_addr_text(&msg->to, 0, to, sizeof(to)));
		return false;
	}
	return true;
}

static void cm_take_request(struct msgep_cm_conn *conn)
{
	struct msgep_cm_msg msg;
	char text[MSGEP_CM_PEER_TEXT], got[MSGEP_CM_GOT_TEXT];
	int ret = msgep_cm_parse(conn->bufs->in.buf, conn->bufs->in.have, &msg);

	if (!ret && msg.kind == MSGEP_CM_HELLO) {
		cm_challenge(conn, &msg);
		return;
	}
	if (!ret)
		ret = msgep_cm_unpack(conn, &msg);
	if (ret == -EACCES || (!ret && conn->cm->secret && !conn->challenged)) {
		if (!ret)
			dofi_log(DOFI_LOG_WARN,
				 "rejected %s: it has no secret; try: the same "
				 "DAPL_OFI_CM_SECRET_FILE there",
				 msgep_cm_peer_text(conn, text));
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	if (ret || msg.kind != MSGEP_CM_REQUEST) {
		dofi_log(DOFI_LOG_WARN, "rejected %s: expected a connection request, got %s",
			 msgep_cm_peer_text(conn, text), msgep_cm_in_text(conn, ret, got));
		msgep_cm_conn_free(conn);
		return;
	}
	if (cm_request_is_for_us(conn, &msg))
		msgep_cm_report_request(conn, &msg);
	else
		msgep_cm_refuse(conn, NULL, 0);
}

void msgep_cm_half_open_ready(struct msgep_cm_conn *conn, uint32_t events)
{
	char text[MSGEP_CM_PEER_TEXT], got[MSGEP_CM_GOT_TEXT];
	int ret = msgep_cm_recv(conn, false);

	(void)events;
	if (ret > 0) {
		cm_take_request(conn);
		return;
	}
	if (!ret || ret == -EINTR)
		return;
	if (ret == -EMFILE) {
		dofi_log(DOFI_LOG_WARN,
			 "cannot take the request of %s, which has to repeat it: Too many open "
			 "files; try: ulimit -n",
			 msgep_cm_peer_text(conn, text));
		msgep_cm_send_busy(conn->fd, conn->transport);
		msgep_cm_conn_free(conn);
		return;
	}
	if (ret == -EPROTONOSUPPORT) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected version %d of the handshake, got "
			 "%s; try: the same release of this library at both sides",
			 msgep_cm_peer_text(conn, text), MSGEP_CM_VERSION,
			 msgep_cm_in_text(conn, ret, got));
		msgep_cm_refuse(conn, NULL, 0);
		return;
	}
	if (conn->challenged)
		dofi_log(DOFI_LOG_WARN,
			 "%s closed the connection: it has another secret, or "
			 "none; try: the same DAPL_OFI_CM_SECRET_FILE at both sides",
			 msgep_cm_peer_text(conn, text));
	else if (ret == -EPROTO || ret == -EBADMSG)
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a connection request over %s, got %s: it uses "
			 "another fabric or is another program; try: let both sides use the same "
			 "fabric (DAPL_OFI_PROVIDER)",
			 msgep_cm_peer_text(conn, text), conn->pep->fabric->fab->desc->name,
			 msgep_cm_in_text(conn, ret, got));
	msgep_cm_conn_free(conn);
}

void msgep_cm_refuse(struct msgep_cm_conn *conn, const void *data, size_t len)
{
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_REJECT,
				    .transport = conn->transport->id,
				    .data = data,
				    .data_len = (uint16_t)len };

	DOFI_ASSERT_LOCKED(&conn->cm->eq->lock);
	msgep_cm_close_out_fd(conn);
	if (conn->in_fd >= 0)
		dofi_forkfd_close(conn->in_fd);
	conn->in_fd = -1;
	if (!msgep_cm_pack(conn, &msg) || msgep_cm_send(conn) < 0)
		msgep_cm_conn_free(conn);
	else
		msgep_cm_linger(conn);
}

void msgep_cm_drop_request(struct fid *handle)
{
	struct msgep_cm_conn *conn = msgep_cm_conn_of(handle);

	if (conn->state == MSGEP_CM_REQUEST_PENDING && !conn->ep)
		msgep_cm_conn_free(conn);
}

static bool cm_is_of(const struct msgep_fabric *fabric, const struct msgep_transport *transport)
{
	return transport == fabric->transport || transport == fabric->local_transport;
}

int msgep_cm_attach_request(struct fid *handle, struct msgep_ep *ep)
{
	struct msgep_cm_conn *conn = msgep_cm_conn_of(handle);
	struct msgep_eq *eq;
	int ret = 0;

	if (handle->fclass != FI_CLASS_CONNREQ)
		return -FI_EINVAL;
	eq = conn->cm->eq;
	pthread_mutex_lock(&eq->lock);
	if (conn->state != MSGEP_CM_REQUEST_PENDING || conn->ep ||
	    !cm_is_of(ep->domain->fabric, conn->transport)) {
		ret = -FI_EINVAL;
	} else {
		msgep_cm_set_transport(ep, conn->transport);
		conn->ep = ep;
		ep->cm = conn;
		ep->eq = eq;
		ep->local = conn->local;
		ep->peer = conn->peer;
		ep->dscp = conn->dscp;
	}
	pthread_mutex_unlock(&eq->lock);
	return ret;
}
