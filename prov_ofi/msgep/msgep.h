/* SPDX-License-Identifier: BSD-2-Clause */
/* Connected endpoints (FI_EP_MSG) for fabrics that have none, as libfabric objects of our own.
 *
 * The rest of the provider speaks libfabric's interface of connected endpoints. Where a fabric has
 * them (verbs), libfabric answers; where it has not (two processes of one host; fabrics with
 * FI_EP_RDM only), the objects of this folder do: fabric, domain, event queue, completion queue,
 * endpoint, listener, memory region, shared receive context. Nothing above can tell.
 *
 *   proto    messages, RDMA writes and reads as frames on two ordered channels (frame.h)
 *   wire     carries the frames of one connection: a ring in shared memory (shm.c), or cells
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
 *   domain->mr_lock (read), srx->lock, domain->wire_lock
 *   domain->watch_lock
 *   cq->lock, eq->event_lock, the inbox's    nothing is taken under them
 */
#ifndef DOFI_RDM_H
#define DOFI_RDM_H

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

#define RDM_IOV_MAX 4
/* Private data of a connection message, the header of cm/cm_proto.h included. */
#define RDM_CM_DATA 296

struct rdm_ep;
struct rdm_wire;
struct rdm_inbox;

struct rdm_fabric {
	struct fid_fabric fid;
	const struct dofi_fab *fab;	/* row, addresses; outlives the object */
	const struct rdm_wire *wire;	/* leads to every peer that can be reached */
	/* To peers on this host where they have it too, instead; NULL: there is no choice. It keeps
	 * nothing in the domain. */
	const struct rdm_wire *local_wire;
};

/* libfabric's authorization keys (fi_mr_attr, fi_ep_attr) as they are used here: a peer reaches a
 * region through an endpoint of the same zone, or, if the region names one, through that only. */
struct rdm_auth {
	uint64_t zone;
	uint64_t ep;			/* of a region: 0: any; of an endpoint: itself */
};

/* No key at all is zone 0. */
static inline void rdm_auth_copy(struct rdm_auth *auth, const uint8_t *key, size_t size)
{
	if (size == sizeof(*auth))
		memcpy(auth, key, size);
}

struct rdm_mr {
	struct fid_mr fid;
	struct rdm_domain *domain;
	uint64_t base, length, offset;	/* real address = address in a request + offset */
	uint64_t access;
	struct rdm_auth auth;
	uint32_t key;
	_Atomic bool granted;		/* a peer may be taking data out of it */
	_Atomic uint32_t transfers;	/* of long data, under way into it or out of it */
};

struct rdm_domain {
	struct fid_domain fid;
	struct rdm_fabric *fabric;
	pthread_rwlock_t mr_lock;	/* held for reading while a region is accessed */
	struct dofi_key_map mrs;	/* regions by key; mr_lock */
	struct dofi_list ep_list;	/* all endpoints; mr_lock */
	pthread_mutex_t wire_lock;
	void *wire;			/* the wire's own: struct of rdm.c, or NULL */
	struct rdm_inbox *inbox;	/* of a wire that carries the handshake (inbox.h) */
	struct rdm_lock watch_lock;
	struct dofi_list cqs;		/* watch_lock */
	/* The one that has wait_fds in its epfd; watch_lock to write. */
	_Atomic(struct rdm_cq *) watcher;
	_Atomic uint32_t eps;		/* open endpoints */
	_Atomic uint16_t next_port;	/* names the active ends of connections */
};

struct rdm_completion {
	struct fi_cq_data_entry entry;
	int err;			/* positive; 0: success */
};

/* Where a reader of a queue wants the completions that it brings about. */
struct rdm_sink {
	struct rdm_cq *cq;
	struct fi_cq_data_entry *out;
	size_t n, room;
};

/* A completion for which the ring cannot grow, in the context of its operation. */
struct rdm_held {
	struct rdm_held *next;
	uint64_t flags, len, data;
	int err;
};
_Static_assert(sizeof(struct rdm_held) <= sizeof(struct fi_context2), "it fits there");

/* An endpoint that is bound to a queue. */
struct rdm_cq_ep {
	struct rdm_ep *ep;
	uint32_t news_at;		/* the last look that found any */
};

struct rdm_cq {
	struct fid_cq fid;
	struct rdm_domain *domain;
	struct dofi_list link;		/* domain->cqs */
	struct rdm_lock poll;
	struct rdm_cq_ep *eps;		/* bound for either direction, each once: first the n_busy
					 * that are looked at each time (cq_look.c) */
	uint32_t n_eps, n_busy, eps_room;
	uint32_t looks;			/* so far */
	uint32_t turn, idle_turn;	/* the next to be looked at first; of the idle ones */
	_Atomic uint32_t receivers;	/* of them, those that receive here */
	bool has_local, saw_local;	/* connections on a local wire, as of the last looks */
	uint64_t look_at;		/* see rdm_cq_looks_far() */
	struct rdm_lock lock;
	struct rdm_completion *ring;	/* room is a power of two; grows, loses nothing */
	uint32_t room;
	_Atomic uint32_t head, tail;
	struct rdm_held *held, **held_end;	/* behind those of the ring, which is full */
	_Atomic bool armed;		/* somebody sleeps on epfd */
	int signal;			/* eventfd, in epfd */
	int epfd;			/* FI_GETWAIT: signal, sockets of connections whose peers
					   ring there, and of the domain's watcher the wire's
					   descriptor */
};

/* Connection events that wait to be read, and all sockets of connections. */
struct rdm_event {
	struct dofi_list link;
	uint32_t event;			/* FI_CONNREQ, FI_CONNECTED, FI_SHUTDOWN; 0: error */
	int err;			/* error entry: positive */
	int prov_errno;			/* error entry: why no socket leads to the peer; or 0 */
	struct fid *fid;
	struct fi_info *info;		/* FI_CONNREQ: ours until it is read */
	size_t len;
	uint8_t data[];			/* room: RDM_CM_DATA; none for the end of a connection */
};

struct rdm_eq {
	struct fid_eq fid;
	struct rdm_fabric *fabric;
	pthread_mutex_t lock;
	pthread_mutex_t event_lock;
	struct dofi_list events;
	struct dofi_list settled;	/* endpoints: rdm_ep_settled */
	int signal;			/* eventfd in epfd: events wait */
	int epfd;			/* FI_GETWAIT */
	void *cm;			/* the connection manager's own state (cm.c) */
};

/* A receive that waits for its message. */
struct rdm_recv {
	void *context;
	uint64_t total;
	uint32_t count;
	struct iovec iov[RDM_IOV_MAX];
};

struct rdm_srx {
	struct fid_ep fid;
	struct rdm_domain *domain;
	struct dofi_lock lock;
	struct rdm_recv *ring;
	uint32_t room, head, tail;
	uint64_t taken;			/* buffers that have found their message */
	struct dofi_list waiting;	/* endpoints whose message waits for a buffer, first come
					   first served */
};

/* A request that waits for its turn, or for the peer's answer. */
struct rdm_tx {
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
	struct iovec iov[RDM_IOV_MAX];
};

/* Power-of-two ring of requests, which grows up to `most` (post.c). */
struct rdm_txq {
	struct rdm_tx *tx;
	uint32_t room, most, head, tail;
};

/* A read of the peer that is being answered. */
struct rdm_serve {
	uint64_t remote, total, done;
	uint32_t key;
	int refused;			/* code, 0: granted */
	bool pulled;			/* the peer takes it out of our memory */
	bool known;			/* atomic operation: the answer is `value` */
	uint64_t value;
};
/* Unanswered ones of a connection at most. */
#define RDM_SERVE_MAX 64

/* A message that is in frames, which have not all reached the peer. */
struct rdm_flight {
	void *context;
	uint64_t total;
	uint32_t end;			/* frames up to its end, counted from the beginning */
};
/* At most: the largest window of a transport that reports what has arrived. */
#define RDM_FLIGHTS 256

/* A transfer of long data that is on its way to us; see proto_bulk.c. */
struct rdm_bulk {
	uint8_t kind;			/* RDM_MSG, RDM_WRITE, RDM_READ */
	bool last;			/* of its request */
	bool has_data;
	uint8_t tail_len;
	uint64_t id, len;
	uint64_t data, total;
	void *context;
	struct rdm_mr *mr;		/* of writes: held */
	char *tail_to;			/* the end of a write */
	uint8_t tail[64];
};

struct rdm_bulk_queue {
	struct rdm_bulk *ring;
	uint32_t room, head, told, tail;
	uint32_t requests;		/* those that are no reads */
};

/* An endpoint reports how its attempt to connect ended, and the end of its connection. Neither may
 * be lost for want of memory, which is therefore allocated before the attempt: first that of the
 * outcome, which has data. */
#define RDM_EP_EVENTS 2

enum rdm_state { RDM_NEW, RDM_CONNECTING, RDM_UP, RDM_DOWN };

struct rdm_ep {
	struct fid_ep fid;
	struct rdm_domain *domain;
	struct dofi_list link;		/* domain->ep_list */
	struct rdm_eq *eq;
	struct rdm_cq *tx_cq, *rx_cq;
	struct rdm_srx *srx;
	struct rdm_lock lock;
	struct rdm_sink *sink;		/* of who has the lock; NULL: he reads no queue */
	_Atomic int state;		/* enum rdm_state */
	struct rdm_auth auth;

	/* sending: requests not entirely in frames yet; those that wait for an acknowledgement, or
	 * for data */
	struct rdm_txq txq, unacked, reads;
	uint64_t acked;			/* as counted by the peer */
	uint32_t frames;		/* of requests, committed since the beginning */
	struct rdm_flight *flights;	/* ring, which grows up to RDM_FLIGHTS */
	uint32_t flight_room, flight_head, flight_tail;
	_Atomic uint64_t awaited;	/* end of the first flight, and RDM_AWAITS; 0: none */
	/* answering */
	struct rdm_serve *serve;	/* ring, which grows up to RDM_SERVE_MAX */
	uint32_t serve_room, serve_head, serve_tail;
	/* Places of `serve` whose data the peer may be taking; they, and the keys there, change
	 * with mr_lock held for reading, so that who holds it for writing may look. */
	uint64_t granted;
	uint64_t done, told;		/* requests that want an acknowledgement */
	uint32_t nak;			/* code for which a write was refused, not told yet */
	_Atomic bool pending;		/* something of the above waits for room in a channel */

	/* receiving */
	struct rdm_recv *rxq;
	uint32_t rx_room, rx_most, rx_head, rx_tail;	/* the ring grows up to rx_most */
	struct rdm_recv cur;		/* of the message or write that is arriving */
	bool in_message, in_write;
	bool wrote;			/* a write was the last request: a note may follow */
	uint64_t remote;		/* of the write: where the next byte goes */
	uint32_t key;
	bool refused;			/* what follows a refused request is thrown away */
	_Atomic bool failed;		/* the peer broke the rules */
	_Atomic bool cut;		/* the event queue has been made to see the end */
	uint64_t got, expected, data;
	uint64_t messages;		/* that have arrived */
	uint64_t hauled;		/* bytes taken out of the peer's memory in one go */
	_Atomic uint32_t order;		/* see proto_rx.c */
	bool has_data;
	_Atomic bool stalled;		/* a message waits for a receive */
	struct rdm_recv gift;		/* given by the SRX while it waited */
	bool has_gift, waits_for_srx;
	struct dofi_list srx_link;

	struct rdm_bulk_queue bulk;
	uint32_t reads_at;		/* the read that the next answer is for */

	/* connection manager's (eq->lock) */
	struct rdm_event *reserved[RDM_EP_EVENTS];
	int sock;			/* of the handshake, -1: none */
	struct dofi_list settled;	/* in eq->settled; event_lock */
	union dofi_addr local, peer;	/* with ports */
	bool has_qual;
	uint64_t qual;			/* in the name of a listener's unix socket, beside the port */
	void *cm;

	bool owes_ring;			/* its doorbell was not taken */

	/* wire's */
	_Atomic int broken;		/* positive FI_* code: the connection cannot go on */
	union {
		struct rdm_shm *shm;
		struct rdm_conn *conn;
		struct pair_conn *pair;
		void *any;
	} w;
	const struct rdm_wire *wire;	/* settled before the state is RDM_UP */
};

/* What one side tells the other about its wire when they connect. */
#define RDM_OFFER_MAX 192
struct rdm_offer {
	uint16_t len;
	uint8_t data[RDM_OFFER_MAX];
	int fd;				/* travels with it, -1: none; whoever gets the offer closes
					   it */
};

/* What it tells the other when nothing moves. */
#define RDM_COUNTS_MAX 56

#define RDM_WAIT_FDS 3

/* One kind of wire. Endpoint calls hold ep->lock unless they say otherwise. */
struct rdm_wire {
	const char *name;
	uint8_t id;			/* in the handshake */
	bool local;			/* peers are processes of this host: unix sockets */
	bool doorbell;			/* a sleeping peer is woken by a byte on the socket */
	bool dispatches;		/* `progress` processes all endpoints: none is asked for
					   news by itself */
	/* fi_info of the outer (connected) endpoints; fab->addr is chosen. 0 or negative. */
	int (*getinfo)(struct dofi_fab *fab, struct fi_info **info);
	int (*domain_open)(struct rdm_domain *domain);
	void (*domain_close)(struct rdm_domain *domain);
	/* Descriptors of which one becomes readable when something arrives for any endpoint: how
	 * many. No set of its own: libfabric 2.x waits by sets three deep, and the kernel allows
	 * five in each other. */
	int (*wait_fds)(struct rdm_domain *domain, int fd[RDM_WAIT_FDS]);
	/* Reads what has arrived for all endpoints, without ep->lock (poll path). */
	void (*progress)(struct rdm_domain *domain, struct rdm_sink *sink);
	/* May one sleep on wait_fds? false: look again. */
	bool (*may_sleep)(struct rdm_domain *domain);
	/* Without a lock: is there any connection on it, or one whose last frames still go out? */
	bool (*busy)(struct rdm_domain *domain);

	/* Handshake: no lock of ours but eq->lock. offer: called first by the active side, then by
	 * the passive one after adopt, when it accepts. adopt checks what the peer offers: 0 or a
	 * negative error; it takes over in->fd (sets it to -1). close undoes both. */
	int (*offer)(struct rdm_ep *ep, bool active, struct rdm_offer *out);
	int (*adopt)(struct rdm_ep *ep, bool active, struct rdm_offer *in);
	void (*close)(struct rdm_ep *ep);
	/* eq->lock held, not ep->lock. Asks whether data passes both ways, again if it has asked
	 * before; calls rdm_ep_settled when it knows, or when the connection cannot go on. NULL: the
	 * handshake shows that. proved: it does. */
	void (*prove)(struct rdm_ep *ep);
	bool (*proved)(struct rdm_ep *ep);
	/* What has been sent and has arrived so far: other bytes whenever something has moved
	 * (RDM_COUNTS_MAX at most, returns how many). NULL: nothing can be lost. missing: the same of
	 * the peer; has something not arrived, here or there, or makes no sense? */
	size_t (*counts)(struct rdm_ep *ep, uint8_t *out);
	bool (*missing)(struct rdm_ep *ep, const uint8_t *in, size_t len);
	/* Nothing will be sent any more. out: bytes for the last message on the socket (at most
	 * RDM_OFFER_MAX), returns how many. */
	size_t (*finish)(struct rdm_ep *ep, uint8_t *out);
	/* The peer's last message; then: has everything that the peer sent been consumed, or can
	 * nothing more come? (died: the socket ended without a last message, or nobody has it) */
	void (*finished)(struct rdm_ep *ep, const uint8_t *in, size_t len);
	bool (*drained)(struct rdm_ep *ep, bool died);

	/* The handshake without a socket (cm_route.c); NULL: this wire has none, the next ones neither.
	 * A route is a number, not 0, of a connection of the wire's own to another adapter. All but
	 * owner with eq->lock held. route: one to that service point, and our address on it; 0: there
	 * is none. route_peer: the peer's address. route_of: the one that ep is attached to; 0: none.
	 * learn: the route that ep uses leads to that service point; unlearn: it does not. */
	uint64_t (*route)(struct rdm_domain *domain, const union dofi_addr *to,
			  union dofi_addr *local);
	void (*route_peer)(struct rdm_domain *domain, uint64_t route, union dofi_addr *peer);
	uint64_t (*route_of)(struct rdm_ep *ep);
	void (*learn)(struct rdm_ep *ep, const union dofi_addr *to, const union dofi_addr *local);
	void (*unlearn)(struct rdm_domain *domain, uint64_t route, const union dofi_addr *to);
	/* Sends a message of ep (NULL: of none) to the connection `to` there, 0: to that of ep. With
	 * a port it is a request for that service point. False: the route has gone. It leaves with
	 * `told` at the latest. */
	bool (*tell)(struct rdm_domain *domain, struct rdm_ep *ep, uint64_t route, uint64_t to,
		     uint16_t port, const uint8_t *msg, size_t len);
	void (*told)(struct rdm_domain *domain);
	/* The endpoint of a connection here; NULL: it has gone. */
	struct rdm_ep *(*owner)(struct rdm_domain *domain, uint64_t mark);
	/* Now and then: ends the routes to hosts that have vanished. */
	void (*check_hosts)(struct rdm_domain *domain);

	/* Frames. reserve: room for a frame with up to `want` bytes of payload, or NULL; *room says
	 * how many there are (at least RDM_PAYLOAD_LEAST if so many are wanted). commit: it is
	 * complete. */
	struct rdm_frame *(*reserve)(struct rdm_ep *ep, int channel, size_t want, size_t *room);
	void (*commit)(struct rdm_ep *ep, int channel, struct rdm_frame *frame);
	/* NULL: a frame that is not committed needs nothing. */
	void (*unreserve)(struct rdm_ep *ep);
	/* How many frames of requests, counted from the beginning, are in the peer's hands, and
	 * will be received, if we live or not? NULL: as soon as they are committed. */
	uint32_t (*arrived)(struct rdm_ep *ep);
	/* Is a message complete as soon as it is committed nevertheless? NULL: none is. */
	bool (*eager)(struct rdm_ep *ep);
	/* Acknowledgements that no frame carries. acknowledge: so many requests that want one are
	 * done, counted from the beginning; flush follows. acknowledged: the peer's count. NULL: they
	 * travel in frames, as refusals do. */
	void (*acknowledge)(struct rdm_ep *ep, uint32_t count);
	uint32_t (*acknowledged)(struct rdm_ep *ep);
	/* The endpoint's receive queue has others, too: messages are to keep their order across
	 * them. NULL: they always do, or never. */
	void (*several)(struct rdm_ep *ep);
	/* The next frame that has arrived and its payload; frame->len has been checked to be
	 * within what arrived, and the frame is out of the peer's reach. NULL: none. release:
	 * consumed. */
	const struct rdm_frame *(*peek)(struct rdm_ep *ep, int channel, const void **payload);
	void (*release)(struct rdm_ep *ep, int channel);
	/* After a batch: tell the peer how much room it has again, ring if it waits for that. */
	void (*flush)(struct rdm_ep *ep);
	/* The peer may take data of that size, or more, out of our memory; SIZE_MAX: never. */
	size_t (*pull_from)(struct rdm_ep *ep);
	/* Takes `len` bytes out of the peer's memory. False: they are not the peer's any more. */
	bool (*pull)(struct rdm_ep *ep, struct iovec *to, const struct rdm_segment *from, size_t n);
	/* We may take what we read out of the peer's memory from that size on; SIZE_MAX: never. */
	size_t (*pull_to)(struct rdm_ep *ep);
	/* The peer may take what its read of that number asks for; those of these numbers, modulo
	 * RDM_SERVE_MAX, not any more (with mr_lock for writing, perhaps without ep->lock); nor
	 * anything else that was ever offered. */
	void (*grant)(struct rdm_ep *ep, uint32_t read);
	void (*revoke)(struct rdm_ep *ep, uint64_t reads);
	void (*withdraw)(struct rdm_ep *ep);
	/* Has the peer revoked that? What was taken before the question was taken in time. */
	bool (*revoked)(struct rdm_ep *ep, uint32_t read);
	/* Long data by an endpoint of its own (proto_bulk.c); NULL: not here. From which size on now;
	 * SIZE_MAX: not yet, or never. */
	size_t (*bulk_from)(struct rdm_ep *ep);
	/* A transfer out of that memory; mr: whose it is and what has been held for it, or NULL.
	 * False: too many are under way; the endpoint is looked at when one is over. */
	bool (*bulk_send)(struct rdm_ep *ep, const struct iovec *iov, size_t n, struct rdm_mr *mr,
			  uint64_t *id);
	/* The peer says GO. False: there is no such transfer. */
	bool (*bulk_go)(struct rdm_ep *ep, uint64_t id);
	/* Posts memory for the next transfer; rdm_bulk_done is called when it is there. */
	bool (*bulk_recv)(struct rdm_ep *ep, const struct iovec *iov, size_t n);
	/* No transfer touches the region any more (mr_lock held for writing, too). False: none did. */
	bool (*bulk_abort)(struct rdm_ep *ep, const struct rdm_mr *mr);
	/* The connection is over: no transfer touches memory any more. */
	void (*bulk_stop)(struct rdm_ep *ep);
	/* Without ep->lock: may anything have arrived? A guess that errs to true only. */
	bool (*ready)(struct rdm_ep *ep);
	/* Before sleeping. arm, settle (NULL: wait_fds suffice): from now on the peer rings when it
	 * sends and, with `room`, when it has made room. settle, once all are armed: whoever has
	 * not seen that is seen. quiet: nothing is there, no room has been made. */
	void (*arm)(struct rdm_ep *ep, bool room);
	void (*settle)(struct rdm_domain *domain);
	bool (*quiet)(struct rdm_ep *ep, bool room);
	/* A receive has been given to an endpoint whose message waited (srx->lock held). NULL: the
	 * next look at the endpoint finds out. */
	void (*touch)(struct rdm_ep *ep);
};

static inline void rdm_unreserve(struct rdm_ep *ep)
{
	if (ep->wire->unreserve)
		ep->wire->unreserve(ep);
}

extern const struct rdm_wire rdm_wire_shm, rdm_wire_fab, rdm_wire_pair;

/* Is a message complete now that so many frames have arrived? Without ep->lock. */
#define RDM_AWAITS ((uint64_t)1 << 32)
static inline bool rdm_ep_awaits(struct rdm_ep *ep, uint32_t arrived)
{
	uint64_t first = atomic_load(&ep->awaited);

	return first && (int32_t)(arrived - (uint32_t)first) >= 0;
}

/* Entry points of fabric/fab.c: what fi_getinfo and fi_fabric are elsewhere. */
int rdm_getinfo(struct dofi_fab *fab, struct fi_info **info);
int rdm_fabric(struct dofi_fab *fab, struct fid_fabric **fabric);
/* The fi_info of connected endpoints on a wire called so. */
int rdm_outer_info(const struct dofi_fab *fab, const char *name, struct fi_info **out);
/* A copy that starts from that address; NULL: from none in particular. NULL without memory. */
struct fi_info *rdm_info_from(const struct fi_info *base, const union dofi_addr *source);

/* objects */
int rdm_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		    void *context);
int rdm_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		void *context);
int rdm_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		 void *context);
int rdm_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		void *context);
int rdm_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		void *context);
int rdm_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx,
		 void *context);
extern struct fi_ops_mr rdm_mr_ops;

/* data/cq.c */
void rdm_cq_push(struct rdm_cq *cq, void *context, uint64_t flags, uint64_t len, uint64_t data,
		 int err);
/* Do several endpoints receive there? */
static inline bool rdm_cq_several(const struct rdm_cq *cq)
{
	return atomic_load(&cq->receivers) > 1;
}

static inline bool rdm_cq_empty(const struct rdm_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_relaxed) ==
	       atomic_load_explicit(&cq->tail, memory_order_acquire);
}

/* An operation of an endpoint is over; ep->lock held. A success goes to who reads the queue, if
 * that is the caller, unless some are queued: those of this endpoint are older. */
static inline void rdm_ep_done(struct rdm_ep *ep, struct rdm_cq *cq, void *context, uint64_t flags,
			       uint64_t len, uint64_t data, int err)
{
	struct rdm_sink *sink = ep->sink;
	struct fi_cq_data_entry *out;

	if (err || !sink || sink->cq != cq || sink->n == sink->room || !rdm_cq_empty(cq)) {
		rdm_cq_push(cq, context, flags, len, data, err);
		return;
	}
	out = &sink->out[sink->n++];
	out->op_context = context;
	out->flags = flags;
	out->len = len;
	out->data = data;
}

/* Wakes whoever sleeps on it. */
void rdm_cq_wake(struct rdm_cq *cq);
int rdm_cq_attach(struct rdm_cq *cq, struct rdm_ep *ep);
void rdm_cq_receives(struct rdm_cq *cq, struct rdm_ep *newest);
void rdm_cq_detach(struct rdm_cq *cq, struct rdm_ep *ep);
/* The connection's socket, on which the peer may ring, wakes those who sleep on the queue. False:
 * the kernel lacks memory for it, or the user has too many such. */
bool rdm_cq_listen_to(struct rdm_cq *cq, struct rdm_ep *ep);
int rdm_cq_trywait(struct rdm_cq *cq);

int rdm_eq_trywait(struct rdm_eq *eq);
/* eq.c: takes over `event` (malloc'ed). */
void rdm_eq_push(struct rdm_eq *eq, struct rdm_event *event);
/* Called by a wire, with domain->wire_lock: data passes both ways, or never will. The connection
 * manager looks at it with its next round (rdm_cm_settled). */
void rdm_ep_settled(struct rdm_ep *ep);
/* One of these, or NULL; forget: it is being closed, and its wire is closed already. */
struct rdm_ep *rdm_eq_next_settled(struct rdm_eq *eq);
void rdm_eq_forget_settled(struct rdm_eq *eq, struct rdm_ep *ep);
/* Forgets the events of an endpoint that is being closed. */
void rdm_eq_forget(struct rdm_eq *eq, struct fid *fid);

/* object/mr.c: the real address of what the peer of ep wants, or NULL; *err then is the positive FI_* code
 * for the peer. The caller holds mr_lock for reading while it uses the address. */
void *rdm_mr_access(const struct rdm_ep *ep, uint32_t key, uint64_t addr, uint64_t len,
		    uint64_t access, int *err);

/* A peer is given leave to take data out of the region; mr_lock held for reading. */
void rdm_mr_granted(struct rdm_domain *domain, uint32_t key);
/* The region's memory is accessed until it is given back; mr_lock held for reading. */
struct rdm_mr *rdm_mr_hold(struct rdm_domain *domain, uint32_t key);
/* proto_read.c: that is over; mr_lock held for writing. */
void rdm_revoke_key(struct rdm_ep *ep, uint32_t key);

/* srx.c: a buffer for the message that waits at ep (ep->lock held); false: ep has been queued. */
bool rdm_srx_take(struct rdm_srx *srx, struct rdm_ep *ep, struct rdm_recv *out);
/* The endpoint goes; what it was given and has not used goes back. */
void rdm_srx_leave(struct rdm_srx *srx, struct rdm_ep *ep);

/* post.c, srx.c */
extern struct fi_ops_msg rdm_msg_ops, rdm_srx_msg_ops;
extern struct fi_ops_rma rdm_rma_ops;
extern struct fi_ops_atomic rdm_atomic_ops;

/* proto.c; ep->lock held. */
/* Takes in what has arrived and sends what waits. Returns the number of frames taken. */
unsigned int rdm_proto_progress(struct rdm_ep *ep);
/* Puts waiting requests and answers into frames as far as there is room. */
void rdm_proto_push(struct rdm_ep *ep);
/* Does something posted, or asked for by the peer, wait to be done? Receives do not count. */
bool rdm_ep_waits(const struct rdm_ep *ep);
/* proto_rx.c: what has arrived. Number of frames taken. */
unsigned int rdm_take_answers(struct rdm_ep *ep);
unsigned int rdm_take_requests(struct rdm_ep *ep);
/* The connection cannot go on; what has arrived is still received. */
void rdm_ep_cut(struct rdm_ep *ep, const char *why);
/* The peer broke the rules: the connection ends, and nothing more is believed. */
void rdm_ep_fail(struct rdm_ep *ep, const char *why);
/* proto_rx.c: ep->cur becomes the next receive. False: there is none, and the frame has to wait. */
bool rdm_take_receive(struct rdm_ep *ep);
/* proto_bulk.c: the oldest transfer to us is over. False: it is not what was announced. */
bool rdm_bulk_done(struct rdm_ep *ep, uint64_t len);
/* Transfers into the region are over; ep->lock held. False: there were none. */
bool rdm_bulk_forget(struct rdm_ep *ep, const struct rdm_mr *mr);
/* None will come any more. */
void rdm_bulk_end(struct rdm_ep *ep);
/* proto_ext.c; false: they have to wait. */
bool rdm_take_note(struct rdm_ep *ep, const struct rdm_frame *f);
bool rdm_take_atomic(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload);

/* object/ep.c: called by the connection manager with eq->lock. */
/* The connection is up: frames may flow. */
void rdm_ep_up(struct rdm_ep *ep);
/* The peer has ended its side (died: without saying so, or it has died since). True: everything
 * that it sent has been taken, the end may be reported; false: ask again later. */
bool rdm_ep_peer_ended(struct rdm_ep *ep, bool died);
/* Called by a wire, with domain->wire_lock: whoever polls next ends the connection; the threads
 * that sleep on its completion queues are woken for that. */
void rdm_ep_broken(struct rdm_ep *ep, int err);

#endif
