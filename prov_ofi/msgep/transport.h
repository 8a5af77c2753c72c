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

/* Maximum of bytes of a transport's counters, compared while a connection makes no progress. */
#define MSGEP_COUNTS_MAX 56
/* Maximum of descriptors on which a thread blocks. */
#define MSGEP_WAIT_FDS 3

/* One kind of transport. For calls with an endpoint the caller holds ep->lock unless stated
 * otherwise. NULL is permitted where a comment states what it means. */
struct msgep_transport {
	const char *name;
	uint8_t id;           /* in the handshake */
	bool local;           /* peers are processes of this host: unix sockets */
	bool doorbell;        /* a byte on the socket wakes a sleeping peer */
	bool traffic_classes; /* connections have a DSCP each, or no packets */
	bool dispatches;      /* `progress` processes all endpoints: they are not polled
			  * individually */
	bool reports_news;    /* each endpoint that may have news is reported (msgep_ep_touch) */
	bool awaits_peer;     /* a closed endpoint waits for the peer, unless that has ended */

	/* ---- the adapter ---- */
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

	/* ---- handshake; caller holds eq->lock only ---- */
	/* Called first by the active side, then, after set_peer_params, by the passive one when it
	 * accepts. */
	int (*get_params)(struct msgep_ep *ep, bool active, struct msgep_params *out);
	/* Checks the peer's parameters: 0 or a negative error. Takes over in->fd (sets it to
	 * -1). */
	int (*set_peer_params)(struct msgep_ep *ep, bool active, struct msgep_params *in);
	/* Undoes both. */
	void (*close)(struct msgep_ep *ep);
	/* Probes whether data passes both ways; may be called again. Calls msgep_ep_path_checked
	 * when that is known or the connection has failed. NULL: the handshake has shown it. */
	void (*check_path)(struct msgep_ep *ep);
	/* True if data passes both ways. */
	bool (*path_checked)(struct msgep_ep *ep);

	/* ---- an established connection ---- */
	/* Packets sent and received so far; the bytes differ whenever anything has moved (at most
	 * MSGEP_COUNTS_MAX; returns their number). NULL: nothing can be lost. */
	size_t (*counts)(struct msgep_ep *ep, uint8_t *out);
	/* Given the peer's counts, true if packets are missing on either side or the counts are
	 * invalid. */
	bool (*lost)(struct msgep_ep *ep, const uint8_t *in, size_t len);
	/* Nothing more will be sent. Writes at most MSGEP_PARAMS_MAX bytes for the last message on
	 * the control channel; returns their number. */
	size_t (*finish)(struct msgep_ep *ep, uint8_t *out);
	/* The peer's last message. */
	void (*finished)(struct msgep_ep *ep, const uint8_t *in, size_t len);
	/* True if everything that the peer sent has been consumed, or nothing more can arrive
	 * (died: the control channel ended without a last message, or the peer's end is closed). */
	bool (*drained)(struct msgep_ep *ep, bool died);

	/* ---- handshake without a socket (cm_route.c); caller holds eq->lock ---- */
	/* NULL: all of these are not supported. A route is a number, not 0, of a connection of the
	 * transport itself to another adapter. */
	/* A route of ep's DSCP to that service point, and our address on it; 0: none. */
	uint64_t (*route)(struct msgep_ep *ep, const union dofi_addr *to, union dofi_addr *local);
	/* The peer's address. */
	void (*route_peer)(struct msgep_domain *domain, uint64_t route, union dofi_addr *peer);
	/* The route that ep is attached to; 0: none. */
	uint64_t (*route_of)(struct msgep_ep *ep);
	/* ep's route leads to that service point. */
	void (*add_route)(struct msgep_ep *ep, const union dofi_addr *to,
			  const union dofi_addr *local);
	/* The route does not lead there. */
	void (*remove_route)(struct msgep_domain *domain, uint64_t route,
			     const union dofi_addr *to);
	/* Sends a message of ep (NULL: of none) to the connection `to`, 0: to the peer of ep. With
	 * a port it is a request for that service point. False: the route is gone. cm_flush sends
	 * it at the latest. */
	bool (*cm_send)(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route,
			uint64_t to, uint16_t port, const uint8_t *msg, size_t len);
	void (*cm_flush)(struct msgep_domain *domain);
	/* The endpoint of a local connection; NULL: it is gone. Caller need not hold eq->lock. */
	struct msgep_ep *(*find_ep)(struct msgep_domain *domain, uint64_t mark);
	/* Periodic: ends the routes to hosts that have vanished. */
	void (*check_hosts)(struct msgep_domain *domain);
	/* Periodic: closes connections to the transport's own listeners that have sent no complete
	 * request. NULL: there are none. */
	void (*reap)(struct msgep_domain *domain);
	/* What msgep_inbox_retry has requested: repeats everything that has been refused. */
	void (*retry)(struct msgep_domain *domain);

	/* ---- frames: sending ---- */
	/* Space for a frame with up to `want` bytes of payload, or NULL; *space: bytes available
	 * (at least MSGEP_PAYLOAD_LEAST if that many are wanted). */
	struct msgep_frame *(*reserve)(struct msgep_ep *ep, int channel, size_t want,
				       size_t *space);
	/* The frame is complete. */
	void (*commit)(struct msgep_ep *ep, int channel, struct msgep_frame *frame);
	/* Drops a reserved frame. NULL: nothing to do. */
	void (*unreserve)(struct msgep_ep *ep);
	/* Number of request frames, since the beginning, that the peer will receive whether or not
	 * this process lives on. NULL: all that are committed. */
	uint32_t (*arrived)(struct msgep_ep *ep);
	/* True if a message is complete as soon as it is committed nevertheless. NULL: never. */
	bool (*is_eager)(struct msgep_ep *ep);
	/* Acknowledges without frames: number of completed requests that want it, since the
	 * beginning; flush follows. NULL: acknowledgements travel in frames, as refusals do. */
	void (*acknowledge)(struct msgep_ep *ep, uint32_t count);
	/* The peer's count. NULL as acknowledge. */
	uint32_t (*acknowledged)(struct msgep_ep *ep);

	/* ---- frames: receiving ---- */
	/* The endpoint's receive queue is shared: messages must keep their order across its
	 * endpoints. NULL: they always do, or never. */
	void (*keep_order)(struct msgep_ep *ep);
	/* The next frame that has arrived and its payload; NULL: none. frame->len has been checked
	 * against what arrived, and the peer cannot change the frame. */
	const struct msgep_frame *(*peek)(struct msgep_ep *ep, int channel, const void **payload);
	/* It has been consumed. */
	void (*release)(struct msgep_ep *ep, int channel);
	/* After a batch: returns credits to the peer, and rings its doorbell if it waits for
	 * them. */
	void (*flush)(struct msgep_ep *ep);

	/* ---- pulling: one side copies data from the other one's memory ---- */
	/* Size from which on the peer may pull data from our memory; SIZE_MAX: never. */
	size_t (*pull_from)(struct msgep_ep *ep);
	/* Pulls data from the peer's memory into `to`. False: it does not belong to the peer any
	 * more. */
	bool (*pull)(struct msgep_ep *ep, struct iovec *to, const struct msgep_segment *from,
		     size_t n);
	/* Size from which on we may pull what we read from the peer's memory; SIZE_MAX: never. */
	size_t (*pull_to)(struct msgep_ep *ep);
	/* Allows the peer to pull the data of read `read`. */
	void (*grant)(struct msgep_ep *ep, uint32_t read);
	/* Revokes that of a set of reads, numbered modulo MSGEP_TARGET_READS (mr_lock held for
	 * writing, perhaps without ep->lock). */
	void (*revoke)(struct msgep_ep *ep, uint64_t reads);
	/* Revokes everything that was ever granted. */
	void (*withdraw)(struct msgep_ep *ep);
	/* True if the peer has revoked the read. Data pulled before this call is valid if it
	 * returns false. */
	bool (*revoked)(struct msgep_ep *ep, uint32_t read);

	/* ---- long data by an endpoint of its own (proto_bulk.c) ---- */
	/* Size from which on it is used now; SIZE_MAX: not yet, or never. NULL: all of these are
	 * not supported. */
	size_t (*bulk_from)(struct msgep_ep *ep);
	/* How data of that kind of frame would be sent now; requests: the frame has been
	 * reserved. */
	enum msgep_bulk_mode (*bulk_mode)(struct msgep_ep *ep, uint8_t kind);
	/* Announces a transfer from that memory; mr: its region, which has been held, or NULL.
	 * False: too many are in progress; the endpoint is processed again when one completes. */
	bool (*bulk_send)(struct msgep_ep *ep, const struct iovec *iov, size_t n,
			  struct msgep_mr *mr, uint64_t *id);
	/* The same as reserve, for the frame that announces a transfer. */
	struct msgep_frame *(*bulk_reserve)(struct msgep_ep *ep, size_t want, size_t *space);
	/* The peer sent GO, or, after the announcement, none is needed; room: announcements may
	 * follow the data. False: there is no such transfer. */
	bool (*bulk_go)(struct msgep_ep *ep, uint64_t id, bool room);
	/* Posts memory for the next transfer, and room for announcements if there are less than
	 * MSGEP_IOV_INLINE segments; msgep_bulk_done is called on its completion. */
	bool (*bulk_recv)(struct msgep_ep *ep, const struct iovec *iov, size_t n);
	/* Notices the end of those transfers that the fabric has finished. Caller holds no lock. */
	void (*bulk_finish)(struct msgep_domain *domain);
	/* Ends all transfers that access the region (mr_lock held for writing, too). False: there
	 * were none. */
	bool (*bulk_abort)(struct msgep_ep *ep, const struct msgep_mr *mr);
	/* The connection has ended: stops all transfers. */
	void (*bulk_stop)(struct msgep_ep *ep);

	/* ---- polling and blocking ---- */
	/* False if nothing can have arrived, besides what ep->watch shows; may be wrong in the
	 * other direction. The state is MSGEP_UP. Without ep->lock. */
	bool (*ready)(struct msgep_ep *ep);
	/* Before a thread blocks: the peer rings the doorbell when it sends and, with `space`, when
	 * it has consumed frames. NULL: wait_fds suffice. */
	void (*arm)(struct msgep_ep *ep, bool space);
	/* After all are armed: makes that visible to peers before quiet reads their rings. NULL as
	 * arm. */
	void (*drain_stores)(struct msgep_domain *domain);
	/* True if nothing has arrived and no space has been made. */
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
