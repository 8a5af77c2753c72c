/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport over one RDM endpoint of libfabric, which carries the frames of all connections.
 *
 * A domain has one inner endpoint, completion queue and address vector. Everything travels in
 * packets: messages of at most a fixed size, each with a header that names the connection.
 * Packets may arrive in any order and more than once; a window per channel puts them in order.
 * There are ordinary packets and, for long requests and answers, large packets, which are much larger.
 *
 * A packet, numbers little-endian:
 *
 *   byte  0  u32  index of the connection at the receiver, as in its params
 *         4  u32  generation of that index, as in the params
 *         8  u64  token: random, as in the params
 *        16  u32  sequence number in the channel, from 0; credit packets: 0, or, if they ask, the
 *                 number of packets of channel 0 that they ask about
 *        20  u32  packets of channel 0 that the sender of this one has consumed since the beginning
 *        24  u32  the same for channel 1
 *        28  u8   channel; RDM_CREDIT: nothing but the counts, ends behind byte 47
 *        29  u8   packets of channel 0 that the sender has besides, in sequence, but not consumed
 *        30  u8   flags: RDM_WANTS_ARRIVED, RDM_REVOKES; in credit packets also RDM_PROBES, RDM_PROBE_REPLY
 *        31  u8   zero
 *        32  u16  large packets that the sender would like to send,
 *        34  u16  those that it has sent,
 *        36  u16  those that it has had leave for and does without,
 *        38  u16  those that the receiver of this one has leave for; all counted from the
 *                 beginning, modulo 65536
 *        40  u32  requests that want an acknowledgement (frame.h) and are done, counted from the
 *                 beginning
 *        44  u32  zero
 *        48       struct msgep_frame (40 bytes), then its payload
 *
 * Nobody has more than the other side's window of unconsumed packets per channel under way. Counts
 * only grow, so a lost race between two packets that bear them does no harm. Credit packets go when
 * half a window is owed and nothing else takes the count along.
 *
 * A message is complete for its sender when it is in the other process's memory: whatever becomes
 * of the sender, or of the fabric between the two, it is received then. For this the last packet of a
 * message asks (RDM_WANTS_ARRIVED) for the counts of bytes 20 and 29, unless an answer is awaited already.
 * Any packet answers; where none goes, a credit packet does as soon as nothing else is to be done. What
 * was sent while the answer was awaited is asked about by the next message, or by a credit packet.
 *
 * Acknowledgements travel the same way: any packet takes the count along; where none goes, a credit
 * packet does as soon as nothing else is to be done. So a write that is answered by a write, a message
 * or data costs one packet, not two.
 *
 * A large packet is a packet like any other, with a number in its channel and a place in the window, but
 * a message that is tagged (RDM_LARGE_TAG), so it finds a large buffer. There are few of these, and
 * they are for all connections: a large packet is sent only with leave. Who has a long request or
 * answer to send says how many large packets he would like; he is given leave when there are buffers,
 * and keeps it until he uses it, or is asked to give it back because others have none
 * (RDM_REVOKES). Nobody waits for leave: what has none goes in ordinary packets at once. See
 * rdm_large.c.
 *
 * Before a connection is up, each side asks whether packets pass (RDM_PROBES) until it has an answer
 * (RDM_PROBE_REPLY). While that is asked again nothing else is sent.
 *
 * So at most RDM_CREDIT_PACKETS credit packets can be under way before the peer has to read one: two
 * for each channel's half windows, one question, one answer, one each that gives leave to who
 * has none, recalls it, and gives it back, and one each that asks whether packets pass and answers it.
 * Those that acknowledge are a window at most: each tells of another packet of channel 0 that has been
 * consumed, and the peer sends no more than a window of these before it reads one.
 *
 * An end that is closed answers what it has been asked, and asks about all that it has sent, unless
 * the peer has ended before. The answer is waited for, because a TCP socket that is closed while
 * its peer still sends is reset, and what the peer has not read by then is lost.
 *
 * An params, numbers big-endian as in all messages of a handshake:
 *
 *   byte  0  u8   version, 6
 *         1  u8   length of the endpoint's name
 *         2  u16  window: packets per channel
 *         4  u32  size of a packet, all headers included
 *         8  u32  the same of a large packet; 0: there are none. The smaller of both sides counts
 *        12  u32  size up to which the provider copies messages, 0: it does not say. Endpoints of
 *                 rxm do not talk to others with another limit
 *        16  u32  index, then u32 generation, u64 token
 *        32       name (fi_getname)
 *
 * The last message of a side: u32 number of packets sent in channel 0, u32 in channel 1, u32 number
 * of packets of channel 0 that have reached it in sequence, u32 number of requests done as in byte 40.
 *
 * Locks: what a connection sends and takes belongs to ep->lock; the pool, the inner objects, the
 * table of connections and what arrives belong to transport_lock. Between the two, a window's slots
 * and the counters are atomic: peek, release and ready take no lock.
 */
#ifndef DOFI_MSGEP_RDM_H
#define DOFI_MSGEP_RDM_H

#include <endian.h>
#include <rdma/fi_tagged.h>

#include "msgep/msgep.h"

#define RDM_VERSION 6
#define RDM_HDR 48
#define RDM_PACKET_HDR (RDM_HDR + MSGEP_FRAME_HDR)
#define RDM_CREDIT 0xff
#define RDM_WANTS_ARRIVED 0x01
#define RDM_REVOKES 0x02
#define RDM_PROBES 0x04
#define RDM_PROBE_REPLY 0x08
#define RDM_CREDIT_PACKETS 11
#define RDM_WINDOW_MAX 64
#define RDM_PACKET_MAX 65536
#define RDM_LARGE_TAG 1
/* Bytes of buffers that receive large packets, and of those that send them, of an adapter at most. */
#define RDM_LARGE_BYTES (8u << 20)
#define RDM_LARGE_MAX (RDM_LARGE_BYTES / 2 + RDM_PACKET_HDR)
#define RDM_NAME_MAX 128
#define RDM_PARAMS_HDR 32
#define RDM_BYE 16
/* Packets that a connection sends beyond its windows: one being filled per channel, one credit. */
#define RDM_TX_EXTRA 3
/* A missing packet, and a closed connection's last ones, are waited for that long; so is the word
 * that these have arrived. A large packet takes its time and is overtaken, also while its sender is
 * stopped. */
#define RDM_GAP_MS 5000
#define RDM_LARGE_GAP_MS 60000
#define RDM_LINGER_MS 2000
#define RDM_CONFIRM_MS 1000
/* For providers without a descriptor, at most, and for packets that wait to be sent. */
#define RDM_TICK_MS 1
/* ... and at least. */
#define RDM_TICK_US 20

struct rdm_hdr {
	uint32_t index, generation;
	uint64_t token;
	uint32_t seq, consumed[MSGEP_CHANNELS];
	uint8_t channel, arrived, flags, zero;
	uint16_t requested, used, returned, granted;
	uint32_t done, zero_end;
};

enum rdm_packet_state {
	RDM_PACKET_FREE,
	RDM_PACKET_POSTED,	/* receives */
	RDM_PACKET_RECEIVED,	/* received, in a window or released and not returned yet */
	RDM_PACKET_RESERVED,	/* reserved */
	RDM_PACKET_QUEUED,	/* to be sent, the fabric had no room */
	RDM_PACKET_SENDING,	/* being sent */
	RDM_PACKET_ABANDONED,	/* its connection was given up while it was being sent */
};

struct rdm_packet {
	struct fi_context2 context;	/* first: some providers want it as the operation's */
	struct rdm_packet *next;
	struct rdm_conn *conn;		/* of packets that are sent */
	struct rdm_hdr *hdr;
	void *desc;
	uint32_t len;
	uint8_t state;
	bool credit, large;
};

/* Packets are made for a connection and kept until the domain is closed. */
struct rdm_slab {
	struct rdm_slab *next;
	struct rdm_packet *packets;
	uint32_t count;
	void *memory;
	size_t bytes;
	struct fid_mr *mr;
};

/* A connection's leave to send large packets, and what it has given the peer; transport_lock. Packets are
 * counted from the beginning, modulo 65536. */
struct rdm_large_credits {
	struct rdm_packet *filling[MSGEP_CHANNELS];	/* ep->lock */
	uint32_t sending;		/* packets out of the pool, to be sent */
	uint16_t requested, used, returned;	/* what we say, */
	uint16_t granted;			/* and what the peer has said */
	bool return_due;			/* it has to be told of `back` */

	uint16_t peer_requested, peer_used, peer_returned;
	uint16_t peer_granted, peer_reported;		/* leave, and what the peer knows of it */
	uint16_t received, held;		/* packets; held: not returned yet */
	bool revoke_due, revoked;
	struct dofi_list waiting_link;	/* in net->large.wanting: more leave would be given */
	struct dofi_list unused_link;	/* in net->large.holding: leave is given and not used */
};

/* Large packets of a domain. Promised are those that somebody has leave for, or had. */
struct rdm_large {
	uint32_t size;			/* all headers included; 0: there are none */
	uint32_t limit;			/* for receiving, and for sending */
	uint32_t packets, posted, held, sending, promised;
	bool post_full;
	bool report;			/* somebody who is owed a packet waits for it */
	struct rdm_packet *pool;
	struct dofi_list waiting, unused;	/* who has waited, or not used any, longest first */
	/* Leave of connections that are closed, whose packets may come yet: two parts by age */
	uint32_t expiring[2];
	uint64_t expire_at;		/* 0: there is none */
	uint64_t revoke_at;		/* not before */
	uint64_t sent, received;		/* for tests and the log */
};

struct rdm_peer {
	struct rdm_peer *next;
	fi_addr_t addr;
	uint32_t users;
	uint64_t idle_since;		/* without users */
	uint8_t len;
	uint8_t name[RDM_NAME_MAX];
};
#define RDM_PEER_BUCKETS 256

/* One end of a connection. It is never freed before its domain; so a late look at it is sound. */
struct rdm_conn {
	struct rdm_net *net;
	struct msgep_ep *ep;		/* NULL: closed */
	uint32_t index, generation;
	uint64_t token;
	struct dofi_list link;		/* net->unused or net->closed */
	uint64_t closed_at;		/* 0: not in net->closed */
	uint64_t all_sent_at;		/* the peer's word is awaited since then; 0: it is not */
	_Atomic bool broken;		/* nothing can be sent any more */
	_Atomic bool violated;		/* ... and what comes is not believed */
	_Atomic bool peer_gone;		/* the peer has ended, or died: it takes nothing any more */
	_Atomic bool path_ok;		/* packets pass both ways */
	bool probing, probe_reply_due;	/* the next credit packet asks for that, and answers */

	/* the peer's params */
	_Atomic bool has_peer_params;
	struct rdm_peer *peer;
	uint32_t peer_index, peer_generation, peer_window, payload;
	uint32_t large_payload;		/* 0: no large packets */
	uint64_t peer_token;

	/* sending */
	struct rdm_packet *filling[MSGEP_CHANNELS];	/* ep->lock */
	_Atomic uint32_t sent[MSGEP_CHANNELS], granted[MSGEP_CHANNELS];
	_Atomic bool wanted[MSGEP_CHANNELS];	/* somebody found no room */
	_Atomic uint32_t taken;			/* packets out of the pool, to be sent */
	struct rdm_packet *waiting, **waiting_end;
	struct dofi_list blocked;		/* in net->blocked while packets wait */
	bool credit_sending, credit_owed;
	struct rdm_large_credits large;
	/* Of channel 0, counted from the beginning: packets that are known to be at the peer; those
	 * up to the end of the last message; those that an answer is awaited for. */
	_Atomic uint32_t confirmed;
	uint32_t message_end, arrived_requested;
	bool requesting_arrived;
	/* Requests that the peer has done, and what of that the endpoint has taken. */
	_Atomic uint32_t acked, acked_taken;

	/* receiving */
	_Atomic uint32_t expected[MSGEP_CHANNELS];
	uint32_t returned[MSGEP_CHANNELS], reported[MSGEP_CHANNELS];
	/* Of channel 0: packets that have come in sequence; what the peer was told (rdm_delivered), and
	 * asks */
	uint32_t arrived, arrived_reported, peer_wants_arrived;
	_Atomic uint32_t acks;			/* the peer's requests that are done, */
	uint32_t acks_told;			/* and what it was told */
	bool keep_order;				/* messages keep their order across endpoints */
	struct dofi_list owe;			/* in net->owing: a credit packet may be due */
	struct rdm_packet *done;			/* ep->lock: released, not returned */
	bool touched;
	struct dofi_list touch, gap;
	uint64_t gap_since;
	uint32_t gap_at[MSGEP_CHANNELS];

	/* the peer's last message */
	bool ended;
	uint32_t final[MSGEP_CHANNELS], end_at[MSGEP_CHANNELS];
	uint64_t end_since;

	_Atomic(struct rdm_packet *) slot[];	/* [channel * window + sequence % window] */
};

/* What the constrained mode holds back; see rdm_constrained.c. */
#define RDM_CONSTRAINED_MAX 32
struct rdm_constrained {
	bool on;
	uint64_t seed, state;
	uint32_t count;
	struct rdm_packet *packet[RDM_CONSTRAINED_MAX];
	uint8_t age[RDM_CONSTRAINED_MAX];
};

struct rdm_net {
	struct msgep_domain *domain;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *inner;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	uint8_t name[RDM_NAME_MAX];
	size_t name_len;
	uint32_t window, packet_size;
	uint32_t copied;		/* bytes of a message that the provider copies, and
					   does not fetch, at most; 0: it does not say */
	bool register_packets;
	int cq_fd;			/* -1: the provider has none */
	int signal_fd;			/* see cq_signal.h; -1: cq_fd covers it */
	int timer_fd;
	uint64_t timer_due;		/* 0: not armed */
	bool found_any;			/* the last look found something; see rdm_may_sleep */
	uint64_t found_at;		/* when one did; only without a descriptor */

	struct rdm_slab *slabs;
	struct rdm_packet *pool;
	uint32_t packets, posted, held, lost;
	uint32_t want_rx;		/* what all connections together may need */
	_Atomic uint32_t want_tx;	/* changed under transport_lock; closed ones count, too */
	uint32_t post_max;
	bool post_full;			/* no more receives until one completes */

	struct rdm_conn **conns;
	uint32_t n_conns, conns_room;
	struct dofi_list unused, closed, blocked, gaps, touched, owing;
	uint32_t owed_looks;		/* looks since something is owed, see rdm_poll */
	uint64_t gap_check;
	struct rdm_peer *peers[RDM_PEER_BUCKETS];
	uint32_t idle_peers;
	struct rdm_large large;
	struct rdm_constrained constrained;
	/* what did not check out, for tests and the log */
	uint64_t dropped, late, repeated;
};

static inline struct rdm_net *rdm_net_of(struct msgep_domain *domain)
{
	return domain->transport_data;
}

static inline _Atomic(struct rdm_packet *) *rdm_slot(struct rdm_conn *conn, int ch, uint32_t seq)
{
	return &conn->slot[(uint32_t)ch * conn->net->window + seq % conn->net->window];
}

static inline struct msgep_frame *rdm_frame(struct rdm_packet *packet)
{
	return (struct msgep_frame *)(packet->hdr + 1);
}

/* The next packet in order, NULL: it has not come. Exact, also beside a release in another thread. */
static inline struct rdm_packet *rdm_next(struct rdm_conn *conn, int ch)
{
	uint32_t seq = atomic_load(&conn->expected[ch]), now;
	struct rdm_packet *packet;

	for (;; seq = now) {
		packet = atomic_load(rdm_slot(conn, ch, seq));
		now = atomic_load(&conn->expected[ch]);
		if (packet || now == seq)
			return packet;
	}
}

static inline uint32_t rdm_tx_limit(const struct rdm_conn *conn)
{
	return MSGEP_CHANNELS * conn->net->window + RDM_TX_EXTRA - 1;
}

static inline bool rdm_room(struct rdm_conn *conn, int ch)
{
	return atomic_load(&conn->sent[ch]) - atomic_load(&conn->granted[ch]) < conn->peer_window;
}

/* rdm.c: the connection cannot go on; transport_lock held. What has arrived is still taken. */
void rdm_break(struct rdm_conn *conn, int err);
/* The same, but the peer broke the rules: nothing that came from it is taken. */
void rdm_violate(struct rdm_conn *conn);

/* rdm_open.c */
int rdm_getinfo(struct dofi_fab *fab, struct fi_info **info);
bool rdm_busy(struct msgep_domain *domain);
int rdm_open(struct msgep_domain *domain);
void rdm_close(struct msgep_domain *domain);
int rdm_wait_fds(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS]);
bool rdm_may_sleep(struct msgep_domain *domain);
/* One of wait_fds becomes readable when it is time to look again; transport_lock held. */
void rdm_set_timer(struct rdm_net *net);

/* rdm_peers.c; transport_lock held. */
int rdm_peer_get(struct rdm_net *net, const uint8_t *name, size_t len, struct rdm_peer **peer);
void rdm_peer_put(struct rdm_net *net, struct rdm_peer *peer);
void rdm_peers_free(struct rdm_net *net);
/* A connection for ep, with packets for all that both sides may send; NULL: no memory. */
struct rdm_conn *rdm_conn_get(struct rdm_net *net, struct msgep_ep *ep);
/* The endpoint has gone; what has been committed still goes out. */
void rdm_conn_close(struct rdm_conn *conn);
/* Closed connections: those that have nothing under way can be used again, and those that have been
 * waited for long enough. */
void rdm_conns_reap(struct rdm_net *net);
void rdm_conns_free(struct rdm_net *net);

/* rdm_packets.c; transport_lock held. */
int rdm_packets_add(struct rdm_net *net);
/* One of that many bytes each, behind `lead` bytes; they get into *pool. */
int rdm_add_slab(struct rdm_net *net, uint32_t count, size_t bytes, size_t lead,
		 struct rdm_packet **pool);
struct rdm_packet *rdm_packet_get(struct rdm_conn *conn);
void rdm_packet_free(struct rdm_net *net, struct rdm_packet *packet);
/* A received packet has been used: its buffer receives again, if it is needed for that. */
void rdm_packet_return(struct rdm_net *net, struct rdm_packet *packet);
/* It was held by a connection. */
void rdm_packet_release(struct rdm_conn *conn, struct rdm_packet *packet);
void rdm_post(struct rdm_net *net);
void rdm_packets_close_mrs(struct rdm_net *net);
void rdm_packets_free(struct rdm_net *net);
void rdm_send(struct rdm_conn *conn, struct rdm_packet *packet, uint8_t channel, uint32_t seq,
	      uint32_t len);
void rdm_send_credit(struct rdm_conn *conn);
/* The peer asks, or is to be asked, and no packet has taken that along. */
void rdm_note_owing(struct rdm_conn *conn);
/* The connection has been closed: what it is asked about, and what it has to ask. */
void rdm_send_last(struct rdm_conn *conn);
/* urgent: only what is said about large packets, for which others wait. */
void rdm_send_owed(struct rdm_net *net, bool urgent);
void rdm_send_waiting(struct rdm_net *net);
void rdm_sent(struct rdm_net *net, struct rdm_packet *packet, int err);

/* rdm_large.c; transport_lock held. */
/* Are there large packets, and how large are they? */
void rdm_large_init(struct rdm_net *net);
void rdm_large_init_conn(struct rdm_conn *conn);
/* A large packet to be filled, or NULL: no leave, or no buffer; then leave is asked for. */
struct rdm_packet *rdm_large_take(struct rdm_conn *conn);
/* Buffers for all leave that was given. */
void rdm_large_post(struct rdm_net *net);
/* Gives leave to those who want it, as far as there are buffers. */
void rdm_large_grant(struct rdm_net *net);
/* The connection may want some now. */
void rdm_large_update(struct rdm_conn *conn);
void rdm_large_fill(struct rdm_conn *conn, struct rdm_hdr *hdr);
/* There is something about leave that the peer has to be told. */
bool rdm_large_due(const struct rdm_conn *conn);
/* What a header says; false: that is impossible. */
bool rdm_large_counts(struct rdm_conn *conn, const struct rdm_hdr *hdr);
/* A large packet has come; false: without leave. */
bool rdm_large_received(struct rdm_conn *conn);
/* May a missing packet be a large packet? */
bool rdm_large_missing(const struct rdm_conn *conn);
/* settled: none of the peer's can come any more. */
void rdm_large_close(struct rdm_conn *conn, bool settled);

/* rdm_probe.c */
void rdm_probe(struct msgep_ep *ep);
bool rdm_path_ok(struct msgep_ep *ep);
size_t rdm_counts(struct msgep_ep *ep, uint8_t *out);
bool rdm_missing(struct msgep_ep *ep, const uint8_t *in, size_t len);
/* transport_lock held: of a credit packet that is sent; has one to be sent for that? */
void rdm_probe_fill(struct rdm_conn *conn, struct rdm_hdr *hdr);
bool rdm_probe_due(const struct rdm_conn *conn);
/* A credit packet, or one with a frame, has come. */
void rdm_probe_credit(struct rdm_conn *conn, const struct rdm_hdr *hdr);
void rdm_probe_frame(struct rdm_conn *conn);

/* rdm_recv.c */
/* The number of the first packet of a channel that has not come; transport_lock held. */
uint32_t rdm_first_missing(struct rdm_conn *conn, int ch);
void rdm_progress(struct msgep_domain *domain, struct msgep_cq_direct *direct);
/* Reads what is there; 0: there was nothing, and nothing is held back. transport_lock held. */
unsigned int rdm_poll(struct rdm_net *net);
/* A packet is there; transport_lock held. */
void rdm_packet_arrived(struct rdm_net *net, struct rdm_packet *packet);
/* So many packets of channel 0 are at the peer; false: that is impossible. transport_lock held. */
bool rdm_confirm(struct rdm_conn *conn, uint32_t count);
/* So many requests are done there. transport_lock held. */
void rdm_acknowledged(struct rdm_conn *conn, uint32_t count);
/* Packets of requests that complete their messages for the sender: those that have come, or, where
 * messages keep their order across endpoints, those that have been consumed. Of a closed end
 * nothing more is consumed. */
static inline uint32_t rdm_delivered(const struct rdm_conn *conn)
{
	return conn->keep_order && conn->ep ? conn->returned[MSGEP_REQ] : conn->arrived;
}
void rdm_touch_conn(struct rdm_conn *conn);

/* rdm_constrained.c */
bool rdm_constrained_requested(const struct dofi_fab *fab);
void rdm_constrained_hints(struct fi_info *hints);
void rdm_constrained_start(struct rdm_net *net);
void rdm_constrained_hold(struct rdm_net *net, struct rdm_packet *packet);
void rdm_constrained_deliver(struct rdm_net *net);
bool rdm_constrained_refuse(struct rdm_net *net);

#endif
