/* SPDX-License-Identifier: BSD-2-Clause */
/* The API version and the thread-safety that a program requests. */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

/* Version of the interface in these headers; dat_ia_open() hands it to the registry. */
#define DAT_VERSION_MAJOR 2
#define DAT_VERSION_MINOR 0

/*
 * What dat_ia_open() requests. A program that calls DAT from several threads
 * defines DAT_THREADSAFE as DAT_TRUE before it includes udat.h; the registry
 * then finds only providers registered as thread-safe.
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE DAT_FALSE
#endif

/*
 * Extension calls and members exist in every build of 2.0; the name is defined
 * because programs test it.
 */
#ifndef DAT_EXTENSIONS
#define DAT_EXTENSIONS 1
#endif

#endif /* _UDAT_CONFIG_H_ */
