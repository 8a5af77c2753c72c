/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: service points, requests, connecting, accepting, disconnecting.
 *
 * ia->cm_lock protects everything here; callers hold it unless a function's comment states
 * otherwise. Results come from the fabric's event queue (cm/cm_events.c), which the progress thread
 * reads, and consumers that wait for connection events.
 *
 * A source calls those above it in this list:
 *
 *   diag_cm.c            log messages
 *   establish.c          establishment of connections
 *   conn_open.c          one connection of the fabric
 *   cm_sp.c              service points
 *   amo_listen.c         listener and tokens of software atomic operations
 *   half_open.c          half-open handshakes: limits, expiry
 *   cm_parts_answer.c    answers in parts, stored
 *   cm_attempt.c         from one connection of an attempt to the next
 *   ep_life.c            creation and destruction of endpoints
 *   cm_ud_report.c       results of address exchanges
 *   cm_end.c             ends connections and attempts
 *   outage.c             loss of the device or its address
 *   cm_request.c         requests of the fabric and their CRs
 *   cm_hello.c           secret-protected handshake, passive side
 *   cm_sealed.c          the same, active side
 *   cm_parts_listener.c  messages in parts, passive side
 *   cm_parts_client.c    the same, active side
 *   cm_ud.c              address exchanges of datagram endpoints
 *   cm_arrive.c          requests are reported to service points
 *   cm_events.c          the fabric's events
 *   cm_connect.c, cm_disconnect.c, cm_cr.c, cm_accept.c
 *                        calls of the API
 */
#ifndef DOFI_CM_H
#define DOFI_CM_H

#include "object/ep.h"
#include "object/sp.h"
#include "object/ud.h"

/* The TCP port that carries a qualifier; both sides compute it. */
uint16_t dofi_cm_port(DAT_CONN_QUAL qual);
/* The low 16 bits of the qualifier of a request that arrived at a port. */
uint16_t dofi_cm_low_qual(uint16_t port, bool moved);

/* The EP of a timer (ep->timer). */
static inline struct dofi_ep *dofi_cm_timer_ep(struct dofi_timer *timer)
{
	struct dofi_ep *ep = dofi_container(timer, struct dofi_ep, timer);

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	return ep;
}

/* Starts the EP's timer for the step that the connection has reached. */
static inline void dofi_cm_arm_timer(struct dofi_ep *ep, uint64_t when,
				     void (*fire)(struct dofi_timer *))
{
	ep->timer.fire = fire;
	dofi_timer_arm(&ep->obj.ia->timers, &ep->timer, when);
}

/* Most private data of an acceptance in one message of the fabric. */
static inline size_t dofi_cm_one_priv(const struct dofi_fab *fab)
{
	return fab->desc->cm_data - fab->desc->cm_header - fab->amo_port_len;
}

/* The parameters of the secret-protected handshake of an adapter. */
static inline struct dofi_sealer dofi_sealer_of(const struct dofi_fab *fab)
{
	return (struct dofi_sealer){ .secret = fab->secret,
				     .max_len = fab->desc->cm_data,
				     .one_priv = dofi_cm_one_priv(fab),
				     .max_priv = fab->max_priv,
				     .amo_port_len = fab->amo_port_len };
}

/* Endpoints (cm/ep_life.c). `internal`: see dofi_obj_new_for. */
DAT_RETURN dofi_ep_make(struct dofi_ia *ia, const DAT_EP_ATTR *attr, struct dofi_srq *srq,
			bool internal, struct dofi_ep **out);
/* Sets or replaces the EVDs (NULL: none). Caller holds cm_lock and ep->lock, or the EP is
 * unpublished. */
void dofi_ep_set_evds(struct dofi_ep *ep, struct dofi_evd *recv, struct dofi_evd *req,
		      struct dofi_evd *conn);
/* Changes the size of a queue whose operations are all posted to no connection; -EBUSY: it has more
 * than `limit`. */
int dofi_queue_resize(struct dofi_queue *q, uint32_t limit, uint32_t iov);
/* Resets what belongs to one connection. Caller holds ep->lock, too, or the EP is unpublished. */
void dofi_ep_reset_fields(struct dofi_ep *ep);
/* Destroys the EP without an event. Caller has invalidated the handle. */
void dofi_ep_destroy(struct dofi_ep *ep);

/* Establishment (cm/establish.c) */
/* Sets the address and port that the EP reports: those of the connection if the fabric provides
 * them. */
void dofi_conn_read_name(struct dofi_conn *conn);
/* Pushes a connection event. `gate` (NULL: none): see dofi_evd_push_opening. */
void dofi_cm_push(struct dofi_ep *ep, DAT_EVENT_NUMBER number, _Atomic bool *gate);
/* The connection is up: ESTABLISHED, then the completions so far. */
void dofi_cm_establish(struct dofi_ep *ep);
/* Ends the wait of the EVD's CQ for an EP, whose event was read before or has not come in time;
 * `at_once`: also if there is time left. False: it still waits. */
bool dofi_cm_resume(struct dofi_evd *evd, bool at_once);

/* Connections of the fabric (cm/conn_open.c) */
/* Creates the fabric endpoint for `ep` from `info` and binds it to the EP's queues. If that fails
 * after the endpoint has taken over the request in info->handle, that is NULL. */
int dofi_conn_open(struct dofi_ep *ep, struct fi_info *info, struct dofi_conn **out);
/* Sets the number of RDMA reads that the peer serves concurrently (IRD). */
void dofi_conn_set_reads(struct dofi_conn *conn, unsigned int served);
/* Detaches the EP. Afterwards the fabric has none of its operations, all completions are in the
 * EP's queues, and the connection is freed. */
void dofi_conn_detach(struct dofi_conn *conn);

/* Connecting (cm/cm_connect.c) */
/* Arguments of a connect call. `timeout_arg` is the subtype that names the position of the time
 * limit; size and pointer of the private data follow it. */
struct dofi_connect_args {
	DAT_CONN_QUAL qual;
	DAT_TIMEOUT timeout;
	DAT_COUNT size;
	const void *priv;
	DAT_QOS qos;
	DAT_RETURN timeout_arg;
};

/* Checks all arguments but the address. No lock. */
DAT_RETURN dofi_cm_check_connect(const struct dofi_ia *ia, const struct dofi_connect_args *args);
/* Checks the address and begins to connect. The other arguments are valid. No lock. */
DAT_RETURN dofi_cm_connect(struct dofi_ep *ep, const struct sockaddr *peer,
			   const struct dofi_connect_args *args);

/* Listeners (cm/cm_sp.c) */
struct dofi_sp *dofi_sp_find(struct dofi_listener *l, DAT_CONN_QUAL qual);
void dofi_listener_unref(struct dofi_listener *l);
void dofi_sp_destroy(struct dofi_sp *sp);
/* The EP is destroyed: an RSP whose request has come may still refer to it. */
void dofi_sp_forget_ep(struct dofi_ep *ep);
/* The EVD of connection requests that a consumer names; NULL: not a valid one. No lock. */
struct dofi_evd *dofi_sp_cr_evd(struct dofi_ia *ia, DAT_EVD_HANDLE handle);
/* Locks cm_lock of the adapter of a service point and returns the adapter. NULL, with nothing
 * locked: another thread has freed it. */
struct dofi_ia *dofi_sp_lock(struct dofi_sp *sp);
/* The call that frees a service point; `subtype` names its kind of handle. No lock. */
DAT_RETURN dofi_sp_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type, DAT_RETURN subtype);
/* A CSP at the port of `addr`, or at any free one if that is 0. The arguments are valid. No
 * lock. */
DAT_RETURN dofi_sp_create_csp(struct dofi_ia *ia, const union dofi_addr *addr,
			      const struct dofi_comm *comm, struct dofi_evd *evd,
			      struct dofi_sp **out);

/* The active side of the secret-protected handshake (cm/cm_sealed.c) */
/* Builds the message of the attempt's next connection, HELLO or REQUEST, from msg; 0: it cannot be
 * sealed. Nothing is posted to the connection of HELLO. */
size_t dofi_cm_build_sealed(uint8_t *buf, struct dofi_ep *ep, struct dofi_conn *conn,
			    const union dofi_addr *to, const struct dofi_cm_msg *msg);
/* An acceptance has arrived: 0, or negative if the intended peer has not sent it. */
int dofi_cm_check_sealed(struct dofi_ep *ep, const uint8_t *data, size_t len,
			 struct dofi_cm_msg *msg);
/* A rejection has arrived. True: the attempt continues, or has been ended. */
bool dofi_cm_rejected_sealed(struct dofi_ep *ep, const uint8_t *data, size_t len);

/* Requests (cm/cm_request.c; the others: cm/cm_cr.h) */
/* Refuses it, or forgets it if it was accepted, and destroys the CR. */
void dofi_cr_destroy(struct dofi_cr *cr, unsigned int reason);
/* dat_cr_reject (cm/cm_cr.c); 1.2 has no private data here. No lock. */
DAT_RETURN dofi_cr_refuse(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID priv);

/* Results of address exchanges (cm/cm_ud_report.c) */
/* The exchange has ended with this event of a connection: reports it to the datagram endpoint. */
void dofi_ud_exchange_ended(struct dofi_ep *x, DAT_EVENT_NUMBER number);
/* Reports the peer's address. False: it is not an acceptance, or not a valid one. */
bool dofi_ud_take_answer(struct dofi_ep *x, const uint8_t *data, size_t len);
/* Allocates the address handle of the peer of a request; NULL: no memory. */
struct dofi_ah *dofi_ud_reserve(const struct dofi_cr *cr);
/* The answer to the request has been sent: reports the peer's address to the EP. */
void dofi_ud_accepted(struct dofi_ep *ep, struct dofi_ah *ah);

/* Address exchanges of datagram endpoints (cm/cm_ud.c) */
/* Creates the exchange that connects for the datagram endpoint; NULL: no memory. */
struct dofi_ep *dofi_ud_exchange(struct dofi_ep *ep);
/* The peer's listener has rejected the attempt. True: with the answer to an exchange, which is
 * over. */
bool dofi_ud_answered(struct dofi_ep *ep, const uint8_t *data, size_t len);
/* dat_ep_disconnect of a datagram endpoint: ends its exchanges and flushes its receives. */
DAT_RETURN dofi_ud_disconnect(struct dofi_ep *ep);
/* Why the service point cannot take the request, 0: it can. */
unsigned int dofi_ud_refusal(const struct dofi_sp *sp, const struct dofi_cm_msg *msg);

/* The end (cm/cm_end.c) */
/* The connection, or the attempt, is over: state, flushes, one event. */
void dofi_cm_end(struct dofi_ep *ep, DAT_EVENT_NUMBER number, bool by_us);
/* The same because of an error of the fabric. `data` (NULL: none): the message of a rejection. */
void dofi_cm_fail(struct dofi_ep *ep, int err, const uint8_t *data, size_t len);
/* The same for an EP whose acceptance has not led to a connection. */
void dofi_cm_accept_failed(struct dofi_ep *ep, const char *cause, bool by_us);
/* A completion with an error status ends the connection. */
void dofi_cm_break(struct dofi_ep *ep);
/* The fabric flushed operations but has not reported the end of the connection: unless it does
 * soon, the connection is broken. */
void dofi_cm_flushed(struct dofi_ep *ep);
/* The last request of a graceful disconnect has completed. */
void dofi_cm_drained(struct dofi_ep *ep);
/* A peer's rejection: its event and private data. */
DAT_EVENT_NUMBER dofi_cm_rejected(struct dofi_ep *ep, const struct dofi_cm_msg *msg);

/* From one connection of an attempt to the next (cm/cm_attempt.c). The timer of dat_ep_connect is
 * running; when it expires, the next connection begins. */
/* Delay between a refused connection and the next one; it doubles each time. */
#define DOFI_CM_RETRY_FIRST DOFI_MS(1)
/* The attempt begins again: it has exchanged no parts. */
void dofi_cm_forget_parts(struct dofi_ep *ep);
/* HELLO, or the first part, contains the conn_id of its connection: the others have the same. */
void dofi_cm_keep_conn_id(struct dofi_ep *ep, struct dofi_conn *conn);
/* The attempt ends between two of its connections. */
void dofi_cm_drop_conn_id(struct dofi_ep *ep);
/* Starts the next connection. `keep`: with the conn_id of the previous one. */
void dofi_cm_next_connection(struct dofi_ep *ep, bool keep);
/* The peer has no listener: another connection follows after a delay. False:
 * DAPL_OFI_CONNECT_RETRY_MS, or the time limit of the call, does not allow one. */
bool dofi_cm_retry_later(struct dofi_ep *ep);
/* The source port is taken: the attempt continues from another one after a delay. False: the time
 * limit of the call does not allow that. */
bool dofi_cm_change_port(struct dofi_ep *ep);

/* Events of the fabric (cm/cm_events.c) */
/* Waits until the fabric has resolved the routes of all attempts, whose failures do not identify
 * the attempt. */
void dofi_cm_await_route(struct dofi_ep *ep);
/* Reads the event queue to its end. */
void dofi_cm_read_events(struct dofi_ia *ia);
/* The same; caller holds no lock. Unless `block`, does nothing while another thread does this. */
void dofi_cm_progress(struct dofi_ia *ia, bool block);

#endif
