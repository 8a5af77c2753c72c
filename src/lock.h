/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the locks of the library, in the order in which they are taken. */
#ifndef DATI_LOCK_H
#define DATI_LOCK_H

#include <pthread.h>

/* Held while the library starts. */
extern pthread_mutex_t dati_start_lock;

/*
 * Held around dlopen and dlclose, which the loader serialises anyway, and while a library gets our
 * collector. Recursive: a constructor may open another IA.
 */
extern pthread_mutex_t dati_loader_lock;

/*
 * One lock protects both registries and the table of IAs. It is never held while a library is
 * loaded or unloaded, nor while provider code runs: providers call back into the registry.
 * dati_changed is signalled when a static entry or an IA leaves its transitory state.
 */
extern pthread_mutex_t dati_lock;
extern pthread_cond_t dati_changed;

/* Protects what has been reported. */
extern pthread_mutex_t dati_diag_lock;

#endif /* DATI_LOCK_H */
