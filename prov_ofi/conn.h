/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection of the fabric. An EP uses a new one for each connection of its life; the
 * connection's socket may outlive the EP's interest in it, lingering until the peer has read
 * everything. All of it belongs to cm_lock.
 */
#ifndef DOFI_CONN_H
#define DOFI_CONN_H

#include "base/list.h"
#include "base/patience.h"
#include "base/timer.h"
#include "fab.h"

struct dofi_ep;
struct dofi_evd;
struct dofi_ia;

struct dofi_conn {
	/* NULL: freed. The memory is type-stable, and then perhaps another adapter's. */
	struct dofi_ia *_Atomic ia;
	struct dofi_ep *ep;		/* NULL: lingering */
	struct fid_ep *fid;		/* NULL: lingering */
	uint32_t tag;			/* of messages to our SRQ (tag.h); 0: none */
	int fd;				/* the TCP socket behind it, -1: unknown (tcpfd.h) */
	uint64_t peer;			/* number of the other adapter, 0: not known */
	bool up;			/* established: its socket is in the CQs' sets */
	bool ended_early;		/* its end was reported before its beginning */
	bool bye;			/* the peer said that it has disconnected */
	bool shut;			/* nothing may be posted any more */
	bool watched;			/* fd is in the progress thread's epoll set */
	struct dofi_patience patience;	/* since the peer's end was seen closed */
	struct dofi_evd *rx_evd, *tx_evd;	/* whose CQs have room set aside, */
	uint32_t rx_held, tx_held;	/* for so many completions (device_cq.c) */
	struct dofi_timer timer;	/* lingering, or looking after a peer that has gone */
	struct dofi_list link;		/* ia->conns */
};

/* Makes the fabric endpoint for `ep` out of `info` and binds it to the EP's queues. If that fails
 * when the endpoint has taken over the request in info->handle, that is NULL afterwards. */
int dofi_conn_open(struct dofi_ep *ep, struct fi_info *info, struct dofi_conn **out);
/* Looks for the socket below it, if that is not known. */
void dofi_conn_find_socket(struct dofi_conn *conn);
/* What the EP shows as its address and port: of the connection, as far as the fabric knows. */
void dofi_conn_read_name(struct dofi_conn *conn);
/* The connection is up: learn its addresses and its socket, watch that. */
void dofi_conn_established(struct dofi_conn *conn);
/* How many RDMA reads the peer serves at once. */
void dofi_conn_set_reads(struct dofi_conn *conn, unsigned int served);
/* The EP has no interest any more. After the call the fabric has none of its operations, and all
 * completions it gave are in the EP's queues. */
void dofi_conn_detach(struct dofi_conn *conn);
/* The peer closed its end (seen on the socket of what was the adapter's connection). */
void dofi_conn_hangup(struct dofi_ia *ia, struct dofi_conn *conn);
/* The peer says that it has disconnected; the ports as this side sees them. */
void dofi_conn_bye(struct dofi_ia *ia, uint64_t peer, uint16_t local_port, uint16_t remote_port);
/* The process at the other end has gone (its link broke). */
void dofi_conn_peer_lost(struct dofi_ia *ia, uint64_t peer);
void dofi_conn_tick(struct dofi_timer *timer);
/* Closes a detached one at once. */
void dofi_conn_close(struct dofi_conn *conn);
/* Ends lingering where the peer has ended its side, or everywhere. */
void dofi_conn_close_lingering(struct dofi_ia *ia, bool all);

#endif
