/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive side of connection messages in parts (proto/cm_part.h): collects the parts of requests,
 * and stores answers until their clients have fetched them.
 */
#include <errno.h>
#include <string.h>

#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "cm/half_open.h"
#include "data/dto_submit.h"
#include "fabric/fab_info.h"
#include "proto/cm_part.h"

struct request {
	struct dofi_half_open half_open;
	struct dofi_cm_whole whole;
	uint8_t msg[DOFI_CM_MAX];
};

struct dofi_cm_answer {
	struct dofi_half_open half_open;
	struct dofi_ep *ep; /* NULL: a rejection, or of a datagram endpoint */
	uint16_t reads_in;  /* of the request */
	uint32_t peer_conn_id;
	uint32_t token;
	uint16_t len;
	uint8_t msg[DOFI_CM_MAX];
};

static void parts_free_answer(struct dofi_ia *ia, struct dofi_cm_answer *a)
{
	if (a->ep)
		a->ep->attempt.reply = NULL;
	dofi_half_open_drop(ia, a);
}

/* Rejects the fabric's request with a part. */
static void parts_reject(struct dofi_listener *l, struct fi_info *info, struct dofi_cm_part *part)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = dofi_cm_part_build(buf, l->ia->fab.desc->cm_data, part);

	fi_reject(l->pep, info->handle, buf, len);
	dofi_fab_info_free(&l->ia->fab, info);
}

/* ---------------------------------------------------------------- requests */

static struct request *parts_find_request(const struct dofi_listener *l,
					  const union dofi_addr *from, uint32_t token)
{
	struct request *r = NULL;

	do
		r = dofi_half_open_next(l, DOFI_HALF_OPEN_REQUEST, from, r);
	while (r && r->whole.token != token);
	return r;
}

/* True: the request is complete, in `whole`. */
static bool parts_put(struct dofi_listener *l, struct fi_info *info,
		      const struct dofi_cm_part *part, size_t *len, uint8_t *whole)
{
	struct dofi_cm_part got = { .kind = DOFI_CM_GOT, .token = part->token };
	union dofi_addr from;
	struct request *r;
	uint16_t port;

	dofi_cm_read_peer(info, &from, &port);
	r = parts_find_request(l, &from, part->token);
	if (!r && !part->at) {
		r = dofi_half_open_add(l, DOFI_HALF_OPEN_REQUEST, sizeof(*r), &from, port);
		if (!r) {
			dofi_cm_refuse(l, info, DOFI_CM_RESOURCES, NULL, 0);
			return false;
		}
	}
	if (r && dofi_cm_part_add(&r->whole, r->msg, part) == 1) {
		*len = r->whole.total;
		memcpy(whole, r->msg, *len);
		dofi_half_open_drop(l->ia, r);
		return true;
	}
	got.at = r ? r->whole.have : 0;
	parts_reject(l, info, &got);
	return false;
}

/* ---------------------------------------------------------------- answers */

struct dofi_cm_answer *dofi_cm_answer_new(const struct dofi_cr *cr, struct dofi_ep *ep,
					  const uint8_t *msg, size_t len)
{
	uint32_t token = dofi_cm_part_token();
	struct dofi_cm_answer *a = NULL;

	if (token)
		a = dofi_half_open_add(cr->listener,
				       ep ? DOFI_HALF_OPEN_ACCEPTANCE : DOFI_HALF_OPEN_REJECTION,
				       sizeof(*a), &cr->remote, cr->remote_port);
	if (!a)
		return NULL;
	a->half_open.listener = cr->listener;
	cr->listener->users++;
	a->ep = ep;
	if (ep)
		ep->attempt.reply = a;
	a->token = token;
	a->reads_in = cr->msg.reads_in;
	a->peer_conn_id = cr->msg.conn_id;
	a->len = (uint16_t)len;
	memcpy(a->msg, msg, len);
	return a;
}

static struct dofi_cm_part parts_have(const struct dofi_cm_answer *a, uint16_t at)
{
	return (struct dofi_cm_part){
		.kind = DOFI_CM_HAVE, .token = a->token, .total = a->len, .at = at, .data = a->msg
	};
}

void dofi_cm_answer_begin(struct dofi_cm_answer *a, struct dofi_cr *cr)
{
	struct dofi_cm_part part = parts_have(a, 0);

	parts_reject(cr->listener, cr->info, &part);
	cr->info = NULL;
}

void dofi_cm_answer_drop(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->attempt.reply)
		parts_free_answer(ep->obj.ia, ep->attempt.reply);
}

/* The client's request for the last part is the connection. */
static void parts_accept(struct dofi_cm_answer *a, struct fi_info *info, const uint8_t *buf,
			 size_t len)
{
	struct dofi_listener *l = a->half_open.listener;
	struct fid *request = info->handle;
	struct dofi_ep *ep = a->ep;
	struct dofi_conn *conn;
	int ret = dofi_conn_open(ep, info, &conn);

	if (ret) {
		/* The fabric's endpoint may have taken over the request (cr_request_lost). */
		info->handle = request;
		dofi_cm_refuse(l, info, DOFI_CM_RESOURCES, NULL, 0);
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, true);
		return;
	}
	dofi_cm_keep_conn_id(ep, conn);
	dofi_conn_set_reads(conn, a->reads_in);
	dofi_lock(&ep->lock);
	ep->conn = conn;
	ep->peer_conn_id = a->peer_conn_id;
	dofi_dto_submit(ep);
	dofi_unlock(&ep->lock);
	ret = fi_accept(conn->fid, buf, len);
	dofi_fab_info_free(&l->ia->fab, info);
	if (ret)
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, true);
	else
		parts_free_answer(l->ia, a);
}

static struct dofi_cm_answer *parts_find_answer(struct dofi_listener *l, const struct fi_info *info,
						const struct dofi_cm_part *get)
{
	struct dofi_cm_answer *a;
	union dofi_addr from;
	uint16_t port;

	dofi_cm_read_peer(info, &from, &port);
	for (int kind = DOFI_HALF_OPEN_REJECTION; kind <= DOFI_HALF_OPEN_ACCEPTANCE; kind++)
		for (a = NULL; (a = dofi_half_open_next(l, kind, &from, a));)
			if (a->token == get->token && get->at < a->len)
				return a;
	return NULL;
}

static void parts_get(struct dofi_listener *l, struct fi_info *info, const struct dofi_cm_part *get)
{
	struct dofi_cm_answer *a = parts_find_answer(l, info, get);
	struct dofi_cm_part part;
	uint8_t buf[DOFI_CM_MAX];
	size_t len;
	bool last;

	if (!a) {
		dofi_cm_refuse(l, info, DOFI_CM_SECRET_OTHER, NULL, 0);
		return;
	}
	part = parts_have(a, get->at);
	len = dofi_cm_part_build(buf, l->ia->fab.desc->cm_data, &part);
	last = part.at + part.len == part.total;
	if (last && a->ep) {
		parts_accept(a, info, buf, len);
		return;
	}
	parts_reject(l, info, &part);
	if (last)
		parts_free_answer(l->ia, a);
}

bool dofi_cm_part_received(struct dofi_listener *l, struct fi_info *info, const uint8_t **data,
			   size_t *len, uint8_t *whole)
{
	struct dofi_cm_msg none = { .fabric = l->ia->fab.desc->wire_id };
	struct dofi_cm_part part;
	union dofi_addr from;
	uint16_t port;

	DOFI_ASSERT_LOCKED(&l->ia->cm_lock);
	if (!dofi_cm_part_parse(*data, *len, &part)) {
		if (part.kind == DOFI_CM_PUT && parts_put(l, info, &part, len, whole)) {
			*data = whole;
			return true;
		}
		if (part.kind == DOFI_CM_PUT)
			return false;
		if (part.kind == DOFI_CM_GET) {
			parts_get(l, info, &part);
			return false;
		}
	}
	dofi_cm_read_peer(info, &from, &port);
	dofi_diag_bad_message(l->ia, &from, port, *len, &none, -EBADMSG, DOFI_CM_BRIEF_VERSION);
	dofi_cm_refuse(l, info, DOFI_CM_VERSION_OTHER, NULL, 0);
	return false;
}
