/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of fabrics; selects one and opens its libfabric objects; compares adapters. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "diag/diag.h"
#include "fabrics/emulated/emulated.h"
#include "fabric/fab_info.h"
#include "fabric/fab_lib.h"
#include "fabric/fab_ops.h"
#include "fabric/netif.h"
#include "fabrics/verbs/device.h"
#include "fabrics/fabrics.h"
#include "msgep/msgep.h"
#include "object/limits.h"
#include "proto/cm_proto.h"
#include "proto/cm_secret.h"

/* Connected endpoints of this library over a transport. */
#define EMULATED(n, prov, id, w) \
	.name = n, .prov_name = prov, .wire_id = id, .ops = &dofi_emulated_ops, \
	.max_iov = MSGEP_IOV_MAX, .cm_data = MSGEP_CM_DATA, .cm_header = DOFI_CM_HDR, \
	.transport = &(w)
/* The same, and shared memory for peers on this host. */
#define EMULATED_AND_SHM(n, prov, id, w) \
	EMULATED(n "+shm", prov, (id) | DOFI_CM_AND_SHM, w), .local_transport = &msgep_transport_shm
/* The IA's address is that of a network interface, or of an RDMA device. */
#define AT_INTERFACE .find_address = dofi_emulated_address, .find_info = dofi_emulated_find
#define AT_DEVICE .find_info = dofi_verbs_find_rdm, .over_device = true

/* clang-format off */
/* The last one has no name. */
static const struct dofi_fabric_desc fabrics[] = {
	/* Wire id 1 was another protocol over tcp: it is not used again. */
	{ EMULATED("tcp", "tcp", 10, msgep_transport_pair), AT_INTERFACE, .answers_late = true },
	{ .name = "verbs", .prov_name = "verbs", .wire_id = 2, .ops = &dofi_verbs_ops,
	  .find_info = dofi_verbs_find, .seals_cm = true, .max_iov = 16, .cm_data = 55,
	  .cm_parts = true, .cm_header = DOFI_CM_BRIEF, .rx_depth = 4096, .tx_depth = 1024 },
	{ EMULATED("shm", "shm", DOFI_CM_SHM, msgep_transport_shm), AT_INTERFACE,
	  .qual_in_name = true, .without_libfabric = true, .host_only = true },
	{ EMULATED("rxm", "tcp;ofi_rxm", 4, msgep_transport_rdm), AT_INTERFACE,
	  .answers_late = true },
	{ EMULATED("efa", "efa", 5, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED("psm3", "psm3", 6, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED("cxi", "cxi", 7, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED("opx", "opx", 8, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED("rxm-verbs", "verbs;ofi_rxm", 11, msgep_transport_rdm), AT_DEVICE },
	{ EMULATED_AND_SHM("tcp", "tcp", 10, msgep_transport_pair), AT_INTERFACE },
	{ EMULATED_AND_SHM("rxm", "tcp;ofi_rxm", 4, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED_AND_SHM("efa", "efa", 5, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED_AND_SHM("psm3", "psm3", 6, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED_AND_SHM("cxi", "cxi", 7, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED_AND_SHM("opx", "opx", 8, msgep_transport_rdm), AT_INTERFACE },
	{ EMULATED_AND_SHM("rxm-verbs", "verbs;ofi_rxm", 11, msgep_transport_rdm), AT_DEVICE },
	/* See msgep/rdm/rdm_constrained.c. */
	{ EMULATED("constrained", "tcp;ofi_rxm", 9, msgep_transport_rdm), AT_INTERFACE,
	  .hidden = true },
	/* Tests software atomic operations without a device. */
	{ EMULATED("delegating", "tcp", 12, msgep_transport_pair), AT_INTERFACE, .hidden = true,
	  .delegates_atomics = true },
	{ .name = NULL },
};
/* clang-format on */

/* Parsed IA parameter string. */
struct request {
	char provider[64];
	char domain[64];
	bool select; /* opens nothing, unless the choice depends on what opens */
};

static void fab_copy_value(char *dst, size_t room, const char *value, size_t len)
{
	snprintf(dst, room, "%.*s", (int)len, value);
}

/* "key=value" words; two bare words are "device port" of an old registry file, of which the
 * device counts only if it is a network interface, or an RDMA device, here. */
static void fab_parse_params(const char *params, struct request *request)
{
	union dofi_addr addr;
	char netdev[64];

	memset(request, 0, sizeof(*request));
	while (params && *params) {
		size_t len;

		while (isspace((unsigned char)*params))
			params++;
		len = strcspn(params, " \t");
		if (!strncmp(params, "provider=", 9)) {
			fab_copy_value(request->provider, sizeof(request->provider), params + 9,
				       len - 9);
		} else if (!strncmp(params, "domain=", 7)) {
			fab_copy_value(request->domain, sizeof(request->domain), params + 7,
				       len - 7);
		} else if (len && !memchr(params, '=', len) && !request->domain[0]) {
			fab_copy_value(request->domain, sizeof(request->domain), params, len);
			if (!dofi_device_known(request->domain) &&
			    dofi_netif_pick(request->domain, &addr, netdev, sizeof(netdev)))
				request->domain[0] = '\0';
		}
		params += len;
	}
	if (dofi_param_str(DOFI_STR_PROVIDER))
		fab_copy_value(request->provider, sizeof(request->provider),
			       dofi_param_str(DOFI_STR_PROVIDER), 63);
	if (dofi_param_str(DOFI_STR_DOMAIN))
		fab_copy_value(request->domain, sizeof(request->domain),
			       dofi_param_str(DOFI_STR_DOMAIN), 63);
}

static int fab_open_objects(struct dofi_fab *fab)
{
	struct fi_eq_attr eq_attr = { .size = 1024, .wait_obj = FI_WAIT_FD };
	const char *what = "fi_fabric";
	int ret;

	ret = fab->desc->ops->open_fabric(fab);
	if (ret)
		goto failed;
	what = "fi_domain";
	ret = fi_domain(fab->fabric, fab->info, &fab->domain, fab);
	if (ret)
		goto failed;
	if (fab->desc->ops->examine_domain)
		fab->desc->ops->examine_domain(fab);
	what = "fi_eq_open";
	ret = fi_eq_open(fab->fabric, &eq_attr, &fab->eq, fab);
	if (ret)
		goto failed;
	what = "the event queue's descriptor";
	ret = fi_control(&fab->eq->fid, FI_GETWAIT, &fab->eq_fd);
	if (ret)
		goto failed;
	if (fab->desc->ops->cm_fd)
		fab->cm_fd = dofi_forkfd(fab->desc->ops->cm_fd(fab->eq_fd));
	return 0;
failed:
	dofi_diag_object(fab, what, ret);
	return ret;
}

const char *dofi_fab_name(uint8_t wire_id)
{
	for (const struct dofi_fabric_desc *desc = fabrics; desc->name; desc++)
		if (desc->wire_id == wire_id)
			return desc->name;
	return "unknown";
}

static const struct dofi_fabric_desc *fab_find_desc(const char *name)
{
	for (const struct dofi_fabric_desc *desc = fabrics; desc->name; desc++)
		if (!strcmp(desc->name, name))
			return desc;
	return NULL;
}

static void fab_report_names(const char *name)
{
	char known[192] = "";

	for (const struct dofi_fabric_desc *desc = fabrics; desc->name; desc++)
		if (!desc->hidden)
			snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
				 desc == fabrics ? "" : ", ", desc->name);
	dofi_diag_fabric(name, known, fabrics[0].name);
}

/* Maximum length of an operation: the fabric's limit, and what a completion event can represent. */
static uint32_t fab_max_size(const struct dofi_fab *fab)
{
	size_t most = fab->info->ep_attr->max_msg_size - fab->msg_overhead;

	/* A message prefix has no room for the length of a longer write with immediate data. */
	if (!most || most > DOFI_MAX_MESSAGE - fab->msg_overhead)
		most = DOFI_MAX_MESSAGE - fab->msg_overhead;
	return (uint32_t)most;
}

static int fab_find_and_open(struct dofi_fab *fab, const char *wanted)
{
	int ret;

	fab->max_iov = fab->max_rdma_iov = fab->desc->max_iov;
	fab->max_read_iov = fab->max_write_iov = fab->desc->max_iov;
	ret = fab->desc->find_info(fab, wanted);
	return ret ? ret : fab_open_objects(fab);
}

/* Calls find_info, or fab_find_and_open, with libfabric loaded. */
static int fab_with_lib(struct dofi_fab *fab, const char *wanted,
			int (*find)(struct dofi_fab *fab, const char *wanted))
{
	int ret = dofi_lib_load();

	if (ret)
		return ret;
	fab->lib_version = dofi_lib.version();
	ret = find(fab, wanted);
	dofi_lib_signals_restore();
	return ret;
}

static void fab_init(struct dofi_fab *fab, const struct dofi_fabric_desc *desc)
{
	memset(fab, 0, sizeof(*fab));
	fab->eq_fd = fab->cm_fd = -1;
	fab->desc = desc;
}

/* Finds the address or the device, and opens nothing. libfabric is needed for devices only. */
static int fab_select_desc(struct dofi_fab *fab, const struct dofi_fabric_desc *desc,
			   const struct request *request)
{
	const char *wanted = request->domain[0] ? request->domain : NULL;

	fab_init(fab, desc);
	if (desc->find_address)
		return desc->find_address(fab, wanted);
	return fab_with_lib(fab, wanted, desc->find_info);
}

static int fab_open_desc(struct dofi_fab *fab, const struct dofi_fabric_desc *desc,
			 const struct request *request)
{
	const char *wanted = request->domain[0] ? request->domain : NULL;
	int ret;

	fab_init(fab, desc);
	ret = desc->find_address ? desc->find_address(fab, wanted) : 0;
	if (!ret)
		ret = desc->without_libfabric ? fab_find_and_open(fab, wanted)
					      : fab_with_lib(fab, wanted, fab_find_and_open);
	if (ret) {
		dofi_fab_close(fab);
		return ret;
	}
	fab->max_priv = desc->cm_parts ? DOFI_CM_PRIV_MAX : desc->cm_data - desc->cm_header;
	fab->max_size = fab_max_size(fab);
	return 0;
}

/* No other fabric follows if this one fails. */
static int fab_open_last(struct dofi_fab *fab, const struct dofi_fabric_desc *desc,
			 const struct request *request)
{
	return request->select ? fab_select_desc(fab, desc, request)
			       : fab_open_desc(fab, desc, request);
}

/* True if libfabric has the provider with the required capabilities. Logs nothing. */
static bool fab_is_offered(const struct dofi_fabric_desc *desc)
{
	struct fi_info *hints, *info = NULL;
	bool found = false;

	if (dofi_lib_load())
		return false;
	hints = dofi_lib.dupinfo(NULL);
	if (hints) {
		hints->ep_attr->type = FI_EP_RDM;
		hints->caps = FI_MSG;
		hints->mode = ~0ull;
		hints->domain_attr->mr_mode = DOFI_MR_ANY;
		hints->fabric_attr->prov_name = strdup(desc->prov_name);
		found = hints->fabric_attr->prov_name && !dofi_info_get(hints, &info);
		dofi_lib.freeinfo(hints);
	}
	if (info)
		dofi_lib.freeinfo(info);
	dofi_lib_signals_restore();
	return found;
}

/* No fabric is named, and no RDMA device can be used: the first of these that opens, else
 * tcp+shm. */
static int fab_open_best(struct dofi_fab *fab, const struct request *request)
{
	static const char *const best[] = { "efa+shm", "cxi+shm", "opx+shm", "psm3+shm" };

	for (size_t i = 0; i < sizeof(best) / sizeof(*best); i++) {
		const struct dofi_fabric_desc *desc = fab_find_desc(best[i]);

		if (fab_is_offered(desc) && !fab_open_desc(fab, desc, request))
			return 0;
	}
	return fab_open_last(fab, fab_find_desc("tcp+shm"), request);
}

static int fab_open_any(struct dofi_fab *fab, const struct request *request)
{
	const struct dofi_fabric_desc *verbs = fab_find_desc("verbs");

	if (dofi_device_known(request->domain))
		return fab_open_last(fab, verbs, request);
	/* Devices may exist, but not below the requested interface. */
	if (dofi_device_any() && !fab_open_desc(fab, verbs, request))
		return 0;
	return fab_open_best(fab, request);
}

static int fab_open_request(struct dofi_fab *fab, const struct request *request)
{
	const struct dofi_fabric_desc *desc;

	if (!*request->provider)
		return fab_open_any(fab, request);
	desc = fab_find_desc(request->provider);
	if (desc)
		return fab_open_last(fab, desc, request);
	fab_report_names(request->provider);
	return -FI_ENODATA;
}

int dofi_fab_open(struct dofi_fab *fab, const char *params)
{
	struct msgep_secret *secret;
	struct request request;
	int ret;

	memset(fab, 0, sizeof(*fab));
	fab->eq_fd = -1;
	/* First: a secret that cannot be used leaves no fabric. */
	ret = msgep_secret_load(&secret);
	if (ret)
		return ret;
	fab_parse_params(params, &request);
	ret = fab_open_request(fab, &request);
	/* 1.2 has none, and datagrams carry no proof of the secret. */
	fab->datagrams = DOFI_API != 12 && !secret;
	if (!ret && fab->desc->seals_cm)
		fab->secret = secret;
	else
		msgep_secret_free(secret);
	return ret;
}

int dofi_fab_select(struct dofi_fab *fab, const char *params)
{
	struct request request;
	int ret;

	fab_init(fab, NULL);
	fab_parse_params(params, &request);
	request.select = true;
	dofi_report_quiet(true);
	ret = fab_open_request(fab, &request);
	dofi_report_quiet(false);
	if (ret && !*request.provider)
		fab->desc = NULL;
	return ret;
}

/* "eth0:1" is an address of eth0. */
static bool fab_same_interface(const struct dofi_fab *a, const struct dofi_fab *b)
{
	size_t len = strcspn(a->netdev, ":");

	return len == strcspn(b->netdev, ":") && !strncmp(a->netdev, b->netdev, len) &&
	       !strcmp(a->device, b->device);
}

bool dofi_fab_connects(const struct dofi_fab *a, const struct dofi_fab *b)
{
	return dofi_cm_fabrics_match(a->desc->wire_id, b->desc->wire_id);
}

bool dofi_fab_related(const struct dofi_fab *a, const struct dofi_fab *b)
{
	return dofi_fab_connects(a, b) &&
	       (a->desc->host_only || b->desc->host_only || fab_same_interface(a, b));
}
