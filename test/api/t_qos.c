/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the quality of service of connections: arguments, attributes, marks of packets. */
#include "rig.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#if DAT_TEST_API == 20
#include "ud.h"
#endif

/* The class, and the DSCP that the page promises. */
struct class
{
	const char *name;
	DAT_QOS qos;
	int dscp;
};

static const struct class classes[] = {
	{ "high_throughput", DAT_QOS_HIGH_THROUGHPUT, 10 },
	{ "low_latency", DAT_QOS_LOW_LATENCY, 18 },
	{ "economy", DAT_QOS_ECONOMY, 1 },
	{ "premium", DAT_QOS_PREMIUM, 46 },
};

/* Of a socket of this process; -1: it is none of IP, listens, or has another type. */
static int dscp_of(int fd, int wanted_type)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	int type, tos;

	if (getsockname(fd, (struct sockaddr *)&addr, &len) ||
	    (addr.ss_family != AF_INET && addr.ss_family != AF_INET6))
		return -1;
	len = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != wanted_type)
		return -1;
	len = sizeof(addr);
	if (type == SOCK_STREAM && getpeername(fd, (struct sockaddr *)&addr, &len))
		return -1;
	len = sizeof(tos);
	if (addr.ss_family == AF_INET6 ? getsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, &len)
				       : getsockopt(fd, IPPROTO_IP, IP_TOS, &tos, &len))
		return -1;
	return tos >> 2;
}

/* Sockets of this process whose packets carry that DSCP. */
static int count_marked(int type, int dscp)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	ASSERT(dir != NULL);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.' && dscp_of(atoi(e->d_name), type) == dscp;
	closedir(dir);
	return n;
}

static DAT_QOS qos_of(const struct side *s)
{
	DAT_EP_PARAM param;

	OK(dat_ep_query(s->ep, DAT_EP_FIELD_ALL, &param));
	return param.ep_attr.qos;
}

static DAT_RETURN connect_with(struct pair *p, struct side *from, DAT_QOS qos)
{
	return dat_ep_connect(from->ep, p->node.attr.ia_address_ptr, p->qual, US_CONNECT, 0, NULL,
			      qos, DAT_CONNECT_DEFAULT_FLAG);
}

static void establish(struct pair *p, struct side *from, struct side *to, DAT_QOS qos)
{
	OK(connect_with(p, from, qos));
	OK(dat_cr_accept(EV_CR(p->cr_evd, p->psp, p->qual), to->ep, 0, NULL));
	EV_CONN(to->conn, ESTABLISHED, to->ep);
	EV_CONN(from->conn, ESTABLISHED, from->ep);
}

static void transfer(struct side *from, struct side *to, unsigned int seed)
{
	fill(from->buf.mem, 100, seed);
	OK(post_recv(to, 0, 100, seed));
	OK(post_send(from, 0, 100, seed));
	EV_DTO(to->recv, to->ep, seed, OP_RECV, 100);
	EV_DTO(from->req, from->ep, seed, OP_SEND, 100);
	CHECK_FILL(to->buf.mem, 100, seed);
}

/* Both sides see the class that the connecting side has requested, and it marks their sockets. */
static void class_of_connect(const void *arg)
{
	const struct class *c = arg;
	struct pair p;

	pair_open(&p);
	if (!fabric_has("classes")) {
		UNSUPPORTED(connect_with(&p, &p.a, c->qos));
		ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
		pair_close(&p);
		return;
	}
	ASSERT((p.node.prov.dat_qos_supported & c->qos) == c->qos);
	establish(&p, &p.a, &p.b, c->qos);
	ASSERT_EQ(qos_of(&p.a), c->qos);
	ASSERT_EQ(qos_of(&p.b), c->qos);
	transfer(&p.a, &p.b, 1);
	transfer(&p.b, &p.a, 2);
	if (fabric_is("tcp"))
		DT_UNTIL(count_marked(SOCK_STREAM, c->dscp) >= 2, US_EVENT);
	pair_disconnect(&p);
	ASSERT_EQ(qos_of(&p.b), c->qos);
	OK(dat_ep_reset(p.a.ep));
	/* The connection is over: the endpoint's own attribute. */
	ASSERT_EQ(qos_of(&p.a), DAT_QOS_BEST_EFFORT);
	pair_close(&p);
}

TEST_ROWS(qos, classes, class_of_connect)

TEST(qos, best_effort_marks_nothing)
{
	struct pair p;

	pair_up(&p);
	transfer(&p.a, &p.b, 1);
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		ASSERT_EQ(count_marked(SOCK_STREAM, classes[i].dscp), 0);
	ASSERT_EQ(qos_of(&p.a), DAT_QOS_BEST_EFFORT);
	pair_close(&p);
}

/* The argument's default is the attribute; another argument has precedence. */
TEST(qos, attribute_applies_unless_connect_names_a_class)
{
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	if (!fabric_has("classes"))
		dt_skip("there are no classes");
	attr.qos = DAT_QOS_ECONOMY;
	pair_open_attr(&p, &attr, NULL);
	ASSERT_EQ(qos_of(&p.a), DAT_QOS_ECONOMY);
	pair_connect(&p);
	ASSERT_EQ(qos_of(&p.b), DAT_QOS_ECONOMY);
	pair_disconnect(&p);
	OK(dat_ep_reset(p.a.ep));
	OK(dat_ep_reset(p.b.ep));
	establish(&p, &p.a, &p.b, DAT_QOS_PREMIUM);
	ASSERT_EQ(qos_of(&p.a), DAT_QOS_PREMIUM);
	ASSERT_EQ(qos_of(&p.b), DAT_QOS_PREMIUM);
	pair_close(&p);
}

TEST(qos, modified_attribute_applies)
{
	DAT_EP_PARAM param;
	struct pair p;

	if (!fabric_has("classes"))
		dt_skip("there are no classes");
	pair_open(&p);
	OK(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.qos = DAT_QOS_LOW_LATENCY;
	OK(dat_ep_modify(p.a.ep, DAT_EP_FIELD_EP_ATTR_QOS, &param));
	ASSERT_EQ(qos_of(&p.a), DAT_QOS_LOW_LATENCY);
	pair_connect(&p);
	ASSERT_EQ(qos_of(&p.b), DAT_QOS_LOW_LATENCY);
	pair_close(&p);
}

/* Connections of several classes between the same adapters, some of which are established over the
 * connection of an earlier one of the class. */
TEST(qos, classes_side_by_side)
{
	static const DAT_QOS order[] = {
		DAT_QOS_BEST_EFFORT, DAT_QOS_PREMIUM,     DAT_QOS_ECONOMY,
		DAT_QOS_PREMIUM,     DAT_QOS_BEST_EFFORT, DAT_QOS_ECONOMY
	};
	enum { N = sizeof(order) / sizeof(*order) };
	struct side a[N], b[N];
	struct pair p;

	if (!fabric_has("classes"))
		dt_skip("there are no classes");
	pair_open(&p);
	for (int i = 0; i < N; i++) {
		side_make(&a[i], &p.node, NULL);
		side_make(&b[i], &p.node, NULL);
		establish(&p, &a[i], &b[i], order[i]);
	}
	for (int i = 0; i < N; i++) {
		transfer(&a[i], &b[i], 1 + (unsigned int)i);
		transfer(&b[i], &a[i], 11 + (unsigned int)i);
		ASSERT_EQ(qos_of(&b[i]), order[i]);
	}
	if (fabric_is("tcp")) {
		/* Connections of a class share the two ends of one of libfabric's. */
		DT_UNTIL(count_marked(SOCK_STREAM, 46) == 2, US_EVENT);
		DT_UNTIL(count_marked(SOCK_STREAM, 1) == 2, US_EVENT);
	}
	for (int i = 0; i < N; i++) {
		side_free(&a[i]);
		side_free(&b[i]);
	}
	pair_close(&p);
}

TEST(qos, dup_connect_names_a_class_of_its_own)
{
	struct side c, d;
	struct pair p;

	if (!fabric_has("classes"))
		dt_skip("there are no classes");
	pair_up(&p);
	side_make(&c, &p.node, NULL);
	side_make(&d, &p.node, NULL);
	OK(dat_ep_dup_connect(c.ep, p.a.ep, US_CONNECT, 0, NULL, DAT_QOS_HIGH_THROUGHPUT));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), d.ep, 0, NULL));
	EV_CONN(d.conn, ESTABLISHED, d.ep);
	EV_CONN(c.conn, ESTABLISHED, c.ep);
	ASSERT_EQ(qos_of(&c), DAT_QOS_HIGH_THROUGHPUT);
	ASSERT_EQ(qos_of(&d), DAT_QOS_HIGH_THROUGHPUT);
	ASSERT_EQ(qos_of(&p.a), DAT_QOS_BEST_EFFORT);
	transfer(&c, &d, 7);
	side_free(&c);
	side_free(&d);
	pair_close(&p);
}

#if DAT_TEST_API == 20
TEST(qos, class_marks_datagrams)
{
	DAT_EP_ATTR attr = ud_attr(), plain = ud_attr();
	DAT_EP_PARAM param;
	struct pair p;

	if (!fabric_has("classes"))
		dt_skip("there are no classes");
	attr.qos = DAT_QOS_LOW_LATENCY;
	pair_open_attr(&p, &attr, &plain);
	ASSERT_EQ(count_marked(SOCK_DGRAM, 18), 1);
	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.qos = DAT_QOS_ECONOMY;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_EP_ATTR_QOS, &param));
	ASSERT_EQ(count_marked(SOCK_DGRAM, 1), 1);
	pair_close(&p);
}
#endif
