/* SPDX-License-Identifier: BSD-2-Clause */
/* Begin and end of a connection: its parameters, and the last message of a side. */
#include <errno.h>
#include <string.h>

#include "base/be_bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "msgep/rdm/rdm_int.h"

/* ---- handshake ---- */

/* The connection of an endpoint; created by the first call, get_params or set_peer_params. */
static struct rdm_conn *rdm_own_conn(struct msgep_ep *ep)
{
	if (!ep->w.conn)
		ep->w.conn = rdm_conn_get(rdm_net_of(ep->domain), ep);
	return ep->w.conn;
}

int rdm_get_params(struct msgep_ep *ep, bool active, struct msgep_params *out)
{
	struct rdm_net *net = rdm_net_of(ep->domain);
	struct rdm_conn *conn;
	uint8_t *p = out->data;

	(void)active;
	if (net->name_len > RDM_NAME_MAX)
		return -FI_ETOOSMALL;
	dofi_lock(&ep->domain->transport_lock);
	conn = rdm_own_conn(ep);
	if (conn && ep->rx_cq && msgep_cq_is_shared(ep->rx_cq))
		conn->keep_order = true;
	dofi_unlock(&ep->domain->transport_lock);
	if (!conn)
		return -FI_ENOMEM;
	p = dofi_put_be(p, RDM_VERSION, 1);
	p = dofi_put_be(p, net->name_len, 1);
	p = dofi_put_be(p, net->window, 2);
	p = dofi_put_be(p, net->packet_size, 4);
	p = dofi_put_be(p, net->large.size, 4);
	p = dofi_put_be(p, net->copied, 4);
	p = dofi_put_be(p, conn->index, 4);
	p = dofi_put_be(p, conn->generation, 4);
	p = dofi_put_be(p, conn->token, 8);
	memcpy(p, net->name, net->name_len);
	out->len = (uint16_t)(RDM_PARAMS_HDR + net->name_len);
	out->fd = -1;
	return 0;
}

static int rdm_check_params(const struct msgep_params *in)
{
	uint32_t window, packet, large;
	size_t name;

	if (in->len > MSGEP_PARAMS_MAX || in->len <= RDM_PARAMS_HDR || in->data[0] != RDM_VERSION)
		return -FI_EINVAL;
	name = in->data[1];
	window = (uint32_t)dofi_get_be(in->data + 2, 2);
	packet = (uint32_t)dofi_get_be(in->data + 4, 4);
	large = (uint32_t)dofi_get_be(in->data + 8, 4);
	if (name > RDM_NAME_MAX || name != in->len - (size_t)RDM_PARAMS_HDR || !window ||
	    window > RDM_WINDOW_MAX || packet < 2 * RDM_PACKET_HDR || packet > RDM_PACKET_MAX ||
	    (large && large < packet) || large > RDM_LARGE_MAX)
		return -FI_EINVAL;
	return 0;
}

/* An address of another format or length does not belong to this provider. */
static bool rdm_is_valid_name(const struct rdm_net *net, const uint8_t *name, size_t len)
{
	uint32_t format = net->inner.info->addr_format;

	if (len != net->name_len)
		return false;
	if (format != FI_SOCKADDR && format != FI_SOCKADDR_IN && format != FI_SOCKADDR_IN6)
		return true;
	return len >= sizeof(sa_family_t) && !memcmp(name, net->name, sizeof(sa_family_t));
}

static int rdm_parse_params(struct rdm_conn *conn, const struct msgep_params *in)
{
	struct rdm_net *net = conn->net;
	uint32_t packet = (uint32_t)dofi_get_be(in->data + 4, 4);
	uint32_t large = (uint32_t)dofi_get_be(in->data + 8, 4);
	uint32_t copied = (uint32_t)dofi_get_be(in->data + 12, 4);
	char text[DOFI_ADDR_TEXT];
	int ret;

	if (copied != net->copied) {
		dofi_log(DOFI_LOG_WARN,
			 "rejected %s: expected a libfabric that copies messages of up to %u "
			 "bytes, got one with a limit of %u; try: libfabric from 1.18 on both "
			 "sides, or before 1.18 on both; unset FI_OFI_RXM_BUFFER_SIZE in programs "
			 "that use libfabric themselves",
			 dofi_peer_text(&conn->ep->peer, text), net->copied, copied);
		return -FI_EINVAL;
	}
	if (conn->has_peer_params ||
	    !rdm_is_valid_name(net, in->data + RDM_PARAMS_HDR, in->data[1]))
		return -FI_EINVAL;
	ret = rdm_peer_get(net, in->data + RDM_PARAMS_HDR, in->data[1], &conn->peer);
	if (ret)
		return ret;
	conn->peer_window = (uint32_t)dofi_get_be(in->data + 2, 2);
	conn->payload =
		(packet < net->packet_size ? packet : net->packet_size) - (uint32_t)RDM_PACKET_HDR;
	if (large > net->large.size)
		large = net->large.size;
	conn->large_payload = large ? large - (uint32_t)RDM_PACKET_HDR : 0;
	conn->peer_index = (uint32_t)dofi_get_be(in->data + 16, 4);
	conn->peer_generation = (uint32_t)dofi_get_be(in->data + 20, 4);
	conn->peer_token = dofi_get_be(in->data + 24, 8);
	atomic_store(&conn->has_peer_params, true);
	/* The peer may have sent something meanwhile. */
	rdm_credit_if_due(conn);
	rdm_large_update(conn);
	rdm_large_grant(net);
	if (rdm_probe_due(conn))
		rdm_send_credit(conn);
	rdm_list_owing(conn);
	return 0;
}

int rdm_set_peer_params(struct msgep_ep *ep, bool active, struct msgep_params *in)
{
	struct rdm_conn *conn;
	int ret = rdm_check_params(in);

	(void)active;
	if (ret) {
		dofi_log(DOFI_LOG_DEBUG, "rejected connection parameters of %u bytes", in->len);
		return ret;
	}
	dofi_lock(&ep->domain->transport_lock);
	conn = rdm_own_conn(ep);
	ret = conn ? rdm_parse_params(conn, in) : -FI_ENOMEM;
	dofi_unlock(&ep->domain->transport_lock);
	return ret;
}

void rdm_conn_end(struct msgep_ep *ep)
{
	if (!ep->w.conn)
		return;
	dofi_lock(&ep->domain->transport_lock);
	rdm_conn_close(ep->w.conn);
	ep->w.conn = NULL;
	dofi_unlock(&ep->domain->transport_lock);
}

/* ---- the end ---- */

size_t rdm_finish(struct msgep_ep *ep, uint8_t *out)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn)
		return 0;
	dofi_lock(&ep->domain->transport_lock);
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		out = dofi_put_be(out, conn->sent[ch], 4);
	out = dofi_put_be(out, conn->arrived, 4);
	dofi_put_be(out, conn->acks, 4);
	dofi_unlock(&ep->domain->transport_lock);
	return RDM_BYE;
}

void rdm_finished(struct msgep_ep *ep, const uint8_t *in, size_t len)
{
	struct rdm_conn *conn = ep->w.conn;
	bool sound = len == RDM_BYE;

	if (!conn)
		return;
	dofi_lock(&ep->domain->transport_lock);
	for (int ch = 0; sound && ch < MSGEP_CHANNELS; ch++) {
		conn->final[ch] = (uint32_t)dofi_get_be(in + 4 * ch, 4);
		conn->end_at[ch] = conn->expected[ch];
		sound = conn->final[ch] - conn->expected[ch] <= conn->net->window;
	}
	conn->end_since = dofi_now();
	sound = sound && rdm_confirm(conn, (uint32_t)dofi_get_be(in + 4 * MSGEP_CHANNELS, 4));
	if (sound)
		rdm_acknowledged(conn, (uint32_t)dofi_get_be(in + 4 * MSGEP_CHANNELS + 4, 4));
	conn->ended = sound;
	atomic_store(&conn->peer_gone, true);
	if (!sound)
		rdm_violate(conn);
	dofi_unlock(&ep->domain->transport_lock);
}

/* What was sent before the end may not have been read from the fabric yet. */
static void rdm_read_all(struct msgep_domain *domain)
{
	unsigned int rounds = 64;

	dofi_lock(&domain->transport_lock);
	while (rdm_poll(rdm_net_of(domain)) && --rounds)
		;
	dofi_unlock(&domain->transport_lock);
}

/* True if the peer's last packet may still arrive: the limit is RDM_GAP_MS without progress. */
static bool rdm_more_expected(struct rdm_conn *conn)
{
	bool missing = false, moved = false;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		missing |= conn->expected[ch] != conn->final[ch];
		moved |= conn->expected[ch] != conn->end_at[ch];
		conn->end_at[ch] = conn->expected[ch];
	}
	if (moved)
		conn->end_since = dofi_now();
	return missing && dofi_now() - conn->end_since < DOFI_MS(RDM_GAP_MS);
}

bool rdm_drained(struct msgep_ep *ep, bool died)
{
	struct rdm_conn *conn = ep->w.conn;

	if (!conn || conn->violated)
		return true;
	if (died) {
		atomic_store(&conn->peer_gone, true);
		atomic_store(&conn->peer_died, true);
	}
	rdm_read_all(ep->domain);
	if (rdm_next(conn, MSGEP_REQ) || rdm_next(conn, MSGEP_ANS) || rdm_acks_arrived(conn)) {
		conn->end_since = dofi_now();
		return false;
	}
	if (died || conn->broken)
		return true;
	return conn->ended && !rdm_more_expected(conn);
}
