/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to memory of the program that a peer writes or reads by RDMA. As with a device, the
 * program may access it at the same time, so these are hidden from thread checkers. */
#ifndef DOFI_MSGEP_PEER_MEMORY_H
#define DOFI_MSGEP_PEER_MEMORY_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static inline void msgep_peer_memory_begin(void)
{
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static inline void msgep_peer_memory_end(void)
{
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
static inline void msgep_peer_memory_begin(void)
{
}

static inline void msgep_peer_memory_end(void)
{
}
#endif

#endif
