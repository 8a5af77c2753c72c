/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting requests to soft-iWARP. */
#ifndef DOFI_SIW_POST_H
#define DOFI_SIW_POST_H

#include "fabric/fab.h"

/* Makes posts to a soft-iWARP device succeed if the request was queued. The domain is open. */
void dofi_siw_post_settle(const struct dofi_fab *fab);

#endif
