/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of IAs, EPs and EVDs: allocation, and the rare increments. */
#ifndef DOFI_BASE_COUNTERS_H
#define DOFI_BASE_COUNTERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/count.h"
#include "base/counter_file.h"
#include "base/dat_version.h"

/* Counters never decrease: a reset remembers the present values, and a group that is stopped its
 * last ones. Allocated by the first reset or stop; dofi_count_base_lock. */
struct dofi_count_base {
	unsigned int stopped; /* groups (1u << DAT_IA_COUNTER_TYPE) */
	uint64_t reset[DOFI_IA_COUNTERS];
	uint64_t last[DOFI_IA_COUNTERS];
};

/* Taken before evd->lock. */
extern pthread_mutex_t dofi_count_base_lock;

/* Memory of the counters of one object, zeroed; NULL: no memory. `ia`, `number`: of its IA and its
 * own. It stays mapped after it has been returned, like that of the objects. */
void *dofi_counter_slot_new(enum dofi_counter_kind kind, uint32_t ia, unsigned int number);
void dofi_counter_slot_free(enum dofi_counter_kind kind, void *slot);
/* In a forked child: the counters are the parent's. Async-signal-safe. */
void dofi_counters_in_child(void);

/* The handle is invalid. */
void dofi_count_base_free(struct dofi_count_base **base);

/* Counts an event of the IA. No lock. */
#define DOFI_COUNT_IA(ia, name) DOFI_COUNT_SHARED((ia)->counts->n[DOFI_IA_##name], 1)

/* Counts an object that has become valid, or invalid. */
void dofi_count_object(struct dofi_ia_slot *ia, DAT_HANDLE_TYPE type, bool created);
/* Counts the memory of one object. */
void dofi_count_memory(struct dofi_ia_slot *ia, size_t bytes, bool allocated);
/* A connection ends in order. */
void dofi_count_disconnected(struct dofi_ia_slot *ia, bool by_us);
/* Counts the end of a connection or of an attempt. */
void dofi_count_conn_end(struct dofi_ia_slot *ia, DAT_EVENT_NUMBER number);
/* Counts an event of the asynchronous EVD; of_ep: it concerns an EP. */
void dofi_count_async(struct dofi_ia_slot *ia, DAT_EVENT_NUMBER number, bool of_ep);

#endif
