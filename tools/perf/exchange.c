/* SPDX-License-Identifier: BSD-2-Clause */
/* Exchanges addresses and memory keys between processes, also of different machines. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "proc.h"
#include "exchange.h"

struct wire_listen_addr {
	uint64_t qual;
	uint16_t family;
	uint16_t port;
	uint32_t reserved;
	uint8_t ip[16];
};

struct wire_target {
	uint64_t addr;
	uint64_t key;
	uint64_t name_len;
	uint8_t name[128];
};

/* Address families in messages have the values of Linux. */
int perf_put_listen_addr(int fd, const struct perf_listen_addr *w)
{
	struct wire_listen_addr out = { .qual = htobe64(w->qual) };
	const struct sockaddr_in6 *six = (const void *)&w->addr;
	const struct sockaddr_in *four = (const void *)&w->addr;

	out.family = htobe16(w->addr.ss_family);
	if (w->addr.ss_family == AF_INET) {
		out.port = four->sin_port;
		memcpy(out.ip, &four->sin_addr, sizeof(four->sin_addr));
	} else if (w->addr.ss_family == AF_INET6) {
		out.port = six->sin6_port;
		memcpy(out.ip, &six->sin6_addr, sizeof(six->sin6_addr));
	}
	return perf_put(fd, &out, sizeof(out));
}

int perf_get_listen_addr(int fd, struct perf_listen_addr *w, int timeout_ms)
{
	struct sockaddr_in6 *six = (void *)&w->addr;
	struct sockaddr_in *four = (void *)&w->addr;
	struct wire_listen_addr in;
	int ret = perf_get(fd, &in, sizeof(in), timeout_ms);

	if (ret)
		return ret;
	memset(w, 0, sizeof(*w));
	w->qual = be64toh(in.qual);
	w->addr.ss_family = be16toh(in.family);
	switch (w->addr.ss_family) {
	case AF_INET:
		four->sin_port = in.port;
		memcpy(&four->sin_addr, in.ip, sizeof(four->sin_addr));
		return 0;
	case AF_INET6:
		six->sin6_port = in.port;
		memcpy(&six->sin6_addr, in.ip, sizeof(six->sin6_addr));
		return 0;
	case AF_UNSPEC:
		return 0;
	default:
		return perf_error(-EPROTO, NULL, "side channel", "unknown address family %d",
				  w->addr.ss_family);
	}
}

int perf_put_target(int fd, const struct perf_target *t)
{
	struct wire_target out = {
		.addr = htobe64(t->addr),
		.key = htobe64(t->key),
		.name_len = htobe64(t->name_len),
	};

	memcpy(out.name, t->name, sizeof(out.name));
	return perf_put(fd, &out, sizeof(out));
}

int perf_get_target(int fd, struct perf_target *t, int timeout_ms)
{
	struct wire_target in;
	int ret = perf_get(fd, &in, sizeof(in), timeout_ms);

	if (ret)
		return ret;
	t->addr = be64toh(in.addr);
	t->key = be64toh(in.key);
	t->name_len = be64toh(in.name_len);
	memcpy(t->name, in.name, sizeof(t->name));
	/* the endpoint names of some providers are strings */
	t->name[sizeof(t->name) - 1] = 0;
	if (t->name_len > sizeof(t->name))
		return perf_error(-EPROTO, NULL, "side channel", "a name of %lu bytes came",
				  (unsigned long)t->name_len);
	return 0;
}

int perf_put_able(int fd, int able)
{
	char c = able ? 'n' : 'y';

	return perf_put(fd, &c, 1);
}

int perf_get_able(int fd, int *able, int timeout_ms)
{
	char c;
	int ret = perf_get(fd, &c, 1, timeout_ms);

	if (!ret && c != 'n' && c != 'y')
		ret = perf_error(-EPROTO, NULL, "side channel", "unexpected byte 0x%02x",
				 (uint8_t)c);
	*able = !ret && c == 'n' ? -EOPNOTSUPP : 0;
	return ret;
}
