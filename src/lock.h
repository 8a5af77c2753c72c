/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the lock of the registries. */
#ifndef DATI_LOCK_H
#define DATI_LOCK_H

#include <pthread.h>

/*
 * One lock protects both registries and the table of IAs. It is never held while a library is
 * loaded or unloaded, nor while provider code runs: providers call back into the registry.
 * dati_changed is signalled when a static entry or an IA leaves its transitory state.
 */
extern pthread_mutex_t dati_lock;
extern pthread_cond_t dati_changed;

#endif /* DATI_LOCK_H */
