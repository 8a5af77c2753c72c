/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies between frames and the segments of a request. Segments shrink as they are consumed;
 * consumed ones stay in front with length 0. */
#ifndef DOFI_MSGEP_IOV_H
#define DOFI_MSGEP_IOV_H

#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

static inline void msgep_iov_gather(void *to, struct iovec *iov, size_t len)
{
	char *out = to;

	for (; len; iov++) {
		size_t part = iov->iov_len < len ? iov->iov_len : len;

		memcpy(out, iov->iov_base, part);
		iov->iov_base = (char *)iov->iov_base + part;
		iov->iov_len -= part;
		out += part;
		len -= part;
	}
}

static inline void msgep_iov_scatter(struct iovec *iov, const void *from, size_t len)
{
	const char *in = from;

	for (; len; iov++) {
		size_t part = iov->iov_len < len ? iov->iov_len : len;

		memcpy(iov->iov_base, in, part);
		iov->iov_base = (char *)iov->iov_base + part;
		iov->iov_len -= part;
		in += part;
		len -= part;
	}
}

static inline uint64_t msgep_iov_total(const struct iovec *iov, size_t count)
{
	uint64_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += iov[i].iov_len;
	return len;
}

/* Stores the addresses of the first `len` bytes in `out`, without consuming them. Returns the
 * number of segments there. */
static inline size_t msgep_iov_peek(const struct iovec *iov, struct iovec *out, size_t len)
{
	size_t n = 0;

	for (; len; iov++) {
		if (!iov->iov_len)
			continue;
		out[n] = *iov;
		if (out[n].iov_len > len)
			out[n].iov_len = len;
		len -= out[n++].iov_len;
	}
	return n;
}

/* Bytes that the next `most` segments hold, of `count` in all. */
static inline size_t msgep_iov_reach(const struct iovec *iov, size_t count, size_t most)
{
	size_t len = 0;

	for (size_t i = 0; i < count && most; i++) {
		most -= iov[i].iov_len != 0;
		len += iov[i].iov_len;
	}
	return len;
}

static inline void msgep_iov_skip(struct iovec *iov, size_t len)
{
	for (; len; iov++) {
		size_t part = iov->iov_len < len ? iov->iov_len : len;

		iov->iov_base = (char *)iov->iov_base + part;
		iov->iov_len -= part;
		len -= part;
	}
}

/* Consumes `len` bytes without copying them and stores their addresses in `out`. Returns the number
 * of segments there. */
static inline size_t msgep_iov_truncate(struct iovec *iov, struct iovec *out, size_t len)
{
	size_t n = 0;

	for (; len; iov++) {
		size_t part = iov->iov_len < len ? iov->iov_len : len;

		if (!part)
			continue;
		out[n].iov_base = iov->iov_base;
		out[n++].iov_len = part;
		iov->iov_base = (char *)iov->iov_base + part;
		iov->iov_len -= part;
		len -= part;
	}
	return n;
}

#endif
