/* SPDX-License-Identifier: BSD-2-Clause */
/* How does an IA get its libfabric objects? */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"
#include "cm_proto.h"
#include "fab.h"
#include "fab_lib.h"
#include "netif.h"
#include "rdm/rdm.h"
#include "why.h"

/* The API version asked of libfabric: the oldest that gives all we use, so that a binary
 * behaves the same on every later library. */
#define API_VERSION FI_VERSION(1, 14)

static const struct dofi_fab_row rows[] = {
	/* name, libfabric name, wire id, tcp quirks, iov, connection data, receives, links, wire */
	{ "tcp", "tcp", 1, true, 4, 256, 1024, true, NULL },
	{ "shm", "shm", 3, false, 4, RDM_CM_DATA, 1024, false, &rdm_wire_shm },
	{ "rxm", "tcp;ofi_rxm", 4, false, 4, RDM_CM_DATA, 1024, false, &rdm_wire_fab },
	{ "efa", "efa", 5, false, 4, RDM_CM_DATA, 1024, false, &rdm_wire_fab },
	{ "psm3", "psm3", 6, false, 4, RDM_CM_DATA, 1024, false, &rdm_wire_fab },
	{ "cxi", "cxi", 7, false, 4, RDM_CM_DATA, 1024, false, &rdm_wire_fab },
	{ "opx", "opx", 8, false, 4, RDM_CM_DATA, 1024, false, &rdm_wire_fab },
	/* For tests: see rdm/wire_fab_test.c. */
	{ "constrained", "tcp;ofi_rxm", 9, false, 4, RDM_CM_DATA, 1024, false, &rdm_wire_fab },
};

size_t dofi_addr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					 : sizeof(struct sockaddr_in);
}

uint16_t dofi_addr_port(const struct sockaddr *sa)
{
	return ntohs(sa->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)sa)->sin6_port
					       : ((const struct sockaddr_in *)sa)->sin_port);
}

void dofi_addr_set_port(struct sockaddr *sa, uint16_t port)
{
	if (sa->sa_family == AF_INET6)
		((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)sa)->sin_port = htons(port);
}

bool dofi_addr_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr,
			       sizeof(struct in6_addr));
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

/* What an IA parameter string asks for. */
struct wish {
	char provider[64];
	char domain[64];
};

static void take(char *dst, size_t room, const char *value, size_t len)
{
	snprintf(dst, room, "%.*s", (int)len, value);
}

/* "key=value" words; two bare words are "device port" of an old registry file, of which the
 * device counts only if it is a network interface here. */
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
			if (dofi_netif_pick(wish->domain, &addr, netdev, sizeof(netdev)))
				wish->domain[0] = '\0';
		}
		params += len;
	}
	if (dofi_param_str(DOFI_STR_PROVIDER))
		take(wish->provider, sizeof(wish->provider), dofi_param_str(DOFI_STR_PROVIDER), 63);
	if (dofi_param_str(DOFI_STR_DOMAIN))
		take(wish->domain, sizeof(wish->domain), dofi_param_str(DOFI_STR_DOMAIN), 63);
}

static struct fi_info *make_hints(const struct dofi_fab *fab)
{
	struct fi_info *hints = dofi_lib.dupinfo(NULL);
	bool v6 = fab->addr.sa.sa_family == AF_INET6;

	if (!hints)
		return NULL;
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->addr_format = v6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup(fab->row->prov_name);
	hints->src_addr = malloc(dofi_addr_len(&fab->addr.sa));
	if (!hints->fabric_attr->prov_name || !hints->src_addr) {
		dofi_lib.freeinfo(hints);
		return NULL;
	}
	hints->src_addrlen = dofi_addr_len(&fab->addr.sa);
	memcpy(hints->src_addr, &fab->addr, hints->src_addrlen);
	return hints;
}

/* Absolute addresses and keys of our own choosing, wherever the provider can be brought to it:
 * setting FI_MR_VIRT_ADDR in the info it returned is honoured by the software providers. */
static void adapt_info(struct dofi_fab *fab)
{
	struct fi_info *info = fab->info;

	fab->prov_keys = info->domain_attr->mr_mode & FI_MR_PROV_KEY;
	fab->local_mr = info->domain_attr->mr_mode & FI_MR_LOCAL;
	info->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
	if (info->rx_attr->size < fab->row->rx_depth)
		info->rx_attr->size = fab->row->rx_depth;
}

static int find_info(struct dofi_fab *fab)
{
	struct fi_info *hints;
	int ret;

	if (fab->row->wire)
		return rdm_getinfo(fab, &fab->info);
	hints = make_hints(fab);
	if (!hints)
		return -FI_ENOMEM;
	ret = dofi_lib.getinfo(API_VERSION, NULL, NULL, 0, hints, &fab->info);
	if (ret)
		dofi_why_info(fab, hints, ret);
	dofi_lib.freeinfo(hints);
	if (!ret)
		adapt_info(fab);
	return ret;
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
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!*name || !strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static int choose_address(struct dofi_fab *fab, const struct wish *wish)
{
	const char *wanted = wish->domain[0] ? wish->domain : NULL;
	int ret = dofi_netif_pick(wanted, &fab->addr, fab->netdev, sizeof(fab->netdev));

	if (ret)
		dofi_why_address(wanted, ret);
	fab->addr_named = wanted != NULL;
	return ret;
}

int dofi_fab_open(struct dofi_fab *fab, const char *params)
{
	struct wish wish;
	int ret;

	memset(fab, 0, sizeof(*fab));
	fab->eq_fd = -1;
	parse_params(params, &wish);
	fab->row = find_row(wish.provider);
	if (!fab->row) {
		dofi_why_fabric(wish.provider, "tcp, shm, rxm, efa, psm3, cxi, opx");
		return -FI_ENODATA;
	}
	ret = choose_address(fab, &wish);
	if (ret)
		return ret;
	ret = dofi_lib_load();
	if (ret)
		return ret;
	fab->lib_version = dofi_lib.version();
	ret = find_info(fab);
	if (!ret)
		ret = open_objects(fab);
	dofi_lib_signals_restore();
	if (ret) {
		dofi_fab_close(fab);
		return ret;
	}
	fab->max_priv = fab->row->cm_data - DOFI_CM_HDR;
	return 0;
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
	fab->eq = NULL;
	fab->domain = NULL;
	fab->fabric = NULL;
	fab->info = NULL;
}
