/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection parameters of the transports, which messages of the handshake carry. */
#include <string.h>

#include "base/error_text.h"
#include "base/forkfd.h"
#include "base/log.h"
#include "msgep/cm/cm_int.h"

int msgep_cm_add_params(struct msgep_cm_conn *conn, bool active, struct msgep_params *params,
			struct msgep_cm_msg *msg)
{
	int ret;

	params->len = 0;
	params->fd = -1;
	ret = conn->transport->get_params(conn->ep, active, params);
	if (ret)
		return ret;
	msg->params = params->data;
	msg->params_len = params->len;
	msg->has_fd = params->fd >= 0;
	conn->out_fd = params->fd;
	return 0;
}

int msgep_cm_set_peer_params(struct msgep_cm_conn *conn, bool active,
			     const struct msgep_cm_msg *msg)
{
	struct msgep_params params = { .len = msg->params_len, .fd = conn->in_fd };
	char text[MSGEP_CM_PEER_TEXT];
	int ret;

	memcpy(params.data, msg->params, msg->params_len);
	conn->in_fd = -1;
	ret = conn->transport->set_peer_params(conn->ep, active, &params);
	if (params.fd >= 0)
		dofi_forkfd_close(params.fd);
	if (ret)
		dofi_log(DOFI_LOG_WARN, "rejected %s: its connection parameters are unusable: %s",
			 msgep_cm_peer_text(conn, text), dofi_error_text(-ret));
	return ret;
}
