/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of IA names.
 *
 * A source of this folder calls those above it in this list:
 *
 *   provider_list.c  records of IA names
 *   ia_attr.c        attributes of adapters
 *   ia_open.c        opening and closing adapters
 *   ep_create.c      creating endpoints
 *   ep_attr.c        attributes of endpoints
 *   evd_wait.c       waiting for events
 *   csp.c            common service points (2.0)
 *   counter_calls.c  counters (2.0)
 *   ext_query.c      attributes of adapters that are not open (2.0)
 *   ext_ud.c         datagram endpoints (2.0)
 *   ha_related.c     whether two adapters use the same hardware (2.0)
 *   api_12.c         jump table of 1.2
 *   api_20.c         jump table of 2.0
 *   cancel_guard.c   jump table whose calls cannot be cancelled
 *   provider.c       registration
 */
#ifndef DOFI_API_PROVIDER_LIST_H
#define DOFI_API_PROVIDER_LIST_H

#include <pthread.h>

#include "object/ia.h"

/* Protects the list. Callers of the functions below hold it. */
extern pthread_mutex_t dofi_provider_lock;
/* The record of the name, registered or not; NULL: there is none. */
struct dofi_provider *dofi_provider_record(const char *name, DAT_BOOLEAN thread_safe);
/* Never freed: handles that the program keeps point to the jump tables. */
void dofi_provider_add(struct dofi_provider *p);

#endif
