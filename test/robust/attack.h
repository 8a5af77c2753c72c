/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares attacks on the TCP port of a service point: data that no provider would send. */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attack {
	const char *name;
	void (*run)(void);
};

/* The time in milliseconds after which a listener must close an idle connection. */
#define ATTACK_SILENT_MS 500

/*
 * Attacks on the port of the service point on the board, or on port value[ATTACK_PORT] of the
 * board if that is not 0.
 */
#define ATTACK_PORT 1
extern const struct attack attacks[];
extern const unsigned int attack_count;

/* A TCP port that a process listens on besides `port`; 0: none. */
uint16_t attack_other_port(int pid, uint16_t port);
/* A TCP connection to the port. */
int attack_connect(void);
/* A listening TCP socket on the address of the board; its port is published as qualifier. */
int attack_listen(void);
/* Waits until the other end closes or resets; false if it does not in time. */
bool attack_closed(int fd, unsigned int ms);
void attack_reset(int fd);

/* A connection message of libfabric's tcp provider: 32 bytes, then `len` bytes of data. */
#define ATTACK_CM_HDR 32
enum { ATTACK_REQUEST = 0, ATTACK_RESPONSE = 1, ATTACK_NACK = 6 };
void attack_cm_header(uint8_t *buf, int type, size_t len);

#endif
