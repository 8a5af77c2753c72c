/* SPDX-License-Identifier: BSD-2-Clause */
/* Passive side of connection messages in parts (proto/cm_part.h): collects the parts of requests,
 * and stores answers until their clients have fetched them.
 *
 * Clients are not authenticated yet. The number of incomplete requests is limited: if the table is
 * full, the oldest one is dropped, and its client begins again. So is the number of answers that no
 * endpoint waits for, which are rejections; their clients then learn of a rejection only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"
#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "data/dto_submit.h"
#include "fabric/fab_info.h"
#include "object/progress_wakeup.h"
#include "proto/cm_part.h"

#define REQUESTS 256
#define REJECTIONS 256

struct request {
	uint64_t until; /* 0: free */
	struct dofi_cm_whole whole;
	union dofi_addr from;
	uint16_t port; /* of the listener */
	uint8_t msg[DOFI_CM_MAX];
};

struct dofi_cm_answer {
	struct dofi_list link; /* answers, the oldest first */
	struct dofi_cm_parts *owner;
	struct dofi_listener *listener;
	struct dofi_ep *ep; /* NULL: a rejection, or of a datagram endpoint */
	uint64_t until;
	uint16_t reads_in; /* of the request */
	uint32_t peer_conn_id;
	uint32_t token;
	union dofi_addr to;
	uint16_t len;
	uint8_t msg[DOFI_CM_MAX];
};

struct dofi_cm_parts {
	struct dofi_timer timer;
	struct dofi_ia *ia;
	unsigned int next; /* request to be used next: the oldest */
	unsigned int rejections;
	struct dofi_list answers;
	struct request request[REQUESTS];
};

/* The answer is in no list yet, or belongs to no endpoint any more. */
static void parts_free_answer(struct dofi_cm_answer *a)
{
	if (a->ep)
		a->ep->attempt.reply = NULL;
	else
		a->owner->rejections--;
	dofi_list_remove(&a->link);
	dofi_listener_unref(a->listener);
	free(a);
}

static void parts_arm(struct dofi_cm_parts *p, uint64_t when)
{
	if (p->timer.when <= when)
		return;
	dofi_timer_arm(&p->ia->timers, &p->timer, when);
	dofi_progress_wakeup(p->ia);
}

static void parts_expire(struct dofi_timer *timer)
{
	struct dofi_cm_parts *p = dofi_container(timer, struct dofi_cm_parts, timer);
	uint64_t now = dofi_now(), next = DOFI_NEVER;
	struct dofi_list *pos, *tmp;

	for (unsigned int i = 0; i < REQUESTS; i++) {
		struct request *r = &p->request[i];

		if (r->until && r->until <= now)
			r->until = 0;
		else if (r->until && r->until < next)
			next = r->until;
	}
	dofi_list_each_safe(pos, tmp, &p->answers)
	{
		struct dofi_cm_answer *a = dofi_container(pos, struct dofi_cm_answer, link);

		/* An endpoint has a timer of its own. */
		if (a->ep)
			continue;
		if (a->until <= now)
			parts_free_answer(a);
		else if (a->until < next)
			next = a->until;
	}
	if (next != DOFI_NEVER)
		dofi_timer_arm(&p->ia->timers, timer, next);
}

static struct dofi_cm_parts *parts_of(struct dofi_ia *ia)
{
	struct dofi_cm_parts *p = ia->parts;

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p || dofi_cm_timer_init(ia, &p->timer, parts_expire)) {
		free(p);
		return NULL;
	}
	p->ia = ia;
	dofi_list_init(&p->answers);
	ia->parts = p;
	return p;
}

void dofi_cm_parts_fini(struct dofi_ia *ia)
{
	struct dofi_cm_parts *p = ia->parts;
	struct dofi_list *pos, *tmp;

	if (!p)
		return;
	dofi_list_each_safe(pos, tmp, &p->answers)
		parts_free_answer(dofi_container(pos, struct dofi_cm_answer, link));
	dofi_timer_cancel(&ia->timers, &p->timer);
	dofi_cm_timer_fini(ia);
	free(p);
	ia->parts = NULL;
}

static uint64_t parts_limit(void)
{
	return dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_HALF_OPEN_MS));
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

static struct request *parts_find_request(struct dofi_cm_parts *p, const struct dofi_listener *l,
					  const union dofi_addr *from, uint32_t token)
{
	for (unsigned int i = 0; i < REQUESTS; i++) {
		struct request *r = &p->request[i];

		if (r->until && r->whole.token == token && r->port == l->port &&
		    dofi_addr_same_host(&r->from.sa, &from->sa))
			return r;
	}
	return NULL;
}

static struct request *parts_new_request(struct dofi_cm_parts *p, const struct dofi_listener *l,
					 const union dofi_addr *from)
{
	struct request *r = &p->request[p->next];

	p->next = (p->next + 1) % REQUESTS;
	r->until = parts_limit();
	r->whole.token = 0;
	r->from = *from;
	r->port = l->port;
	parts_arm(p, r->until);
	return r;
}

/* True: the request is complete, in `whole`. */
static bool parts_put(struct dofi_listener *l, struct fi_info *info,
		      const struct dofi_cm_part *part, size_t *len, uint8_t *whole)
{
	struct dofi_cm_part got = { .kind = DOFI_CM_GOT, .token = part->token };
	struct dofi_cm_parts *p = parts_of(l->ia);
	union dofi_addr from;
	struct request *r;
	uint16_t port;

	if (!p) {
		dofi_cm_refuse(l, info, DOFI_CM_RESOURCES, NULL, 0);
		return false;
	}
	dofi_cm_read_peer(info, &from, &port);
	r = parts_find_request(p, l, &from, part->token);
	if (!r && !part->at)
		r = parts_new_request(p, l, &from);
	if (r && dofi_cm_part_add(&r->whole, r->msg, part) == 1) {
		*len = r->whole.total;
		memcpy(whole, r->msg, *len);
		r->until = 0;
		return true;
	}
	got.at = r ? r->whole.have : 0;
	parts_reject(l, info, &got);
	return false;
}

/* ---------------------------------------------------------------- answers */

struct dofi_cm_answer *dofi_cm_answer_new(const struct dofi_cr *cr, const uint8_t *msg, size_t len)
{
	struct dofi_cm_parts *p = parts_of(cr->obj.ia);
	struct dofi_cm_answer *a = p ? calloc(1, sizeof(*a)) : NULL;

	if (!a)
		return NULL;
	a->token = dofi_cm_part_token();
	if (!a->token) {
		free(a);
		return NULL;
	}
	a->owner = p;
	a->listener = cr->listener;
	a->to = cr->remote;
	a->reads_in = cr->msg.reads_in;
	a->peer_conn_id = cr->msg.conn_id;
	a->len = (uint16_t)len;
	memcpy(a->msg, msg, len);
	return a;
}

static void parts_limit_rejections(struct dofi_cm_parts *p)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &p->answers)
	{
		struct dofi_cm_answer *a = dofi_container(pos, struct dofi_cm_answer, link);

		if (p->rejections < REJECTIONS)
			return;
		if (!a->ep)
			parts_free_answer(a);
	}
}

static struct dofi_cm_part parts_have(const struct dofi_cm_answer *a, uint16_t at)
{
	return (struct dofi_cm_part){
		.kind = DOFI_CM_HAVE, .token = a->token, .total = a->len, .at = at, .data = a->msg
	};
}

void dofi_cm_answer_begin(struct dofi_cm_answer *a, struct dofi_cr *cr, struct dofi_ep *ep)
{
	struct dofi_cm_parts *p = a->owner;
	struct dofi_cm_part part = parts_have(a, 0);

	DOFI_ASSERT_LOCKED(&p->ia->cm_lock);
	a->ep = ep;
	a->listener->users++;
	if (ep) {
		ep->attempt.reply = a;
	} else {
		parts_limit_rejections(p);
		p->rejections++;
		a->until = parts_limit();
		parts_arm(p, a->until);
	}
	dofi_list_append(&p->answers, &a->link);
	parts_reject(cr->listener, cr->info, &part);
	cr->info = NULL;
}

void dofi_cm_answer_drop(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->attempt.reply)
		parts_free_answer(ep->attempt.reply);
}

/* The client's request for the last part is the connection. */
static void parts_accept(struct dofi_cm_answer *a, struct fi_info *info, const uint8_t *buf,
			 size_t len)
{
	struct dofi_listener *l = a->listener;
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
		parts_free_answer(a);
}

static struct dofi_cm_answer *parts_find_answer(struct dofi_listener *l, const struct fi_info *info,
						const struct dofi_cm_part *get)
{
	struct dofi_list *pos;
	union dofi_addr from;
	uint16_t port;

	if (!l->ia->parts)
		return NULL;
	dofi_cm_read_peer(info, &from, &port);
	dofi_list_each(pos, &l->ia->parts->answers)
	{
		struct dofi_cm_answer *a = dofi_container(pos, struct dofi_cm_answer, link);

		if (a->token == get->token && a->listener == l && get->at < a->len &&
		    dofi_addr_same_host(&a->to.sa, &from.sa))
			return a;
	}
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
		parts_free_answer(a);
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
