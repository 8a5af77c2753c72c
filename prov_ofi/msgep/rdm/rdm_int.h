/* SPDX-License-Identifier: BSD-2-Clause */
/* Private interface of the transport over an RDM endpoint.
 *
 * A source calls those above it in this list:
 *
 *   rdm_timer.c        when to poll although nothing arrives
 *   rdm_end.c          breaks connections
 *   rdm_constrained.c  imitates a fabric that promises little, for tests
 *   rdm_packets.c      pools of packets, and the receives that are posted from them
 *   rdm_owed.c         what a connection owes its peer
 *   rdm_large.c        credits for large packets
 *   rdm_gap.c          packets that are missing while later ones have arrived
 *   rdm_send.c         sends packets
 *   rdm_probe.c        checks that packets pass, and what has been lost
 *   rdm_peers.c        peer addresses, table of connections
 *   rdm_recv.c         polls, checks and stores packets that arrive
 *   rdm_life.c         begin and end of a connection
 *   rdm_open.c         the adapter's libfabric objects
 *   rdm_ops.c          frames; operations of the transport
 *
 * Callers hold transport_lock, except where an endpoint or a domain is passed.
 */
#ifndef DOFI_MSGEP_RDM_INT_H
#define DOFI_MSGEP_RDM_INT_H

#include "msgep/rdm/rdm.h"

/* rdm_timer.c: arms the timer for the next time to poll. */
void rdm_set_timer(struct rdm_net *net);

/* rdm_end.c: the connection cannot continue; what has arrived is still processed. */
void rdm_break(struct rdm_conn *conn, int err);
/* The same after a protocol violation: no input from the peer is processed any more. */
void rdm_violate(struct rdm_conn *conn);

/* rdm_constrained.c */
bool rdm_constrained_requested(const struct dofi_fab *fab);
void rdm_constrained_hints(struct fi_info *hints);
void rdm_constrained_start(struct rdm_net *net);
/* Keeps a packet that has arrived. Returns one that arrives now instead, or NULL. */
struct rdm_packet *rdm_constrained_hold(struct rdm_net *net, struct rdm_packet *packet);
/* Once in a poll, then rdm_constrained_next until it returns NULL: those that arrive in it. */
void rdm_constrained_shuffle(struct rdm_net *net);
struct rdm_packet *rdm_constrained_next(struct rdm_net *net);
bool rdm_constrained_refuse(struct rdm_net *net);

/* rdm_packets.c */
int rdm_packets_add(struct rdm_net *net);
void rdm_packet_free(struct rdm_net *net, struct rdm_packet *packet);
/* Until rdm_packet_free; before a packet longer than register_above is posted. */
int rdm_register_fetched(struct rdm_net *net, struct rdm_packet *packet, uint32_t bytes,
			 uint64_t access);
/* A received packet has been consumed: its buffer is posted again, if it is needed. */
void rdm_packet_return(struct rdm_net *net, struct rdm_packet *packet);
/* The same for a packet that a connection held. */
void rdm_packet_release(struct rdm_conn *conn, struct rdm_packet *packet);
void rdm_post(struct rdm_net *net);
/* A large packet; NULL: all are in use. */
struct rdm_packet *rdm_large_pop(struct rdm_net *net);
/* Posts a receive for a large packet. False: not now. */
bool rdm_large_post_one(struct rdm_net *net);
/* Posts one for each granted credit. */
void rdm_large_post(struct rdm_net *net);
void rdm_packets_close_mrs(struct rdm_net *net);
void rdm_packets_free(struct rdm_net *net);

static inline struct rdm_packet *rdm_pop(struct rdm_net *net)
{
	struct rdm_packet *packet = net->pool;

	if (packet)
		net->pool = packet->next;
	return packet;
}

/* An ordinary packet to be filled. */
static inline struct rdm_packet *rdm_packet_get(struct rdm_conn *conn)
{
	struct rdm_packet *packet = rdm_pop(conn->net);

	DOFI_ASSERT_LOCKED(&conn->net->domain->transport_lock);
	if (!packet)
		return NULL;
	packet->state = RDM_PACKET_RESERVED;
	packet->conn = conn;
	packet->credit = false;
	atomic_fetch_add(&conn->taken, 1);
	return packet;
}

/* rdm_owed.c */
/* Queues the connection if a query or reply is due that no packet has carried. */
void rdm_list_owing(struct rdm_conn *conn);
bool rdm_conn_owes(const struct rdm_conn *conn);
/* Something that does not wait for a reply of the consumer. */
bool rdm_conn_owes_now(const struct rdm_conn *conn);
/* A credit packet has to be sent for a probe or its reply. */
bool rdm_probe_due(const struct rdm_conn *conn);

/* The arrival of messages is to be queried. */
static inline bool rdm_request_due(const struct rdm_conn *conn)
{
	return !conn->requesting_arrived && (int32_t)(conn->message_end - conn->confirmed) > 0 &&
	       (conn->ep || !(conn->peer_gone || conn->peer_closed));
}

/* Request packets that complete their messages for the sender: those that have arrived or, where
 * messages keep their order across endpoints, those that have been consumed. A closed end consumes
 * nothing more. */
static inline uint32_t rdm_delivered(const struct rdm_conn *conn)
{
	return conn->keep_order && conn->ep ? conn->returned[MSGEP_REQ] : conn->arrived;
}

/* Credits for large packets that the peer has, or that are in transit to it. */
static inline uint16_t rdm_large_outstanding(const struct rdm_large_credits *l)
{
	return (uint16_t)(l->peer_granted - l->received - l->peer_returned);
}

/* The peer is informed of credits at once if it has none, unless they are few, or as long as there
 * are consumed packets whose counts will carry them. */
static inline bool rdm_large_due(const struct rdm_conn *conn)
{
	const struct rdm_large_credits *l = &conn->large;
	uint16_t unreported = (uint16_t)(l->peer_granted - l->peer_reported);

	return l->return_due || l->revoke_due ||
	       (unreported && unreported == rdm_large_outstanding(l) &&
		(!l->held || unreported > l->held));
}

/* rdm_large.c */
/* Determines whether large packets are used, and their size. */
void rdm_large_init(struct rdm_net *net);
void rdm_large_init_conn(struct rdm_conn *conn);
/* A large packet to be filled. NULL: no credit, which is then requested, or no buffer. */
struct rdm_packet *rdm_large_get(struct rdm_conn *conn);
/* Grants credits to connections that request them, as far as there are buffers. */
void rdm_large_grant(struct rdm_net *net);
/* The connection may request credits now. */
void rdm_large_update(struct rdm_conn *conn);
void rdm_large_fill(struct rdm_conn *conn, struct rdm_hdr *hdr);
/* Processes the counts of a header; false: they are impossible. */
bool rdm_large_counts(struct rdm_conn *conn, const struct rdm_hdr *hdr);
/* A large packet has arrived; false: it had no credit. */
bool rdm_large_received(struct rdm_conn *conn);
/* True if a missing packet may be a large one. */
bool rdm_large_missing(const struct rdm_conn *conn);
/* settled: no further packet of the peer can arrive. */
void rdm_large_close(struct rdm_conn *conn, bool settled);

/* rdm_gap.c */
/* Sequence number of the first packet of a channel that has not arrived. */
uint32_t rdm_first_missing(struct rdm_conn *conn, int ch);
/* A packet has arrived before an earlier one. */
void rdm_record_gap(struct rdm_conn *conn, uint64_t now);
/* Breaks connections whose packets have been missing for too long. */
void rdm_check_gaps(struct rdm_net *net);

/* rdm_send.c */
void rdm_send(struct rdm_conn *conn, struct rdm_packet *packet, uint8_t channel, uint32_t seq,
	      uint32_t len);
void rdm_send_credit(struct rdm_conn *conn);
/* Sends one if half a window is owed and no other packet carries the counts. */
void rdm_credit_if_due(struct rdm_conn *conn);
/* The connection has been closed: sends its outstanding reply and query. */
void rdm_send_last(struct rdm_conn *conn);
enum rdm_owed {
	RDM_OWED_LARGE, /* only large-packet credits, which other connections wait for */
	RDM_OWED_IDLE,  /* a poll has found nothing: not what waits for a reply (msgep/reply.h) */
	RDM_OWED_ALL,
};
void rdm_send_owed(struct rdm_net *net, enum rdm_owed what);
void rdm_send_waiting(struct rdm_net *net);
/* A sent packet has completed. err: positive; the peer may not have received it. */
void rdm_sent(struct rdm_net *net, struct rdm_packet *packet, int err);

/* rdm_probe.c */
void rdm_probe(struct msgep_ep *ep);
bool rdm_path_ok(struct msgep_ep *ep);
size_t rdm_counts(struct msgep_ep *ep, uint8_t *out);
bool rdm_missing(struct msgep_ep *ep, const uint8_t *in, size_t len);
/* A credit packet, or one with a frame, has arrived. */
void rdm_probe_credit(struct rdm_conn *conn, const struct rdm_hdr *hdr);
void rdm_probe_frame(struct rdm_conn *conn);

/* rdm_peers.c */
int rdm_peer_get(struct rdm_net *net, const uint8_t *name, size_t len, struct rdm_peer **peer);
void rdm_peers_free(struct rdm_net *net);
/* A connection for ep, with packets for everything that both sides may send; NULL: no memory. */
struct rdm_conn *rdm_conn_get(struct rdm_net *net, struct msgep_ep *ep);
/* The endpoint has been closed; committed packets are still sent. */
void rdm_conn_close(struct rdm_conn *conn);
/* Frees closed connections for reuse: those with nothing outstanding, and those whose time limit
 * has passed. */
void rdm_conns_reap(struct rdm_net *net);
void rdm_conns_free(struct rdm_net *net);

/* rdm_recv.c */
void rdm_progress(struct msgep_domain *domain, struct msgep_cq_direct *direct);
/* Processes completions; 0: there were none, and nothing is delayed. */
unsigned int rdm_poll(struct rdm_net *net);
/* `count` packets of channel 0 have reached the peer; false: that is impossible. */
bool rdm_confirm(struct rdm_conn *conn, uint32_t count);
/* The peer has done `count` requests. */
void rdm_acknowledged(struct rdm_conn *conn, uint32_t count);

/* The endpoint has not processed all acknowledgements. */
static inline bool rdm_acks_arrived(struct rdm_conn *conn)
{
	return atomic_load(&conn->acked) !=
	       atomic_load_explicit(&conn->acked_processed, memory_order_relaxed);
}

/* rdm_life.c: operations of the transport. */
int rdm_get_params(struct msgep_ep *ep, bool active, struct msgep_params *out);
int rdm_set_peer_params(struct msgep_ep *ep, bool active, struct msgep_params *in);
void rdm_conn_end(struct msgep_ep *ep);
size_t rdm_finish(struct msgep_ep *ep, uint8_t *out);
void rdm_finished(struct msgep_ep *ep, const uint8_t *in, size_t len);
bool rdm_drained(struct msgep_ep *ep, bool died);

/* rdm_open.c */
int rdm_find_inner(const struct dofi_fab *fab, struct fi_info **info);
bool rdm_busy(struct msgep_domain *domain);
int rdm_open(struct msgep_domain *domain);
void rdm_close(struct msgep_domain *domain);
int rdm_wait_fds(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS]);
bool rdm_may_sleep(struct msgep_domain *domain, bool used);

#endif
