/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads, changes, compares and prints IPv4 and IPv6 addresses. */
#include <arpa/inet.h>
#include <stdio.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"

size_t dofi_addr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

uint16_t dofi_addr_port(const struct sockaddr *sa)
{
	return ntohs(sa->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)sa)->sin6_port
					       : ((const struct sockaddr_in *)sa)->sin_port);
}

void dofi_addr_set_port(struct sockaddr *sa, uint16_t port)
{
	if (sa->sa_family == AF_INET6)
		((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)sa)->sin_port = htons(port);
}

bool dofi_addr_is_any(const union dofi_addr *addr)
{
	if (addr->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&addr->in6.sin6_addr);
	return addr->in.sin_addr.s_addr == INADDR_ANY;
}

void dofi_addr_set_any(union dofi_addr *addr)
{
	if (addr->sa.sa_family == AF_INET6)
		addr->in6.sin6_addr = in6addr_any;
	else
		addr->in.sin_addr.s_addr = INADDR_ANY;
}

/* True if a socket that is bound to the wildcard of IPv6 accepts IPv4, too. The setting of the
 * host (net.ipv6.bindv6only) decides: libfabric sets no other. */
static bool addr_v6_takes_v4(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), only = 1;
	socklen_t len = sizeof(only);

	if (fd < 0)
		return false;
	if (getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &len))
		only = 1;
	close(fd);
	return !only;
}

void dofi_addr_set_any_family(union dofi_addr *addr)
{
	uint16_t port = dofi_addr_port(&addr->sa);

	if (addr->sa.sa_family == AF_INET && addr_v6_takes_v4()) {
		memset(addr, 0, sizeof(*addr));
		addr->in6.sin6_family = AF_INET6;
	}
	dofi_addr_set_any(addr);
	dofi_addr_set_port(&addr->sa, port);
}

void dofi_addr_unmap(union dofi_addr *addr)
{
	uint16_t port = dofi_addr_port(&addr->sa);
	struct in_addr v4;

	if (addr->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&addr->in6.sin6_addr))
		return;
	memcpy(&v4, &addr->in6.sin6_addr.s6_addr[12], sizeof(v4));
	memset(addr, 0, sizeof(*addr));
	addr->in.sin_family = AF_INET;
	addr->in.sin_addr = v4;
	dofi_addr_set_port(&addr->sa, port);
}

bool dofi_addr_is_loopback(const union dofi_addr *addr)
{
	if (addr->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr);
	return ntohl(addr->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool dofi_addr_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr,
			       sizeof(struct in6_addr));
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

const char *dofi_addr_text(const union dofi_addr *addr, uint16_t port, char *buf, size_t room)
{
	bool v6 = addr->sa.sa_family == AF_INET6;
	const void *bytes = v6 ? (const void *)&addr->in6.sin6_addr
			       : (const void *)&addr->in.sin_addr;
	char host[INET6_ADDRSTRLEN] = "unknown address";

	if (v6 || addr->sa.sa_family == AF_INET)
		inet_ntop(addr->sa.sa_family, bytes, host, sizeof(host));
	if (!port)
		snprintf(buf, room, "%s", host);
	else if (v6)
		snprintf(buf, room, "[%s]:%u", host, port);
	else
		snprintf(buf, room, "%s:%u", host, port);
	return buf;
}

const char *dofi_peer_text(const union dofi_addr *addr, char *buf)
{
	return dofi_addr_text(addr, dofi_addr_port(&addr->sa), buf, DOFI_ADDR_TEXT);
}

void dofi_sock_set_dscp(int fd, unsigned int dscp)
{
	int tos = (int)dscp << 2;

	/* A socket of IPv6 may carry IPv4, too; one of IPv4 refuses the second option. */
	setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
}

void dofi_sock_defer_accept(int fd, int seconds)
{
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds));
}
