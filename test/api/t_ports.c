/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the range of ports for what the library listens on, ports that a firewall blocks, and taken
 * ports. */
#include "rig.h"

#include <dirent.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#if DAT_TEST_API == 20
#include "ud.h"
#endif

static int first, last;

static bool port_is_free(int type, int port)
{
	struct sockaddr_in6 any;
	int fd = socket(AF_INET6, type, 0), off = 0;
	bool is_free;

	ASSERT(fd >= 0);
	memset(&any, 0, sizeof(any));
	any.sin6_family = AF_INET6;
	any.sin6_port = htons((uint16_t)port);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	is_free = !bind(fd, (struct sockaddr *)&any, sizeof(any));
	close(fd);
	return is_free;
}

/* Sets the range to `n` ports that are free, below those that the kernel hands out. Processes with
 * consecutive ids search elsewhere. */
static void set_range(int n)
{
	char text[32];
	int found = 0, port = 12000 + (int)(getpid() * 16 % 19000);

	for (; found < n; port++) {
		ASSERT(port < 32000);
		found = port_is_free(SOCK_STREAM, port) && port_is_free(SOCK_DGRAM, port)
				? found + 1
				: 0;
	}
	last = port - 1;
	first = port - n;
	snprintf(text, sizeof(text), "%d-%d", first, last);
	setenv("DAPL_OFI_PORT_RANGE", text, 1);
}

/* The port of a socket of this process on which others can reach it; 0: it is none. */
static int open_port(int fd)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} addr;
	socklen_t len = sizeof(addr);
	int type, listens;

	if (getsockname(fd, &addr.sa, &len) ||
	    (addr.sa.sa_family != AF_INET && addr.sa.sa_family != AF_INET6))
		return 0;
	len = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len))
		return 0;
	len = sizeof(listens);
	if (type == SOCK_STREAM &&
	    (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) || !listens))
		return 0;
	return ntohs(addr.sa.sa_family == AF_INET6 ? addr.in6.sin6_port : addr.in.sin_port);
}

/* Calls fn for each such socket; returns their number. */
static int each_open(void (*fn)(int fd, int port))
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	ASSERT(dir != NULL);
	while ((e = readdir(dir))) {
		int fd = e->d_name[0] == '.' ? -1 : atoi(e->d_name);
		int port = fd < 0 ? 0 : open_port(fd);

		if (port) {
			fn(fd, port);
			n++;
		}
	}
	closedir(dir);
	return n;
}

static void is_in_range(int fd, int port)
{
	(void)fd;
	ASSERT(port >= first && port <= last);
}

TEST(ports, all_are_of_the_range)
{
	struct pair p;
	int n;

	set_range(8);
	pair_up(&p);
	n = each_open(is_in_range);
	/* The service point, and the endpoint of libfabric's below the connections. */
	if (fabric_has("sockets"))
		ASSERT(n >= 2 && p.qual >= (DAT_CONN_QUAL)first && p.qual <= (DAT_CONN_QUAL)last);
	fill(p.a.buf.mem, 100, 1);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_send(&p.a, 0, 100, 1));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
	EV_DTO(p.a.req, p.a.ep, 1, OP_SEND, 100);
	pair_close(&p);
}

/* Ports of service points that have been freed are free again. */
TEST(ports, are_used_again)
{
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct node n;

	if (!fabric_has("sockets"))
		dt_skip("a service point has no port");
	set_range(3);
	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	for (int i = 0; i < 10; i++) {
		OK(dat_psp_create_any(n.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
		ASSERT(qual >= (DAT_CONN_QUAL)first && qual <= (DAT_CONN_QUAL)last);
		OK(dat_psp_free(psp));
	}
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(ports, a_taken_port_is_passed_over)
{
	struct node n, other;

	set_range(2);
	node_open(&n);
	/* Each search begins at the next port. */
	for (int i = 0; i < 2; i++) {
		node_open(&other);
		node_close(&other);
	}
	node_close(&n);
}

TEST(ports, a_range_without_a_free_port_is_an_error)
{
	DAT_EVD_HANDLE evd, async = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qual = 0, second;
	DAT_PSP_HANDLE psp, any[4];
	DAT_IA_HANDLE ia;
	struct node n;
	int used = 0, of_libfabric;
	DAT_RETURN ret;

	if (!fabric_has("sockets"))
		dt_skip("a service point has no port");
	set_range(2);
	node_open(&n);
	/* None where its listener is at no TCP port: RDMA devices have ports of their own. */
	of_libfabric = !port_is_free(SOCK_STREAM, first) + !port_is_free(SOCK_STREAM, last);
	ASSERT_EQ(of_libfabric, !fabric_is("rxm-verbs"));
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	for (; used < 4; used++) {
		ret = dat_psp_create_any(n.ia, &second, evd, DAT_PSP_CONSUMER_FLAG, &any[used]);
		if (ret != DAT_SUCCESS)
			break;
	}
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_CONN_QUAL_UNAVAILABLE);
	ASSERT_EQ(used, 2 - of_libfabric);
	if (of_libfabric) {
		ret = dat_ia_open((char *)(uintptr_t)ia_name(), 8, &async, &ia);
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	}
	/* A qualifier that the program chooses need not be of the range. */
	for (qual = (DAT_CONN_QUAL)last + 1; !port_is_free(SOCK_STREAM, (int)qual); qual++)
		;
	OK(dat_psp_create(n.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_psp_free(psp));
	while (used)
		OK(dat_psp_free(any[--used]));
	OK(dat_evd_free(evd));
	node_close(&n);
}

static void nothing(int fd, int port)
{
	(void)fd;
	(void)port;
}

struct wrong {
	const char *name, *text;
};

/* They are reported, and the system chooses. */
static void wrong_range(const void *arg)
{
	const struct wrong *row = arg;
	struct pair p;

	setenv("DAPL_OFI_PORT_RANGE", row->text, 1);
	setenv("DAPL_OFI_LOG", "0", 1);
	pair_up(&p);
	if (fabric_has("sockets"))
		ASSERT(each_open(nothing) >= 2);
	pair_close(&p);
}

static const struct wrong wrongs[] = {
	{ "wrong_one_port", "20000" }, { "wrong_order", "20010-20000" },
	{ "wrong_zero", "0-20" },      { "wrong_too_high", "65000-65536" },
	{ "wrong_words", "low-high" }, { "wrong_rest", "20000-20010," },
	{ "wrong_no_end", "20000-" },  { "wrong_blank", " 20000-20010" },
};

TEST_ROWS(ports, wrongs, wrong_range)

#if DAT_TEST_API == 20
TEST(ports, datagrams_use_the_range)
{
	DAT_EP_ATTR attr = ud_attr();
	DAT_EP_HANDLE third;
	DAT_RETURN ret;
	struct pair p;

	set_range(2);
	memset(&p, 0, sizeof(p));
	node_open(&p.node);
	side_make(&p.a, &p.node, &attr);
	side_make(&p.b, &p.node, &attr);
	each_open(is_in_range);
	ret = dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, &attr, &third);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	side_free(&p.a);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.b.recv, p.b.req, p.b.conn, &attr, &third));
	OK(dat_ep_free(third));
	side_free(&p.b);
	node_close(&p.node);
}
#endif

/* ---------------------------------------------------------------- a firewall */

static int service_port, blocked;
static bool refuse_them;

/* The kernel drops what arrives for the socket, as a firewall would, or refuses connections. */
static void block(int fd, int port)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { 1, &drop };

	if (port == service_port)
		return;
	if (refuse_them)
		ASSERT_EQ(shutdown(fd, SHUT_RDWR), 0);
	else
		ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)),
			  0);
	blocked++;
}

static void connect_through_a_firewall(bool refuse, DAT_TIMEOUT timeout, DAT_EVENT_NUMBER outcome)
{
	int own_stderr;
	DAT_EVENT ev;
	struct pair p;
	FILE *log;

	if (!fabric_is("tcp"))
		dt_skip("connections of one process do not need libfabric's port");
	setenv("DAPL_OFI_LOG", "2", 1);
	log = tmpfile();
	own_stderr = dup(2);
	ASSERT(log && own_stderr >= 0 && dup2(fileno(log), 2) == 2);
	pair_open(&p);
	service_port = (int)p.qual;
	refuse_them = refuse;
	each_open(block);
	ASSERT(blocked >= 1);
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, timeout, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, 0, NULL));
	EV_NEXT(p.a.conn, &ev);
	ASSERT_EQ(ev.event_number, outcome);
	EV_CONN(p.b.conn, ACCEPT_COMPLETION_ERROR, p.b.ep);
	EV_EMPTY(p.cr_evd);
	pair_close(&p);
	ASSERT_EQ(dup2(own_stderr, 2), 2);
	close(own_stderr);
	ASSERT(log_has(log, "DAPL_OFI_PORT_RANGE"));
	fclose(log);
}

TEST(ports, a_blocked_data_port_fails_the_connect_in_time)
{
	connect_through_a_firewall(false, 2000000, DAT_CONNECTION_EVENT_TIMED_OUT);
}

TEST(ports, a_refusing_data_port_fails_the_connect)
{
	connect_through_a_firewall(true, US_CONNECT, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* ---------------------------------------------------------------- taken ports */

#define CONNECTS 24
#define ALL_PORTS 65536

/* A socket for each port that the kernel chooses from. */
static int holders[ALL_PORTS];

/* At this address only: programs with other addresses do not run out of ports. */
static void hold_ports(const struct sockaddr *own)
{
	struct rlimit files = { .rlim_cur = 0 };
	struct sockaddr_in at;
	int low, high;
	FILE *range;

	ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max < 2 * ALL_PORTS)
		dt_skip("a process may not have that many files open");
	files.rlim_cur = files.rlim_max;
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	ASSERT(range && fscanf(range, "%d %d", &low, &high) == 2 && low > 0 && high < ALL_PORTS);
	fclose(range);
	ASSERT_EQ(own->sa_family, AF_INET);
	memcpy(&at, own, sizeof(at));
	for (int port = low; port <= high; port++) {
		holders[port] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ASSERT(holders[port] > 0);
		at.sin_port = htons((uint16_t)port);
		(void)!bind(holders[port], (struct sockaddr *)&at, sizeof(at));
	}
}

/* Every `step`th one. */
static void free_ports(int step)
{
	for (int port = 0; port < ALL_PORTS; port += step)
		if (holders[port]) {
			close(holders[port]);
			holders[port] = 0;
		}
}

/* Endpoints that connect at once, each to its own. */
static void connect_all(struct pair *p)
{
	struct side a[CONNECTS], b[CONNECTS];
	DAT_EVENT ev;

	for (int i = 0; i < CONNECTS; i++) {
		side_make(&a[i], &p->node, NULL);
		side_make(&b[i], &p->node, NULL);
		OK(connect_to(a[i].ep, p->node.attr.ia_address_ptr, p->qual));
	}
	for (int i = 0; i < CONNECTS; i++) {
		EV_NEXT(p->cr_evd, &ev);
		OK(dat_cr_accept(cr_of(&ev), b[i].ep, 0, NULL));
	}
	for (int i = 0; i < CONNECTS; i++) {
		EV_CONN(a[i].conn, ESTABLISHED, a[i].ep);
		EV_CONN(b[i].conn, ESTABLISHED, b[i].ep);
	}
	for (int i = 0; i < CONNECTS; i++) {
		side_free(&a[i]);
		side_free(&b[i]);
	}
}

/* The kernel chooses the ports of a device without regard to sockets, but soft-iWARP opens a socket
 * for each. The time during which a listener may be absent is no limit. */
static void open_without_ports(struct pair *p)
{
	if (!fabric_is("iwarp"))
		dt_skip("the kernel chooses a free port");
	set_no_connect_retry();
	pair_open(p);
	hold_ports(p->node.attr.ia_address_ptr);
}

TEST(ports, that_other_sockets_have_are_exchanged_within_the_time_limit)
{
	struct dt_start start;
	struct pair p;

	open_without_ports(&p);
	start = dt_start();
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, 300000, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	ASSERT(dt_took_us(&start) >= 250000 && dt_in_time(&start, 1500000));
	OK(dat_ep_reset(p.a.ep));
	free_ports(2);
	for (int i = 0; i < CONNECTS; i++) {
		free_qual(&p.node, p.cr_evd);
		pair_connect(&p);
		pair_disconnect(&p);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
	}
	pair_close(&p);
	free_ports(1);
}

TEST(ports, that_other_sockets_have_are_exchanged_for_each_of_many_connects)
{
	struct pair p;

	open_without_ports(&p);
	OK(dat_evd_resize(p.cr_evd, CONNECTS));
	free_ports(2);
	connect_all(&p);
	pair_close(&p);
	free_ports(1);
}
