/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of many segments: as many as the adapter reports, of uneven sizes, some empty. */
#include "srq_rig.h"

#define MOST 64
#define AREA ((size_t)4 << 20)
#define UNUSED_BYTE 0x55

struct lists {
	struct pair p;
	int most;      /* segments of a message */
	int rdma_most; /* segments of an RDMA operation */
	struct buf from, to;
	char *image; /* what `to` must contain */
};

/* End of the segments since the last check, which covers MARGIN bytes more. */
#define MARGIN 64
static size_t reach;

static void reaches(size_t end)
{
	if (reach < end)
		reach = end;
	ASSERT(reach + MARGIN <= AREA);
}

/* Returns the limit for messages, which is in `attr`, too. */
static int adapter_limit(DAT_EP_ATTR *attr)
{
	struct node n;
	int most, rdma;

	node_open(&n);
	*attr = default_attr(&n);
	most = n.attr.max_iov_segments_per_dto;
	ASSERT(most >= 4 && most < MOST);
	rdma = n.attr.max_iov_segments_per_rdma_read;
	ASSERT(rdma >= most && rdma < MOST);
	attr->max_recv_iov = attr->max_request_iov = most;
	attr->max_rdma_read_iov = attr->max_rdma_write_iov = rdma;
	node_close(&n);
	return most;
}

static void lists_make(struct lists *l)
{
	buf_make(&l->from, &l->p.node, AREA, PRIV_ALL);
	buf_make(&l->to, &l->p.node, AREA, PRIV_ALL);
	fill(l->from.mem, AREA, 1);
	memset(l->to.mem, UNUSED_BYTE, AREA);
	l->image = malloc(AREA);
	ASSERT(l->image != NULL);
	memset(l->image, UNUSED_BYTE, AREA);
}

static void lists_up(struct lists *l)
{
	DAT_EP_ATTR attr;

	memset(l, 0, sizeof(*l));
	l->most = adapter_limit(&attr);
	l->rdma_most = attr.max_rdma_read_iov;
	pair_open_attr(&l->p, &attr, &attr);
	pair_connect(&l->p);
	lists_make(l);
}

static void lists_down(struct lists *l)
{
	free(l->image);
	buf_free(&l->from);
	buf_free(&l->to);
	pair_close(&l->p);
}

/* n segments with gaps, each fifth empty, the last one at the lowest address. Returns the sum. */
static size_t list_make(DAT_LMR_TRIPLET *t, const struct buf *b, int n, size_t unit)
{
	size_t sum = 0, at = 7;
	int i;

	for (i = n - 1; i >= 0; i--) {
		size_t k = (size_t)i, len = k % 5 == 3 ? 0 : unit * (1 + k * 3 % 4) + k % 3;

		t[i] = seg(b, at, len);
		at += len + 3;
		sum += len;
	}
	reaches(at);
	return sum;
}

/* The same, for exactly that many bytes. */
static void list_for(DAT_LMR_TRIPLET *t, const struct buf *b, int n, size_t bytes)
{
	size_t sum = list_make(t, b, n, bytes / (size_t)n / 2);
	int i;

	for (i = n - 1; sum > bytes; i--) {
		size_t len = (size_t)t[i].segment_length;
		size_t cut = sum - bytes < len ? sum - bytes : len;

		t[i].segment_length -= cut;
		sum -= cut;
	}
	/* The first one has the highest address, and nothing behind it. */
	t[0].segment_length += bytes - sum;
	reaches((size_t)(t[0].virtual_address + t[0].segment_length) - (uintptr_t)b->mem);
}

static void list_gather(char *to, const DAT_LMR_TRIPLET *t, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		memcpy(to, (void *)(uintptr_t)t[i].virtual_address, (size_t)t[i].segment_length);
		to += t[i].segment_length;
	}
}

/* Puts `len` bytes into the image of the segments. */
static void list_expect(struct lists *l, const DAT_LMR_TRIPLET *t, const char *from, size_t len)
{
	uintptr_t base = (uintptr_t)l->to.mem;

	for (; len; t++) {
		size_t part = (size_t)t->segment_length < len ? (size_t)t->segment_length : len;

		memcpy(l->image + ((uintptr_t)t->virtual_address - base), from, part);
		from += part;
		len -= part;
	}
}

/* The IOV is the consumer's again. */
static void list_spoil(DAT_LMR_TRIPLET *t)
{
	memset(t, 0xff, MOST * sizeof(*t));
}

static void check_image(struct lists *l)
{
	size_t n = reach + MARGIN;

	/* Over iWARP a write completes before its data arrives. */
	if (fabric_is("iwarp"))
		DT_UNTIL(!memcmp(l->to.mem, l->image, n), US_EVENT);
	ASSERT_MEM(l->to.mem, l->image, n);
	memset(l->to.mem, UNUSED_BYTE, n);
	memset(l->image, UNUSED_BYTE, n);
	reach = 0;
}

/* Describes a message and its receive, whose segments have `slack` bytes more. */
static size_t describe(struct lists *l, DAT_LMR_TRIPLET *from, int ns, DAT_LMR_TRIPLET *to, int nr,
		       size_t unit, size_t slack)
{
	size_t len = list_make(from, &l->from, ns, unit);
	char *message = malloc(len + 1);

	ASSERT(message != NULL);
	list_gather(message, from, ns);
	list_for(to, &l->to, nr, len + slack);
	list_expect(l, to, message, len);
	free(message);
	return len;
}

static void transfer(struct lists *l, int ns, int nr, size_t unit, size_t slack)
{
	DAT_LMR_TRIPLET from[MOST], to[MOST];
	struct pair *p = &l->p;
	size_t len = describe(l, from, ns, to, nr, unit, slack);

	OK(dat_ep_post_recv(p->b.ep, nr, to, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	list_spoil(to);
	OK(dat_ep_post_send(p->a.ep, ns, from, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	list_spoil(from);
	EV_DTO(p->b.recv, p->b.ep, 1, OP_RECV, len);
	EV_DTO(p->a.req, p->a.ep, 2, OP_SEND, len);
	check_image(l);
}

/* From ns segments to consecutive memory, and from there into nr segments, which have `slack` bytes
 * more. */
static void write_and_read(struct lists *l, int ns, int nr, size_t unit, size_t slack)
{
	DAT_LMR_TRIPLET t[MOST];
	size_t len = list_make(t, &l->from, ns, unit);
	DAT_RMR_TRIPLET r = rem(&l->to, 5, len);
	struct pair *p = &l->p;

	reaches(5 + len);
	list_gather(l->image + 5, t, ns);
	OK(dat_ep_post_rdma_write(p->a.ep, ns, t, ck(1), &r, DAT_COMPLETION_DEFAULT_FLAG));
	list_spoil(t);
	EV_DTO(p->a.req, p->a.ep, 1, OP_WRITE, len);
	check_image(l);
	list_for(t, &l->to, nr, len + slack);
	list_expect(l, t, l->from.mem + 11, len);
	r = rem(&l->from, 11, len);
	OK(dat_ep_post_rdma_read(p->a.ep, nr, t, ck(2), &r, DAT_COMPLETION_DEFAULT_FLAG));
	list_spoil(t);
	EV_DTO(p->a.req, p->a.ep, 2, OP_READ, len);
	check_image(l);
}

/* ---- attributes ---- */

TEST(segments, an_adapter_takes_16_over_a_device_and_30_without)
{
	struct node n;
	int rdma;

	node_open(&n);
	rdma = fabric_is("verbs") || fabric_is("iwarp") ? 16 : 30;
	ASSERT_EQ(n.attr.max_iov_segments_per_rdma_read, rdma);
	ASSERT_EQ(n.attr.max_iov_segments_per_rdma_write, rdma);
	/* Messages are not split: soft-iWARP takes fewer. */
	if (!fabric_is("iwarp"))
		ASSERT_EQ(n.attr.max_iov_segments_per_dto, rdma);
	node_close(&n);
}

/* ---- data ---- */

#define COUNTS(l_) \
	{ \
		1, 2, 5, (l_)->most - 1, (l_)->most \
	}

TEST(segments, message_from_and_into_every_number)
{
	static const size_t units[] = { 1, 300 };
	struct lists l;
	int s, r, u;

	lists_up(&l);
	{
		const int counts[] = COUNTS(&l);

		for (s = 0; s < 5; s++)
			for (r = 0; r < 5; r++)
				for (u = 0; u < 2; u++)
					transfer(&l, counts[s], counts[r], units[u],
						 r == s ? 0 : 41);
	}
	lists_down(&l);
}

TEST(segments, long_message_from_and_into_many)
{
	struct lists l;

	lists_up(&l);
	/* Some of them are a page, most of them longer than what one packet or ring holds. */
	transfer(&l, l.most, 1, 1500, 0);
	transfer(&l, l.most, l.most, 20000, 1);
	transfer(&l, 1, l.most, 2000000, 0);
	transfer(&l, 5, l.most - 1, 200000, 100000);
	transfer(&l, l.most, 2, 40000, 0);
	lists_down(&l);
}

TEST(segments, write_from_and_read_into_many)
{
	struct lists l;

	lists_up(&l);
	write_and_read(&l, 1, 1, 100, 0);
	write_and_read(&l, 2, 5, 1, 0);
	write_and_read(&l, l.rdma_most, l.rdma_most, 1, 30);
	write_and_read(&l, l.rdma_most, l.rdma_most - 1, 1000, 0);
	write_and_read(&l, l.rdma_most - 1, l.rdma_most, 30000, 5000);
	write_and_read(&l, 1, l.rdma_most, 2000000, 0);
	lists_down(&l);
}

TEST(segments, only_empty_ones_are_an_empty_message)
{
	DAT_LMR_TRIPLET t[MOST];
	struct lists l;
	int i;

	lists_up(&l);
	for (i = 0; i < l.most; i++)
		t[i] = seg(&l.to, (size_t)i, 0);
	OK(dat_ep_post_recv(l.p.b.ep, l.most, t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_post_send(l.p.a.ep, l.most, t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(l.p.b.recv, l.p.b.ep, 1, OP_RECV, 0);
	EV_DTO(l.p.a.req, l.p.a.ep, 2, OP_SEND, 0);
	check_image(&l);
	lists_down(&l);
}

TEST(segments, message_longer_than_many_is_LOCAL_LENGTH)
{
	DAT_LMR_TRIPLET from[MOST], to[MOST];
	struct lists l;
	size_t len;

	lists_up(&l);
	len = list_make(from, &l.from, l.most, 50);
	list_for(to, &l.to, l.most, len - 1);
	OK(dat_ep_post_recv(l.p.b.ep, l.most, to, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_post_send(l.p.a.ep, l.most, from, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO_STATUS(l.p.b.recv, l.p.b.ep, 1, OP_RECV, DAT_DTO_ERR_LOCAL_LENGTH);
	EV_CONN(l.p.b.conn, BROKEN, l.p.b.ep);
	lists_down(&l);
}

TEST(segments, flushed_receives_of_many_and_the_next_connection)
{
	DAT_LMR_TRIPLET t[MOST];
	struct lists l;
	uint64_t i;

	lists_up(&l);
	for (i = 0; i < 10; i++) {
		list_for(t, &l.to, l.most, 1000);
		OK(dat_ep_post_recv(l.p.b.ep, l.most, t, ck(i), DAT_COMPLETION_DEFAULT_FLAG));
	}
	pair_disconnect(&l.p);
	for (i = 0; i < 10; i++)
		EV_FLUSH(l.p.b.recv, l.p.b.ep, i, OP_RECV);
	check_image(&l);
	OK(dat_ep_reset(l.p.a.ep));
	OK(dat_ep_reset(l.p.b.ep));
	pair_connect(&l.p);
	for (i = 0; i < 20; i++)
		transfer(&l, l.most, l.most - (int)(i % 3), 20, 0);
	lists_down(&l);
}

/* ---- limits ---- */

TEST(segments, one_more_than_the_limit_is_ARG2_and_changes_nothing)
{
	DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_LMR_TRIPLET t[MOST];
	DAT_RMR_TRIPLET r;
	struct lists l;
	int n;

	lists_up(&l);
	n = l.most + 1;
	(void)list_make(t, &l.to, n, 10);
	BAD_ARG(dat_ep_post_recv(l.p.b.ep, n, t, ck(1), none), 2);
	BAD_ARG(dat_ep_post_send(l.p.a.ep, n, t, ck(2), none), 2);
	n = l.rdma_most + 1;
	r = rem(&l.from, 0, list_make(t, &l.to, n, 10));
	BAD_ARG(dat_ep_post_rdma_write(l.p.a.ep, n, t, ck(3), &r, none), 2);
	BAD_ARG(dat_ep_post_rdma_read(l.p.a.ep, n, t, ck(4), &r, none), 2);
	EV_NONE(l.p.b.recv);
	EV_NONE(l.p.a.req);
	transfer(&l, l.most, l.most, 10, 0);
	write_and_read(&l, l.rdma_most, l.rdma_most, 10, 0);
	lists_down(&l);
}

/* A message of ns segments into the receive of that cookie, which has `len` bytes. */
static void send_list(struct lists *l, int ns, size_t len, uint64_t cookie)
{
	DAT_LMR_TRIPLET t[MOST];

	list_for(t, &l->from, ns, len);
	OK(dat_ep_post_send(l->p.a.ep, ns, t, ck(9), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(l->p.b.recv, l->p.b.ep, cookie, OP_RECV, len);
	EV_DTO(l->p.a.req, l->p.a.ep, 9, OP_SEND, len);
}

TEST(segments, modify_adds_room_below_posted_receives)
{
	DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_LMR_TRIPLET t[MOST], few[4];
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;
	struct buf second;
	struct lists l;

	memset(&l, 0, sizeof(l));
	l.most = adapter_limit(&attr);
	pair_open(&l.p);
	lists_make(&l);
	list_for(few, &l.to, 4, 100);
	OK(dat_ep_post_recv(l.p.b.ep, 4, few, ck(1), none));
	/* Over shared memory of one process, ThreadSanitizer does not see that the second message
	 * leaves after the first one has been compared. */
	second = l.to;
	second.mem += reach;
	list_for(t, &second, l.most, 500);
	if (l.most > 4)
		BAD_ARG(dat_ep_post_recv(l.p.b.ep, l.most, t, ck(2), none), 2);
	memset(&param, 0, sizeof(param));
	param.ep_attr.max_recv_iov = param.ep_attr.max_request_iov = l.most;
	OK(dat_ep_modify(l.p.b.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param));
	OK(dat_ep_modify(l.p.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, &param));
	OK(dat_ep_post_recv(l.p.b.ep, l.most, t, ck(2), none));
	param.ep_attr.max_recv_dtos = 64;
	param.ep_attr.max_recv_iov = 2;
	OK(dat_ep_modify(l.p.b.ep,
			 DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
			 &param));
	BAD_ARG(dat_ep_post_recv(l.p.b.ep, 3, t, ck(3), none), 2);
	pair_connect(&l.p);
	send_list(&l, l.most, 100, 1);
	{
		char first[100], *got = malloc(500);

		list_gather(first, few, 4);
		send_list(&l, 3, 500, 2);
		ASSERT(got != NULL);
		list_gather(got, t, l.most);
		list_for(few, &l.from, 3, 500);
		list_gather(l.image, few, 3);
		ASSERT_MEM(got, l.image, 500);
		list_for(t, &l.from, l.most, 100);
		list_gather(l.image, t, l.most);
		ASSERT_MEM(first, l.image, 100);
		free(got);
	}
	lists_down(&l);
}

/* ---- shared receive queue ---- */

TEST(segments, srq_buffers_of_many)
{
	DAT_LMR_TRIPLET from[MOST], to[MOST];
	DAT_EP_ATTR attr, shared;
	struct side *b;
	DAT_SRQ_HANDLE srq;
	struct lists l;
	size_t len;
	int i;

	memset(&l, 0, sizeof(l));
	l.most = adapter_limit(&attr);
	pair_open_attr(&l.p, &attr, NULL);
	b = &l.p.b;
	srq = srq_make(&l.p.node, 4, l.most);
	shared = srq_ep_attr(&l.p.node);
	OK(dat_ep_free(b->ep));
	OK(dat_ep_create_with_srq(l.p.node.ia, l.p.node.pz, b->recv, b->req, b->conn, srq, &shared,
				  &b->ep));
	pair_connect(&l.p);
	lists_make(&l);
	for (i = 0; i < 12; i++) {
		len = describe(&l, from, i % 2 ? l.most : 3, to, l.most - i % 3,
			       i % 4 == 3 ? 30000 : 100, (size_t)(i % 2));
		to[l.most] = to[0];
		BAD_ARG(dat_srq_post_recv(srq, l.most + 1, to, ck(7)), 2);
		OK(dat_srq_post_recv(srq, l.most - i % 3, to, ck(1)));
		list_spoil(to);
		OK(dat_ep_post_send(l.p.a.ep, i % 2 ? l.most : 3, from, ck(2),
				    DAT_COMPLETION_DEFAULT_FLAG));
		list_spoil(from);
		EV_DTO(b->recv, b->ep, 1, OP_RECV, len);
		EV_DTO(l.p.a.req, l.p.a.ep, 2, OP_SEND, len);
		check_image(&l);
	}
	OK(dat_ep_free(b->ep));
	b->ep = NULL;
	OK(dat_srq_free(srq));
	lists_down(&l);
}
