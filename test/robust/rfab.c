/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements a peer that uses libfabric directly. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "../fabrics/fabrics.h"
#include "rfab.h"
#include "rlib.h"

#define DATA_MAX RF_CM_DATA

struct rf {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
};

static struct {
	int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
		       struct fi_info **);
	void (*freeinfo)(struct fi_info *);
	struct fi_info *(*dupinfo)(const struct fi_info *);
	int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *);
} lib;

static bool rf_load(void)
{
	void *so;

	if (lib.fabric)
		return true;
	/* A library that libfabric loads replaces the handlers of fatal signals. */
	setenv("IPATH_NO_BACKTRACE", "1", 1);
	so = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return false;
	*(void **)&lib.getinfo = dlsym(so, "fi_getinfo");
	*(void **)&lib.freeinfo = dlsym(so, "fi_freeinfo");
	*(void **)&lib.dupinfo = dlsym(so, "fi_dupinfo");
	*(void **)&lib.fabric = dlsym(so, "fi_fabric");
	return lib.getinfo && lib.freeinfo && lib.dupinfo && lib.fabric;
}

bool rf_usable(void)
{
	const struct test_fabric *fabric = test_fabric();

	return fabric && !strcmp(fabric->name, "tcp");
}

#define FI_OK(call) \
	do { \
		long ret_ = (call); \
		RL_CHECK(!ret_, "%s returned %ld", #call, ret_); \
	} while (0)

static struct fi_info *rf_getinfo(uint16_t port)
{
	struct sockaddr_storage ss;
	struct fi_info *hints, *info = NULL;
	char node[INET6_ADDRSTRLEN], service[8];
	const void *ip;

	memcpy(&ss, rl_board->addr, sizeof(rl_board->addr));
	ip = ss.ss_family == AF_INET6 ? (const void *)&((struct sockaddr_in6 *)&ss)->sin6_addr
				      : (const void *)&((struct sockaddr_in *)&ss)->sin_addr;
	inet_ntop(ss.ss_family, ip, node, sizeof(node));
	snprintf(service, sizeof(service), "%u", port);
	hints = lib.dupinfo(NULL);
	RL_CHECK(hints, "fi_dupinfo");
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_MSG;
	hints->addr_format = ss.ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	hints->fabric_attr->prov_name = strdup("tcp");
	FI_OK(lib.getinfo(FI_VERSION(1, 14), node, service, 0, hints, &info));
	lib.freeinfo(hints);
	return info;
}

static void rf_make_ep(struct rf *rf)
{
	FI_OK(fi_endpoint(rf->domain, rf->info, &rf->ep, rf));
	FI_OK(fi_ep_bind(rf->ep, &rf->eq->fid, 0));
	FI_OK(fi_ep_bind(rf->ep, &rf->cq->fid, FI_TRANSMIT | FI_RECV));
	FI_OK(fi_enable(rf->ep));
}

struct rf *rf_open(uint16_t port)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD };
	struct rf *rf = calloc(1, sizeof(*rf));

	RL_CHECK(rf && rf_load(), "no libfabric");
	rf->info = rf_getinfo(port);
	FI_OK(lib.fabric(rf->info->fabric_attr, &rf->fabric, NULL));
	FI_OK(fi_eq_open(rf->fabric, &eq_attr, &rf->eq, NULL));
	FI_OK(fi_domain(rf->fabric, rf->info, &rf->domain, NULL));
	FI_OK(fi_cq_open(rf->domain, &cq_attr, &rf->cq, NULL));
	rf_make_ep(rf);
	return rf;
}

void rf_close(struct rf *rf)
{
	fi_close(&rf->ep->fid);
	fi_close(&rf->cq->fid);
	fi_close(&rf->eq->fid);
	fi_close(&rf->domain->fid);
	fi_close(&rf->fabric->fid);
	lib.freeinfo(rf->info);
	free(rf);
}

void rf_connect(struct rf *rf, const void *data, size_t len)
{
	FI_OK(fi_connect(rf->ep, rf->info->dest_addr, data, len));
}

static enum rf_event read_error(struct rf *rf)
{
	uint8_t data[DATA_MAX];
	struct fi_eq_err_entry err;

	memset(&err, 0, sizeof(err));
	err.err_data = data;
	err.err_data_size = sizeof(data);
	if (fi_eq_readerr(rf->eq, &err, 0) < 0)
		return RF_ERROR;
	return err.err == FI_ECONNREFUSED ? RF_REFUSED : RF_ERROR;
}

enum rf_event rf_wait(struct rf *rf, unsigned int ms)
{
	struct rl_limit limit = rl_limit(ms);
	union {
		struct fi_eq_cm_entry cm;
		uint8_t buf[sizeof(struct fi_eq_cm_entry) + DATA_MAX];
	} entry;
	uint32_t event = 0;

	for (;;) {
		ssize_t n = fi_eq_sread(rf->eq, &event, &entry, sizeof(entry), 20, 0);
		struct fi_cq_entry ignored;

		/* Reading the CQ drives progress, also of the shutdown event. */
		(void)!fi_cq_read(rf->cq, &ignored, 0);
		if (n == -FI_EAVAIL)
			return read_error(rf);
		if (n >= 0)
			break;
		if (rl_passed(&limit))
			return RF_NOTHING;
	}
	switch (event) {
	case FI_CONNECTED:
		return RF_CONNECTED;
	case FI_SHUTDOWN:
		return RF_SHUTDOWN;
	default:
		return RF_ERROR;
	}
}

const char *rf_event_text(enum rf_event event)
{
	static const char *const texts[] = { "nothing", "a connection", "a shutdown", "a rejection",
					     "an error" };

	return texts[event];
}
