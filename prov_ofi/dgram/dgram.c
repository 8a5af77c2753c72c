/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the sockets of datagram endpoints; sends, receives and checks datagrams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/be_bytes.h"
#include "base/forkfd.h"
#include "base/log.h"
#include "base/port_range.h"
#include "dgram/dgram.h"
#include "fabric/fab.h"

#define MAGIC 0x444f4655u
#define VERSION 1
#define SOLICITED 1
/* Limit of a send while the queue of the network interface is full. */
#define SEND_MS 10

bool dofi_dgram_qpn_valid(uint32_t qpn)
{
	return (qpn & 0xffff) && !(qpn >> DOFI_DGRAM_QPN_BITS);
}

/* An IPv4 address as a socket of the family takes it. False: the socket cannot reach it. */
static bool dgram_adapt(int family, const union dofi_addr *addr, uint16_t port,
			union dofi_addr *out)
{
	memset(out, 0, sizeof(*out));
	if (addr->sa.sa_family == AF_INET && family == AF_INET6) {
		out->in6.sin6_family = AF_INET6;
		out->in6.sin6_addr.s6_addr[10] = out->in6.sin6_addr.s6_addr[11] = 0xff;
		memcpy(&out->in6.sin6_addr.s6_addr[12], &addr->in.sin_addr, 4);
	} else if (addr->sa.sa_family == family) {
		memcpy(out, addr, dofi_addr_len(&addr->sa));
	} else {
		return false;
	}
	dofi_addr_set_port(&out->sa, port);
	return true;
}

/* Binds the socket to a free port of the address. 0 or a negative error. */
static int dgram_bind_port(struct dofi_dgram *d, const union dofi_addr *at)
{
	union dofi_addr addr = *at;
	socklen_t len = sizeof(addr);
	struct dofi_ports ports;
	int ret = -EADDRINUSE;
	uint16_t port;

	dofi_ports_begin(&ports);
	while (dofi_ports_is_taken(ret) && dofi_ports_next(&ports, &port)) {
		dofi_addr_set_port(&addr.sa, port);
		ret = bind(d->fd, &addr.sa, (socklen_t)dofi_addr_len(&addr.sa)) ? -errno : 0;
	}
	if (dofi_ports_exhausted(&ports, ret)) {
		dofi_log(DOFI_LOG_WARN, "no port for a datagram endpoint: all of "
					"DAPL_OFI_PORT_RANGE are in use; try: a wider range");
		return -ENOSPC;
	}
	if (!ret && getsockname(d->fd, &addr.sa, &len))
		ret = -errno;
	d->qpn = ret ? 0 : dofi_addr_port(&addr.sa);
	return ret;
}

/* A socket that is bound to a free port of the address. */
static int dgram_bind(struct dofi_dgram *d, const union dofi_addr *at)
{
	const struct timeval limit = { .tv_usec = SEND_MS * 1000 };
	int off = 0, ret;

	d->family = at->sa.sa_family;
	d->fd = dofi_forkfd(socket(d->family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (d->fd < 0)
		return -errno;
	if (d->family == AF_INET6)
		setsockopt(d->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(d->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	ret = dgram_bind_port(d, at);
	if (ret) {
		dofi_forkfd_close(d->fd);
		d->fd = -1;
	}
	return ret;
}

static int dgram_bind_any(struct dofi_dgram *d)
{
	union dofi_addr any;
	int ret;

	memset(&any, 0, sizeof(any));
	any.sa.sa_family = AF_INET6;
	ret = dgram_bind(d, &any);
	if (!ret || ret == -ENOSPC)
		return ret;
	any.sa.sa_family = AF_INET; /* a host without IPv6 */
	return dgram_bind(d, &any);
}

int dofi_dgram_open(struct dofi_dgram *d, const union dofi_addr *at)
{
	uint8_t random = 0;
	int ret;

	d->fd = -1;
	d->in = malloc(DOFI_DGRAM_HDR + DOFI_DGRAM_MAX);
	if (!d->in)
		return -ENOMEM;
	ret = at ? dgram_bind(d, at) : dgram_bind_any(d);
	if (ret) {
		dofi_dgram_close(d);
		return ret;
	}
	/* The host has no random numbers yet: datagrams for a former user are not recognised. */
	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	d->qpn |= (uint32_t)random << 16;
	return 0;
}

void dofi_dgram_close(struct dofi_dgram *d)
{
	if (d->fd >= 0)
		dofi_forkfd_close(d->fd);
	d->fd = -1;
	free(d->in);
	d->in = NULL;
}

int dofi_dgram_send(const struct dofi_dgram *d, const union dofi_addr *to, uint32_t qpn,
		    const struct iovec *iov, size_t n, bool solicited)
{
	uint8_t hdr[DOFI_DGRAM_HDR], *p = hdr;
	struct iovec parts[1 + DOFI_IOV_MAX];
	union dofi_addr dest;
	struct msghdr msg = { .msg_name = &dest, .msg_iov = parts, .msg_iovlen = 1 + n };
	size_t len = 0;

	if (!dgram_adapt(d->family, to, (uint16_t)qpn, &dest))
		return -EAFNOSUPPORT;
	msg.msg_namelen = (socklen_t)dofi_addr_len(&dest.sa);
	parts[0] = (struct iovec){ hdr, sizeof(hdr) };
	for (size_t i = 0; i < n; i++) {
		parts[1 + i] = iov[i];
		len += iov[i].iov_len;
	}
	p = dofi_put_be(p, MAGIC, 4);
	p = dofi_put_be(p, VERSION, 1);
	p = dofi_put_be(p, solicited ? SOLICITED : 0, 1);
	p = dofi_put_be(p, len, 2);
	p = dofi_put_be(p, qpn, 4);
	dofi_put_be(p, d->qpn, 4);
	if (sendmsg(d->fd, &msg, MSG_NOSIGNAL) >= 0)
		return 0;
	/* It may have returned the error of an earlier datagram, which a host has refused. */
	if (errno == ECONNREFUSED && sendmsg(d->fd, &msg, MSG_NOSIGNAL) >= 0)
		return 0;
	return -errno;
}

/* True if the datagram of `len` bytes from the port is valid. */
static bool dgram_parse(const struct dofi_dgram *d, size_t len, uint16_t port,
			struct dofi_dgram_msg *msg)
{
	const uint8_t *p = d->in;

	if (len < DOFI_DGRAM_HDR || len > DOFI_DGRAM_HDR + DOFI_DGRAM_MAX ||
	    dofi_get_be(p, 4) != MAGIC || p[4] != VERSION || (p[5] & ~SOLICITED))
		return false;
	msg->len = (size_t)dofi_get_be(p + 6, 2);
	msg->qpn = (uint32_t)dofi_get_be(p + 12, 4);
	msg->solicited = p[5] & SOLICITED;
	msg->data = p + DOFI_DGRAM_HDR;
	return msg->len == len - DOFI_DGRAM_HDR && dofi_get_be(p + 8, 4) == d->qpn &&
	       dofi_dgram_qpn_valid(msg->qpn) && (uint16_t)msg->qpn == port;
}

int dofi_dgram_recv(struct dofi_dgram *d, struct dofi_dgram_msg *msg)
{
	struct iovec iov = { d->in, DOFI_DGRAM_HDR + DOFI_DGRAM_MAX };
	struct msghdr m = { .msg_name = &msg->from,
			    .msg_namelen = sizeof(msg->from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1 };
	/* With MSG_TRUNC the length is that of the datagram, also of a longer one. */
	ssize_t n = recvmsg(d->fd, &m, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? -EAGAIN : -EBADMSG;
	if (!m.msg_namelen || !dgram_parse(d, (size_t)n, dofi_addr_port(&msg->from.sa), msg))
		return -EBADMSG;
	dofi_addr_unmap(&msg->from);
	dofi_addr_set_port(&msg->from.sa, 0);
	return 0;
}
