/* SPDX-License-Identifier: BSD-2-Clause */
/* Which API version and default thread-safety does a program compile for? */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

#define DAT_VERSION_MAJOR 1
#define DAT_VERSION_MINOR 2

#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE DAT_FALSE
#endif

#endif /* _UDAT_CONFIG_H_ */
