/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains why no fabric can be opened. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/edit_distance.h"
#include "base/param.h"
#include "base/text.h"
#include "fabric/fab_info.h"
#include "fabric/fab_lib.h"
#include "diag/diag.h"

/* Maximum length of a line in the registry library. */
#define LINE 180
#define MAX_FOUND 24

void dofi_diag_fabric(const char *name, const char *known, const char *first)
{
	dofi_report("fabric '%s' is not supported; known: %s", name, known);
	dofi_report("try: provider=%s in the registry entry, or DAPL_OFI_PROVIDER=%s", first,
		    first);
}

void dofi_diag_device(const struct dofi_fab *fab, const char *wanted, const char *found)
{
	if (wanted)
		dofi_report("no RDMA device, interface or address '%s' that is ready", wanted);
	else
		dofi_report("no RDMA device of this host is ready");
	if (fab->desc->over_device)
		dofi_report("fabric '%s' needs InfiniBand or RoCE: libfabric 1.17 crashes over "
			    "iWARP",
			    fab->desc->name);
	dofi_report("RDMA devices with an address: %s", *found ? found : "none");
	dofi_report("try: rdma link (package iproute2): the state must be ACTIVE, and its netdev "
		    "must have an IP address");
}

static const char *diag_host_of(const struct sockaddr *sa, char *text, socklen_t room)
{
	if (sa->sa_family == AF_INET)
		return inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, text, room);
	return inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)sa)->sin6_addr, text, room);
}

/* Lists interfaces ("eth0 10.0.0.2, lo 127.0.0.1"); *nearest: the name most similar to `wanted`. */
static void diag_list_interfaces(const char *wanted, struct dofi_text *list, char *nearest,
				 size_t room)
{
	unsigned int best = 4, distance;
	struct ifaddrs *all, *ifa;
	char host[INET6_ADDRSTRLEN];

	*nearest = '\0';
	if (getifaddrs(&all))
		return;
	for (ifa = all; ifa; ifa = ifa->ifa_next) {
		if (!ifa->ifa_addr || !(ifa->ifa_flags & IFF_UP) ||
		    (ifa->ifa_addr->sa_family != AF_INET && ifa->ifa_addr->sa_family != AF_INET6))
			continue;
		if (list->len < LINE / 2 && diag_host_of(ifa->ifa_addr, host, sizeof(host)))
			dofi_text_add(list, "%s%s %s", list->len ? ", " : "", ifa->ifa_name, host);
		distance = wanted ? dofi_edit_distance(wanted, ifa->ifa_name) : best;
		if (distance < best) {
			best = distance;
			snprintf(nearest, room, "%s", ifa->ifa_name);
		}
	}
	freeifaddrs(all);
}

static bool diag_is_up(const char *name)
{
	struct ifaddrs *all, *ifa;
	bool up = false;

	if (getifaddrs(&all))
		return false;
	for (ifa = all; ifa; ifa = ifa->ifa_next)
		up |= !strcmp(ifa->ifa_name, name) && (ifa->ifa_flags & IFF_UP);
	freeifaddrs(all);
	return up;
}

void dofi_diag_address(const char *wanted, int ret)
{
	struct dofi_text list = { .len = 0 };
	char nearest[IF_NAMESIZE + 1];

	diag_list_interfaces(wanted, &list, nearest, sizeof(nearest));
	if (!wanted)
		dofi_report("this host has no interface with an IP address that is up");
	else if (ret != -EADDRNOTAVAIL && !if_nametoindex(wanted))
		dofi_report("no interface or address '%s' on this host", wanted);
	else if (!diag_is_up(wanted))
		dofi_report("interface '%s' is down", wanted);
	else
		dofi_report("interface '%s' has no IP address", wanted);
	if (list.len)
		dofi_report("interfaces with an address: %s", list.buf);
	if (*nearest && wanted && strcmp(nearest, wanted))
		dofi_report("try: domain=%s in the registry entry, or DAPL_OFI_DOMAIN=%s", nearest,
			    nearest);
	else if (wanted && if_nametoindex(wanted) && !diag_is_up(wanted))
		dofi_report("try: ip link set %s up; or DAPL_OFI_DOMAIN with another interface",
			    wanted);
	else if (wanted && if_nametoindex(wanted))
		dofi_report("try: ip address add ADDRESS/BITS dev %s; or DAPL_OFI_DOMAIN with "
			    "another interface",
			    wanted);
	else
		dofi_report("try: ip address; then DAPL_OFI_DOMAIN=INTERFACE");
}

/* The hints, each with a description of what it requires. */
static void diag_relax_address(struct fi_info *h)
{
	free(h->src_addr);
	h->src_addr = NULL;
	h->src_addrlen = 0;
	h->addr_format = FI_FORMAT_UNSPEC;
}

static void diag_relax_type(struct fi_info *h)
{
	h->ep_attr->type = FI_EP_UNSPEC;
}

static void diag_relax_caps(struct fi_info *h)
{
	h->caps = 0;
}

static void diag_relax_memory(struct fi_info *h)
{
	h->domain_attr->mr_mode = DOFI_MR_ANY;
	h->mode = ~0ull;
}

static void diag_relax_threading(struct fi_info *h)
{
	h->domain_attr->threading = FI_THREAD_UNSPEC;
}

static void diag_relax_provider(struct fi_info *h)
{
	free(h->fabric_attr->prov_name);
	h->fabric_attr->prov_name = NULL;
}

static const struct hint {
	void (*relax)(struct fi_info *hints);
	const char *wanted;
} table[] = {
	{ diag_relax_address, "the interface's address" },
	{ diag_relax_type, "the endpoint type" },
	{ diag_relax_caps, "messages together with RDMA" },
	{ diag_relax_memory, "memory registration without further conditions" },
	{ diag_relax_threading, "use by several threads" },
	{ diag_relax_provider, "this provider" },
};
#define HINTS (sizeof(table) / sizeof(*table))

/* True if libfabric returns a match without the hints of the given bits. */
static bool diag_matches(const struct fi_info *hints, unsigned int relaxed)
{
	struct fi_info *less = dofi_lib.dupinfo(hints), *found = NULL;
	bool any;

	if (!less)
		return false;
	for (size_t i = 0; i < HINTS; i++)
		if (relaxed & (1u << i))
			table[i].relax(less);
	any = !dofi_info_get(less, &found) && found;
	if (found)
		dofi_lib.freeinfo(found);
	dofi_lib.freeinfo(less);
	return any;
}

/* All hints but the last, the provider's name. */
#define ALL_BUT_PROVIDER ((1u << (HINTS - 1)) - 1)

/* Index of the hint that fails; HINTS: several fail; -1: the provider does not exist. */
static int diag_failing_hint(const struct fi_info *hints)
{
	if (!diag_matches(hints, ALL_BUT_PROVIDER))
		return -1;
	for (size_t i = 0; i < HINTS - 1; i++)
		if (diag_matches(hints, 1u << i))
			return (int)i;
	return HINTS;
}

struct found {
	const char *name;
	bool msg;
};

static size_t diag_collect(const struct fi_info *all, struct found *found)
{
	size_t n = 0, i;

	for (; all; all = all->next) {
		const char *name = all->fabric_attr->prov_name;

		for (i = 0; i < n && strcmp(found[i].name, name); i++)
			;
		if (i == MAX_FOUND)
			continue;
		if (i == n)
			found[n++] = (struct found){ name, false };
		found[i].msg |= all->ep_attr->type == FI_EP_MSG;
	}
	return n;
}

static const char *diag_reason(const struct found *f, const char *wanted, enum fi_ep_type type)
{
	if (!strcmp(f->name, wanted))
		return "see above";
	if (type == FI_EP_MSG && !f->msg)
		return "no connected endpoints";
	return "not requested";
}

/* Lists the providers, grouped by the reason why each was not selected. */
static void diag_report_found(const char *wanted, enum fi_ep_type type)
{
	static const char *const reasons[] = { "see above", "not requested",
					       "no connected endpoints" };
	struct dofi_text text = { .len = 0 };
	struct found found[MAX_FOUND];
	struct fi_info *all = NULL;
	size_t n = 0;

	if (!dofi_info_get(NULL, &all))
		n = diag_collect(all, found);
	for (size_t r = 0; r < sizeof(reasons) / sizeof(*reasons); r++) {
		const char *between = text.len ? "; " : "";
		bool any = false;

		for (size_t i = 0; i < n && text.len < LINE; i++) {
			if (strcmp(diag_reason(&found[i], wanted, type), reasons[r]))
				continue;
			dofi_text_add(&text, "%s%s", any ? ", " : between, found[i].name);
			any = true;
		}
		if (any)
			dofi_text_add(&text, " (%s)", reasons[r]);
	}
	dofi_report("fabrics found: %s", text.len ? text.buf : "none");
	if (all)
		dofi_lib.freeinfo(all);
}

static void diag_report_absent(const struct dofi_fab *fab)
{
	const char *filter = dofi_env("FI_PROVIDER");

	/* The cause comes first: tools show only the first line. */
	if (filter && *filter) {
		dofi_report("FI_PROVIDER=%s in the environment hides provider '%s'", filter,
			    fab->desc->prov_name);
		dofi_report("try: unset FI_PROVIDER, or let it include %s", fab->desc->prov_name);
	} else {
		dofi_report("libfabric %u.%u has no provider '%s'", FI_MAJOR(fab->lib_version),
			    FI_MINOR(fab->lib_version), fab->desc->prov_name);
		dofi_report("try: fi_info -l (package libfabric-bin) lists the providers; then "
			    "another provider= or libfabric");
	}
}

void dofi_diag_info(const struct dofi_fab *fab, const struct fi_info *hints, int ret)
{
	int which;

	if (ret != -FI_ENODATA) {
		dofi_report("libfabric %u.%u, provider '%s', interface %s: %s",
			    FI_MAJOR(fab->lib_version), FI_MINOR(fab->lib_version),
			    fab->desc->prov_name, fab->netdev, dofi_error_text(-ret));
		return;
	}
	which = diag_failing_hint(hints);
	if (which < 0)
		diag_report_absent(fab);
	else if (which < (int)HINTS)
		dofi_report("provider '%s' exists, but does not support %s (interface %s)",
			    fab->desc->prov_name, table[which].wanted, fab->netdev);
	else
		dofi_report("provider '%s' exists, but lacks several features that DAT requires "
			    "(interface %s)",
			    fab->desc->prov_name, fab->netdev);
	diag_report_found(fab->desc->prov_name, hints->ep_attr->type);
	if (which == 0)
		dofi_report("try: DAPL_OFI_DOMAIN with another interface or address than %s",
			    fab->netdev);
	else if (which > 0)
		dofi_report("try: fi_info -p %s -v; then another provider= or libfabric",
			    fab->desc->prov_name);
}

static const char *diag_remedy(int ret)
{
	switch (ret) {
	case -EMFILE:
	case -ENFILE:
		return "a higher limit of open files (ulimit -n)";
	case -EAGAIN:
		return "a higher limit of processes and threads (ulimit -u, or that of the "
		       "container)";
	case -ENOSPC:
		return "a higher limit of watched files (sysctl fs.epoll.max_user_watches)";
	case -EPERM:
	case -ENOSYS:
		return "a container or sandbox that permits epoll, eventfd, timerfd and threads";
	default:
		return NULL;
	}
}

void dofi_diag_open(int ret)
{
	const char *remedy = diag_remedy(ret);

	dofi_report("cannot create the adapter: %s", dofi_error_text(-ret));
	if (remedy)
		dofi_report("try: %s", remedy);
}

void dofi_diag_fabric_limit(int ret)
{
	if (ret == -EMFILE || ret == -ENFILE || ret == -EAGAIN)
		dofi_diag_open(ret);
}

/* True for names of RDMA adapters that are hard-coded in programs; the registry library maps them
 * to a fabric of this host. */
static bool diag_is_legacy(const char *name)
{
	static const char *const numbered[] = { "ib", "nes" };

	for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++) {
		size_t len = strlen(numbered[i]);

		if (!strncmp(name, numbered[i], len) && name[len] &&
		    !name[len + strspn(name + len, "0123456789")])
			return true;
	}
	return !strncmp(name, "ofa-", 4) || !strncmp(name, "OpenIB-", 7) || !strcmp(name, "ccil");
}

void dofi_diag_legacy(const char *name, const char *params, const struct dofi_fab *fab)
{
	if (!fab->desc->transport || !diag_is_legacy(name) || dofi_param_str(DOFI_STR_PROVIDER) ||
	    (params && strstr(params, "provider=")))
		return;
	dofi_log(DOFI_LOG_WARN,
		 "\"%.80s\" is the name of an RDMA adapter, and no RDMA device is "
		 "ready: %s on %s is used; try: rdma link, or \"provider=\" in an entry of "
		 "that name",
		 name, fab->desc->name, fab->netdev);
}

static void diag_report_setting(const char *name, const char *nearest)
{
	dofi_report("unknown setting %s in the environment%s%s%s", name,
		    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static void diag_report_param(const char *word, const char *nearest)
{
	dofi_report("unknown parameter \"%s\" is ignored%s%s%s", word,
		    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "=?" : "");
}

static void diag_log_param(const char *word, const char *nearest)
{
	dofi_log(nearest ? DOFI_LOG_ERROR : DOFI_LOG_WARN,
		 "unknown parameter \"%s\" is ignored%s%s%s", word,
		 nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "=?" : "");
}

void dofi_diag_ignored(const char *params)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, dofi_param_warn_unknown);
	dofi_fab_unknown_words(params, diag_log_param);
}

static void diag_add_override(struct dofi_text *t, enum dofi_string which, const char *name)
{
	if (dofi_param_str(which))
		dofi_text_add(t, ", %s=%.40s", name, dofi_param_str(which));
}

void dofi_diag_settings(const char *params)
{
	struct dofi_text requested = { .len = 0 };

	dofi_text_add(&requested, "requested: \"%.80s\"", params);
	diag_add_override(&requested, DOFI_STR_PROVIDER, "DAPL_OFI_PROVIDER");
	diag_add_override(&requested, DOFI_STR_DOMAIN, "DAPL_OFI_DOMAIN");
	dofi_report("%s", requested.buf);
	dofi_fab_unknown_words(params, diag_report_param);
	dofi_param_unknown(diag_report_setting);
}
