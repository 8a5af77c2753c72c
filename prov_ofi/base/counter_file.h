/* SPDX-License-Identifier: BSD-2-Clause */
/* Format of the file with the counters of a process, which dat_top(1) reads.
 *
 * The file has a header and chunks of equal size. A chunk has slots of one kind; the place of its
 * first slot is its own header. The process writes it through a shared mapping, so readers see
 * values of different times, and must check everything before they believe it. The file exists
 * while the process has an open IA.
 */
#ifndef DOFI_COUNTER_FILE_H
#define DOFI_COUNTER_FILE_H

#include "base/counter_slots.h"

/* Names begin with this and continue with the process ID and a random part. */
#define DOFI_COUNTER_PREFIX "dat-ofi."
#define DOFI_COUNTER_MAGIC "DATCOUNT"
#define DOFI_COUNTER_VERSION 1
#define DOFI_COUNTER_HEADER 4096
#define DOFI_COUNTER_CHUNK 16384

struct dofi_counter_header {
	char magic[8];
	uint32_t version;
	uint32_t header_size, chunk_size;
	uint32_t chunks; /* that are complete */
	uint32_t pid;
	uint32_t api;        /* 12 or 20 */
	uint64_t pid_ns;     /* inode of the namespace in which pid is valid; 0: not known */
	uint64_t start_time; /* of the process: field 22 of /proc/PID/stat; 0: not known */
	char program[64];
};

enum dofi_counter_kind { DOFI_COUNTER_IA, DOFI_COUNTER_EP, DOFI_COUNTER_EVD, DOFI_COUNTER_KINDS };

struct dofi_counter_chunk {
	char magic[8];
	uint32_t kind;
	uint32_t slot_size; /* the first slot begins here */
	uint32_t slots;
};

static inline uint32_t dofi_counter_slot_size(unsigned int kind)
{
	return kind == DOFI_COUNTER_IA   ? sizeof(struct dofi_ia_slot)
	       : kind == DOFI_COUNTER_EP ? sizeof(struct dofi_ep_slot)
					 : sizeof(struct dofi_evd_slot);
}

/* Removes files of dead processes of this user from `dir`; `own`: this process. */
void dofi_counter_sweep(const char *dir, const struct dofi_counter_header *own);

#endif
