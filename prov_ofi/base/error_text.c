/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of error numbers, also of libfabric's, without libfabric: shm does not load it. */
#include <rdma/fi_errno.h>
#include <string.h>

#include "base/error_text.h"

/* Of libfabric's own numbers; all others are those of the system. */
static const char *const texts[] = {
	[FI_EOTHER - FI_ERRNO_OFFSET] = "other error of the fabric",
	[FI_ETOOSMALL - FI_ERRNO_OFFSET] = "buffer too small",
	[FI_EOPBADSTATE - FI_ERRNO_OFFSET] = "not possible in this state",
	[FI_EAVAIL - FI_ERRNO_OFFSET] = "an error entry is next",
	[FI_EBADFLAGS - FI_ERRNO_OFFSET] = "unsupported flags",
	[FI_ENOEQ - FI_ERRNO_OFFSET] = "no event queue",
	[FI_EDOMAIN - FI_ERRNO_OFFSET] = "wrong domain",
	[FI_ENOCQ - FI_ERRNO_OFFSET] = "no completion queue",
	[FI_ECRC - FI_ERRNO_OFFSET] = "wrong checksum",
	[FI_ETRUNC - FI_ERRNO_OFFSET] = "message longer than the receive",
	[FI_ENOKEY - FI_ERRNO_OFFSET] = "no such key",
	[FI_ENOAV - FI_ERRNO_OFFSET] = "no address vector",
	[FI_EOVERRUN - FI_ERRNO_OFFSET] = "queue overrun",
	[FI_ENORX - FI_ERRNO_OFFSET] = "no receive posted",
};

const char *dofi_error_text(int err)
{
	size_t i = (size_t)err - FI_ERRNO_OFFSET;

	if (err < FI_ERRNO_OFFSET)
		return strerror(err);
	return i < sizeof(texts) / sizeof(*texts) ? texts[i] : "unknown error of the fabric";
}
