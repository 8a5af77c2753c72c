/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport over one RDM endpoint of libfabric, which carries the frames of all connections.
 *
 * A domain has one inner endpoint, completion queue and address vector. Everything travels in
 * cells: messages of at most a fixed size, each with a header that names the connection.
 * Cells may arrive in any order and more than once; a window per channel puts them in order.
 * There are ordinary cells and, for long requests and answers, bulk cells, which are much larger.
 *
 * A cell, numbers little-endian:
 *
 *   byte  0  u32  index of the connection at the receiver, as in its offer
 *         4  u32  generation of that index, as in the offer
 *         8  u64  token: random, as in the offer
 *        16  u32  sequence number in the channel, from 0; credit cells: 0, or, if they ask, the
 *                 number of cells of channel 0 that they ask about
 *        20  u32  cells of channel 0 that the sender of this one has consumed since the beginning
 *        24  u32  the same for channel 1
 *        28  u8   channel; WFAB_CREDIT: nothing but the counts, ends behind byte 47
 *        29  u8   cells of channel 0 that the sender has besides, in sequence, but not consumed
 *        30  u8   flags: WFAB_ASKS, WFAB_RECALLS; in credit cells also WFAB_PROBES, WFAB_HEARD
 *        31  u8   zero
 *        32  u16  bulk cells that the sender would like to send,
 *        34  u16  those that it has sent,
 *        36  u16  those that it has had leave for and does without,
 *        38  u16  those that the receiver of this one has leave for; all counted from the
 *                 beginning, modulo 65536
 *        40  u32  requests that want an acknowledgement (frame.h) and are done, counted from the
 *                 beginning
 *        44  u32  zero
 *        48       struct rdm_frame (40 bytes), then its payload
 *
 * Nobody has more than the other side's window of unconsumed cells per channel under way. Counts
 * only grow, so a lost race between two cells that bear them does no harm. Credit cells go when
 * half a window is owed and nothing else takes the count along.
 *
 * A message is complete for its sender when it is in the other process's memory: whatever becomes
 * of the sender, or of the fabric between the two, it is received then. For this the last cell of a
 * message asks (WFAB_ASKS) for the counts of bytes 20 and 29, unless an answer is awaited already.
 * Any cell answers; where none goes, a credit cell does as soon as nothing else is to be done. What
 * was sent while the answer was awaited is asked about by the next message, or by a credit cell.
 *
 * Acknowledgements travel the same way: any cell takes the count along; where none goes, a credit
 * cell does as soon as nothing else is to be done. So a write that is answered by a write, a message
 * or data costs one cell, not two.
 *
 * A bulk cell is a cell like any other, with a number in its channel and a place in the window, but
 * a message that is tagged (WFAB_BULK_TAG), so it finds a large buffer. There are few of these, and
 * they are for all connections: a bulk cell is sent only with leave. Who has a long request or
 * answer to send says how many bulk cells he would like; he is given leave when there are buffers,
 * and keeps it until he uses it, or is asked to give it back because others have none
 * (WFAB_RECALLS). Nobody waits for leave: what has none goes in ordinary cells at once. See
 * rdm_large.c.
 *
 * Before a connection is up, each side asks whether cells pass (WFAB_PROBES) until it has an answer
 * (WFAB_HEARD). While that is asked again nothing else is sent.
 *
 * So at most WFAB_CREDIT_CELLS credit cells can be under way before the peer has to read one: two
 * for each channel's half windows, one question, one answer, one each that gives leave to who
 * has none, recalls it, and gives it back, and one each that asks whether cells pass and answers it.
 * Those that acknowledge are a window at most: each tells of another cell of channel 0 that has been
 * consumed, and the peer sends no more than a window of these before it reads one.
 *
 * An end that is closed answers what it has been asked, and asks about all that it has sent, unless
 * the peer has ended before. The answer is waited for, because a TCP socket that is closed while
 * its peer still sends is reset, and what the peer has not read by then is lost.
 *
 * An offer, numbers big-endian as in all messages of a handshake:
 *
 *   byte  0  u8   version, 6
 *         1  u8   length of the endpoint's name
 *         2  u16  window: cells per channel
 *         4  u32  size of a cell, all headers included
 *         8  u32  the same of a bulk cell; 0: there are none. The smaller of both sides counts
 *        12  u32  size up to which the provider copies messages, 0: it does not say. Endpoints of
 *                 rxm do not talk to others with another limit
 *        16  u32  index, then u32 generation, u64 token
 *        32       name (fi_getname)
 *
 * The last message of a side: u32 number of cells sent in channel 0, u32 in channel 1, u32 number
 * of cells of channel 0 that have reached it in sequence, u32 number of requests done as in byte 40.
 *
 * Locks: what a connection sends and takes belongs to ep->lock; the pool, the inner objects, the
 * table of connections and what arrives belong to wire_lock. Between the two, a window's slots
 * and the counters are atomic: peek, release and ready take no lock.
 */
#ifndef DOFI_RDM_WIRE_FAB_H
#define DOFI_RDM_WIRE_FAB_H

#include <endian.h>
#include <rdma/fi_tagged.h>

#include "msgep/msgep.h"

#define WFAB_VERSION 6
#define WFAB_HDR 48
#define WFAB_CELL_HDR (WFAB_HDR + RDM_FRAME_HDR)
#define WFAB_CREDIT 0xff
#define WFAB_ASKS 0x01
#define WFAB_RECALLS 0x02
#define WFAB_PROBES 0x04
#define WFAB_HEARD 0x08
#define WFAB_CREDIT_CELLS 11
#define WFAB_WINDOW_MAX 64
#define WFAB_CELL_MAX 65536
#define WFAB_BULK_TAG 1
/* Bytes of buffers that receive bulk cells, and of those that send them, of an adapter at most. */
#define WFAB_BULK_BYTES (8u << 20)
#define WFAB_BULK_MAX (WFAB_BULK_BYTES / 2 + WFAB_CELL_HDR)
#define WFAB_NAME_MAX 128
#define WFAB_OFFER_HDR 32
#define WFAB_BYE 16
/* Cells that a connection sends beyond its windows: one being filled per channel, one credit. */
#define WFAB_TX_EXTRA 3
/* A missing cell, and a closed connection's last ones, are waited for that long; so is the word
 * that these have arrived. A bulk cell takes its time and is overtaken, also while its sender is
 * stopped. */
#define WFAB_GAP_MS 5000
#define WFAB_BULK_GAP_MS 60000
#define WFAB_LINGER_MS 2000
#define WFAB_CONFIRM_MS 1000
/* For providers without a descriptor, at most, and for cells that wait to be sent. */
#define WFAB_TICK_MS 1
/* ... and at least. */
#define WFAB_TICK_US 20

struct wfab_hdr {
	uint32_t index, generation;
	uint64_t token;
	uint32_t seq, consumed[RDM_CHANNELS];
	uint8_t channel, arrived, flags, zero;
	uint16_t wishes, used, back, leave;
	uint32_t done, zero_end;
};

enum wfab_use {
	WFAB_FREE,
	WFAB_POSTED,	/* receives */
	WFAB_HELD,	/* received, in a window or released and not returned yet */
	WFAB_FILLING,	/* reserved */
	WFAB_WAITING,	/* to be sent, the fabric had no room */
	WFAB_FLYING,	/* being sent */
	WFAB_LOST,	/* its connection was given up while it was being sent */
};

struct wfab_cell {
	struct fi_context2 context;	/* first: some providers want it as the operation's */
	struct wfab_cell *next;
	struct rdm_conn *conn;		/* of cells that are sent */
	struct wfab_hdr *hdr;
	void *desc;
	uint32_t len;
	uint8_t use;
	bool credit, bulk;
};

/* Cells are made for a connection and kept until the domain is closed. */
struct wfab_slab {
	struct wfab_slab *next;
	struct wfab_cell *cells;
	uint32_t count;
	void *memory;
	size_t bytes;
	struct fid_mr *mr;
};

/* A connection's leave to send bulk cells, and what it has given the peer; wire_lock. Cells are
 * counted from the beginning, modulo 65536. */
struct wfab_leave {
	struct wfab_cell *filling[RDM_CHANNELS];	/* ep->lock */
	uint32_t flying;		/* cells out of the pool, to be sent */
	uint16_t wishes, used, back;	/* what we say, */
	uint16_t leave;			/* and what the peer has said */
	bool back_due;			/* it has to be told of `back` */

	uint16_t peer_wishes, peer_used, peer_back;
	uint16_t given, told;		/* leave, and what the peer knows of it */
	uint16_t came, held;		/* cells; held: not returned yet */
	bool recall_due, recalled;
	struct dofi_list wanting;	/* in net->bulk.wanting: more leave would be given */
	struct dofi_list holding;	/* in net->bulk.holding: leave is given and not used */
};

/* Bulk cells of a domain. Promised are those that somebody has leave for, or had. */
struct wfab_bulk {
	uint32_t size;			/* all headers included; 0: there are none */
	uint32_t most;			/* for receiving, and for sending */
	uint32_t cells, posted, held, sending, promised;
	bool post_full;
	bool tell;			/* somebody who is owed a cell waits for it */
	struct wfab_cell *pool;
	struct dofi_list wanting, holding;	/* who has waited, or not used any, longest first */
	/* Leave of connections that are closed, whose cells may come yet: two parts by age */
	uint32_t lapsing[2];
	uint64_t lapse_at;		/* 0: there is none */
	uint64_t recall_at;		/* not before */
	uint64_t sent, came;		/* for tests and the log */
};

struct wfab_peer {
	struct wfab_peer *next;
	fi_addr_t addr;
	uint32_t users;
	uint64_t idle_since;		/* without users */
	uint8_t len;
	uint8_t name[WFAB_NAME_MAX];
};
#define WFAB_PEER_BUCKETS 256

/* One end of a connection. It is never freed before its domain; so a late look at it is sound. */
struct rdm_conn {
	struct wfab *net;
	struct rdm_ep *ep;		/* NULL: closed */
	uint32_t index, generation;
	uint64_t token;
	struct dofi_list link;		/* net->unused or net->closed */
	uint64_t closed_at;		/* 0: not in net->closed */
	uint64_t all_sent_at;		/* the peer's word is awaited since then; 0: it is not */
	_Atomic bool broken;		/* nothing can be sent any more */
	_Atomic bool violated;		/* ... and what comes is not believed */
	_Atomic bool deaf;		/* the peer has ended, or died: it takes nothing any more */
	_Atomic bool proven;		/* cells pass both ways */
	bool probing, hear_owed;	/* the next credit cell asks for that, and answers */

	/* the peer's offer */
	_Atomic bool adopted;
	struct wfab_peer *peer;
	uint32_t peer_index, peer_generation, peer_window, payload;
	uint32_t bulk_payload;		/* 0: no bulk cells */
	uint64_t peer_token;

	/* sending */
	struct wfab_cell *filling[RDM_CHANNELS];	/* ep->lock */
	_Atomic uint32_t sent[RDM_CHANNELS], granted[RDM_CHANNELS];
	_Atomic bool wanted[RDM_CHANNELS];	/* somebody found no room */
	_Atomic uint32_t taken;			/* cells out of the pool, to be sent */
	struct wfab_cell *waiting, **waiting_end;
	struct dofi_list blocked;		/* in net->blocked while cells wait */
	bool credit_flying, credit_owed;
	struct wfab_leave bulk;
	/* Of channel 0, counted from the beginning: cells that are known to be at the peer; those
	 * up to the end of the last message; those that an answer is awaited for. */
	_Atomic uint32_t confirmed;
	uint32_t message_end, asked;
	bool asking;
	/* Requests that the peer has done, and what of that the endpoint has taken. */
	_Atomic uint32_t acked, acked_taken;

	/* receiving */
	_Atomic uint32_t expected[RDM_CHANNELS];
	uint32_t returned[RDM_CHANNELS], told[RDM_CHANNELS];
	/* Of channel 0: cells that have come in sequence; what the peer was told (wfab_in_hand), and
	 * asks */
	uint32_t arrived, arrived_told, peer_asks;
	_Atomic uint32_t acks;			/* the peer's requests that are done, */
	uint32_t acks_told;			/* and what it was told */
	bool several;				/* messages keep their order across endpoints */
	struct dofi_list owe;			/* in net->owing: a credit cell may be due */
	struct wfab_cell *done;			/* ep->lock: released, not returned */
	bool touched;
	struct dofi_list touch, gap;
	uint64_t gap_since;
	uint32_t gap_at[RDM_CHANNELS];

	/* the peer's last message */
	bool ended;
	uint32_t final[RDM_CHANNELS], end_at[RDM_CHANNELS];
	uint64_t end_since;

	_Atomic(struct wfab_cell *) slot[];	/* [channel * window + sequence % window] */
};

/* What the constrained mode holds back; see rdm_constrained.c. */
#define WFAB_SHAKE_MAX 32
struct wfab_shake {
	bool on;
	uint64_t seed, state;
	uint32_t count;
	struct wfab_cell *cell[WFAB_SHAKE_MAX];
	uint8_t age[WFAB_SHAKE_MAX];
};

struct wfab {
	struct rdm_domain *domain;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *inner;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	uint8_t name[WFAB_NAME_MAX];
	size_t name_len;
	uint32_t window, cell_size;
	uint32_t copied;		/* bytes of a message that the provider copies, and
					   does not fetch, at most; 0: it does not say */
	bool register_cells;
	int cq_fd;			/* -1: the provider has none */
	int signal_fd;			/* see cq_signal.h; -1: cq_fd covers it */
	int timer_fd;
	uint64_t timer_due;		/* 0: not armed */
	bool fruitful;			/* the last look found something; see wfab_may_sleep */
	uint64_t fruit_at;		/* when one did; only without a descriptor */

	struct wfab_slab *slabs;
	struct wfab_cell *pool;
	uint32_t cells, posted, held, lost;
	uint32_t want_rx;		/* what all connections together may need */
	_Atomic uint32_t want_tx;	/* changed under wire_lock; closed ones count, too */
	uint32_t post_max;
	bool post_full;			/* no more receives until one completes */

	struct rdm_conn **conns;
	uint32_t n_conns, conns_room;
	struct dofi_list unused, closed, blocked, gaps, touched, owing;
	uint32_t owed_looks;		/* looks since something is owed, see wfab_poll */
	uint64_t gap_check;
	struct wfab_peer *peers[WFAB_PEER_BUCKETS];
	uint32_t idle_peers;
	struct wfab_bulk bulk;
	struct wfab_shake shake;
	/* what did not check out, for tests and the log */
	uint64_t dropped, late, repeated;
};

static inline struct wfab *wfab_of(struct rdm_domain *domain)
{
	return domain->wire;
}

static inline _Atomic(struct wfab_cell *) *wfab_slot(struct rdm_conn *conn, int ch, uint32_t seq)
{
	return &conn->slot[(uint32_t)ch * conn->net->window + seq % conn->net->window];
}

static inline struct rdm_frame *wfab_frame(struct wfab_cell *cell)
{
	return (struct rdm_frame *)(cell->hdr + 1);
}

/* The next cell in order, NULL: it has not come. Exact, also beside a release in another thread. */
static inline struct wfab_cell *wfab_next(struct rdm_conn *conn, int ch)
{
	uint32_t seq = atomic_load(&conn->expected[ch]), now;
	struct wfab_cell *cell;

	for (;; seq = now) {
		cell = atomic_load(wfab_slot(conn, ch, seq));
		now = atomic_load(&conn->expected[ch]);
		if (cell || now == seq)
			return cell;
	}
}

static inline uint32_t wfab_tx_limit(const struct rdm_conn *conn)
{
	return RDM_CHANNELS * conn->net->window + WFAB_TX_EXTRA - 1;
}

static inline bool wfab_room(struct rdm_conn *conn, int ch)
{
	return atomic_load(&conn->sent[ch]) - atomic_load(&conn->granted[ch]) < conn->peer_window;
}

/* rdm.c: the connection cannot go on; wire_lock held. What has arrived is still taken. */
void wfab_break(struct rdm_conn *conn, int err);
/* The same, but the peer broke the rules: nothing that came from it is taken. */
void wfab_violate(struct rdm_conn *conn);

/* rdm_open.c */
int wfab_getinfo(struct dofi_fab *fab, struct fi_info **info);
bool wfab_busy(struct rdm_domain *domain);
int wfab_open(struct rdm_domain *domain);
void wfab_close(struct rdm_domain *domain);
int wfab_wait_fds(struct rdm_domain *domain, int fd[RDM_WAIT_FDS]);
bool wfab_may_sleep(struct rdm_domain *domain);
/* One of wait_fds becomes readable when it is time to look again; wire_lock held. */
void wfab_set_timer(struct wfab *net);

/* rdm_peers.c; wire_lock held. */
int wfab_peer_get(struct wfab *net, const uint8_t *name, size_t len, struct wfab_peer **peer);
void wfab_peer_put(struct wfab *net, struct wfab_peer *peer);
void wfab_peers_free(struct wfab *net);
/* A connection for ep, with cells for all that both sides may send; NULL: no memory. */
struct rdm_conn *wfab_conn_get(struct wfab *net, struct rdm_ep *ep);
/* The endpoint has gone; what has been committed still goes out. */
void wfab_conn_close(struct rdm_conn *conn);
/* Closed connections: those that have nothing under way can be used again, and those that have been
 * waited for long enough. */
void wfab_conns_reap(struct wfab *net);
void wfab_conns_free(struct wfab *net);

/* rdm_packets.c; wire_lock held. */
int wfab_cells_add(struct wfab *net);
/* One of that many bytes each, behind `lead` bytes; they get into *pool. */
int wfab_add_slab(struct wfab *net, uint32_t count, size_t bytes, size_t lead,
		  struct wfab_cell **pool);
struct wfab_cell *wfab_cell_take(struct rdm_conn *conn);
void wfab_cell_free(struct wfab *net, struct wfab_cell *cell);
/* A received cell has been used: its buffer receives again, if it is needed for that. */
void wfab_cell_return(struct wfab *net, struct wfab_cell *cell);
/* It was held by a connection. */
void wfab_unhold(struct rdm_conn *conn, struct wfab_cell *cell);
void wfab_post(struct wfab *net);
void wfab_cells_close_mrs(struct wfab *net);
void wfab_cells_free(struct wfab *net);
void wfab_send(struct rdm_conn *conn, struct wfab_cell *cell, uint8_t channel, uint32_t seq,
	       uint32_t len);
void wfab_send_credit(struct rdm_conn *conn);
/* The peer asks, or is to be asked, and no cell has taken that along. */
void wfab_note_owing(struct rdm_conn *conn);
/* The connection has been closed: what it is asked about, and what it has to ask. */
void wfab_send_last(struct rdm_conn *conn);
/* urgent: only what is said about bulk cells, for which others wait. */
void wfab_send_owed(struct wfab *net, bool urgent);
void wfab_send_waiting(struct wfab *net);
void wfab_sent(struct wfab *net, struct wfab_cell *cell, int err);

/* rdm_large.c; wire_lock held. */
/* Are there bulk cells, and how large are they? */
void wfab_bulk_init(struct wfab *net);
void wfab_bulk_init_conn(struct rdm_conn *conn);
/* A bulk cell to be filled, or NULL: no leave, or no buffer; then leave is asked for. */
struct wfab_cell *wfab_bulk_take(struct rdm_conn *conn);
/* Buffers for all leave that was given. */
void wfab_bulk_post(struct wfab *net);
/* Gives leave to those who want it, as far as there are buffers. */
void wfab_bulk_give(struct wfab *net);
/* The connection may want some now. */
void wfab_bulk_note(struct rdm_conn *conn);
void wfab_bulk_fill(struct rdm_conn *conn, struct wfab_hdr *hdr);
/* There is something about leave that the peer has to be told. */
bool wfab_bulk_due(const struct rdm_conn *conn);
/* What a header says; false: that is impossible. */
bool wfab_bulk_counts(struct rdm_conn *conn, const struct wfab_hdr *hdr);
/* A bulk cell has come; false: without leave. */
bool wfab_bulk_came(struct rdm_conn *conn);
/* May a missing cell be a bulk cell? */
bool wfab_bulk_missing(const struct rdm_conn *conn);
/* settled: none of the peer's can come any more. */
void wfab_bulk_close(struct rdm_conn *conn, bool settled);

/* rdm_probe.c */
void wfab_probe(struct rdm_ep *ep);
bool wfab_proven(struct rdm_ep *ep);
size_t wfab_counts(struct rdm_ep *ep, uint8_t *out);
bool wfab_missing(struct rdm_ep *ep, const uint8_t *in, size_t len);
/* wire_lock held: of a credit cell that is sent; has one to be sent for that? */
void wfab_probe_fill(struct rdm_conn *conn, struct wfab_hdr *hdr);
bool wfab_probe_due(const struct rdm_conn *conn);
/* A credit cell, or one with a frame, has come. */
void wfab_probe_credit(struct rdm_conn *conn, const struct wfab_hdr *hdr);
void wfab_probe_frame(struct rdm_conn *conn);

/* rdm_recv.c */
/* The number of the first cell of a channel that has not come; wire_lock held. */
uint32_t wfab_first_missing(struct rdm_conn *conn, int ch);
void wfab_progress(struct rdm_domain *domain, struct rdm_sink *sink);
/* Reads what is there; 0: there was nothing, and nothing is held back. wire_lock held. */
unsigned int wfab_poll(struct wfab *net);
/* A cell is there; wire_lock held. */
void wfab_arrive(struct wfab *net, struct wfab_cell *cell);
/* So many cells of channel 0 are at the peer; false: that is impossible. wire_lock held. */
bool wfab_confirm(struct rdm_conn *conn, uint32_t count);
/* So many requests are done there. wire_lock held. */
void wfab_acknowledged(struct rdm_conn *conn, uint32_t count);
/* Cells of requests that complete their messages for the sender: those that have come, or, where
 * messages keep their order across endpoints, those that have been consumed. Of a closed end
 * nothing more is consumed. */
static inline uint32_t wfab_in_hand(const struct rdm_conn *conn)
{
	return conn->several && conn->ep ? conn->returned[RDM_REQ] : conn->arrived;
}
void wfab_touch(struct rdm_conn *conn);

/* rdm_constrained.c */
bool wfab_test_asked(const struct dofi_fab *fab);
void wfab_test_hints(struct fi_info *hints);
void wfab_test_start(struct wfab *net);
void wfab_test_hold(struct wfab *net, struct wfab_cell *cell);
void wfab_test_deliver(struct wfab *net);
bool wfab_test_refuse(struct wfab *net);

#endif
