/* SPDX-License-Identifier: BSD-2-Clause */
/* Removes the second completion of an RDMA read of soft-iWARP.
 *
 * QUIRK libfabric verbs: if the peer has closed the connection, the driver of soft-iWARP takes a
 * read from the send queue, but does not transmit it. When the connection ends, the read is
 * flushed twice: as the request in progress, and as one that waits for its answer (siw_sq_flush in
 * the kernel, Linux 6.1). libfabric frees its record of the read twice and takes another request
 * from its list, or crashes if that is empty (seen with 1.17). The numbers of reads get a count
 * here while the device has them, so that a second completion is recognised and removed before
 * libfabric sees it, also if the record belongs to another read already.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/dat_version.h"
#include "fabrics/verbs/device_calls.h"
#include "fabrics/verbs/siw_reads.h"

/* A number is the address of a record of libfabric. The bits above are free in user space. */
#define ID_BITS 48
#define ID_MASK ((UINT64_C(1) << ID_BITS) - 1)
#define COUNT_MASK (UINT64_C(0xff) << ID_BITS)
/* Libraries of both versions of the API in one process leave each other's reads alone. */
#define MARK ((UINT64_C(0xa0) | DOFI_API_MAJOR) << 56)

#define SETS_LOG 12
#define WAYS 4

/* The numbers of reads with their last count; with the mark while the device has them. */
static _Atomic uint64_t reads[1 << SETS_LOG][WAYS];

static _Atomic uint64_t *reads_set(uint64_t id)
{
	return reads[(id >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SETS_LOG)];
}

static uint64_t reads_next_count(uint64_t entry)
{
	uint64_t count = (entry & COUNT_MASK) >> ID_BITS;

	return (count % 0xff + 1) << ID_BITS;
}

/* True if the read is in the table with its mark. */
static bool reads_enter(_Atomic uint64_t *place, uint64_t entry, uint64_t marked)
{
	return atomic_compare_exchange_strong_explicit(place, &entry, marked, memory_order_release,
						       memory_order_relaxed);
}

uint64_t dofi_siw_read_mark(uint64_t id)
{
	_Atomic uint64_t *set = reads_set(id);
	uint64_t marked;

	if (!id || id & ~ID_MASK)
		return id;
	for (int i = 0; i < WAYS; i++) {
		uint64_t entry = atomic_load_explicit(&set[i], memory_order_relaxed);

		marked = MARK | reads_next_count(entry) | id;
		if ((entry & ID_MASK) == id && reads_enter(&set[i], entry, marked))
			return marked;
	}
	for (int i = 0; i < WAYS; i++) {
		uint64_t entry = atomic_load_explicit(&set[i], memory_order_relaxed);

		marked = MARK | reads_next_count(entry) | id;
		if (entry < MARK && reads_enter(&set[i], entry, marked))
			return marked;
	}
	return id;
}

/* False: it is a second completion. */
static bool reads_take(struct device_completion *done)
{
	uint64_t marked = done->id;
	_Atomic uint64_t *set;

	if (marked >> 56 != MARK >> 56)
		return true;
	done->id = marked & ID_MASK;
	set = reads_set(done->id);
	for (int i = 0; i < WAYS; i++) {
		uint64_t entry = marked;

		if (atomic_compare_exchange_strong_explicit(&set[i], &entry, marked & ~MARK,
							    memory_order_acq_rel,
							    memory_order_relaxed))
			return true;
	}
	return false;
}

int dofi_siw_reads_take(struct device_completion *done, int n)
{
	int left = 0;

	for (int i = 0; i < n; i++)
		if (reads_take(&done[i]))
			done[left++] = done[i];
	return left;
}
