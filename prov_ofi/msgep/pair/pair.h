/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport over connected endpoints of libfabric (FI_EP_MSG): one libfabric connection per
 * pair of adapters and DSCP carries the packets of all DAT connections of that DSCP between them.
 *
 * Objects
 *   struct pair_net    an adapter's libfabric objects: domain, completion queue, event queue,
 *                      listeners, one shared receive context
 *   struct pair        one libfabric connection to another adapter (or to this one)
 *   struct pair_conn   one end of a DAT connection; attached to a pair once that is up
 *
 * A message on a pair is a struct pair_head followed by packets, each padded to 8 bytes. A packet
 * is a struct msgep_frame whose `mark` names the connection at the receiver (index, generation), or
 * a control packet with one of the kinds below. Numbers are little-endian.
 *
 *   PAIR_ATTACH     first packet of a connection, from the side that connected. value: index and
 *                   generation at the sender
 *   PAIR_WANT_BULK  the sender has long data, or (value 1, from the side that connected) cannot use
 *                   the token now
 *   PAIR_BULK       from the side that accepted: value and total are a token, with which the side
 *                   that connected makes a bulk endpoint (pair_share.c)
 *   PAIR_BULK_END   closes a bulk endpoint; value: enum pair_end
 *   PAIR_CM_REQUEST, PAIR_CM_MESSAGE
 *                   the payload is a message of cm_msg.h; value: index and generation at the
 *                   sender, 0: none. A request has no receiver; `total` is the service point's
 *                   port. A message's mark may be 0, too (pair_cm.c)
 *   PAIR_CREDIT     value: bytes of packets of both channels that the receiver has consumed since
 *                   the connection began (requests in the upper half); total: packets of
 *                   requests, and in the upper half the receives that it has posted
 *
 * All other packets of a connection carry these numbers in `counts`, truncated: u16 of requests and
 * u16 of answers in units of 8 bytes, u8 packets of requests.
 *
 * A connection has at most `window` unconsumed bytes of packets per channel. The receiver processes
 * packets in the receive buffer; those that cannot be processed yet (no receive is posted) are
 * copied to the connection, so a receive buffer is posted again at once and no connection delays
 * another. A message is complete for its sender when the receiver has consumed its last packet: its
 * receive completion then precedes all later operations of the sender, on every endpoint of the two
 * adapters.
 *
 * A packet is sent at once unless others have been sent immediately before: the packets of a burst
 * are collected in one message, which is sent when it is full, or when the program polls for
 * completions. Acknowledgements travel along with other packets; they and credits travel alone when
 * there is nothing else to do. If the consumer's reply followed when that happened last, the next
 * ones wait for a reply, for MSGEP_REPLY_POLLS empty polls at most. Packets about long data
 * (all but announcements of requests) are held while more than twice as many transfers are in
 * progress, for PAIR_HELD_NS at most. A credit is sent alone only for messages, which complete with
 * it, and when half of a window is owed.
 *
 * On a bulk endpoint, announcements of the same connection may follow the data of a transfer if its
 * GO permits it: packets without counts, PAIR_CARRY bytes at most (pair_carry.c). Data may be sent
 * without GO (pair_unsolicited.c).
 *
 * The DAT connection's handshake (cm_msg.h) comes first. It exchanges the connection parameters
 * (adapters, windows and indexes), and the passive side grants a token, without which its listener
 * rejects libfabric connections. Connection parameters, numbers big-endian:
 *
 *   byte  0  u8   version, 8
 *         1  u8   zero
 *         2  u16  port of the adapter's listener at the address that received the request
 *         4  u32  window
 *         8  u32  index, then u32 generation
 *        16  u8[16]  the adapter's random name
 *        32  u8[16]  passive side: token; zeros if a pair with that peer is up already, and from
 *                    the active side
 *
 * The data of fi_connect and fi_accept, numbers big-endian:
 *
 *   byte  0  u32  PAIR_MAGIC
 *         4  u32  version, 8
 *         8  u32  index of the pair at the sender, u32 zero
 *        16  u64  key: identifies messages to the sender
 *        24  u8[16]  the sender's random name
 *        40  u8[16]  fi_connect: the token
 *
 * Locks, in the order in which they may be taken:
 *   net->lock    reception; tables of pairs and connections
 *   ep->lock     (msgep.h)
 *   pair->lock   the send state of a pair
 *   net->leaf    lists of work for the next poll
 */
#ifndef DOFI_MSGEP_PAIR_H
#define DOFI_MSGEP_PAIR_H

#include "msgep/inner.h"
#include "msgep/msgep.h"
#include "msgep/reply.h"

#define PAIR_VERSION 8
#define PAIR_MAGIC 0x44415450u /* "DATP" */
#define PAIR_NAME 16
#define PAIR_PARAMS 48
#define PAIR_PARAM 56
/* Maximum of a message, and of the payload of one packet. */
#define PAIR_MESSAGE (32u << 10)
#define PAIR_PAYLOAD (16u << 10)
#define PAIR_WINDOW (128u << 10)
/* Maximum of unconsumed request packets: each message needs an entry in ep->inflight. */
#define PAIR_PACKETS (MSGEP_INFLIGHT_MAX - 1)
#define PAIR_UNIT 8u
_Static_assert(PAIR_PACKETS < 256 && PAIR_WINDOW / PAIR_UNIT < 65536, "they fit in `counts`");
/* Maximum of a pair's messages posted to libfabric. */
#define PAIR_IN_FLIGHT 4
#define PAIR_RECEIVES 8
/* Packets within this time of each other form a burst; its first ones are sent at once. */
#define PAIR_BURST_NS 10000
#define PAIR_BURST_FREE 2
#define PAIR_HELD_NS 200000
/* A consumer's poll within this time of the beginning of one that has received packets reads none:
 * less than a network message takes. */
#define PAIR_FRESH_NS 5000
/* Interval of reading the event queue while packets keep the completion queue busy. */
#define PAIR_EQ_NS 1000000
#define PAIR_TOKEN_MS 10000
/* Polls for connections whose requests have not arrived, before the listeners are closed. */
#define PAIR_END_ROUNDS 4

/* Smallest size of requests that use bulk endpoints; number of these of an adapter; maximum of a
 * connection's transfers that have been announced and not sent. */
#define PAIR_BULK_FROM (32u << 10)
#define PAIR_BULKS 64
/* Idle time after which an endpoint is closed in favour of a connection without one, and the
 * interval between two of these. */
#define PAIR_BULK_IDLE_NS 10000000
#define PAIR_BULK_NEXT_NS 1000000
#define PAIR_TRANSFERS 16
/* While fewer are in progress, and were when the last PAIR_TRANSFERS were announced, the data of
 * writes and reads is sent unsolicited: its latency is what counts then. With more, GO costs no
 * time, and an announcement that other data carries costs no message. */
#define PAIR_UNSOLICITED 4
/* While more other transfers than that have been announced and not sent, announcements wait to be
 * carried by one of them (pair_carry.c), and a poll sends at most PAIR_KEPT transfers. */
#define PAIR_CARRIERS 6
#define PAIR_KEPT 4
/* Data of reads waits while libfabric has as many bytes of the connection to send: a socket to the
 * same host takes several MiB in one call, which lasts a millisecond. */
#define PAIR_READ_PART (256u << 10)
/* Maximum of bytes of packets that follow the data of a transfer. */
#define PAIR_CARRY 960

/* clang-format off */
enum { PAIR_ATTACH = 0x80, PAIR_CREDIT, PAIR_WANT_BULK, PAIR_BULK, PAIR_CM_REQUEST,
       PAIR_CM_MESSAGE, PAIR_BULK_END };
/* clang-format on */
enum pair_end { PAIR_END_ASKED, PAIR_END_AGREED, PAIR_END_CLOSED };

struct pair_head {
	uint32_t index; /* of the pair at the receiver */
	uint32_t zero;
	uint64_t key;
};

/* An operation posted to libfabric. */
enum pair_op_kind { PAIR_OP_RECV, PAIR_OP_SEND, PAIR_OP_BULK_RECV, PAIR_OP_BULK_SEND };

struct pair_op {
	struct fi_context2 context; /* first: libfabric's */
	enum pair_op_kind kind;
};

/* A message being received or sent. */
struct pair_buf {
	struct pair_op op;
	struct pair_buf *next;
	struct pair_buf *all; /* net->all_bufs */
	struct pair *pair;    /* of sent messages */
	uint32_t len;
	_Alignas(64) uint8_t data[PAIR_MESSAGE];
};

/* A packet that waits at its connection; the frame and its payload follow. */
struct pair_packet {
	struct pair_packet *next;
	struct msgep_frame frame;
};

struct pair_queue {
	struct pair_packet *head, **tail;
};

enum pair_state { PAIR_CONNECTING, PAIR_UP, PAIR_BROKEN };

/* When collected packets are sent. */
enum pair_need {
	PAIR_EMPTY,  /* there are none */
	PAIR_HELD,   /* with others, or before a thread sleeps */
	PAIR_LAZY,   /* by a poll that finds nothing, or a few of them (msgep/reply.h) */
	PAIR_URGENT, /* by the next poll */
};

struct pair {
	struct pair_net *net;
	struct dofi_list link; /* net->pairs; net->lock */
	struct fid_ep *ep;
	int fd;                  /* its socket (pair_sock.c); -1: not known */
	enum pair_state state;   /* net->lock and pair->lock to write */
	uint8_t name[PAIR_NAME]; /* of the peer's adapter */
	uint8_t dscp;            /* of its packets */
	uint16_t port;           /* of the peer's listener that it connects to; 0: passive side */
	uint32_t index;          /* ours: identifies received messages, */
	uint64_t key;
	struct pair_head head;  /* the peer's: those that are sent */
	struct dofi_list conns; /* net->lock */
	/* pair_cm.c; net->lock */
	uint32_t serial;             /* unique among the pairs of this index */
	union dofi_addr local, peer; /* hosts; no address: unknown */
	union dofi_addr *points;     /* service points that it reaches */
	uint32_t n_points;

	struct dofi_lock lock;
	struct pair_buf *open;                   /* collects packets; may be NULL */
	struct pair_buf *waiting, **waiting_end; /* messages for which libfabric had no
						  * room */
	uint32_t in_flight;
	enum pair_need need;      /* the highest of what has been collected */
	uint32_t held;            /* packets about long data in `open` that have waited */
	uint64_t held_at;         /* since when the first of them has */
	struct dofi_list owing;   /* connections that owe the peer credits */
	struct dofi_list starved; /* connections that wait for a buffer */
	struct dofi_list dirty;   /* net->dirty, net->leaf: `open` must be sent */
	bool is_dirty;            /* true if it is in that list */
	struct msgep_reply reply; /* which PAIR_LAZY packets may wait for */
	uint64_t sent_at;
	uint32_t burst;
	int send_error; /* a message was lost: the pair is broken with this error */
};

/* State of closing a bulk endpoint (pair_share.c). From BULK_ASKED on no transfer is announced on
 * it. */
enum pair_bulk_end {
	BULK_KEPT,
	BULK_ASKED,   /* we have requested it */
	BULK_GRANTED, /* the peer has agreed; its last transfers are in
		       * progress */
	BULK_LEAVING, /* the peer has requested it; our last transfers are in
		       * progress */
	BULK_AGREED,  /* we have agreed; the peer closes it first */
};

/* Announcements that the next transfer carries; see pair_carry.c. */
struct pair_carry {
	uint32_t len, packets;
	_Alignas(8) uint8_t data[PAIR_CARRY];
};

/* The end of the last packets of requests that took one path, counted like `sent`. */
struct pair_path {
	bool used; /* false: they have been consumed */
	uint32_t end;
};

/* The bulk endpoint of a connection; see pair_bulk.c. */
struct pair_bulk {
	struct pair_net *net;
	struct pair_conn *conn; /* NULL: closed */
	struct dofi_list link;  /* net->bulks, in LRU order */
	uint64_t used_at;
	enum pair_bulk_end leave; /* net->lock and conn->ep->lock to write */
	struct fid_ep *ep;
	int fd;
	enum pair_state state;  /* conn->ep->lock to write, like ep */
	_Atomic uint32_t users; /* the connection, and transfers posted to libfabric */
	/* conn->ep->lock: announcements; transfers with GO, which the next polls send in order */
	struct pair_carry carry;
	struct pair_transfer *kept[PAIR_TRANSFERS];
	uint32_t kept_head, kept_tail;
	uint64_t in_flight; /* bytes of the transfers that libfabric is sending */
};

/* Long data. */
struct pair_transfer {
	struct pair_op op;
	struct pair_transfer *next;
	struct pair_bulk *bulk; /* NULL: GO is awaited */
	struct pair_conn *conn;
	struct msgep_mr *mr; /* held, or NULL */
	uint64_t id;
	uint64_t len;
	bool going; /* GO has arrived, */
	bool room;  /* and announcements may follow */
	size_t n;
	struct iovec iov[MSGEP_IOV_INLINE];
	_Alignas(8) uint8_t carried[PAIR_CARRY]; /* packets behind the data */
};

/* Counts of bytes are multiples of PAIR_UNIT. */
#define PAIR_NOT_CLEAR 1u

struct pair_conn {
	struct msgep_ep *ep;     /* NULL: unused */
	struct pair *pair;       /* NULL: not attached. net->lock and ep->lock to write */
	struct dofi_list link;   /* pair->conns, or net->unused; net->lock */
	struct dofi_list owe;    /* pair->owing; pair->lock */
	struct dofi_list starve; /* pair->starved; pair->lock */
	struct dofi_list touch;  /* net->touched; net->leaf */
	uint64_t mark;           /* ours: packets for it carry this. Index and generation */
	bool has_peer_params, active;
	bool expects;     /* an answer is outstanding; net->lock */
	bool dispatching; /* ep->lock: the poll is processing this connection */
	_Atomic int broken;

	/* the peer's parameters */
	uint64_t peer_mark;
	uint32_t peer_window;
	uint8_t peer_name[PAIR_NAME];

	/* bytes of packets per channel, counted from the beginning */
	uint32_t sent[MSGEP_CHANNELS];            /* ep->lock */
	_Atomic uint32_t granted[MSGEP_CHANNELS]; /* consumed by the peer */
	uint32_t came[MSGEP_CHANNELS];            /* ep->lock */
	_Atomic uint32_t consumed[MSGEP_CHANNELS], reported[MSGEP_CHANNELS];
	_Atomic uint32_t arrived; /* request packets that the peer has consumed, */
	_Atomic uint32_t taken;   /* and that we have, */
	_Atomic uint32_t awaited; /* up to the last one that completes by a credit */
	uint32_t taken_reported;  /* pair->lock */
	uint32_t packets;         /* request packets sent; ep->lock */

	/* ep->lock: packets in the receive buffer being processed, then those that wait */
	const uint8_t *at, *end;
	struct pair_queue queue[MSGEP_CHANNELS];

	/* long data; ep->lock */
	struct pair_bulk *bulk;  /* net->lock and ep->lock to write */
	_Atomic bool wants_bulk; /* to be handled by the next poll */
	bool requested_bulk;
	bool peer_wants;       /* net->lock */
	bool sent_token;       /* net->lock */
	bool had_bulk;         /* one that closed when nothing was in transit */
	_Atomic bool lost;     /* one closed with data: none is sent or awaited any more */
	bool reserved_carry;   /* the next packet to be committed is in bulk->carry */
	bool ended;            /* the peer's last message has arrived */
	struct dofi_list want; /* net->wanted; net->lock */
	uint64_t wanted_at;    /* when the peer was sent a request for a token;
				* net->lock */
	struct pair_path by_pair, by_bulk;
	/* Requests whose data was sent unsolicited. Up to `clear`, counted like `sent`, the peer's
	 * program cannot delay requests; PAIR_NOT_CLEAR: not known. */
	struct pair_path unsolicited;
	uint32_t clear;
	/* Receives since the connection began: that the peer has reported, that our messages take,
	 * and ours for the next credit. */
	uint32_t peer_receives, used_receives;
	_Atomic uint32_t receives;
	bool in_message;       /* a message has been announced in part */
	uint32_t n_awaiting;   /* transfers whose GO has not arrived */
	uint8_t deep;          /* announcements left until some may be unsolicited again */
	struct dofi_list keep; /* net->kept; net->leaf */
	uint64_t next_out;
	struct pair_transfer *out[PAIR_TRANSFERS];
	uint32_t n_out;
	uint16_t peer_port;             /* of the passive side's listener */
	uint32_t final[MSGEP_CHANNELS]; /* once `ended` */
};

/* Authorizes one libfabric connection by a peer. */
struct pair_token {
	struct dofi_list link;
	uint8_t token[PAIR_NAME];
	uint8_t name[PAIR_NAME];
	uint8_t dscp;
	struct pair_conn *conn; /* for its bulk endpoint; NULL: for a pair */
	uint64_t expires;
};

/* A libfabric listener: one at each address where service points of the adapter listen. */
struct pair_listener {
	struct fid_pep *pep;
	union dofi_addr addr;
};

/* A socket that libfabric has accepted and no endpoint has (pair_reap.c). */
struct pair_stray {
	int fd;
	uint64_t inode; /* numbers of descriptors are used again */
	bool ended;     /* shut down */
};

struct pair_strays {
	struct pair_stray *at;
	size_t n;
	uint32_t capacity;
};

struct pair_net {
	struct msgep_domain *domain;
	struct msgep_inner inner;
	/* Of bulk endpoints: `inner`, or, where data without memory would delay the packets of its
	 * domain, `apart`, which has another domain of its fabric. */
	struct msgep_inner *bulk_inner, apart;
	struct fid_eq *eq;
	struct pair_listener *listeners;
	size_t n_listeners;
	struct fid_ep *srx;
	int eq_fd;
	uint8_t name[PAIR_NAME];
	size_t inject;

	struct dofi_lock lock;
	struct dofi_list pairs, unused, tokens, bulks;
	struct dofi_list wanted;     /* connections that queue for a bulk endpoint */
	uint32_t n_bulks, n_granted; /* existing ones; tokens granted for more */
	uint32_t n_leaving;          /* number of bulks being closed */
	uint64_t left_at;            /* when closing of the last one began */
	struct pair **pair_table;
	uint32_t serial; /* of the last pair */
	uint32_t n_pairs, pairs_capacity;
	struct pair_conn **conns;
	uint32_t n_conns, conns_capacity;
	uint32_t connecting; /* pairs being connected */
	/* Messages of such pairs, in the order of their arrival; by `next` */
	struct pair_buf *early;
	uint64_t eq_read_at;
	struct pair_buf *unposted; /* receives that libfabric refused; by `next` */
	bool closing, any_broken;
	struct pair_strays strays; /* at the end of the reaper's last period; its thread only */

	struct dofi_lock leaf;
	struct dofi_list dirty, touched, kept;
	struct pair_buf *all_bufs;       /* receive and send buffers, by `all` */
	struct pair_buf *pool;           /* send buffers */
	struct pair_transfer *transfers; /* unused */
	/* The last poll, which began at received_at, has received packets; this one sends no kept
	 * transfers. net->lock */
	bool received, paused;
	uint64_t received_at;
	/* net->lock: data of reads is left to the next poll; something for which a program may wait
	 * has arrived */
	bool has_kept_read, has_news;
	_Atomic bool has_touched, has_kept;
	_Atomic enum pair_need dirty_need; /* no pair in `dirty` has a higher one; leaf to write */
	/* The progress thread may sleep, and nothing has been left to the next poll since. The same
	 * of a thread of the program, which has not polled since; 0: of none. leaf to set */
	_Atomic bool asleep;
	_Atomic uintptr_t waiter;
	_Atomic uint32_t n_transfers; /* posted to libfabric */
	_Atomic uint32_t empty_polls; /* polls that found nothing; net->lock to write */
	_Atomic uint32_t users;       /* connections */
};

static inline struct pair_net *pair_net_of(const struct msgep_domain *domain)
{
	return domain->transport_data;
}

static inline bool pair_is_bulk_apart(const struct pair_net *net)
{
	return net->bulk_inner == &net->apart;
}

/* True if a thread may sleep that has to know what is left to the next poll. */
static inline bool pair_has_sleeper(const struct pair_net *net)
{
	return atomic_load_explicit(&net->asleep, memory_order_relaxed) ||
	       atomic_load_explicit(&net->waiter, memory_order_relaxed);
}

/* True if no packets have been collected. Caller holds pair->lock. */
static inline bool pair_is_empty(const struct pair *pair)
{
	return !pair->open || pair->open->len == sizeof(struct pair_head);
}

static inline uint32_t pair_padded(uint32_t len)
{
	return (len + 7) & ~7u;
}

static inline int pair_channel(const struct msgep_frame *f)
{
	return f->kind == MSGEP_DATA || f->kind == MSGEP_ACK || f->kind == MSGEP_GO ? MSGEP_ANS
										    : MSGEP_REQ;
}

/* Transfers to this side that are in progress. Caller holds ep->lock. */
static inline uint32_t pair_n_in(const struct pair_conn *conn)
{
	return conn->ep->bulk.tail - conn->ep->bulk.head;
}

static inline uint64_t pair_mark(uint32_t index, uint32_t generation)
{
	return (uint64_t)generation << 32 | index;
}

/* The open connection of that mark, or NULL. Caller holds net->lock. */
static inline struct pair_conn *pair_marked(const struct pair_net *net, uint64_t mark)
{
	struct pair_conn *conn = (uint32_t)mark < net->n_conns ? net->conns[(uint32_t)mark] : NULL;

	return conn && conn->ep && conn->mark == mark ? conn : NULL;
}

#endif
