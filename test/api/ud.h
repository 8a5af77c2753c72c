/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the fixture of the cases of datagram endpoints: two of one IA that have exchanged their
 * addresses. */
#ifndef TEST_UD_H
#define TEST_UD_H

#include "ext.h"

#define GRH 40
#define UD_MAX 4096

/* What an address exchange has yielded. */
struct found {
	DAT_IB_ADDR_HANDLE to;
	DAT_CONTEXT cm;
};

struct ud {
	struct pair p;
	struct found b_of_a, a_of_b; /* the address of b that a has, and the reverse */
};

DAT_EP_ATTR ud_attr(void);
void ud_open(struct ud *u);
/* The same, with the exchange of addresses: a connects, b accepts. */
void ud_up(struct ud *u);
void ud_close(struct ud *u);

DAT_RETURN ud_connect(struct ud *u, DAT_EP_HANDLE ep, DAT_COUNT size, void *priv);
/* Takes the request. */
DAT_CR_HANDLE ud_cr(struct ud *u);
/* Exchanges addresses of `from`, which connects, and b. */
void ud_exchange(struct ud *u, struct side *from, struct found *there, struct found *here);

/* Takes a connection event of a datagram endpoint and checks it; *private may be NULL. */
DAT_IB_EXTENSION_EVENT_DATA ud_event(const char *file, int line, DAT_EVD_HANDLE evd,
				     DAT_EP_HANDLE ep, int number, DAT_IB_EXT_TYPE type,
				     DAT_CONNECTION_EVENT_DATA *private);
#define UD_EVENT(evd_, ep_, number_, type_) \
	ud_event(__FILE__, __LINE__, evd_, ep_, DAT_IB_UD_CONNECTION_##number_, DAT_IB_UD_##type_, \
		 NULL)

DAT_RETURN ud_send(struct side *s, const DAT_IB_ADDR_HANDLE *to, size_t off, size_t len,
		   uint64_t cookie);
/* The source of the received message, whose event is checked. */
DAT_IB_ADDR_HANDLE ud_received(const char *file, int line, struct side *s, uint64_t cookie,
			       size_t len);
#define UD_RECEIVED(side_, cookie_, len_) ud_received(__FILE__, __LINE__, side_, cookie_, len_)
#define UD_SENT(side_, cookie_, len_) EV_EXT((side_)->req, (side_)->ep, cookie_, SEND_UD, len_)

#endif
