/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection over libfabric's connected endpoints, whose sender is tested alone. */
#ifndef TEST_MSGEP_T_PAIR_H
#define TEST_MSGEP_T_PAIR_H

#include "msgep/pair/pair_message.h"
#include "msgep/pair/pair_unsolicited.h"

/* A connection that is up, whose lock the case holds, and that the poll is processing. */
struct one {
	struct msgep_domain domain;
	struct pair_net net;
	struct pair pair;
	struct pair_conn conn;
	struct pair_bulk bulk;
	struct msgep_ep ep;
};

/* Messages that libfabric has sent since one_open, and packets in them without credits. */
extern unsigned int messages, packets;

struct one *one_open(void);
/* It has a bulk endpoint, and that number of transfers that have not been sent. */
struct one *one_with_bulk(uint32_t n_out);
void one_close(struct one *o);
/* The peer reports that it has consumed all requests. */
void consume_all(struct one *o);
void put(struct one *o, int channel, uint8_t kind, uint8_t flags, uint32_t key);
/* Polls: one that has found something, and one that has not. */
void busy_poll(struct one *o);
void idle_poll(struct one *o);

#endif
