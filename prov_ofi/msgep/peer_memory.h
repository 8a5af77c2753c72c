/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the program that a peer writes or reads by RDMA, as a device would: the program may
 * look at it at any moment, and no thread checker is to be told of it. */
#ifndef DOFI_RDM_FOREIGN_H
#define DOFI_RDM_FOREIGN_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static inline void rdm_foreign_begin(void)
{
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static inline void rdm_foreign_end(void)
{
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
static inline void rdm_foreign_begin(void)
{
}

static inline void rdm_foreign_end(void)
{
}
#endif

#endif
