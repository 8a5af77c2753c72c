/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of a transport, which carries the frames of connections (msgep.h). */
#ifndef DOFI_MSGEP_TRANSPORT_H
#define DOFI_MSGEP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fabric/fab.h"
#include "msgep/frame.h"

struct msgep_cq_direct;
struct msgep_domain;
struct msgep_ep;
struct msgep_mr;

/* Connection parameters: describe one side's transport to the other in the handshake. */
#define MSGEP_PARAMS_MAX 192
struct msgep_params {
	uint16_t len;
	uint8_t data[MSGEP_PARAMS_MAX];
	int fd; /* passed along, -1: none; the receiver closes it */
};

/* Counters of a transport, compared while a connection makes no progress. */
#define MSGEP_COUNTS_MAX 56

#define MSGEP_WAIT_FDS 3

/* One kind of transport. For calls with an endpoint the caller holds ep->lock unless stated
 * otherwise. */
struct msgep_transport {
	const char *name;
	uint8_t id;           /* in the handshake */
	bool local;           /* peers are processes of this host: unix sockets */
	bool doorbell;        /* a byte on the socket wakes a sleeping peer */
	bool traffic_classes; /* connections have a DSCP each, or no packets */
	bool dispatches;      /* `progress` processes all endpoints: they are not polled
			  * individually */
	/* libfabric's info of what is below; NULL: nothing is. 0, or reports why there is none. */
	int (*find_inner)(const struct dofi_fab *fab, struct fi_info **info);
	/* An adapter that may use the transport is being opened; NULL: nothing to do. */
	void (*prepare)(void);
	int (*domain_open)(struct msgep_domain *domain);
	void (*domain_close)(struct msgep_domain *domain);
	/* Descriptors of which one becomes readable when something arrives for any endpoint;
	 * returns their number. QUIRK libfabric>=2.0: nests three epoll sets, and the kernel's
	 * limit is five; so the descriptors form no set of their own. */
	int (*wait_fds)(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS]);
	/* Processes what has arrived for all endpoints, without ep->lock (polling path). */
	void (*progress)(struct msgep_domain *domain, struct msgep_cq_direct *direct);
	/* True if a thread may block on wait_fds; false: poll again. used: the queue on which it
	 * blocks has endpoints, so a consumer may stop polling them and rely on the thread. */
	bool (*may_sleep)(struct msgep_domain *domain, bool used);
	/* True if there is a connection, or one that is closed and still sends its last frames.
	 * Without a lock. */
	bool (*busy)(struct msgep_domain *domain);

	/* Handshake. Caller holds eq->lock only. get_params: called first by the active side, then,
	 * after set_peer_params, by the passive one when it accepts. set_peer_params checks the
	 * peer's parameters: 0 or a negative error; it takes over in->fd (sets it to -1). close
	 * undoes both. */
	int (*get_params)(struct msgep_ep *ep, bool active, struct msgep_params *out);
	int (*set_peer_params)(struct msgep_ep *ep, bool active, struct msgep_params *in);
	void (*close)(struct msgep_ep *ep);
	/* Caller holds eq->lock, not ep->lock. check_path probes whether data passes both ways, and
	 * may be called again; it calls msgep_ep_path_checked when that is known or the connection
	 * has failed. NULL: the handshake has shown it. path_checked: true if it does. */
	void (*check_path)(struct msgep_ep *ep);
	bool (*path_checked)(struct msgep_ep *ep);
	/* counts: packets sent and received so far; the bytes differ whenever anything has moved
	 * (at most MSGEP_COUNTS_MAX; returns their number). NULL: nothing can be lost. lost: given
	 * the peer's counts, true if packets are missing on either side or the counts are
	 * invalid. */
	size_t (*counts)(struct msgep_ep *ep, uint8_t *out);
	bool (*lost)(struct msgep_ep *ep, const uint8_t *in, size_t len);
	/* Nothing more will be sent. Writes at most MSGEP_PARAMS_MAX bytes for the last message on
	 * the socket; returns their number. */
	size_t (*finish)(struct msgep_ep *ep, uint8_t *out);
	/* finished: the peer's last message. drained: true if everything that the peer sent has
	 * been consumed, or nothing more can arrive (died: the socket ended without a last message,
	 * or the peer's end is closed). */
	void (*finished)(struct msgep_ep *ep, const uint8_t *in, size_t len);
	bool (*drained)(struct msgep_ep *ep, bool died);

	/* Handshake without a socket (cm_route.c); NULL: this and the following are not supported.
	 * A route is a number, not 0, of a connection of the transport itself to another adapter.
	 * Caller holds eq->lock, except for find_ep. route: one of ep's DSCP to that service point,
	 * and our address on it; 0: none. route_peer: the peer's address. route_of: the one that ep
	 * is attached to; 0: none. add_route: ep's route leads to that service point; remove_route:
	 * it does not. */
	uint64_t (*route)(struct msgep_ep *ep, const union dofi_addr *to, union dofi_addr *local);
	void (*route_peer)(struct msgep_domain *domain, uint64_t route, union dofi_addr *peer);
	uint64_t (*route_of)(struct msgep_ep *ep);
	void (*add_route)(struct msgep_ep *ep, const union dofi_addr *to,
			  const union dofi_addr *local);
	void (*remove_route)(struct msgep_domain *domain, uint64_t route,
			     const union dofi_addr *to);
	/* Sends a message of ep (NULL: of none) to the connection `to`, 0: to the peer of ep. With
	 * a port it is a request for that service point. False: the route is gone. cm_flush sends
	 * it at the latest. */
	bool (*cm_send)(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route,
			uint64_t to, uint16_t port, const uint8_t *msg, size_t len);
	void (*cm_flush)(struct msgep_domain *domain);
	/* The endpoint of a local connection; NULL: it is gone. */
	struct msgep_ep *(*find_ep)(struct msgep_domain *domain, uint64_t mark);
	/* Periodic: ends the routes to hosts that have vanished. */
	void (*check_hosts)(struct msgep_domain *domain);
	/* Periodic: closes connections to the transport's own listeners that have sent no complete
	 * request. NULL: there are none. */
	void (*reap)(struct msgep_domain *domain);
	/* What msgep_inbox_retry has requested: repeats everything that has been refused. */
	void (*retry)(struct msgep_domain *domain);

	/* Frames. reserve: space for a frame with up to `want` bytes of payload, or NULL; *space:
	 * bytes available (at least MSGEP_PAYLOAD_LEAST if that many are wanted). commit: the frame
	 * is complete. */
	struct msgep_frame *(*reserve)(struct msgep_ep *ep, int channel, size_t want,
				       size_t *space);
	void (*commit)(struct msgep_ep *ep, int channel, struct msgep_frame *frame);
	/* Drops a reserved frame. NULL: nothing to do. */
	void (*unreserve)(struct msgep_ep *ep);
	/* Number of request frames, since the beginning, that the peer will receive whether or not
	 * this process lives on. NULL: all that are committed. */
	uint32_t (*arrived)(struct msgep_ep *ep);
	/* True if a message is complete as soon as it is committed nevertheless. NULL: never. */
	bool (*is_eager)(struct msgep_ep *ep);
	/* Acknowledgements without frames. acknowledge: number of completed requests that want one,
	 * since the beginning; flush follows. acknowledged: the peer's count. NULL: they travel in
	 * frames, as refusals do. */
	void (*acknowledge)(struct msgep_ep *ep, uint32_t count);
	uint32_t (*acknowledged)(struct msgep_ep *ep);
	/* The endpoint's receive queue is shared: messages must keep their order across its
	 * endpoints. NULL: they always do, or never. */
	void (*keep_order)(struct msgep_ep *ep);
	/* peek: the next frame that has arrived and its payload. frame->len has been checked
	 * against what arrived, and the peer cannot change the frame. NULL: none. release: it has
	 * been consumed. */
	const struct msgep_frame *(*peek)(struct msgep_ep *ep, int channel, const void **payload);
	void (*release)(struct msgep_ep *ep, int channel);
	/* After a batch: returns credits to the peer, and rings its doorbell if it waits for
	 * them. */
	void (*flush)(struct msgep_ep *ep);
	/* Size from which on the peer may pull data from our memory; SIZE_MAX: never. */
	size_t (*pull_from)(struct msgep_ep *ep);
	/* Pulls data from the peer's memory into `to`. False: it does not belong to the peer any
	 * more. */
	bool (*pull)(struct msgep_ep *ep, struct iovec *to, const struct msgep_segment *from,
		     size_t n);
	/* Size from which on we may pull what we read from the peer's memory; SIZE_MAX: never. */
	size_t (*pull_to)(struct msgep_ep *ep);
	/* grant: allows the peer to pull the data of read `read`. revoke: revokes that of a set of
	 * reads, numbered modulo MSGEP_TARGET_READS (mr_lock held for writing, perhaps without
	 * ep->lock). withdraw: revokes everything that was ever granted. */
	void (*grant)(struct msgep_ep *ep, uint32_t read);
	void (*revoke)(struct msgep_ep *ep, uint64_t reads);
	void (*withdraw)(struct msgep_ep *ep);
	/* True if the peer has revoked the read. Data pulled before this call is valid if it
	 * returns false. */
	bool (*revoked)(struct msgep_ep *ep, uint32_t read);
	/* Long data by an endpoint of its own (proto_bulk.c); NULL: not supported. Size from which
	 * on it is used now; SIZE_MAX: not yet, or never. */
	size_t (*bulk_from)(struct msgep_ep *ep);
	/* Announces a transfer from that memory; mr: its region, which has been held, or NULL.
	 * False: too many are in progress; the endpoint is processed again when one completes. */
	bool (*bulk_send)(struct msgep_ep *ep, const struct iovec *iov, size_t n,
			  struct msgep_mr *mr, uint64_t *id);
	/* The same as reserve, for the frame that announces a transfer. */
	struct msgep_frame *(*bulk_reserve)(struct msgep_ep *ep, size_t want, size_t *space);
	/* The peer sent GO; room: announcements may follow the data. False: there is no such
	 * transfer. */
	bool (*bulk_go)(struct msgep_ep *ep, uint64_t id, bool room);
	/* Posts memory for the next transfer, and room for announcements if there are less than
	 * MSGEP_IOV_INLINE segments; msgep_bulk_done is called on its completion. */
	bool (*bulk_recv)(struct msgep_ep *ep, const struct iovec *iov, size_t n);
	/* Ends all transfers that access the region (mr_lock held for writing, too). False: there
	 * were none. */
	bool (*bulk_abort)(struct msgep_ep *ep, const struct msgep_mr *mr);
	/* The connection has ended: stops all transfers. */
	void (*bulk_stop)(struct msgep_ep *ep);
	/* False if nothing can have arrived, besides what ep->watch shows; may be wrong in the
	 * other direction. The state is MSGEP_UP. Without ep->lock. */
	bool (*ready)(struct msgep_ep *ep);
	/* Before a thread blocks. arm: the peer rings the doorbell when it sends and, with `space`,
	 * when it has consumed frames; NULL: wait_fds suffice. drain_stores, after all are armed:
	 * makes `armed` visible to peers before quiet reads their rings. quiet: true if nothing has
	 * arrived and no space has been made. */
	void (*arm)(struct msgep_ep *ep, bool space);
	void (*drain_stores)(struct msgep_domain *domain);
	bool (*quiet)(struct msgep_ep *ep, bool space);
	/* The peer shall announce the endpoint by that number in its ready ring (ready.h). NULL:
	 * endpoints have none. Caller holds eq->lock. */
	void (*announce)(struct msgep_ep *ep, uint32_t number);
	/* An endpoint whose message waited has been assigned a receive. Caller holds srx->lock, or
	 * ep->lock. NULL: the next poll of the endpoint notices. */
	void (*touch)(struct msgep_ep *ep);
};

extern const struct msgep_transport msgep_transport_shm, msgep_transport_rdm, msgep_transport_pair;

#endif
