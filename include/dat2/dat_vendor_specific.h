/* SPDX-License-Identifier: BSD-2-Clause */
/* Vendor additions for all levels of DAT: none on this platform. */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif /* _DAT_VENDOR_SPECIFIC_H_ */
