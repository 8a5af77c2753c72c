/* SPDX-License-Identifier: BSD-2-Clause */
/* The order in which registry entries are listed. */
#ifndef DATI_RANK_H
#define DATI_RANK_H

#include "static.h"

#define DATI_RDMA_DEVICES "/sys/class/infiniband/"

/* Sets the rank of each entry of the list; 0: of this library's version, and nothing tells that it
 * cannot open; 1: something does; 2: of another version. */
#define DATI_RANKS 3
void dati_rank(struct dati_static *entries);

bool dati_is_rdma_device(const char *name);

#endif /* DATI_RANK_H */
