/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of a device in libibverbs, whose inline functions have made this layout a part of
 * every program. */
#ifndef DOFI_DEVICE_CALLS_H
#define DOFI_DEVICE_CALLS_H

#include <stddef.h>
#include <stdint.h>
#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>
#define HAVE_VERBS_H 1
#endif

#define CALLS_BEFORE_POLL 11
#define CALLS_BEFORE_SRQ 8
#define CALLS_BEFORE_SEND 4

struct device_recv;
struct device_calls;

/* How a request of a send queue begins. */
struct device_send {
	uint64_t id;
	struct device_send *next;
	void *segments;
	int count;
	int opcode;
};

#define DEVICE_SEND_READ 4 /* IBV_WR_RDMA_READ */

struct device_completion {
	uint64_t id;
	uint32_t rest[10];
};

/* How a shared receive queue, a queue pair and a completion queue begin. */
struct device_queue {
	struct device_calls *calls;
};

struct device_calls {
	void *device;
	void (*first[CALLS_BEFORE_POLL])(void);
	int (*poll_cq)(struct device_queue *queue, int most, struct device_completion *done);
	void (*second[CALLS_BEFORE_SRQ])(void);
	int (*post_srq_recv)(struct device_queue *queue, struct device_recv *recv,
			     struct device_recv **refused);
	void (*third[CALLS_BEFORE_SEND])(void);
	int (*post_send)(struct device_queue *queue, struct device_send *send,
			 struct device_send **refused);
};

#ifdef HAVE_VERBS_H
_Static_assert(offsetof(struct device_queue, calls) == offsetof(struct ibv_srq, context) &&
		       offsetof(struct device_queue, calls) == offsetof(struct ibv_qp, context) &&
		       offsetof(struct device_queue, calls) == offsetof(struct ibv_cq, context),
	       "a queue of libibverbs");
_Static_assert(offsetof(struct device_calls, poll_cq) ==
			       offsetof(struct ibv_context, ops.poll_cq) &&
		       offsetof(struct device_calls, post_srq_recv) ==
			       offsetof(struct ibv_context, ops.post_srq_recv) &&
		       offsetof(struct device_calls, post_send) ==
			       offsetof(struct ibv_context, ops.post_send),
	       "the functions of a device of libibverbs");
_Static_assert(offsetof(struct device_send, id) == offsetof(struct ibv_send_wr, wr_id) &&
		       offsetof(struct device_send, next) == offsetof(struct ibv_send_wr, next) &&
		       offsetof(struct device_send, opcode) ==
			       offsetof(struct ibv_send_wr, opcode) &&
		       DEVICE_SEND_READ == IBV_WR_RDMA_READ,
	       "a send request of libibverbs");
_Static_assert(offsetof(struct device_completion, id) == offsetof(struct ibv_wc, wr_id) &&
		       sizeof(struct device_completion) == sizeof(struct ibv_wc),
	       "a completion of libibverbs");
#endif

#endif
