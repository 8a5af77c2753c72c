/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport over connected endpoints of libfabric (FI_EP_MSG): one libfabric connection per
 * pair of adapters carries the packets of all DAT connections between them.
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
 *   PAIR_ATTACH   the first packet of a connection, from the side that connected. value: index and
 *                 generation at the sender
 *   PAIR_WANT_BULK  a side has long data to send, or (value 1, from the side that connected) cannot
 *                 use the token now
 *   PAIR_BULK     from the side that accepted: value and total are a token, with which the side
 *                 that connected makes a bulk endpoint (pair_share.c)
 *   PAIR_BULK_END   closes a bulk endpoint; value: enum pair_end
 *   PAIR_CM_REQUEST, PAIR_CM_MESSAGE  the payload is a message of cm_msg.h; value: index and generation at
 *                 the sender, 0: none. A request has no receiver, and the service point's port in
 *                 `total`; a message's mark may be 0, too (pair_cm.c)
 *   PAIR_CREDIT   value: bytes of packets of both channels that the receiver has consumed since the
 *                 connection began (requests in the upper half); total: packets of requests
 *
 * All other packets of a connection bear these numbers in `counts`, as far as they fit: u16 of
 * requests and u16 of answers in units of 8 bytes, u8 packets of requests.
 *
 * A connection has at most `window` bytes of unconsumed packets per channel under way. The receiver
 * processes a packet in the receive buffer; what cannot be processed yet (no receive is posted) is
 * copied to the connection, so a receive buffer is posted again at once and one connection never
 * holds up another. A message is complete for its sender when the receiver has consumed its last
 * packet: its receive completion then precedes whatever the sender does afterwards, on every
 * endpoint of the two adapters.
 *
 * A packet leaves at once unless others have left immediately before: the packets of a burst are
 * collected in one message, which leaves when it is full, or when the program looks for
 * completions. Acknowledgements travel along with other packets, they and credits alone when there
 * is nothing else to do.
 *
 * The DAT connection's handshake (cm_msg.h) comes first. It tells both sides' adapters, windows
 * and indexes (the params), and the passive side grants a token, without which its listener rejects
 * libfabric connections. An params, numbers big-endian:
 *
 *   byte  0  u8   version, 5
 *         1  u8   zero
 *         2  u16  port of the adapter's listener at the address where the request came in
 *         4  u32  window
 *         8  u32  index, then u32 generation
 *        16  u8[16]  the adapter's random name
 *        32  u8[16]  passive side: token; zeros where a pair with that peer is up already, and
 *                    from the active side
 *
 * The data of fi_connect and fi_accept, numbers big-endian:
 *
 *   byte  0  u32  PAIR_MAGIC
 *         4  u32  version, 5
 *         8  u32  index of the pair at the sender, u32 zero
 *        16  u64  key: leads the messages to the sender
 *        24  u8[16]  the sender's random name
 *        40  u8[16]  fi_connect: the token
 *
 * Locks, in the order in which they may be taken:
 *   net->lock    what is received; tables of pairs and connections
 *   ep->lock     (msgep.h)
 *   pair->lock   what is sent on a pair
 *   net->leaf    lists of what the next look has to do
 */
#ifndef DOFI_MSGEP_PAIR_H
#define DOFI_MSGEP_PAIR_H

#include "msgep/msgep.h"

#define PAIR_VERSION 5
#define PAIR_MAGIC 0x44415450u	/* "DATP" */
#define PAIR_NAME 16
#define PAIR_PARAMS 48
#define PAIR_PARAM 56
/* A message at most, and the payload of one packet. */
#define PAIR_MESSAGE (32u << 10)
#define PAIR_PAYLOAD (16u << 10)
#define PAIR_WINDOW (128u << 10)
/* Packets of requests that are not consumed: their messages need a place in ep->inflight. */
#define PAIR_PACKETS (MSGEP_INFLIGHT_MAX - 1)
#define PAIR_UNIT 8u
_Static_assert(PAIR_PACKETS < 256 && PAIR_WINDOW / PAIR_UNIT < 65536, "they fit in `counts`");
/* Messages of a pair that libfabric has, at most. */
#define PAIR_IN_FLIGHT 4
#define PAIR_RECEIVES 8
/* Packets that follow each other so closely belong to a burst, whose first ones leave at once. */
#define PAIR_BURST_NS 10000
#define PAIR_BURST_FREE 2
/* The event queue is read as often as this while packets keep the completion queue busy. */
#define PAIR_EQ_NS 1000000
#define PAIR_TOKEN_MS 10000
/* Looks at the connections whose requests have not come, before the listeners are closed. */
#define PAIR_END_ROUNDS 4

/* Requests of this size and more travel in bulk, on so many endpoints of an adapter; transfers of a
 * connection that have been announced and not sent. */
#define PAIR_BULK_FROM (32u << 10)
#define PAIR_BULKS 64
/* An endpoint that has not been used for so long is taken from its connection for one that has
 * none; the next one, after so long. */
#define PAIR_BULK_IDLE_NS 10000000
#define PAIR_BULK_NEXT_NS 1000000
#define PAIR_TRANSFERS 16

enum { PAIR_ATTACH = 0x80, PAIR_CREDIT, PAIR_WANT_BULK, PAIR_BULK, PAIR_CM_REQUEST,
       PAIR_CM_MESSAGE, PAIR_BULK_END };
enum pair_end { PAIR_END_ASKED, PAIR_END_AGREED, PAIR_END_CLOSED };

struct pair_head {
	uint32_t index;			/* of the pair at the receiver */
	uint32_t zero;
	uint64_t key;
};

/* An operation that libfabric has. */
enum pair_op_kind { PAIR_OP_RECV, PAIR_OP_SEND, PAIR_OP_BULK_RECV, PAIR_OP_BULK_SEND };

struct pair_op {
	struct fi_context2 context;	/* first: libfabric's */
	enum pair_op_kind kind;
};

/* A message that is received or sent. */
struct pair_buf {
	struct pair_op op;
	struct pair_buf *next;
	struct pair_buf *all;		/* net->all_receives */
	struct pair *pair;		/* sent ones */
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

struct pair {
	struct pair_net *net;
	struct dofi_list link;		/* net->pairs; net->lock */
	struct fid_ep *ep;
	int fd;				/* its socket (pair_sock.c); -1: not known */
	enum pair_state state;		/* net->lock and pair->lock to write */
	uint8_t name[PAIR_NAME];	/* of the peer's adapter */
	uint32_t index;			/* ours: leads the messages that we receive, */
	uint64_t key;
	struct pair_head head;		/* those that we send */
	struct dofi_list conns;		/* net->lock */
	/* pair_cm.c; net->lock */
	uint32_t serial;		/* no former pair of this index has had it */
	union dofi_addr local, peer;	/* hosts; no address: not known */
	union dofi_addr *points;	/* service points to which it leads */
	uint32_t n_points;

	pthread_mutex_t lock;
	struct pair_buf *open;		/* collects packets; NULL: none since the last message */
	struct pair_buf *waiting, **waiting_end;	/* libfabric had no room */
	uint32_t in_flight;
	bool urgent;			/* `open` has more than credits and acknowledgements */
	struct dofi_list owing;		/* connections that owe the peer credits */
	struct dofi_list starved;	/* connections that wait for a buffer */
	struct dofi_list dirty;		/* net->dirty, net->leaf: `open` is to be sent, */
	bool is_dirty;			/* and it is in that list */
	uint64_t sent_at;
	uint32_t burst;
};

/* Whether a bulk endpoint is to be closed (pair_share.c). From BULK_ASKED on nothing more is announced
 * on it. */
enum pair_leave {
	BULK_KEPT,
	BULK_ASKED,			/* we have asked the peer */
	BULK_GRANTED,			/* the peer has agreed; its last transfers are under way */
	BULK_LEAVING,			/* the peer has asked; our last transfers are under way */
	BULK_AGREED,			/* we have agreed; the peer closes it first */
};

/* The bulk endpoint of a connection; see pair_bulk.c. */
struct pair_bulk {
	struct pair_net *net;
	struct pair_conn *conn;		/* NULL: closed */
	struct dofi_list link;		/* net->bulks: the least recently used one first */
	uint64_t used_at;
	enum pair_leave leave;		/* net->lock and conn->ep->lock to write */
	struct fid_ep *ep;
	int fd;
	enum pair_state state;		/* conn->ep->lock to write, like ep */
	_Atomic uint32_t users;		/* the connection, and transfers that libfabric has */
};

/* Long data. */
struct pair_transfer {
	struct pair_op op;
	struct pair_transfer *next;
	struct pair_bulk *bulk;		/* NULL: GO is awaited */
	struct pair_conn *conn;
	struct msgep_mr *mr;		/* held, or NULL */
	uint64_t id;
	size_t n;
	struct iovec iov[MSGEP_IOV_MAX];
};

struct pair_conn {
	struct msgep_ep *ep;		/* NULL: unused */
	struct pair *pair;		/* NULL: not attached. net->lock and ep->lock to write */
	struct dofi_list link;		/* pair->conns, or net->unused; net->lock */
	struct dofi_list owe;		/* pair->owing; pair->lock */
	struct dofi_list starve;	/* pair->starved; pair->lock */
	struct dofi_list touch;		/* net->touched; net->leaf */
	uint32_t index, generation;
	bool has_peer_params, active;
	bool expects;			/* an answer; net->lock */
	bool dispatching;		/* ep->lock: the reader of net is at this connection */
	_Atomic int broken;

	/* the peer's params */
	uint32_t peer_index, peer_generation, peer_window;
	uint8_t peer_name[PAIR_NAME];

	/* bytes of packets per channel, counted from the beginning */
	uint32_t sent[MSGEP_CHANNELS];				/* ep->lock */
	_Atomic uint32_t granted[MSGEP_CHANNELS];			/* the peer has consumed */
	uint32_t came[MSGEP_CHANNELS];				/* ep->lock */
	_Atomic uint32_t consumed[MSGEP_CHANNELS], reported[MSGEP_CHANNELS];
	_Atomic uint32_t arrived;	/* packets of requests that the peer has consumed, */
	_Atomic uint32_t taken;		/* and that we have */
	uint32_t taken_reported;		/* pair->lock */
	uint32_t packets;		/* of requests, sent; ep->lock */

	/* ep->lock: packets in the receive buffer that is being processed, then those that wait */
	const uint8_t *at, *end;
	struct pair_queue queue[MSGEP_CHANNELS];

	/* long data; ep->lock */
	struct pair_bulk *bulk;		/* net->lock and ep->lock to write */
	_Atomic bool wants_bulk;	/* to be seen by the next look */
	bool requested_bulk;
	bool peer_wants;		/* net->lock */
	bool sent_token;		/* net->lock */
	struct dofi_list want;		/* net->wanted; net->lock */
	uint64_t wanted_at;		/* when the peer was asked for a token; net->lock */
	uint16_t peer_port;		/* of the passive side's listener */
	uint32_t n_out;
	uint64_t next_out;
	struct pair_transfer *out[PAIR_TRANSFERS];

	bool ended;			/* the peer's last message has come */
	uint32_t final[MSGEP_CHANNELS];
};

/* A libfabric connection that a peer may make. */
struct pair_token {
	struct dofi_list link;
	uint8_t token[PAIR_NAME];
	uint8_t name[PAIR_NAME];
	struct pair_conn *conn;		/* whose bulk endpoint it is for; NULL: a pair */
	uint64_t expires;
};

/* Of libfabric's: at each address where service points of the adapter listen. */
struct pair_listener {
	struct fid_pep *pep;
	union dofi_addr addr;
};

struct pair_net {
	struct msgep_domain *domain;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *inner;
	struct fid_cq *cq;
	struct fid_eq *eq;
	struct pair_listener *listeners;
	size_t n_listeners;
	struct fid_ep *srx;
	int cq_fd, eq_fd;
	int signal_fd;			/* see cq_signal.h; -1: cq_fd covers it */
	uint8_t name[PAIR_NAME];
	size_t inject;

	pthread_mutex_t lock;
	struct dofi_list pairs, unused, tokens, bulks;
	struct dofi_list wanted;	/* connections whose turn to have a bulk endpoint will come */
	uint32_t n_bulks, n_granted;	/* those that are there; tokens for others */
	uint32_t n_leaving;		/* of them, those that are to be closed */
	uint64_t left_at;		/* when the last one began to be */
	struct pair **pair_table;
	uint32_t serial;		/* of the last pair */
	uint32_t n_pairs, pairs_room;
	struct pair_conn **conns;
	uint32_t n_conns, conns_room;
	struct pair_buf *all_receives;
	uint32_t connecting;		/* pairs that are being made */
	uint64_t eq_read_at;
	bool closing, any_broken;

	struct msgep_lock leaf;
	struct dofi_list dirty, touched;
	struct pair_buf *pool;		/* of buffers to be sent */
	struct pair_transfer *transfers;	/* unused */
	_Atomic bool has_dirty, has_touched;
	_Atomic uint32_t users;		/* connections */
};

static inline struct pair_net *pair_net_of(const struct msgep_domain *domain)
{
	return domain->transport_data;
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

static inline uint64_t pair_mark(uint32_t index, uint32_t generation)
{
	return (uint64_t)generation << 32 | index;
}

/* pair_open.c */
int pair_getinfo(struct dofi_fab *fab, struct fi_info **info);
int pair_open(struct msgep_domain *domain);
void pair_close(struct msgep_domain *domain);
/* Where a peer that reached `local` finds libfabric's listener. */
uint16_t pair_port(const struct pair_net *net, const union dofi_addr *local);
int pair_wait_fds(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS]);
bool pair_may_sleep(struct msgep_domain *domain);
bool pair_busy(struct msgep_domain *domain);
/* Posts a receive buffer. 0 or negative. */
int pair_post(struct pair_net *net, struct pair_buf *buf);
/* One more. */
int pair_post_new(struct pair_net *net);

/* pair_link.c; net->lock held */
/* The pair that leads to the adapter of that params, an existing or a new one. 0 or negative. */
int pair_get(struct pair_net *net, const union dofi_addr *peer, const uint8_t *params,
	     struct pair **out);
/* Grants a token to the adapter of that name; conn: for a bulk endpoint, counted in n_granted. */
int pair_grant(struct pair_net *net, const uint8_t *name, uint8_t *token, struct pair_conn *conn);
/* The tokens of a connection that is closed, or of a peer (name) that needs none for a pair. */
void pair_revoke(struct pair_net *net, const struct pair_conn *conn, const uint8_t *name);
/* Those whose time is up. */
void pair_expire(struct pair_net *net);
bool pair_is_up(struct pair_net *net, const uint8_t *name);
/* Connects a bulk endpoint. 0 or negative. */
int pair_start_connect(struct pair_net *net, const union dofi_addr *to, const uint8_t *token,
		       struct pair_bulk *bulk);
void pair_read_eq(struct pair_net *net);
/* Its connections end, each by itself. */
void pair_break(struct pair *pair, int err);
/* Ends the pairs whose hosts have gone. */
void pair_check_hosts(struct msgep_domain *domain);
void pair_free_all(struct pair_net *net);

/* pair_sock.c: the socket of an endpoint that is connected, or -1; release: before the endpoint is
 * closed. */
int pair_sock_claim(struct fid_ep *ep);
void pair_sock_release(int *fd);
/* Bounds how long libfabric, reading an accepted socket that blocks, waits for the rest of a
 * request. The sockets inherit the limit. False: the listener's socket was not found. */
bool pair_sock_limit_listener(const struct pair_listener *l);
/* Has the peer's host answered nothing for too long? */
bool pair_sock_is_dead(int fd);
/* QUIRK libfabric<1.18 tcp: a listener that is closed forgets the socket of a connection whose request
 * it has not read. Called when it and all endpoints of the adapter are closed. */
void pair_sock_close_strays(const struct pair_listener *l);
/* Shuts them down while the listener is there. How many. */
unsigned int pair_sock_end_strays(const struct pair_listener *l);

/* pair_send.c */
/* Room for a packet with `want` bytes of payload; ep->lock held. *room: bytes. */
struct msgep_frame *pair_reserve(struct msgep_ep *ep, int channel, size_t want, size_t *room);
void pair_commit(struct msgep_ep *ep, int channel, struct msgep_frame *frame);
void pair_unreserve(struct msgep_ep *ep);
/* A packet without regard to credits, to the connection of that mark. It leaves with the next
 * flush. False: no memory. */
bool pair_send_control(struct pair *pair, uint8_t kind, uint64_t mark, uint64_t value,
		       uint64_t total, const void *data, size_t len);
/* A control packet. */
void pair_control(struct pair_conn *conn, uint8_t kind, uint64_t value, uint64_t total);
/* Sends what has been collected; `all`: credits and acknowledgements, too. */
void pair_flush(struct pair *pair, bool all);
/* net->lock held: the same for all pairs that have collected something. */
void pair_flush_dirty(struct pair_net *net, bool all);
/* The connection owes the peer a credit. */
void pair_owe(struct pair_conn *conn);
/* net->lock held: libfabric is done with a message. */
void pair_sent(struct pair_net *net, struct pair_buf *buf);
/* The pair is closed: its buffers serve others. */
void pair_drop_unsent(struct pair *pair);
/* One buffer more, for what must be sent even if there is no memory. 0 or negative. */
int pair_buf_new(struct pair_net *net);
void pair_pool_free(struct pair_net *net);

/* pair_recv.c */
unsigned int pair_poll(struct pair_net *net, struct msgep_cq_direct *direct);
void pair_progress(struct msgep_domain *domain, struct msgep_cq_direct *direct);
/* A count of the peer's; false: it is one of what was never sent. */
bool pair_advance(_Atomic uint32_t *known, uint32_t count, uint32_t sent);
/* The peer has broken the rules of the connection. */
void pair_conn_violate(struct pair_conn *conn, const char *what);
/* The next look has to deal with the connection. */
void pair_touch(struct pair_conn *conn);
const struct msgep_frame *pair_peek(struct msgep_ep *ep, int channel, const void **payload);
void pair_release(struct msgep_ep *ep, int channel);
void pair_queues_free(struct pair_conn *conn);

/* pair_bulk.c: the transport's operations, */
size_t pair_bulk_from(struct msgep_ep *ep);
bool pair_bulk_send(struct msgep_ep *ep, const struct iovec *iov, size_t n, struct msgep_mr *mr,
		    uint64_t *id);
bool pair_bulk_go(struct msgep_ep *ep, uint64_t id);
bool pair_bulk_recv(struct msgep_ep *ep, const struct iovec *iov, size_t n);
bool pair_bulk_abort(struct msgep_ep *ep, const struct msgep_mr *mr);
/* The transfers that libfabric has touch no memory any more; ep->lock held. */
void pair_bulk_stop(struct msgep_ep *ep);
/* and, with net->lock, */
bool pair_bulk_connect(struct pair_conn *conn, uint64_t first, uint64_t second);
int pair_bulk_start(struct pair_bulk *bulk, struct fi_info *info, const void *to,
		    const uint8_t *param);
void pair_bulk_accept(struct pair_conn *conn, struct fi_info *info);
void pair_bulk_close(struct pair_conn *conn);
void pair_bulk_drop(struct pair_conn *conn);
/* An event of the event queue; false: it is about no bulk endpoint. */
bool pair_bulk_event(struct pair_net *net, struct fid *fid, uint32_t event, int err);
void pair_bulk_completed(struct pair_net *net, struct pair_transfer *t, uint64_t len, int err,
			 struct msgep_cq_direct *direct);
void pair_transfers_free(struct pair_net *net);

/* pair_share.c: who has a bulk endpoint. Called with ep->lock where a request turns out to be long, */
void pair_share_want(struct pair_conn *conn);
/* and with net->lock: by the next look at the connection, */
void pair_share_ask(struct pair_conn *conn);
/* when the peer has sent PAIR_WANT_BULK, PAIR_BULK, PAIR_BULK_END, */
void pair_share_wanted(struct pair_conn *conn, uint64_t value);
void pair_share_granted(struct pair_conn *conn, uint64_t first, uint64_t second);
void pair_share_end(struct pair_conn *conn, uint64_t value);
/* and by each look at the adapter. */
void pair_share_look(struct pair_net *net);
static inline bool pair_share_has_work(const struct pair_net *net)
{
	return net->n_leaving || !dofi_list_empty(&net->wanted);
}

/* pair_cm.c; net->lock held */
void pair_cm_received(struct pair *pair, const struct msgep_frame *f);
void pair_cm_attached(struct pair_conn *conn);
/* PAIR_ATTACH names a connection that is not there any more: the sender learns it. */
void pair_cm_not_attached(struct pair *pair, const struct msgep_frame *f);
void pair_cm_lost(struct pair *pair);
/* and the transport's operations */
uint64_t pair_route(struct msgep_domain *domain, const union dofi_addr *to, union dofi_addr *local);
void pair_route_peer(struct msgep_domain *domain, uint64_t route, union dofi_addr *peer);
uint64_t pair_route_of(struct msgep_ep *ep);
void pair_learn(struct msgep_ep *ep, const union dofi_addr *to, const union dofi_addr *local);
void pair_unlearn(struct msgep_domain *domain, uint64_t route, const union dofi_addr *to);
bool pair_cm_send(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route, uint64_t to,
		  uint16_t port, const uint8_t *msg, size_t len);
void pair_cm_flush(struct msgep_domain *domain);
struct msgep_ep *pair_owner(struct msgep_domain *domain, uint64_t mark);

/* pair.c; net->lock held */
void pair_attach(struct pair_conn *conn, struct pair *pair);

#endif
