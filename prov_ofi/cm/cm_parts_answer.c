/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers in parts (proto/cm_part.h): stored until their clients have fetched them. */
#include <string.h>

#include "cm/cm_parts.h"
#include "fabric/fab_info.h"

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

void dofi_cm_answer_free(struct dofi_ia *ia, struct dofi_cm_answer *a)
{
	if (a->ep)
		a->ep->attempt.reply = NULL;
	dofi_half_open_drop(ia, a);
}

void dofi_cm_answer_drop(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->attempt.reply)
		dofi_cm_answer_free(ep->obj.ia, ep->attempt.reply);
}

struct dofi_cm_answer *dofi_cm_answer_find(const struct dofi_listener *l,
					   const union dofi_addr *from,
					   const struct dofi_cm_part *get)
{
	struct dofi_cm_answer *a;

	for (int kind = DOFI_HALF_OPEN_REJECTION; kind <= DOFI_HALF_OPEN_ACCEPTANCE; kind++)
		for (a = NULL; (a = dofi_half_open_next(l, kind, from, a));)
			if (a->token == get->token && get->at < a->len)
				return a;
	return NULL;
}

void dofi_cm_part_reject(struct dofi_listener *l, struct fi_info *info, struct dofi_cm_part *part)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = dofi_cm_part_build(buf, l->ia->fab.desc->cm_data, part);

	fi_reject(l->pep, info->handle, buf, len);
	dofi_fab_info_free(&l->ia->fab, info);
}

struct dofi_cm_part dofi_cm_answer_part(const struct dofi_cm_answer *a, uint16_t at)
{
	return (struct dofi_cm_part){
		.kind = DOFI_CM_HAVE, .token = a->token, .total = a->len, .at = at, .data = a->msg
	};
}

void dofi_cm_answer_begin(struct dofi_cm_answer *a, struct dofi_cr *cr)
{
	struct dofi_cm_part part = dofi_cm_answer_part(a, 0);

	dofi_cm_part_reject(cr->listener, cr->info, &part);
	cr->info = NULL;
}
