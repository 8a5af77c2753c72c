/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares what the fake fabrics of the fuzz targets have in common. */
#ifndef FUZZ_FAKE_H
#define FUZZ_FAKE_H

#include "fabric/fab.h"
#include "fabric/fab_lib.h"
#include "fuzz.h"

#define FAKE_ROOM 4096

struct fake_posted {
	const void *owner; /* the endpoint, or the shared receive context */
	void *context;
	struct iovec iov[4];
	size_t count;
};

struct fake_queue {
	struct fake_posted at[FAKE_ROOM];
	unsigned int n;
};

/* They complete at the next read of the completion queue, unless fake_held. */
extern struct fake_queue fake_sends;
extern bool fake_held;
/* Queues have descriptors. */
extern bool fake_waits;
/* Number of the next operations that find no room. */
extern unsigned int fake_refusals;

struct fake_posted fake_take(struct fake_queue *q, unsigned int i);
/* The oldest one of that owner, NULL: of any; -1: none. */
int fake_oldest(const struct fake_queue *q, const void *owner);
/* True: there is no room; counts it. */
bool fake_refused(void);
ssize_t fake_post(struct fake_queue *q, const void *owner, void *context, const struct iovec *iov,
		  size_t count);
/* The operation has completed, with an error unless err is 0. */
void fake_finish(const struct fake_posted *p, uint64_t flags, size_t len, int err);
/* The operations of that owner fail. */
void fake_cancel(struct fake_queue *q, const void *owner, uint64_t flags);
bool fake_has_completions(void);
void fake_fail_send(int err);

/* A new object of libfabric, whose fid comes first; `size`: of all of it. */
void *fake_object(size_t size, size_t fclass);
/* True if everything has been closed. */
bool fake_closed(void);
/* The target's part of closing an object. */
void fake_closing(struct fid *fid);

ssize_t fake_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
		  void *context);
int fake_open_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		 void *context);

/* Fills dofi_lib, and drops all operations. adapt: changes what fi_getinfo returns. */
void fake_open(uint32_t libfabric, void (*adapt)(struct fi_info *info),
	       int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context));

#endif
