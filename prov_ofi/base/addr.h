/* SPDX-License-Identifier: BSD-2-Clause */
/* IP addresses: an address of either family with its port, and operations on them and on
 * sockets. */
#ifndef DOFI_ADDR_H
#define DOFI_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

union dofi_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

size_t dofi_addr_len(const struct sockaddr *sa);
uint16_t dofi_addr_port(const struct sockaddr *sa);
void dofi_addr_set_port(struct sockaddr *sa, uint16_t port);
bool dofi_addr_is_any(const union dofi_addr *addr);
/* The host part. */
void dofi_addr_set_any(union dofi_addr *addr);
/* At which a listener accepts from every address of this host, of both families where the kernel
 * allows it: then peers of IPv4 have mapped addresses (dofi_addr_unmap). */
void dofi_addr_set_any_family(union dofi_addr *addr);
/* ::ffff:10.0.0.7 becomes 10.0.0.7. */
void dofi_addr_unmap(union dofi_addr *addr);
bool dofi_addr_is_loopback(const union dofi_addr *addr);
bool dofi_addr_same_host(const struct sockaddr *a, const struct sockaddr *b);
/* "10.0.0.7:4711", "[::1]:4711"; without a port if that is 0. Returns buf. */
#define DOFI_ADDR_TEXT 56
const char *dofi_addr_text(const union dofi_addr *addr, uint16_t port, char *buf, size_t room);
/* The same with the port of the address; buf has DOFI_ADDR_TEXT bytes. */
const char *dofi_peer_text(const union dofi_addr *addr, char *buf);

/* Packets of the socket carry that DSCP (RFC 2474), from 0 to 63, of either family. */
void dofi_sock_set_dscp(int fd, unsigned int dscp);
/* A listener accepts TCP connections when they have sent data; the kernel drops those that do not
 * for that time. */
void dofi_sock_defer_accept(int fd, int seconds);

#endif
