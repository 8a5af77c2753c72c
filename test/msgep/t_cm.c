/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that connections are established and ended as by fabrics that have connections. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "msgep/cm/cm_int.h"
#include "rig.h"

struct rig {
	struct side a, b; /* a listens */
	struct msgep_pep pep;
	struct end client, server;
};

static void setup(struct rig *r, const struct sort *sort)
{
	memset(&play, 0, sizeof(play));
	side_open(&r->a, sort->local);
	side_open(&r->b, sort->local);
	ASSERT_EQ(pep_open(&r->pep, &r->a, "127.0.0.1", 0), 0);
}

static void teardown(struct rig *r)
{
	pep_close(&r->pep);
	side_close(&r->a);
	side_close(&r->b);
}

static void fill(uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 7 + len);
}

/* The request, with its contents checked. */
static struct msgep_event *request_of(struct rig *r, const uint8_t *data, size_t len)
{
	struct msgep_event *event = side_await_event(&r->a, &r->b, FI_CONNREQ);
	const union dofi_addr *from = event->info->dest_addr, *to = event->info->src_addr;

	ASSERT_PTR(event->fid, &r->pep.fid.fid);
	ASSERT_EQ(event->len, len);
	ASSERT_MEM(event->data, data, len);
	ASSERT_EQ(event->info->dest_addrlen, sizeof(struct sockaddr_in));
	ASSERT_EQ(from->in.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	ASSERT(from->in.sin_port != 0);
	ASSERT_EQ(to->in.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	ASSERT_EQ(ntohs(to->in.sin_port), pep_port(&r->pep));
	return event;
}

static void dial(struct rig *r, const uint8_t *data, size_t len)
{
	end_open(&r->client, &r->b, NULL);
	ASSERT_EQ(end_connect(&r->client, "127.0.0.1", pep_port(&r->pep), data, len), 0);
}

static void same_names(struct end *x, struct end *y)
{
	union dofi_addr mine, other;
	size_t len = sizeof(mine);

	memset(&mine, 0, sizeof(mine));
	memset(&other, 0, sizeof(other));
	ASSERT_EQ(fi_getname(&x->ep.fid.fid, &mine, &len), 0);
	len = sizeof(other);
	ASSERT_EQ(fi_getpeer(&y->ep.fid, &other, &len), 0);
	ASSERT_EQ(len, sizeof(struct sockaddr_in));
	ASSERT_EQ(mine.in.sin_addr.s_addr, other.in.sin_addr.s_addr);
	ASSERT_EQ(mine.in.sin_port, other.in.sin_port);
	ASSERT(mine.in.sin_port != 0);
}

static void meet(struct rig *r, size_t len)
{
	uint8_t ask[MSGEP_CM_DATA], reply[MSGEP_CM_DATA];
	struct msgep_event *event;

	fill(ask, len);
	fill(reply, MSGEP_CM_DATA - len);
	dial(r, ask, len);
	event = request_of(r, ask, len);
	end_open(&r->server, &r->a, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&r->server.ep.fid, reply, MSGEP_CM_DATA - len), 0);
	side_await_only(&r->a, &r->b, FI_CONNECTED, &r->server);
	event = side_await_event(&r->b, &r->a, FI_CONNECTED);
	ASSERT_EQ(event->len, MSGEP_CM_DATA - len);
	ASSERT_MEM(event->data, reply, event->len);
	free(event);
	ASSERT(r->client.up && r->server.up);
	ASSERT(!strcmp(r->client.peer_params, "passive") &&
	       !strcmp(r->server.peer_params, "active"));
}

/* One side ends the connection; the other reports it once, with the final parameters. */
static void part(struct end *goes, struct side *s, struct end *stays, struct side *t, bool shut)
{
	if (shut) {
		ASSERT_EQ(fi_shutdown(&goes->ep.fid, 0), 0);
		side_await_only(s, t, FI_SHUTDOWN, goes);
		ASSERT_EQ(fi_shutdown(&goes->ep.fid, 0), 0);
		ASSERT_EQ(goes->ep.state, MSGEP_DOWN);
	} else {
		end_close(goes);
	}
	side_await_only(t, s, FI_SHUTDOWN, stays);
	ASSERT(stays->finished && !stays->died);
	ASSERT(!strcmp(stays->last, "so long"));
	ASSERT_EQ(stays->ep.state, MSGEP_DOWN);
	side_expect_no_event(t, s);
	side_expect_no_event(s, t);
	if (shut)
		end_close(goes);
	end_close(stays);
}

static void connects(const void *row)
{
	static const size_t lens[] = { 0, 1, 40, 255, MSGEP_CM_DATA };
	const struct sort *sort = row;
	struct rig r;

	setup(&r, sort);
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		play.with_fd = sort->local && i % 2;
		meet(&r, lens[i]);
		same_names(&r.client, &r.server);
		same_names(&r.server, &r.client);
		if (play.with_fd) {
			struct stat x, y;

			ASSERT(!fstat(r.client.fd, &x) && !fstat(r.server.fd, &y));
			ASSERT_EQ(x.st_ino, y.st_ino);
			ASSERT(r.client.fd != r.server.fd);
		}
		if (i % 2)
			part(&r.client, &r.b, &r.server, &r.a, i % 4 == 1);
		else
			part(&r.server, &r.a, &r.client, &r.b, i % 4 == 0);
	}
	teardown(&r);
}

TEST_ROWS(msgep_connects, sorts, connects)

static void rejects(const void *row)
{
	uint8_t data[MSGEP_CM_DATA];
	struct msgep_event *event;
	struct rig r;

	setup(&r, row);
	fill(data, sizeof(data));
	for (size_t len = 0; len <= MSGEP_CM_DATA; len += 148) {
		dial(&r, data, 3);
		event = request_of(&r, data, 3);
		ASSERT_EQ(fi_reject(&r.pep.fid, event->info->handle, data, len), 0);
		dofi_own_info_free(event->info);
		free(event);
		event = side_await_event(&r.b, &r.a, 0);
		ASSERT_EQ(event->err, ECONNREFUSED);
		ASSERT_PTR(event->fid, &r.client.ep.fid.fid);
		ASSERT_EQ(event->len, len);
		ASSERT_MEM(event->data, data, len);
		free(event);
		/* An endpoint can be connected only once. */
		ASSERT_EQ(end_connect(&r.client, "127.0.0.1", 5000, NULL, 0), -FI_EINVAL);
		end_close(&r.client);
		side_expect_no_event(&r.b, &r.a);
	}
	teardown(&r);
}

TEST_ROWS(msgep_rejects, sorts, rejects)

static void refused(struct rig *r, const char *address, uint16_t port, int err)
{
	struct msgep_event *event;

	end_open(&r->client, &r->b, NULL);
	ASSERT_EQ(end_connect(&r->client, address, port, "x", 1), 0);
	event = side_await_event(&r->b, NULL, 0);
	ASSERT_EQ(event->err, err);
	ASSERT_EQ(event->len, 0);
	free(event);
	end_close(&r->client);
}

static void nobody_listens(const void *row)
{
	uint16_t port;
	struct rig r;

	setup(&r, row);
	port = pep_port(&r.pep);
	pep_close(&r.pep);
	refused(&r, "127.0.0.1", port, ECONNREFUSED);
	teardown(&r);
}

TEST_ROWS(msgep_nobody, sorts, nobody_listens)

TEST(msgep_address, of_another_host_is_not_reached)
{
	struct rig r;

	setup(&r, &sorts[0]);
	refused(&r, "192.0.2.1", pep_port(&r.pep), EHOSTUNREACH);
	teardown(&r);
}

TEST(msgep_address, of_this_host_needs_the_right_listener)
{
	struct msgep_pep any;
	struct rig r;

	setup(&r, &sorts[0]);
	/* The specific listener is on 127.0.0.1 only. */
	refused(&r, "127.0.0.2", pep_port(&r.pep), ECONNREFUSED);
	ASSERT_EQ(pep_open(&any, &r.a, NULL, 0), 0);
	for (int i = 1; i < 4; i++) {
		struct msgep_event *event;
		char address[16];

		snprintf(address, sizeof(address), "127.0.0.%d", i);
		end_open(&r.client, &r.b, NULL);
		ASSERT_EQ(end_connect(&r.client, address, pep_port(&any), NULL, 0), 0);
		event = side_await_event(&r.a, &r.b, FI_CONNREQ);
		ASSERT_PTR(event->fid, &any.fid.fid);
		end_open(&r.server, &r.a, event->info);
		ASSERT_EQ(ntohl(r.server.ep.local.in.sin_addr.s_addr), INADDR_LOOPBACK + i - 1);
		free(event);
		end_close(&r.client);
		end_close(&r.server);
	}
	pep_close(&any);
	teardown(&r);
}

/* A request to `address` reaches `pep`, which belongs to side `s`, and no other listener. */
static void comes_to(struct rig *r, const char *address, struct side *s, struct msgep_pep *pep,
		     struct side *other)
{
	struct msgep_event *event;

	end_open(&r->client, &r->b, NULL);
	ASSERT_EQ(end_connect(&r->client, address, pep_port(pep), NULL, 0), 0);
	event = side_await_event(s, &r->b, FI_CONNREQ);
	ASSERT_PTR(event->fid, &pep->fid.fid);
	side_expect_no_event(other, NULL);
	ASSERT_EQ(fi_reject(&pep->fid, event->info->handle, NULL, 0), 0);
	dofi_own_info_free(event->info);
	free(event);
	free(side_await_event(&r->b, s, 0));
	end_close(&r->client);
}

/* One program listens on one address, another at the same port on all of them. */
static void exact_before_any(bool exact_first)
{
	struct msgep_pep any;
	struct side c;
	uint16_t port;
	struct rig r;

	setup(&r, &sorts[0]);
	side_open(&c, true);
	port = pep_port(&r.pep);
	if (!exact_first)
		pep_close(&r.pep);
	ASSERT_EQ(pep_open(&any, &c, NULL, port), 0);
	if (!exact_first)
		ASSERT_EQ(pep_open(&r.pep, &r.a, "127.0.0.1", port), 0);
	comes_to(&r, "127.0.0.1", &r.a, &r.pep, &c);
	comes_to(&r, "127.0.0.2", &c, &any, &r.a);
	pep_close(&r.pep);
	comes_to(&r, "127.0.0.1", &c, &any, &r.a);
	pep_close(&any);
	side_close(&c);
	side_close(&r.a);
	side_close(&r.b);
}

TEST(msgep_address, exact_listener_comes_before_that_of_all)
{
	exact_before_any(true);
}

TEST(msgep_address, exact_listener_may_come_later)
{
	exact_before_any(false);
}

static void names_are_taken_once(const void *row)
{
	struct msgep_pep other, free_one;
	struct rig r;

	setup(&r, row);
	ASSERT_EQ(pep_open(&other, &r.b, "127.0.0.1", pep_port(&r.pep)), -EADDRINUSE);
	ASSERT_EQ(pep_open(&free_one, &r.b, "127.0.0.1", 0), 0);
	ASSERT(pep_port(&free_one) != pep_port(&r.pep));
	ASSERT_EQ(fi_listen(&free_one.fid), -FI_EINVAL);
	pep_close(&r.pep);
	ASSERT_EQ(pep_open(&other, &r.b, "127.0.0.1", pep_port(&r.pep)), 0);
	pep_close(&other);
	pep_close(&free_one);
	teardown(&r);
}

TEST_ROWS(msgep_names, sorts, names_are_taken_once)

static void listens_on_ipv6(const void *row)
{
	struct msgep_event *event;
	struct msgep_pep pep;
	struct rig r;

	setup(&r, row);
	if (pep_open(&pep, &r.a, "::1", 0) == -EADDRNOTAVAIL)
		dt_skip("no IPv6 here");
	end_open(&r.client, &r.b, NULL);
	ASSERT_EQ(end_connect(&r.client, "::1", pep_port(&pep), "6", 1), 0);
	event = side_await_event(&r.a, &r.b, FI_CONNREQ);
	ASSERT_EQ(event->info->addr_format, FI_SOCKADDR_IN6);
	ASSERT_EQ(event->info->dest_addrlen, sizeof(struct sockaddr_in6));
	dofi_own_info_free(event->info);
	free(event);
	end_close(&r.client);
	pep_close(&pep);
	teardown(&r);
}

TEST_ROWS(msgep_ipv6, sorts, listens_on_ipv6)

static void wrong_calls(const void *row)
{
	uint8_t data[MSGEP_CM_DATA + 1] = { 0 };
	union dofi_addr addr = { .sa.sa_family = AF_UNIX };
	size_t len = sizeof(addr);
	struct rig r;

	setup(&r, row);
	end_open(&r.client, &r.b, NULL);
	ASSERT_EQ(end_connect(&r.client, "127.0.0.1", 5000, data, sizeof(data)), -FI_EINVAL);
	ASSERT_EQ(fi_connect(&r.client.ep.fid, &addr, NULL, 0), -FI_EINVAL);
	ASSERT_EQ(fi_accept(&r.client.ep.fid, NULL, 0), -FI_EINVAL);
	ASSERT_EQ(fi_shutdown(&r.client.ep.fid, 0), -FI_ENOTCONN);
	ASSERT_EQ(fi_getpeer(&r.client.ep.fid, &addr, &len), -FI_ENOTCONN);
	len = 4;
	ASSERT_EQ(fi_getname(&r.pep.fid.fid, &addr, &len), -FI_ETOOSMALL);
	ASSERT_EQ(len, sizeof(struct sockaddr_in));
	end_close(&r.client);
	teardown(&r);
}

TEST_ROWS(msgep_calls, sorts, wrong_calls)

/* Closing is silent and immediate at every step, and leaks nothing (checked by the harness). */
static void closing_at_every_step(const void *row)
{
	struct msgep_event *event;
	struct rig r;

	setup(&r, row);
	for (int step = 0; step < 6; step++) {
		unsigned int before = r.b.events;

		dial(&r, NULL, 0);
		if (step >= 1) {
			event = side_await_event(&r.a, &r.b, FI_CONNREQ);
			if (step == 1) {
				end_close(&r.client);
				ASSERT_EQ(fi_reject(&r.pep.fid, event->info->handle, "n", 1), 0);
				dofi_own_info_free(event->info);
				free(event);
				side_expect_no_event(&r.b, &r.a);
				continue;
			}
			end_open(&r.server, &r.a, event->info);
			free(event);
		}
		if (step == 2)
			end_close(&r.server);
		if (step >= 3)
			ASSERT_EQ(fi_accept(&r.server.ep.fid, NULL, 0), 0);
		if (step == 4)
			side_await_only(&r.b, NULL, FI_CONNECTED, &r.client);
		if (step == 5)
			ASSERT_EQ(fi_shutdown(&r.server.ep.fid, 0), 0);
		before = r.b.events;
		end_close(&r.client);
		if (step >= 3)
			end_close(&r.server);
		work(&r.a);
		work(&r.b);
		ASSERT_EQ(r.b.events, before);
		if (!step) {
			/* Its request may have arrived nevertheless. */
			pep_close(&r.pep);
			ASSERT_EQ(pep_open(&r.pep, &r.a, "127.0.0.1", 0), 0);
		}
	}
	teardown(&r);
}

TEST_ROWS(msgep_close, sorts, closing_at_every_step)

/* An endpoint that is closed before it accepts leaves the request pending. */
static void request_survives_its_endpoint(const void *row)
{
	struct msgep_event *event;
	struct fid *handle;
	struct rig r;

	setup(&r, row);
	dial(&r, NULL, 0);
	event = side_await_event(&r.a, &r.b, FI_CONNREQ);
	handle = event->info->handle;
	end_open(&r.server, &r.a, event->info);
	free(event);
	ASSERT_EQ(fi_reject(&r.pep.fid, handle, NULL, 0), -FI_EINVAL);
	end_close(&r.server);
	ASSERT_EQ(fi_reject(&r.pep.fid, handle, "bye", 3), 0);
	event = side_await_event(&r.b, &r.a, 0);
	ASSERT_EQ(event->err, ECONNREFUSED);
	ASSERT_MEM(event->data, "bye", 3);
	free(event);
	end_close(&r.client);
	teardown(&r);
}

TEST_ROWS(msgep_undecided, sorts, request_survives_its_endpoint)

/* Unread requests are dropped with the listener. */
static void listener_goes(const void *row)
{
	struct msgep_event *event;
	struct rig r;

	setup(&r, row);
	dial(&r, NULL, 0);
	while (!r.a.events)
		side_poll_and_work(&r.a, &r.b, 100);
	pep_close(&r.pep);
	event = side_await_event(&r.b, &r.a, 0);
	ASSERT_EQ(event->err, ECONNRESET);
	free(event);
	end_close(&r.client);
	teardown(&r);
}

TEST_ROWS(msgep_listener_goes, sorts, listener_goes)

/* Many connects, and no CPU time for a while: the listener must not take the process for a
 * half-open connection. */
#define CROWD 200

static void crowd_without_a_processor(const void *row)
{
	static struct end clients[CROWD];
	struct msgep_event *event;
	uint64_t begin;
	struct rig r;

	setup(&r, row);
	for (int i = 0; i < CROWD; i++) {
		end_open(&clients[i], &r.b, NULL);
		ASSERT_EQ(end_connect(&clients[i], "127.0.0.1", pep_port(&r.pep), NULL, 0), 0);
	}
	/* Longer than the listener tolerates that many half-open connections of one peer. */
	for (begin = dt_now_us(); dt_now_us() < begin + 700000;)
		side_poll_and_work(&r.a, NULL, 10);
	for (int i = 0; i < CROWD; i++) {
		event = side_await_event(&r.a, &r.b, FI_CONNREQ);
		ASSERT_EQ(fi_reject(&r.pep.fid, event->info->handle, "no", 2), 0);
		dofi_own_info_free(event->info);
		free(event);
	}
	for (int i = 0; i < CROWD; i++) {
		event = side_await_event(&r.b, &r.a, 0);
		ASSERT_EQ(event->err, ECONNREFUSED);
		ASSERT_EQ(event->len, 2);
		free(event);
	}
	for (int i = 0; i < CROWD; i++)
		end_close(&clients[i]);
	teardown(&r);
}

TEST_ROWS(msgep_crowd, sorts, crowd_without_a_processor)

static struct msgep_cm_conn *conn_of(struct end *e)
{
	return e->ep.cm;
}

/* Attempts beyond those that may have a socket do nothing until one of these has sent its request:
 * trying them again at intervals took a process that connects 4,000 endpoints most of its time. */
TEST(msgep_crowd, attempts_wait_for_a_place_and_get_it_in_order)
{
	enum { FIRST = MSGEP_CM_HALF_OPEN_PEER, LATER = DOFI_MS(1000) };
	static struct end clients[CROWD];
	struct msgep_event *event;
	struct rig r;

	setup(&r, &sorts[1]);
	for (int i = 0; i < CROWD; i++) {
		end_open(&clients[i], &r.b, NULL);
		ASSERT_EQ(end_connect(&clients[i], "127.0.0.1", pep_port(&r.pep), NULL, 0), 0);
		ASSERT_EQ(conn_of(&clients[i])->fd >= 0, i < FIRST);
		if (i >= FIRST)
			ASSERT(conn_of(&clients[i])->timer.when > dofi_now() + LATER);
	}
	/* One that waits goes, and then one that has a socket: the next one follows it. */
	end_close(&clients[FIRST]);
	end_close(&clients[0]);
	ASSERT(conn_of(&clients[FIRST + 1])->timer.when <= dofi_now());
	ASSERT(conn_of(&clients[FIRST + 2])->timer.when > dofi_now() + LATER);
	for (int i = 0; i < CROWD - 2; i++) {
		event = side_await_event(&r.a, &r.b, FI_CONNREQ);
		ASSERT_EQ(fi_reject(&r.pep.fid, event->info->handle, NULL, 0), 0);
		dofi_own_info_free(event->info);
		free(event);
	}
	for (int i = 0; i < CROWD - 2; i++)
		free(side_await_event(&r.b, &r.a, 0));
	ASSERT(dofi_list_empty(&((struct msgep_cm *)r.b.eq.cm)->hosts));
	for (int i = 0; i < CROWD; i++)
		end_close(&clients[i]);
	teardown(&r);
}

/* The client cancels before the consumer accepts. */
static void accepting_one_who_has_gone(const void *row)
{
	struct msgep_event *event;
	struct rig r;

	setup(&r, row);
	dial(&r, NULL, 0);
	event = side_await_event(&r.a, &r.b, FI_CONNREQ);
	end_close(&r.client);
	work(&r.b);
	end_open(&r.server, &r.a, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&r.server.ep.fid, "hello", 5), 0);
	event = side_await_event(&r.a, &r.b, 0);
	ASSERT_EQ(event->err, ECONNRESET);
	ASSERT_PTR(event->fid, &r.server.ep.fid.fid);
	free(event);
	side_expect_no_event(&r.a, &r.b);
	end_close(&r.server);
	teardown(&r);
}

TEST_ROWS(msgep_gone, sorts, accepting_one_who_has_gone)

/* The transport rejects it: both sides fail, neither hangs. */
static void transport_refuses(const void *row)
{
	struct msgep_event *event;
	struct rig r;

	setup(&r, row);
	play.get_params_ret = -ENOMEM;
	dial(&r, NULL, 0);
	event = side_await_event(&r.b, &r.a, 0);
	ASSERT_EQ(event->err, ENOMEM);
	free(event);
	end_close(&r.client);
	play.get_params_ret = 0;
	play.set_params_ret = -EBADMSG;
	dial(&r, NULL, 0);
	event = side_await_event(&r.a, &r.b, FI_CONNREQ);
	end_open(&r.server, &r.a, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&r.server.ep.fid, NULL, 0), -EBADMSG);
	event = side_await_event(&r.b, &r.a, 0);
	ASSERT_EQ(event->err, ECONNREFUSED);
	ASSERT_EQ(event->len, 0);
	free(event);
	end_close(&r.client);
	end_close(&r.server);
	/* The same at the other end. */
	play.set_params_ret = 0;
	dial(&r, NULL, 0);
	event = side_await_event(&r.a, &r.b, FI_CONNREQ);
	end_open(&r.server, &r.a, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&r.server.ep.fid, NULL, 0), 0);
	play.set_params_ret = -EBADMSG;
	event = side_await_event(&r.b, NULL, 0);
	ASSERT_EQ(event->err, EBADMSG);
	free(event);
	side_await_only(&r.a, &r.b, FI_CONNECTED, &r.server);
	side_await_only(&r.a, &r.b, FI_SHUTDOWN, &r.server);
	end_close(&r.client);
	end_close(&r.server);
	teardown(&r);
}

TEST_ROWS(msgep_transport_refuses, sorts, transport_refuses)

/* Both connect to each other at once: two connections. */
static void both_connect(const void *row)
{
	struct end back, back_server;
	struct msgep_event *event;
	struct msgep_pep pep;
	struct rig r;

	setup(&r, row);
	ASSERT_EQ(pep_open(&pep, &r.b, "127.0.0.1", 0), 0);
	dial(&r, (const uint8_t *)"x", 1);
	end_open(&back, &r.a, NULL);
	ASSERT_EQ(end_connect(&back, "127.0.0.1", pep_port(&pep), "y", 1), 0);
	event = side_await_event(&r.a, &r.b, FI_CONNREQ);
	ASSERT_EQ(event->data[0], 'x');
	end_open(&r.server, &r.a, event->info);
	free(event);
	event = side_await_event(&r.b, &r.a, FI_CONNREQ);
	ASSERT_EQ(event->data[0], 'y');
	end_open(&back_server, &r.b, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&r.server.ep.fid, NULL, 0), 0);
	side_await_only(&r.a, &r.b, FI_CONNECTED, &r.server);
	side_await_only(&r.b, &r.a, FI_CONNECTED, &r.client);
	ASSERT_EQ(fi_accept(&back_server.ep.fid, NULL, 0), 0);
	side_await_only(&r.b, &r.a, FI_CONNECTED, &back_server);
	side_await_only(&r.a, &r.b, FI_CONNECTED, &back);
	part(&back, &r.a, &back_server, &r.b, true);
	part(&r.client, &r.b, &r.server, &r.a, false);
	pep_close(&pep);
	teardown(&r);
}

TEST_ROWS(msgep_both, sorts, both_connect)

/* fi_shutdown before there is an answer. */
static void giving_up_early(const void *row)
{
	struct msgep_event *event;
	struct rig r;

	setup(&r, row);
	dial(&r, NULL, 0);
	event = side_await_event(&r.a, &r.b, FI_CONNREQ);
	ASSERT_EQ(fi_shutdown(&r.client.ep.fid, 0), 0);
	side_await_only(&r.b, NULL, FI_SHUTDOWN, &r.client);
	ASSERT_EQ(fi_shutdown(&r.client.ep.fid, 0), 0);
	side_expect_no_event(&r.b, NULL);
	dofi_own_info_free(event->info);
	free(event);
	end_close(&r.client);
	teardown(&r);
}

TEST_ROWS(msgep_early, sorts, giving_up_early)
