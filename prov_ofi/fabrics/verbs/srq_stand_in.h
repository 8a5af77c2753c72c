/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands for a device's shared receive context when receives are posted to it: libfabric would
 * crash when one fails (srq_stand_in.c). */
#ifndef DOFI_SRQ_STAND_IN_H
#define DOFI_SRQ_STAND_IN_H

#include "fabric/fab.h"

/* False: this libfabric crashes, and its contexts differ from those that can be stood in for. */
bool dofi_srq_stand_in_fits(const struct dofi_fab *fab);
/* *out: what to post receives to, in place of `srx`; the context itself if libfabric does not
 * crash. 0 or a negative error. */
int dofi_srq_stand_in(const struct dofi_fab *fab, struct fid_ep *srx, struct fid_ep **out);
/* Frees it, after `srx` has been closed. */
void dofi_srq_stand_in_free(struct fid_ep *srx, struct fid_ep *stand_in);

#endif
