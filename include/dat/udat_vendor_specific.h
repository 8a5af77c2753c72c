/* SPDX-License-Identifier: BSD-2-Clause */
/* What do vendors add at user level? Nothing on this platform. */
#ifndef _UDAT_VENDOR_SPECIFIC_H_
#define _UDAT_VENDOR_SPECIFIC_H_

#include <dat/dat_vendor_specific.h>

#endif /* _UDAT_VENDOR_SPECIFIC_H_ */
