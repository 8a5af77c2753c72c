/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies between frames and the segments of a request. Segments shrink as they are consumed;
 * consumed ones stay in front with length 0. */
#ifndef DOFI_MSGEP_IOV_H
#define DOFI_MSGEP_IOV_H

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

/* Truncates the segments after `len` bytes. Returns the number that remain. */
static inline size_t msgep_iov_head(struct iovec *iov, size_t count, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < count && len; i++) {
		if (!iov[i].iov_len)
			continue;
		iov[n] = iov[i];
		if (iov[n].iov_len > len)
			iov[n].iov_len = len;
		len -= iov[n++].iov_len;
	}
	return n;
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

/* Consumes `len` bytes without copying them and stores their addresses in `out`, which has as many
 * entries as `iov`. Returns their number. */
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
