/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of IA and provider are complete, consistent and true. */
#include "rig.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <unistd.h>

static void get(struct node *n)
{
	node_open(n);
	/* An unset member keeps the pattern. */
	memset(&n->attr, 0xa5, sizeof(n->attr));
	memset((void *)&n->prov, 0xa5, sizeof(n->prov));
	OK(dat_ia_query(n->ia, NULL, DAT_IA_FIELD_ALL, &n->attr, DAT_PROVIDER_FIELD_ALL, &n->prov));
}

static void check_text(const char *text, const char *what)
{
	if (!memchr(text, 0, DAT_NAME_MAX_LENGTH))
		FAIL("%s is not terminated", what);
	if (!text[0])
		FAIL("%s is empty", what);
}

TEST(attr, names_are_terminated_texts)
{
	struct node n;

	get(&n);
	check_text(n.attr.adapter_name, "adapter_name");
	check_text(n.attr.vendor_name, "vendor_name");
	check_text(n.prov.provider_name, "provider_name");
	node_close(&n);
}

TEST(attr, adapter_name_is_the_name_of_the_ia)
{
	struct node n, other;

	get(&n);
	ASSERT(!strcmp(n.attr.adapter_name, ia_name()));
	node_open_name(&other, ia6_name());
	ASSERT(!strcmp(other.attr.adapter_name, ia6_name()));
	node_close(&other);
	node_close(&n);
}

static const char *named(const struct node *n, const char *name)
{
	for (DAT_COUNT i = 0; i < n->prov.num_provider_specific_attr; i++)
		if (!strcmp(n->prov.provider_specific_attr[i].name, name))
			return n->prov.provider_specific_attr[i].value;
	return "";
}

/* Devices have ports with one of these; others do not cut what is sent. */
TEST(attr, transport_mtu_is_that_of_the_port)
{
	struct node n;
	long mtu;

	get(&n);
	mtu = atol(named(&n, "DAT_IB_TRANSPORT_MTU"));
	if (fabric_is("verbs") || fabric_is("iwarp"))
		ASSERT(mtu == 256 || mtu == 512 || mtu == 1024 || mtu == 2048 || mtu == 4096);
	else
		ASSERT_EQ(mtu, 65536);
	node_close(&n);
}

/* Names of the original; of a device the values are those in /sys. */
TEST(attr, device_and_port_are_told)
{
	bool device = fabric_is("verbs") || fabric_is("iwarp") || fabric_is("rxm-verbs");
	const char *name, *number;
	char path[256];
	struct node n;

	get(&n);
	name = named(&n, "DAT_IB_DEVICE_NAME");
	number = named(&n, "DAT_IB_PORT_NUMBER");
	ASSERT(*name);
	ASSERT(!strcmp(named(&n, "DAT_IB_CONNECTIVITY_MODE"), "DIRECT"));
	ASSERT(!strcmp(named(&n, "DAT_IB_PORT_STATUS"), "ACTIVE"));
	ASSERT(atoi(number) > 0);
	ASSERT_EQ(strlen(named(&n, "DAT_IB_NODE_GUID")), 19);
	ASSERT_EQ(strlen(named(&n, "DAT_IB_GID")), 39);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%s", name, number);
	if (device)
		ASSERT(!access(path, R_OK));
	else
		ASSERT(!strcmp(named(&n, "DAT_IB_NODE_GUID"), "0000:0000:0000:0000"));
	node_close(&n);
}

TEST(attr, fabric_and_interface_are_told)
{
	struct node n;

	get(&n);
	if (strstr(fabric_params(), "provider="))
		ASSERT(!strncmp(strstr(fabric_params(), "provider=") + 9,
				named(&n, "DAT_OFI_FABRIC"), strlen(named(&n, "DAT_OFI_FABRIC"))));
	ASSERT(*named(&n, "DAT_OFI_FABRIC"));
	if (strstr(fabric_params(), "domain=lo"))
		ASSERT(!strcmp(named(&n, "DAT_OFI_INTERFACE"), "lo"));
	node_close(&n);
}

TEST(attr, versions_are_set_and_equal_the_registration)
{
	const DAT_UINT32 unset = 0xa5a5a5a5u;
	struct node n;

	get(&n);
	ASSERT(n.attr.hardware_version_major != unset && n.attr.hardware_version_minor != unset);
	ASSERT(n.attr.firmware_version_major != unset && n.attr.firmware_version_minor != unset);
	ASSERT(n.prov.provider_version_major != unset && n.prov.provider_version_minor != unset);
	ASSERT_EQ(n.prov.dapl_version_major, DAT_VERSION_MAJOR);
	ASSERT_EQ(n.prov.dapl_version_minor, DAT_VERSION_MINOR);
	ASSERT_EQ(n.prov.is_thread_safe, DAT_TRUE);
	node_close(&n);
}

TEST(attr, limits_are_positive)
{
	struct node n;

	get(&n);
	ASSERT(n.attr.max_eps > 0);
	ASSERT(n.attr.max_dto_per_ep > 0);
	ASSERT(n.attr.max_rdma_read_per_ep_in > 0);
	ASSERT(n.attr.max_rdma_read_per_ep_out > 0);
	ASSERT(n.attr.max_evds > 0);
	ASSERT(n.attr.max_evd_qlen > 0);
	ASSERT(n.attr.max_iov_segments_per_dto > 0);
	ASSERT(n.attr.max_lmrs > 0);
	ASSERT(n.attr.max_lmr_block_size > 0);
	ASSERT(n.attr.max_lmr_virtual_address > (DAT_VADDR)(uintptr_t)&n);
	ASSERT(n.attr.max_pzs > 0);
	ASSERT(n.attr.max_message_size > 0);
	ASSERT(n.attr.max_rdma_size > 0);
	ASSERT(n.attr.max_iov_segments_per_rdma_read > 0);
	ASSERT(n.attr.max_iov_segments_per_rdma_write > 0);
	ASSERT(n.attr.max_rdma_read_in >= n.attr.max_rdma_read_per_ep_in);
	ASSERT(n.attr.max_rdma_read_out >= n.attr.max_rdma_read_per_ep_out);
	ASSERT(n.attr.max_rdma_read_per_ep_in_guaranteed <= DAT_TRUE);
	ASSERT(n.attr.max_rdma_read_per_ep_out_guaranteed <= DAT_TRUE);
	node_close(&n);
}

/* A program may share a total out among its endpoints. */
TEST(attr, guaranteed_rdma_reads_of_every_endpoint_are_within_the_totals)
{
	struct node n;

	get(&n);
	if (n.attr.max_rdma_read_per_ep_in_guaranteed)
		ASSERT(n.attr.max_rdma_read_in / n.attr.max_eps >= n.attr.max_rdma_read_per_ep_in);
	if (n.attr.max_rdma_read_per_ep_out_guaranteed)
		ASSERT(n.attr.max_rdma_read_out / n.attr.max_eps >=
		       n.attr.max_rdma_read_per_ep_out);
	node_close(&n);
}

TEST(attr, private_data_is_at_least_196_bytes_256_over_verbs)
{
	struct node n;

	get(&n);
	if (fabric_is("verbs") || fabric_is("iwarp"))
		ASSERT_EQ(n.prov.max_private_data_size, 256);
	else
		ASSERT(n.prov.max_private_data_size >= 196);
	ASSERT(n.prov.max_private_data_size <= 256);
	node_close(&n);
}

TEST(attr, srqs_and_rmrs_are_granted)
{
	struct node n;

	get(&n);
	ASSERT(n.attr.max_rmrs >= 1024);
	ASSERT(n.attr.max_srqs >= 1024);
	ASSERT(n.attr.max_ep_per_srq >= 1024);
	ASSERT(n.attr.max_recv_per_srq >= 1024);
	ASSERT_EQ(n.prov.srq_supported, DAT_TRUE);
	/* Low, soft high, hard high. */
	ASSERT_EQ(n.prov.srq_watermarks_supported, 0x111);
	ASSERT_EQ(n.prov.srq_ep_pz_difference_supported, DAT_TRUE);
	/* Available, outstanding; buffers, span. */
	ASSERT_EQ(n.prov.srq_info_supported, 0x11);
	ASSERT_EQ(n.prov.ep_recv_info_supported, 0x11);
	node_close(&n);
}

TEST(attr, provider_features_are_true)
{
	struct node n;

	get(&n);
	/* Virtual memory always, LMRs and shared memory as bits. */
	ASSERT_EQ(n.prov.lmr_mem_types_supported, DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
	ASSERT_EQ(n.prov.iov_ownership_on_return, DAT_IOV_CONSUMER);
	ASSERT_EQ(n.prov.dat_qos_supported,
		  fabric_has("classes") ? DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY |
						  DAT_QOS_ECONOMY | DAT_QOS_PREMIUM
					: DAT_QOS_BEST_EFFORT);
	ASSERT_EQ(n.prov.completion_flags_supported,
		  DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			  DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG);
	ASSERT_EQ(n.prov.supports_multipath, DAT_FALSE);
	ASSERT_EQ(n.prov.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
	ASSERT_EQ(n.prov.pz_support, fabric_has("zones") ? DAT_PZ_UNIQUE : DAT_PZ_SHAREABLE);
	ASSERT_EQ(n.prov.lmr_sync_req, DAT_FALSE);
	ASSERT_EQ(n.prov.dto_async_return_guaranteed, DAT_FALSE);
	ASSERT_EQ(n.prov.rdma_write_for_rdma_read_req, DAT_FALSE);
	ASSERT(n.prov.optimal_buffer_alignment > 0);
	ASSERT_EQ(DAT_OPTIMAL_ALIGNMENT % n.prov.optimal_buffer_alignment, 0);
	node_close(&n);
}

TEST(attr, ep_recv_info_tells_whether_ep_recv_query_works)
{
	DAT_COUNT nbufs, span;
	struct pair p;

	pair_open(&p);
	if (p.node.prov.ep_recv_info_supported & 1) {
		OK(dat_ep_recv_query(p.a.ep, &nbufs, &span));
		ASSERT_EQ(nbufs, 0);
	} else {
		UNSUPPORTED(dat_ep_recv_query(p.a.ep, &nbufs, &span));
	}
	pair_close(&p);
}

TEST(attr, every_pair_of_streams_may_be_merged)
{
	struct node n;
	int i, j;

	get(&n);
	for (i = 0; i < 6; i++)
		for (j = 0; j < 6; j++)
			ASSERT_EQ(n.prov.evd_stream_merging_supported[i][j], DAT_TRUE);
	node_close(&n);
}

static void check_named(const DAT_NAMED_ATTR *attr, DAT_COUNT count)
{
	DAT_COUNT i;

	ASSERT(count >= 0);
	ASSERT(count == 0 || attr != NULL);
	for (i = 0; i < count; i++) {
		ASSERT(attr[i].name && attr[i].name[0]);
		ASSERT(attr[i].value != NULL);
	}
}

TEST(attr, named_attributes_are_pairs_of_texts)
{
	struct node n;

	get(&n);
	check_named(n.attr.transport_attr, n.attr.num_transport_attr);
	check_named(n.attr.vendor_attr, n.attr.num_vendor_attr);
	check_named(n.prov.provider_specific_attr, n.prov.num_provider_specific_attr);
	node_close(&n);
}

TEST(attr, pointers_stay_valid_while_the_ia_is_open)
{
	DAT_IA_ATTR first;
	struct node n;
	int i;

	get(&n);
	first = n.attr;
	for (i = 0; i < 100; i++)
		OK(dat_ia_query(n.ia, NULL, DAT_IA_FIELD_ALL, &n.attr, DAT_PROVIDER_FIELD_ALL,
				&n.prov));
	ASSERT(first.ia_address_ptr->sa_family == AF_INET);
	check_named(first.transport_attr, first.num_transport_attr);
	node_close(&n);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return !memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
			       &((const struct sockaddr_in *)(const void *)b)->sin_addr, 4);
	return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		       &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, 16);
}

/* True if it is the address of an interface of this host. */
static bool is_local(const struct sockaddr *sa)
{
	struct ifaddrs *all, *i;
	bool found = false;

	ASSERT_EQ(getifaddrs(&all), 0);
	for (i = all; i && !found; i = i->ifa_next)
		found = i->ifa_addr && same_address(sa, i->ifa_addr);
	freeifaddrs(all);
	return found;
}

TEST(attr, address_is_that_of_a_local_interface)
{
	struct node n;

	get(&n);
	ASSERT(n.attr.ia_address_ptr != NULL);
	ASSERT_EQ(n.attr.ia_address_ptr->sa_family, AF_INET);
	ASSERT(is_local(n.attr.ia_address_ptr));
	node_close(&n);
}

TEST(attr, address_of_an_ipv6_ia_is_ipv6)
{
	struct node n;

	need_ipv6();
	node_open_name(&n, ia6_name());
	ASSERT_EQ(n.attr.ia_address_ptr->sa_family, AF_INET6);
	ASSERT(is_local(n.attr.ia_address_ptr));
	node_close(&n);
}

TEST(attr, max_evd_qlen_is_honoured)
{
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;
	struct node n;

	get(&n);
	OK(dat_evd_create(n.ia, n.attr.max_evd_qlen, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ASSERT(param.evd_qlen >= n.attr.max_evd_qlen);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(attr, maximal_endpoint_attributes_are_granted)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	struct node n;

	get(&n);
	attr = default_attr(&n);
	attr.max_message_size = n.attr.max_message_size;
	attr.max_rdma_size = n.attr.max_rdma_size;
	attr.max_recv_dtos = n.attr.max_dto_per_ep;
	attr.max_request_dtos = n.attr.max_dto_per_ep;
	attr.max_recv_iov = n.attr.max_iov_segments_per_dto;
	attr.max_request_iov = n.attr.max_iov_segments_per_dto;
	attr.max_rdma_read_in = n.attr.max_rdma_read_per_ep_in;
	attr.max_rdma_read_out = n.attr.max_rdma_read_per_ep_out;
	attr.max_rdma_read_iov = n.attr.max_iov_segments_per_rdma_read;
	attr.max_rdma_write_iov = n.attr.max_iov_segments_per_rdma_write;
	evd = evd_make(&n, 64, DAT_EVD_DTO_FLAG);
	OK(dat_ep_create(n.ia, n.pz, evd, evd, NULL, &attr, &ep));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ASSERT(param.ep_attr.max_recv_dtos >= attr.max_recv_dtos);
	ASSERT(param.ep_attr.max_request_dtos >= attr.max_request_dtos);
	ASSERT(param.ep_attr.max_recv_iov >= attr.max_recv_iov);
	ASSERT_EQ(param.ep_attr.max_message_size, attr.max_message_size);
	ASSERT_EQ(param.ep_attr.max_rdma_read_in, attr.max_rdma_read_in);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	node_close(&n);
}

#if DAT_TEST_API == 20
TEST(attr, members_of_2_0_are_filled)
{
	struct node n;

	get(&n);
	/* A device's peers name memory by its address. */
	ASSERT_EQ(n.attr.zb_supported,
		  fabric_is("verbs") || fabric_is("iwarp") ? DAT_FALSE : DAT_TRUE);
	/* iWARP reads arrive as writes with the key of the destination. */
	ASSERT_EQ(n.prov.rdma_read_lmr_rmr_context_exposure,
		  fabric_is("iwarp") ? DAT_TRUE : DAT_FALSE);
	ASSERT((unsigned int)n.prov.rmr_scope_supported <= DAT_RMR_SCOPE_ANY);
	ASSERT_EQ(n.prov.is_signal_safe, DAT_FALSE);
	ASSERT_EQ(n.prov.ha_supported, DAT_FALSE);
	ASSERT_EQ(n.prov.ha_loadbalancing, DAT_HA_LB_NONE);
	node_close(&n);
}
#endif
