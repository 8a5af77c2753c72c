/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the fixture of the cases of shared receive queues: one SRQ with several endpoints, and
 * a plain endpoint connected to each of them.
 */
#ifndef TEST_SRQ_RIG_H
#define TEST_SRQ_RIG_H

#include "rig.h"

#define HUB_EPS 8
#define HUB_SLOT 4096 /* buffer number n is at n times this */
#define HUB_SLOTS 64

enum {
	HUB_ONE_EVD = 1, /* the SRQ's endpoints share their receive EVD */
	HUB_ACTIVE = 2,  /* they connect; otherwise they accept */
	HUB_BOTH = 4,    /* the peers receive from the SRQ too */
};

struct hub {
	struct node node;
	DAT_SRQ_HANDLE srq;
	struct buf mem; /* of the SRQ's buffers */
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	int n, flags;
	struct side on[HUB_EPS], peer[HUB_EPS];
};

DAT_SRQ_HANDLE srq_make(struct node *n, DAT_COUNT dtos, DAT_COUNT iov);
/* Attributes of an endpoint with an SRQ: defaults, no watermarks. */
DAT_EP_ATTR srq_ep_attr(struct node *n);
/* A side whose endpoint receives from the SRQ; recv: its EVD, or NULL for one of its own. */
void side_make_srq(struct side *s, struct node *n, DAT_SRQ_HANDLE srq, DAT_EVD_HANDLE recv,
		   const DAT_EP_ATTR *attr);

/* n endpoints, connected. attr: of the endpoints with the SRQ, NULL for the defaults. */
void hub_open(struct hub *h, int n, DAT_COUNT dtos, int flags);
void hub_open_attr(struct hub *h, int n, DAT_COUNT dtos, int flags, const DAT_EP_ATTR *attr);
void hub_connect(struct hub *h, int i);
/* The peer disconnects abruptly; the connection events and the asynchronous one have been read. */
void hub_disconnect(struct hub *h, int i);
/* Frees everything in any state; closes the IA gracefully. */
void hub_close(struct hub *h);

/* Buffer `slot` with that many bytes. */
DAT_RETURN hub_post(struct hub *h, int slot, size_t len, uint64_t cookie);
/* A message of the i-th peer: `len` bytes of the pattern `seed`; its send has completed. */
void hub_send(struct hub *h, int i, size_t len, unsigned int seed);
/* The next event of the i-th endpoint is the message, in that buffer. */
void hub_received(const char *file, int line, struct hub *h, int i, uint64_t cookie, int slot,
		  size_t len, unsigned int seed);
#define HUB_GOT(h_, i_, cookie_, slot_, len_, seed_) \
	hub_received(__FILE__, __LINE__, h_, i_, cookie_, slot_, len_, seed_)

void srq_counts(const char *file, int line, DAT_SRQ_HANDLE srq, DAT_COUNT available,
		DAT_COUNT outstanding);
#define SRQ_COUNTS(srq_, available_, outstanding_) \
	srq_counts(__FILE__, __LINE__, srq_, available_, outstanding_)
/* Waits until the queue has this number of buffers. */
void srq_until_available(DAT_SRQ_HANDLE srq, DAT_COUNT available);

/* The next asynchronous event: EP_BROKEN of that object for that reason. */
void ev_async(const char *file, int line, struct node *n, DAT_HANDLE handle, int reason);
#define EV_ASYNC(n_, handle_, reason_) ev_async(__FILE__, __LINE__, n_, handle_, reason_)

/* dat_ep_recv_query must return these. */
void recv_counts(const char *file, int line, DAT_EP_HANDLE ep, DAT_COUNT nbufs);
#define RECV_COUNT(ep_, nbufs_) recv_counts(__FILE__, __LINE__, ep_, nbufs_)

/* A thread that waits once, for `threshold` events. */
struct srq_waiter {
	DAT_EVD_HANDLE evd;
	DAT_COUNT threshold;
	DAT_EVENT ev;
	DAT_COUNT more;
	_Atomic bool back;
};

void srq_wait_once(void *waiter);

#endif
