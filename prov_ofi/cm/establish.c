/* SPDX-License-Identifier: BSD-2-Clause */
/* Establishes a connection: because of the fabric's event, or of the first message of its peer.
 *
 * The message may be read before the event, which comes through another queue. A device reports the
 * former as soon as it has received it, and the latter when the kernel has processed the peer's
 * last connection message (RoCE: RTU), which may be lost. The message is reported behind
 * ESTABLISHED. The peer may have sent others, to other EPs, when it knew that this one had been
 * received, so they are reported later still, and the CQ is not read meanwhile (evd->awaited).
 *
 * It is read again when the event has been read, or after ESTABLISH_MS. Then the message shows the
 * side that has accepted that the connection is up. The other side needs the event, which has the
 * peer's answer: it reads on, and reports the message when the event comes.
 */
#include <string.h>

#include "base/probe.h"
#include "cm/cm.h"
#include "cm/diag_cm.h"
#include "data/cq.h"
#include "object/ep_state.h"
#include "object/progress_wakeup.h"

#define ESTABLISH_MS 100

void dofi_cm_push(struct dofi_ep *ep, DAT_EVENT_NUMBER number, _Atomic bool *gate)
{
	struct dofi_event e = { .number = number, .notify = true };
	DAT_CONNECTION_EVENT_DATA *d = &e.data.connect_event_data;
	struct dofi_evd *evd = dofi_ep_conn_evd(ep);

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!evd)
		return;
	d->ep_handle = ep;
	d->private_data_size = ep->priv_len;
	d->private_data = ep->priv_len ? ep->priv : NULL;
	dofi_evd_push_opening(evd, &e, gate);
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

static void cm_count_established(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_ep_slot *slot = ep->counts;
	const union dofi_addr *to = &ep->remote;

	if (ep->active) {
		DOFI_COUNT_IA(ia, CM_REP_RX);
		DOFI_COUNT_IA(ia, CM_RTU_TX);
		DOFI_COUNT_IA(ia, CM_ACTIVE_EST);
	} else {
		DOFI_COUNT_IA(ia, CM_RTU_RX);
		DOFI_COUNT_IA(ia, CM_PASSIVE_EST);
	}
	slot->family = (uint8_t)to->sa.sa_family;
	if (to->sa.sa_family == AF_INET)
		memcpy(slot->remote, &to->in.sin_addr, sizeof(to->in.sin_addr));
	else
		memcpy(slot->remote, &to->in6.sin6_addr, sizeof(to->in6.sin6_addr));
	slot->local_port = ep->local_port;
	slot->remote_port = ep->remote_port;
	slot->since = dofi_now();
}

/* The connection is established: report the event first, then completions. The consumer may read
 * the event and post before this thread continues: after the event completions are reported as they
 * arrive. Otherwise those of both queues would be reported here together, and an answer before the
 * send that it answers. */
void dofi_cm_establish(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	dofi_timer_cancel(&ep->obj.ia->timers, &ep->timer);
	dofi_conn_read_name(ep->conn);
	ep->conn->up = true;
	dofi_ep_transit(ep, DOFI_EP_ESTABLISH);
	DOFI_PROBE2(established, ep, ep->active);
	cm_count_established(ep);
	dofi_diag_connected(ep);
	dofi_cm_push(ep, DAT_CONNECTION_EVENT_ESTABLISHED, &ep->open);
	dofi_dto_open(ep);
}

bool dofi_cm_resume(struct dofi_evd *evd, bool at_once)
{
	struct dofi_ia *ia = evd->obj.ia;
	uint64_t since = 0;
	struct dofi_ep *ep = dofi_cq_awaited(evd, &since);

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	if (!ep)
		return true;
	if ((ep->state == DAT_EP_STATE_COMPLETION_PENDING ||
	     ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) &&
	    !at_once && dofi_now() < since + DOFI_MS(ESTABLISH_MS))
		return false;
	if (ep->state == DAT_EP_STATE_COMPLETION_PENDING && ep->conn) {
		ep->priv_len = 0;
		dofi_cm_establish(ep);
	}
	dofi_cq_resume(evd);
	/* The thread may have passed over the CQ. */
	dofi_progress_wakeup(ia);
	return true;
}
