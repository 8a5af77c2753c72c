/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the ranking that orders the listing of registry entries. */
#ifndef DATI_RANK_H
#define DATI_RANK_H

#include "static.h"

#define DATI_RDMA_DEVICES "/sys/class/infiniband/"

/*
 * Sets the rank of each entry: 0: of this library's version and probably able to open; 1: unable
 * to open; 2: of another version.
 */
#define DATI_RANKS 3
void dati_rank(struct dati_static *entries);

/*
 * True if the entry is a legacy name that probably opens through our provider only. Enters the
 * loader: call it without locks, for an entry that is not transient.
 */
bool dati_only_last_resort(const struct dati_static *st);

bool dati_is_rdma_device(const char *name);

#endif /* DATI_RANK_H */
