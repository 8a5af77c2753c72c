/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts internal results (0, -errno, -FI_*) to DAT results. */
#ifndef DOFI_ERR_H
#define DOFI_ERR_H

#include "base/dat_version.h"

struct dofi_ep;

/* Class, type and subtype of an internal error, for calls that create or reach an object. */
DAT_RETURN dofi_ret(int err);
/* INVALID_STATE with the subtype of the given endpoint state. */
DAT_RETURN dofi_ret_ep_state(DAT_EP_STATE state);

#endif
