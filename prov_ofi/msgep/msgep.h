/* SPDX-License-Identifier: BSD-2-Clause */
/* Connected endpoints (FI_EP_MSG) for fabrics that have none, as libfabric objects of our own.
 *
 * The rest of the provider uses libfabric's interface of connected endpoints. Where a fabric has
 * them (verbs), libfabric implements it. Elsewhere (processes of one host; fabrics with FI_EP_RDM
 * only) this folder does: fabric, domain, event queue, completion queue, endpoint, listener, memory
 * region, shared receive context. The layers above see no difference.
 *
 *   proto      messages, RDMA writes and reads as frames on two ordered channels (frame.h)
 *   transport  carries the frames of one connection: a ring in shared memory (shm/), packets
 *              through one RDM endpoint of libfabric per domain (rdm/), or packets through one
 *              libfabric connection per pair of adapters (pair/). A fabric may have a local and a
 *              network transport: the handshake selects one of them (cm/cm_dial.c)
 *   cm         connections: a handshake over a control channel, usually a stream socket that stays
 *              open during the connection and reports that the peer disconnects, dies, or wakes
 *              this side (cm/cm.h)
 *
 * Received data is copied to its destination by the receiving side: a peer never writes our memory
 * itself. So access rights are checked at the time of the access, a closed region is not accessed
 * any more, and a flushed operation touches no memory.
 *
 * Locks, in the order in which they may be taken (all below those of object/ia.h):
 *   eq->lock    sockets, connection state
 *   domain->serve_lock
 *   cq->poll    the polling thread: the list of the queue's endpoints. Its holder may try, without
 *               waiting, to take serve_lock and then cq->poll of another queue
 *   ready->read_lock
 *   ep->lock    one connection: its send and receive state
 *   domain->mr_lock (read), srx->lock, domain->transport_lock, ready->write_lock
 *   domain->wait_lock
 *   cq->lock, eq->event_lock, the inbox's lock: no other lock is taken under them
 * Those of eq are mutexes, which no thread takes per operation; mr_lock is held during
 * copies, which must not wait for each other. The others are of the type in base/lock.h.
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
#include "msgep/transport.h"

#define MSGEP_IOV_MAX DOFI_IOV_MAX
/* Segments that a request or a receive has room for, and that one frame lists. Longer lists are not
 * copied: the endpoint uses the caller's, and changes it, until the operation is complete. */
#define MSGEP_IOV_INLINE 4
/* Private data of a connection message, including the header of proto/cm_proto.h. */
#define MSGEP_CM_DATA 296

struct msgep_ep;
struct msgep_transport;
struct msgep_inbox;
struct msgep_ready;

static inline void msgep_fid_init(struct fid *fid, size_t fclass, void *context, struct fi_ops *ops)
{
	*fid = (struct fid){ .fclass = fclass, .context = context, .ops = ops };
}

struct msgep_fabric {
	struct fid_fabric fid;
	const struct dofi_fab *fab;              /* descriptor, addresses; outlives the object */
	const struct msgep_transport *transport; /* reaches every peer */
	/* Used instead for peers on this host that have it, too; NULL: none. Keeps no state in the
	 * domain. */
	const struct msgep_transport *local_transport;
	struct msgep_domain *domain; /* the last one opened, or NULL */
};

/* Contents of libfabric's authorization keys (fi_mr_attr, fi_ep_attr): a peer reaches a region
 * through an endpoint of the same zone or, if the region names an endpoint, through that one
 * only. */
struct msgep_auth {
	uint64_t zone;
	uint64_t ep; /* of a region: 0: any; of an endpoint: its own id */
};

/* Without a key the zone is 0. */
static inline void msgep_auth_copy(struct msgep_auth *auth, const uint8_t *key, size_t size)
{
	if (size == sizeof(*auth))
		memcpy(auth, key, size);
}

struct msgep_mr {
	struct fid_mr fid;
	struct msgep_domain *domain;
	uint64_t base, length, offset; /* real address = address in a request + offset */
	uint64_t access;
	struct msgep_auth auth;
	uint32_t key;
	_Atomic bool granted;       /* a peer may be reading it by CMA */
	_Atomic uint32_t transfers; /* transfers of long data in progress, in or out */
};

struct msgep_domain {
	struct fid_domain fid;
	struct msgep_fabric *fabric;
	pthread_rwlock_t mr_lock; /* held for reading while a region is accessed */
	struct dofi_key_map mrs;  /* regions by key; mr_lock */
	struct dofi_list ep_list; /* all endpoints; mr_lock */
	struct dofi_lock transport_lock;
	void *transport_data;      /* state of the transport: struct rdm_net, struct pair_net;
				    * or NULL */
	struct msgep_inbox *inbox; /* of transports that carry the handshake (inbox.h) */
	struct dofi_lock wait_lock;
	/* Held, with wait_lock, to change the list of queues, and while one of them is polled for
	 * the consumer of another (cq_poll.c). */
	struct dofi_lock serve_lock;
	struct dofi_list cqs;     /* serve_lock or wait_lock to read */
	struct dofi_list *served; /* link of the last one that was polled so; serve_lock */
	/* The queue whose epfd contains wait_fds; wait_lock to write. */
	_Atomic(struct msgep_cq *) wait_cq;
	_Atomic uint32_t eps;       /* open endpoints */
	_Atomic uint16_t next_port; /* distinguishes the active ends of connections */
};

struct msgep_completion {
	struct fi_cq_data_entry entry;
	int err; /* positive; 0: success */
};

/* Where the reader of a queue receives completions directly, without the queue's ring. */
struct msgep_cq_direct {
	struct msgep_cq *cq;
	struct fi_cq_data_entry *out;
	size_t n, capacity;
};

/* A completion for which the ring cannot grow, stored in the context of its operation. */
struct msgep_held {
	struct msgep_held *next;
	uint64_t flags, len, data;
	int err;
};
_Static_assert(sizeof(struct msgep_held) <= sizeof(struct fi_context2), "it fits there");

/* An endpoint that is bound to a queue. */
struct msgep_cq_ep {
	struct msgep_ep *ep;
	uint32_t last_active; /* the last poll that found anything */
};

struct msgep_cq {
	struct fid_cq fid;
	struct msgep_domain *domain;
	struct dofi_list link; /* domain->cqs */
	struct dofi_lock poll;
	/* Bound for either direction, each once. The first n_active are polled each time, those up
	 * to n_polled in turn (cq_poll.c); the others are announced by a ready ring, or reported
	 * by their transport. */
	struct msgep_cq_ep *eps;
	uint32_t n_eps, n_active, n_polled, eps_capacity;
	struct msgep_ready **ready; /* ready rings of the others (ready.h); poll */
	uint32_t n_ready, ready_capacity;
	struct dofi_list ready_pairs; /* those of queues whose receive queue this is; poll */
	_Atomic uint64_t id;          /* distinguishes the queue, for peers; 0: not chosen yet */
	uint32_t polls;               /* number so far */
	uint32_t turn, idle_turn;     /* last one that was checked for activity; next idle one */
	uint32_t reported_turn;       /* next reported one that is polled nevertheless */
	_Atomic uint32_t receivers;   /* number of eps that receive here */
	_Atomic uint32_t n_local;     /* number of eps whose connection is local */
	/* Those that have been reported (cq_touch.c); touch_lock, the innermost one. */
	struct dofi_list touched;
	struct dofi_lock touch_lock;
	_Atomic uint32_t n_touched;
	_Atomic bool has_reported; /* some endpoint is polled only when it is reported */
	bool all_dispatched;       /* the network transport processes what arrives for all eps */
	const struct msgep_transport *network; /* NULL: it needs no progress */
	uint32_t plain_limit;                  /* see msgep_cq_is_plain() */
	uint64_t next_network_poll;            /* see msgep_cq_polls_network() */
	uint32_t served_polls;                 /* `polls` after the last poll for another queue */
	uint32_t skip;       /* polls between two visits of other queues, if they find nothing */
	uint32_t next_visit; /* `polls` at the next one */
	struct dofi_lock lock;
	struct msgep_completion *ring; /* capacity is a power of two; grows, loses nothing */
	uint32_t capacity;
	_Atomic uint32_t head, tail;
	struct msgep_held *held, **held_end; /* newer than those of the full ring */
	_Atomic bool armed;                  /* a thread blocks on epfd */
	int signal;                          /* eventfd, in epfd */
	/* FI_GETWAIT: signal, sockets on which peers ring the doorbell, and in the domain's
	 * wait_cq the transport's descriptors */
	int epfd;
};

/* Unread connection events. */
struct msgep_event {
	struct dofi_list link;
	uint32_t event; /* FI_CONNREQ, FI_CONNECTED, FI_SHUTDOWN; 0: error */
	int err;        /* error entry: positive */
	int prov_errno; /* error entry: reason why no socket leads to the peer; or
			 * 0 */
	struct fid *fid;
	struct fi_info *info; /* FI_CONNREQ: owned by the queue until it is read */
	size_t len;
	uint8_t data[]; /* room: MSGEP_CM_DATA; none if it reports the end of a
			 * connection */
};

struct msgep_eq {
	struct fid_eq fid;
	struct msgep_fabric *fabric;
	pthread_mutex_t lock;
	pthread_mutex_t event_lock;
	struct dofi_list events;
	struct dofi_list checked_eps; /* endpoints: msgep_ep_path_checked */
	int signal;                   /* eventfd in epfd: events are queued */
	int epfd;                     /* FI_GETWAIT */
	void *cm;                     /* the connection manager's own state (cm_int.h) */
};

/* A posted receive. */
struct msgep_recv {
	void *context;
	uint64_t total;
	uint64_t in_place; /* the same if the segments are in `iov`, else 0 */
	union {
		struct iovec iov[MSGEP_IOV_INLINE];
		struct iovec *list; /* the caller's */
	};
};

static inline struct iovec *msgep_recv_iov(struct msgep_recv *recv)
{
	return recv->in_place == recv->total ? recv->iov : recv->list;
}

struct msgep_srx {
	struct fid_ep fid;
	struct msgep_domain *domain;
	struct dofi_lock lock;
	struct msgep_recv *ring;
	uint32_t capacity, head, tail;
	uint64_t taken;           /* buffers that have been matched with a message */
	struct dofi_list waiting; /* endpoints whose message waits for a buffer, in FIFO
				   * order */
};

/* A request that is queued, or waits for the peer's answer. */
struct msgep_tx {
	void *context;
	uint8_t kind; /* kind of its frames */
	bool has_data;
	bool pulled;         /* the receiver pulls the data */
	bool revoked;        /* the data that it reads has been revoked */
	bool silent;         /* only its failure is reported: an immediate frame
			      * follows */
	uint8_t count;       /* of its segments */
	uint16_t transfers;  /* reads: parts in progress on the bulk endpoint */
	uint64_t data;       /* completion data */
	uint64_t operand[2]; /* of an atomic operation */
	uint64_t remote;
	uint64_t total, done; /* bytes; done: put into frames, or received (read) */
	uint32_t key;
	int err; /* reads: code for which it was refused */
	union {
		struct iovec iov[MSGEP_IOV_INLINE];
		struct iovec *list; /* the caller's, if there are more */
	};
};

static inline struct iovec *msgep_tx_iov(struct msgep_tx *tx)
{
	return tx->count > MSGEP_IOV_INLINE ? tx->list : tx->iov;
}

/* Power-of-two ring of requests, which grows up to `most` (post.c). */
struct msgep_txq {
	struct msgep_tx *tx;
	uint32_t capacity, most, head, tail;
};

/* A read of the peer that is being answered. */
struct msgep_target_read {
	uint64_t remote, total, done;
	uint32_t key;
	int refused;    /* code, 0: granted */
	bool pulled;    /* the peer pulls the data from our memory */
	bool has_value; /* atomic operation: the answer is `value` */
	uint64_t value;
};
/* Maximum of unanswered reads of a connection. */
#define MSGEP_TARGET_READS 64

/* A message in frames that have not all reached the peer. */
struct msgep_inflight {
	void *context;
	uint64_t total;
	uint32_t end; /* number of its last frame, counted from the beginning of
		       * the connection */
};
/* Maximum: the largest window of a transport that reports arrival. */
#define MSGEP_INFLIGHT_MAX 256

/* An incoming transfer of long data; see proto_bulk.c. */
struct msgep_bulk {
	uint8_t kind; /* MSGEP_MSG, MSGEP_WRITE, MSGEP_READ */
	bool last;    /* of its request */
	bool has_data;
	bool room; /* for announcements after the data */
	uint8_t tail_len;
	uint64_t id, len;
	uint64_t data, total;
	void *context;
	struct msgep_mr *mr; /* of writes; held */
	char *tail_to;       /* destination of the last bytes of a write */
	uint8_t tail[64];
	struct msgep_bounce *bounce; /* the transfer's destination; NULL: the memory itself */
};

struct msgep_bulk_queue {
	struct msgep_bulk *ring;
	uint32_t capacity, head, granted, tail;
	uint32_t requests; /* all but reads */
	bool unwanted;     /* data of dropped requests is arriving */
};

/* How long data is sent in bulk: not now, but in frames; when the peer has sent GO; or at once,
 * unsolicited. */
enum msgep_bulk_mode { MSGEP_BULK_NOT, MSGEP_BULK_AFTER_GO, MSGEP_BULK_AT_ONCE };

/* An endpoint reports the outcome of its connection attempt and the end of its connection. Neither
 * may be lost for lack of memory, so both events are allocated before the attempt: first that of
 * the outcome, which has data. */
#define MSGEP_EP_EVENTS 2

enum msgep_state { MSGEP_NEW, MSGEP_CONNECTING, MSGEP_UP, MSGEP_DOWN };

/* What a poll of a connection compares where the peer stores frames in memory that both map. The
 * holder of ep->lock changes it; a thread that does not hold it may miss what the holder
 * processes. */
struct msgep_watch {
	struct {
		_Atomic(const _Atomic uint64_t *) place; /* of the next frame's mark, */
		_Atomic uint64_t mark;                   /* and its value */
	} next[MSGEP_CHANNELS];
	const _Atomic uint32_t *done; /* requests that the peer has acknowledged; NULL: there is no
				       * such memory */
	_Atomic uint32_t acked;       /* the same, as last processed */
	_Atomic bool used;            /* the connection is up, and there is */
};

/* A queue of an endpoint. */
struct msgep_touch {
	struct dofi_list link; /* cq->touched */
	struct msgep_ep *ep;
	struct msgep_cq *cq; /* NULL: none */
	bool bound;          /* cq->touch_lock */
};
#define MSGEP_EP_QUEUES 2

struct msgep_ep {
	struct fid_ep fid;
	struct msgep_domain *domain;
	struct dofi_list link; /* domain->ep_list */
	struct msgep_eq *eq;
	struct msgep_cq *tx_cq, *rx_cq;
	struct msgep_touch touch[MSGEP_EP_QUEUES]; /* each queue once */
	struct msgep_srx *srx;
	struct dofi_lock lock;
	struct msgep_cq_direct *cq_direct; /* of the lock holder; NULL: it reads no
					    * queue */
	_Atomic int state;                 /* enum msgep_state */
	_Atomic bool pending;              /* an answer or request waits for room in a channel */
	_Atomic bool stalled;              /* a message waits for a receive */
	struct msgep_watch watch;
	_Atomic uint64_t complete_at; /* end of the first inflight entry, with MSGEP_INFLIGHT_ANY;
				       * 0: none */
	uint32_t frames;              /* of requests, committed since the beginning */
	struct msgep_auth auth;

	/* sending: requests not entirely in frames; requests that wait for an acknowledgement; for
	 * data */
	struct msgep_txq txq, unacked, reads;
	uint64_t acked;                  /* as counted by the peer */
	struct msgep_inflight *inflight; /* ring, which grows up to MSGEP_INFLIGHT_MAX */
	uint32_t inflight_capacity, inflight_head, inflight_tail;
	uint32_t nak; /* code for which a write was refused, not reported yet */
	/* answering */
	struct msgep_target_read *target_reads; /* ring, which grows up to MSGEP_TARGET_READS */
	uint32_t target_read_capacity, target_read_head, target_read_tail;
	uint32_t key; /* of the write that is arriving */
	/* Entries of target_reads whose data the peer may be pulling. They, and the keys there,
	 * change with mr_lock held for reading, so a holder for writing may read them. */
	uint64_t granted;
	uint64_t done, reported; /* requests that want an acknowledgement */

	/* receiving */
	bool in_message, in_write;
	bool after_write;     /* the last request was a write: an immediate frame may
			       * follow */
	bool refused;         /* everything after a refused request is dropped */
	bool too_long;        /* the message in `cur` is, which is not reported yet */
	bool has_data;        /* the message that is arriving */
	_Atomic bool failed;  /* the peer violated the protocol */
	_Atomic bool aborted; /* the event queue has been woken to process the end */
	struct msgep_recv *rxq;
	uint32_t rx_capacity, rx_most, rx_head, rx_tail; /* the ring grows up to rx_most */
	/* Of the message that is arriving; with has_claimed_rx, assigned by the SRX to one that
	 * waited (srx->lock). */
	struct msgep_recv cur;
	uint64_t remote; /* of the write that is arriving: address of the next byte */
	uint64_t received, expected, data;
	uint64_t messages;      /* number that has arrived */
	uint64_t cma_bytes;     /* bytes pulled from the peer's memory in one call */
	_Atomic uint32_t order; /* see proto_rx.c */
	bool has_claimed_rx, waits_for_srx;
	bool doorbell_pending; /* its doorbell has not been rung: the attempt failed */
	struct dofi_list srx_link;

	struct msgep_bulk_queue bulk;
	uint32_t reads_at; /* the read that the next answer belongs to */

	/* connection manager (eq->lock) */
	int sock; /* of the handshake; -1: none */
	struct msgep_event *reserved[MSGEP_EP_EVENTS];
	struct dofi_list checked_link; /* in eq->checked_eps; event_lock */
	union dofi_addr local, peer;   /* with ports */
	uint8_t dscp;                  /* of its packets; the side that connects chooses it */
	bool has_qual;
	bool has_ready_number; /* it has been added to ready_pair */
	bool closing;          /* it is not added any more */
	bool counts_as_local;  /* in n_local of its queues */
	uint32_t ready_number;
	uint64_t qual; /* part of the name of a listener's unix socket, with the
			* port */
	void *cm;

	struct msgep_ready *ready_pair; /* counts it; NULL: none */
	struct msgep_ready *ready;      /* the same if it announces it; NULL: it is polled */

	/* transport */
	_Atomic int broken;    /* positive FI_* code: the connection cannot go on */
	_Atomic int data_lost; /* the same, once the peer's BYE has had its time */
	union {
		struct msgep_shm *shm;
		struct rdm_conn *conn;
		struct pair_conn *pair;
		void *any;
	} w;
	const struct msgep_transport *transport; /* final before the state is MSGEP_UP */
};

static inline void msgep_unreserve(struct msgep_ep *ep)
{
	if (ep->transport->unreserve)
		ep->transport->unreserve(ep);
}

/* A bit of ep->complete_at: there is such an entry. */
#define MSGEP_INFLIGHT_ANY ((uint64_t)1 << 32)

/* True if the arrival of `arrived` frames completes a message. Without ep->lock. */
static inline bool msgep_ep_completes_at(struct msgep_ep *ep, uint32_t arrived)
{
	uint64_t first = atomic_load(&ep->complete_at);

	return first && (int32_t)(arrived - (uint32_t)first) >= 0;
}

/* True if the next frame is in the memory that both map. */
static inline bool msgep_frame_there(const struct msgep_ep *ep, int channel)
{
	const _Atomic uint64_t *place =
		atomic_load_explicit(&ep->watch.next[channel].place, memory_order_relaxed);

	return atomic_load_explicit(place, memory_order_acquire) ==
	       atomic_load_explicit(&ep->watch.next[channel].mark, memory_order_relaxed);
}

/* False if memory that both map shows nothing. Without ep->lock. */
static inline bool msgep_watch_shows(const struct msgep_ep *ep)
{
	return msgep_frame_there(ep, MSGEP_ANS) ||
	       atomic_load_explicit(ep->watch.done, memory_order_relaxed) !=
		       atomic_load_explicit(&ep->watch.acked, memory_order_relaxed) ||
	       (msgep_frame_there(ep, MSGEP_REQ) &&
		!atomic_load_explicit(&ep->stalled, memory_order_relaxed));
}

static inline bool msgep_is_watched(const struct msgep_ep *ep)
{
	return atomic_load_explicit(&ep->watch.used, memory_order_acquire);
}

/* True if only `ready` shows whether there is more. */
static inline bool msgep_asks_transport(const struct msgep_ep *ep)
{
	return !msgep_is_watched(ep) ||
	       atomic_load_explicit(&ep->complete_at, memory_order_relaxed);
}

/* False if a poll of the connection would find nothing, perhaps because the holder of ep->lock is
 * processing it. The state is MSGEP_UP. Without ep->lock. */
static inline bool msgep_ep_has_news(struct msgep_ep *ep)
{
	return atomic_load_explicit(&ep->pending, memory_order_relaxed) ||
	       (msgep_is_watched(ep) && msgep_watch_shows(ep)) ||
	       (msgep_asks_transport(ep) && ep->transport->ready(ep));
}

/* Entry points of fabric/fab.c: counterparts of fi_getinfo and fi_fabric. */
int msgep_getinfo(struct dofi_fab *fab, struct fi_info **info);
int msgep_fabric(struct dofi_fab *fab, struct fid_fabric **fabric);

/* Objects (msgep/fid). */
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
/* srx.c: makes room for n buffers, queued or taken. 0 or -ENOMEM. */
int msgep_srx_reserve(struct fid_ep *srx, uint32_t n);
extern struct fi_ops_mr msgep_mr_ops;

/* cq_ring.c */
/* The ring has room again: adds completions for which there was none. Caller holds cq->lock. */
void msgep_cq_refill(struct msgep_cq *cq);
/* Adds a completion; err: positive, 0: success. */
void msgep_cq_push(struct msgep_cq *cq, void *context, uint64_t flags, uint64_t len, uint64_t data,
		   int err);
/* True if several endpoints receive there. */
static inline bool msgep_cq_is_shared(const struct msgep_cq *cq)
{
	return atomic_load(&cq->receivers) > 1;
}

static inline bool msgep_cq_empty(const struct msgep_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_relaxed) ==
	       atomic_load_explicit(&cq->tail, memory_order_acquire);
}

/* An operation of an endpoint has completed. Caller holds ep->lock. A success is delivered directly
 * if the caller reads this queue and the ring is empty: queued completions of this endpoint are
 * older. */
static inline void msgep_ep_done(struct msgep_ep *ep, struct msgep_cq *cq, void *context,
				 uint64_t flags, uint64_t len, uint64_t data, int err)
{
	struct msgep_cq_direct *direct = ep->cq_direct;
	struct fi_cq_data_entry *out;

	if (err || !direct || direct->cq != cq || direct->n == direct->capacity ||
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

/* Wakes the threads that block on it, or on the queue that watches the transport. */
void msgep_cq_wake(struct msgep_cq *cq);
void msgep_cq_wake_watching(struct msgep_domain *domain);

/* cq_bind.c */
/* The endpoint is bound to the queue; called for each direction, before ep->tx_cq or ep->rx_cq is
 * set. 0 or -FI_ENOMEM. detach: it is bound no more. */
int msgep_cq_attach(struct msgep_cq *cq, struct msgep_ep *ep);
void msgep_cq_detach(struct msgep_cq *cq, struct msgep_ep *ep);
/* An attached endpoint receives there. */
void msgep_cq_add_receiver(struct msgep_cq *cq, struct msgep_ep *newest);
/* The queue polls the ready ring, once; false: no memory. detach_ready: no more. */
bool msgep_cq_attach_ready(struct msgep_cq *cq, struct msgep_ready *r);
void msgep_cq_detach_ready(struct msgep_cq *cq, const struct msgep_ready *r);
/* A ready ring announces the endpoint. */
void msgep_cq_stop_polling(struct msgep_cq *cq, const struct msgep_ep *ep);
/* The transport reports news of the endpoint, which is up: if the queue has many, it is not polled
 * otherwise. */
void msgep_cq_rely_on_reports(struct msgep_cq *cq, struct msgep_ep *ep);
/* Adds the connection's socket, on which the peer rings the doorbell, to the queue's epoll set.
 * False: out of kernel memory, or the user's limit of watches is reached. */
bool msgep_cq_add_doorbell(struct msgep_cq *cq, struct msgep_ep *ep);

/* cq_touch.c */
/* The endpoint may have news: the next poll of its queues processes it. Its transport may still
 * call this while it is being unbound. */
void msgep_ep_touch(struct msgep_ep *ep);
/* attach, detach. Caller holds cq->poll. */
void msgep_cq_bind_touch(struct msgep_cq *cq, struct msgep_ep *ep);
void msgep_cq_unbind_touch(struct msgep_cq *cq, struct msgep_ep *ep);

/* fid/fid_cq.c */
/* 0: a thread may block on epfd; -FI_EAGAIN: read again. */
int msgep_cq_trywait(struct msgep_cq *cq);

/* eq_events.c */
/* The same for an event queue. */
int msgep_eq_trywait(struct msgep_eq *eq);
/* Takes over `event` (malloc'ed). */
void msgep_eq_push(struct msgep_eq *eq, struct msgep_event *event);
/* A transport reports that data passes both ways, or never will. Caller holds
 * domain->transport_lock. The connection manager handles it in its next round
 * (msgep_cm_path_checked). */
void msgep_ep_path_checked(struct msgep_ep *ep);
/* next_checked: one of these, or NULL. forget_checked: it is being closed; its transport has been
 * closed already. */
struct msgep_ep *msgep_eq_next_checked(struct msgep_eq *eq);
void msgep_eq_forget_checked(struct msgep_eq *eq, struct msgep_ep *ep);
/* Takes the first event that is, or is not, an error; *other: there is one of the other sort. */
struct msgep_event *msgep_eq_take(struct msgep_eq *eq, bool error, bool *other);
/* Moves the events of `fid` to the list. */
void msgep_eq_take_of(struct msgep_eq *eq, struct fid *fid, struct dofi_list *gone);
/* fid_eq.c: frees the events of an endpoint that is being closed. */
void msgep_eq_forget(struct msgep_eq *eq, struct fid *fid);

/* mr.c: the local address of memory that the peer of ep accesses, or NULL and in *err the positive
 * FI_* code for the peer. Caller holds mr_lock for reading as long as it uses the address. */
void *msgep_mr_access(const struct msgep_ep *ep, uint32_t key, uint64_t addr, uint64_t len,
		      uint64_t access, int *err);

/* Records that a peer may pull data from the region. Caller holds mr_lock for reading. */
void msgep_mr_set_granted(struct msgep_domain *domain, uint32_t key);
/* Prevents the closing of the region until it is released. Caller holds mr_lock for reading. */
struct msgep_mr *msgep_mr_hold(struct msgep_domain *domain, uint32_t key);
/* Revokes what was granted of the region. Caller holds mr_lock for writing. */
void msgep_revoke_key(struct msgep_ep *ep, uint32_t key);

/* srx.c: takes a buffer, ep->cur, for the message that waits at ep; false: ep has been queued.
 * Caller holds ep->lock. */
bool msgep_srx_claim(struct msgep_srx *srx, struct msgep_ep *ep);
/* The endpoint is being closed; a buffer that it has not used returns to the queue. */
void msgep_srx_detach(struct msgep_srx *srx, struct msgep_ep *ep);

/* post.c */
extern struct fi_ops_msg msgep_msg_ops;
extern struct fi_ops_rma msgep_rma_ops;
extern struct fi_ops_atomic msgep_atomic_ops;

/* proto_tx.c. Caller holds ep->lock. */
/* Puts waiting requests and answers into frames as far as there is room. */
void msgep_proto_push(struct msgep_ep *ep);
/* True if there is a posted operation, or one requested by the peer, to be executed. Receives do
 * not count. */
bool msgep_ep_has_work(const struct msgep_ep *ep);
/* proto_rx.c */
/* Processes what has arrived and sends what is queued. Returns the number of frames processed. */
unsigned int msgep_proto_progress(struct msgep_ep *ep);
/* A receive has been posted for the message that waits at ep: processes it, and has the next poll
 * continue with what is left. */
void msgep_proto_resume(struct msgep_ep *ep);
/* proto_frame.c: moves the next receive to ep->cur. False: there is none, and the frame has to
 * wait. */
bool msgep_claim_receive(struct msgep_ep *ep);
/* proto_bulk_done.c: the oldest incoming transfer has completed. False: it differs from its
 * announcement. */
bool msgep_bulk_done(struct msgep_ep *ep, uint64_t len);
/* proto_bulk.c */
/* Drops the transfers into the region. False: there were none. Caller holds ep->lock. */
bool msgep_bulk_forget(struct msgep_ep *ep, const struct msgep_mr *mr);
/* No further transfers will arrive. */
void msgep_bulk_end(struct msgep_ep *ep);
/* proto_ext.c; false: the frame has to wait. */
bool msgep_recv_imm_frame(struct msgep_ep *ep, const struct msgep_frame *f);
bool msgep_recv_atomic(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload);

/* ep_end.c. Caller holds ep->lock. */
/* The connection cannot continue; what has arrived is still received. */
void msgep_ep_abort(struct msgep_ep *ep, const char *why);
/* The peer violated the protocol: the connection ends, and all further input is ignored. */
void msgep_ep_fail(struct msgep_ep *ep, const char *why);
/* The same when data can no longer be pulled from the peer: it is ending the connection, abruptly,
 * or has died. */
void msgep_ep_revoked(struct msgep_ep *ep, const char *what);
/* The connection has failed: the next poll ends it; wakes the threads that block on its completion
 * queues. Called by a transport. Caller holds domain->transport_lock. */
void msgep_ep_broken(struct msgep_ep *ep, int err);
/* The same where data is lost and messages still pass: the peer has ended the connection, perhaps,
 * and its BYE, with what it has received, is in transit. It ends with that, or shortly after. */
void msgep_ep_data_lost(struct msgep_ep *ep, int err);

/* ep_conn.c: called by the connection manager. Caller holds eq->lock. */
/* The connection is up: frames may flow. */
void msgep_ep_up(struct msgep_ep *ep);
/* The peer has ended its side (died: without its last message, or it has died since). True:
 * everything that it sent has been received, and the end may be reported; false: call again
 * later. */
bool msgep_ep_peer_ended(struct msgep_ep *ep, bool died);

#endif
