/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: queues of posted operations, lifetime; their states: ep_state.h.
 *
 * Each direction has a ring of operations:
 *
 *      head ........... sent ........... tail
 *      at the fabric,   waiting to be    free
 *      or done          handed over
 *
 * ep->lock guards `tail` and `sent`; the lock of the EVD on which the direction completes guards
 * `head`. An operation is reported when it and all earlier ones are done, so that completions are
 * generated in posting order, whatever order the fabric finishes them in. An empty ring is
 * occasionally rewound to slot 0, with both locks held, so that a deep queue with few operations
 * stays in the caches.
 *
 * `open` gates reporting: it is set once the connection's ESTABLISHED event is queued (or the
 * connection has failed), so that no completion precedes that event. Until then the CQ in which a
 * message of the connection has arrived is not read any further (evd->awaited).
 */
#ifndef DOFI_EP_H
#define DOFI_EP_H

#include <stdlib.h>

#include "proto/cm_part.h"
#include "proto/cm_proto.h"
#include "proto/cm_seal.h"
#include "object/amo.h"
#include "object/conn.h"
#include "object/evd_models.h"

/* Values of DAT_DTOS, followed by those of DAT_IB_DTOS. */
enum dofi_dto_kind {
	DOFI_SEND,
	DOFI_WRITE,
	DOFI_READ,
	DOFI_RECV,
	DOFI_RECV_INVALIDATE, /* a completion only: the message invalidated a key */
	DOFI_BIND,
	/* of the InfiniBand extension (ext.h) */
	DOFI_WRITE_IMMED = 8,
	DOFI_RECV_IMMED, /* a completion only: immediate data consumed the receive */
	DOFI_FETCH_ADD,
	DOFI_CMP_SWAP,
	/* of datagram endpoints (data/ud_message.h); a receive has this kind once it is done */
	DOFI_SEND_UD = 13,
	DOFI_RECV_UD,
};

enum dofi_dto_state {
	DOFI_DTO_FREE,
	DOFI_DTO_QUEUED, /* not handed to the fabric yet */
	DOFI_DTO_POSTED, /* at the fabric */
	DOFI_DTO_DONE,   /* status known, reported once all earlier ones are done */
};

/* Segments that the slot of an operation has room for. For more, up to DOFI_IOV_MAX, a queue has
 * additional memory if the attributes of its EP or SRQ request it. */
#define DOFI_IOV_INLINE 4

struct dofi_dto {
	struct fi_context2 ctx; /* first: libfabric's context of the operation, used by the
				 * endpoint (msgep/fid/fid_cq.c) */
	struct dofi_ep *ep;
	DAT_DTO_COOKIE cookie;
	uint8_t kind;
	uint8_t status; /* DAT_DTO_COMPLETION_STATUS, once done */
	bool solicited; /* receive: the sender requested notification */
	bool shared;    /* receive posted to an SRQ */
	uint16_t flags; /* DAT_COMPLETION_FLAGS of the post */
	_Atomic uint8_t state;
	uint32_t iov_count;
	union {
		uint32_t inv_key; /* send: key to invalidate; receive: invalidated */
		uint32_t immed;   /* immediate data, sent or received */
	};
	uint64_t length; /* posted; once done: transferred */
	union {
		struct { /* RDMA */
			uint64_t remote_addr, remote_key;
			union {
				uint64_t operand[2]; /* [0] added or compared; [1] swapped in */
				/* Progress of a request, also a send, that consists of several
				 * of the fabric's; ep->lock. */
				struct {
					uint32_t handed_over; /* segments */
					uint32_t announced;   /* messages (ops->announce) */
				};
			};
		};
		struct {                              /* receive posted to an EP */
			uint32_t memory;              /* context of its only segment */
			struct dofi_ud_source source; /* datagram endpoint, once done */
		};
		struct { /* datagram to be sent */
			union dofi_addr to;
			uint32_t qpn;
		};
		struct { /* receive posted to an SRQ */
			struct dofi_srq *srq;
			struct dofi_dto *next;
			uint32_t prefix_slot; /* index among the SRQ's prefixes */
		};
		struct { /* bind */
			struct dofi_rmr *rmr;
			struct dofi_window *window; /* not opened yet, or NULL */
		};
	};
	struct dofi_pz *pz; /* of the segments, NULL: none; if posted before the EP was connected */
	/* Up to DOFI_IOV_INLINE segments. desc is before iov: both first entries usually share a
	 * line. */
	void *desc[DOFI_IOV_INLINE];
	struct iovec iov[DOFI_IOV_INLINE];
	/* More segments; NULL: the queue takes no more. They belong to the fabric while it has the
	 * operation (msgep/msgep.h). */
	struct iovec *long_iov;
	void **long_desc;
};

/* Every post and completion computes the address of a ring slot, which is a shift for this size.
 * (With 32-bit pointers it is a multiplication; nothing else depends on the size.) */
_Static_assert(sizeof(void *) < 8 || sizeof(struct dofi_dto) == 256,
	       "the size of an operation is a power of two");

static inline bool dofi_dto_receives(const struct dofi_dto *dto)
{
	return dto->kind == DOFI_RECV || dto->kind == DOFI_RECV_INVALIDATE ||
	       dto->kind == DOFI_RECV_IMMED || dto->kind == DOFI_RECV_UD;
}

static inline struct iovec *dofi_dto_iov(struct dofi_dto *dto)
{
	return dto->iov_count > DOFI_IOV_INLINE ? dto->long_iov : dto->iov;
}

static inline void **dofi_dto_desc(struct dofi_dto *dto)
{
	return dto->iov_count > DOFI_IOV_INLINE ? dto->long_desc : dto->desc;
}

/* Allocates n operations that take up to `iov` segments; NULL: no memory. Released by free(). */
struct dofi_dto *dofi_dto_alloc(uint32_t n, uint32_t iov);
/* Copies an operation to another slot, which takes as many segments. */
void dofi_dto_move(struct dofi_dto *to, const struct dofi_dto *from);

/* The message of libfabric that describes the operation. */
static inline struct fi_msg dofi_fab_msg(struct dofi_dto *dto)
{
	/* QUIRK libfabric verbs: must not get descriptors without segments. */
	struct fi_msg msg = { .msg_iov = dofi_dto_iov(dto),
			      .desc = dto->iov_count ? dofi_dto_desc(dto) : NULL,
			      .iov_count = dto->iov_count,
			      .context = &dto->ctx };

	return msg;
}

/* True if the operation fetches data from the peer's memory. Fences wait for such operations. Not
 * for datagrams. */
static inline bool dofi_kind_fetches(enum dofi_dto_kind kind)
{
	return kind == DOFI_READ || kind >= DOFI_FETCH_ADD;
}

/* Message prefixes (ops->send_prefixed): one per slot of a queue, in registered memory. */
struct dofi_msg_prefixes {
	uint64_t *base; /* NULL: not allocated */
	size_t stride;  /* distance of two prefixes */
	struct fid_mr *mr;
};

static inline void dofi_msg_prefixes_free(struct dofi_msg_prefixes *w)
{
	if (!w->base)
		return;
	fi_close(&w->mr->fid);
	free(w->base);
	w->base = NULL;
	w->mr = NULL;
}

struct dofi_queue {
	struct dofi_dto *dto; /* ring of slots, as many as a power of two; NULL: unused */
	uint32_t mask;        /* that power minus 1 */
	uint32_t limit;       /* max_recv_dtos or max_request_dtos */
	_Atomic uint32_t tail;
	uint32_t sent;
	uint32_t depth; /* maximum that the fabric may have at a time */
	uint32_t quota; /* the same for posts that hand over at once (dofi_ep_set_quotas) */
	_Atomic uint32_t head;
	_Atomic uint32_t rewind_base; /* positions consumed before the last rewind */
	bool failed;                  /* an operation was reported as failed; lock of the EVD */
	_Atomic bool waiting;         /* sent != tail, for readers without ep->lock */
	uint8_t iov;                  /* segments that each slot takes */
	struct dofi_msg_prefixes prefixes; /* one per slot, where messages have prefixes */
};

enum { DOFI_ANNOUNCED_NOTHING, DOFI_ANNOUNCED_KEY, DOFI_ANNOUNCED_IMMED };

/* Reasons for which an endpoint is on ia->deferred. */
enum {
	DOFI_DEFERRED_SUBMIT = 1,   /* operations wait to be handed to the fabric */
	DOFI_DEFERRED_BREAK = 2,    /* a completion failed: the connection must end */
	DOFI_DEFERRED_DRAINED = 4,  /* graceful disconnect: no request outstanding */
	DOFI_DEFERRED_EQ = 8,       /* completions arrived before the connection's event */
	DOFI_DEFERRED_MARKS = 16,   /* a watermark of the EP or of its SRQ has been passed */
	DOFI_DEFERRED_FLUSHED = 32, /* the fabric flushed operations; this side did not end */
	DOFI_DEFERRED_REPORT = 64,  /* completions wait for memory */
};

struct dofi_ep {
	struct dofi_obj obj;
	struct dofi_lock lock;
	DAT_EP_STATE state;
	DAT_EP_ATTR attr;
	struct dofi_pz *pz;
	struct dofi_evd *recv_evd, *req_evd; /* never NULL: ia->internal_evd if none is given */
	struct dofi_evd *conn_evd;           /* may belong to another IA: see dofi_ep_conn_evd */
	uint32_t conn_life;
	bool has_recv_evd, has_req_evd;
	bool recv_unsignalled, req_unsignalled; /* counted in evd->unsignalled_streams */
	struct dofi_streams streams;            /* as counted in the models of the EVDs; cm_lock */
	struct dofi_queue rq, sq;
	struct dofi_srq *srq; /* source of receives; rq is empty */
	struct {
		struct dofi_list link;          /* srq->eps */
		struct dofi_dto *first, **last; /* completed before EP opened; recv_evd->lock */
		_Atomic int32_t held;           /* buffers consumed, completions not dequeued */
		_Atomic int32_t soft, hard;     /* watermarks, -1: none; with has_watermarks, too */
		_Atomic bool soft_passed;
	} shared;
	uint32_t peer_conn_id;       /* id in messages to the peer's SRQ; 0: none */
	uint32_t reads_started;      /* RDMA reads handed to the fabric so far; ep->lock */
	_Atomic uint32_t reads_done; /* RDMA reads completed so far; req_evd->lock */
	uint32_t max_reads;          /* maximum outstanding; ep->lock */
	_Atomic bool open;
	_Atomic bool graceful;          /* DISCONNECT_PENDING waits for outstanding requests */
	_Atomic bool faulted;           /* an operation failed other than by a flush */
	_Atomic bool ending;            /* this side ends the connection */
	bool has_watermarks;            /* no SRQ, watermarks are set; recv_evd->lock */
	bool has_msg_prefix;            /* its messages have a prefix */
	bool cq_external_lock;          /* its fabric calls need evd->lock (object/evd.h) */
	bool by_provider;               /* made for a PSP with the PROVIDER flag */
	uint8_t max_iov[DOFI_RECV + 1]; /* maximum segments by kind, from the attributes */
	uint32_t max_size;              /* maximum bytes of one request, from the IA */

	struct dofi_conn *conn;
	struct dofi_ep_amo amo;
	struct dofi_ep_slot *counts;
	uint64_t qual; /* qualifier of the last connection; active side */
	bool active;
	bool ud_over;   /* the exchange has been reported; cm_lock */
	bool reads_bar; /* requests wait for the reads before them; set before it is connected */
	DAT_QOS qos;    /* of the connection, from its first attempt on */
	union dofi_addr local, remote;
	uint16_t local_port, remote_port;
	uint8_t priv[DOFI_CM_MAX]; /* private data: the local one while an attempt may be
				    * repeated, then the parts of the answer, then that of the
				    * last connection event */
	uint16_t priv_len;
	struct dofi_timer timer; /* connect, accept, drain deadline, next attempt; cm_lock */
	struct {
		uint64_t deadline;  /* of the call */
		uint64_t grace_end; /* end of the attempts */
		uint64_t delay;     /* before the next attempt */
		int err;            /* why there is a next one */
		uint16_t priv_len;
		struct dofi_seal seal;
		uint32_t conn_id; /* local id that has been sent; 0: none */
		/* Messages in parts (cm/cm_parts.h). */
		uint32_t put_token;           /* of the request; 0: not in parts */
		uint16_t put, sent;           /* bytes that the listener has; that were sent */
		uint8_t restarts;             /* how often the listener has dropped parts */
		struct dofi_cm_whole answer;  /* its parts so far, in `priv` */
		struct dofi_cm_answer *reply; /* passive side: not fetched yet; NULL: none */
	} attempt;                            /* of the active side, while it is pending; cm_lock */
	struct dofi_ud *ud;        /* datagram endpoint (object/ud.h); NULL: another; ep->lock */
	struct dofi_ep *ud_for;    /* this EP is an exchange of that one; NULL: none; cm_lock */
	struct dofi_list exchange; /* ud->exchanges of `ud_for`; cm_lock */
	const void *probe;         /* the connect call that probes the peer's host; cm_lock */

	_Atomic uint32_t life;     /* generation: changes with each use for a connection */
	_Atomic uint32_t deferred; /* DOFI_DEFERRED_*; on ia->deferred while nonzero */
	struct dofi_list deferred_link;
	struct dofi_count_base *count_base;
	uint64_t heard_at; /* when the first message was awaited; 0: none was; recv_evd->lock */
	struct {
		uint8_t what; /* DOFI_ANNOUNCED_* */
		uint32_t value;
	} announced; /* by the peer, to the SRQ, so far (object/conn_id.h); recv_evd->lock */
};

static inline struct dofi_ep *dofi_ep_live(DAT_EP_HANDLE handle)
{
	return (struct dofi_ep *)dofi_obj_live(handle, DAT_HANDLE_TYPE_EP);
}

/* Maximum segments of an operation of that kind; atomic operations have one. */
static inline __attribute__((always_inline)) DAT_COUNT dofi_ep_max_iov(const struct dofi_ep *ep,
								       enum dofi_dto_kind kind)
{
	if (kind == DOFI_WRITE_IMMED)
		kind = DOFI_WRITE;
	return ep->max_iov[kind <= DOFI_RECV ? kind : DOFI_SEND];
}

static inline struct dofi_dto *dofi_queue_at(const struct dofi_queue *q, uint32_t pos)
{
	return &q->dto[pos & q->mask];
}

static inline uint32_t dofi_queue_count(const struct dofi_queue *q)
{
	return atomic_load_explicit(&q->tail, memory_order_relaxed) -
	       atomic_load_explicit(&q->head, memory_order_acquire);
}

/* dapltest gives an EP the connection EVD of another IA, which may be closed before the EP is
 * freed: returns NULL in that case. */
static inline struct dofi_evd *dofi_ep_conn_evd(const struct dofi_ep *ep)
{
	return ep->conn_evd && ep->conn_evd->life == ep->conn_life ? ep->conn_evd : NULL;
}

/* Resolves the EVD handle of an argument: the null handle is valid, any other must be an EVD with
 * the stream. Connection streams may use an EVD of another IA. */
bool dofi_ep_evd_arg(struct dofi_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream,
		     struct dofi_evd **evd);

/* Attributes (ep_attr.c) */
void dofi_ep_attr_default(struct dofi_ia *ia, DAT_EP_ATTR *attr);
/* True if the attributes are within the IA's limits and each direction with an EVD has slots. */
bool dofi_ep_attr_valid(struct dofi_ia *ia, const DAT_EP_ATTR *attr, bool recv, bool request);
/* The same for an EP with an SRQ: the counts of receives are watermarks. */
bool dofi_ep_attr_valid_srq(struct dofi_ia *ia, const DAT_EP_ATTR *attr, bool recv, bool request);
/* Replaces defaults by the values that the consumer has set. */
void dofi_ep_attr_merge(DAT_EP_ATTR *attr, const DAT_EP_ATTR *wanted);
/* EP with an SRQ: sets its watermarks from its attributes. */
void dofi_ep_set_marks(struct dofi_ep *ep);
/* The classes of quality of service that connections of the IA can have; true if one of them. */
DAT_QOS dofi_qos_supported(const struct dofi_ia *ia);
bool dofi_qos_valid(const struct dofi_ia *ia, DAT_QOS qos);
/* Its traffic class for libfabric, a DSCP; and the reverse. */
uint32_t dofi_qos_tclass(DAT_QOS qos);
DAT_QOS dofi_qos_of_tclass(uint32_t tclass);
/* Most segments of a request of any kind, according to the attributes. */
uint32_t dofi_ep_request_iov(const DAT_EP_ATTR *attr);
/* Sets the limits that posts are checked against from the attributes. */
void dofi_ep_set_limits(struct dofi_ep *ep);
/* The streams of an endpoint with those EVDs (NULL: none). */
void dofi_ep_streams(struct dofi_evd *recv, struct dofi_evd *req, const DAT_EP_ATTR *attr,
		     struct dofi_streams *s);

#endif
