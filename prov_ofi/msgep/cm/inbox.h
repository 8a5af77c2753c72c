/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue of handshake messages that a transport has received on its own connection, for the
 * connection manager.
 *
 * The transport receives them in any thread that polls it, with its locks held; the connection
 * manager processes them with eq->lock held. One inbox per domain; it belongs to the event queue of
 * the first endpoint that connects or accepts.
 */
#ifndef DOFI_MSGEP_INBOX_H
#define DOFI_MSGEP_INBOX_H

#include "msgep/cm/cm_msg.h"

/* Requests are refused while this many items are queued. */
#define MSGEP_INBOX_MOST 16384

enum msgep_item_kind {
	MSGEP_ITEM_REQUEST,  /* `from` requests the service point at `port` */
	MSGEP_ITEM_MESSAGE,  /* from `from` for the connection `to` */
	MSGEP_ITEM_ATTACHED, /* the peer, `from`, now uses the route for `to` */
	MSGEP_ITEM_LOST,     /* the route has ended */
};

struct msgep_item {
	struct dofi_list link;
	enum msgep_item_kind kind;
	uint64_t route;    /* number of the transport's connection */
	uint64_t to, from; /* connections, as the transport names them; 0: none */
	uint16_t port;
	uint16_t len;
	uint16_t spare; /* size of a preallocated item; 0: freed after use */
	uint8_t data[]; /* one message of cm_msg.h */
};

/* 0 or negative. close acquires eq->lock unless the event queue has been detached. */
int msgep_inbox_open(struct msgep_domain *domain);
void msgep_inbox_close(struct msgep_domain *domain);
/* Preallocates an item for use without memory: the transport does so for each connection. It has
 * room for the messages that end one. 0 or negative. */
int msgep_inbox_spare(struct msgep_domain *domain);
/* The same for the answer to a request, which is longer, while it is expected. */
int msgep_inbox_expect(struct msgep_domain *domain);
void msgep_inbox_expected(struct msgep_domain *domain);
/* False: no memory, or the queue is full. Caller holds the transport's locks. */
bool msgep_inbox_put(struct msgep_domain *domain, const struct msgep_item *item, const void *data);
/* on: no completion queue watches the transport's descriptors, so the event queue does. */
void msgep_inbox_watch(struct msgep_domain *domain, bool on);
/* Something could not be done for lack of memory or room, and no event may follow when there is
 * some: the event queue's thread calls the transport's `retry` a millisecond later, and then at
 * growing intervals while that requests it again. Caller holds any of the transport's locks. */
void msgep_inbox_retry(struct msgep_domain *domain);
/* The event queue receives the messages. Caller holds eq->lock. */
int msgep_inbox_attach(struct msgep_domain *domain, struct msgep_eq *eq);
/* The oldest one, or NULL. */
struct msgep_item *msgep_inbox_take(struct msgep_domain *domain);
void msgep_inbox_free(struct msgep_domain *domain, struct msgep_item *item);

#endif
