/* SPDX-License-Identifier: BSD-2-Clause */
/* Private interface of the connection manager.
 *
 * A source calls those above it in this list; cm_end.c calls cm_path_check.c, too. What cm_loop.c
 * does for those above it is called through pointers in struct msgep_cm.
 *
 *   cm_msg.c         message formats (authentication: proto/cm_secret.c)
 *   cm_text.c        peers and messages in log messages
 *   cm_object.c      state of connection objects: timers, lists, sockets, events
 *   cm_place.c       limits the attempts to one host that have not sent a request
 *   cm_peer_cred.c   decides whether to trust a local listener
 *   cm_route.c       sends over a connection of the transport instead of a socket
 *   cm_sock.c        unix and TCP sockets: names, sending and receiving with descriptors
 *   cm_life.c        creation and destruction of connection objects
 *   cm_params.c      connection parameters of the transports
 *   inbox.c          queues what a transport has received for the connection manager
 *   cm_end.c         ends established connections
 *   cm_stall.c       detects lost data on established connections
 *   cm_path_check.c  checks that data passes before a connection is established
 *   cm_request.c     requests: checking, reporting, refusing
 *   cm_half_open.c   sockets that have been accepted: limits, expiry
 *   cm_listen.c      listeners
 *   cm_dial.c        path to a service point: socket or route
 *   cm_client.c      the active side: request, answer, further attempts
 *   cm_route_recv.c  receives over routes
 *   cm_conn.c        the endpoint's calls, accepting, states of a connection object
 *   cm_loop.c        event loop: epoll set, timers
 *
 * A connection object (struct msgep_cm_conn) belongs to one event queue; eq->lock protects it. Once
 * the connection is up, ep->lock protects the fields marked (L) as well, because threads that poll
 * queues read the doorbell bytes.
 */
#ifndef DOFI_MSGEP_CM_INT_H
#define DOFI_MSGEP_CM_INT_H

#include "base/grace_timer.h"
#include "msgep/cm/cm.h"
#include "msgep/cm/cm_msg.h"

/* Limits of half-open connections: total; of one peer for a short time, because programs connect
 * many endpoints at once; of one peer for longer. Beyond them the oldest are closed. */
#define MSGEP_CM_HALF_OPEN_MAX 1024
#define MSGEP_CM_HALF_OPEN_BURST 512
#define MSGEP_CM_HALF_OPEN_PEER 64
#define MSGEP_CM_BURST_NS DOFI_MS(500)

struct msgep_cm_source {
	void (*ready)(struct msgep_cm_source *source, uint32_t events);
};

struct msgep_cm {
	struct msgep_eq *eq;
	int epfd; /* in eq->epfd; every socket and the timer are in it */
	int timerfd;
	struct msgep_cm_source timer;
	struct dofi_timers timers;
	struct dofi_timer stall; /* next check of connections that are up */
	uint64_t armed;          /* when timerfd expires */
	struct dofi_list listeners;
	struct dofi_list half_open; /* accepted, the request is not complete */
	unsigned int n_half_open;
	unsigned int evicted;        /* half-open connections evicted, not logged yet */
	uint64_t evict_log_at;       /* earliest time of the next log message about them */
	struct dofi_list hosts;      /* hosts to which attempts have or await a place */
	struct dofi_list conns;      /* all others */
	struct dofi_list ending;     /* subset of conns: the peer has ended, data remains */
	struct dofi_list dead;       /* freed when no fetched epoll event can refer to them */
	_Atomic bool retry_soon;     /* an endpoint has a doorbell pending, or a transport has
				       * requested a retry; any thread sets it */
	struct dofi_list inboxes;    /* inbox.c */
	unsigned int n_routed;       /* pending requests without a socket */
	struct msgep_secret *secret; /* NULL: none is configured */
	bool busy;                   /* epoll events are being processed */
	bool checking;               /* so are endpoints whose path has been checked */
	unsigned int first_rounds;   /* full rounds in which ends have waited for handshakes */
	struct msgep_domain *flush_domain; /* its routes are flushed after that */
	/* Of cm_loop.c: what a connection object does when its socket is ready, when its timer
	 * fires; handles the items of the domain's inbox. */
	void (*conn_ready)(struct msgep_cm_source *source, uint32_t events);
	void (*conn_fire)(struct dofi_timer *timer);
	void (*process_inbox)(struct msgep_cm *cm, struct msgep_domain *domain);
};

/* Places of one host: as many attempts to it may have a socket before they have sent a request.
 * While all are taken, further attempts wait. */
struct msgep_cm_host {
	struct dofi_list link;
	union dofi_addr addr;
	unsigned int taken;
	struct dofi_list waiting; /* in the order of their requests */
};

enum msgep_cm_state {
	MSGEP_CM_CONNECTING,      /* the socket is not connected yet */
	MSGEP_CM_HELLO_SENT,      /* HELLO is being sent, CHALLENGE expected */
	MSGEP_CM_REQUEST_SENT,    /* the request is being sent, the answer expected */
	MSGEP_CM_HALF_OPEN,       /* in cm->half_open */
	MSGEP_CM_REQUEST_PENDING, /* the request is complete, the consumer decides */
	MSGEP_CM_ACCEPT_SENT,     /* the acceptance is being sent */
	MSGEP_CM_PATH_CHECK,      /* parameters exchanged, checking that data passes */
	MSGEP_CM_LIVE,            /* the connection is up */
	MSGEP_CM_ENDING,          /* in cm->ending */
	MSGEP_CM_ENDED,           /* nothing more to report, the endpoint is still open */
	MSGEP_CM_LINGERING,       /* no endpoint: last bytes are being sent */
	MSGEP_CM_DEAD,
};

/* Message buffers, present while there is a socket or the connection is not up. */
struct msgep_cm_bufs {
	struct msgep_cm_reader in; /* (L) */
	size_t out_len, out_done;
	uint8_t out[MSGEP_CM_MAX];
	uint16_t param_len; /* of fi_connect, until the request is built; then of the
					   answer, until the connection is up */
	uint16_t counts_len, peer_counts_len;
	uint8_t param[MSGEP_CM_DATA];
	uint8_t counts[MSGEP_COUNTS_MAX], peer_counts[MSGEP_COUNTS_MAX];
	uint8_t nonces[2 * MSGEP_CM_NONCE];
};

struct msgep_cm_conn {
	struct fid handle; /* of a request */
	struct msgep_cm_source source;
	struct msgep_cm *cm;
	struct dofi_list link, end_link;
	struct msgep_cm_host *host;  /* client: where it has or awaits a place, or NULL */
	struct dofi_list place_link; /* in host->waiting */
	enum msgep_cm_state state;
	int fd;
	uint32_t watched;     /* events in cm->epfd, 0: not in it */
	unsigned int redials; /* client: attempts so far */
	struct dofi_timer timer;
	uint64_t started;
	const struct msgep_transport *transport;
	struct msgep_ep *ep;
	struct msgep_pep *pep; /* a request's listener; NULL: it has gone */
	union dofi_addr local, peer;
	int32_t pid;     /* the peer's (unix sockets) */
	bool accepted;   /* fi_accept has been called */
	bool active;     /* the client's end */
	bool challenged; /* CHALLENGE has been sent */
	uint8_t dscp;    /* of a request */
	/* connection of the transport that carries messages (cm_route.c); 0: the socket */
	uint64_t route;
	uint64_t peer_mark;          /* of a request: the client's end on the route */
	struct msgep_domain *domain; /* with a route */
	bool routed;                 /* counted in cm->n_routed */
	bool gone;                   /* the client has gone */
	bool bye_received;           /* (L) the peer's last message is in `in` */
	bool eof;                    /* (L) nothing more can be read */
	bool lost;                   /* data has been missing for too long */
	uint8_t resets;              /* client: attempts that were reset */
	int in_fd;                   /* received with the message, -1: none */
	int out_fd;                  /* to be passed and then closed, -1: none */
	struct msgep_cm_bufs *bufs;
	uint64_t path_check_since, next_probe; /* start of the check; interval to the next probe */
	uint64_t stalled_since;        /* work is pending and has made no progress since then */
	uint64_t missing_since;        /* the peer's counts show lost data since then; 0: no */
	struct dofi_grace_timer grace; /* while the report of the end is delayed */
	uint64_t owner_checked;        /* last probe for a process that has the peer's socket */
	uint64_t vanished_since;       /* since when no process has it, 0: not known */
};

/* One socket of a service point. */
struct msgep_cm_listener {
	struct msgep_cm_source source;
	struct msgep_cm *cm;
	struct msgep_pep *pep;
	const struct msgep_transport *transport;
	union dofi_addr addr; /* with the port, once it listens */
	struct dofi_list link, pep_link;
	struct dofi_timer timer; /* resumes accepting */
	int fd;
};

/* Sets the transport of a new connection, before the endpoint uses any. */
static inline void msgep_cm_set_transport(struct msgep_ep *ep,
					  const struct msgep_transport *transport)
{
	dofi_lock(&ep->lock);
	ep->transport = transport;
	dofi_unlock(&ep->lock);
}

/* cm_object.c */
/* Sets the timer of the epoll set. */
void msgep_cm_set_timer(struct msgep_cm *cm, uint64_t when);
void msgep_cm_arm(struct msgep_cm *cm, struct dofi_timer *t, uint64_t when);
/* Doorbells and the retries of inboxes are due in a millisecond. Caller need not hold eq->lock. */
void msgep_cm_retry_soon(struct msgep_cm *cm);
/* Changes the state; moves the object to the list of that state. */
void msgep_cm_state(struct msgep_cm_conn *conn, enum msgep_cm_state step);
void msgep_cm_set_ep_state(struct msgep_ep *ep, enum msgep_state state);
/* events 0: removes the socket from the epoll set. Negative: out of memory. */
int msgep_cm_watch(struct msgep_cm_conn *conn, uint32_t events);
/* Gives the socket up if the program has closed it: its number may be that of another file. */
void msgep_cm_disown_socket(struct msgep_cm_conn *conn);
/* Closes only the socket. A forked child may still have it open, so it is removed from the epoll
 * set and shut down explicitly. */
void msgep_cm_close_socket(struct msgep_cm_conn *conn);
/* Frees the buffers of a connection that is up and has a route instead of a socket. */
void msgep_cm_free_bufs(struct msgep_cm_conn *conn);
/* Closes the descriptor to be passed, which has been sent or is not needed. */
void msgep_cm_close_out_fd(struct msgep_cm_conn *conn);
/* Posts a request's event. False: no memory, logged. */
bool msgep_cm_post_request(struct msgep_cm *cm, const struct msgep_event *what, const void *data,
			   size_t len);
/* Allocates the events that the endpoint may need once it connects or accepts. 0 or -FI_ENOMEM. */
int msgep_cm_reserve(struct msgep_ep *ep);
void msgep_cm_unreserve(struct msgep_ep *ep);
/* Posts one of them. */
void msgep_cm_post(struct msgep_ep *ep, const struct msgep_event *what, const void *data,
		   size_t len);

/* cm_place.c */
/* 0: the attempt has a place; -EAGAIN: it awaits one, and its timer fires when it has got it. */
int msgep_cm_take_place(struct msgep_cm_conn *conn);
/* Passes the place to the next attempt that waits, or stops waiting. */
void msgep_cm_leave_place(struct msgep_cm_conn *conn);
bool msgep_cm_awaits_place(const struct msgep_cm_conn *conn);

/* cm_life.c */
/* Takes ownership of fd on success; no events are watched yet. NULL: no memory. */
struct msgep_cm_conn *msgep_cm_conn_new(struct msgep_cm *cm, int fd,
					const struct msgep_transport *transport,
					enum msgep_cm_state step);
/* Closes the socket, detaches the endpoint and frees the object. */
void msgep_cm_conn_free(struct msgep_cm_conn *conn);
/* Frees objects that have been closed while epoll events were being processed. */
void msgep_cm_free_dead(struct msgep_cm *cm);
/* Sends pending output, then closes the socket, after LINGER_MS at the latest. */
void msgep_cm_linger(struct msgep_cm_conn *conn);
/* Fails the endpoint's connect or accept. */
void msgep_cm_fail(struct msgep_cm_conn *conn, int err, const void *data, size_t len);
/* Removes the socket from the epoll sets of the completion queues. */
void msgep_cm_leave_queues(struct msgep_cm_conn *conn);

/* cm_params.c */
/* Adds this side's connection parameters to a message. */
int msgep_cm_add_params(struct msgep_cm_conn *conn, bool active, struct msgep_params *params,
			struct msgep_cm_msg *msg);
/* Passes the peer's connection parameters to the transport, which may keep the descriptor. */
int msgep_cm_set_peer_params(struct msgep_cm_conn *conn, bool active,
			     const struct msgep_cm_msg *msg);

/* How a listener on this host that is neither root's nor this user's proves its identity. */
enum msgep_cm_proof {
	MSGEP_CM_PROOF_NONE,
	MSGEP_CM_PROOF_PORT,   /* it owns the TCP port, too */
	MSGEP_CM_PROOF_SECRET, /* the handshake authenticates any user */
};

/* cm_peer_cred.c */
/* True if the listener to which the unix socket is connected may act for the address `to`. False:
 * the reason has been logged. */
bool msgep_cm_peer_trusted(int fd, const union dofi_addr *to, enum msgep_cm_proof proof);
/* Finds the owner of the TCP listener that a connect to `to` reaches. False: no listener on this
 * host, or several owners. */
bool msgep_cm_port_owner(const union dofi_addr *to, uid_t *uid);

/* cm_sock.c */
/* A socket that is being connected to `to` over the network; *done: it is connected. source:
 * address to bind to, or NULL. Negative errors are final. */
int msgep_cm_dial(const union dofi_addr *source, const union dofi_addr *to, uint8_t dscp,
		  bool *done);
/* The same to a listener on this host. qual: the service point's qualifier, which is in the unix
 * socket's name next to the port, or NULL. -EAGAIN: retry later; -EACCES: the listener is not
 * trusted. */
int msgep_cm_dial_local(const struct msgep_transport *transport, const union dofi_addr *to,
			const uint64_t *qual, enum msgep_cm_proof proof);
/* Returns a listening socket, with the port in addr, or a negative error. qual: as above. */
int msgep_cm_listen_at(const struct msgep_transport *transport, union dofi_addr *addr,
		       const uint64_t *qual);
/* 1: all of conn->out has been sent, by socket or route; 0: some remains; negative error. */
int msgep_cm_send(struct msgep_cm_conn *conn);
/* Reads a message. 1: complete; 0: not yet; negative: -EPIPE (end of the stream), -ECONNRESET,
 * -EINTR (more can be read), or another error. doorbells: the connection is up. */
int msgep_cm_recv(struct msgep_cm_conn *conn, bool doorbells);
/* Sends BUSY to a connecting client. */
void msgep_cm_send_busy(int fd, const struct msgep_transport *transport);
/* Writes the message to conn->out, sealed if a secret is configured (except HELLO). False: it
 * cannot be sealed. */
bool msgep_cm_pack(struct msgep_cm_conn *conn, struct msgep_cm_msg *msg);
/* Parses and verifies the complete message in conn->in: 0, an error of msgep_cm_parse, or -EACCES
 * (not sealed as required; logged). */
int msgep_cm_unpack(struct msgep_cm_conn *conn, struct msgep_cm_msg *msg);
/* Discards received data; false: end of the stream. */
bool msgep_cm_discard(int fd);
bool msgep_cm_same_peer(const struct msgep_cm_conn *a, const union dofi_addr *peer, int32_t pid);

/* cm_text.c */
/* Describes what conn->bufs->in contains; err: see msgep_cm_got_text. */
const char *msgep_cm_in_text(const struct msgep_cm_conn *conn, int err, char *text);
const char *msgep_cm_addr_text(const union dofi_addr *addr, char *buf, size_t room);
/* The peer in log messages: "10.0.0.7:4711", or "process 123" for a local client. */
#define MSGEP_CM_PEER_TEXT 64
const char *msgep_cm_peer_text(const struct msgep_cm_conn *conn, char *buf);

/* Path to a service point. */
struct msgep_cm_path {
	int fd;                /* -1: none */
	bool done;             /* the socket is connected */
	uint64_t route;        /* instead of a socket (cm_route.c) */
	union dofi_addr local; /* local address of the route */
};

/* cm_dial.c */
/* Finds the path to conn->peer and sets the endpoint's transport accordingly. 0; -EAGAIN: retry
 * later, or awaits a place; other errors are final. */
int msgep_cm_find_path(struct msgep_cm_conn *conn, struct msgep_cm_path *way);
/* Names the active end of a connection that has no port of its own. */
void msgep_cm_name_local(struct msgep_ep *ep, const union dofi_addr *to);

/* cm_route.c */
/* Sends to the peer of ep, or to the peer's connection `to`. */
bool msgep_cm_route_send(struct msgep_domain *domain, struct msgep_ep *ep, uint64_t route,
			 uint64_t to, enum msgep_cm_kind kind);
int msgep_cm_send_routed(struct msgep_cm_conn *conn);
/* The last message of a connection that is up. */
void msgep_cm_send_last(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg);
/* Flushes the messages passed to the domain's transport: at once, or at the end of a round. */
void msgep_cm_begin_flush(struct msgep_cm *cm, struct msgep_domain *domain);
/* Flushes those of cm->flush_domain. */
void msgep_cm_flush_routed(struct msgep_cm *cm);
/* Sends GONE for a connection that is dropped without another final message. */
void msgep_cm_send_gone(struct msgep_cm_conn *conn);
/* The connection is up: the passive side switches from the socket to the route, if any. */
void msgep_cm_move(struct msgep_cm_conn *conn);
/* The connection uses the route instead of its socket. */
void msgep_cm_use_route(struct msgep_cm_conn *conn, uint64_t route);
/* The client's end of a handshake on a socket is not up before MOVED has come by the route. */
static inline bool msgep_cm_awaits_moved(const struct msgep_cm_conn *conn)
{
	return conn->active && conn->transport->cm_send && !conn->route;
}
/* cm_route_recv.c */
void msgep_cm_process_inbox(struct msgep_cm *cm, struct msgep_domain *domain);

/* inbox.c */
void msgep_inbox_detach_all(struct msgep_cm *cm);
/* The time of the retries that have been requested has come. Caller holds eq->lock. */
void msgep_inbox_retry_all(struct msgep_cm *cm);

/* cm_listen.c */
void msgep_cm_listener_free(struct msgep_cm_listener *l);

/* cm_half_open.c */
/* A client has connected to the listener. Reads at once: usually the request has arrived. */
void msgep_cm_half_open_admit(struct msgep_cm_listener *l, int fd, const union dofi_addr *peer);
/* Timer of a half-open connection. */
void msgep_cm_half_open_tick(struct msgep_cm_conn *conn);

/* cm_request.c */
static inline struct msgep_cm_conn *msgep_cm_conn_of(struct fid *handle)
{
	return dofi_container(handle, struct msgep_cm_conn, handle);
}
/* The socket of a half-open connection is readable. */
void msgep_cm_half_open_ready(struct msgep_cm_conn *conn, uint32_t events);
/* Reports a complete request to the consumer. */
void msgep_cm_report_request(struct msgep_cm_conn *conn, const struct msgep_cm_msg *msg);
/* Sends BUSY for lack of memory or capacity: the client retries. */
void msgep_cm_refuse_busy(struct msgep_cm_conn *conn);
/* Sends REJECT and lets the socket linger. */
void msgep_cm_refuse(struct msgep_cm_conn *conn, const void *data, size_t len);

/* cm_conn.c */
static inline struct msgep_ep *msgep_cm_ep_of(struct fid_ep *fid)
{
	return dofi_container(fid, struct msgep_ep, fid);
}
void msgep_cm_conn_ready(struct msgep_cm_conn *conn, uint32_t events);
void msgep_cm_conn_tick(struct msgep_cm_conn *conn);

/* cm_client.c */
/* fi_connect. */
int msgep_cm_ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t len);
/* The socket is connected, or the attempt has failed. */
void msgep_cm_connecting_ready(struct msgep_cm_conn *conn);
/* Receives the answer to a request or to HELLO. */
void msgep_cm_answer_ready(struct msgep_cm_conn *conn, uint32_t events);
/* The answer to a request is in conn->in. again: BUSY, GONE or a lost route: retry the request. */
void msgep_cm_recv_answer(struct msgep_cm_conn *conn, bool again);
/* The delay before another attempt has passed. */
void msgep_cm_retry_connect(struct msgep_cm_conn *conn);

/* cm_path_check.c */
/* Both ends have each other's parameters: the connection is up when data passes. data: private data
 * of that event. */
void msgep_cm_check_path(struct msgep_cm_conn *conn, const void *data, size_t len);
void msgep_cm_path_tick(struct msgep_cm_conn *conn);
void msgep_cm_path_ready(struct msgep_cm_conn *conn);
/* Logs that the connection ends before data has passed. */
void msgep_cm_path_failed(const struct msgep_cm_conn *conn);
/* The transport has finished the check. */
void msgep_cm_path_checked(struct msgep_ep *ep);
/* Calls it for all endpoints whose check the transport has finished. */
void msgep_cm_process_checked(struct msgep_cm *cm);

/* cm_stall.c */
int msgep_cm_stall_init(struct msgep_cm *cm);
/* The connection is up. */
void msgep_cm_stall_start(struct msgep_cm_conn *conn);
/* The socket of a connection that is up is readable; a message is complete. */
void msgep_cm_live_ready(struct msgep_cm_conn *conn);
void msgep_cm_live_message(struct msgep_cm_conn *conn);

/* cm_end.c */
/* Gives the peer's BYE time if data has been lost (msgep_ep_data_lost). */
void msgep_cm_await_bye(struct msgep_cm_conn *conn);
/* ... which is over. */
void msgep_cm_await_bye_tick(struct msgep_cm_conn *conn);
/* The peer has ended the connection, or its stream. */
void msgep_cm_peer_end(struct msgep_cm_conn *conn);
/* The route has reported the end of the connection (bye: by BYE), or has ended. */
void msgep_cm_end_routed(struct msgep_cm_conn *conn, bool bye);
/* Ends a failed connection that has no socket whose end would signal that. */
void msgep_cm_abort_routed(struct msgep_cm_conn *conn);
/* Reports the end if that is possible now. */
void msgep_cm_try_end(struct msgep_cm_conn *conn);
/* Our end is going to close: reports to the transport if the peer has ended or died meanwhile. */
void msgep_cm_take_bye(struct msgep_cm_conn *conn);
/* Sends BYE and ends the local stream; no more frames are sent. */
void msgep_cm_send_bye(struct msgep_cm_conn *conn);

#endif
