/* SPDX-License-Identifier: BSD-2-Clause */
/* Connected endpoints (FI_EP_MSG) for fabrics that have none, as libfabric objects of our own.
 *
 * The rest of the provider speaks libfabric's interface of connected endpoints. Where a fabric has
 * them (verbs), libfabric answers; where it has not (two processes of one host; fabrics with
 * FI_EP_RDM only), the objects of this folder do: fabric, domain, event queue, completion queue,
 * endpoint, listener, memory region, shared receive context. Nothing above can tell.
 *
 *   proto    messages, RDMA writes and reads as frames on two ordered channels (frame.h)
 *   transport     carries the frames of one connection: a ring in shared memory (shm.c), or packets
 *            through one RDM endpoint of libfabric per domain (rdm.c). A fabric may have both:
 *            then each connection gets the first or the second when it is made (cm_conn.c)
 *   cm       connections: a handshake over a stream socket, which stays open beside the
 *            connection and tells when the peer ends, dies, or wants to wake us (cm/cm.h)
 *
 * All data moves through frames, which the receiving side copies to where they belong: no peer ever
 * touches memory of ours itself. So what a peer may access is checked when it is accessed, a
 * region that has been closed is not touched any more, and an operation that is flushed is over.
 *
 * Locks, in the order in which they may be taken (all below those of object/ia.h):
 *   eq->lock    sockets, connection state
 *   cq->poll    who polls: the list of the queue's endpoints
 *   ep->lock    one connection: what is sent and received
 *   domain->mr_lock (read), srx->lock, domain->transport_lock
 *   domain->watch_lock
 *   cq->lock, eq->event_lock, the inbox's    nothing is taken under them
 */
#ifndef DOFI_MSGEP_H
#define DOFI_MSGEP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "base/key_map.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/timer.h"
#include "fabric/fab.h"
#include "msgep/frame.h"
#include "msgep/lock.h"

#define MSGEP_IOV_MAX 4
/* Private data of a connection message, the header of cm/cm_proto.h included. */
#define MSGEP_CM_DATA 296

struct msgep_ep;
struct msgep_transport;
struct msgep_inbox;

struct msgep_fabric {
	struct fid_fabric fid;
	const struct dofi_fab *fab;	/* row, addresses; outlives the object */
	const struct msgep_transport *transport;	/* leads to every peer that can be reached */
	/* To peers on this host where they have it too, instead; NULL: there is no choice. It keeps
	 * nothing in the domain. */
	const struct msgep_transport *local_transport;
};

/* libfabric's authorization keys (fi_mr_attr, fi_ep_attr) as they are used here: a peer reaches a
 * region through an endpoint of the same zone, or, if the region names one, through that only. */
struct msgep_auth {
	uint64_t zone;
	uint64_t ep;			/* of a region: 0: any; of an endpoint: itself */
};

/* No key at all is zone 0. */
static inline void msgep_auth_copy(struct msgep_auth *auth, const uint8_t *key, size_t size)
{
	if (size == sizeof(*auth))
		memcpy(auth, key, size);
}

struct msgep_mr {
	struct fid_mr fid;
	struct msgep_domain *domain;
	uint64_t base, length, offset;	/* real address = address in a request + offset */
	uint64_t access;
	struct msgep_auth auth;
	uint32_t key;
	_Atomic bool granted;		/* a peer may be taking data out of it */
	_Atomic uint32_t transfers;	/* of long data, under way into it or out of it */
};

struct msgep_domain {
	struct fid_domain fid;
	struct msgep_fabric *fabric;
	pthread_rwlock_t mr_lock;	/* held for reading while a region is accessed */
	struct dofi_key_map mrs;	/* regions by key; mr_lock */
	struct dofi_list ep_list;	/* all endpoints; mr_lock */
	pthread_mutex_t transport_lock;
	void *transport_data;			/* the transport's own: struct of rdm.c, or NULL */
	struct msgep_inbox *inbox;	/* of a transport that carries the handshake (inbox.h) */
	struct msgep_lock wait_lock;
	struct dofi_list cqs;		/* watch_lock */
	/* The one that has wait_fds in its epfd; watch_lock to write. */
	_Atomic(struct msgep_cq *) wait_cq;
	_Atomic uint32_t eps;		/* open endpoints */
	_Atomic uint16_t next_port;	/* names the active ends of connections */
};

struct msgep_completion {
	struct fi_cq_data_entry entry;
	int err;			/* positive; 0: success */
};

/* Where a reader of a queue wants the completions that it brings about. */
struct msgep_cq_direct {
	struct msgep_cq *cq;
	struct fi_cq_data_entry *out;
	size_t n, room;
};

/* A completion for which the ring cannot grow, in the context of its operation. */
struct msgep_held {
	struct msgep_held *next;
	uint64_t flags, len, data;
	int err;
};
_Static_assert(sizeof(struct msgep_held) <= sizeof(struct fi_context2), "it fits there");

/* An endpoint that is bound to a queue. */
struct msgep_cq_ep {
	struct msgep_ep *ep;
	uint32_t last_active;		/* the last look that found any */
};

struct msgep_cq {
	struct fid_cq fid;
	struct msgep_domain *domain;
	struct dofi_list link;		/* domain->cqs */
	struct msgep_lock poll;
	struct msgep_cq_ep *eps;		/* bound for either direction, each once: first the n_busy
					 * that are looked at each time (cq_look.c) */
	uint32_t n_eps, n_active, eps_room;
	uint32_t polls;			/* so far */
	uint32_t turn, idle_turn;	/* the next to be looked at first; of the idle ones */
	_Atomic uint32_t receivers;	/* of them, those that receive here */
	bool has_local, saw_local;	/* connections on a local transport, as of the last looks */
	uint64_t next_network_poll;		/* see msgep_cq_polls_network() */
	struct msgep_lock lock;
	struct msgep_completion *ring;	/* room is a power of two; grows, loses nothing */
	uint32_t room;
	_Atomic uint32_t head, tail;
	struct msgep_held *held, **held_end;	/* behind those of the ring, which is full */
	_Atomic bool armed;		/* somebody sleeps on epfd */
	int signal;			/* eventfd, in epfd */
	int epfd;			/* FI_GETWAIT: signal, sockets of connections whose peers
					   ring there, and of the domain's watcher the transport's
					   descriptor */
};

/* Connection events that wait to be read, and all sockets of connections. */
struct msgep_event {
	struct dofi_list link;
	uint32_t event;			/* FI_CONNREQ, FI_CONNECTED, FI_SHUTDOWN; 0: error */
	int err;			/* error entry: positive */
	int prov_errno;			/* error entry: why no socket leads to the peer; or 0 */
	struct fid *fid;
	struct fi_info *info;		/* FI_CONNREQ: ours until it is read */
	size_t len;
	uint8_t data[];			/* room: MSGEP_CM_DATA; none for the end of a connection */
};

struct msgep_eq {
	struct fid_eq fid;
	struct msgep_fabric *fabric;
	pthread_mutex_t lock;
	pthread_mutex_t event_lock;
	struct dofi_list events;
	struct dofi_list checked_eps;	/* endpoints: msgep_ep_path_checked */
	int signal;			/* eventfd in epfd: events wait */
	int epfd;			/* FI_GETWAIT */
	void *cm;			/* the connection manager's own state (cm.c) */
};

/* A receive that waits for its message. */
struct msgep_recv {
	void *context;
	uint64_t total;
	uint32_t count;
	struct iovec iov[MSGEP_IOV_MAX];
};

struct msgep_srx {
	struct fid_ep fid;
	struct msgep_domain *domain;
	struct dofi_lock lock;
	struct msgep_recv *ring;
	uint32_t room, head, tail;
	uint64_t taken;			/* buffers that have found their message */
	struct dofi_list waiting;	/* endpoints whose message waits for a buffer, first come
					   first served */
};

/* A request that waits for its turn, or for the peer's answer. */
struct msgep_tx {
	void *context;
	uint8_t kind;			/* of the frames that ask for it */
	bool has_data;
	bool pulled;			/* from memory to memory: taken by who receives it */
	bool revoked;			/* what it reads has been taken back */
	bool silent;			/* only its failure is told: a note follows */
	uint64_t data;			/* completion data */
	uint64_t operand[2];		/* of an atomic operation */
	uint64_t remote;
	uint32_t key;
	uint64_t total, done;		/* bytes; done: put into frames, or received (read) */
	int err;			/* reads: why it was refused */
	uint32_t transfers;		/* reads: parts that arrive in bulk */
	uint32_t count;
	struct iovec iov[MSGEP_IOV_MAX];
};

/* Power-of-two ring of requests, which grows up to `most` (post.c). */
struct msgep_txq {
	struct msgep_tx *tx;
	uint32_t room, most, head, tail;
};

/* A read of the peer that is being answered. */
struct msgep_target_read {
	uint64_t remote, total, done;
	uint32_t key;
	int refused;			/* code, 0: granted */
	bool pulled;			/* the peer takes it out of our memory */
	bool has_value;			/* atomic operation: the answer is `value` */
	uint64_t value;
};
/* Unanswered ones of a connection at most. */
#define MSGEP_TARGET_READS 64

/* A message that is in frames, which have not all reached the peer. */
struct msgep_inflight {
	void *context;
	uint64_t total;
	uint32_t end;			/* frames up to its end, counted from the beginning */
};
/* At most: the largest window of a transport that reports what has arrived. */
#define MSGEP_INFLIGHT_MAX 256

/* A transfer of long data that is on its way to us; see proto_bulk.c. */
struct msgep_bulk {
	uint8_t kind;			/* MSGEP_MSG, MSGEP_WRITE, MSGEP_READ */
	bool last;			/* of its request */
	bool has_data;
	uint8_t tail_len;
	uint64_t id, len;
	uint64_t data, total;
	void *context;
	struct msgep_mr *mr;		/* of writes: held */
	char *tail_to;			/* the end of a write */
	uint8_t tail[64];
};

struct msgep_bulk_queue {
	struct msgep_bulk *ring;
	uint32_t room, head, granted, tail;
	uint32_t requests;		/* those that are no reads */
};

/* An endpoint reports how its attempt to connect ended, and the end of its connection. Neither may
 * be lost for want of memory, which is therefore allocated before the attempt: first that of the
 * outcome, which has data. */
#define MSGEP_EP_EVENTS 2

enum msgep_state { MSGEP_NEW, MSGEP_CONNECTING, MSGEP_UP, MSGEP_DOWN };

struct msgep_ep {
	struct fid_ep fid;
	struct msgep_domain *domain;
	struct dofi_list link;		/* domain->ep_list */
	struct msgep_eq *eq;
	struct msgep_cq *tx_cq, *rx_cq;
	struct msgep_srx *srx;
	struct msgep_lock lock;
	struct msgep_cq_direct *cq_direct;		/* of who has the lock; NULL: he reads no queue */
	_Atomic int state;		/* enum msgep_state */
	struct msgep_auth auth;

	/* sending: requests not entirely in frames yet; those that wait for an acknowledgement, or
	 * for data */
	struct msgep_txq txq, unacked, reads;
	uint64_t acked;			/* as counted by the peer */
	uint32_t frames;		/* of requests, committed since the beginning */
	struct msgep_inflight *inflight;	/* ring, which grows up to MSGEP_INFLIGHT_MAX */
	uint32_t inflight_room, inflight_head, inflight_tail;
	_Atomic uint64_t complete_at;	/* end of the first flight, and MSGEP_INFLIGHT_ANY; 0: none */
	/* answering */
	struct msgep_target_read *target_reads;	/* ring, which grows up to MSGEP_TARGET_READS */
	uint32_t target_read_room, target_read_head, target_read_tail;
	/* Places of `serve` whose data the peer may be taking; they, and the keys there, change
	 * with mr_lock held for reading, so that who holds it for writing may look. */
	uint64_t granted;
	uint64_t done, reported;		/* requests that want an acknowledgement */
	uint32_t nak;			/* code for which a write was refused, not told yet */
	_Atomic bool pending;		/* something of the above waits for room in a channel */

	/* receiving */
	struct msgep_recv *rxq;
	uint32_t rx_room, rx_most, rx_head, rx_tail;	/* the ring grows up to rx_most */
	struct msgep_recv cur;		/* of the message or write that is arriving */
	bool in_message, in_write;
	bool after_write;			/* a write was the last request: a note may follow */
	uint64_t remote;		/* of the write: where the next byte goes */
	uint32_t key;
	bool refused;			/* what follows a refused request is thrown away */
	_Atomic bool failed;		/* the peer broke the rules */
	_Atomic bool aborted;		/* the event queue has been made to see the end */
	uint64_t received, expected, data;
	uint64_t messages;		/* that have arrived */
	uint64_t cma_bytes;		/* bytes taken out of the peer's memory in one go */
	_Atomic uint32_t order;		/* see proto_rx.c */
	bool has_data;
	_Atomic bool stalled;		/* a message waits for a receive */
	struct msgep_recv claimed_rx;		/* given by the SRX while it waited */
	bool has_claimed_rx, waits_for_srx;
	struct dofi_list srx_link;

	struct msgep_bulk_queue bulk;
	uint32_t reads_at;		/* the read that the next answer is for */

	/* connection manager's (eq->lock) */
	struct msgep_event *reserved[MSGEP_EP_EVENTS];
	int sock;			/* of the handshake, -1: none */
	struct dofi_list checked_link;	/* in eq->settled; event_lock */
	union dofi_addr local, peer;	/* with ports */
	bool has_qual;
	uint64_t qual;			/* in the name of a listener's unix socket, beside the port */
	void *cm;

	bool doorbell_pending;			/* its doorbell was not taken */

	/* transport's */
	_Atomic int broken;		/* positive FI_* code: the connection cannot go on */
	union {
		struct msgep_shm *shm;
		struct rdm_conn *conn;
		struct pair_conn *pair;
		void *any;
	} w;
	const struct msgep_transport *transport;	/* settled before the state is MSGEP_UP */
};

/* What one side tells the other about its transport when they connect. */
#define MSGEP_PARAMS_MAX 192
struct msgep_params {
	uint16_t len;
	uint8_t data[MSGEP_PARAMS_MAX];
	int fd;				/* travels with it, -1: none; whoever gets the offer closes
					   it */
};

/* What it tells the other when nothing moves. */
#define MSGEP_COUNTS_MAX 56

#define MSGEP_WAIT_FDS 3

/* One kind of transport. Endpoint calls hold ep->lock unless they say otherwise. */
struct msgep_transport {
	const char *name;
	uint8_t id;			/* in the handshake */
	bool local;			/* peers are processes of this host: unix sockets */
	bool doorbell;			/* a sleeping peer is woken by a byte on the socket */
	bool dispatches;		/* `progress` processes all endpoints: none is asked for
					   news by itself */
	/* fi_info of the outer (connected) endpoints; fab->addr is chosen. 0 or negative. */
	int (*getinfo)(struct dofi_fab *fab, struct fi_info **info);
	int (*domain_open)(struct msgep_domain *domain);
	void (*domain_close)(struct msgep_domain *domain);
	/* Descriptors of which one becomes readable when something arrives for any endpoint: how
	 * many. No set of its own: libfabric 2.x waits by sets three deep, and the kernel allows
	 * five in each other. */
	int (*wait_fds)(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS]);
	/* Reads what has arrived for all endpoints, without ep->lock (poll path). */
	void (*progress)(struct msgep_domain *domain, struct msgep_cq_direct *direct);
	/* May one sleep on wait_fds? false: look again. */
	bool (*may_sleep)(struct msgep_domain *domain);
	/* Without a lock: is there any connection on it, or one whose last frames still go out? */
	bool (*busy)(struct msgep_domain *domain);

	/* Handshake: no lock of ours but eq->lock. offer: called first by the active side, then by
	 * the passive one after adopt, when it accepts. adopt checks what the peer offers: 0 or a
	 * negative error; it takes over in->fd (sets it to -1). close undoes both. */
	int (*get_params)(struct msgep_ep *ep, bool active, struct msgep_params *out);
	int (*set_peer_params)(struct msgep_ep *ep, bool active, struct msgep_params *in);
	void (*close)(struct msgep_ep *ep);
	/* eq->lock held, not ep->lock. Asks whether data passes both ways, again if it has asked
	 * before; calls msgep_ep_path_checked when it knows, or when the connection cannot go on. NULL: the
	 * handshake shows that. proved: it does. */
	void (*check_path)(struct msgep_ep *ep);
	bool (*path_checked)(struct msgep_ep *ep);
	/* What has been sent and has arrived so far: other bytes whenever something has moved
	 * (MSGEP_COUNTS_MAX at most, returns how many). NULL: nothing can be lost. missing: the same of
	 * the peer; has something not arrived, here or there, or makes no sense? */
	size_t (*counts)(struct msgep_ep *ep, uint8_t *out);
	bool (*lost)(struct msgep_ep *ep, const uint8_t *in, size_t len);
	/* Nothing will be sent any more. out: bytes for the last message on the socket (at most
	 * MSGEP_PARAMS_MAX), returns how many. */
	size_t (*finish)(struct msgep_ep *ep, uint8_t *out);
	/* The peer's last message; then: has everything that the peer sent been consumed, or can
	 * nothing more come? (died: the socket ended without a last message, or nobody has it) */
	void (*finished)(struct msgep_ep *ep, const uint8_t *in, size_t len);
	bool (*drained)(struct msgep_ep *ep, bool died);

	/* The handshake without a socket (cm_route.c); NULL: this transport has none, the next ones neither.
	 * A route is a number, not 0, of a connection of the transport's own to another adapter. All but
	 * owner with eq->lock held. route: one to that service point, and our address on it; 0: there
	 * is none. route_peer: the peer's address. route_of: the one that ep is attached to; 0: none.
	 * learn: the route that ep uses leads to that service point; unlearn: it does not. */
	uint64_t (*route)(struct msgep_domain *domain, const union dofi_addr *to,
			  union dofi_addr *local);
	void (*route_peer)(struct msgep_domain *domain, uint64_t route, union dofi_addr *peer);
	uint64_t (*route_of)(struct msgep_ep *ep);
	void (*add_route)(struct msgep_ep *ep, const union dofi_addr *to,
			  const union dofi_addr *local);
	void (*remove_route)(struct msgep_domain *domain, uint64_t route,
			     const union dofi_addr *to);
	/* Sends a message of ep (NULL: of none) to the connection `to` there, 0: to that of ep. With
	 * a port it is a request for that service point. False: the route has gone. It leaves with
	 * `told` at the latest. */
	bool (*cm_send)(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route,
			uint64_t to, uint16_t port, const uint8_t *msg, size_t len);
	void (*cm_flush)(struct msgep_domain *domain);
	/* The endpoint of a connection here; NULL: it has gone. */
	struct msgep_ep *(*find_ep)(struct msgep_domain *domain, uint64_t mark);
	/* Now and then: ends the routes to hosts that have vanished. */
	void (*check_hosts)(struct msgep_domain *domain);

	/* Frames. reserve: room for a frame with up to `want` bytes of payload, or NULL; *room says
	 * how many there are (at least MSGEP_PAYLOAD_LEAST if so many are wanted). commit: it is
	 * complete. */
	struct msgep_frame *(*reserve)(struct msgep_ep *ep, int channel, size_t want, size_t *room);
	void (*commit)(struct msgep_ep *ep, int channel, struct msgep_frame *frame);
	/* NULL: a frame that is not committed needs nothing. */
	void (*unreserve)(struct msgep_ep *ep);
	/* How many frames of requests, counted from the beginning, are in the peer's hands, and
	 * will be received, if we live or not? NULL: as soon as they are committed. */
	uint32_t (*arrived)(struct msgep_ep *ep);
	/* Is a message complete as soon as it is committed nevertheless? NULL: none is. */
	bool (*is_eager)(struct msgep_ep *ep);
	/* Acknowledgements that no frame carries. acknowledge: so many requests that want one are
	 * done, counted from the beginning; flush follows. acknowledged: the peer's count. NULL: they
	 * travel in frames, as refusals do. */
	void (*acknowledge)(struct msgep_ep *ep, uint32_t count);
	uint32_t (*acknowledged)(struct msgep_ep *ep);
	/* The endpoint's receive queue has others, too: messages are to keep their order across
	 * them. NULL: they always do, or never. */
	void (*keep_order)(struct msgep_ep *ep);
	/* The next frame that has arrived and its payload; frame->len has been checked to be
	 * within what arrived, and the frame is out of the peer's reach. NULL: none. release:
	 * consumed. */
	const struct msgep_frame *(*peek)(struct msgep_ep *ep, int channel, const void **payload);
	void (*release)(struct msgep_ep *ep, int channel);
	/* After a batch: tell the peer how much room it has again, ring if it waits for that. */
	void (*flush)(struct msgep_ep *ep);
	/* The peer may take data of that size, or more, out of our memory; SIZE_MAX: never. */
	size_t (*pull_from)(struct msgep_ep *ep);
	/* Takes `len` bytes out of the peer's memory. False: they are not the peer's any more. */
	bool (*pull)(struct msgep_ep *ep, struct iovec *to, const struct msgep_segment *from,
		     size_t n);
	/* We may take what we read out of the peer's memory from that size on; SIZE_MAX: never. */
	size_t (*pull_to)(struct msgep_ep *ep);
	/* The peer may take what its read of that number asks for; those of these numbers, modulo
	 * MSGEP_TARGET_READS, not any more (with mr_lock for writing, perhaps without ep->lock); nor
	 * anything else that was ever offered. */
	void (*grant)(struct msgep_ep *ep, uint32_t read);
	void (*revoke)(struct msgep_ep *ep, uint64_t reads);
	void (*withdraw)(struct msgep_ep *ep);
	/* Has the peer revoked that? What was taken before the question was taken in time. */
	bool (*revoked)(struct msgep_ep *ep, uint32_t read);
	/* Long data by an endpoint of its own (proto_bulk.c); NULL: not here. From which size on now;
	 * SIZE_MAX: not yet, or never. */
	size_t (*bulk_from)(struct msgep_ep *ep);
	/* A transfer out of that memory; mr: whose it is and what has been held for it, or NULL.
	 * False: too many are under way; the endpoint is looked at when one is over. */
	bool (*bulk_send)(struct msgep_ep *ep, const struct iovec *iov, size_t n,
			  struct msgep_mr *mr, uint64_t *id);
	/* The peer says GO. False: there is no such transfer. */
	bool (*bulk_go)(struct msgep_ep *ep, uint64_t id);
	/* Posts memory for the next transfer; msgep_bulk_done is called when it is there. */
	bool (*bulk_recv)(struct msgep_ep *ep, const struct iovec *iov, size_t n);
	/* No transfer touches the region any more (mr_lock held for writing, too). False: none did. */
	bool (*bulk_abort)(struct msgep_ep *ep, const struct msgep_mr *mr);
	/* The connection is over: no transfer touches memory any more. */
	void (*bulk_stop)(struct msgep_ep *ep);
	/* Without ep->lock: may anything have arrived? A guess that errs to true only. */
	bool (*ready)(struct msgep_ep *ep);
	/* Before sleeping. arm, settle (NULL: wait_fds suffice): from now on the peer rings when it
	 * sends and, with `room`, when it has made room. settle, once all are armed: whoever has
	 * not seen that is seen. quiet: nothing is there, no room has been made. */
	void (*arm)(struct msgep_ep *ep, bool room);
	void (*drain_stores)(struct msgep_domain *domain);
	bool (*quiet)(struct msgep_ep *ep, bool room);
	/* A receive has been given to an endpoint whose message waited (srx->lock held). NULL: the
	 * next look at the endpoint finds out. */
	void (*touch)(struct msgep_ep *ep);
};

static inline void msgep_unreserve(struct msgep_ep *ep)
{
	if (ep->transport->unreserve)
		ep->transport->unreserve(ep);
}

extern const struct msgep_transport msgep_transport_shm, msgep_transport_rdm, msgep_transport_pair;

/* Is a message complete now that so many frames have arrived? Without ep->lock. */
#define MSGEP_INFLIGHT_ANY ((uint64_t)1 << 32)
static inline bool msgep_ep_completes_at(struct msgep_ep *ep, uint32_t arrived)
{
	uint64_t first = atomic_load(&ep->complete_at);

	return first && (int32_t)(arrived - (uint32_t)first) >= 0;
}

/* Entry points of fabric/fab.c: what fi_getinfo and fi_fabric are elsewhere. */
int msgep_getinfo(struct dofi_fab *fab, struct fi_info **info);
int msgep_fabric(struct dofi_fab *fab, struct fid_fabric **fabric);
/* The fi_info of connected endpoints on a transport called so. */
int msgep_ep_info(const struct dofi_fab *fab, const char *name, struct fi_info **out);
/* A copy that starts from that address; NULL: from none in particular. NULL without memory. */
struct fi_info *msgep_info_from(const struct fi_info *base, const union dofi_addr *source);

/* objects */
int msgep_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		      void *context);
int msgep_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		  void *context);
int msgep_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		   void *context);
int msgep_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		  void *context);
int msgep_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		  void *context);
int msgep_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx,
		   void *context);
extern struct fi_ops_mr msgep_mr_ops;

/* data/cq.c */
void msgep_cq_push(struct msgep_cq *cq, void *context, uint64_t flags, uint64_t len, uint64_t data,
		   int err);
/* Do several endpoints receive there? */
static inline bool msgep_cq_is_shared(const struct msgep_cq *cq)
{
	return atomic_load(&cq->receivers) > 1;
}

static inline bool msgep_cq_empty(const struct msgep_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_relaxed) ==
	       atomic_load_explicit(&cq->tail, memory_order_acquire);
}

/* An operation of an endpoint is over; ep->lock held. A success goes to who reads the queue, if
 * that is the caller, unless some are queued: those of this endpoint are older. */
static inline void msgep_ep_done(struct msgep_ep *ep, struct msgep_cq *cq, void *context,
				 uint64_t flags, uint64_t len, uint64_t data, int err)
{
	struct msgep_cq_direct *direct = ep->cq_direct;
	struct fi_cq_data_entry *out;

	if (err || !direct || direct->cq != cq || direct->n == direct->room ||
	    !msgep_cq_empty(cq)) {
		msgep_cq_push(cq, context, flags, len, data, err);
		return;
	}
	out = &direct->out[direct->n++];
	out->op_context = context;
	out->flags = flags;
	out->len = len;
	out->data = data;
}

/* Wakes whoever sleeps on it. */
void msgep_cq_wake(struct msgep_cq *cq);
int msgep_cq_attach(struct msgep_cq *cq, struct msgep_ep *ep);
void msgep_cq_add_receiver(struct msgep_cq *cq, struct msgep_ep *newest);
void msgep_cq_detach(struct msgep_cq *cq, struct msgep_ep *ep);
/* The connection's socket, on which the peer may ring, wakes those who sleep on the queue. False:
 * the kernel lacks memory for it, or the user has too many such. */
bool msgep_cq_add_doorbell(struct msgep_cq *cq, struct msgep_ep *ep);
int msgep_cq_trywait(struct msgep_cq *cq);

int msgep_eq_trywait(struct msgep_eq *eq);
/* eq.c: takes over `event` (malloc'ed). */
void msgep_eq_push(struct msgep_eq *eq, struct msgep_event *event);
/* Called by a transport, with domain->transport_lock: data passes both ways, or never will. The connection
 * manager looks at it with its next round (msgep_cm_path_checked). */
void msgep_ep_path_checked(struct msgep_ep *ep);
/* One of these, or NULL; forget: it is being closed, and its transport is closed already. */
struct msgep_ep *msgep_eq_next_checked(struct msgep_eq *eq);
void msgep_eq_forget_checked(struct msgep_eq *eq, struct msgep_ep *ep);
/* Forgets the events of an endpoint that is being closed. */
void msgep_eq_forget(struct msgep_eq *eq, struct fid *fid);

/* object/mr.c: the real address of what the peer of ep wants, or NULL; *err then is the positive FI_* code
 * for the peer. The caller holds mr_lock for reading while it uses the address. */
void *msgep_mr_access(const struct msgep_ep *ep, uint32_t key, uint64_t addr, uint64_t len,
		      uint64_t access, int *err);

/* A peer is given leave to take data out of the region; mr_lock held for reading. */
void msgep_mr_set_granted(struct msgep_domain *domain, uint32_t key);
/* The region's memory is accessed until it is given back; mr_lock held for reading. */
struct msgep_mr *msgep_mr_hold(struct msgep_domain *domain, uint32_t key);
/* proto_read.c: that is over; mr_lock held for writing. */
void msgep_revoke_key(struct msgep_ep *ep, uint32_t key);

/* srx.c: a buffer for the message that waits at ep (ep->lock held); false: ep has been queued. */
bool msgep_srx_claim(struct msgep_srx *srx, struct msgep_ep *ep, struct msgep_recv *out);
/* The endpoint goes; what it was given and has not used goes back. */
void msgep_srx_detach(struct msgep_srx *srx, struct msgep_ep *ep);

/* post.c, srx.c */
extern struct fi_ops_msg msgep_msg_ops, msgep_srx_msg_ops;
extern struct fi_ops_rma msgep_rma_ops;
extern struct fi_ops_atomic msgep_atomic_ops;

/* proto.c; ep->lock held. */
/* Takes in what has arrived and sends what waits. Returns the number of frames taken. */
unsigned int msgep_proto_progress(struct msgep_ep *ep);
/* Puts waiting requests and answers into frames as far as there is room. */
void msgep_proto_push(struct msgep_ep *ep);
/* Does something posted, or asked for by the peer, wait to be done? Receives do not count. */
bool msgep_ep_has_work(const struct msgep_ep *ep);
/* proto_rx.c: what has arrived. Number of frames taken. */
unsigned int msgep_recv_answers(struct msgep_ep *ep);
unsigned int msgep_recv_requests(struct msgep_ep *ep);
/* The connection cannot go on; what has arrived is still received. */
void msgep_ep_abort(struct msgep_ep *ep, const char *why);
/* The peer broke the rules: the connection ends, and nothing more is believed. */
void msgep_ep_fail(struct msgep_ep *ep, const char *why);
/* proto_rx.c: ep->cur becomes the next receive. False: there is none, and the frame has to wait. */
bool msgep_claim_receive(struct msgep_ep *ep);
/* proto_bulk.c: the oldest transfer to us is over. False: it is not what was announced. */
bool msgep_bulk_done(struct msgep_ep *ep, uint64_t len);
/* Transfers into the region are over; ep->lock held. False: there were none. */
bool msgep_bulk_forget(struct msgep_ep *ep, const struct msgep_mr *mr);
/* None will come any more. */
void msgep_bulk_end(struct msgep_ep *ep);
/* proto_ext.c; false: they have to wait. */
bool msgep_recv_imm_frame(struct msgep_ep *ep, const struct msgep_frame *f);
bool msgep_recv_atomic(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload);

/* object/ep.c: called by the connection manager with eq->lock. */
/* The connection is up: frames may flow. */
void msgep_ep_up(struct msgep_ep *ep);
/* The peer has ended its side (died: without saying so, or it has died since). True: everything
 * that it sent has been taken, the end may be reported; false: ask again later. */
bool msgep_ep_peer_ended(struct msgep_ep *ep, bool died);
/* Called by a transport, with domain->transport_lock: whoever polls next ends the connection; the threads
 * that sleep on its completion queues are woken for that. */
void msgep_ep_broken(struct msgep_ep *ep, int err);

#endif
