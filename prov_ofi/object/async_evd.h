/* SPDX-License-Identifier: BSD-2-Clause */
/* The EVD on which an IA reports asynchronous events: its own, or that of an earlier open. */
#ifndef DOFI_ASYNC_EVD_H
#define DOFI_ASYNC_EVD_H

#include "object/evd.h"

/* async_evd.c */
/* Returns the asynchronous EVD of any IA that the handle denotes, or NULL. */
struct dofi_evd *dofi_async_find(DAT_EVD_HANDLE handle);
/* Creates the IA's asynchronous EVD or, if `handle` is one, shares that. 0 or a negative error. */
int dofi_async_open(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE handle);
/* Invalidates the handle of the IA's own EVD and stops other IAs from reporting on it. */
void dofi_async_retire(struct dofi_ia *ia);
/* Destroys the IA's own EVD, or stops reporting on that of another IA. */
void dofi_async_close(struct dofi_ia *ia);

/* evd_push.c */
/* A thread that reports holds it: the IA that created an asynchronous EVD may be closed while
 * others report on it. */
extern pthread_mutex_t dofi_async_lock;
/* Queues an event on the IA's asynchronous EVD if it still has one; most 0: within the granted
 * length, else like dofi_evd_push_extra. */
void dofi_async_push(struct dofi_ia *ia, const struct dofi_event *event, uint32_t most);
/* Queues an event about the IA or one of its objects on the asynchronous EVD. */
void dofi_async_event(struct dofi_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle,
		      DAT_COUNT reason);

#endif
