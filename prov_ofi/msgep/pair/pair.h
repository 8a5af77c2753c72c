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
	struct pair_buf *all; /* net->all_receives */
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
};

/* Long data. */
struct pair_transfer {
	struct pair_op op;
	struct pair_transfer *next;
	struct pair_bulk *bulk; /* NULL: GO is awaited */
	struct pair_conn *conn;
	struct msgep_mr *mr; /* held, or NULL */
	uint64_t id;
	uint64_t len; /* of a receive */
	bool going;   /* GO has arrived, */
	bool room;    /* and announcements may follow */
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
	uint32_t index, generation;
	bool has_peer_params, active;
	bool expects;     /* an answer is outstanding; net->lock */
	bool dispatching; /* ep->lock: the poll is processing this connection */
	_Atomic int broken;

	/* the peer's parameters */
	uint32_t peer_index, peer_generation, peer_window;
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
	struct pair_buf *all_receives;
	uint32_t connecting; /* pairs being connected */
	uint64_t eq_read_at;
	struct pair_buf *unposted; /* receives that libfabric refused; by `next` */
	bool closing, any_broken;
	struct pair_strays strays; /* at the end of the reaper's last period; its thread only */

	struct dofi_lock leaf;
	struct dofi_list dirty, touched, kept;
	struct pair_buf *pool;           /* send buffers */
	struct pair_transfer *transfers; /* unused */
	/* The last poll, which began at received_at, has received packets; this one sends no kept
	 * transfers. net->lock */
	bool received, paused;
	uint64_t received_at;
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

/* pair_open.c */
int pair_find_inner(const struct dofi_fab *fab, struct fi_info **info);
int pair_open(struct msgep_domain *domain);
void pair_close(struct msgep_domain *domain);
/* Port of libfabric's listener for a peer that has reached `local`. */
uint16_t pair_port(const struct pair_net *net, const union dofi_addr *local);
int pair_wait_fds(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS]);
bool pair_may_sleep(struct msgep_domain *domain, bool used);
bool pair_busy(struct msgep_domain *domain);

/* pair_post.c */
/* Allocates a receive buffer and posts it. 0 or negative. */
int pair_post_new(struct pair_net *net);
/* Posts a buffer again. One that libfabric refuses, for lack of memory, is offered later. */
void pair_repost(struct pair_net *net, struct pair_buf *buf);
/* Posts the buffers that libfabric has refused. */
void pair_post_again(struct pair_net *net);

/* pair_link.c. Caller holds net->lock. */
/* The connection uses the pair. */
void pair_attach(struct pair_conn *conn, struct pair *pair);
/* The pair of ep's DSCP with the adapter of these parameters, an existing or a new one. 0 or
 * negative. */
int pair_get(struct pair_net *net, const struct msgep_ep *ep, const uint8_t *params,
	     struct pair **out);
/* Grants a token to the adapter of that name, for that DSCP; conn: for a bulk endpoint, counted in
 * n_granted. */
int pair_grant(struct pair_net *net, const uint8_t *name, uint8_t dscp, uint8_t *token,
	       struct pair_conn *conn);
/* Revokes the tokens of a closed connection, or those that this pair has made needless. */
void pair_revoke(struct pair_net *net, const struct pair_conn *conn, const struct pair *pair);
/* Revokes expired tokens. */
void pair_expire(struct pair_net *net);
bool pair_is_up(struct pair_net *net, const uint8_t *name, uint8_t dscp);
/* Creates a libfabric endpoint of a pair, or a bulk endpoint. 0 or negative. */
int pair_make_ep(struct pair_net *net, struct fi_info *info, bool bulk, struct fid_ep **out);
/* Creates one of the pair, or a bulk endpoint for NULL, and connects it. 0 or negative: the caller
 * closes *ep if it has been created. */
int pair_connect(struct pair_net *net, const struct pair *pair, const union dofi_addr *to,
		 uint8_t dscp, const uint8_t *token, struct fid_ep **ep);
void pair_read_eq(struct pair_net *net);
/* The pair has failed: ends its connections one by one. */
void pair_break(struct pair *pair, int err);
/* Breaks the pairs whose hosts have vanished. */
void pair_check_hosts(struct msgep_domain *domain);
void pair_free_all(struct pair_net *net);

/* pair_sock.c: the socket of a connected endpoint, or -1; its packets get the DSCP. Release it
 * before the endpoint is closed. */
int pair_sock_claim(struct fid_ep *ep, uint8_t dscp);
void pair_sock_release(int *fd);
/* Limits the time for which libfabric blocks on an accepted socket for the rest of a request.
 * Accepted sockets inherit the limit. False: the listener's socket was not found. */
bool pair_sock_limit_listener(const struct pair_listener *l);
/* True if the peer's host has not responded for too long. */
bool pair_sock_is_dead(int fd);
/* Adds those of that listener, as far as there is memory. */
void pair_sock_find_strays(const struct pair_listener *l, struct pair_strays *out);
/* True if it still is one. */
bool pair_sock_is_stray(const struct pair_stray *stray);
/* Shuts them down while the listener is open. Returns their number. */
unsigned int pair_sock_end_strays(const struct pair_listener *l);

/* pair_reap.c: called once in DAPL_OFI_HALF_OPEN_MS. */
void pair_reap_strays(struct msgep_domain *domain);

/* pair_send.c */
/* Space for a packet with `want` bytes of payload; *space: bytes. Caller holds ep->lock. */
struct msgep_frame *pair_reserve(struct msgep_ep *ep, int channel, size_t want, size_t *space);
void pair_commit(struct msgep_ep *ep, int channel, struct msgep_frame *frame);
void pair_unreserve(struct msgep_ep *ep);
/* Bytes of packets of that channel that may be sent. */
uint32_t pair_credits(struct pair_conn *conn, int channel);
/* Queues packets of a connection that have been committed; false: no space now. The next flush
 * sends them. Caller holds ep->lock. */
bool pair_put_packets(struct pair_conn *conn, const uint8_t *packets, uint32_t len);
/* Queues a packet regardless of credits, to the connection of that mark. The next flush sends it.
 * False: no memory. */
bool pair_send_control(struct pair *pair, uint8_t kind, uint64_t mark, uint64_t value,
		       uint64_t total, const void *data, size_t len);
/* The same to the peer of a connection. */
void pair_control(struct pair_conn *conn, uint8_t kind, uint64_t value, uint64_t total);
/* Sends what has been collected if any of it has this need, or a higher one. */
void pair_flush(struct pair *pair, enum pair_need least);
/* The same for all pairs that have collected something. Caller holds net->lock, and has disabled
 * cancellation, as for pair_flush. */
void pair_flush_all(struct pair_net *net, enum pair_need least);
static inline void pair_flush_dirty(struct pair_net *net, enum pair_need least)
{
	if (atomic_load_explicit(&net->dirty_need, memory_order_relaxed) >= least)
		pair_flush_all(net, least);
}
/* Of `left` transfers one has ended: ends the wait of held packets, unless there are enough others.
 * Caller holds ep->lock. */
void pair_unhold(struct pair_conn *conn, uint32_t left);
/* The connection owes the peer a credit. */
void pair_owe(struct pair_conn *conn);
/* Something waits for the next poll, which the program may never make: if the threads that watch
 * the adapter's queues sleep, one of them is woken a millisecond later. */
void pair_leave_work(struct pair_net *net);
/* The calling thread may sleep. Caller holds leaf. */
void pair_note_sleeper(struct pair_net *net);
/* A message has completed. Caller holds net->lock. */
void pair_sent(struct pair_buf *buf);
/* The pair is closed: returns its buffers to the pool. */
void pair_drop_unsent(struct pair *pair);
/* Adds a buffer, for messages that must be sent even without memory. 0 or negative. */
int pair_buf_new(struct pair_net *net);
void pair_pool_free(struct pair_net *net);

/* Moves the list of work for the next poll, which `any` announces. */
static inline void pair_take_all(struct pair_net *net, struct dofi_list *work, _Atomic bool *any,
				 struct dofi_list *todo)
{
	dofi_lock(&net->leaf);
	dofi_list_move(work, todo);
	atomic_store_explicit(any, false, memory_order_relaxed);
	dofi_unlock(&net->leaf);
}

/* pair_recv.c */
unsigned int pair_poll(struct pair_net *net, struct msgep_cq_direct *direct);
void pair_progress(struct msgep_domain *domain, struct msgep_cq_direct *direct);
void pair_retry(struct msgep_domain *domain);
/* Applies a count reported by the peer; false: it exceeds what was sent. */
bool pair_advance(_Atomic uint32_t *known, uint32_t count, uint32_t sent);
/* The peer has violated the protocol of the connection. */
void pair_conn_violate(struct pair_conn *conn, const char *what);
/* Processes packets that have followed a transfer. Caller holds net->lock. */
void pair_recv_carried(struct pair_conn *conn, uint8_t *at, uint32_t len,
		       struct msgep_cq_direct *direct);
/* The next poll has to process the connection. */
void pair_touch(struct pair_conn *conn);
const struct msgep_frame *pair_peek(struct msgep_ep *ep, int channel, const void **payload);
void pair_release(struct msgep_ep *ep, int channel);
void pair_queues_free(struct pair_conn *conn);

/* pair_bulk.c */
/* Operations of the transport. */
size_t pair_bulk_from(struct msgep_ep *ep);
bool pair_bulk_send(struct msgep_ep *ep, const struct iovec *iov, size_t n, struct msgep_mr *mr,
		    uint64_t *id);
bool pair_bulk_go(struct msgep_ep *ep, uint64_t id, bool room);
bool pair_bulk_recv(struct msgep_ep *ep, const struct iovec *iov, size_t n);
bool pair_bulk_abort(struct msgep_ep *ep, const struct msgep_mr *mr);
/* Stops the transfers that libfabric has. */
void pair_bulk_stop(struct msgep_ep *ep);
/* For the following the caller holds net->lock. */
/* The passive side has sent this token. False: it is not used. */
bool pair_bulk_connect(struct pair_conn *conn, uint64_t first, uint64_t second);
/* The active side presents the token. 0 or negative. */
int pair_bulk_accept(struct pair_conn *conn, struct fi_info *info);
void pair_bulk_close(struct pair_conn *conn);
void pair_bulk_drop(struct pair_conn *conn);
/* Handles an event of the event queue; false: it does not concern a bulk endpoint. */
bool pair_bulk_event(struct pair_net *net, struct fid *fid, uint32_t event, int err);
/* Sends transfers for which GO has arrived, `most` of each connection. */
void pair_bulk_send_kept(struct pair_net *net, uint32_t most);
/* libfabric has sent or received the data, or returns the transfer with an error. */
void pair_bulk_completed(struct pair_net *net, struct pair_transfer *t, uint64_t len, int err,
			 struct msgep_cq_direct *direct);
void pair_transfers_free(struct pair_net *net);

/* pair_carry.c. Caller holds ep->lock. */
/* True if the peer has consumed all requests that took this path. */
bool pair_path_is_consumed(struct pair_conn *conn, struct pair_path *path);
/* Space for an announcement. */
struct msgep_frame *pair_carry_reserve(struct msgep_ep *ep, size_t want, size_t *space);
/* It has been written. */
void pair_carry_commit(struct pair_conn *conn, uint32_t size);
/* The packets that this transfer carries; false: none. */
bool pair_carry_take(struct pair_conn *conn, struct pair_transfer *t, struct iovec *iov);
/* Sends on the pair what has been collected; false: later packets of requests have to wait. */
bool pair_carry_passed(struct pair_conn *conn);
/* The same if few transfers are left that could carry it. */
void pair_carry_check(struct pair_conn *conn);
/* The connection ends: what has been collected is not sent. */
void pair_carry_drop(struct pair_conn *conn);

/* pair_unsolicited.c. Caller holds ep->lock. */
/* The transport's operation. */
enum msgep_bulk_mode pair_bulk_mode(struct msgep_ep *ep, uint8_t kind);
/* True if the packet begins to use a receive of the peer. */
static inline bool pair_takes_receive(const struct msgep_frame *f)
{
	return f->kind == MSGEP_MSG ? f->flags & MSGEP_FIRST : f->kind == MSGEP_IMM;
}

/* The connection has a bulk endpoint, and a packet of that size follows the requests that have been
 * sent. */
void pair_note_order(struct pair_conn *conn, const struct msgep_frame *f, uint32_t size);
static inline void pair_note_request(struct pair_conn *conn, const struct msgep_frame *f,
				     uint32_t size)
{
	if (conn->bulk)
		pair_note_order(conn, f, size);
	conn->used_receives += pair_takes_receive(f);
}

/* The peer has posted that many receives since the connection began, or 0. */
static inline void pair_note_receives(struct pair_conn *conn, uint32_t posted)
{
	if ((int32_t)(posted - conn->peer_receives) > 0)
		conn->peer_receives = posted;
}

/* True if the peer has posted memory for all unsolicited requests. */
static inline bool pair_is_solicited(struct pair_conn *conn)
{
	return pair_path_is_consumed(conn, &conn->unsolicited);
}
/* True if long data has an endpoint now. */
static inline bool pair_has_bulk(const struct pair_conn *conn)
{
	return conn->bulk && conn->bulk->state == PAIR_UP && conn->bulk->leave == BULK_KEPT;
}

/* pair_share.c */
/* A long request has no bulk endpoint; the next poll requests one. Caller holds ep->lock. */
void pair_share_want(struct pair_conn *conn);
/* For the following the caller holds net->lock. */
/* Requests it: the side that connected when there is a place, the other one from its peer. */
void pair_share_ask(struct pair_conn *conn);
/* PAIR_WANT_BULK, PAIR_BULK or PAIR_BULK_END has arrived. */
void pair_share_wanted(struct pair_conn *conn, uint64_t value);
void pair_share_granted(struct pair_conn *conn, uint64_t first, uint64_t second);
void pair_share_end(struct pair_conn *conn, uint64_t value);
/* Each poll of the adapter, if there is work: continues to close endpoints, serves connections that
 * wait, and begins to close another endpoint for them. */
void pair_share_look(struct pair_net *net);
static inline bool pair_share_has_work(const struct pair_net *net)
{
	return net->n_leaving || !dofi_list_empty(&net->wanted);
}

/* pair_cm.c. Caller holds net->lock. */
void pair_cm_received(struct pair *pair, const struct msgep_frame *f);
void pair_cm_attached(struct pair_conn *conn);
/* PAIR_ATTACH names a connection that does not exist any more: reports that to the sender. */
void pair_cm_not_attached(struct pair *pair, const struct msgep_frame *f);
void pair_cm_lost(struct pair *pair);
/* Operations of the transport, which take net->lock themselves. */
uint64_t pair_route(struct msgep_ep *ep, const union dofi_addr *to, union dofi_addr *local);
void pair_route_peer(struct msgep_domain *domain, uint64_t route, union dofi_addr *peer);
uint64_t pair_route_of(struct msgep_ep *ep);
void pair_add_route(struct msgep_ep *ep, const union dofi_addr *to, const union dofi_addr *local);
void pair_unlearn(struct msgep_domain *domain, uint64_t route, const union dofi_addr *to);
bool pair_cm_send(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route, uint64_t to,
		  uint16_t port, const uint8_t *msg, size_t len);
void pair_cm_flush(struct msgep_domain *domain);
struct msgep_ep *pair_owner(struct msgep_domain *domain, uint64_t mark);

#endif
