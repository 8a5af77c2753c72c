/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of datagram endpoints. */
#ifndef DOFI_DATA_UD_MESSAGE_H
#define DOFI_DATA_UD_MESSAGE_H

#include "object/ud.h"

/* Sends what has been appended to the queue of requests; reads waiting datagrams into receives
 * that have been appended. Caller holds ep->lock. */
void dofi_ud_submit(struct dofi_ep *ep, struct dofi_queue *q);
/* Reads datagrams that have arrived. Does nothing if the EP has been freed. */
void dofi_ud_receive(struct dofi_ep *ep);
/* Completes all posted receives as flushed. */
void dofi_ud_flush(struct dofi_ep *ep);

#endif
