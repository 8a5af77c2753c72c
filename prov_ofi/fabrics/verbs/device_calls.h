/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of a device in libibverbs, whose inline functions have made this layout a part of
 * every program. */
#ifndef DOFI_DEVICE_CALLS_H
#define DOFI_DEVICE_CALLS_H

#include <stddef.h>
#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>
#define HAVE_VERBS_H 1
#endif

#define CALLS_BEFORE_SRQ 20
#define CALLS_BEFORE_SEND 4

struct device_recv;
struct device_send;
struct device_calls;

/* How a shared receive queue and a queue pair begin. */
struct device_queue {
	struct device_calls *calls;
};

struct device_calls {
	void *device;
	void (*first[CALLS_BEFORE_SRQ])(void);
	int (*post_srq_recv)(struct device_queue *queue, struct device_recv *recv,
			     struct device_recv **refused);
	void (*next[CALLS_BEFORE_SEND])(void);
	int (*post_send)(struct device_queue *queue, struct device_send *send,
			 struct device_send **refused);
};

#ifdef HAVE_VERBS_H
_Static_assert(offsetof(struct device_queue, calls) == offsetof(struct ibv_srq, context) &&
		       offsetof(struct device_queue, calls) == offsetof(struct ibv_qp, context),
	       "a queue of libibverbs");
_Static_assert(offsetof(struct device_calls, post_srq_recv) ==
			       offsetof(struct ibv_context, ops.post_srq_recv) &&
		       offsetof(struct device_calls, post_send) ==
			       offsetof(struct ibv_context, ops.post_send),
	       "the functions of a device of libibverbs");
#endif

#endif
