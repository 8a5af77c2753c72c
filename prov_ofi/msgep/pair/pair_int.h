/* SPDX-License-Identifier: BSD-2-Clause */
/* Private interface of the transport over connected endpoints.
 *
 * A source calls those above it in this list:
 *
 *   pair_sock.c         sockets below libfabric's endpoints
 *   pair_work.c         work that is left to the next poll
 *   pair_end.c          breaks DAT connections and pairs
 *   pair_message.c      messages on a pair: collecting packets, sending; credits
 *   pair_carry.c        announcements that follow long data
 *   pair_unsolicited.c  decides which long data is sent without GO
 *   pair_cm.c           handshake messages
 *   pair_token.c        tokens
 *   pair_post.c         receive buffers
 *   pair_link.c         pairs: creation, attachment of DAT connections, closing
 *   pair_bulk.c         bulk endpoints
 *   pair_share.c        decides which connections have one
 *   pair_send.c         packets of connections: sending
 *   pair_recv.c         packets of connections: checking, processing
 *   pair_transfer.c     transfers over bulk endpoints
 *   pair_events.c       events of libfabric's connections
 *   pair_poll.c         completion queues: messages, control packets
 *   pair_reap.c         half-open connections to the listeners
 *   pair_open.c         the adapter's libfabric objects
 *   pair_conn.c         ends of DAT connections; operations of the transport
 */
#ifndef DOFI_MSGEP_PAIR_INT_H
#define DOFI_MSGEP_PAIR_INT_H

#include <stdlib.h>
#include <string.h>

#include "msgep/object/proto.h"
#include "msgep/pair/pair.h"

#define PAIR_HDR ((uint32_t)MSGEP_FRAME_HDR)

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

/* pair_work.c */
/* The next poll has to process the connection. */
void pair_touch(struct pair_conn *conn);
/* Something waits for the next poll, which the program may never make: if the threads that watch
 * the adapter's queues sleep, one of them is woken a millisecond later. */
void pair_leave_work(struct pair_net *net);
/* The calling thread may sleep. Caller holds leaf. */
void pair_note_sleeper(struct pair_net *net);
/* Moves the list of work for the next poll, which `any` announces. */
static inline void pair_take_all(struct pair_net *net, struct dofi_list *work, _Atomic bool *any,
				 struct dofi_list *todo)
{
	dofi_lock(&net->leaf);
	dofi_list_move(work, todo);
	atomic_store_explicit(any, false, memory_order_relaxed);
	dofi_unlock(&net->leaf);
}

/* pair_end.c */
void pair_conn_break(struct pair_conn *conn, int err);
/* The peer has violated the protocol of the connection. */
void pair_conn_violate(struct pair_conn *conn, const char *what);
/* The pair has failed: ends its connections one by one. Caller holds net->lock. */
void pair_break(struct pair *pair, int err);

/* pair_carry.c. Caller holds ep->lock. */
/* True if the peer has consumed all requests that took this path. */
static inline bool pair_path_is_consumed(struct pair_conn *conn, struct pair_path *path)
{
	if (path->used && (int32_t)(atomic_load(&conn->granted[MSGEP_REQ]) - path->end) >= 0)
		path->used = false;
	return !path->used;
}

/* An announcement has been written to the space that is reserved for it. */
void pair_carry_commit(struct pair_conn *conn, uint32_t size);
/* The packets that this transfer carries; false: none. */
bool pair_carry_take(struct pair_conn *conn, struct pair_transfer *t, struct iovec *iov);
/* Sends on the pair what has been collected; false: later packets of requests have to wait. */
bool pair_carry_passed(struct pair_conn *conn);
/* The same if few transfers are left that could carry it. */
void pair_carry_check(struct pair_conn *conn);
/* The connection ends: what has been collected is not sent. */
void pair_carry_drop(struct pair_conn *conn);

/* pair_cm.c. Caller holds net->lock. */
static inline uint64_t pair_route_number(const struct pair *pair)
{
	return pair_mark(pair->index, pair->serial);
}

void pair_cm_received(struct pair *pair, const struct msgep_frame *f);
void pair_cm_attached(struct pair_conn *conn);
/* PAIR_ATTACH names a connection that does not exist any more: reports that to the sender. */
void pair_cm_not_attached(struct pair *pair, const struct msgep_frame *f);
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

/* pair_token.c. Caller holds net->lock. */
/* Grants a token to the adapter of that name, for that DSCP; conn: for a bulk endpoint, counted in
 * n_granted. */
int pair_grant(struct pair_net *net, const uint8_t *name, uint8_t dscp, uint8_t *token,
	       struct pair_conn *conn);
/* The adapter of that name presents a token; false: it is not a valid one. It can be used once. */
bool pair_use_token(struct pair_net *net, const uint8_t *name, const uint8_t *token,
		    struct pair_conn **conn, uint8_t *dscp);
/* Revokes the tokens of a closed connection, or those that this pair has made needless. */
void pair_revoke(struct pair_net *net, const struct pair_conn *conn, const struct pair *pair);
/* Revokes expired tokens. */
void pair_expire(struct pair_net *net);
/* The adapter is closed. No lock. */
void pair_tokens_free(struct pair_net *net);

/* pair_post.c */
/* Allocates a receive buffer and posts it. 0 or negative. */
int pair_post_new(struct pair_net *net);
/* Posts a buffer again. One that libfabric refuses, for lack of memory, is offered later. */
void pair_repost(struct pair_net *net, struct pair_buf *buf);
/* Posts the buffers that libfabric has refused. */
void pair_post_again(struct pair_net *net);

/* pair_link.c. Caller holds net->lock. */
static inline bool pair_matches(const struct pair *pair, const uint8_t *name, uint8_t dscp)
{
	return pair->dscp == dscp && !memcmp(pair->name, name, PAIR_NAME);
}

/* The connection uses the pair. */
void pair_attach(struct pair_conn *conn, struct pair *pair);
/* The pair of ep's DSCP with the adapter of these parameters, an existing or a new one. 0 or
 * negative. */
int pair_get(struct pair_net *net, const struct msgep_ep *ep, const uint8_t *params,
	     struct pair **out);
bool pair_is_up(struct pair_net *net, const uint8_t *name, uint8_t dscp);
/* Creates a libfabric endpoint of a pair, or a bulk endpoint. 0 or negative. */
int pair_make_ep(struct pair_net *net, struct fi_info *info, bool bulk, struct fid_ep **out);
/* Creates one of the pair, or a bulk endpoint for NULL, and connects it. 0 or negative: the caller
 * closes *ep if it has been created. */
int pair_connect(struct pair_net *net, const struct pair *pair, const union dofi_addr *to,
		 uint8_t dscp, const uint8_t *token, struct fid_ep **ep);
/* A peer with a token for a pair of that DSCP connects; `param`: its description of itself. 0 or
 * negative. */
int pair_accept(struct pair_net *net, struct fi_info *info, const uint8_t *param, uint8_t dscp);
/* Parses the peer's description of itself. False: it is invalid. */
bool pair_parse_param(struct pair *pair, const uint8_t *param, size_t len);
/* Closes its endpoint; frees it. */
void pair_close_ep(struct pair *pair);
void pair_free(struct pair *pair);
void pair_free_all(struct pair_net *net);

/* pair_bulk.c. Caller holds net->lock. */
/* The passive side has sent this token. False: it is not used. */
bool pair_bulk_connect(struct pair_conn *conn, uint64_t first, uint64_t second);
/* The active side presents the token. 0 or negative. */
int pair_bulk_accept(struct pair_conn *conn, struct fi_info *info);
void pair_bulk_close(struct pair_conn *conn);
/* Handles an event of the event queue; false: it does not concern a bulk endpoint. */
bool pair_bulk_event(struct pair_net *net, struct fid *fid, uint32_t event, int err);
/* The endpoint has failed. */
void pair_bulk_down(struct pair_bulk *bulk, int err);
/* Data of the connection is lost. Caller holds ep->lock or net->lock. */
void pair_bulk_lost(struct pair_conn *conn, int err);
/* Transfers that libfabric still has complete later, and keep a reference. */
static inline void pair_bulk_put(struct pair_bulk *bulk)
{
	if (atomic_fetch_sub(&bulk->users, 1) == 1)
		free(bulk);
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

/* pair_send.c: operations of the transport. Caller holds ep->lock. */
/* Space for a packet with `want` bytes of payload; *space: bytes. */
struct msgep_frame *pair_reserve(struct msgep_ep *ep, int channel, size_t want, size_t *space);
/* The same for an announcement of long data, which other long data may carry. */
struct msgep_frame *pair_reserve_announcement(struct msgep_ep *ep, size_t want, size_t *space);
void pair_commit(struct msgep_ep *ep, int channel, struct msgep_frame *frame);
void pair_unreserve(struct msgep_ep *ep);

/* pair_recv.c */
static inline uint32_t pair_packet_size(const struct msgep_frame *f)
{
	return PAIR_HDR + pair_padded(f->len);
}

/* Checks packets, and converts their numbers. False: one is invalid. *news is set if a program may
 * wait for one of them. */
bool pair_check_all(uint8_t *at, const uint8_t *end, bool *news);
/* Processes or keeps the packets of this connection that follow `at`; returns the first byte after
 * them. Carried ones have no counts. Caller holds net->lock. */
const uint8_t *pair_dispatch(struct pair_conn *conn, const uint8_t *at, const uint8_t *end,
			     bool carried, struct msgep_cq_direct *direct);
/* Processes packets that have followed a transfer. Caller holds net->lock. */
void pair_recv_carried(struct pair_conn *conn, uint8_t *at, uint32_t len,
		       struct msgep_cq_direct *direct);
/* The poll processes the connection between these two. Caller holds ep->lock. */
static inline void pair_begin(struct pair_conn *conn, struct msgep_cq_direct *direct)
{
	conn->dispatching = true;
	conn->ep->cq_direct = direct;
}

static inline void pair_end(struct pair_conn *conn)
{
	conn->ep->cq_direct = NULL;
	conn->dispatching = false;
}

/* Processes what has arrived. msgep_proto_progress stops at a limit: the next poll continues,
 * whether or not anything arrives. */
static inline void pair_process(struct pair_conn *conn)
{
	if (msgep_proto_progress(conn->ep) && conn->queue[MSGEP_REQ].head)
		pair_touch(conn);
}

/* Applies a count reported by the peer; false: it exceeds what was sent. */
static inline bool pair_advance(_Atomic uint32_t *known, uint32_t count, uint32_t sent)
{
	uint32_t before = atomic_load_explicit(known, memory_order_relaxed);

	if (count - before > sent - before)
		return false;
	atomic_store_explicit(known, count, memory_order_release);
	return true;
}

const struct msgep_frame *pair_peek(struct msgep_ep *ep, int channel, const void **payload);
void pair_release(struct msgep_ep *ep, int channel);
void pair_queues_free(struct pair_conn *conn);

/* pair_transfer.c */
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
void pair_bulk_drop(struct pair_conn *conn);
/* Sends transfers for which GO has arrived, `most` of each connection. */
void pair_bulk_send_kept(struct pair_net *net, uint32_t most);
/* libfabric has sent or received the data, or returns the transfer with an error. */
void pair_bulk_completed(struct pair_net *net, struct pair_transfer *t, uint64_t len, int err,
			 struct msgep_cq_direct *direct);
void pair_transfers_free(struct pair_net *net);

/* pair_events.c */
/* Reads the event queue to its end. Caller holds net->lock. */
void pair_read_eq(struct pair_net *net);
/* Breaks the pairs whose hosts have vanished. */
void pair_check_hosts(struct msgep_domain *domain);

/* pair_poll.c */
/* Caller holds net->lock. */
unsigned int pair_poll(struct pair_net *net, struct msgep_cq_direct *direct);
void pair_progress(struct msgep_domain *domain, struct msgep_cq_direct *direct);
void pair_retry(struct msgep_domain *domain);
void pair_bulk_finish(struct msgep_domain *domain);

/* pair_reap.c: called once in DAPL_OFI_HALF_OPEN_MS. */
void pair_reap_strays(struct msgep_domain *domain);

/* pair_open.c */
int pair_find_inner(const struct dofi_fab *fab, struct fi_info **info);
int pair_open(struct msgep_domain *domain);
void pair_close(struct msgep_domain *domain);
/* Port of libfabric's listener for a peer that has reached `local`. */
uint16_t pair_port(const struct pair_net *net, const union dofi_addr *local);
int pair_wait_fds(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS]);
bool pair_may_sleep(struct msgep_domain *domain, bool used);
bool pair_busy(struct msgep_domain *domain);

#endif
