/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes two hosts and their links of namespaces and TAP interfaces. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../robust/rlib.h"
#include "net.h"

/* Values of the board: settings and counters of the carrier. */
enum { WORD_LOSS = 24, WORD_CARRIED = WORD_LOSS + NET_WIRES, WORD_LOST, WORD_PORT, WORD_DELAY };
_Static_assert(WORD_DELAY + NET_WIRES <= 32, "the board has 32 values");

#define FRAME 2048
#define QUEUE 4096

static int home = -1, host_ns[NET_HOSTS] = { -1, -1 };
static int tap[NET_WIRES][NET_HOSTS];
static bool netem; /* makes the delays and losses of the first link */

const char *net_wire(int wire)
{
	return wire ? "datwire1" : "datwire0";
}

const char *net_address(int host, int wire)
{
	/* Address ranges reserved for documentation. */
	static const char *const addresses[NET_HOSTS][NET_WIRES] = {
		{ "198.51.100.1", "203.0.113.1" },
		{ "198.51.100.2", "203.0.113.2" },
	};

	return addresses[host][wire];
}

static bool set_address(int sock, const char *name, unsigned long what, const char *text)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	inet_pton(AF_INET, text, &sin.sin_addr);
	memcpy(&ifr.ifr_addr, &sin, sizeof(sin));
	return !ioctl(sock, what, &ifr);
}

static bool set_up(int sock, const char *name, bool up)
{
	struct ifreq ifr;

	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (ioctl(sock, SIOCGIFFLAGS, &ifr))
		return false;
	ifr.ifr_flags = (short)(up ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP);
	return !ioctl(sock, SIOCSIFFLAGS, &ifr);
}

/* An interface of the namespace that the caller is in: its descriptor, or a negative error. */
static int make_tap(int sock, int host, int wire)
{
	struct ifreq ifr;
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", net_wire(wire));
	ifr.ifr_flags = IFF_TAP | IFF_NO_PI;
	if (ioctl(fd, TUNSETIFF, &ifr) ||
	    !set_address(sock, net_wire(wire), SIOCSIFADDR, net_address(host, wire)) ||
	    !set_address(sock, net_wire(wire), SIOCSIFNETMASK, "255.255.255.0") ||
	    !set_up(sock, net_wire(wire), true)) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

static bool make_host(int host, char *why, unsigned int size)
{
	int sock;

	if (unshare(CLONE_NEWNET)) {
		snprintf(why, size, "no network namespace of its own: %s", strerror(errno));
		return false;
	}
	host_ns[host] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (host_ns[host] < 0 || sock < 0 || !set_up(sock, "lo", true)) {
		snprintf(why, size, "no interface lo: %s", strerror(errno));
		close(sock);
		return false;
	}
	for (int wire = 0; wire < NET_WIRES; wire++) {
		tap[wire][host] = make_tap(sock, host, wire);
		if (tap[wire][host] < 0) {
			snprintf(why, size, "no TAP interface: %s", strerror(-tap[wire][host]));
			close(sock);
			return false;
		}
	}
	close(sock);
	return true;
}

bool net_make(char *why, unsigned int size)
{
	bool made = true;

	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	for (int host = 0; host < NET_HOSTS && made; host++)
		made = make_host(host, why, size);
	if (home >= 0)
		(void)!setns(home, CLONE_NEWNET);
	return made;
}

void net_enter(int host)
{
	RL_CHECK(!setns(host_ns[host], CLONE_NEWNET), "setns: %s", strerror(errno));
}

void net_link(int host, int wire, bool up)
{
	int sock;

	RL_CHECK(!setns(host_ns[host], CLONE_NEWNET), "setns: %s", strerror(errno));
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	RL_CHECK(set_up(sock, net_wire(wire), up), "%s: %s", net_wire(wire), strerror(errno));
	close(sock);
	RL_CHECK(!setns(home, CLONE_NEWNET), "setns: %s", strerror(errno));
}

/* Runs tc(8) for the first link at one host, without its messages about a lack of netem. */
static bool set_netem(int host, const char *delay, const char *jitter, const char *loss)
{
	int status = -1, null;
	pid_t pid = fork();

	if (!pid) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (null < 0 || dup2(null, STDERR_FILENO) < 0 ||
		    setns(host_ns[host], CLONE_NEWNET) ||
		    setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1))
			_exit(1);
		execlp("tc", "tc", "qdisc", "replace", "dev", net_wire(0), "root", "netem", "limit",
		       "4096", "delay", delay, jitter, "loss", loss, (char *)NULL);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static bool has_set_netem(int per_mille, unsigned int ms)
{
	char delay[16], jitter[16], loss[16];

	snprintf(delay, sizeof(delay), "%ums", ms);
	snprintf(jitter, sizeof(jitter), "%ums", ms / 4);
	snprintf(loss, sizeof(loss), "%d.%d%%", per_mille / 10, per_mille % 10);
	for (int host = 0; host < NET_HOSTS; host++)
		if (!set_netem(host, delay, jitter, loss))
			return false;
	return true;
}

bool net_use_netem(void)
{
	netem = has_set_netem(0, 0);
	return netem;
}

void net_lose(int wire, int per_mille)
{
	if (netem && !wire)
		RL_CHECK(has_set_netem(per_mille, 0), "netem: no loss of %d per mille", per_mille);
	else
		rl_board->value[WORD_LOSS + wire] = (uint64_t)per_mille;
}

void net_delay(int wire, unsigned int ms)
{
	if (netem && !wire)
		RL_CHECK(has_set_netem(0, ms), "netem: no delay of %u ms", ms);
	else
		rl_board->value[WORD_DELAY + wire] = (uint64_t)ms * 1000;
}

void net_only_port(uint16_t port)
{
	rl_board->value[WORD_PORT] = port;
}

/* True for TCP over IPv4 whose ports differ from the one that is passed. */
static bool is_barred(const unsigned char *frame, size_t len)
{
	uint64_t port = rl_board->value[WORD_PORT];
	size_t tcp = 14 + (frame[14] & 15) * 4u;

	if (!port || len < 14 + 20 || frame[12] != 8 || frame[13] || frame[14 + 9] != IPPROTO_TCP ||
	    len < tcp + 4)
		return false;
	return (uint64_t)(frame[tcp] << 8 | frame[tcp + 1]) != port &&
	       (uint64_t)(frame[tcp + 2] << 8 | frame[tcp + 3]) != port;
}

uint64_t net_carried(void)
{
	return rl_board->value[WORD_CARRIED];
}

uint64_t net_lost(void)
{
	return rl_board->value[WORD_LOST];
}

/* Frames on their way, of one direction of a link. */
static struct queue {
	struct {
		uint64_t due; /* rl_now() */
		size_t len;
		unsigned char bytes[FRAME];
	} frame[QUEUE];
	unsigned int first, count;
} queue[NET_WIRES][NET_HOSTS];

/* A full queue, or an interface that is down, drops the frame as well. */
static void deliver(int wire, int host, const void *frame, size_t len)
{
	if (write(tap[wire][!host], frame, len) == (ssize_t)len)
		rl_board->value[WORD_CARRIED]++;
}

/* A frame does not overtake others. */
static bool is_delayed(int wire, int host, const void *frame, size_t len)
{
	struct queue *q = &queue[wire][host];
	uint64_t delay = rl_board->value[WORD_DELAY + wire];
	unsigned int at = (q->first + q->count) % QUEUE;

	if (!delay && !q->count)
		return false;
	if (q->count == QUEUE) {
		rl_board->value[WORD_LOST]++;
		return true;
	}
	memcpy(q->frame[at].bytes, frame, len);
	q->frame[at].len = len;
	q->frame[at].due = rl_now() + delay;
	q->count++;
	return true;
}

/* Delivers the frames that are due; returns the milliseconds until the next one is. */
static int deliver_delayed(int wire, int host, int most)
{
	struct queue *q = &queue[wire][host];

	for (; q->count; q->count--, q->first = (q->first + 1) % QUEUE) {
		uint64_t due = q->frame[q->first].due, now = rl_now();

		if (due > now)
			return (int)((due - now) / 1000) + 1 < most ? (int)((due - now) / 1000) + 1
								    : most;
		deliver(wire, host, q->frame[q->first].bytes, q->frame[q->first].len);
	}
	return most;
}

/* Forwards all frames that wait at one end of a link. */
static void carry_from(int wire, int host, uint64_t *seed)
{
	unsigned char frame[FRAME];
	ssize_t n;

	while ((n = read(tap[wire][host], frame, sizeof(frame))) > 0) {
		if ((!wire && is_barred(frame, (size_t)n)) ||
		    rl_random(seed) % 1000 < rl_board->value[WORD_LOSS + wire]) {
			rl_board->value[WORD_LOST]++;
			continue;
		}
		if (!is_delayed(wire, host, frame, (size_t)n))
			deliver(wire, host, frame, (size_t)n);
	}
}

static void carrier(void *arg)
{
	struct pollfd pfd[NET_WIRES * NET_HOSTS];
	uint64_t seed = 12345;

	(void)arg;
	for (;;) {
		int wait = 1000;

		for (int i = 0; i < NET_WIRES * NET_HOSTS; i++)
			wait = deliver_delayed(i / NET_HOSTS, i % NET_HOSTS, wait);
		for (int i = 0; i < NET_WIRES * NET_HOSTS; i++)
			pfd[i] = (struct pollfd){ tap[i / NET_HOSTS][i % NET_HOSTS], POLLIN, 0 };
		/*
		 * The end of the case kills this player. An interface that is down is always
		 * ready.
		 */
		poll(pfd, NET_WIRES * NET_HOSTS, wait);
		for (int i = 0; i < NET_WIRES * NET_HOSTS; i++) {
			if (pfd[i].revents & POLLIN)
				carry_from(i / NET_HOSTS, i % NET_HOSTS, &seed);
			else if (pfd[i].revents)
				usleep(500);
		}
	}
}

void net_carry(void)
{
	rl_start_victim("carrier", carrier, NULL);
}
