/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of the handshake that a transport has received on a connection of its own, on their way
 * to the connection manager.
 *
 * The transport receives them in whatever thread looks at it, with its locks held; the connection
 * manager processes them with eq->lock. One inbox per domain; it belongs to the event queue of the
 * first endpoint that connects or accepts.
 */
#ifndef DOFI_MSGEP_INBOX_H
#define DOFI_MSGEP_INBOX_H

#include "msgep/cm/cm_msg.h"

/* Requests are refused while so many items are not processed. */
#define MSGEP_INBOX_MOST 16384

enum msgep_item_kind {
	MSGEP_ITEM_REQUEST,		/* `from` asks for the service point at `port` */
	MSGEP_ITEM_MESSAGE,		/* of `from` for the connection `to` */
	MSGEP_ITEM_ATTACHED,		/* the peer, `from`, uses the route for `to` from now on */
	MSGEP_ITEM_LOST,			/* the route has ended */
};

struct msgep_item {
	struct dofi_list link;
	enum msgep_item_kind kind;
	uint64_t route;			/* number of the transport's connection */
	uint64_t to, from;		/* connections, as the transport names them; 0: none */
	uint16_t port;
	uint16_t len;
	uint16_t spare;			/* kept, with so much room; 0: it is not */
	uint8_t data[];			/* one message of cm_msg.h */
};

/* 0 or negative. close: the event queue has let go of it, or takes eq->lock. */
int msgep_inbox_open(struct msgep_domain *domain);
void msgep_inbox_close(struct msgep_domain *domain);
/* One item more is kept for the time when there is no memory: the transport asks for one with
 * each connection. It has room for what ends one. 0 or negative. */
int msgep_inbox_spare(struct msgep_domain *domain);
/* The same for the answer to a request, which is longer, as long as it is awaited. */
int msgep_inbox_expect(struct msgep_domain *domain);
void msgep_inbox_expected(struct msgep_domain *domain);
/* False: no memory, or too many are there. Called with the transport's locks. */
bool msgep_inbox_put(struct msgep_domain *domain, const struct msgep_item *item, const void *data);
/* No completion queue watches the transport's descriptors: the event queue does. */
void msgep_inbox_watch(struct msgep_domain *domain, bool on);
/* eq->lock held: the event queue takes what comes, from now on. */
int msgep_inbox_attach(struct msgep_domain *domain, struct msgep_eq *eq);
/* The same: it takes nothing any more. */
void msgep_inbox_detach(struct msgep_domain *domain);
/* The oldest one, or NULL. */
struct msgep_item *msgep_inbox_take(struct msgep_domain *domain);
void msgep_inbox_free(struct msgep_domain *domain, struct msgep_item *item);

#endif
