/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport over one RDM endpoint of libfabric, which carries the frames of all connections.
 *
 * A domain has one inner endpoint, completion queue and address vector. Everything travels in
 * packets: messages of limited size, each with a header that names the connection. Packets may
 * arrive in any order and more than once; a window per channel puts them in order. Long requests
 * and answers use large packets, which hold many times as much.
 *
 * A packet, numbers little-endian:
 *
 *   byte  0  u32  index of the connection at the receiver, from its parameters
 *         4  u32  generation of that index, from the parameters
 *         8  u64  token: random, from the parameters
 *        16  u32  sequence number in the channel, from 0; credit packets: 0 or, with
 *                 RDM_WANTS_ARRIVED, the number of packets of channel 0 whose arrival is queried
 *        20  u32  packets of channel 0 that the sender of this packet has consumed since the
 *                 connection began
 *        24  u32  the same for channel 1
 *        28  u8   channel; RDM_CREDIT: counts only, ends after byte 47
 *        29  u8   packets of channel 0 that have arrived in sequence and are not consumed yet
 *        30  u8   flags: RDM_WANTS_ARRIVED, RDM_REVOKES; in credit packets also RDM_PROBES,
 *                 RDM_PROBE_REPLY, RDM_CLOSES
 *        31  u8   zero
 *        32  u16  large-packet credits requested,
 *        34  u16  used
 *        36  u16  and returned by the sender of this packet;
 *        38  u16  those granted to its receiver; all counted from the beginning, modulo 65536
 *        40  u32  requests that want an acknowledgement (frame.h) and are done, counted from the
 *                 beginning
 *        44  u32  zero
 *        48       struct msgep_frame (40 bytes), then its payload
 *
 * At most the receiver's window of packets per channel is sent and not consumed. Counts only grow,
 * so packets that carry them may overtake each other. A credit packet is sent when half a window is
 * owed and no other packet carries the count.
 *
 * A message is complete for its sender when it is in the memory of the peer's process: it is then
 * received even if the sender dies or the fabric fails. So the last packet of a message requests
 * (RDM_WANTS_ARRIVED) the counts of bytes 20 and 29, unless a reply is outstanding. Any packet is a
 * reply; if none is sent, a credit packet is as soon as the sender is idle. The arrival of what was
 * sent while a reply was outstanding is queried by the next message, or by a credit packet.
 *
 * Acknowledgements travel the same way: any packet carries the count; if none is sent, a credit
 * packet is as soon as the sender is idle. So a write that is answered by a write, a message or
 * data costs one packet, not two. If the consumer's reply followed the last credit packet that was
 * sent for an acknowledgement or a reply to a query, the next ones wait for a reply, for
 * MSGEP_REPLY_POLLS polls that find nothing at most.
 *
 * A large packet has a sequence number and a place in the window like any other packet, but is a
 * tagged message (RDM_LARGE_TAG), so it matches a large buffer. There are few of these, shared by
 * all connections: each large packet needs a credit. A sender of a long request or answer requests
 * credits; they are granted when there are buffers, and last until they are used, or revoked
 * because other connections have none (RDM_REVOKES). Sending never waits for these credits: without
 * one, data goes in ordinary packets. See rdm_large.c.
 *
 * Before a connection is up, each side probes whether packets pass (RDM_PROBES) until it has a
 * reply (RDM_PROBE_REPLY). Between the probes nothing else is sent.
 *
 * So at most RDM_CREDIT_PACKETS credit packets are outstanding before the peer has to read one: two
 * for each channel's half windows; one query and one reply; one each that grants large-packet
 * credits to a connection without any, revokes them, and returns them; a probe and its reply; one
 * that closes. Those that acknowledge are a window at most: each reports the consumption of another
 * packet of channel 0, and the peer sends no more than a window of these before it reads one.
 *
 * A closed end replies to the peer's query, and queries the arrival of everything it has sent,
 * unless the peer has ended first. It waits for the reply, because closing a TCP socket while its
 * peer still sends resets the connection, and data that the peer has not read by then is lost. If
 * both ends are closed at about the same time, neither counts what arrives: each reports with its
 * last credit packet (RDM_CLOSES) that it is closed, unless it knows that the peer waits for
 * nothing, and the other one waits no longer.
 *
 * Connection parameters, numbers big-endian as in all messages of a handshake:
 *
 *   byte  0  u8   version, 7
 *         1  u8   length of the endpoint's name
 *         2  u16  window: packets per channel
 *         4  u32  size of a packet, including all headers
 *         8  u32  the same of a large packet; 0: not supported. The smaller of both sides counts
 *        12  u32  size up to which the provider copies messages, 0: unknown. Endpoints of rxm
 *                 cannot communicate if their limits differ
 *        16  u32  index, then u32 generation, u64 token
 *        32       name (fi_getname)
 *
 * The last message of a side: u32 number of packets sent in channel 0, u32 in channel 1, u32 number
 * of packets of channel 0 that have arrived in sequence, u32 number of requests done as in byte 40.
 *
 * Locks: the send and receive state of a connection belongs to ep->lock; the pool, the inner
 * objects, the table of connections and arrived packets belong to transport_lock. The window slots
 * and counters that both sides use are atomic: peek, release and ready take no lock.
 */
#ifndef DOFI_MSGEP_RDM_H
#define DOFI_MSGEP_RDM_H

#include <endian.h>
#include <rdma/fi_tagged.h>

#include "msgep/inner.h"
#include "msgep/msgep.h"
#include "msgep/reply.h"

#define RDM_VERSION 7
#define RDM_HDR 48
#define RDM_PACKET_HDR (RDM_HDR + MSGEP_FRAME_HDR)
#define RDM_CREDIT 0xff
#define RDM_WANTS_ARRIVED 0x01
#define RDM_REVOKES 0x02
#define RDM_PROBES 0x04
#define RDM_PROBE_REPLY 0x08
#define RDM_CLOSES 0x10
#define RDM_CREDIT_PACKETS 12
#define RDM_WINDOW_MAX 64
#define RDM_PACKET_MAX 65536
#define RDM_LARGE_TAG 1
/* Bytes of an adapter's buffers for large packets at most, receiving and sending. */
#define RDM_LARGE_BYTES (8u << 20)
#define RDM_LARGE_MAX (RDM_LARGE_BYTES / 2 + RDM_PACKET_HDR)
#define RDM_NAME_MAX 128
#define RDM_PARAMS_HDR 32
#define RDM_BYE 16
/* Packets of a connection beyond its send windows: one being filled per channel, one for
 * credits. */
#define RDM_TX_EXTRA 3
/* Time limits: for a missing packet (a large one is slow, is overtaken, and its sender may be
 * stopped), for the last packets of a closed connection, for these if the peer has ended, too, and
 * for the confirmation of their arrival. */
#define RDM_GAP_MS 5000
#define RDM_LARGE_GAP_MS 60000
#define RDM_LINGER_MS 2000
#define RDM_GONE_MS 200
#define RDM_CONFIRM_MS 1000
/* Longest tick for providers without a descriptor, and while packets wait to be sent. */
#define RDM_TICK_MS 1
/* A consumer's poll within this time of one that has received packets reads none: less than a
 * network message takes. */
#define RDM_FRESH_NS 5000
/* Shortest tick. */
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
	RDM_PACKET_POSTED,    /* posted as a receive */
	RDM_PACKET_RECEIVED,  /* in a window, or released and not returned yet */
	RDM_PACKET_RESERVED,  /* out of the pool, to be filled */
	RDM_PACKET_QUEUED,    /* committed; the fabric had no room */
	RDM_PACKET_SENDING,   /* posted as a send */
	RDM_PACKET_ABANDONED, /* given up with its connection while being sent */
};

struct rdm_packet {
	struct fi_context2 context; /* first: some providers use it as the operation's
				     * context */
	struct rdm_packet *next;
	struct rdm_conn *conn; /* of send packets */
	struct rdm_hdr *hdr;
	void *desc;
	struct fid_mr *mr; /* while it is posted, if it is fetched: rdm_net.register_above */
	uint32_t len;
	uint8_t state;
	bool credit, large;
};

/* Packets are allocated for connections and kept until the domain is closed. */
struct rdm_slab {
	struct rdm_slab *next;
	struct rdm_packet *packets;
	uint32_t count;
	void *memory;
	size_t bytes;
	struct fid_mr *mr;
};

/* Large-packet credits of a connection, in both directions; transport_lock. Counted from the
 * beginning, modulo 65536. */
struct rdm_large_credits {
	struct rdm_packet *filling[MSGEP_CHANNELS]; /* ep->lock */
	uint32_t sending;                           /* packets out of the pool, to be sent */
	uint16_t requested, used, returned;         /* our counts as a sender */
	uint16_t granted;                           /* the peer's grant to us */
	bool return_due;                            /* the peer does not know `returned` yet */

	uint16_t peer_requested, peer_used, peer_returned;
	uint16_t peer_granted, peer_reported; /* our grant, and what the peer knows of
					       * it */
	uint16_t received, held;              /* packets; held: not returned yet */
	bool revoke_due, revoked;
	struct dofi_list waiting_link; /* in net->large.waiting: it may be granted more */
	struct dofi_list unused_link;  /* in net->large.unused: it has unused credits */
};

/* Large packets of a domain. `promised` counts granted credits, including those of closed
 * connections. */
struct rdm_large {
	uint32_t size;  /* including all headers; 0: not supported */
	uint32_t limit; /* for receiving, and for sending */
	uint32_t packets, posted, held, sending, promised;
	bool post_full;
	bool report; /* a packet that carries credits is urgent */
	struct rdm_packet *pool;
	struct dofi_list waiting, unused; /* connections that wait, or use no credits, longest
					   * first */
	/* Credits of closed connections, whose packets may still arrive: two sets by age */
	uint32_t expiring[2];
	uint64_t expire_at;      /* 0: there is none */
	uint64_t revoke_at;      /* earliest time of the next revocation */
	uint64_t sent, received; /* for tests and the log */
};

struct rdm_peer {
	struct rdm_peer *next;
	fi_addr_t addr;
	uint32_t users;
	uint64_t refused;    /* the last round (net->rounds) in which it had no room */
	uint64_t idle_since; /* without users */
	uint8_t len;
	uint8_t name[RDM_NAME_MAX];
};
#define RDM_PEER_BUCKETS 256

/* One end of a connection. It is freed with its domain only, so a late access to it is safe. */
struct rdm_conn {
	struct rdm_net *net;
	struct msgep_ep *ep; /* NULL: closed */
	uint32_t index, generation;
	uint64_t token;
	struct dofi_list link;         /* net->unused or net->closed */
	uint64_t closed_at;            /* 0: not in net->closed */
	uint64_t all_sent_at;          /* start of the wait for the peer's confirmation; 0: none */
	_Atomic bool broken;           /* nothing can be sent any more */
	_Atomic bool violated;         /* ... and received packets are ignored */
	_Atomic bool peer_gone;        /* the peer has ended or died: it receives nothing any
					* more */
	_Atomic bool peer_died;        /* ... without its last message */
	_Atomic bool path_ok;          /* packets pass both ways */
	bool closing;                  /* the next credit packet reports that this end is closed */
	bool peer_closed;              /* the peer's end is */
	bool probing, probe_reply_due; /* the next credit packet probes; replies */

	/* the peer's parameters */
	_Atomic bool has_peer_params;
	struct rdm_peer *peer;
	uint32_t peer_index, peer_generation, peer_window, payload;
	uint32_t large_payload; /* 0: no large packets */
	uint64_t peer_token;

	/* sending */
	struct rdm_packet *filling[MSGEP_CHANNELS]; /* ep->lock */
	_Atomic uint32_t sent[MSGEP_CHANNELS], granted[MSGEP_CHANNELS];
	_Atomic bool wanted[MSGEP_CHANNELS]; /* a sender found no room */
	_Atomic uint32_t taken;              /* packets out of the pool, to be sent */
	struct rdm_packet *waiting, **waiting_end;
	struct dofi_list blocked; /* in net->blocked while packets wait */
	bool credit_sending, credit_owed;
	struct rdm_large_credits large;
	/* Of channel 0, counted from the beginning: packets known to have arrived; those up to the
	 * end of the last message; those whose arrival has been queried. */
	_Atomic uint32_t confirmed;
	uint32_t message_end, arrived_requested;
	bool requesting_arrived;
	/* Requests that the peer has done, and how many of these the endpoint has processed. */
	_Atomic uint32_t acked, acked_processed;

	/* receiving */
	_Atomic uint32_t expected[MSGEP_CHANNELS];
	uint32_t returned[MSGEP_CHANNELS], reported[MSGEP_CHANNELS];
	/* Of channel 0: packets that have arrived in sequence; the count last reported
	 * (rdm_delivered); the count that the peer queries */
	uint32_t arrived, arrived_reported, peer_wants_arrived;
	_Atomic uint32_t acks;    /* the peer's requests that are done, */
	uint32_t acks_reported;   /* and the count last reported */
	bool keep_order;          /* messages keep their order across endpoints */
	struct msgep_reply reply; /* which acknowledgements may wait for */
	struct dofi_list owe;     /* in net->owing: a credit packet may be due */
	struct rdm_packet *done;  /* ep->lock: released, not returned */
	struct dofi_list touch, gap;
	uint64_t gap_since;
	uint32_t gap_at[MSGEP_CHANNELS];

	/* the peer's last message */
	bool ended;
	uint32_t final[MSGEP_CHANNELS], end_at[MSGEP_CHANNELS];
	uint64_t end_since;

	_Atomic(struct rdm_packet *) slot[]; /* [channel * window + sequence % window] */
};

/* Packets that the constrained mode delays; see rdm_constrained.c. */
#define RDM_CONSTRAINED_MAX 32
struct rdm_constrained {
	bool on;
	uint64_t seed, state;
	uint32_t count, passed; /* passed: not delivered by this poll */
	struct rdm_packet *packet[RDM_CONSTRAINED_MAX];
	uint8_t age[RDM_CONSTRAINED_MAX];
};

struct rdm_net {
	struct msgep_domain *domain;
	struct msgep_inner inner;
	struct fid_av *av;
	struct fid_ep *ep;
	uint8_t name[RDM_NAME_MAX];
	size_t name_len;
	uint32_t window, packet_size;
	uint32_t copied; /* largest message that the provider copies rather than
			  * fetches (rendezvous); 0: unknown */
	bool register_packets;
	uint32_t register_above; /* longer packets are registered while they are posted;
				  * UINT32_MAX: none, see rdm_register_fetched */
	bool fd_may_miss;        /* the queue's descriptor may miss an arrival */
	int timer_fd;
	uint64_t timer_due; /* 0: not armed */
	bool received;      /* the current poll has received packets */
	/* Time of the last poll that did; 0: a poll of the consumer has followed. */
	_Atomic uint64_t received_at;
	bool found_any;    /* the last poll found something; see rdm_may_sleep */
	uint64_t found_at; /* time of the last poll that did; only without a
			     * descriptor */

	struct rdm_slab *slabs;
	struct rdm_packet *pool;
	uint32_t packets, posted, held, lost;
	uint32_t want_rx;         /* receives that all connections together may need */
	_Atomic uint32_t want_tx; /* changed under transport_lock; includes closed ones */
	uint32_t post_max;
	bool post_full; /* post no receives until one completes */

	struct rdm_conn **conns;
	uint32_t n_conns, conns_capacity;
	struct dofi_list unused, closed, blocked, gaps, touched, owing;
	uint64_t rounds;      /* in which waiting packets were sent */
	uint32_t owed_polls;  /* polls since something is owed, see rdm_poll */
	uint32_t empty_polls; /* polls that found nothing */
	uint64_t gap_check;
	struct rdm_peer *peers[RDM_PEER_BUCKETS];
	uint32_t idle_peers;
	struct rdm_large large;
	struct rdm_constrained constrained;
	/* rejected packets, and attempts to send waiting ones, for tests and the log */
	uint64_t dropped, late, repeated, retries;
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

/* The next packet in order, NULL: not arrived. Exact, even during a release in another thread. */
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

static inline bool rdm_has_credit(struct rdm_conn *conn, int ch)
{
	return atomic_load(&conn->sent[ch]) - atomic_load(&conn->granted[ch]) < conn->peer_window;
}

/* The endpoint is reported, and its threads are woken, at the end of the poll. Caller holds
 * transport_lock. */
static inline void rdm_touch_conn(struct rdm_conn *conn)
{
	if (dofi_list_empty(&conn->touch))
		dofi_list_append(&conn->net->touched, &conn->touch);
}

#endif
