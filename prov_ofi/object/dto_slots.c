/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of operations: their slots, followed by their segments if they take many. */
#include <string.h>

#include "object/ep.h"

struct dofi_dto *dofi_dto_alloc(uint32_t n, uint32_t iov)
{
	size_t each = iov > DOFI_IOV_INLINE ? iov * (sizeof(struct iovec) + sizeof(void *)) : 0;
	struct dofi_dto *dto = calloc(n, sizeof(*dto) + each);
	struct iovec *segments;
	void **descs;

	if (!dto || !each)
		return dto;
	segments = (struct iovec *)(dto + n);
	descs = (void **)(segments + (size_t)n * iov);
	for (uint32_t i = 0; i < n; i++) {
		dto[i].long_iov = segments + (size_t)i * iov;
		dto[i].long_desc = descs + (size_t)i * iov;
	}
	return dto;
}

void dofi_dto_move(struct dofi_dto *to, const struct dofi_dto *from)
{
	struct iovec *iov = to->long_iov;
	void **desc = to->long_desc;

	memcpy(to, from, sizeof(*to));
	to->long_iov = iov;
	to->long_desc = desc;
	if (from->iov_count <= DOFI_IOV_INLINE)
		return;
	memcpy(iov, from->long_iov, from->iov_count * sizeof(*iov));
	memcpy(desc, from->long_desc, from->iov_count * sizeof(*desc));
}
