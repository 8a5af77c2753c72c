/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagram (UD) endpoints: their sockets, and address handles.
 *
 * A UD endpoint stays in the state UNCONNECTED. dat_ep_connect and dat_cr_accept exchange
 * addresses (cm/cm_ud.c), any number of times and concurrently: each dat_ep_connect is done by
 * an internal EP, the exchange, which is an active EP for the rest of cm/ and ends when the answer
 * has arrived. Messages do not use the fabric's endpoints: data/ud_message.c.
 *
 * Locks: ep->lock guards ep->ud; cm_lock the exchanges and the address handles. A send reads the
 * address of a handle without a lock (dofi_ah_address).
 */
#ifndef DOFI_UD_H
#define DOFI_UD_H

#include "dgram/dgram.h"
#include "object/ep.h"

/* InfiniBand's global routing header precedes each message in the receiver's buffer. */
#define DOFI_GRH 40

struct dofi_ud {
	struct dofi_dgram sock;
	bool backlog;               /* datagrams may be waiting for a receive */
	struct dofi_list exchanges; /* ep->exchange of EPs that connect for this one */
};

/* What an address exchange has yielded: an address handle and a context for dat_ib_ud_cm_free, each
 * of which the consumer frees. In type-stable memory: a freed handle is an error. */
#define DOFI_AH_WORDS ((sizeof(union dofi_addr) + 3) / 4)
struct dofi_ah {
	_Atomic uint32_t ah_magic, cm_magic; /* nonzero: not freed yet */
	_Atomic uint32_t version;            /* odd: the next two are being set */
	struct dofi_ia *_Atomic ia;
	_Atomic uint32_t addr[DOFI_AH_WORDS]; /* of the peer, port 0 */
	uint32_t qpn;
	int type; /* DAT_IB_EXT_TYPE of the event */
	uint16_t priv_len;
	uint8_t priv[DOFI_CM_MAX]; /* private data of the event */
	struct dofi_list link;     /* ia->ahs */
};

/* IPv6 addresses of peers, to which the events of received messages refer. */
#define DOFI_UD_HOSTS 256
struct dofi_ud_hosts {
	pthread_mutex_t lock;
	_Atomic uint32_t n;
	struct sockaddr_in6 addr[DOFI_UD_HOSTS];
};

/* True if the IA has datagram endpoints. */
static inline bool dofi_ud_supported(const struct dofi_ia *ia)
{
	return ia->fab.datagrams;
}

/* Opens the socket of a new EP, which is not published yet. The progress thread calls
 * dofi_ud_receive when a datagram arrives. 0 or a negative error. Caller holds cm_lock. */
int dofi_ud_open(struct dofi_ep *ep);
void dofi_ud_close(struct dofi_ep *ep);
/* Reports arrivals at the socket again that have not been read yet. Caller holds ep->lock. */
void dofi_ud_rearm(struct dofi_ep *ep);

/* Allocates the result of an exchange. `addr`: of its address handle; NULL: it has none. NULL: no
 * memory. */
struct dofi_ah *dofi_ah_new(struct dofi_ia *ia, const union dofi_addr *addr);
/* The address of a consumer's handle. False: it is not a live one of this IA. */
bool dofi_ah_address(const struct dofi_ia *ia, const void *ah, union dofi_addr *addr);
/* Frees the handle, or the context. False: it is not a live one of this IA. Take cm_lock. */
bool dofi_ah_free(struct dofi_ia *ia, const void *ah);
bool dofi_ah_free_cm(struct dofi_ia *ia, const void *cm);
/* Frees one that has not been reported. Caller holds cm_lock. */
void dofi_ah_discard(struct dofi_ah *ah);
/* The IA is closed: frees all that remain. */
void dofi_ah_free_all(struct dofi_ia *ia);

/* Stores the source of a message in the operation; reads it from an event (`family`: its
 * `immed`). AF_UNSPEC: not known. */
void dofi_ud_set_source(struct dofi_dto *dto, const union dofi_addr *from, uint32_t qpn);
void dofi_ud_get_source(struct dofi_ia *ia, const struct dofi_ud_source *source, uint32_t family,
			union dofi_addr *from);

#endif
