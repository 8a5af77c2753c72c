/* SPDX-License-Identifier: BSD-2-Clause */
/* What do vendors add for all levels of DAT? Nothing on this platform. */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif /* _DAT_VENDOR_SPECIFIC_H_ */
