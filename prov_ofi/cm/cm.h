/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: service points, requests, connecting, accepting, disconnecting.
 *
 * Everything here belongs to ia->cm_lock; the functions whose comment does not say otherwise are
 * called with it held. Outcomes come from the fabric's event queue (cm/cm_events.c), which the
 * progress thread reads, and consumers that wait for connection events read too.
 */
#ifndef DOFI_CM_H
#define DOFI_CM_H

#include "object/ep.h"
#include "object/sp.h"

/* The TCP port that carries a qualifier; both sides compute it. */
uint16_t dofi_cm_port(DAT_CONN_QUAL qual);
/* The low 16 bits of a qualifier that came in on a port. */
uint16_t dofi_cm_low_qual(uint16_t port, bool moved);

/* True if it is a valid message of that kind; otherwise the reason is logged, with `peer` and its
 * port. */
int dofi_cm_check(const struct dofi_ia *ia, const union dofi_addr *peer, uint16_t port,
		  const void *data, size_t len, enum dofi_cm_kind kind, struct dofi_cm_msg *msg);

/* Timers that may be armed at any moment have their place reserved when their owner is made. */
int dofi_cm_timer_init(struct dofi_ia *ia, struct dofi_timer *t, void (*fire)(struct dofi_timer *));
void dofi_cm_timer_fini(struct dofi_ia *ia);
/* The timer of an endpoint's current step has expired. */
void dofi_cm_deadline(struct dofi_timer *timer);

/* What protects the connection messages of an adapter. */
static inline struct dofi_sealer dofi_sealer_of(const struct dofi_fab *fab)
{
	return (struct dofi_sealer){ .secret = fab->secret, .room = fab->desc->cm_data,
				     .max_priv = fab->max_priv };
}

/* Connections of the fabric (cm/conn.c) */
/* Makes the fabric endpoint for `ep` out of `info` and binds it to the EP's queues. If that fails
 * when the endpoint has taken over the request in info->handle, that is NULL afterwards. */
int dofi_conn_open(struct dofi_ep *ep, struct fi_info *info, struct dofi_conn **out);
/* What the EP shows as its address and port: of the connection, as far as the fabric knows. */
void dofi_conn_read_name(struct dofi_conn *conn);
/* The connection is established: queries its addresses. */
void dofi_conn_established(struct dofi_conn *conn);
/* Sets the number of RDMA reads that the peer serves at once (IRD). */
void dofi_conn_set_reads(struct dofi_conn *conn, unsigned int served);
/* The EP has no interest any more. After the call the fabric has none of its operations, and all
 * completions it gave are in the EP's queues; the connection is freed. */
void dofi_conn_detach(struct dofi_conn *conn);

/* Listeners (cm/cm_sp.c) */
struct dofi_sp *dofi_sp_find(struct dofi_listener *l, DAT_CONN_QUAL qual);
void dofi_listener_unref(struct dofi_listener *l);
void dofi_sp_destroy(struct dofi_sp *sp);

/* The connecting side where both ends must know a secret (cm/cm_sealed.c) */
/* The message of the attempt's next connection, HELLO or REQUEST, which say what msg says; 0: it
 * cannot be sealed. Nothing is posted to the connection of HELLO. */
size_t dofi_cm_build_sealed(uint8_t *buf, struct dofi_ep *ep, struct dofi_conn *conn,
			    const union dofi_addr *to, const struct dofi_cm_msg *msg);
/* An acceptance has come: 0, or negative if it is not one of the peer that is meant. */
int dofi_cm_check_sealed(struct dofi_ep *ep, const uint8_t *data, size_t len,
			 struct dofi_cm_msg *msg);
/* A rejection has come. True: the attempt goes on, or has been ended. */
bool dofi_cm_rejected_sealed(struct dofi_ep *ep, const uint8_t *data, size_t len);
/* HELLO has told the peer the conn_id of its connection: REQUEST's has the same. */
void dofi_cm_keep_conn_id(struct dofi_ep *ep, struct dofi_conn *conn);
/* The attempt is over between two of its connections. */
void dofi_cm_drop_conn_id(struct dofi_ep *ep);

/* Requests (cm/cm_cr.c) */
void dofi_cr_arrived(struct dofi_listener *l, struct fi_info *info, const void *data, size_t len);
/* The peer of a request; its port apart. */
void dofi_cm_read_peer(const struct fi_info *info, union dofi_addr *peer, uint16_t *port);
/* Refuses it, or forgets it if it was accepted, and destroys the CR. */
void dofi_cr_destroy(struct dofi_cr *cr, unsigned int reason);
void dofi_cm_refuse(struct dofi_listener *l, struct fi_info *info, unsigned int reason,
		    const void *priv, uint16_t priv_len);

/* Outcomes (cm/cm_events.c) */
/* The connection, or the attempt, is over: state, flushes, one event. */
void dofi_cm_end(struct dofi_ep *ep, DAT_EVENT_NUMBER number, bool by_us);
/* Its last part: the flushes and the event. */
void dofi_cm_conclude(struct dofi_ep *ep, DAT_EVENT_NUMBER number);
/* A completion with an error status ends the connection. */
void dofi_cm_break(struct dofi_ep *ep);
/* The fabric flushed operations but has not reported the end of the connection: unless it does
 * soon, the connection is broken. */
void dofi_cm_flushed(struct dofi_ep *ep);
/* The last request of a graceful disconnect has completed. */
void dofi_cm_drained(struct dofi_ep *ep);
/* The peer has no listener: makes another attempt after a delay. False: DAPL_OFI_CONNECT_RETRY_MS,
 * or the time limit of the call, does not allow one (cm/cm_connect.c). */
bool dofi_cm_retry_later(struct dofi_ep *ep);
/* The timer of an endpoint that connects: the next attempt, or the end of the time limit. */
void dofi_cm_connect_deadline(struct dofi_ep *ep);
/* A peer's rejection: its event and private data. */
DAT_EVENT_NUMBER dofi_cm_rejected(struct dofi_ep *ep, const struct dofi_cm_msg *msg);
/* Waits until the fabric has gone beyond what an attempt may fail at without saying which. */
void dofi_cm_await_route(struct dofi_ep *ep);
/* The adapter's device or address has gone: ends all connections and attempts. */
void dofi_cm_fail_all(struct dofi_ia *ia);
/* Reads the event queue to its end. */
void dofi_cm_read_events(struct dofi_ia *ia);
/* The same; caller holds no lock. Unless `block`, does nothing while another thread does this. */
void dofi_cm_progress(struct dofi_ia *ia, bool block);

/* 1.2 has no private data here. */
DAT_RETURN dofi_cr_refuse(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID priv);

#endif
