/* SPDX-License-Identifier: BSD-2-Clause */
/* Active side of connection messages in parts (proto/cm_part.h): sends the parts of a request and
 * fetches those of an answer, with a connection of the fabric for each. */
#include <errno.h>
#include <string.h>

#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "proto/cm_part.h"

/* Maximum number of times that a busy listener may have dropped parts of the attempt. */
#define RESTARTS 3

static size_t parts_build_get(struct dofi_ep *ep, struct dofi_conn *conn, uint8_t *buf, size_t room)
{
	const struct dofi_cm_whole *answer = &ep->attempt.answer;
	struct dofi_cm_part part = { .kind = DOFI_CM_GET,
				     .token = answer->token,
				     .at = answer->have };

	/* Only the connection of the last part can be accepted. */
	conn->shut = (size_t)(answer->total - answer->have) > room - DOFI_CM_PART_HDR;
	return dofi_cm_part_build(buf, room, &part);
}

size_t dofi_cm_next_part(struct dofi_ep *ep, struct dofi_conn *conn, uint8_t *buf, size_t len)
{
	size_t room = ep->obj.ia->fab.desc->cm_data;
	struct dofi_cm_part part = { .kind = DOFI_CM_PUT, .total = (uint16_t)len };
	uint8_t whole[DOFI_CM_MAX];

	if (dofi_cm_fetches(ep))
		return parts_build_get(ep, conn, buf, room);
	if (len <= room)
		return len;
	if (!ep->attempt.put_token)
		ep->attempt.put_token = dofi_cm_part_token();
	if (!ep->attempt.put_token)
		return 0;
	memcpy(whole, buf, len);
	part.data = whole;
	part.token = ep->attempt.put_token;
	part.at = ep->attempt.put;
	len = dofi_cm_part_build(buf, room, &part);
	ep->attempt.sent = (uint16_t)(part.at + part.len);
	conn->shut = ep->attempt.sent < part.total;
	return len;
}

/* The listener has `have` bytes of the request. False: it cannot have as many, or keeps dropping
 * them. */
static bool parts_take_got(struct dofi_ep *ep, const struct dofi_cm_part *part)
{
	if (part->token != ep->attempt.put_token || part->at > ep->attempt.sent ||
	    dofi_cm_fetches(ep))
		return false;
	if (part->at != ep->attempt.sent && ++ep->attempt.restarts > RESTARTS)
		return false;
	ep->attempt.put = part->at;
	return true;
}

/* The request is not needed any more: its private data makes room for the answer. */
static int parts_take_have(struct dofi_ep *ep, const struct dofi_cm_part *part)
{
	struct dofi_cm_whole *answer = &ep->attempt.answer;

	/* A listener must not begin again. */
	if (answer->token && part->at != answer->have)
		return -EBADMSG;
	return dofi_cm_part_add(answer, ep->priv, part);
}

/* 1: the answer is complete; 0: the attempt continues; negative: an error. */
static int parts_take(struct dofi_ep *ep, const uint8_t *data, size_t len)
{
	struct dofi_cm_part part;
	int ret = dofi_cm_part_parse(data, len, &part);

	if (ret)
		return ret;
	if (part.kind == DOFI_CM_HAVE)
		return parts_take_have(ep, &part);
	return part.kind == DOFI_CM_GOT && parts_take_got(ep, &part) ? 0 : -EBADMSG;
}

static bool parts_is_one(const struct dofi_ep *ep, const uint8_t *data, size_t len)
{
	return ep->obj.ia->fab.desc->cm_parts && dofi_cm_is_part(data, len);
}

static void parts_copy_answer(struct dofi_ep *ep, const uint8_t **data, size_t *len, uint8_t *whole)
{
	*len = ep->attempt.answer.total;
	memcpy(whole, ep->priv, *len);
	*data = whole;
}

bool dofi_cm_rejected_in_part(struct dofi_ep *ep, const uint8_t **data, size_t *len, uint8_t *whole)
{
	int ret;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!parts_is_one(ep, *data, *len))
		return false;
	ret = parts_take(ep, *data, *len);
	if (ret > 0) {
		parts_copy_answer(ep, data, len, whole);
		return false;
	}
	if (ret) {
		dofi_diag_connect_failed(ep, -ret);
		ep->priv_len = 0;
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, false);
	} else {
		dofi_cm_next_connection(ep, true);
	}
	return true;
}

bool dofi_cm_accepted_in_part(struct dofi_ep *ep, const uint8_t **data, size_t *len, uint8_t *whole)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!parts_is_one(ep, *data, *len))
		return true;
	if (!dofi_cm_fetches(ep) || parts_take(ep, *data, *len) <= 0) {
		dofi_diag_connect_failed(ep, EBADMSG);
		return false;
	}
	parts_copy_answer(ep, data, len, whole);
	return true;
}
