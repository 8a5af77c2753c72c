/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of the handshake that a transport has received on a connection of its own, on their way
 * to the connection manager.
 *
 * The transport receives them in whatever thread looks at it, with its locks held; the connection
 * manager processes them with eq->lock. One inbox per domain; it belongs to the event queue of the
 * first endpoint that connects or accepts.
 */
#ifndef DOFI_RDM_INBOX_H
#define DOFI_RDM_INBOX_H

#include "msgep/cm/cm_msg.h"

/* Requests are refused while so many items are not processed. */
#define RDM_INBOX_MOST 16384

enum rdm_item_kind {
	RDM_ITEM_REQUEST,		/* `from` asks for the service point at `port` */
	RDM_ITEM_MESSAGE,		/* of `from` for the connection `to` */
	RDM_ITEM_ATTACHED,		/* the peer, `from`, uses the route for `to` from now on */
	RDM_ITEM_LOST,			/* the route has ended */
};

struct rdm_item {
	struct dofi_list link;
	enum rdm_item_kind kind;
	uint64_t route;			/* number of the transport's connection */
	uint64_t to, from;		/* connections, as the transport names them; 0: none */
	uint16_t port;
	uint16_t len;
	uint16_t spare;			/* kept, with so much room; 0: it is not */
	uint8_t data[];			/* one message of cm_msg.h */
};

/* 0 or negative. close: the event queue has let go of it, or takes eq->lock. */
int rdm_inbox_open(struct rdm_domain *domain);
void rdm_inbox_close(struct rdm_domain *domain);
/* One item more is kept for the time when there is no memory: the transport asks for one with
 * each connection. It has room for what ends one. 0 or negative. */
int rdm_inbox_spare(struct rdm_domain *domain);
/* The same for the answer to a request, which is longer, as long as it is awaited. */
int rdm_inbox_expect(struct rdm_domain *domain);
void rdm_inbox_expected(struct rdm_domain *domain);
/* False: no memory, or too many are there. Called with the transport's locks. */
bool rdm_inbox_put(struct rdm_domain *domain, const struct rdm_item *item, const void *data);
/* No completion queue watches the transport's descriptors: the event queue does. */
void rdm_inbox_watch(struct rdm_domain *domain, bool on);
/* eq->lock held: the event queue takes what comes, from now on. */
int rdm_inbox_attach(struct rdm_domain *domain, struct rdm_eq *eq);
/* The same: it takes nothing any more. */
void rdm_inbox_detach(struct rdm_domain *domain);
/* The oldest one, or NULL. */
struct rdm_item *rdm_inbox_take(struct rdm_domain *domain);
void rdm_inbox_free(struct rdm_domain *domain, struct rdm_item *item);

#endif
