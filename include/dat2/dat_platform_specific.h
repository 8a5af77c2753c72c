/* SPDX-License-Identifier: BSD-2-Clause */
/* How do the base types of DAT map to this platform? */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define DAT_C_EXTENSION __extension__
#define DAT_INLINE __inline__
#else
#define DAT_C_EXTENSION
#define DAT_INLINE inline
#endif

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#ifndef UINT64_C
#ifdef __LP64__
#define UINT64_C(c) c ## UL
#else
#define UINT64_C(c) DAT_C_EXTENSION c ## ULL
#endif
#endif

#define DAT_API
#define DAT_EXPORT extern

#define DAT_IA_HANDLE_TO_UL(a) ((unsigned long)(a))
#define DAT_UL_TO_IA_HANDLE(a) ((DAT_IA_HANDLE)(unsigned long)(a))

#define DAT_OPTIMAL_ALIGNMENT 0x100
#define DAT_AF_INET AF_INET
#define DAT_AF_INET6 AF_INET6

typedef struct dat_comm DAT_COMM;

typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;
DAT_C_EXTENSION typedef unsigned long long DAT_UVERYLONG;
typedef void *DAT_PVOID;
typedef int DAT_COUNT;
typedef DAT_UINT64 DAT_PADDR;
typedef int DAT_FD;
typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

struct dat_comm {
	int domain;
	int type;
	int protocol;
};

#ifdef __cplusplus
}
#endif

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
