/* SPDX-License-Identifier: BSD-2-Clause */
/* What do the players on two hosts have in common: a connected pair that transfers. */
#ifndef FABRICS_HOSTS_H
#define FABRICS_HOSTS_H

#include "../robust/rdat.h"
#include "net.h"

#define KEEPALIVE_S 1
/* Silence, probes for as long again, and the time that the last messages may wait for receives;
 * the rest is for a machine that is busy. */
#define GONE_MS (KEEPALIVE_S * 2000 + 4000)
#define CHUNK ((size_t)1 << 20)
#define PIECE (CHUNK / 8)		/* of an exchange */
#define CHUNKS 16			/* of each kind in the memory: sent, received, the peer's */
#define AREA (3 * CHUNKS * CHUNK)
#define EACH 4				/* requests of a kind in an exchange */

/* Steps; each pair of players meets at two of its own. */
enum { ST_LISTEN, ST_DEED, ST_DONE, ST_MEET };

enum deed {
	DEED_NONE,
	DEED_CUT,		/* the wire carries nothing any more */
	DEED_DOWN,		/* the first host's interface goes down */
	DEED_BLINK,		/* the wire is cut for less than the peer's patience */
	DEED_STOP,		/* the second host's process is stopped, and goes on later */
	DEED_STOP_CUT,		/* it is stopped, then the wire is cut */
	DEED_WAIT,		/* nothing: the second host posts its receives late */
};

enum load { LOAD_NONE, LOAD_RECEIVES, LOAD_SENDS, LOAD_WRITES, LOAD_READS };

struct plan {
	const char *name;
	int loss;		/* frames of a thousand that the wire loses all the time */
	enum load load;		/* what the first host has outstanding when the deed is done */
	enum deed deed;
	const char *words;	/* connection events of both hosts, see rdat.h */
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
	const char *domain;	/* interface or address of the adapter */
};

void hosts_open(struct side *s, const struct role *role);
void hosts_close(struct side *s);
/* Where chunk number n of a kind lies: 0 sent, 1 received, 2 written by the peer. */
size_t hosts_at(int kind, int n);
/* Both hosts of the pair have come so far. */
void hosts_meet(struct side *s);
/* Until everything has completed and the connection events are one of these words. */
void hosts_until(struct side *s, const char *words, unsigned int ms, const char *what);
void hosts_connect(struct side *s);
void hosts_fill(struct side *s, int kind, int host, int n);
/* n chunks of a kind, from number `to` on, have what the peer's from number `from` on had. */
void hosts_verify(struct side *s, int kind, int from, int to, int n, size_t len, const char *what);
/* Messages, writes and reads both ways, compared. */
void hosts_exchange(struct side *s);
/* The connection ends in time after the deed, with all that is outstanding. */
void hosts_notice(struct side *s);

/* Sets how soon players to come give a silent peer up: they have time if nobody is to go. */
void hosts_patience(bool much);

/* hosts_firewall.c: one that lets only the port of the qualifier through. */
void hosts_firewall(void);
/* hosts_more.c: connecting over a cut wire, two wires, two addresses. */
void hosts_more(void);

#endif
