/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the players on two hosts: a connected pair that transfers. */
#ifndef FABRICS_HOSTS_H
#define FABRICS_HOSTS_H

#include "../robust/rdat.h"
#include "net.h"

#define KEEPALIVE_S 1
/*
 * Idle time, keepalive probes of the same duration, and the time that the last messages may wait
 * for receives; the rest is slack for a busy machine.
 */
#define GONE_MS (KEEPALIVE_S * 2000 + 4000)
#define CHUNK ((size_t)1 << 20)
#define PIECE (CHUNK / 8) /* of an exchange */
#define CHUNKS 16         /* of each kind in the memory: sent, received, the peer's */
#define AREA (3 * CHUNKS * CHUNK)
#define ALWAYS_INLINE 4 /* requests of a kind in an exchange */

/* Steps; each pair of players meets at two of its own. */
enum { ST_LISTEN, ST_DEED, ST_DONE, ST_MEET };

enum deed {
	DEED_NONE,
	DEED_CUT,      /* the link is cut */
	DEED_DOWN,     /* the first host's interface goes down */
	DEED_BLINK,    /* the link is cut for less than the peer's timeout */
	DEED_STOP,     /* the second host's process is stopped and continued later */
	DEED_STOP_CUT, /* it is stopped, then the link is cut */
	DEED_WAIT,     /* nothing: the second host posts its receives late */
};

enum load { LOAD_NONE, LOAD_RECEIVES, LOAD_SENDS, LOAD_WRITES, LOAD_READS };

struct plan {
	const char *name;
	int loss;       /* frames of a thousand that the link loses */
	enum load load; /* what the first host has outstanding at the time of the fault */
	enum deed deed;
	const char *words; /* connection events of both hosts, see rdat.h */
};

struct side {
	const struct plan *plan;
	int host, pair, meetings;
	struct rd rd;
	struct rd_mem mem;
	struct rd_ledger l;
};

struct role {
	const struct plan *plan;
	int host, pair;
	const char *domain; /* interface or address of the adapter */
};

void hosts_open(struct side *s, const struct role *role);
void hosts_close(struct side *s);
/* Where chunk number n of a kind lies: 0 sent, 1 received, 2 written by the peer. */
size_t hosts_at(int kind, int n);
/* Waits until both hosts of the pair have reached a step. */
void hosts_sync(struct side *s);
/* Waits until everything has completed and the connection events match one of the alternatives. */
void hosts_wait_until(struct side *s, const char *words, unsigned int ms, const char *what);
void hosts_connect(struct side *s);
void hosts_fill(struct side *s, int kind, int host, int n);
/* n chunks of a kind, from number `to` on, have what the peer's from number `from` on had. */
void hosts_verify(struct side *s, int kind, int from, int to, int n, size_t len, const char *what);
/* Messages, writes and reads both ways, compared. */
void hosts_exchange(struct side *s);
/* The connection ends in time after the fault, with all outstanding operations. */
void hosts_detect_end(struct side *s);

/* Sets the timeout after which later players give up a silent peer: long if no fault is applied. */
void hosts_set_timeout(bool much);

/* hosts_firewall.c: a firewall that passes only the port of the qualifier. */
void hosts_firewall(void);
/* hosts_more.c: connecting over a cut link, two links, two addresses. */
void hosts_more(void);

#endif
