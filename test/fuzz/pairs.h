/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the parts of the fuzz target for messages of pairs: pairs.c (steps and invariants),
 * pairs_rig.c (adapter, endpoints, honest handshakes), pairs_msg.c (messages of the hostile peer),
 * pairs_cm.c (connection manager).
 */
#ifndef FUZZ_PAIRS_H
#define FUZZ_PAIRS_H

#include "msgep/pair/pair_message.h"
#include "msgep/pair/pair_unsolicited.h"

/* Of the only service point. */
#define PAIRS_PORT 7
#define KEY 3
#define REGION (200u << 10)
#define PEERS 2

/* Endpoints, by the peer that they are for; the last ones are the honest peer's. */
enum { PASSIVE, ACTIVE, SHARED, WAITING, FRESH, HONEST_ACTIVE, HONEST_PASSIVE, EPS };

struct peer {
	uint8_t name[PAIR_NAME];
	uint64_t route; /* of its pair */
	uint32_t index; /* of the pair here */
};

struct pairs_input {
	const uint8_t *at, *end;
};

/* pairs_rig.c */
extern struct pairs_input input;
extern struct msgep_domain adapter;
extern struct msgep_ep *eps[EPS];
extern struct fid_ep *srx;
extern char *memory;             /* the region's; NULL: it is closed */
extern struct peer peers[PEERS]; /* the first one is hostile */
extern bool shaken;              /* the fabric may have ended a pair */

uint64_t number(size_t bytes);
uint8_t byte(void);
/* A number that is small, near a bound, or anything. */
uint64_t some(uint64_t bound);

void set_up(void);
/* Checks that unused shared receives are still posted and all others complete. */
void tear_down(void);
struct pair_net *net(void);
bool is_honest(unsigned int i);
/* True if the hostile peer may end that connection. */
bool pairs_may_end(const struct msgep_ep *e);
/* NULL if it is not established. */
struct pair *pair_of_peer(const struct peer *peer);
/* The program polls for completions. */
void look(void);
void read_events(void);
void post(struct msgep_ep *e, unsigned int sort);
void post_receive(struct fid_ep *to);
void open_region(void);
void close_region(void);
void open_ep(unsigned int i);
void close_ep(unsigned int i);
/* The connection parameters of the peer. */
void param_of(const struct peer *peer, const uint8_t *token, uint8_t *param);
/* A control packet, as an honest peer sends it. */
void send_control(const struct peer *peer, const struct pair_conn *conn, uint8_t kind,
		  uint64_t value);

/* pairs_msg.c */
void packets(void);
void raw_bytes(void);
/* Packets that follow long data. */
void carried(const struct fid_ep *ep);

/* pairs_cm.c */
struct msgep_eq *pairs_cm_open(struct msgep_domain *domain);
void pairs_cm_close(struct msgep_domain *domain);
/* The endpoint's handshake is at one of the steps in which messages matter. */
void pairs_cm_set(struct msgep_ep *ep, unsigned int step, uint64_t route);
/* Processes what the inbox has. */
void pairs_cm_work(struct msgep_domain *domain);
/* The consumer drops the requests that it was given. */
void pairs_cm_decide(void);

#endif
