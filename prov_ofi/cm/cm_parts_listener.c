/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive side of connection messages in parts (proto/cm_part.h): collects the parts of requests
 * and sends those of answers. */
#include <errno.h>
#include <string.h>

#include "cm/cm_cr.h"
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
	dofi_cm_part_reject(l, info, &got);
	return false;
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
		dofi_cm_answer_free(l->ia, a);
}

static void parts_get(struct dofi_listener *l, struct fi_info *info, const struct dofi_cm_part *get)
{
	struct dofi_cm_answer *a;
	struct dofi_cm_part part;
	uint8_t buf[DOFI_CM_MAX];
	union dofi_addr from;
	uint16_t port;
	size_t len;
	bool last;

	dofi_cm_read_peer(info, &from, &port);
	a = dofi_cm_answer_find(l, &from, get);
	if (!a) {
		dofi_cm_refuse(l, info, DOFI_CM_SECRET_OTHER, NULL, 0);
		return;
	}
	part = dofi_cm_answer_part(a, get->at);
	len = dofi_cm_part_build(buf, l->ia->fab.desc->cm_data, &part);
	last = part.at + part.len == part.total;
	if (last && a->ep) {
		parts_accept(a, info, buf, len);
		return;
	}
	dofi_cm_part_reject(l, info, &part);
	if (last)
		dofi_cm_answer_free(l->ia, a);
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
