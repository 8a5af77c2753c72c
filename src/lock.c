/* SPDX-License-Identifier: BSD-2-Clause */
/* The locks of the library. */
#include "config.h"

#include "dati_api.h"
#include "lock.h"

pthread_mutex_t dati_start_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t dati_loader_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t dati_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t dati_changed = PTHREAD_COND_INITIALIZER;
pthread_mutex_t dati_diag_lock = PTHREAD_MUTEX_INITIALIZER;
