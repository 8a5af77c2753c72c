/* SPDX-License-Identifier: BSD-2-Clause */
/* Describes peers and messages in log messages. */
#include <arpa/inet.h>
#include <stdio.h>

#include "msgep/cm/cm_int.h"

const char *msgep_cm_addr_text(const union dofi_addr *addr, char *buf, size_t room)
{
	const void *bytes = addr->sa.sa_family == AF_INET6 ? (const void *)&addr->in6.sin6_addr
							   : (const void *)&addr->in.sin_addr;

	if (!inet_ntop(addr->sa.sa_family, bytes, buf, (socklen_t)room))
		snprintf(buf, room, "?");
	return buf;
}

const char *msgep_cm_peer_text(const struct msgep_cm_conn *conn, char *buf)
{
	char host[INET6_ADDRSTRLEN];

	if (conn->transport->local && conn->pid)
		snprintf(buf, MSGEP_CM_PEER_TEXT, "process %ld", (long)conn->pid);
	else
		snprintf(buf, MSGEP_CM_PEER_TEXT,
			 conn->peer.sa.sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u",
			 msgep_cm_addr_text(&conn->peer, host, sizeof(host)),
			 dofi_addr_port(&conn->peer.sa));
	return buf;
}

const char *msgep_cm_in_text(const struct msgep_cm_conn *conn, int err, char *text)
{
	return msgep_cm_got_text(conn->bufs->in.buf, conn->bufs->in.have, err, text);
}
