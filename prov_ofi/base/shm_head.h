/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How can somebody else tell that a shared-memory file of ours is stale?
 *
 * The file is called dat-ofi.<pid>.<number> in /dev/shm, after the process that made it. It may
 * begin with this head, so that another process which got the same pid later is not taken for the
 * maker. Who holds a lock on the file (flock) keeps it, whatever the pid says: pids of another
 * container mean nothing here.
 */
#ifndef DOFI_SHM_HEAD_H
#define DOFI_SHM_HEAD_H

#include <stdint.h>

#define DOFI_SHM_PREFIX "dat-ofi."
#define DOFI_SHM_MAGIC "datofi\0\1"	/* 8 bytes */

struct dofi_shm_head {
	char magic[8];
	uint64_t start_time;	/* of the process: field 22 of /proc/<pid>/stat */
};

#endif
