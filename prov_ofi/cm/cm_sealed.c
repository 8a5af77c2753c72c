/* SPDX-License-Identifier: BSD-2-Clause */
/* Active side of the secret-protected handshake (proto/cm_seal.h): connects and checks the
 * answers. */
#include <errno.h>

#include "cm/cm_parts.h"
#include "data/cq.h"
#include "cm/diag_cm.h"
#include "object/progress_wakeup.h"

/* Maximum number of restarts of a client whose handshake a busy listener has dropped. */
#define RESTARTS 3

size_t dofi_cm_build_sealed(uint8_t *buf, struct dofi_ep *ep, struct dofi_conn *conn,
			    const union dofi_addr *to, const struct dofi_cm_msg *msg)
{
	const struct dofi_fab *fab = &ep->obj.ia->fab;
	const struct dofi_sealer by = dofi_sealer_of(fab);

	if (ep->attempt.seal.proven) {
		ep->amo.token = dofi_seal_token(&ep->attempt.seal, by.secret);
		return dofi_seal_request(&ep->attempt.seal, &by, msg->priv, msg->priv_len, buf);
	}
	conn->shut = true;
	return dofi_seal_hello(&ep->attempt.seal, msg, to, buf);
}

int dofi_cm_check_sealed(struct dofi_ep *ep, const uint8_t *data, size_t len,
			 struct dofi_cm_msg *msg)
{
	const struct dofi_sealer by = dofi_sealer_of(&ep->obj.ia->fab);
	const struct dofi_seal *seal = &ep->attempt.seal;
	int ret = seal->proven ? dofi_seal_open_answer(seal, &by, DOFI_CM_ACCEPT, data, len, msg)
			       : -EACCES;

	if (ret)
		dofi_diag_connect_unproven(ep);
	return ret;
}

static void cm_sealed_end_unproven(struct dofi_ep *ep)
{
	dofi_diag_connect_unproven(ep);
	ep->priv_len = 0;
	dofi_cm_end(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, false);
}

/* An unsealed rejection may come from any host, so its private data is ignored, and it is never
 * reported as a rejection by the peer's program. */
static bool cm_sealed_take_unsealed(struct dofi_ep *ep, unsigned int reason)
{
	struct dofi_seal *seal = &ep->attempt.seal;

	if (reason == DOFI_CM_BY_PEER) {
		cm_sealed_end_unproven(ep);
		return true;
	}
	/* A listener that has answered knows the handshake, and does not know it once the answer
	 * has expired. */
	if (!seal->proven || reason != DOFI_CM_SECRET_OTHER || seal->restarts >= RESTARTS ||
	    dofi_cm_fetches(ep))
		return false;
	seal->restarts++;
	seal->proven = false;
	dofi_cm_forget_parts(ep);
	dofi_cm_next_connection(ep, false);
	return true;
}

bool dofi_cm_rejected_sealed(struct dofi_ep *ep, const uint8_t *data, size_t len)
{
	const struct dofi_sealer by = dofi_sealer_of(&ep->obj.ia->fab);
	struct dofi_seal *seal = &ep->attempt.seal;
	struct dofi_cm_msg msg;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!by.secret || !seal->on)
		return false;
	if (!seal->proven && dofi_seal_is(DOFI_SEAL_CHALLENGED, data, len)) {
		if (dofi_seal_open_challenge(seal, by.secret, data, len))
			cm_sealed_end_unproven(ep);
		else
			dofi_cm_next_connection(ep, true);
		return true;
	}
	if (seal->proven && dofi_seal_is(DOFI_SEAL_REJECT, data, len)) {
		if (dofi_seal_open_answer(seal, &by, DOFI_CM_REJECT, data, len, &msg)) {
			cm_sealed_end_unproven(ep);
			return true;
		}
		ep->priv_len = 0;
		dofi_cm_end(ep, dofi_cm_rejected(ep, &msg), false);
		return true;
	}
	if (!dofi_cm_parse(data, len, &msg) && msg.kind == DOFI_CM_REJECT)
		return cm_sealed_take_unsealed(ep, msg.reason);
	return false;
}
