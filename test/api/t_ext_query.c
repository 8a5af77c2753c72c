/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the attributes of adapters that are not open: dat_ib_open_query, dat_ib_close_query. */
#include "ext.h"

static DAT_RETURN open_query(DAT_IA_HANDLE *query, DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR *prov)
{
	return dat_ib_open_query((char *)(uintptr_t)ia_name(), query, DAT_IA_FIELD_ALL, attr,
				 DAT_PROVIDER_FIELD_ALL, prov);
}

static void check_same(const DAT_IA_ATTR *attr, const DAT_PROVIDER_ATTR *prov, const struct node *n)
{
	const struct sockaddr *own = n->attr.ia_address_ptr;

	ASSERT_EQ(strcmp(attr->adapter_name, n->attr.adapter_name), 0);
	ASSERT_EQ(strcmp(attr->vendor_name, n->attr.vendor_name), 0);
	ASSERT_EQ(attr->max_eps, n->attr.max_eps);
	ASSERT_EQ(attr->max_message_size, n->attr.max_message_size);
	ASSERT_EQ(attr->max_iov_segments_per_dto, n->attr.max_iov_segments_per_dto);
	ASSERT_EQ(attr->extension_supported, n->attr.extension_supported);
	ASSERT_MEM(attr->ia_address_ptr, own,
		   own->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in));
	ASSERT_EQ(prov->max_private_data_size, n->prov.max_private_data_size);
	ASSERT_EQ(prov->num_provider_specific_attr, n->prov.num_provider_specific_attr);
	for (int i = 0; i < prov->num_provider_specific_attr; i++) {
		const DAT_NAMED_ATTR *a = &prov->provider_specific_attr[i];

		ASSERT_EQ(strcmp(a->name, n->prov.provider_specific_attr[i].name), 0);
		ASSERT_EQ(strcmp(a->value, n->prov.provider_specific_attr[i].value), 0);
	}
}

/* In a process that has opened no IA, which also makes the close available. */
TEST(ext_query, attributes_are_those_of_an_open_adapter)
{
	DAT_IA_HANDLE query = NULL;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;
	struct node n;

	OK(open_query(&query, &attr, &prov));
	node_open(&n);
	check_same(&attr, &prov, &n);
	node_close(&n);
	OK(dat_ib_close_query(query));
	/* Only one of the structures, or none. */
	OK(dat_ib_open_query((char *)(uintptr_t)ia_name(), &query, 0, NULL, DAT_PROVIDER_FIELD_ALL,
			     &prov));
	OK(dat_ib_close_query(query));
	OK(dat_ib_open_query((char *)(uintptr_t)ia_name(), &query, 0, NULL, 0, NULL));
	OK(dat_ib_close_query(query));
}

TEST(ext_query, several_at_once_and_next_to_open_adapters)
{
	DAT_IA_HANDLE query[3];
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;
	struct pair p;

	pair_up(&p);
	for (int i = 0; i < 3; i++)
		OK(open_query(&query[i], &attr, &prov));
	ASSERT(query[0] != query[1] && query[1] != query[2] && query[0] != query[2]);
	check_same(&attr, &prov, &p.node);
	OK(dat_ib_close_query(query[1]));
	OK(post_recv(&p.b, 0, 10, 1));
	OK(post_send(&p.a, 0, 10, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 10);
	/* Closed: the handle is invalid. */
	BAD_HANDLE(dat_ib_close_query(query[1]), IA);
	OK(dat_ib_close_query(query[0]));
	OK(dat_ib_close_query(query[2]));
	pair_close(&p);
}

TEST(ext_query, handles_are_of_their_own_kind)
{
	DAT_IA_HANDLE query = NULL;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;
	DAT_PZ_HANDLE pz;
	struct node n;

	node_open(&n);
	OK(open_query(&query, &attr, &prov));
	BAD_HANDLE(dat_pz_create(query, &pz), IA);
	BAD_HANDLE(dat_ia_query(query, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), IA);
	BAD_HANDLE(dat_ia_close(query, DAT_CLOSE_ABRUPT_FLAG), IA);
	ASSERT_RET(dat_ib_close_query(n.ia), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ASSERT_RET(dat_ib_close_query(NULL), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	BAD_HANDLE(dat_ib_close_query(n.pz), IA);
	OK(dat_ib_close_query(query));
	node_close(&n);
}

TEST(ext_query, open_checks_its_arguments)
{
	DAT_IA_HANDLE query = NULL;
	char *name = (char *)(uintptr_t)ia_name();
	DAT_PROVIDER_ATTR prov;
	char long_name[300];
	DAT_IA_ATTR attr;
	const DAT_IA_ATTR_MASK all = DAT_IA_FIELD_ALL;
	const DAT_PROVIDER_ATTR_MASK every = DAT_PROVIDER_FIELD_ALL;

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	ASSERT_RET(dat_ib_open_query(NULL, &query, all, &attr, every, &prov), DAT_INVALID_HANDLE,
		   DAT_INVALID_ARG3);
	BAD_ARG(dat_ib_open_query(long_name, &query, all, &attr, every, &prov), 3);
	ASSERT_RET(dat_ib_open_query("no-such-name", &query, all, &attr, every, &prov),
		   DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	BAD_ARG(dat_ib_open_query(name, NULL, all, &attr, every, &prov), 2);
	BAD_ARG(dat_ib_open_query(name, &query, all + 1, &attr, every, &prov), 3);
	BAD_ARG(dat_ib_open_query(name, &query, all, NULL, every, &prov), 4);
	BAD_ARG(dat_ib_open_query(name, &query, all, &attr, every + 1, &prov), 5);
	BAD_ARG(dat_ib_open_query(name, &query, all, &attr, every, NULL), 6);
	ASSERT_PTR(query, NULL);
}
