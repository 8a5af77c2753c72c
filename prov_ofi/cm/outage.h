/* SPDX-License-Identifier: BSD-2-Clause */
/* Outages: what happens to an adapter whose device or address goes away.
 *
 * An outage that lasts ends all connections as broken, and the asynchronous EVD gets
 * DAT_ASYNC_ERROR_IA_CATASTROPHIC, once; one that is over in time costs nothing, since devices send
 * again what was lost. Only fabrics with ops->watch have outages; others see their connections
 * fail.
 *
 * Caller holds cm_lock, except in init, watch and close.
 */
#ifndef DOFI_OUTAGE_H
#define DOFI_OUTAGE_H

struct dofi_ia;

void dofi_outage_init(struct dofi_ia *ia);
/* Opens the descriptor at which changes are reported; the progress thread watches it. 0 or a
 * negative error. */
int dofi_outage_watch(struct dofi_ia *ia);
void dofi_outage_close(struct dofi_ia *ia);
/* The descriptor is readable. */
void dofi_outage_changed(struct dofi_ia *ia);
/* The program has closed the descriptors of the adapter. */
void dofi_outage_lost(struct dofi_ia *ia);
/* The fabric reports that the device has been removed. */
void dofi_outage_removed(struct dofi_ia *ia);

#endif
