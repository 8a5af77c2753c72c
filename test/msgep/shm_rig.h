/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the fixture of the cases of the shared-memory transport: one adapter (struct side),
 * with all objects of prov_ofi/msgep, connected to itself; and hostile peers (struct foe), which
 * do a valid handshake and then use the socket and the rings directly. Single-threaded, except in
 * cases that start threads.
 */
#ifndef SHM_RIG_H
#define SHM_RIG_H

#include "../lib/harness.h"
#include "msgep/cm/cm.h"
#include "msgep/cm/cm_msg.h"

#define RING (64u << 10)
/* Kind of a frame without meaning that reaches to the end of the ring (shm_rings.c). */
#define SKIP 255

struct side {
	struct dofi_fabric_desc row;
	struct dofi_fab fab;
	struct fi_info info;
	struct fi_rx_attr rx;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_pep *pep;
	union dofi_addr at; /* where it listens */
};

void side_open(struct side *s);
/* The same with a transport that differs from that of shm in some operations. */
void side_open_with(struct side *s, const struct msgep_transport *transport);
void side_close(struct side *s);
/* Reads up to four completions; returns their number. */
unsigned int side_completions(struct side *s);
/* Drives progress; an unexpected event or completion fails the case. */
void side_work(struct side *s);
/* The next completion: its error, positive, or 0. */
int side_await(struct side *s, void *context);
/* Waits for the end of the connection; ignores completions. */
void side_await_end(struct side *s, struct fid_ep *ep);

struct fid_mr *region(struct side *s, void *base, size_t len, uint32_t key, uint64_t access);
/* Two valid ends. */
void pair_open(struct side *s, struct fid_ep *ep[2]);
void pair_close(struct side *s, struct fid_ep *ep[2]);
/* Small and large messages, writes and reads arrive as they were sent. */
void pair_check(struct side *s, struct fid_ep *ep[2]);

ssize_t post_recv(struct fid_ep *ep, void *buf, size_t len, void *context);
ssize_t post_send(struct fid_ep *ep, void *buf, size_t len, void *context);
ssize_t post_rma(struct fid_ep *ep, bool write, void *buf, size_t len, const void *remote,
		 uint32_t key, void *context);

/* The connection parameters of a hostile peer, for the case to corrupt. */
struct shm_params {
	uint32_t magic, version, size;
	uint64_t nonce, pid, place, proof;
	uint64_t queue; /* number of both queues; 0: no ready ring */
	uint16_t len;   /* of it all */
	off_t mem;      /* length of the memory */
	int seals;
	bool no_fd;
};

struct control { /* layout of shm.h: 192 bytes for each direction */
	_Alignas(64) _Atomic uint64_t head[2];
	_Atomic uint32_t notify, several, pulls;
	_Alignas(64) _Atomic uint32_t wants;
	_Atomic uint32_t gone;
	_Atomic uint64_t revoked;
	_Alignas(64) _Atomic uint32_t taken;
	_Atomic uint32_t done;
};

/* The connecting end of a connection. */
struct foe {
	struct side *s;
	struct fid_ep *ep; /* the other end: ours */
	int sock, fd;
	int ready_fd; /* of its ready rings; -1: none */
	char *map;
	size_t map_len;
	struct control *control; /* [0]: of the frames that the foe sends */
	uint64_t nonce, pos[2], at[2];
};

struct shm_params foe_params(void);
/* Connects; 0 if accepted, otherwise rejected. */
int foe_open(struct foe *f, struct side *s, const struct shm_params *params);
void foe_close(struct foe *f);
/* Writes a frame, whose mark is set here, followed by its payload; takes `len` bytes of the ring.
 * Returns its address. */
struct msgep_frame *foe_put(struct foe *f, int channel, const struct msgep_frame *frame,
			    const void *payload, size_t len);
/* The next frame of ours, or NULL. */
const struct msgep_frame *foe_get(struct foe *f, int channel);
const struct msgep_frame *foe_await(struct foe *f, int channel);

#endif
