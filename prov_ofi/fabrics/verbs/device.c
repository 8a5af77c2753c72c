/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the RDMA device of an IA, and reports its abilities. */
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "fabric/fab_info.h"
#include "fabrics/emulated/emulated.h"
#include "fabrics/verbs/device.h"
#include "fabrics/verbs/msg_prefix.h"
#include "fabric/netif.h"
#include "object/limits.h"
#include "proto/cm_proto.h"
#include "diag/diag.h"

#define DEVICES "/sys/class/infiniband"
#define CONNECTION_MANAGER "/dev/infiniband/rdma_cm"
/* Every entry costs memory, and the completion queues reserve it (cq_reservation.c). */
#define SRQ_DEPTH 1024

bool dofi_device_known(const char *name)
{
	char path[320];

	if (!*name || strchr(name, '/') || *name == '.')
		return false;
	snprintf(path, sizeof(path), DEVICES "/%s", name);
	return !access(path, F_OK);
}

static bool device_port_is_active(const char *port)
{
	char path[400], line[64];

	snprintf(path, sizeof(path), "%s/state", port);
	return dofi_device_read_line(path, line, sizeof(line)) && strstr(line, "ACTIVE");
}

static bool device_is_active(const char *device)
{
	char path[320], port[352];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), DEVICES "/%.64s/ports", device);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		snprintf(port, sizeof(port), "%s/%.16s", path, e->d_name);
		found = device_port_is_active(port);
	}
	if (d)
		closedir(d);
	return found;
}

bool dofi_device_any(void)
{
	struct dirent *e;
	bool found = false;
	DIR *d;

	if (access(CONNECTION_MANAGER, R_OK | W_OK))
		return false;
	d = opendir(DEVICES);
	while (d && !found && (e = readdir(d)))
		found = *e->d_name != '.' && device_is_active(e->d_name);
	if (d)
		closedir(d);
	return found;
}

/* QUIRK libfabric rxm: over soft-iWARP its progress crashes (SIGSEGV; seen in 1.17), in the list of
 * requests that the verbs provider keeps for each connection. iWARP devices are refused there. */
static bool device_usable(const struct dofi_fab *fab, const struct fi_info *info)
{
	const struct sockaddr *sa = info->src_addr;

	return sa && (sa->sa_family == AF_INET || sa->sa_family == AF_INET6) &&
	       (info->ep_attr->protocol == FI_PROTO_RDMA_CM_IB_RC ||
		(info->ep_attr->protocol == FI_PROTO_IWARP && !fab->desc->over_device));
}

/* Programs expect IPv4; a link-local address is the last resort. */
static int device_rank(const struct dofi_fab *fab, const struct fi_info *info)
{
	const struct sockaddr *sa = info->src_addr;

	if (!device_usable(fab, info))
		return 0;
	if (sa->sa_family == AF_INET)
		return 3;
	return IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)sa)->sin6_addr) ? 1 : 2;
}

static const struct fi_info *device_choose(const struct dofi_fab *fab, const struct fi_info *all)
{
	const struct fi_info *best = NULL;

	for (; all; all = all->next)
		if (device_rank(fab, all) &&
		    (!best || device_rank(fab, all) > device_rank(fab, best)))
			best = all;
	return best;
}

/* QUIRK libfabric<1.18 verbs: data transfers take one lock per CQ only; the domain can be
 * configured not to take it, and an EVD's lock replaces it (object/evd.h). Later versions have
 * other locks, which are kept. */
static bool device_uses_external_lock(const struct dofi_fab *fab)
{
	return !fab->desc->over_device && dofi_fab_older(fab, 1, 18);
}

/* Creates the hints: endpoints at fab->addr (AF_UNSPEC: at any). NULL: no memory. */
static struct fi_info *device_hints(const struct dofi_fab *fab)
{
	bool any = fab->addr.sa.sa_family == AF_UNSPEC;
	struct fi_info *hints = dofi_info_hints(FI_EP_MSG, "verbs", any ? NULL : &fab->addr);

	if (!hints)
		return NULL;
	/* Completion data of a write consumes a receive, as writes with immediate data require. */
	hints->mode = FI_RX_CQ_DATA;
	hints->caps = FI_MSG | FI_RMA;
	if (device_uses_external_lock(fab))
		hints->domain_attr->threading = FI_THREAD_COMPLETION;
	return hints;
}

static struct fi_info *device_hints_for(const struct dofi_fab *fab, const char *device)
{
	struct fi_info *hints = device_hints(fab);

	if (!hints || !device)
		return hints;
	hints->domain_attr->name = strdup(device);
	if (hints->domain_attr->name)
		return hints;
	dofi_lib.freeinfo(hints);
	return NULL;
}

static void device_report_none(struct dofi_fab *fab, const char *wanted)
{
	struct dofi_text list = { .len = 0 };
	struct fi_info *hints, *all = NULL;

	memset(&fab->addr, 0, sizeof(fab->addr));
	hints = device_hints(fab);
	if (hints && !dofi_info_get(hints, &all))
		for (const struct fi_info *i = all; i; i = i->next)
			if (device_usable(fab, i) && !strstr(list.buf, i->domain_attr->name))
				dofi_text_add(&list, "%s%s", list.len ? ", " : "",
					      i->domain_attr->name);
	dofi_diag_device(fab, wanted, list.len ? list.buf : "");
	if (all)
		dofi_lib.freeinfo(all);
	if (hints)
		dofi_lib.freeinfo(hints);
}

static void device_name_interface(struct dofi_fab *fab)
{
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *ifa = all; ifa; ifa = ifa->ifa_next)
		if (ifa->ifa_addr && dofi_addr_same_host(ifa->ifa_addr, &fab->addr.sa))
			snprintf(fab->netdev, sizeof(fab->netdev), "%s", ifa->ifa_name);
	freeifaddrs(all);
}

static int device_copy_value(struct dofi_fab *fab, const struct fi_info *best)
{
	fab->info = dofi_lib.dupinfo(best);
	if (!fab->info)
		return -FI_ENOMEM;
	memset(&fab->addr, 0, sizeof(fab->addr));
	memcpy(&fab->addr, best->src_addr, dofi_addr_len(best->src_addr));
	dofi_addr_set_port(&fab->addr.sa, 0);
	/* Addresses outside of this device's network cannot be reached from it. */
	fab->addr_named = true;
	snprintf(fab->device, sizeof(fab->device), "%s", best->domain_attr->name);
	device_name_interface(fab);
	dofi_device_describe_port(fab);
	return 0;
}

static int device_find(struct dofi_fab *fab, const char *wanted)
{
	bool device = wanted && dofi_device_known(wanted);
	struct fi_info *hints, *all = NULL;
	const struct fi_info *best = NULL;
	int ret = -FI_ENODATA;

	if (wanted && !device) {
		ret = dofi_netif_pick(wanted, &fab->addr, fab->netdev, sizeof(fab->netdev));
		if (ret) {
			dofi_diag_address(wanted, ret);
			return ret;
		}
	}
	hints = device_hints_for(fab, device ? wanted : NULL);
	if (!hints)
		return -FI_ENOMEM;
	ret = dofi_info_get(hints, &all);
	if (!ret)
		best = device_choose(fab, all);
	if (best)
		ret = device_copy_value(fab, best);
	else if (ret != -FI_ENOMEM)
		ret = -FI_ENODATA;
	if (ret == -FI_ENODATA)
		device_report_none(fab, wanted);
	if (all)
		dofi_lib.freeinfo(all);
	dofi_lib.freeinfo(hints);
	return ret;
}

static int device_find_address(struct dofi_fab *fab, const char *wanted)
{
	int ret = device_find(fab, wanted);

	if (ret)
		return ret;
	dofi_lib.freeinfo(fab->info);
	fab->info = NULL;
	return dofi_netif_list(fab, wanted && !dofi_device_known(wanted) ? wanted : fab->netdev);
}

/* True if the device supports an endpoint with queues of this depth and these additional
 * capabilities. */
static bool device_grants(const struct dofi_fab *fab, size_t rx, size_t tx, size_t iov,
			  uint64_t caps)
{
	struct fi_info *hints = device_hints_for(fab, fab->device), *found = NULL;
	bool ok;

	if (!hints)
		return false;
	hints->rx_attr->size = rx;
	hints->tx_attr->size = tx;
	hints->rx_attr->iov_limit = hints->tx_attr->iov_limit = iov;
	hints->caps |= caps;
	ok = !dofi_info_get(hints, &found);
	if (found)
		dofi_lib.freeinfo(found);
	dofi_lib.freeinfo(hints);
	return ok;
}

/* QUIRK libfabric verbs: soft-iWARP answers a read without bytes with as many bytes as it sent
 * before, if the request arrives while it sends, and the connection ends. It serves reads of memory
 * without the right to read, so one byte of the word is read before an atomic operation. */
static uint8_t device_flush_bytes(const struct dofi_fab *fab)
{
	return dofi_device_is_siw(fab);
}

/* iWARP has no atomic operations: the library of the target executes them. Its immediate data is in
 * the prefix of a message. */
static void device_settle_extensions(struct dofi_fab *fab)
{
	fab->immed = true;
	fab->software_atomics = fab->writes_complete_early = fab->has_msg_prefix;
	if (fab->software_atomics) {
		fab->flush_bytes = device_flush_bytes(fab);
		fab->atomics = true;
		fab->amo_port_len = DOFI_CM_AMO_PORT;
		return;
	}
	/* A value that is passed as a pointer must not be longer than one. */
	fab->atomics = (!dofi_device_takes_values(fab) || sizeof(void *) == sizeof(uint64_t)) &&
		       device_grants(fab, 0, 0, 0, FI_ATOMIC);
	if (!fab->atomics)
		return;
	fab->info->caps |= FI_ATOMIC;
	fab->info->tx_attr->caps |= FI_ATOMIC;
	fab->info->rx_attr->caps |= FI_ATOMIC;
}

bool dofi_device_is_siw(const struct dofi_fab *fab)
{
	return fab->has_msg_prefix && !strncmp(fab->device, "siw", 3);
}

/* Most segments, up to `most`, that the device takes; at least `least`. */
static size_t device_max_iov(const struct dofi_fab *fab, size_t least, size_t most)
{
	while (least < most) {
		size_t middle = most - (most - least) / 2;

		if (device_grants(fab, 0, 0, middle, 0))
			least = middle;
		else
			most = middle - 1;
	}
	return least;
}

static void device_adapt(struct dofi_fab *fab)
{
	struct fi_info *info = fab->info;
	size_t rx = fab->desc->rx_depth, tx = fab->desc->tx_depth, iov = DOFI_DEFAULT_IOV;

	fab->cq_external_lock = info->domain_attr->threading == FI_THREAD_COMPLETION;
	/* iWARP has no completion data, and reads into one segment only. */
	fab->has_msg_prefix = info->ep_attr->protocol == FI_PROTO_IWARP;
	fab->prefix_iov = fab->has_msg_prefix;
	iov += fab->prefix_iov;
	fab->max_iov =
		device_max_iov(fab, iov, fab->desc->max_iov + fab->prefix_iov) - fab->prefix_iov;
	fab->max_read_iov = fab->has_msg_prefix ? 1 : fab->max_iov;
	fab->max_write_iov = fab->max_iov;
	fab->max_rdma_iov = fab->desc->max_iov;
	while (rx > info->rx_attr->size && !device_grants(fab, rx, 0, iov, 0))
		rx /= 2;
	while (tx > info->tx_attr->size && !device_grants(fab, 0, tx, iov, 0))
		tx /= 2;
	if (rx > info->rx_attr->size)
		info->rx_attr->size = rx;
	if (tx > info->tx_attr->size)
		info->tx_attr->size = tx;
	/* The domain allows no more; endpoints get what their attributes request
	 * (fabrics/verbs/cq_reservation.c). */
	info->rx_attr->iov_limit = fab->max_iov + fab->prefix_iov;
	info->tx_attr->iov_limit = fab->max_iov + fab->prefix_iov;
	fab->inject = info->tx_attr->inject_size;
	device_settle_extensions(fab);
	/* For the calls of the fast path (data/dto_submit.h). */
	info->tx_attr->op_flags |= FI_COMPLETION;
}

/* An active MTU of the port; software devices may have none. */
static size_t device_mtu(const struct fi_info *info)
{
	const struct fid_nic *nic = info->nic;

	return nic && nic->link_attr && nic->link_attr->mtu ? nic->link_attr->mtu : 65536;
}

static void device_set_capabilities(struct dofi_fab *fab)
{
	struct fi_info *info = fab->info;

	/* Absolute addresses: setting the mode in what the provider returned is honoured. */
	info->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
	device_adapt(fab);
	fab->auto_progress = fab->early_flush = fab->limits_reads = true;
	/* A message prefix has room for all 64 bits; iWARP has no other completion data. */
	fab->narrow_cq_data = !fab->has_msg_prefix;
	fab->await_route = fab->has_msg_prefix;
	fab->connect_blocks = dofi_device_is_siw(fab);
	/* Atomic operations of peers need the right to write. */
	fab->atomic_access = fab->atomics && !fab->software_atomics ? FI_REMOTE_WRITE : 0;
	fab->mtu = device_mtu(info);
	fab->min_batch = 1;
	fab->srq_depth = SRQ_DEPTH;
	fab->msg_overhead = fab->has_msg_prefix ? DOFI_MSG_PREFIX_MAX : 0;
}

int dofi_verbs_find(struct dofi_fab *fab, const char *wanted)
{
	int ret = device_find(fab, wanted);

	if (!ret)
		device_set_capabilities(fab);
	return ret;
}

int dofi_verbs_find_rdm(struct dofi_fab *fab, const char *wanted)
{
	int ret = device_find_address(fab, wanted);

	return ret ? ret : dofi_emulated_find(fab, wanted);
}
