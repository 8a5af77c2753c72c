/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues: what EPs and the IA need of them. */
#ifndef DOFI_DATA_SRQ_H
#define DOFI_DATA_SRQ_H

#include "object/srq.h"

/* Attach the EP to the SRQ from which it receives; detach it. */
void dofi_srq_attach(struct dofi_srq *srq, struct dofi_ep *ep);
void dofi_srq_detach(struct dofi_ep *ep);
void dofi_srq_destroy(struct dofi_srq *srq);

#endif
