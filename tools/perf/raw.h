/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the raw twin's connection part and data part share. */
#ifndef DAT_PERF_RAW_H
#define DAT_PERF_RAW_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "layer.h"

/* The entry points of libfabric that are symbols; it is loaded, not linked. */
struct raw_lib {
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	const char *(*strerror)(int err);
};

struct raw_dev {
	struct perf_dev base;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_av *av;
	struct fi_info *connreq;
	bool unconnected;
	bool lacks_op, lacks_srx; /* the provider does not support the case */
};

struct raw_hub {
	struct perf_hub base;
	struct fid_cq *cq[2];
	int cq_fd[2];
	struct fid_ep *srx;
	struct fid_mr *mr;
	void *desc;
};

struct raw_side {
	struct perf_side base;
	struct fid_ep *ep;
	fi_addr_t dest;
	void *desc;
	uint64_t write_flags;
	bool more;
	bool connected;
};

extern struct raw_lib raw_lib;

int raw_error(int err, const char *call);

static inline struct raw_dev *raw_dev(struct perf_dev *dev)
{
	return (struct raw_dev *)dev;
}

static inline struct raw_hub *raw_hub(struct perf_hub *hub)
{
	return (struct raw_hub *)hub;
}

static inline struct raw_side *raw_side(struct perf_side *s)
{
	return (struct raw_side *)s;
}

int raw_close_fid(struct fid *fid, const char *what);

/* raw_hub.c */
int raw_hub_open(struct perf_dev *dev, struct perf_hub **hub);
int raw_hub_close(struct perf_hub *hub);
int raw_side_open(struct perf_hub *hub, struct perf_side **side);
int raw_side_close(struct perf_side *s);

/* raw_cm.c */
int raw_listen(struct perf_dev *dev, struct perf_listen_addr *listen_addr);
int raw_make_ep(struct raw_side *r, struct fi_info *info);
int raw_connect(struct perf_side *s, const struct perf_listen_addr *listen_addr);
int raw_accept(struct perf_side *s);
int raw_established(struct perf_side *s);
int raw_exchange_names(struct perf_side *s);
int raw_disconnect(struct perf_side *s);

/* raw_data.c */
int raw_post_recv(struct perf_side *s, struct perf_slot *slot);
int raw_post_shared(struct perf_hub *hub, struct perf_slot *slot);
int raw_post(struct perf_side *s, const struct perf_work *w);
int raw_reap(struct perf_hub *hub, enum perf_queue q, int max);
int raw_wait(struct perf_hub *hub, enum perf_queue q, int max, int timeout_ms);
int raw_wait_any(struct perf_hub *hub, int timeout_ms);

#endif
