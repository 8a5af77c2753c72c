/* SPDX-License-Identifier: BSD-2-Clause */
/* Adapters that were opened by an interface's name, by an address, or by neither: where their
 * service points listen, and from which address they connect. Each case has a network of its own
 * with two interfaces. */
#include "rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define WIRE "datwire0"
#define OTHER "datwire1"
/* Networks for documentation. The second address has a label of its own. */
#define FIRST "198.51.100.1"
#define SECOND "203.0.113.1"
#define FIRST6 "2001:db8::1"
#define ELSEWHERE "192.0.2.1"
#define ELSEWHERE6 "2001:db8:1::1"
#define LONG ((size_t)60000)

union name {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* struct in6_ifreq, whose header does not go with <net/if.h>. */
struct request6 {
	struct in6_addr addr;
	uint32_t prefix;
	int index;
};

static void to_name(const char *text, union name *name)
{
	memset(name, 0, sizeof(*name));
	name->sa.sa_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	ASSERT_EQ(inet_pton(name->sa.sa_family, text,
			    strchr(text, ':') ? (void *)&name->in6.sin6_addr : &name->in.sin_addr),
		  1);
}

static bool same(const struct sockaddr *a, const union name *b)
{
	const union name *name = (const union name *)a;

	if (!a || a->sa_family != b->sa.sa_family)
		return false;
	return a->sa_family == AF_INET6
		       ? !memcmp(&name->in6.sin6_addr, &b->in6.sin6_addr, sizeof(b->in6.sin6_addr))
		       : name->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
}

static void request4(const char *label, unsigned long what, const char *text)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr;
	union name name;

	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", label);
	to_name(text, &name);
	memcpy(&ifr.ifr_addr, &name.in, sizeof(name.in));
	ASSERT_EQ(ioctl(sock, what, &ifr), 0);
	close(sock);
}

static void add_address(const char *label, const char *text)
{
	request4(label, SIOCSIFADDR, text);
	request4(label, SIOCSIFNETMASK, "255.255.255.0");
}

static void add_address6(const char *netdev, const char *text)
{
	int sock = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct request6 r = { .prefix = 64, .index = (int)if_nametoindex(netdev) };

	ASSERT_EQ(inet_pton(AF_INET6, text, &r.addr), 1);
	if (sock < 0 || ioctl(sock, SIOCSIFADDR, &r) != 0)
		dt_skip("no IPv6: %s", strerror(errno));
	close(sock);
}

static void set_flags(const char *label, bool up)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", label);
	ifr.ifr_flags = up ? IFF_UP | IFF_RUNNING : 0;
	ASSERT_EQ(ioctl(sock, SIOCSIFFLAGS, &ifr), 0);
	close(sock);
}

/* Addresses are usable at once: their uniqueness is not probed. */
static void no_probing(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/default/accept_dad", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		dt_skip("no IPv6 to be configured: %s", strerror(errno));
	close(fd);
}

static int taps[2];

static void end_network(void)
{
	close(taps[0]);
	close(taps[1]);
}

/* The addresses of an interface; its link-local one among them. */
static unsigned int list(const char *netdev, union name *names, unsigned int room)
{
	struct ifaddrs *all;
	unsigned int n = 0;

	ASSERT_EQ(getifaddrs(&all), 0);
	for (struct ifaddrs *ifa = all; ifa && n < room; ifa = ifa->ifa_next) {
		if (strncmp(ifa->ifa_name, netdev, strlen(netdev)) || !ifa->ifa_addr)
			continue;
		memset(&names[n], 0, sizeof(names[n]));
		if (ifa->ifa_addr->sa_family == AF_INET)
			memcpy(&names[n++].in, ifa->ifa_addr, sizeof(names[0].in));
		else if (ifa->ifa_addr->sa_family == AF_INET6)
			memcpy(&names[n++].in6, ifa->ifa_addr, sizeof(names[0].in6));
	}
	freeifaddrs(all);
	return n;
}

static bool is_usable(const union name *name)
{
	int sock = socket(name->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool usable = !bind(sock, &name->sa,
			    name->sa.sa_family == AF_INET6 ? sizeof(name->in6) : sizeof(name->in));

	close(sock);
	return usable;
}

/* IPv6 addresses take the kernel a moment. */
static bool has_usable(const char *netdev, unsigned int wanted)
{
	union name names[8];
	unsigned int n = list(netdev, names, 8), usable = 0;

	for (unsigned int i = 0; i < n; i++)
		usable += is_usable(&names[i]);
	return usable == wanted;
}

static void make_network(void)
{
	/* Devices choose by other rules, and libfabric's own connections listen at one address. */
	if (!fabric_is("shm") && !(fabric_has("hosts") && fabric_has("zones")))
		dt_skip("connections are not this library's own");
	if (unshare(CLONE_NEWNET) != 0)
		dt_skip("cannot create a network namespace: %s", strerror(errno));
	no_probing();
	set_flags("lo", true);
	taps[0] = tap_make(WIRE);
	taps[1] = tap_make(OTHER);
	add_address(WIRE, FIRST);
	add_address(WIRE ":1", SECOND);
	add_address(OTHER, ELSEWHERE);
	set_flags(WIRE, true);
	set_flags(OTHER, true);
	add_address6(WIRE, FIRST6);
	add_address6(OTHER, ELSEWHERE6);
	DT_UNTIL(has_usable(WIRE, 4), US_EVENT);
	DT_UNTIL(has_usable(OTHER, 3), US_EVENT);
	set_no_connect_retry();
}

/* Messages in both directions, large enough for the rendezvous path, and a write. */
static void transfer(struct pair *p)
{
	for (unsigned int i = 0; i < 3; i++) {
		fill(p->a.buf.mem, LONG, 10 + i);
		OK(post_recv(&p->b, 0, LONG, 1));
		OK(post_send(&p->a, 0, LONG, 2));
		EV_DTO(p->b.recv, p->b.ep, 1, OP_RECV, LONG);
		EV_DTO(p->a.req, p->a.ep, 2, OP_SEND, LONG);
		CHECK_FILL(p->b.buf.mem, LONG, 10 + i);
		fill(p->b.buf.mem, 100, 20 + i);
		OK(post_recv(&p->a, 0, 100, 3));
		OK(post_send(&p->b, 0, 100, 4));
		EV_DTO(p->a.recv, p->a.ep, 3, OP_RECV, 100);
		EV_DTO(p->b.req, p->b.ep, 4, OP_SEND, 100);
		CHECK_FILL(p->a.buf.mem, 100, 20 + i);
	}
	OK(post_write(&p->a, 0, LONG, 5, &p->b, 0));
	EV_DTO(p->a.req, p->a.ep, 5, OP_WRITE, LONG);
}

static void connect_at(struct pair *p, union name *to)
{
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;

	OK(connect_to(p->a.ep, &to->sa, p->qual));
	cr = EV_CR(p->cr_evd, p->psp, p->qual);
	OK(dat_cr_accept(cr, p->b.ep, 0, NULL));
	EV_CONN(p->b.conn, ESTABLISHED, p->b.ep);
	EV_CONN(p->a.conn, ESTABLISHED, p->a.ep);
	OK(dat_ep_query(p->a.ep, DAT_EP_FIELD_ALL, &param));
	ASSERT(same(param.remote_ia_address_ptr, to));
	OK(dat_ep_query(p->b.ep, DAT_EP_FIELD_ALL, &param));
	ASSERT(same(param.local_ia_address_ptr, to));
	transfer(p);
}

static void is_refused_at(struct pair *p, const char *text)
{
	union name to;

	to_name(text, &to);
	OK(connect_to(p->a.ep, &to.sa, p->qual));
	EV_CONN(p->a.conn, NON_PEER_REJECTED, p->a.ep);
	OK(dat_ep_reset(p->a.ep));
}

/* True if the address of a line in /proc/net/tcp is one of those. Words are in memory order. */
static bool is_among(const char *hex, size_t digits, const union name *names, unsigned int n)
{
	uint32_t words[4] = { 0, 0, 0, 0 };

	for (size_t i = 0; i < digits / 8; i++)
		ASSERT_EQ(sscanf(hex + 8 * i, "%8x", &words[i]), 1);
	for (unsigned int i = 0; i < n; i++) {
		if (digits == 8 && names[i].sa.sa_family == AF_INET &&
		    names[i].in.sin_addr.s_addr == words[0])
			return true;
		if (digits == 32 && names[i].sa.sa_family == AF_INET6 &&
		    !memcmp(&names[i].in6.sin6_addr, words, sizeof(words)))
			return true;
	}
	return false;
}

/*
 * Checks that all listening sockets of this network have one of these addresses; returns their
 * number.
 */
static unsigned int listens_only_at(const union name *names, unsigned int n)
{
	static const char *const files[] = { "/proc/self/net/tcp", "/proc/self/net/tcp6" };
	char line[512], local[64];
	unsigned int state, found = 0;

	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(files[i], "re");

		ASSERT(f != NULL);
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line, " %*d: %63s %*s %x", local, &state) != 2 || state != 0x0a)
				continue;
			ASSERT(is_among(local, strcspn(local, ":"), names, n));
			found++;
		}
		fclose(f);
	}
	return found;
}

TEST_LIMIT(interface, named_one_is_reached_at_each_of_its_addresses, 60)
{
	union name names[8];
	unsigned int n, v6 = 0, linklocal = 0;
	struct pair p;

	make_network();
	conf_for_domain(WIRE);
	n = list(WIRE, names, 8);
	ASSERT_EQ(n, 4);
	/* Each first, and then in turn at one service point. */
	for (unsigned int i = 0; i < 2 * n; i++) {
		if (i <= n)
			pair_open(&p);
		connect_at(&p, &names[i % n]);
		pair_disconnect(&p);
		if (i < n || i == 2 * n - 1) {
			pair_close(&p);
			continue;
		}
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
	}
	for (unsigned int i = 0; i < n; i++) {
		v6 += names[i].sa.sa_family == AF_INET6;
		linklocal += names[i].sa.sa_family == AF_INET6 &&
			     IN6_IS_ADDR_LINKLOCAL(&names[i].in6.sin6_addr);
	}
	ASSERT_EQ(v6, 2);
	ASSERT_EQ(linklocal, 1);
	end_network();
}

TEST(interface, named_one_is_reached_at_no_other_address)
{
	union name names[8];
	unsigned int n;
	struct pair p;

	make_network();
	conf_for_domain(WIRE);
	n = list(WIRE, names, 8);
	pair_open(&p);
	is_refused_at(&p, ELSEWHERE);
	is_refused_at(&p, ELSEWHERE6);
	is_refused_at(&p, "127.0.0.1");
	is_refused_at(&p, "::1");
	if (fabric_is("shm"))
		ASSERT_EQ(listens_only_at(names, n), 0);
	else
		ASSERT(listens_only_at(names, n) >= n);
	pair_close(&p);
	end_network();
}

TEST(interface, named_address_is_the_only_one)
{
	union name second;
	struct pair p;

	make_network();
	conf_for_domain(SECOND);
	to_name(SECOND, &second);
	pair_open(&p);
	is_refused_at(&p, FIRST);
	is_refused_at(&p, ELSEWHERE);
	ASSERT(fabric_is("shm") == !listens_only_at(&second, 1));
	connect_at(&p, &second);
	pair_close(&p);
	end_network();
}

static void is_reached_at(const char *const *texts, unsigned int n)
{
	union name to;
	struct pair p;

	conf_for_domain("");
	for (unsigned int i = 0; i < n; i++) {
		pair_open(&p);
		to_name(texts[i], &to);
		connect_at(&p, &to);
		pair_close(&p);
	}
}

TEST_LIMIT(interface, unnamed_one_is_reached_at_every_address_of_the_host, 60)
{
	static const char *const texts[] = { "127.0.0.1", "::1",  SECOND,    ELSEWHERE,
					     FIRST,       FIRST6, ELSEWHERE6 };

	make_network();
	is_reached_at(texts, sizeof(texts) / sizeof(texts[0]));
	end_network();
}

/* Then a listener of IPv6 does not accept IPv4, as on a host without IPv6. */
TEST(interface, unnamed_one_is_reached_at_ipv4_if_the_host_separates_the_families)
{
	static const char *const texts[] = { "127.0.0.1", SECOND };
	int fd;

	make_network();
	fd = open("/proc/sys/net/ipv6/bindv6only", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		dt_skip("no setting of IPv6: %s", strerror(errno));
	close(fd);
	is_reached_at(texts, sizeof(texts) / sizeof(texts[0]));
	end_network();
}

/* One adapter serves peers of both families at one service point, and each learns the address of
 * its own. */
TEST(interface, unnamed_one_sees_peers_of_both_families)
{
	static const char *const texts[] = { "127.0.0.1", "::1", "127.0.0.1" };
	union name to;
	struct pair p;

	make_network();
	conf_for_domain("");
	pair_open(&p);
	for (unsigned int i = 0; i < 3; i++) {
		DAT_EP_PARAM param;

		to_name(texts[i], &to);
		connect_at(&p, &to);
		OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
		ASSERT(same(param.remote_ia_address_ptr, &to));
		pair_disconnect(&p);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
	}
	pair_close(&p);
	end_network();
}

TEST(interface, qualifier_taken_at_one_address_is_taken)
{
	union name first;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	struct node other;
	struct pair p;

	make_network();
	conf_for_domains(WIRE, SECOND);
	pair_open(&p);
	OK(dat_psp_free(p.psp));
	node_open_name(&other, ia6_name());
	evd = evd_make(&other, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(other.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	ASSERT_EQ(dat_psp_create(p.node.ia, qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &p.psp),
		  DAT_CONN_QUAL_IN_USE);
	/* It has given up the addresses that it had. */
	p.qual = qual;
	is_refused_at(&p, FIRST);
	is_refused_at(&p, FIRST6);
	OK(dat_psp_free(psp));
	OK(dat_psp_create(p.node.ia, qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &p.psp));
	to_name(FIRST, &first);
	connect_at(&p, &first);
	pair_close(&p);
	OK(dat_evd_free(evd));
	node_close(&other);
	end_network();
}

TEST(interface, address_that_has_vanished_is_left_out)
{
	union name first, first6;
	struct pair p;

	make_network();
	conf_for_domain(WIRE);
	pair_open(&p);
	OK(dat_psp_free(p.psp));
	set_flags(WIRE ":1", false);
	OK(dat_psp_create(p.node.ia, p.qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &p.psp));
	to_name(FIRST6, &first6);
	connect_at(&p, &first6);
	pair_disconnect(&p);
	OK(dat_ep_reset(p.a.ep));
	OK(dat_ep_reset(p.b.ep));
	to_name(FIRST, &first);
	connect_at(&p, &first);
	pair_close(&p);
	end_network();
}

static int listen_somewhere(const char *text, uint16_t port)
{
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	union name name;

	to_name(text, &name);
	name.in.sin_port = htons(port);
	ASSERT_EQ(bind(sock, &name.sa, sizeof(name.in)), 0);
	ASSERT_EQ(listen(sock, 1), 0);
	return sock;
}

/* Sets the ports that the kernel chooses from. */
static void set_ports(const char *range)
{
	int fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, range, strlen(range)) != (ssize_t)strlen(range))
		dt_skip("no range of ports to be configured: %s", strerror(errno));
	close(fd);
}

/* The kernel grants one of four ports, two of which are taken at another address: one of each
 * parity, because it prefers one. The adapter's own listeners have others. */
TEST(interface, port_of_the_systems_choice_is_free_at_each_address)
{
	union name second;
	struct pair p;
	int sock[2];

	if (!fabric_has("sockets"))
		dt_skip("the library chooses the ports itself");
	make_network();
	conf_for_domain(WIRE);
	to_name(SECOND, &second);
	set_ports("50000 59999");
	pair_open(&p);
	set_ports("40000 40003");
	sock[0] = listen_somewhere(SECOND, 40000);
	sock[1] = listen_somewhere(SECOND, 40001);
	for (int i = 0; i < 8; i++) {
		OK(dat_psp_free(p.psp));
		OK(dat_psp_create_any(p.node.ia, &p.qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &p.psp));
		ASSERT(p.qual == 40002 || p.qual == 40003);
		/* Ports of failed attempts are free again. */
		close(listen_somewhere(FIRST, 40000));
		close(listen_somewhere(FIRST, 40001));
	}
	set_ports("50000 59999");
	connect_at(&p, &second);
	close(sock[0]);
	close(sock[1]);
	pair_close(&p);
	end_network();
}

/* To an adapter on another interface, whose addresses the kernel would start from. */
static void connects_from(const char *domain, const char *to_text, const char *from_text)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	union name to, from;
	struct pair p;
	struct node n;
	struct side s;

	make_network();
	conf_for_domains(OTHER, domain);
	to_name(to_text, &to);
	to_name(from_text, &from);
	pair_open(&p);
	node_open_name(&n, ia6_name());
	side_make(&s, &n, NULL);
	OK(connect_to(s.ep, &to.sa, p.qual));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	/* Over shared memory an end has the requested address. */
	ASSERT(same(param.remote_ia_address_ptr, fabric_has("sockets") ? &from : &to) ||
	       strstr(fabric_params(), "+shm"));
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_CONN(s.conn, ESTABLISHED, s.ep);
	OK(post_recv(&p.b, 0, LONG, 1));
	fill(s.buf.mem, LONG, 7);
	OK(post_send(&s, 0, LONG, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, LONG);
	EV_DTO(s.req, s.ep, 2, OP_SEND, LONG);
	CHECK_FILL(p.b.buf.mem, LONG, 7);
	side_free(&s);
	node_close(&n);
	pair_close(&p);
	end_network();
}

TEST(interface, named_one_connects_from_its_first_address)
{
	connects_from(WIRE, ELSEWHERE, FIRST);
}

TEST(interface, named_one_connects_from_its_address_of_the_peers_family)
{
	connects_from(WIRE, ELSEWHERE6, FIRST6);
}

TEST(interface, named_address_is_connected_from)
{
	connects_from(SECOND, ELSEWHERE, SECOND);
}

TEST(interface, named_address_does_not_reach_the_other_family)
{
	struct pair p;
	union name to;

	make_network();
	conf_for_domain(SECOND);
	pair_open(&p);
	to_name(FIRST6, &to);
	ASSERT_RET(connect_to(p.a.ep, &to.sa, p.qual), DAT_INVALID_ADDRESS,
		   DAT_INVALID_ADDRESS_UNSUPPORTED);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	pair_close(&p);
	end_network();
}
