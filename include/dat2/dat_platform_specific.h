/* SPDX-License-Identifier: BSD-2-Clause */
/* Base types of DAT on this platform. */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

/* Direction of a parameter, for the reader only. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

/* Calling convention and linkage of the API: the platform's own. */
#define DAT_API
#define DAT_EXPORT extern

/* Lets the headers pass strict modes of older languages. */
#ifdef __GNUC__
#define DAT_C_EXTENSION __extension__
#define DAT_INLINE __inline__
#else
#define DAT_C_EXTENSION
#define DAT_INLINE inline
#endif

/* C++98 hides this macro of <stdint.h> in some C libraries. */
#ifndef UINT64_C
#ifdef __LP64__
#define UINT64_C(c) c ## UL
#else
#define UINT64_C(c) c ## ULL
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Integers. */
typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;
typedef int DAT_COUNT;			/* number of objects, events, segments or bytes */
typedef void *DAT_PVOID;
typedef DAT_UINT64 DAT_PADDR;		/* physical address; unused at user level */
typedef int DAT_FD;			/* file descriptor of a CNO */

#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
#endif
DAT_C_EXTENSION typedef unsigned long long DAT_UVERYLONG;
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC diagnostic pop
#endif

/* Addresses of IAs. A pointer to one may lead to any family: look at sa_family. */
typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

#define DAT_AF_INET AF_INET
#define DAT_AF_INET6 AF_INET6

/* Alignment in bytes that suits the buffers of every provider. */
#define DAT_OPTIMAL_ALIGNMENT 256

/* An IA handle as a number and back. */
#define DAT_IA_HANDLE_TO_UL(a) ((unsigned long)(a))
#define DAT_UL_TO_IA_HANDLE(a) ((DAT_IA_HANDLE)(unsigned long)(a))

/* A communicator: what socket(2) would be asked for. New in 2.0. */
typedef struct dat_comm {
	int domain;	/* address family */
	int type;	/* kind of socket */
	int protocol;	/* protocol number */
} DAT_COMM;

#ifdef __cplusplus
}
#endif

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
