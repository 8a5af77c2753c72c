/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests atomic operations next to other requests, at the end of a connection, and, where the
 * library of the target executes them, strangers at its port. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ext.h"

#define LEN 40000

static uint64_t word(struct rig *r)
{
	return __atomic_load_n((uint64_t *)(void *)r->words.mem, __ATOMIC_SEQ_CST);
}

static void add(struct rig *r, struct side *s, uint64_t cookie, uint64_t n)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, 0, 8);
	DAT_RMR_TRIPLET at = rem(&r->words, 0, 8);

	OK(dat_ib_post_fetch_and_add(s->ep, n, &t, ck(cookie), &at, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The data of earlier writes is in memory when the operation takes effect. */
TEST(ext, amo_after_a_write_finds_it_placed)
{
	struct rig r;

	rig_open(&r);
	for (uint64_t i = 1; i <= 30; i++) {
		volatile const char *last = r.p.b.buf.mem + 8 + LEN - 1;

		memset(r.p.a.buf.mem + 8, (int)i, LEN);
		OK(post_write(&r.p.a, 8, LEN, 1, &r.p.b, 8));
		add(&r, &r.p.a, 2, 1);
		while (word(&r) < i)
			EV_EMPTY(r.p.b.req);
		ASSERT_EQ(*last, (char)i);
		EV_DTO(r.p.a.req, r.p.a.ep, 1, OP_WRITE, LEN);
		EV_EXT(r.p.a.req, r.p.a.ep, 2, FETCH_ADD, 8);
	}
	rig_close(&r);
}

#define LONG (2 << 20)

/* The request for data that is to be placed meets a peer that is sending. */
TEST(ext, amo_after_a_write_while_the_peer_writes)
{
	DAT_RMR_TRIPLET to;
	DAT_LMR_TRIPLET t;
	struct buf b;
	struct rig r;

	rig_open(&r);
	buf_make(&b, &r.p.node, 2 * LONG, PRIV_ALL);
	t = seg(&b, 0, LONG);
	to = rem(&b, LONG, LONG);
	for (uint64_t i = 1; i <= 10; i++) {
		OK(dat_ep_post_rdma_write(r.p.b.ep, 1, &t, ck(3), &to,
					  DAT_COMPLETION_DEFAULT_FLAG));
		OK(post_write(&r.p.a, 8, 8, 1, &r.p.b, 8));
		add(&r, &r.p.a, 2, 1);
		EV_DTO(r.p.a.req, r.p.a.ep, 1, OP_WRITE, 8);
		EV_EXT(r.p.a.req, r.p.a.ep, 2, FETCH_ADD, 8);
		EV_DTO(r.p.b.req, r.p.b.ep, 3, OP_WRITE, LONG);
		ASSERT_EQ(word(&r), i);
	}
	buf_free(&b);
	rig_close(&r);
}

/* Completes a number of operations: each once, successes first, and these have taken effect. */
static void count_done(struct rig *r, int n)
{
	uint64_t done = 0;
	bool failed = false;

	for (int i = 0; i < n; i++) {
		DAT_EVENT ev;
		const DAT_DTO_COMPLETION_EVENT_DATA *d = dto_of(&ev);

		EV_NEXT(r->p.a.req, &ev);
		ASSERT_EQ(d->user_cookie.as_64, (uint64_t)i);
		ASSERT(!failed || d->status == DAT_DTO_ERR_FLUSHED);
		failed = d->status != DAT_DTO_SUCCESS;
		done += !failed;
	}
	EV_EMPTY(r->p.a.req);
	/* Answers may be lost. */
	ASSERT(word(r) >= done && word(r) <= (uint64_t)n);
}

static void ended(struct side *s)
{
	DAT_EVENT ev;

	EV_NEXT(s->conn, &ev);
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       ev.event_number == DAT_CONNECTION_EVENT_BROKEN);
}

static void disconnected_by(bool peer, bool after_one)
{
	for (int round = 0; round < 10; round++) {
		struct rig r;
		int n;

		rig_open(&r);
		n = (int)default_attr(&r.p.node).max_request_dtos;
		if (after_one) {
			add(&r, &r.p.a, 1000, 0);
			EV_EXT(r.p.a.req, r.p.a.ep, 1000, FETCH_ADD, 8);
		}
		for (int i = 0; i < n; i++)
			add(&r, &r.p.a, (uint64_t)i, 1);
		OK(dat_ep_disconnect(peer ? r.p.b.ep : r.p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		ended(&r.p.a);
		ended(&r.p.b);
		count_done(&r, n);
		rig_close(&r);
	}
}

TEST(ext, amo_is_flushed_once_by_a_disconnect)
{
	disconnected_by(false, false);
	disconnected_by(false, true);
}

TEST(ext, amo_is_flushed_once_by_a_disconnect_of_the_peer)
{
	disconnected_by(true, false);
	disconnected_by(true, true);
}

TEST(ext, amo_ends_before_a_graceful_disconnect)
{
	struct rig r;
	int n;

	rig_open(&r);
	n = (int)default_attr(&r.p.node).max_request_dtos;
	for (int i = 0; i < n; i++)
		add(&r, &r.p.a, (uint64_t)i, 1);
	OK(dat_ep_disconnect(r.p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (int i = 0; i < n; i++)
		EV_EXT(r.p.a.req, r.p.a.ep, (uint64_t)i, FETCH_ADD, 8);
	ASSERT_EQ(word(&r), (uint64_t)n);
	EV_CONN(r.p.a.conn, DISCONNECTED, r.p.a.ep);
	EV_CONN(r.p.b.conn, DISCONNECTED, r.p.b.ep);
	rig_close(&r);
}

TEST(ext, amo_after_the_endpoint_connects_again)
{
	struct rig r;

	rig_open(&r);
	for (uint64_t i = 0; i < 5; i++) {
		add(&r, &r.p.a, 1, 1);
		EV_EXT(r.p.a.req, r.p.a.ep, 1, FETCH_ADD, 8);
		add(&r, &r.p.b, 2, 1);
		EV_EXT(r.p.b.req, r.p.b.ep, 2, FETCH_ADD, 8);
		ASSERT_EQ(word(&r), 2 * i + 2);
		pair_disconnect(&r.p);
		OK(dat_ep_reset(r.p.a.ep));
		OK(dat_ep_reset(r.p.b.ep));
		pair_connect(&r.p);
	}
	rig_close(&r);
}

/* ---- where the library of the target executes them ---- */

/* The ports of this process on which it listens; the service point's is one of them. */
static int listening_ports(struct sockaddr_storage *at, int most)
{
	int n = 0, on;

	for (int fd = 3; fd < 1000 && n < most; fd++) {
		socklen_t len = sizeof(on);

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) || !on)
			continue;
		len = sizeof(*at);
		if (!getsockname(fd, (struct sockaddr *)&at[n], &len) && at[n].ss_family != AF_UNIX)
			n++;
	}
	return n;
}

/* Connects and sends HELLO with that token. */
static int stranger(const struct sockaddr_storage *at, bool active, uint8_t token)
{
	uint8_t hello[16 + 32] = { 'D', 'O', 'F', 'A', 1, active, 0, 0 };
	int fd = socket(at->ss_family, SOCK_STREAM, 0);

	ASSERT(fd >= 0);
	memset(hello + 8, token, 8);
	hello[16] = 1;
	ASSERT_EQ(connect(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
	ASSERT_EQ(send(fd, hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
	return fd;
}

/* The other side ends the socket and sends nothing. */
static void turned_away(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char c;

	ASSERT_EQ(poll(&pfd, 1, 20000), 1);
	ASSERT(recv(fd, &c, 1, 0) <= 0);
	close(fd);
}

TEST(ext, amo_of_a_stranger_is_turned_away)
{
	struct sockaddr_storage at[16];
	struct rig r;
	int n;

	if (!fabric_is("delegating"))
		dt_skip("the fabric executes atomic operations itself");
	rig_open(&r);
	n = listening_ports(at, 16);
	ASSERT(n >= 2);
	for (int i = 0; i < n; i++) {
		turned_away(stranger(&at[i], true, 0));
		turned_away(stranger(&at[i], true, 1));
		turned_away(stranger(&at[i], false, 0xff));
	}
	ASSERT_EQ(word(&r), 0);
	add(&r, &r.p.a, 1, 1);
	EV_EXT(r.p.a.req, r.p.a.ep, 1, FETCH_ADD, 8);
	ASSERT_EQ(word(&r), 1);
	rig_close(&r);
}
