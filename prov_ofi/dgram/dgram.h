/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of datagram endpoints: one UDP socket each, and the header of their datagrams.
 *
 * libfabric's udp provider does the same, but limits a message to 1472 bytes (1.17); InfiniBand's
 * datagrams have up to 4096. IP fragments what is longer than the MTU of the path.
 *
 * Each datagram begins with this header, all numbers big-endian, followed by the message:
 *
 *  offset size
 *   0  4  magic "DOFU"
 *   4  1  version of this layout (1)
 *   5  1  bit 0: the completion notifies (solicited wait); other bits: zero
 *   6  2  bytes of the message
 *   8  4  number of the destination endpoint
 *  12  4  number of the sender's endpoint
 *
 * The number of an endpoint stands for InfiniBand's QPN and, like that, has 24 bits: bits 0..15
 * are the port of its socket, bits 16..23 are random, so that datagrams for a former user of the
 * port are recognised. A datagram whose numbers are not those of its addressee and of its source
 * port is dropped, like one with another length, magic or version.
 */
#ifndef DOFI_DGRAM_H
#define DOFI_DGRAM_H

#include <sys/uio.h>

#include "base/addr.h"

#define DOFI_DGRAM_HDR 16
#define DOFI_DGRAM_MAX 4096 /* bytes of a message */
#define DOFI_DGRAM_QPN_BITS 24

struct dofi_dgram {
	int fd; /* -1: closed */
	uint32_t qpn;
	int family;  /* of the socket: AF_INET6 serves IPv4, too */
	uint8_t *in; /* the last datagram received: header and message */
};

/* A received message. */
struct dofi_dgram_msg {
	union dofi_addr from; /* port 0 */
	uint32_t qpn;         /* of the sender */
	bool solicited;
	const uint8_t *data; /* until the next call for this socket */
	size_t len;
};

/* Opens a socket at the address, or at all of the host (NULL). 0 or a negative
 * error. */
int dofi_dgram_open(struct dofi_dgram *d, const union dofi_addr *at);
void dofi_dgram_close(struct dofi_dgram *d);

/* Sends one message of at most DOFI_DGRAM_MAX bytes in up to 4 segments. Waits a short time at most
 * if the network's queue is full. 0, or a negative error: the message is lost. */
int dofi_dgram_send(const struct dofi_dgram *d, const union dofi_addr *to, uint32_t qpn,
		    const struct iovec *iov, size_t n, bool solicited);
/* 0, -EAGAIN: there is none; -EBADMSG: the datagram was invalid and has been dropped. */
int dofi_dgram_recv(struct dofi_dgram *d, struct dofi_dgram_msg *msg);

/* True if a peer may have an endpoint of this number. */
bool dofi_dgram_qpn_valid(uint32_t qpn);

#endif
