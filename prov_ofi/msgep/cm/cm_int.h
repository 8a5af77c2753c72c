/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the connection manager: sockets, their owners, and what moves them.
 *
 *   cm.c         the event queue's part: epoll set, timers, life of the socket objects
 *   cm_sock.c    unix and TCP sockets: names, sending and receiving with descriptors
 *   cm_listen.c  listeners, requests
 *   cm_dial.c    which socket, if any, leads to a service point
 *   cm_conn.c    the endpoint's operations: connecting, accepting, ending
 *   cm_path_check.c   what comes before a connection is up: does data pass?
 *   cm_stall.c   what comes after: does it still?
 *   cm_end.c     how a connection that was up ends
 *   cm_route.c   handshakes without a socket, over a connection of the transport's own
 *   cm_peer_cred.c   whether a local listener is believed
 *   cm_wire.c    the messages; cm_secret.c: what seals them
 *
 * A socket object (struct rdm_cm_conn) belongs to one event queue; eq->lock protects it. What is
 * marked (L) is ep->lock's as well once the connection is up, because those who poll queues read
 * the doorbell bytes.
 */
#ifndef DOFI_RDM_CM_INT_H
#define DOFI_RDM_CM_INT_H

#include "base/grace_timer.h"
#include "msgep/cm/cm.h"
#include "msgep/cm/cm_msg.h"

/* Handshakes whose first message is not complete: in all; of one peer, for a moment, because
 * programs connect many endpoints at once; of one peer for longer. Beyond that the oldest are
 * closed. */
#define RDM_CM_HALF_ALL 1024
#define RDM_CM_HALF_BURST 512
#define RDM_CM_HALF_PEER 64
#define RDM_CM_MOMENT DOFI_MS(500)

struct rdm_source {
	void (*ready)(struct rdm_source *source, uint32_t events);
};

struct rdm_cm {
	struct rdm_eq *eq;
	int epfd;			/* in eq->epfd; every socket and the timer are in it */
	int timerfd;
	struct rdm_source timer;
	struct dofi_timers timers;
	struct dofi_timer stall;	/* next look at connections that are up */
	size_t timer_users;
	uint64_t armed;			/* when timerfd goes off */
	struct dofi_list listeners;
	struct dofi_list half;		/* accepted, the request is not complete */
	unsigned int n_half;
	unsigned int evicted;		/* of them, not logged yet */
	uint64_t evict_log_at;		/* the next line about them: not before */
	unsigned int n_early;		/* of ours that have not asked yet */
	struct dofi_list conns;		/* all others */
	struct dofi_list ending;	/* of those: the peer has ended, data remains */
	struct dofi_list dead;		/* freed when nobody can have an event about them */
	_Atomic bool ring_again;	/* some endpoint owes its peer a ring; any thread sets it */
	struct dofi_list inboxes;	/* inbox.c */
	unsigned int n_routed;		/* requests without a socket that are not decided */
	struct rdm_secret *secret;	/* NULL: none is wanted */
	bool busy;			/* epoll's answer is being worked through */
	struct rdm_domain *told;	/* messages on its routes leave when that is done */
};

enum rdm_cm_step {
	RDM_CM_DIALLING,		/* the socket is not connected yet */
	RDM_CM_GREETING,		/* HELLO is on its way, CHALLENGE awaited */
	RDM_CM_ASKING,			/* the request is on its way, the answer awaited */
	RDM_CM_HALF,			/* in cm->half */
	RDM_CM_GIVEN,			/* the request is complete, the consumer decides */
	RDM_CM_ANSWERING,		/* the acceptance is on its way */
	RDM_CM_PROVING,			/* both know each other, and whether data passes is asked */
	RDM_CM_LIVE,			/* the connection is up */
	RDM_CM_ENDING,			/* in cm->ending */
	RDM_CM_ENDED,			/* nothing more to report, the endpoint is still open */
	RDM_CM_LINGERING,		/* no endpoint: last bytes are on their way */
	RDM_CM_DEAD,
};

/* Messages, as long as there is a socket, or the connection is not up. */
struct rdm_cm_bufs {
	struct rdm_cm_reader in;	/* (L) */
	size_t out_len, out_done;
	uint8_t out[RDM_CM_MAX];
	uint16_t param_len;		/* of fi_connect, until the request is built; then of the
					   answer, until the connection is up */
	uint16_t counts_len, peer_counts_len;
	uint8_t param[RDM_CM_DATA];
	uint8_t counts[RDM_COUNTS_MAX], peer_counts[RDM_COUNTS_MAX];
	uint8_t nonces[2 * RDM_CM_NONCE];
};

struct rdm_cm_conn {
	struct fid handle;		/* of a request */
	struct rdm_source source;
	struct rdm_cm *cm;
	struct dofi_list link, end_link;
	enum rdm_cm_step step;
	int fd;
	uint32_t watched;		/* events in cm->epfd, 0: not in it */
	struct dofi_timer timer;
	uint64_t began;
	const struct rdm_wire *wire;
	struct rdm_ep *ep;
	struct rdm_pep *pep;		/* a request's listener; NULL: it has gone */
	union dofi_addr local, peer;
	int32_t pid;			/* the peer's (unix sockets) */
	bool decided;			/* fi_accept has been called */
	bool active;			/* the client's end */
	bool challenged;		/* CHALLENGE has been sent */
	/* messages take a connection of the transport's (cm_route.c); 0: the socket */
	uint64_t route;
	uint64_t peer_mark;		/* of a request: the client's end there */
	struct rdm_domain *domain;	/* with a route */
	bool routed;			/* counted in cm->n_routed */
	bool gone;			/* the client has gone */
	unsigned int redials, resets;	/* the client's: tries so far, and those that were reset */
	bool bye;			/* (L) the peer's last message is in `in` */
	bool over;			/* (L) nothing more is to be read */
	int in_fd;			/* came with it, -1: none */
	int out_fd;			/* to be passed and then closed, -1: none */
	struct rdm_cm_bufs *bufs;
	uint64_t proving, again;	/* since when; time until the wire asks again */
	uint64_t still_since;		/* nothing has moved, and something waits, since then */
	uint64_t missing_since;		/* ... the peer's counts say that it was lost; 0: no */
	bool lost;			/* ... for too long */
	struct dofi_patience patience;	/* while the end is held back */
	uint64_t probed;		/* when it was asked who has the peer's socket */
	uint64_t gone_since;		/* when that was nobody, 0: never */
};

/* One socket of a service point. */
struct rdm_cm_listener {
	struct rdm_source source;
	struct rdm_cm *cm;
	struct rdm_pep *pep;
	const struct rdm_wire *wire;
	union dofi_addr addr;		/* with the port, once it listens */
	struct dofi_list link, pep_link;
	struct dofi_timer timer;	/* until it is looked at again */
	int fd;
};

/* The wire of a connection that is about to be made; the endpoint's is not in use so far. */
static inline void rdm_cm_choose(struct rdm_ep *ep, const struct rdm_wire *wire)
{
	rdm_lock(&ep->lock);
	ep->wire = wire;
	rdm_unlock(&ep->lock);
}

/* cm.c */
int rdm_cm_timer_init(struct rdm_cm *cm, struct dofi_timer *t, void (*fire)(struct dofi_timer *));
void rdm_cm_timer_fini(struct rdm_cm *cm, struct dofi_timer *t);
void rdm_cm_arm(struct rdm_cm *cm, struct dofi_timer *t, uint64_t when);
/* Takes over fd on success; watched for nothing. NULL: no memory. */
struct rdm_cm_conn *rdm_cm_conn_new(struct rdm_cm *cm, int fd, const struct rdm_wire *wire,
				    enum rdm_cm_step step);
/* Changes the step; keeps the object in the right list. */
void rdm_cm_step(struct rdm_cm_conn *conn, enum rdm_cm_step step);
/* events 0: not at all. Negative: out of memory. */
int rdm_cm_watch(struct rdm_cm_conn *conn, uint32_t events);
/* Closes the socket and forgets the object; the endpoint has none any more. */
void rdm_cm_kill(struct rdm_cm_conn *conn);
/* Only the socket: a child that was forked meanwhile keeps it open, so it leaves the epoll set by
 * itself, and the peer is told. */
void rdm_cm_close_socket(struct rdm_cm_conn *conn);
/* It is up, and has a route instead of a socket: there are no messages to be put together. */
void rdm_cm_free_bufs(struct rdm_cm_conn *conn);
/* The descriptor that goes with its message has gone, or is not needed. */
void rdm_cm_close_offered(struct rdm_cm_conn *conn);
/* What it has to send goes out, then the socket is closed, at the latest after a time. */
void rdm_cm_linger(struct rdm_cm_conn *conn);
/* Posts a request's event. False: no memory, which the log says. */
bool rdm_cm_post_request(struct rdm_cm *cm, const struct rdm_event *what, const void *data,
			 size_t len);
/* Allocates the events that the endpoint may need once it connects or accepts. 0 or -FI_ENOMEM. */
int rdm_cm_reserve(struct rdm_ep *ep);
void rdm_cm_unreserve(struct rdm_ep *ep);
/* Posts one of them. */
void rdm_cm_post(struct rdm_ep *ep, const struct rdm_event *what, const void *data, size_t len);

/* What a listener on this host that is neither root's nor this user's can prove itself by. */
enum rdm_cm_proof {
	RDM_CM_BY_NOTHING,
	RDM_CM_BY_PORT,			/* it owns the TCP port, too */
	RDM_CM_BY_SECRET,		/* the handshake proves it, whoever it is */
};

/* cm_peer_cred.c */
/* May the listener that the unix socket is connected to get what is meant for `to`? False: the log
 * says why. */
bool rdm_cm_believes(int fd, const union dofi_addr *to, enum rdm_cm_proof proof);
/* Who listens where a TCP connect to `to` leads. False: nobody on this host, or several users. */
bool rdm_cm_port_owner(const union dofi_addr *to, uid_t *uid);

/* cm_sock.c */
/* A socket that is being connected to `to` over the network; *done: it is connected. source:
 * address to bind to, or NULL. Negative errors are final. */
int rdm_cm_dial(const union dofi_addr *source, const union dofi_addr *to, bool *done);
/* The same to a listener on this host. qual: of the service point, which unix sockets are named after
 * beside the port, or NULL. -EAGAIN: to be tried again later; -EACCES: there is one, and it is not
 * believed. */
int rdm_cm_dial_local(const struct rdm_wire *wire, const union dofi_addr *to, const uint64_t *qual,
		      enum rdm_cm_proof proof);
/* A listening socket; addr gets the port. Negative error. qual: as above. */
int rdm_cm_listen_at(const struct rdm_wire *wire, union dofi_addr *addr, const uint64_t *qual);
/* TCP: no delay, and a peer that falls silent is noticed. */
void rdm_cm_tune(int fd);
/* 1: all of conn->out has gone, by the socket or the route; 0: some remains; negative error. */
int rdm_cm_send(struct rdm_cm_conn *conn);
/* Reads the message that is coming in: 1: complete; 0: not yet; negative: -EPIPE (the end of the
 * stream), -ECONNRESET, -EINTR (there is more to be read), or what is wrong. bells: the connection is up. */
int rdm_cm_recv(struct rdm_cm_conn *conn, bool bells);
/* Tells whoever is connecting that there is no room for it. */
void rdm_cm_send_busy(int fd, const struct rdm_wire *wire);
/* Writes the message to conn->out, sealed if a secret is wanted (and it is not HELLO). False: it
 * cannot be sealed. */
bool rdm_cm_pack(struct rdm_cm_conn *conn, struct rdm_cm_msg *msg);
/* The complete message in conn->in: 0, an error of rdm_cm_parse, or -EACCES (not sealed as it
 * should be, which the log says). */
int rdm_cm_unpack(struct rdm_cm_conn *conn, struct rdm_cm_msg *msg);
/* Throws away what has come in; false: the stream is at its end. */
bool rdm_cm_discard(int fd);
bool rdm_cm_same_peer(const struct rdm_cm_conn *a, const union dofi_addr *peer, int32_t pid);
const char *rdm_cm_addr_text(const union dofi_addr *addr, char *buf, size_t room);
/* Whom a log line is about: "10.0.0.7:4711", or "process 123" of a local client. */
#define RDM_CM_PEER_TEXT 64
const char *rdm_cm_peer_text(const struct rdm_cm_conn *conn, char *buf);

/* How a service point is reached. */
struct rdm_cm_way {
	int fd;				/* -1: none */
	bool done;			/* it is connected */
	uint64_t route;			/* instead of a socket (cm_route.c) */
	union dofi_addr local;		/* our address on that */
};

/* cm_dial.c */
/* The endpoint is on the wire that leads there from here on. since: of the first try. 0; -EAGAIN: to
 * be tried again later; other errors are final. */
int rdm_cm_reach(struct rdm_ep *ep, const union dofi_addr *to, uint64_t since,
		 struct rdm_cm_way *way);
/* Names the active end of a connection that has no port of its own. */
void rdm_cm_name_local(struct rdm_ep *ep, const union dofi_addr *to);

/* cm_route.c */
int rdm_cm_tell(struct rdm_cm_conn *conn);
/* The last message of a connection that is up. */
void rdm_cm_tell_last(struct rdm_cm_conn *conn, const struct rdm_cm_msg *msg);
/* Sends what was handed to the transport of cm->told. */
void rdm_cm_send_off(struct rdm_cm *cm);
/* The connection is given up where no other message says so. */
void rdm_cm_tell_gone(struct rdm_cm_conn *conn);
/* The connection is up: the passive side leaves the socket, if there is a route. */
void rdm_cm_move(struct rdm_cm_conn *conn);
/* The client's end of a handshake on a socket is not up before MOVED has come by the route. */
static inline bool rdm_cm_awaits_moved(const struct rdm_cm_conn *conn)
{
	return conn->active && conn->wire->tell && !conn->route;
}
/* The connection cannot go on, and has no socket that would tell. */
void rdm_cm_cut_routed(struct rdm_cm_conn *conn);
/* The domain is being closed: requests that came by its routes cannot be answered. */
void rdm_cm_forget_routes(struct rdm_cm *cm, const struct rdm_domain *domain);
void rdm_cm_take_items(struct rdm_cm *cm, struct rdm_domain *domain);
/* inbox.c */
void rdm_inbox_detach_all(struct rdm_cm *cm);

/* cm_listen.c */
/* A request is complete: the consumer decides. */
void rdm_cm_give(struct rdm_cm_conn *conn, const struct rdm_cm_msg *msg);
void rdm_cm_half_ready(struct rdm_cm_conn *conn, uint32_t events);
/* It has not asked for anything yet. */
void rdm_cm_half_tick(struct rdm_cm_conn *conn);
void rdm_cm_listener_free(struct rdm_cm_listener *l);
/* Sends REJECT and lets the socket linger. */
void rdm_cm_refuse(struct rdm_cm_conn *conn, const void *data, size_t len);

/* cm_conn.c */
/* The endpoint's attempt to connect is over, or its acceptance. */
void rdm_cm_fail(struct rdm_cm_conn *conn, int err, const void *data, size_t len);
void rdm_cm_conn_ready(struct rdm_cm_conn *conn, uint32_t events);
/* The answer to a request is in conn->in. again: it is none, the attempt begins again. */
void rdm_cm_take_answer(struct rdm_cm_conn *conn, bool again);
void rdm_cm_conn_tick(struct rdm_cm_conn *conn);

/* cm_path_check.c */
/* Both ends have each other's offers: the connection is up when data passes. data: what the event
 * brings then. */
void rdm_cm_prove(struct rdm_cm_conn *conn, const void *data, size_t len);
void rdm_cm_prove_tick(struct rdm_cm_conn *conn);
void rdm_cm_proving_ready(struct rdm_cm_conn *conn);
/* If it ends while that is not known, the log says so. */
void rdm_cm_unproved(const struct rdm_cm_conn *conn);
/* The wire knows. */
void rdm_cm_settled(struct rdm_ep *ep);

/* cm_stall.c */
int rdm_cm_stall_init(struct rdm_cm *cm);
/* The connection is up. */
void rdm_cm_stall_start(struct rdm_cm_conn *conn);
/* Something has come on the socket of a connection that is up; a message is complete. */
void rdm_cm_live_ready(struct rdm_cm_conn *conn);
void rdm_cm_live_message(struct rdm_cm_conn *conn);

/* cm_end.c */
/* The connection is up. */
void rdm_cm_live(struct rdm_cm_conn *conn, const void *data, size_t len);
/* The stream may have come to its end. */
void rdm_cm_peer_end(struct rdm_cm_conn *conn);
/* Asks whether the end can be reported now. */
void rdm_cm_try_end(struct rdm_cm_conn *conn);
/* BYE, end of our stream, no more frames. */
void rdm_cm_say_bye(struct rdm_cm_conn *conn);
/* Those who sleep on queues are not woken by this socket any more. */
void rdm_cm_leave_queues(struct rdm_cm_conn *conn);

#endif
