/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests a connect before its listener exists: how long it is retried, and what ends it. */
#include "srq_rig.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_MS "DAPL_OFI_CONNECT_RETRY_MS"
/* Longer than any case lasts. */
#define RETRY_LONG "60000"

/* The pair without its listener. */
static void open_unheard(struct pair *p, const char *grace)
{
	if (grace)
		setenv(RETRY_MS, grace, 1);
	else
		unsetenv(RETRY_MS);
	pair_open(p);
	OK(dat_psp_free(p->psp));
	p->psp = NULL;
}

static DAT_RETURN connect_within(struct pair *p, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(p->a.ep, p->node.attr.ia_address_ptr, p->qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* The connect has been refused and is retried. */
static void expect_pending(struct pair *p)
{
	EV_NONE(p->a.conn);
	ASSERT_EQ(side_state(&p->a), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	EV_EMPTY(p->a.recv);
}

static void listen_again(struct pair *p)
{
	OK(dat_psp_create(p->node.ia, p->qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &p->psp));
}

TEST(connect_grace, listener_that_comes_later_is_found)
{
	DAT_CONNECTION_EVENT_DATA d;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	char hello[40];
	struct pair p;
	int i;

	open_unheard(&p, RETRY_LONG);
	fill(hello, sizeof(hello), 7);
	for (i = 0; i < 3; i++)
		OK(post_recv(&p.a, (size_t)i * 1000, 1000, (uint64_t)i));
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, sizeof(hello),
			  hello, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	memset(hello, 0, sizeof(hello));
	expect_pending(&p);
	OK(post_recv(&p.a, 3000, 1000, 3));
	listen_again(&p);
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT(param.private_data_size >= (DAT_COUNT)sizeof(hello));
	CHECK_FILL(param.private_data, sizeof(hello), 7);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	d = EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	ASSERT_EQ(d.private_data_size, 0);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	/* Receives that were there before the first attempt are used, in their order. */
	for (i = 0; i < 4; i++) {
		fill(p.b.buf.mem, 1000, (unsigned int)i);
		OK(post_send(&p.b, 0, 1000, (uint64_t)i));
		EV_DTO(p.b.req, p.b.ep, (uint64_t)i, OP_SEND, 1000);
		EV_DTO(p.a.recv, p.a.ep, (uint64_t)i, OP_RECV, 1000);
		CHECK_FILL(p.a.buf.mem + i * 1000, 1000, (unsigned int)i);
	}
	EV_NONE(p.cr_evd);
	EV_EMPTY(p.a.conn);
	pair_close(&p);
}

TEST(connect_grace, default_is_200_ms)
{
	struct dt_start start;
	uint64_t took;
	struct pair p;

	open_unheard(&p, NULL);
	OK(post_recv(&p.a, 0, 10, 1));
	start = dt_start();
	OK(connect_within(&p, US_CONNECT));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	took = dt_took_us(&start);
	ASSERT(took >= 200000 && dt_in_time(&start, 1500000));
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	EV_NONE(p.a.conn);
	pair_close(&p);
}

TEST(connect_grace, time_limit_of_the_call_ends_it)
{
	bool device = fabric_is("verbs") || fabric_is("iwarp") || fabric_is("rxm-verbs");
	struct pair p;
	DAT_EVENT ev;

	open_unheard(&p, RETRY_LONG);
	OK(post_recv(&p.a, 0, 10, 1));
	OK(connect_within(&p, 300000));
	EV_NEXT(p.a.conn, &ev);
	/* Over a device an attempt may take longer than the delay before it: one is outstanding. */
	if (!device || ev.event_number != DAT_CONNECTION_EVENT_TIMED_OUT)
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	EV_NONE(p.a.conn);
	pair_close(&p);
}

TEST(connect_grace, disconnect_ends_it_at_once)
{
	struct pair p;

	open_unheard(&p, RETRY_LONG);
	OK(post_recv(&p.a, 0, 10, 1));
	OK(connect_within(&p, DAT_TIMEOUT_INFINITE));
	expect_pending(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	listen_again(&p);
	EV_NONE(p.cr_evd);
	EV_EMPTY(p.a.conn);
	OK(dat_ep_reset(p.a.ep));
	pair_connect(&p);
	pair_close(&p);
}

TEST(connect_grace, freed_endpoint_asks_no_more)
{
	struct pair p;

	open_unheard(&p, RETRY_LONG);
	OK(post_recv(&p.a, 0, 10, 1));
	OK(connect_within(&p, DAT_TIMEOUT_INFINITE));
	expect_pending(&p);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	listen_again(&p);
	EV_NONE(p.cr_evd);
	EV_EMPTY(p.a.conn);
	EV_EMPTY(p.a.recv);
	pair_close(&p);
}

TEST(connect_grace, abrupt_close_ends_it)
{
	struct pair p;

	open_unheard(&p, RETRY_LONG);
	OK(connect_within(&p, DAT_TIMEOUT_INFINITE));
	expect_pending(&p);
	node_abort(&p.node);
}

TEST(connect_grace, rejection_by_the_program_is_final)
{
	struct pair p;

	setenv(RETRY_MS, RETRY_LONG, 1);
	pair_open(&p);
	OK(api_cr_reject(pair_request(&p)));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	EV_NONE(p.cr_evd);
	pair_close(&p);
}

/* A listener for another qualifier exists, and rejects the request. */
TEST(connect_grace, rejection_by_the_library_is_final)
{
	struct pair p;

	setenv(RETRY_MS, RETRY_LONG, 1);
	pair_open(&p);
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual + ((DAT_CONN_QUAL)1 << 32)));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	EV_NONE(p.cr_evd);
	pair_close(&p);
}

TEST(connect_grace, none_with_the_setting_0)
{
	struct dt_start start;
	struct pair p;

	open_unheard(&p, "0");
	start = dt_start();
	OK(connect_within(&p, US_CONNECT));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	ASSERT(dt_in_time(&start, 200000));
	pair_close(&p);
}

/* The only port that the kernel chooses for connects in the namespace of the next case. */
#define ONLY_PORT 40000
#define PORT_RANGE "40000 40001"

/* A network namespace of this case with one source port for connects. */
static void enter_narrow_network(void)
{
	struct ifreq lo = { .ifr_flags = IFF_UP };
	int fd;

	if (unshare(CLONE_NEWNET))
		dt_skip("this user may not make network namespaces");
	strcpy(lo.ifr_name, "lo");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ASSERT(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
	fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, PORT_RANGE, strlen(PORT_RANGE)) != (ssize_t)strlen(PORT_RANGE))
		dt_skip("the range of ports cannot be set");
	close(fd);
}

/* The kernel connects a socket to itself if its source port is that of the absent listener. */
TEST(connect_grace, socket_that_reaches_itself_is_refused_and_leaves_the_port)
{
	struct pair p;

	if (!fabric_has("sockets"))
		dt_skip("connections are no sockets");
	enter_narrow_network();
	open_unheard(&p, RETRY_LONG);
	p.qual = ONLY_PORT;
	OK(connect_within(&p, DAT_TIMEOUT_INFINITE));
	expect_pending(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	OK(dat_psp_create(p.node.ia, p.qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &p.psp));
	pair_close(&p);
}

#define EARLY 12

TEST(connect_grace, many_that_are_early_are_all_connected)
{
	struct side early[EARLY], late[EARLY];
	struct pair p;
	DAT_EVENT ev;
	int i;

	open_unheard(&p, RETRY_LONG);
	OK(dat_evd_resize(p.cr_evd, EARLY + 4));
	for (i = 0; i < EARLY; i++) {
		side_make(&early[i], &p.node, NULL);
		side_make(&late[i], &p.node, NULL);
		OK(connect_to(early[i].ep, p.node.attr.ia_address_ptr, p.qual));
	}
	EV_NONE(early[0].conn);
	listen_again(&p);
	for (i = 0; i < EARLY; i++) {
		EV_NEXT(p.cr_evd, &ev);
		OK(dat_cr_accept(cr_of(&ev), late[i].ep, 0, NULL));
	}
	for (i = 0; i < EARLY; i++) {
		EV_CONN(early[i].conn, ESTABLISHED, early[i].ep);
		EV_CONN(late[i].conn, ESTABLISHED, late[i].ep);
	}
	for (i = 0; i < EARLY; i++) {
		side_free(&early[i]);
		side_free(&late[i]);
	}
	pair_close(&p);
}

TEST(connect_grace, endpoint_with_an_srq_is_connected_late_too)
{
	DAT_LMR_TRIPLET t;
	DAT_SRQ_HANDLE srq;
	DAT_EP_ATTR attr;
	DAT_CR_HANDLE cr;
	struct side s;
	struct pair p;

	open_unheard(&p, RETRY_LONG);
	srq = srq_make(&p.node, 8, 1);
	attr = srq_ep_attr(&p.node);
	side_make_srq(&s, &p.node, srq, NULL, &attr);
	t = seg(&s.buf, 0, 1000);
	OK(dat_srq_post_recv(srq, 1, &t, ck(1)));
	OK(connect_to(s.ep, p.node.attr.ia_address_ptr, p.qual));
	EV_NONE(s.conn);
	listen_again(&p);
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(s.conn, ESTABLISHED, s.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	fill(p.b.buf.mem, 1000, 5);
	OK(post_send(&p.b, 0, 1000, 2));
	EV_DTO(s.recv, s.ep, 1, OP_RECV, 1000);
	EV_DTO(p.b.req, p.b.ep, 2, OP_SEND, 1000);
	CHECK_FILL(s.buf.mem, 1000, 5);
	side_free(&s);
	OK(dat_srq_free(srq));
	pair_close(&p);
}
