/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock of the registries. */
#include "config.h"

#include "dati_api.h"
#include "lock.h"

pthread_mutex_t dati_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t dati_changed = PTHREAD_COND_INITIALIZER;
