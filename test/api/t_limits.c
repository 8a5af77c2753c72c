/* SPDX-License-Identifier: BSD-2-Clause */
/* The greatest numbers of objects that dat_ia_query reports are those that an IA gives. */
#include <stdlib.h>

#include "rig.h"

struct kind {
	DAT_RETURN (*create)(struct node *n, DAT_HANDLE *out);
	DAT_RETURN (*free)(DAT_HANDLE object);
	DAT_RETURN_SUBTYPE none_left;
};

/* `existing` are those of the node. The asynchronous EVD does not count. */
static void limit_holds(struct node *n, const struct kind *kind, DAT_COUNT most, int existing)
{
	DAT_HANDLE *objects = calloc((size_t)most, sizeof(*objects));
	DAT_HANDLE more = NULL;
	int count = 0;

	ASSERT(objects != NULL);
	while (count < most - existing && !kind->create(n, &objects[count]))
		count++;
	ASSERT_EQ(count, most - existing);
	ASSERT_RET(kind->create(n, &more), DAT_INSUFFICIENT_RESOURCES, kind->none_left);
	ASSERT(more == NULL);
	OK(kind->free(objects[0]));
	OK(kind->create(n, &objects[0]));
	ASSERT_RET(kind->create(n, &more), DAT_INSUFFICIENT_RESOURCES, kind->none_left);
	while (count--)
		OK(kind->free(objects[count]));
	free(objects);
}

static DAT_RETURN pz_create(struct node *n, DAT_HANDLE *out)
{
	return dat_pz_create(n->ia, out);
}

TEST(limits, max_pzs)
{
	static const struct kind pzs = { pz_create, dat_pz_free, DAT_RESOURCE_PROTECTION_DOMAIN };
	struct node n;

	node_open(&n);
	limit_holds(&n, &pzs, n.attr.max_pzs, 1);
	node_close(&n);
}

static DAT_RETURN evd_create(struct node *n, DAT_HANDLE *out)
{
	return dat_evd_create(n->ia, 1, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, out);
}

TEST(limits, max_evds)
{
	static const struct kind evds = { evd_create, dat_evd_free, DAT_RESOURCE_TEVD };
	struct node n;

	node_open(&n);
	limit_holds(&n, &evds, n.attr.max_evds, 0);
	node_close(&n);
}

static DAT_RETURN ep_create(struct node *n, DAT_HANDLE *out)
{
	return dat_ep_create(n->ia, n->pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
			     out);
}

TEST_LIMIT(limits, max_eps, 60)
{
	static const struct kind eps = { ep_create, dat_ep_free, DAT_RESOURCE_TEP };
	struct node n;

	node_open(&n);
	limit_holds(&n, &eps, n.attr.max_eps, 0);
	node_close(&n);
}

static DAT_RETURN srq_create(struct node *n, DAT_HANDLE *out)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = 1,
		.max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	return dat_srq_create(n->ia, n->pz, &attr, out);
}

TEST(limits, max_srqs)
{
	static const struct kind srqs = { srq_create, dat_srq_free, DAT_RESOURCE_SRQ };
	struct node n;

	if (DT_SANITIZED)
		dt_skip("the sanitizers need more mappings or memory than a process can have");
	node_open(&n);
	limit_holds(&n, &srqs, n.attr.max_srqs, 0);
	node_close(&n);
}

#define SHARING 400

/* All its completions go to one EVD. */
static DAT_EP_HANDLE sharing_ep(struct side *s, DAT_EVD_HANDLE dto, DAT_EVD_HANDLE conn)
{
	DAT_EP_HANDLE ep;

	OK(dat_ep_create(s->node->ia, s->node->pz, dto, dto, conn, NULL, &ep));
	return ep;
}

static void sharing_connect(struct pair *p, DAT_EP_HANDLE a, DAT_EP_HANDLE b, DAT_EVD_HANDLE conn)
{
	DAT_EVENT ev;

	OK(connect_to(a, p->node.attr.ia_address_ptr, p->qual));
	OK(dat_cr_accept(EV_CR(p->cr_evd, p->psp, p->qual), b, 0, NULL));
	for (int i = 0; i < 2; i++) {
		EV_NEXT(conn, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

/* With the default attributes. A completion queue of a device has room for as many. */
TEST_LIMIT(limits, connections_that_share_one_evd, 60)
{
	static DAT_EP_HANDLE a[SHARING], b[SHARING];
	DAT_EVD_HANDLE dto, conn;
	struct pair p;

	pair_open(&p);
	dto = evd_make(&p.node, 4096, DAT_EVD_DTO_FLAG);
	conn = evd_make(&p.node, 4 * SHARING, DAT_EVD_CONNECTION_FLAG);
	for (int i = 0; i < SHARING; i++) {
		a[i] = sharing_ep(&p.a, dto, conn);
		b[i] = sharing_ep(&p.b, dto, conn);
		sharing_connect(&p, a[i], b[i], conn);
	}
	for (int i = 0; i < SHARING; i++) {
		OK(dat_ep_free(a[i]));
		OK(dat_ep_free(b[i]));
	}
	OK(dat_evd_free(dto));
	OK(dat_evd_free(conn));
	pair_close(&p);
}
