/* SPDX-License-Identifier: BSD-2-Clause */
/* What do vendors add to dat.h? Nothing on this platform. */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif /* _DAT_VENDOR_SPECIFIC_H_ */
