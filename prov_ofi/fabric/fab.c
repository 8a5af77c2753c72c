/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the libfabric objects of an IA. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/edit_distance.h"
#include "base/param.h"
#include "proto/cm_proto.h"
#include "fabric/verbs/device.h"
#include "fabric/fab.h"
#include "fabric/fab_info.h"
#include "fabric/fab_lib.h"
#include "object/limits.h"
#include "fabric/netif.h"
#include "proto/cm_secret.h"
#include "msgep/msgep.h"
#include "diag/diag.h"

/* The API version requested of libfabric: the oldest that has all we use, so that a binary
 * behaves the same on every later library. */

/* Connected endpoints of our own over a transport. */
#define TRANSPORT_DESC(n, prov, id, w) \
	.name = n, .prov_name = prov, .wire_id = id, .max_iov = 4, .cm_data = MSGEP_CM_DATA, \
	.cm_header = DOFI_CM_HDR, .transport = &(w)
/* The same, and shared memory for peers on this host. */
#define DESC_AND_SHM(n, prov, id, w) \
	TRANSPORT_DESC(n "+shm", prov, (id) | DOFI_CM_AND_SHM, w), .local_transport = &msgep_transport_shm
#define RDM_AND_SHM(n, prov, id) \
	DESC_AND_SHM(n, prov, id, msgep_transport_rdm)
#define RXM_VERBS "verbs;ofi_rxm"

static const struct dofi_fabric_desc descs[] = {
	/* Wire id 1 was another protocol over tcp: it is not used again. */
	{ TRANSPORT_DESC("tcp", "tcp", 10, msgep_transport_pair) },
	{ .name = "verbs", .prov_name = "verbs", .wire_id = 2, .device = true, .max_iov = 4,
	  .cm_data = 55, .cm_header = DOFI_CM_BRIEF, .rx_depth = 4096, .tx_depth = 1024 },
	{ TRANSPORT_DESC("shm", "shm", DOFI_CM_SHM, msgep_transport_shm), .qual_in_name = true },
	{ TRANSPORT_DESC("rxm", "tcp;ofi_rxm", 4, msgep_transport_rdm) },
	{ TRANSPORT_DESC("efa", "efa", 5, msgep_transport_rdm) },
	{ TRANSPORT_DESC("psm3", "psm3", 6, msgep_transport_rdm) },
	{ TRANSPORT_DESC("cxi", "cxi", 7, msgep_transport_rdm) },
	{ TRANSPORT_DESC("opx", "opx", 8, msgep_transport_rdm) },
	{ TRANSPORT_DESC("rxm-verbs", RXM_VERBS, 11, msgep_transport_rdm), .over_device = true },
	{ DESC_AND_SHM("tcp", "tcp", 10, msgep_transport_pair) },
	{ RDM_AND_SHM("rxm", "tcp;ofi_rxm", 4) },
	{ RDM_AND_SHM("efa", "efa", 5) },
	{ RDM_AND_SHM("psm3", "psm3", 6) },
	{ RDM_AND_SHM("cxi", "cxi", 7) },
	{ RDM_AND_SHM("opx", "opx", 8) },
	{ RDM_AND_SHM("rxm-verbs", RXM_VERBS, 11), .over_device = true },
	/* See msgep/rdm/rdm_constrained.c. */
	{ TRANSPORT_DESC("constrained", "tcp;ofi_rxm", 9, msgep_transport_rdm), .hidden = true },
};
#define DESCS (sizeof(descs) / sizeof(*descs))

/* Parsed IA parameter string. */
struct request {
	char provider[64];
	char domain[64];
};

static void fab_copy_value(char *dst, size_t room, const char *value, size_t len)
{
	snprintf(dst, room, "%.*s", (int)len, value);
}

/* True if the word has the form key=value with a known key. */
static bool fab_is_known_param(const char *word)
{
	return !strncmp(word, "provider=", 9) || !strncmp(word, "domain=", 7);
}

static const char *fab_nearest_key(const char *key)
{
	static const char *const keys[] = { "provider", "domain" };
	unsigned int best = 4, distance;
	const char *nearest = NULL;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		distance = dofi_edit_distance(key, keys[i]);
		if (distance < best) {
			best = distance;
			nearest = keys[i];
		}
	}
	return nearest;
}

void dofi_fab_unknown_words(const char *params, void (*fn)(const char *word, const char *nearest))
{
	char word[64], key[64];

	for (size_t len; params && *params; params += len) {
		params += strspn(params, " \t");
		len = strcspn(params, " \t");
		if (!memchr(params, '=', len) || fab_is_known_param(params))
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)len, params);
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(word, "="), word);
		fn(word, fab_nearest_key(key));
	}
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

/* Until 1.17 one lock per CQ is what the verbs of libfabric take for data transfers, and an EVD's
 * lock can stand for it (object/evd.h). Later versions have others. */
static bool fab_uses_external_lock(const struct dofi_fab *fab)
{
	return fab->desc->device && dofi_fab_older(fab, 1, 18);
}

struct fi_info *dofi_fab_hints(const struct dofi_fab *fab)
{
	bool rdma = fab->desc->device || fab->desc->over_device;
	struct fi_info *hints = dofi_info_hints(FI_EP_MSG, rdma ? "verbs" : fab->desc->prov_name,
						fab->addr.sa.sa_family == AF_UNSPEC ? NULL
										   : &fab->addr);

	if (!hints)
		return NULL;
	/* Completion data of a write takes a receive: what writes with immediate data are to do. */
	if (rdma)
		hints->mode = FI_RX_CQ_DATA;
	hints->caps = FI_MSG | FI_RMA;
	if (fab_uses_external_lock(fab))
		hints->domain_attr->threading = FI_THREAD_COMPLETION;
	return hints;
}

/* Absolute addresses and keys of our own choosing, wherever the provider can be brought to it:
 * setting FI_MR_VIRT_ADDR in the info it returned is honoured by the software providers. */
static void fab_adapt_info(struct dofi_fab *fab)
{
	struct fi_info *info = fab->info;

	fab->prov_keys = info->domain_attr->mr_mode & FI_MR_PROV_KEY;
	fab->local_mr = info->domain_attr->mr_mode & FI_MR_LOCAL;
	info->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
	dofi_device_adapt(fab);
}

static int fab_open_objects(struct dofi_fab *fab)
{
	struct fi_eq_attr eq_attr = { .size = 1024, .wait_obj = FI_WAIT_FD };
	const char *what = "fi_fabric";
	int ret;

	ret = fab->desc->transport ? msgep_fabric(fab, &fab->fabric)
				   : dofi_lib.fabric(fab->info->fabric_attr, &fab->fabric, fab);
	if (ret)
		goto failed;
	what = "fi_domain";
	ret = fi_domain(fab->fabric, fab->info, &fab->domain, fab);
	if (ret)
		goto failed;
	what = "fi_eq_open";
	ret = fi_eq_open(fab->fabric, &eq_attr, &fab->eq, fab);
	if (ret)
		goto failed;
	what = "the event queue's descriptor";
	ret = fi_control(&fab->eq->fid, FI_GETWAIT, &fab->eq_fd);
	if (!ret)
		return 0;
failed:
	dofi_diag_object(fab, what, ret);
	return ret;
}

static const struct dofi_fabric_desc *fab_find_desc(const char *name)
{
	for (size_t i = 0; i < DESCS; i++)
		if (!strcmp(descs[i].name, name))
			return &descs[i];
	return NULL;
}

const char *dofi_fab_name(uint8_t wire_id)
{
	for (size_t i = 0; i < DESCS; i++)
		if (descs[i].wire_id == wire_id)
			return descs[i].name;
	return "unknown";
}

static void fab_report_names(const char *name)
{
	char known[192] = "";

	for (size_t i = 0; i < DESCS; i++)
		if (!descs[i].hidden)
			snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
				 i ? ", " : "", descs[i].name);
	dofi_diag_fabric(name, known, descs[0].name);
}

static int fab_choose_address(struct dofi_fab *fab, const struct request *request)
{
	const char *wanted = request->domain[0] ? request->domain : NULL;
	int ret = dofi_netif_pick(wanted, &fab->addr, fab->netdev, sizeof(fab->netdev));

	if (ret)
		dofi_diag_address(wanted, ret);
	fab->addr_named = wanted != NULL;
	return ret || !fab->desc->transport ? ret : dofi_netif_list(fab, wanted);
}

/* What the fabric carries in one operation, and every completion event has room for. */
static uint32_t fab_max_size(const struct dofi_fab *fab)
{
	size_t most = fab->info->ep_attr->max_msg_size;

	if (fab->has_msg_prefix)
		most -= sizeof(uint64_t);
	return most && most < DOFI_MAX_MESSAGE ? (uint32_t)most : DOFI_MAX_MESSAGE;
}

static int fab_open_desc(struct dofi_fab *fab, const struct dofi_fabric_desc *desc,
			 const struct request *request)
{
	int ret;

	memset(fab, 0, sizeof(*fab));
	fab->eq_fd = -1;
	fab->desc = desc;
	ret = desc->device || desc->over_device ? 0 : fab_choose_address(fab, request);
	if (!ret)
		ret = dofi_lib_load();
	if (ret) {
		dofi_fab_close(fab);
		return ret;
	}
	fab->lib_version = dofi_lib.version();
	fab->max_read_iov = desc->max_iov;
	fab->immed = true;
	fab->atomics = desc->transport;
	if (desc->device) {
		ret = dofi_device_find(fab, request->domain[0] ? request->domain : NULL);
		if (!ret)
			fab_adapt_info(fab);
	} else {
		if (desc->over_device)
			ret = dofi_device_address(fab, request->domain[0] ? request->domain : NULL);
		if (!ret)
			ret = msgep_getinfo(fab, &fab->info);
	}
	if (!ret)
		ret = fab_open_objects(fab);
	dofi_lib_signals_restore();
	if (ret) {
		dofi_fab_close(fab);
		return ret;
	}
	fab->max_priv = desc->cm_data - desc->cm_header;
	fab->max_size = fab_max_size(fab);
	return 0;
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

/* No fabric is named, and no RDMA device can be used: the first of these that opens, else tcp+shm. */
static int fab_open_best(struct dofi_fab *fab, const struct request *request)
{
	static const char *const best[] = { "efa+shm", "cxi+shm", "opx+shm", "psm3+shm" };

	for (size_t i = 0; i < sizeof(best) / sizeof(*best); i++) {
		const struct dofi_fabric_desc *desc = fab_find_desc(best[i]);

		if (fab_is_offered(desc) && !fab_open_desc(fab, desc, request))
			return 0;
	}
	return fab_open_desc(fab, fab_find_desc("tcp+shm"), request);
}

static int fab_open_any(struct dofi_fab *fab, const struct request *request)
{
	bool known = dofi_device_known(request->domain);
	int ret;

	if (!known && !dofi_device_any())
		return fab_open_best(fab, request);
	ret = fab_open_desc(fab, fab_find_desc("verbs"), request);
	/* There are devices, but not below the interface that was asked for. */
	return ret && !known ? fab_open_best(fab, request) : ret;
}

static int fab_open_request(struct dofi_fab *fab, const struct request *request)
{
	const struct dofi_fabric_desc *desc;

	if (!*request->provider)
		return fab_open_any(fab, request);
	desc = fab_find_desc(request->provider);
	if (desc)
		return fab_open_desc(fab, desc, request);
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
	if (!ret && !fab->desc->transport)
		fab->secret = secret;
	else
		msgep_secret_free(secret);
	return ret;
}

void dofi_fab_close(struct dofi_fab *fab)
{
	if (fab->eq)
		fi_close(&fab->eq->fid);
	if (fab->domain)
		fi_close(&fab->domain->fid);
	if (fab->fabric)
		fi_close(&fab->fabric->fid);
	if (fab->info)
		dofi_lib.freeinfo(fab->info);
	msgep_secret_free(fab->secret);
	free(fab->addrs);
	fab->addrs = NULL;
	fab->n_addrs = 0;
	fab->secret = NULL;
	fab->eq = NULL;
	fab->domain = NULL;
	fab->fabric = NULL;
	fab->info = NULL;
}
