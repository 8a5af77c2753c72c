/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports the attributes of an open IA as facts. Compiled once per API version. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "facts.h"

#define IA "adapter"
#define PROV "provider"
#define EP "endpoint defaults"
#define EXT "extensions"
#define NAMED "named attributes"

#define MAX_NAMED 256 /* a provider may leave the count uninitialised */

struct bit_name {
	unsigned int value;
	const char *name;
};

static const struct bit_name mem_types[] = {
	{ DAT_MEM_TYPE_LMR, "lmr" },
	{ DAT_MEM_TYPE_SHARED_VIRTUAL, "shared-virtual" },
	{ 0, NULL },
};

static const struct bit_name qos[] = {
	{ DAT_QOS_HIGH_THROUGHPUT, "high-throughput" },
	{ DAT_QOS_LOW_LATENCY, "low-latency" },
	{ DAT_QOS_ECONOMY, "economy" },
	{ DAT_QOS_PREMIUM, "premium" },
	{ 0, NULL },
};

static const struct bit_name completion[] = {
	{ DAT_COMPLETION_SUPPRESS_FLAG, "suppress" },
	{ DAT_COMPLETION_SOLICITED_WAIT_FLAG, "solicited-wait" },
	{ DAT_COMPLETION_UNSIGNALLED_FLAG, "unsignalled" },
	{ DAT_COMPLETION_BARRIER_FENCE_FLAG, "barrier-fence" },
	{ DAT_COMPLETION_EVD_THRESHOLD_FLAG, "threshold" },
	{ 0, NULL },
};

static const char *const iov_owner[] = { "consumer", "provider, not changed", "provider, changed" };
static const char *const ep_creator[] = { "consumer only", "either, on request", "provider only" };
static const char *const pz_support[] = { "unique", "shareable" };

/* Puts known bits by name, the others in hexadecimal; `none` if no bit is set. */
static void put_bits(const char *group, const char *name, unsigned int bits, const char *none,
		     const struct bit_name *names)
{
	char text[256] = "", rest[16];

	if (none)
		snprintf(text, sizeof(text), "%s", none);
	for (; names->name; names++) {
		if (!(bits & names->value))
			continue;
		if (*text)
			strncat(text, ", ", sizeof(text) - strlen(text) - 1);
		strncat(text, names->name, sizeof(text) - strlen(text) - 1);
		bits &= ~names->value;
	}
	if (bits) {
		snprintf(rest, sizeof(rest), "%s0x%x", *text ? ", " : "", bits);
		strncat(text, rest, sizeof(text) - strlen(text) - 1);
	}
	info_put_text(group, name, text);
}

static void put_choice(const char *group, const char *name, unsigned int value,
		       const char *const *names, size_t num)
{
	if (value < num)
		info_put_text(group, name, names[value]);
	else
		info_put_number(group, name, value);
}

#define PUT_CHOICE(group, name, value, names) \
	put_choice(group, name, (unsigned int)(value), names, sizeof(names) / sizeof(*(names)))

static void put_version(const char *group, const char *name, DAT_UINT32 major, DAT_UINT32 minor)
{
	char text[32];

	snprintf(text, sizeof(text), "%u.%u", major, minor);
	info_put_text(group, name, text);
}

static void put_address(const DAT_SOCK_ADDR *addr)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (!addr)
		return;
	if (addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, text,
			  sizeof(text));
	else if (addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, text,
			  sizeof(text));
	else
		snprintf(text, sizeof(text), "address family %d", addr->sa_family);
	info_put_text(IA, "address", text);
}

static void put_named(const DAT_NAMED_ATTR *attr, DAT_COUNT num)
{
	DAT_COUNT i;

	for (i = 0; attr && i < num && i < MAX_NAMED; i++)
		if (attr[i].name)
			info_put_text(NAMED, attr[i].name, attr[i].value);
}

#define COUNT(group, attr, member) info_put_count(group, #member, (attr)->member)
#define NUMBER(group, attr, member) info_put_number(group, #member, (attr)->member)
#define FLAG(group, attr, member) info_put_flag(group, #member, (attr)->member)

static void put_ia(const DAT_IA_ATTR *a)
{
	info_put_text(IA, "adapter_name", a->adapter_name);
	info_put_text(IA, "vendor_name", a->vendor_name);
	put_version(IA, "hardware_version", a->hardware_version_major, a->hardware_version_minor);
	put_version(IA, "firmware_version", a->firmware_version_major, a->firmware_version_minor);
	put_address(a->ia_address_ptr);
	COUNT(IA, a, max_eps);
	COUNT(IA, a, max_dto_per_ep);
	COUNT(IA, a, max_rdma_read_per_ep_in);
	COUNT(IA, a, max_rdma_read_per_ep_out);
	COUNT(IA, a, max_evds);
	COUNT(IA, a, max_evd_qlen);
	COUNT(IA, a, max_iov_segments_per_dto);
	COUNT(IA, a, max_lmrs);
	NUMBER(IA, a, max_lmr_block_size);
	NUMBER(IA, a, max_lmr_virtual_address);
	COUNT(IA, a, max_pzs);
	NUMBER(IA, a, max_message_size);
	NUMBER(IA, a, max_rdma_size);
	COUNT(IA, a, max_rmrs);
	NUMBER(IA, a, max_rmr_target_address);
	COUNT(IA, a, max_srqs);
	COUNT(IA, a, max_ep_per_srq);
	COUNT(IA, a, max_recv_per_srq);
	COUNT(IA, a, max_iov_segments_per_rdma_read);
	COUNT(IA, a, max_iov_segments_per_rdma_write);
	COUNT(IA, a, max_rdma_read_in);
	COUNT(IA, a, max_rdma_read_out);
	FLAG(IA, a, max_rdma_read_per_ep_in_guaranteed);
	FLAG(IA, a, max_rdma_read_per_ep_out_guaranteed);
#if DAT_API_MAJOR >= 2
	FLAG(IA, a, zb_supported);
#endif
}

static void put_merging(const DAT_PROVIDER_ATTR *a)
{
	static const char *const stream[6] = { "software",   "request",  "dto",
					       "connection", "rmr-bind", "async" };
	char name[64], text[128];
	int i, j;

	for (i = 0; i < 6; i++) {
		*text = '\0';
		for (j = 0; j < 6; j++) {
			if (!a->evd_stream_merging_supported[i][j])
				continue;
			if (*text)
				strcat(text, ", ");
			strcat(text, stream[j]);
		}
		snprintf(name, sizeof(name), "evd_stream_merging %s", stream[i]);
		info_put_text(PROV, name, *text ? text : "none");
	}
}

static void put_provider(const DAT_PROVIDER_ATTR *a)
{
	info_put_text(PROV, "provider_name", a->provider_name);
	put_version(PROV, "provider_version", a->provider_version_major, a->provider_version_minor);
	put_version(PROV, "dapl_version", a->dapl_version_major, a->dapl_version_minor);
	put_bits(PROV, "lmr_mem_types_supported", a->lmr_mem_types_supported, "virtual", mem_types);
	PUT_CHOICE(PROV, "iov_ownership_on_return", a->iov_ownership_on_return, iov_owner);
	put_bits(PROV, "dat_qos_supported", a->dat_qos_supported, "best-effort", qos);
	put_bits(PROV, "completion_flags_supported", a->completion_flags_supported, "default",
		 completion);
	FLAG(PROV, a, is_thread_safe);
	COUNT(PROV, a, max_private_data_size);
	FLAG(PROV, a, supports_multipath);
	PUT_CHOICE(PROV, "ep_creator", a->ep_creator, ep_creator);
	PUT_CHOICE(PROV, "pz_support", a->pz_support, pz_support);
	NUMBER(PROV, a, optimal_buffer_alignment);
	put_merging(a);
	FLAG(PROV, a, srq_supported);
	COUNT(PROV, a, srq_watermarks_supported);
	FLAG(PROV, a, srq_ep_pz_difference_supported);
	COUNT(PROV, a, srq_info_supported);
	COUNT(PROV, a, ep_recv_info_supported);
	FLAG(PROV, a, lmr_sync_req);
	FLAG(PROV, a, dto_async_return_guaranteed);
	FLAG(PROV, a, rdma_write_for_rdma_read_req);
}

#if DAT_API_MAJOR >= 2
static void put_only_20(const DAT_IA_ATTR *ia, const DAT_PROVIDER_ATTR *a)
{
	static const char *const family[] = { "none", "InfiniBand", "iWARP" };
	static const char *const scope[] = { "endpoint", "protection zone", "both" };
	static const char *const balancing[] = { "none", "between connections",
						 "within a connection" };

	FLAG(PROV, a, rdma_read_lmr_rmr_context_exposure);
	PUT_CHOICE(PROV, "rmr_scope_supported", a->rmr_scope_supported, scope);
	FLAG(PROV, a, is_signal_safe);
	FLAG(PROV, a, ha_supported);
	PUT_CHOICE(PROV, "ha_loadbalancing", a->ha_loadbalancing, balancing);
	PUT_CHOICE(EXT, "extension_supported", ia->extension_supported, family);
	COUNT(EXT, ia, extension_version);
}
#else
static void put_only_20(const DAT_IA_ATTR *ia, const DAT_PROVIDER_ATTR *a)
{
	(void)ia;
	(void)a;
	info_put_text(EXT, "extension_supported", "none");
}
#endif

static void put_ep_attr(const DAT_EP_ATTR *a)
{
	static const char *const service[] = { "reliable connection" };

	PUT_CHOICE(EP, "service_type", a->service_type, service);
	NUMBER(EP, a, max_message_size);
	NUMBER(EP, a, max_rdma_size);
	put_bits(EP, "qos", a->qos, "best-effort", qos);
	put_bits(EP, "recv_completion_flags", a->recv_completion_flags, "default", completion);
	put_bits(EP, "request_completion_flags", a->request_completion_flags, "default",
		 completion);
	COUNT(EP, a, max_recv_dtos);
	COUNT(EP, a, max_request_dtos);
	COUNT(EP, a, max_recv_iov);
	COUNT(EP, a, max_request_iov);
	COUNT(EP, a, max_rdma_read_in);
	COUNT(EP, a, max_rdma_read_out);
	COUNT(EP, a, srq_soft_hw);
	COUNT(EP, a, max_rdma_read_iov);
	COUNT(EP, a, max_rdma_write_iov);
}

/* The defaults are those of an endpoint created without attributes. */
static void put_ep(const struct info_calls *calls, DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE dto = DAT_HANDLE_NULL, conn = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	if (calls->dat_pz_create(ia, &pz) == DAT_SUCCESS &&
	    calls->dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto) == DAT_SUCCESS &&
	    calls->dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn) ==
		    DAT_SUCCESS &&
	    calls->dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep) == DAT_SUCCESS &&
	    calls->dat_ep_query(ep, DAT_EP_FIELD_ALL, &param) == DAT_SUCCESS)
		put_ep_attr(&param.ep_attr);
	if (ep)
		calls->dat_ep_free(ep);
	if (conn)
		calls->dat_evd_free(conn);
	if (dto)
		calls->dat_evd_free(dto);
	if (pz)
		calls->dat_pz_free(pz);
}

void info_attr_report(const struct info_calls *calls, DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	memset((void *)&provider, 0, sizeof(provider));
	if (calls->dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
				&provider) != DAT_SUCCESS)
		return;
	put_ia(&attr);
	put_provider(&provider);
	put_only_20(&attr, &provider);
	put_named(attr.transport_attr, attr.num_transport_attr);
	put_named(attr.vendor_attr, attr.num_vendor_attr);
	put_named(provider.provider_specific_attr, provider.num_provider_specific_attr);
	put_ep(calls, ia);
}
