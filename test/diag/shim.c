/* SPDX-License-Identifier: BSD-2-Clause */
/* A libfabric that fails as SHIM selects, and otherwise is the real one.
 *
 *   address, type, caps   fi_getinfo finds nothing while the hints request that
 *   domain                a domain cannot be opened: no memory
 *   unnamed               fi_getinfo finds nothing unless the hints name a provider
 */
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static void *real_symbol(const char *name)
{
	static void *library;

	if (!library)
		library = dlopen(REAL_LIBFABRIC, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "shim: %s\n", dlerror());
		abort();
	}
	return dlsym(library, name);
}

#define REAL(name) __typeof__(&name) call = (__typeof__(&name))real_symbol(#name)

static bool shim_fails(const char *what)
{
	const char *shim = getenv("SHIM");

	return shim && !strcmp(shim, what);
}

EXPORT int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info)
{
	REAL(fi_getinfo);

	if (shim_fails("unnamed") && !(hints && hints->fabric_attr->prov_name))
		return -FI_ENODATA;
	if (hints && ((shim_fails("address") && hints->src_addr) ||
		      (shim_fails("type") && hints->ep_attr->type == FI_EP_MSG) ||
		      (shim_fails("caps") && (hints->caps & FI_RMA))))
		return -FI_ENODATA;
	return call(version, node, service, flags, hints, info);
}

EXPORT void fi_freeinfo(struct fi_info *info)
{
	REAL(fi_freeinfo);

	call(info);
}

EXPORT struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	REAL(fi_dupinfo);

	return call(info);
}

EXPORT uint32_t fi_version(void)
{
	REAL(fi_version);

	return call();
}

EXPORT const char *fi_strerror(int errnum)
{
	REAL(fi_strerror);

	return call(errnum);
}

static struct fi_ops_fabric fabric_ops;
static int (*real_domain)(struct fid_fabric *fabric, struct fi_info *info,
			  struct fid_domain **domain, void *context);

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		       void *context)
{
	return shim_fails("domain") ? -FI_ENOMEM : real_domain(fabric, info, domain, context);
}

EXPORT int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	REAL(fi_fabric);
	int ret = call(attr, fabric, context);

	if (!ret) {
		fabric_ops = *(*fabric)->ops;
		real_domain = fabric_ops.domain;
		fabric_ops.domain = open_domain;
		(*fabric)->ops = &fabric_ops;
	}
	return ret;
}
