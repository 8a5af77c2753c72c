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
#include "cm/cm_proto.h"
#include "fabric/verbs/device.h"
#include "fabric/fab.h"
#include "fabric/fab_lib.h"
#include "object/limits.h"
#include "fabric/netif.h"
#include "msgep/cm/cm_secret.h"
#include "msgep/msgep.h"
#include "diag/diag.h"

/* The API version asked of libfabric: the oldest that gives all we use, so that a binary
 * behaves the same on every later library. */
#define API_VERSION FI_VERSION(1, 14)

/* Connected endpoints of our own over a wire. */
#define WIRE_ROW(n, prov, id, w) \
	.name = n, .prov_name = prov, .wire_id = id, .max_iov = 4, .cm_data = RDM_CM_DATA, \
	.cm_header = DOFI_CM_HDR, .wire = &(w)
/* The same, and shared memory for peers on this host. */
#define BOTH_OVER(n, prov, id, w) \
	WIRE_ROW(n "+shm", prov, (id) | DOFI_CM_AND_SHM, w), .local_wire = &rdm_wire_shm
#define BOTH_ROW(n, prov, id) \
	BOTH_OVER(n, prov, id, rdm_wire_fab)
#define RXM_VERBS "verbs;ofi_rxm"

static const struct dofi_fab_row rows[] = {
	/* Wire id 1 was another protocol over tcp: it is not used again. */
	{ WIRE_ROW("tcp", "tcp", 10, rdm_wire_pair) },
	{ .name = "verbs", .prov_name = "verbs", .wire_id = 2, .device = true, .max_iov = 4,
	  .cm_data = 55, .cm_header = DOFI_CM_BRIEF, .rx_depth = 4096, .tx_depth = 1024 },
	{ WIRE_ROW("shm", "shm", DOFI_CM_SHM, rdm_wire_shm), .names_hold_quals = true },
	{ WIRE_ROW("rxm", "tcp;ofi_rxm", 4, rdm_wire_fab) },
	{ WIRE_ROW("efa", "efa", 5, rdm_wire_fab) },
	{ WIRE_ROW("psm3", "psm3", 6, rdm_wire_fab) },
	{ WIRE_ROW("cxi", "cxi", 7, rdm_wire_fab) },
	{ WIRE_ROW("opx", "opx", 8, rdm_wire_fab) },
	{ WIRE_ROW("rxm-verbs", RXM_VERBS, 11, rdm_wire_fab), .over_device = true },
	{ BOTH_OVER("tcp", "tcp", 10, rdm_wire_pair) },
	{ BOTH_ROW("rxm", "tcp;ofi_rxm", 4) },
	{ BOTH_ROW("efa", "efa", 5) },
	{ BOTH_ROW("psm3", "psm3", 6) },
	{ BOTH_ROW("cxi", "cxi", 7) },
	{ BOTH_ROW("opx", "opx", 8) },
	{ BOTH_ROW("rxm-verbs", RXM_VERBS, 11), .over_device = true },
	/* See msgep/rdm/rdm_constrained.c. */
	{ WIRE_ROW("constrained", "tcp;ofi_rxm", 9, rdm_wire_fab), .hidden = true },
};
#define ROWS (sizeof(rows) / sizeof(*rows))

/* What an IA parameter string asks for. */
struct wish {
	char provider[64];
	char domain[64];
};

static void take(char *dst, size_t room, const char *value, size_t len)
{
	snprintf(dst, room, "%.*s", (int)len, value);
}

/* Is it a word of the form key=value that this library knows? */
static bool is_known_word(const char *word)
{
	return !strncmp(word, "provider=", 9) || !strncmp(word, "domain=", 7);
}

static const char *nearest_key(const char *key)
{
	static const char *const keys[] = { "provider", "domain" };
	unsigned int best = 4, distance;
	const char *near = NULL;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		distance = dofi_distance(key, keys[i]);
		if (distance < best) {
			best = distance;
			near = keys[i];
		}
	}
	return near;
}

void dofi_fab_unknown_words(const char *params, void (*fn)(const char *word, const char *near))
{
	char word[64], key[64];

	for (size_t len; params && *params; params += len) {
		params += strspn(params, " \t");
		len = strcspn(params, " \t");
		if (!memchr(params, '=', len) || is_known_word(params))
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)len, params);
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(word, "="), word);
		fn(word, nearest_key(key));
	}
}

/* "key=value" words; two bare words are "device port" of an old registry file, of which the
 * device counts only if it is a network interface, or an RDMA device, here. */
static void parse_params(const char *params, struct wish *wish)
{
	union dofi_addr addr;
	char netdev[64];

	memset(wish, 0, sizeof(*wish));
	while (params && *params) {
		size_t len;

		while (isspace((unsigned char)*params))
			params++;
		len = strcspn(params, " \t");
		if (!strncmp(params, "provider=", 9)) {
			take(wish->provider, sizeof(wish->provider), params + 9, len - 9);
		} else if (!strncmp(params, "domain=", 7)) {
			take(wish->domain, sizeof(wish->domain), params + 7, len - 7);
		} else if (len && !memchr(params, '=', len) && !wish->domain[0]) {
			take(wish->domain, sizeof(wish->domain), params, len);
			if (!dofi_device_known(wish->domain) &&
			    dofi_netif_pick(wish->domain, &addr, netdev, sizeof(netdev)))
				wish->domain[0] = '\0';
		}
		params += len;
	}
	if (dofi_param_str(DOFI_STR_PROVIDER))
		take(wish->provider, sizeof(wish->provider), dofi_param_str(DOFI_STR_PROVIDER), 63);
	if (dofi_param_str(DOFI_STR_DOMAIN))
		take(wish->domain, sizeof(wish->domain), dofi_param_str(DOFI_STR_DOMAIN), 63);
}

/* Until 1.17 one lock per CQ is what the verbs of libfabric take for data transfers, and an EVD's
 * lock can stand for it (object/evd.h). Later versions have others. */
static bool may_be_bare(const struct dofi_fab *fab)
{
	return fab->row->device && dofi_fab_older(fab, 1, 18);
}

struct fi_info *dofi_fab_hints(const struct dofi_fab *fab)
{
	struct fi_info *hints = dofi_lib.dupinfo(NULL);
	bool v6 = fab->addr.sa.sa_family == AF_INET6;

	if (!hints)
		return NULL;
	/* Completion data of a write takes a receive: what writes with immediate data are to do. */
	if (fab->row->device || fab->row->over_device)
		hints->mode = FI_RX_CQ_DATA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->addr_format = v6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->domain_attr->threading = may_be_bare(fab) ? FI_THREAD_COMPLETION : FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup(fab->row->over_device ? "verbs" :
						       fab->row->prov_name);
	if (!hints->fabric_attr->prov_name)
		goto no_memory;
	if (fab->addr.sa.sa_family == AF_UNSPEC) {
		hints->addr_format = FI_FORMAT_UNSPEC;
		return hints;
	}
	hints->src_addr = malloc(dofi_addr_len(&fab->addr.sa));
	if (!hints->src_addr)
		goto no_memory;
	hints->src_addrlen = dofi_addr_len(&fab->addr.sa);
	memcpy(hints->src_addr, &fab->addr, hints->src_addrlen);
	return hints;
no_memory:
	dofi_lib.freeinfo(hints);
	return NULL;
}

int dofi_fab_ask(const struct fi_info *hints, struct fi_info **info)
{
	*info = NULL;
	return dofi_lib.getinfo(API_VERSION, NULL, NULL, 0, hints, info);
}

/* Absolute addresses and keys of our own choosing, wherever the provider can be brought to it:
 * setting FI_MR_VIRT_ADDR in the info it returned is honoured by the software providers. */
static void adapt_info(struct dofi_fab *fab)
{
	struct fi_info *info = fab->info;

	fab->prov_keys = info->domain_attr->mr_mode & FI_MR_PROV_KEY;
	fab->local_mr = info->domain_attr->mr_mode & FI_MR_LOCAL;
	info->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
	dofi_device_adapt(fab);
}

static int open_objects(struct dofi_fab *fab)
{
	struct fi_eq_attr eq_attr = { .size = 1024, .wait_obj = FI_WAIT_FD };
	const char *what = "fi_fabric";
	int ret;

	ret = fab->row->wire ? rdm_fabric(fab, &fab->fabric)
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
	dofi_why_object(fab, what, ret);
	return ret;
}

static const struct dofi_fab_row *find_row(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

const char *dofi_fab_name(uint8_t wire_id)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].wire_id == wire_id)
			return rows[i].name;
	return "unknown";
}

static void tell_rows(const char *name)
{
	char known[192] = "";

	for (size_t i = 0; i < ROWS; i++)
		if (!rows[i].hidden)
			snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
				 i ? ", " : "", rows[i].name);
	dofi_why_fabric(name, known, rows[0].name);
}

static int choose_address(struct dofi_fab *fab, const struct wish *wish)
{
	const char *wanted = wish->domain[0] ? wish->domain : NULL;
	int ret = dofi_netif_pick(wanted, &fab->addr, fab->netdev, sizeof(fab->netdev));

	if (ret)
		dofi_why_address(wanted, ret);
	fab->addr_named = wanted != NULL;
	return ret || !fab->row->wire ? ret : dofi_netif_list(fab, wanted);
}

/* What the fabric carries in one operation, and every completion event has room for. */
static uint32_t largest(const struct dofi_fab *fab)
{
	size_t most = fab->info->ep_attr->max_msg_size;

	if (fab->worded)
		most -= sizeof(uint64_t);
	return most && most < DOFI_MAX_MESSAGE ? (uint32_t)most : DOFI_MAX_MESSAGE;
}

static int open_row(struct dofi_fab *fab, const struct dofi_fab_row *row, const struct wish *wish)
{
	int ret;

	memset(fab, 0, sizeof(*fab));
	fab->eq_fd = -1;
	fab->row = row;
	ret = row->device || row->over_device ? 0 : choose_address(fab, wish);
	if (!ret)
		ret = dofi_lib_load();
	if (ret) {
		dofi_fab_close(fab);
		return ret;
	}
	fab->lib_version = dofi_lib.version();
	fab->reads_iov = row->max_iov;
	fab->immed = true;
	fab->atomics = row->wire;
	if (row->device) {
		ret = dofi_device_find(fab, wish->domain[0] ? wish->domain : NULL);
		if (!ret)
			adapt_info(fab);
	} else {
		if (row->over_device)
			ret = dofi_device_address(fab, wish->domain[0] ? wish->domain : NULL);
		if (!ret)
			ret = rdm_getinfo(fab, &fab->info);
	}
	if (!ret)
		ret = open_objects(fab);
	dofi_lib_signals_restore();
	if (ret) {
		dofi_fab_close(fab);
		return ret;
	}
	fab->max_priv = row->cm_data - row->cm_header;
	fab->max_size = largest(fab);
	return 0;
}

/* Has this libfabric the provider, and the provider what it is for? Asked in silence. */
static bool is_offered(const struct dofi_fab_row *row)
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
		hints->fabric_attr->prov_name = strdup(row->prov_name);
		found = hints->fabric_attr->prov_name && !dofi_fab_ask(hints, &info);
		dofi_lib.freeinfo(hints);
	}
	if (info)
		dofi_lib.freeinfo(info);
	dofi_lib_signals_restore();
	return found;
}

/* No fabric is named, and no RDMA device can be used: the first of these that opens, else tcp+shm. */
static int open_best(struct dofi_fab *fab, const struct wish *wish)
{
	static const char *const best[] = { "efa+shm", "cxi+shm", "opx+shm", "psm3+shm" };

	for (size_t i = 0; i < sizeof(best) / sizeof(*best); i++) {
		const struct dofi_fab_row *row = find_row(best[i]);

		if (is_offered(row) && !open_row(fab, row, wish))
			return 0;
	}
	return open_row(fab, find_row("tcp+shm"), wish);
}

static int open_any(struct dofi_fab *fab, const struct wish *wish)
{
	bool known = dofi_device_known(wish->domain);
	int ret;

	if (!known && !dofi_device_any())
		return open_best(fab, wish);
	ret = open_row(fab, find_row("verbs"), wish);
	/* There are devices, but not below the interface that was asked for. */
	return ret && !known ? open_best(fab, wish) : ret;
}

static int open_wish(struct dofi_fab *fab, const struct wish *wish)
{
	const struct dofi_fab_row *row;

	if (!*wish->provider)
		return open_any(fab, wish);
	row = find_row(wish->provider);
	if (row)
		return open_row(fab, row, wish);
	tell_rows(wish->provider);
	return -FI_ENODATA;
}

int dofi_fab_open(struct dofi_fab *fab, const char *params)
{
	struct rdm_secret *secret;
	struct wish wish;
	int ret;

	memset(fab, 0, sizeof(*fab));
	fab->eq_fd = -1;
	/* First: a secret that cannot be used leaves no fabric. */
	ret = rdm_secret_load(&secret);
	if (ret)
		return ret;
	parse_params(params, &wish);
	ret = open_wish(fab, &wish);
	if (!ret && !fab->row->wire)
		fab->secret = secret;
	else
		rdm_secret_free(secret);
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
	rdm_secret_free(fab->secret);
	free(fab->addrs);
	fab->addrs = NULL;
	fab->n_addrs = 0;
	fab->secret = NULL;
	fab->eq = NULL;
	fab->domain = NULL;
	fab->fabric = NULL;
	fab->info = NULL;
}
