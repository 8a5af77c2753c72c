/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots of the counters of processes, and what dat_top and dat_info make of them. */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/counter_file.h"

/* The counters of one process, read from one file and checked. */
struct top_process {
	pid_t pid;
	unsigned int api; /* 12 or 20 */
	char program[64];
	uint64_t time_ns; /* when it was read */
	struct dofi_ia_slot *ia;
	struct dofi_ep_slot *ep;
	struct dofi_evd_slot *evd;
	size_t ias, eps, evds;
	/* Of its TCP sockets (tcp.c); sockets is -1 if they cannot be read. */
	int sockets;
	uint64_t retransmits;
	struct top_peer {
		uint8_t family, addr[16];
		uint64_t retransmits;
	} * peer;
	size_t peers;
};

struct top_snapshot {
	struct top_process *process;
	size_t count;
};

/* snapshot.c */
/* Reads the files of this user's live processes (pid 0: of all), and removes those that dead
 * processes left. False: no memory. */
bool top_read(struct top_snapshot *snap, pid_t pid);
void top_free(struct top_snapshot *snap);
/* The same object in another snapshot; NULL: it is not in there. */
const struct top_process *top_same_process(const struct top_snapshot *in,
					   const struct top_process *p);
const struct dofi_ep_slot *top_same_ep(const struct top_process *in, const struct dofi_ep_slot *ep);
const struct dofi_ia_slot *top_same_ia(const struct top_process *in, const struct dofi_ia_slot *ia);

/* tcp.c */
/* Reads the retransmissions of the TCP sockets of a process from the kernel. */
void top_read_tcp(struct top_process *p);

/* rows.c */
enum top_key {
	TOP_PID,
	TOP_PROGRAM,
	TOP_RATE,
	TOP_TX,
	TOP_RX,
	TOP_QUEUE,
	TOP_STALLS,
	TOP_RETRANS,
	TOP_WAKEUPS,
	TOP_KEYS,
};

/* One adapter or one connection of a process. Rates are per second; without a former snapshot they
 * are 0. */
struct top_row {
	const struct top_process *p;
	const struct dofi_ia_slot *ia;
	const struct dofi_ep_slot *ep; /* NULL: an adapter */
	unsigned int connections;
	uint64_t messages, tx_bytes, rx_bytes; /* totals */
	double rate, tx, rx, wakeups;
	uint64_t requests, receives; /* outstanding */
	uint64_t stalls, retransmits;
	unsigned int waiting; /* EVDs on which a thread waits */
};

struct top_rows {
	struct top_row *row;
	size_t count;
};

/* Rows of adapters (`eps` false) or of connections. False: no memory. */
bool top_rows(struct top_rows *rows, const struct top_snapshot *now,
	      const struct top_snapshot *before, bool eps);
void top_sort(struct top_rows *rows, enum top_key key);
/* TOP_KEYS: not a key. */
enum top_key top_key_of(const char *name);
const char *top_ep_state(unsigned int state);
/* A queue of which a thread waits for an event. */
bool top_evd_waited(const struct dofi_evd_slot *evd);

/* show.c */
void top_show(FILE *to, const struct top_snapshot *now, const struct top_snapshot *before,
	      enum top_key key, unsigned int lines);
void top_json(FILE *to, const struct top_snapshot *now, const struct top_snapshot *before);

#endif
