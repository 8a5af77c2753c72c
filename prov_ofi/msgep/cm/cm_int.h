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
 *   cm_msg.c    the messages; cm_secret.c: what seals them
 *
 * A socket object (struct msgep_cm_conn) belongs to one event queue; eq->lock protects it. What is
 * marked (L) is ep->lock's as well once the connection is up, because those who poll queues read
 * the doorbell bytes.
 */
#ifndef DOFI_MSGEP_CM_INT_H
#define DOFI_MSGEP_CM_INT_H

#include "base/grace_timer.h"
#include "msgep/cm/cm.h"
#include "msgep/cm/cm_msg.h"

/* Handshakes whose first message is not complete: in all; of one peer, for a moment, because
 * programs connect many endpoints at once; of one peer for longer. Beyond that the oldest are
 * closed. */
#define MSGEP_CM_HALF_OPEN_MAX 1024
#define MSGEP_CM_HALF_OPEN_BURST 512
#define MSGEP_CM_HALF_OPEN_PEER 64
#define MSGEP_CM_BURST_NS DOFI_MS(500)

struct msgep_cm_source {
	void (*ready)(struct msgep_cm_source *source, uint32_t events);
};

struct msgep_cm {
	struct msgep_eq *eq;
	int epfd;			/* in eq->epfd; every socket and the timer are in it */
	int timerfd;
	struct msgep_cm_source timer;
	struct dofi_timers timers;
	struct dofi_timer stall;	/* next look at connections that are up */
	size_t timer_users;
	uint64_t armed;			/* when timerfd goes off */
	struct dofi_list listeners;
	struct dofi_list half_open;		/* accepted, the request is not complete */
	unsigned int n_half_open;
	unsigned int evicted;		/* of them, not logged yet */
	uint64_t evict_log_at;		/* the next line about them: not before */
	unsigned int n_early;		/* of ours that have not asked yet */
	struct dofi_list conns;		/* all others */
	struct dofi_list ending;	/* of those: the peer has ended, data remains */
	struct dofi_list dead;		/* freed when nobody can have an event about them */
	_Atomic bool retry_doorbells;	/* some endpoint owes its peer a ring; any thread sets it */
	struct dofi_list inboxes;	/* inbox.c */
	unsigned int n_routed;		/* requests without a socket that are not decided */
	struct msgep_secret *secret;	/* NULL: none is wanted */
	bool busy;			/* epoll's answer is being worked through */
	struct msgep_domain *flush_domain;	/* messages on its routes leave when that is done */
};

enum msgep_cm_state {
	MSGEP_CM_CONNECTING,		/* the socket is not connected yet */
	MSGEP_CM_HELLO_SENT,		/* HELLO is on its way, CHALLENGE awaited */
	MSGEP_CM_REQUEST_SENT,			/* the request is on its way, the answer awaited */
	MSGEP_CM_HALF_OPEN,			/* in cm->half */
	MSGEP_CM_REQUEST_PENDING,			/* the request is complete, the consumer decides */
	MSGEP_CM_ACCEPT_SENT,		/* the acceptance is on its way */
	MSGEP_CM_PATH_CHECK,			/* both know each other, and whether data passes is asked */
	MSGEP_CM_LIVE,			/* the connection is up */
	MSGEP_CM_ENDING,			/* in cm->ending */
	MSGEP_CM_ENDED,			/* nothing more to report, the endpoint is still open */
	MSGEP_CM_LINGERING,		/* no endpoint: last bytes are on their way */
	MSGEP_CM_DEAD,
};

/* Messages, as long as there is a socket, or the connection is not up. */
struct msgep_cm_bufs {
	struct msgep_cm_reader in;	/* (L) */
	size_t out_len, out_done;
	uint8_t out[MSGEP_CM_MAX];
	uint16_t param_len;		/* of fi_connect, until the request is built; then of the
					   answer, until the connection is up */
	uint16_t counts_len, peer_counts_len;
	uint8_t param[MSGEP_CM_DATA];
	uint8_t counts[MSGEP_COUNTS_MAX], peer_counts[MSGEP_COUNTS_MAX];
	uint8_t nonces[2 * MSGEP_CM_NONCE];
};

struct msgep_cm_conn {
	struct fid handle;		/* of a request */
	struct msgep_cm_source source;
	struct msgep_cm *cm;
	struct dofi_list link, end_link;
	enum msgep_cm_state state;
	int fd;
	uint32_t watched;		/* events in cm->epfd, 0: not in it */
	struct dofi_timer timer;
	uint64_t started;
	const struct msgep_transport *transport;
	struct msgep_ep *ep;
	struct msgep_pep *pep;		/* a request's listener; NULL: it has gone */
	union dofi_addr local, peer;
	int32_t pid;			/* the peer's (unix sockets) */
	bool accepted;			/* fi_accept has been called */
	bool active;			/* the client's end */
	bool challenged;		/* CHALLENGE has been sent */
	/* messages take a connection of the transport's (cm_route.c); 0: the socket */
	uint64_t route;
	uint64_t peer_mark;		/* of a request: the client's end there */
	struct msgep_domain *domain;	/* with a route */
	bool routed;			/* counted in cm->n_routed */
	bool gone;			/* the client has gone */
	unsigned int redials, resets;	/* the client's: tries so far, and those that were reset */
	bool bye_received;			/* (L) the peer's last message is in `in` */
	bool eof;			/* (L) nothing more is to be read */
	int in_fd;			/* came with it, -1: none */
	int out_fd;			/* to be passed and then closed, -1: none */
	struct msgep_cm_bufs *bufs;
	uint64_t path_check_since, next_probe;	/* since when; time until the transport asks again */
	uint64_t stalled_since;		/* nothing has moved, and something waits, since then */
	uint64_t missing_since;		/* ... the peer's counts say that it was lost; 0: no */
	bool lost;			/* ... for too long */
	struct dofi_grace_timer grace;	/* while the end is held back */
	uint64_t owner_checked;		/* when it was asked who has the peer's socket */
	uint64_t vanished_since;		/* when that was nobody, 0: never */
};

/* One socket of a service point. */
struct msgep_cm_listener {
	struct msgep_cm_source source;
	struct msgep_cm *cm;
	struct msgep_pep *pep;
	const struct msgep_transport *transport;
	union dofi_addr addr;		/* with the port, once it listens */
	struct dofi_list link, pep_link;
	struct dofi_timer timer;	/* until it is looked at again */
	int fd;
};

/* The transport of a connection that is about to be made; the endpoint's is not in use so far. */
static inline void msgep_cm_set_transport(struct msgep_ep *ep,
					  const struct msgep_transport *transport)
{
	msgep_lock(&ep->lock);
	ep->transport = transport;
	msgep_unlock(&ep->lock);
}

/* cm.c */
int msgep_cm_timer_init(struct msgep_cm *cm, struct dofi_timer *t,
			void (*fire)(struct dofi_timer *));
void msgep_cm_timer_fini(struct msgep_cm *cm, struct dofi_timer *t);
void msgep_cm_arm(struct msgep_cm *cm, struct dofi_timer *t, uint64_t when);
/* Takes over fd on success; watched for nothing. NULL: no memory. */
struct msgep_cm_conn *msgep_cm_conn_new(struct msgep_cm *cm, int fd,
					const struct msgep_transport *transport,
					enum msgep_cm_state step);
/* Changes the step; keeps the object in the right list. */
void msgep_cm_state(struct msgep_cm_conn *conn, enum msgep_cm_state step);
/* events 0: not at all. Negative: out of memory. */
int msgep_cm_watch(struct msgep_cm_conn *conn, uint32_t events);
/* Closes the socket and forgets the object; the endpoint has none any more. */
void msgep_cm_conn_free(struct msgep_cm_conn *conn);
/* Only the socket: a child that was forked meanwhile keeps it open, so it leaves the epoll set by
 * itself, and the peer is told. */
void msgep_cm_close_socket(struct msgep_cm_conn *conn);
/* It is up, and has a route instead of a socket: there are no messages to be put together. */
void msgep_cm_free_bufs(struct msgep_cm_conn *conn);
/* The descriptor that goes with its message has gone, or is not needed. */
void msgep_cm_close_offered(struct msgep_cm_conn *conn);
/* What it has to send goes out, then the socket is closed, at the latest after a time. */
void msgep_cm_linger(struct msgep_cm_conn *conn);
/* Posts a request's event. False: no memory, which the log says. */
bool msgep_cm_post_request(struct msgep_cm *cm, const struct msgep_event *what, const void *data,
			 size_t len);
/* Allocates the events that the endpoint may need once it connects or accepts. 0 or -FI_ENOMEM. */
int msgep_cm_reserve(struct msgep_ep *ep);
void msgep_cm_unreserve(struct msgep_ep *ep);
/* Posts one of them. */
void msgep_cm_post(struct msgep_ep *ep, const struct msgep_event *what, const void *data, size_t len);

/* What a listener on this host that is neither root's nor this user's can prove itself by. */
enum msgep_cm_proof {
	MSGEP_CM_PROOF_NONE,
	MSGEP_CM_PROOF_PORT,			/* it owns the TCP port, too */
	MSGEP_CM_PROOF_SECRET,		/* the handshake proves it, whoever it is */
};

/* cm_peer_cred.c */
/* May the listener that the unix socket is connected to get what is meant for `to`? False: the log
 * says why. */
bool msgep_cm_peer_trusted(int fd, const union dofi_addr *to, enum msgep_cm_proof proof);
/* Who listens where a TCP connect to `to` leads. False: nobody on this host, or several users. */
bool msgep_cm_port_owner(const union dofi_addr *to, uid_t *uid);

/* cm_sock.c */
/* A socket that is being connected to `to` over the network; *done: it is connected. source:
 * address to bind to, or NULL. Negative errors are final. */
int msgep_cm_dial(const union dofi_addr *source, const union dofi_addr *to, bool *done);
/* The same to a listener on this host. qual: of the service point, which unix sockets are named after
 * beside the port, or NULL. -EAGAIN: to be tried again later; -EACCES: there is one, and it is not
 * believed. */
int msgep_cm_dial_local(const struct msgep_transport *transport, const union dofi_addr *to,
			const uint64_t *qual, enum msgep_cm_proof proof);
/* A listening socket; addr gets the port. Negative error. qual: as above. */
int msgep_cm_listen_at(const struct msgep_transport *transport, union dofi_addr *addr,
		       const uint64_t *qual);
/* TCP: no delay, and a peer that falls silent is noticed. */
void msgep_cm_tune(int fd);
/* 1: all of conn->out has gone, by the socket or the route; 0: some remains; negative error. */
int msgep_cm_send(struct msgep_cm_conn *conn);
/* Reads the message that is coming in: 1: complete; 0: not yet; negative: -EPIPE (the end of the
 * stream), -ECONNRESET, -EINTR (there is more to be read), or what is wrong. doorbells: the connection is up. */
int msgep_cm_recv(struct msgep_cm_conn *conn, bool doorbells);
/* Tells whoever is connecting that there is no room for it. */
void msgep_cm_send_busy(int fd, const struct msgep_transport *transport);
/* Writes the message to conn->out, sealed if a secret is wanted (and it is not HELLO). False: it
 * cannot be sealed. */
bool msgep_cm_pack(struct msgep_cm_conn *conn, struct msgep_cm_msg *msg);
/* The complete message in conn->in: 0, an error of msgep_cm_parse, or -EACCES (not sealed as it
 * should be, which the log says). */
int msgep_cm_unpack(struct msgep_cm_conn *conn, struct msgep_cm_msg *msg);
/* Throws away what has come in; false: the stream is at its end. */
bool msgep_cm_discard(int fd);
bool msgep_cm_same_peer(const struct msgep_cm_conn *a, const union dofi_addr *peer, int32_t pid);
const char *msgep_cm_addr_text(const union dofi_addr *addr, char *buf, size_t room);
/* Whom a log line is about: "10.0.0.7:4711", or "process 123" of a local client. */
#define MSGEP_CM_PEER_TEXT 64
const char *msgep_cm_peer_text(const struct msgep_cm_conn *conn, char *buf);

/* How a service point is reached. */
struct msgep_cm_path {
	int fd;				/* -1: none */
	bool done;			/* it is connected */
	uint64_t route;			/* instead of a socket (cm_route.c) */
	union dofi_addr local;		/* our address on that */
};

/* cm_dial.c */
/* The endpoint is on the wire that leads there from here on. since: of the first try. 0; -EAGAIN: to
 * be tried again later; other errors are final. */
int msgep_cm_find_path(struct msgep_ep *ep, const union dofi_addr *to, uint64_t since,
		       struct msgep_cm_path *way);
/* Names the active end of a connection that has no port of its own. */
void msgep_cm_name_local(struct msgep_ep *ep, const union dofi_addr *to);

/* cm_route.c */
int msgep_cm_send_routed(struct msgep_cm_conn *conn);
/* The last message of a connection that is up. */
void msgep_cm_tell_last(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg);
/* Sends what was handed to the transport of cm->told. */
void msgep_cm_flush_routed(struct msgep_cm *cm);
/* The connection is given up where no other message says so. */
void msgep_cm_send_gone(struct msgep_cm_conn *conn);
/* The connection is up: the passive side leaves the socket, if there is a route. */
void msgep_cm_move(struct msgep_cm_conn *conn);
/* The client's end of a handshake on a socket is not up before MOVED has come by the route. */
static inline bool msgep_cm_awaits_moved(const struct msgep_cm_conn *conn)
{
	return conn->active && conn->transport->cm_send && !conn->route;
}
/* The connection cannot go on, and has no socket that would tell. */
void msgep_cm_abort_routed(struct msgep_cm_conn *conn);
/* The domain is being closed: requests that came by its routes cannot be answered. */
void msgep_cm_forget_routes(struct msgep_cm *cm, const struct msgep_domain *domain);
void msgep_cm_process_inbox(struct msgep_cm *cm, struct msgep_domain *domain);
/* inbox.c */
void msgep_inbox_detach_all(struct msgep_cm *cm);

/* cm_listen.c */
/* A request is complete: the consumer decides. */
void msgep_cm_report_request(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg);
void msgep_cm_half_open_ready(struct msgep_cm_conn *conn, uint32_t events);
/* It has not asked for anything yet. */
void msgep_cm_half_open_tick(struct msgep_cm_conn *conn);
void msgep_cm_listener_free(struct msgep_cm_listener *l);
/* Sends REJECT and lets the socket linger. */
void msgep_cm_refuse(struct msgep_cm_conn *conn, const void *data, size_t len);

/* cm_conn.c */
/* The endpoint's attempt to connect is over, or its acceptance. */
void msgep_cm_fail(struct msgep_cm_conn *conn, int err, const void *data, size_t len);
void msgep_cm_conn_ready(struct msgep_cm_conn *conn, uint32_t events);
/* The answer to a request is in conn->in. again: it is none, the attempt begins again. */
void msgep_cm_recv_answer(struct msgep_cm_conn *conn, bool again);
void msgep_cm_conn_tick(struct msgep_cm_conn *conn);

/* cm_path_check.c */
/* Both ends have each other's offers: the connection is up when data passes. data: what the event
 * brings then. */
void msgep_cm_check_path(struct msgep_cm_conn *conn, const void *data, size_t len);
void msgep_cm_path_tick(struct msgep_cm_conn *conn);
void msgep_cm_path_ready(struct msgep_cm_conn *conn);
/* If it ends while that is not known, the log says so. */
void msgep_cm_path_failed(const struct msgep_cm_conn *conn);
/* The transport knows. */
void msgep_cm_path_checked(struct msgep_ep *ep);

/* cm_stall.c */
int msgep_cm_stall_init(struct msgep_cm *cm);
/* The connection is up. */
void msgep_cm_stall_start(struct msgep_cm_conn *conn);
/* Something has come on the socket of a connection that is up; a message is complete. */
void msgep_cm_live_ready(struct msgep_cm_conn *conn);
void msgep_cm_live_message(struct msgep_cm_conn *conn);

/* cm_end.c */
/* The connection is up. */
void msgep_cm_live(struct msgep_cm_conn *conn, const void *data, size_t len);
/* The stream may have come to its end. */
void msgep_cm_peer_end(struct msgep_cm_conn *conn);
/* Asks whether the end can be reported now. */
void msgep_cm_try_end(struct msgep_cm_conn *conn);
/* BYE, end of our stream, no more frames. */
void msgep_cm_send_bye(struct msgep_cm_conn *conn);
/* Those who sleep on queues are not woken by this socket any more. */
void msgep_cm_leave_queues(struct msgep_cm_conn *conn);

#endif
