/* SPDX-License-Identifier: BSD-2-Clause */
/* Internal results (0, -errno, -FI_*) become DAT results in one place. */
#ifndef DOFI_ERR_H
#define DOFI_ERR_H

#include "base/dat_version.h"

struct dofi_ep;

/* For calls that create or reach something: class, type and subtype of an internal error. */
DAT_RETURN dofi_ret(int err);
/* INVALID_STATE with the subtype of the given endpoint state. */
DAT_RETURN dofi_ret_ep_state(DAT_EP_STATE state);

#endif
