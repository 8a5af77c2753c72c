/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that the end of a connection is reported once, in time, and after all received data. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"

struct pair {
	struct side s;
	struct msgep_pep pep;
	struct end a, b;
};

static void setup(struct pair *p, const struct sort *sort)
{
	memset(&play, 0, sizeof(play));
	side_open(&p->s, sort->local);
	ASSERT_EQ(pep_open(&p->pep, &p->s, "127.0.0.1", 0), 0);
	join(&p->s, &p->pep, &p->a, &p->b);
}

static void teardown(struct pair *p)
{
	pep_close(&p->pep);
	side_close(&p->s);
}

/* The peer has established the second connection before it ends the first one, but the packets that
 * show this here are read together with the last data of the first one. */
TEST(msgep_end, follows_connections_that_its_last_packets_establish)
{
	struct msgep_event *event;
	struct msgep_pep pep;
	struct end c, d;
	struct pair p;

	setup(&p, &sorts[1]);
	p.s.fabric.transport = &rig_checking;
	ASSERT_EQ(pep_open(&pep, &p.s, "127.0.0.1", 0), 0);
	end_open(&c, &p.s, NULL);
	ASSERT_EQ(end_connect(&c, "127.0.0.1", pep_port(&pep), NULL, 0), 0);
	event = side_await_event(&p.s, NULL, FI_CONNREQ);
	end_open(&d, &p.s, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&d.ep.fid, NULL, 0), 0);
	side_expect_no_event(&p.s, NULL);
	p.b.confirms = &d;
	ASSERT_EQ(fi_shutdown(&p.a.ep.fid, 0), 0);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.a);
	side_await_only(&p.s, NULL, FI_CONNECTED, &d);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	end_close(&c);
	end_close(&d);
	end_close(&p.a);
	end_close(&p.b);
	pep_close(&pep);
	teardown(&p);
}

/* A connection of p->a to p->b whose path this side has yet to check; the client's is up. */
static void check_begins(struct pair *p, struct side *client)
{
	struct msgep_event *event;

	memset(&play, 0, sizeof(play));
	side_open(client, false);
	side_open(&p->s, false);
	client->fabric.transport = p->s.fabric.transport = &rig_checking;
	ASSERT_EQ(pep_open(&p->pep, &p->s, "127.0.0.1", 0), 0);
	end_open(&p->a, client, NULL);
	p->a.answered = true;
	ASSERT_EQ(end_connect(&p->a, "127.0.0.1", pep_port(&p->pep), NULL, 0), 0);
	event = side_await_event(&p->s, client, FI_CONNREQ);
	end_open(&p->b, &p->s, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&p->b.ep.fid, NULL, 0), 0);
	side_await_only(client, &p->s, FI_CONNECTED, &p->a);
	side_expect_no_event(&p->s, NULL);
}

/* The client, which was up, has died. Its packet that establishes the connection here has arrived
 * and has not been read. */
TEST(msgep_end, of_a_client_that_was_up_follows_the_establishment)
{
	struct side client;
	struct pair p;

	check_begins(&p, &client);
	p.s.arrived = &p.b;
	ASSERT_EQ(shutdown(p.a.ep.sock, SHUT_RDWR), 0);
	side_await_only(&p.s, NULL, FI_CONNECTED, &p.b);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	ASSERT(p.b.died);
	end_close(&p.a);
	end_close(&p.b);
	side_close(&client);
	teardown(&p);
}

/* The time for the check ends before a thread has read what has arrived. */
TEST(msgep_end, of_a_check_does_not_come_before_what_has_arrived)
{
	struct side client;
	struct pair p;

	set_number("DAPL_OFI_ACCEPT_MS", "100");
	check_begins(&p, &client);
	p.s.arrived = &p.b;
	side_await_only(&p.s, NULL, FI_CONNECTED, &p.b);
	end_close(&p.a);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	end_close(&p.b);
	side_close(&client);
	teardown(&p);
}

/* Runs a process that connects and blocks until it is killed. */
struct victim {
	bool local, says_bye;
	uint16_t port;
};

static void victim(int fd, const void *arg)
{
	const struct victim *v = arg;
	struct end e;
	struct side s;

	dt_get(fd, (void *)(uintptr_t)&v->port, sizeof(v->port));
	side_open(&s, v->local);
	end_open(&e, &s, NULL);
	ASSERT_EQ(end_connect(&e, "127.0.0.1", v->port, NULL, 0), 0);
	side_await_only(&s, NULL, FI_CONNECTED, &e);
	dt_put_byte(fd, 'c');
	if (v->says_bye) {
		ASSERT_EQ(fi_shutdown(&e.ep.fid, 0), 0);
		dt_put_byte(fd, 'b');
	}
	for (;;)
		pause();
}

/* Up to where it is connected. */
static void start_victim(struct dt_peer *peer, struct victim *v, struct pair *p)
{
	struct msgep_event *event;
	uint16_t port;

	memset(&play, 0, sizeof(play));
	dt_peer_start(peer, victim, v);
	side_open(&p->s, v->local);
	ASSERT_EQ(pep_open(&p->pep, &p->s, "127.0.0.1", 0), 0);
	port = pep_port(&p->pep);
	dt_put(peer->fd, &port, sizeof(port));
	event = side_await_event(&p->s, NULL, FI_CONNREQ);
	end_open(&p->b, &p->s, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&p->b.ep.fid, NULL, 0), 0);
	side_await_only(&p->s, NULL, FI_CONNECTED, &p->b);
	dt_expect_byte(peer->fd, 'c');
}

static void killed_peer(const void *row)
{
	static struct victim v;
	struct dt_peer peer;
	struct pair p;

	v = (struct victim){ .local = ((const struct sort *)row)->local };
	start_victim(&peer, &v, &p);
	side_expect_no_event(&p.s, NULL);
	dt_peer_kill(&peer, SIGKILL);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	ASSERT(p.b.died && !p.b.finished);
	side_expect_no_event(&p.s, NULL);
	end_close(&p.b);
	teardown(&p);
}

TEST_ROWS(msgep_killed, sorts, killed_peer)

/* Its BYE announces frames that never arrive, because it is killed: the wait for them is
 * shorter than for a live peer. */
TEST(msgep_killed, killed_after_its_last_message)
{
	static struct victim v = { .says_bye = true };
	struct dt_peer peer;
	uint64_t begin;
	struct pair p;

	set_number("DAPL_OFI_GRACE_MS", "60000");
	start_victim(&peer, &v, &p);
	p.b.held_back = -1;
	dt_expect_byte(peer.fd, 'b');
	for (begin = dt_now_us(); dt_now_us() < begin + 500000;)
		side_poll_and_work(&p.s, NULL, 10);
	ASSERT(p.b.finished && !p.b.died && p.s.events == 2);
	dt_peer_kill(&peer, SIGKILL);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	ASSERT(p.b.died);
	end_close(&p.b);
	teardown(&p);
}

/* The end is reported after everything that arrived before it has been consumed. */
static void end_waits_for_data(const void *row)
{
	struct pair p;

	setup(&p, row);
	p.b.held_back = 4;
	end_close(&p.a);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	ASSERT_EQ(p.b.peer_ended_calls, 5);
	side_expect_no_event(&p.s, NULL);
	end_close(&p.b);
	teardown(&p);
}

TEST_ROWS(msgep_end_waits, sorts, end_waits_for_data)

/* The delay is limited: the grace timer expires without progress, and progress restarts it. */
static void grace_timer_expires(const void *row)
{
	uint64_t begin, took;
	struct pair p;

	set_number("DAPL_OFI_GRACE_MS", "800");
	setup(&p, row);
	p.b.held_back = -1;
	begin = dt_now_us();
	end_close(&p.a);
	while (dt_now_us() < begin + 200000)
		side_poll_and_work(&p.s, NULL, 10);
	ASSERT(p.b.peer_ended_calls && p.s.events == 3);
	p.b.ep.messages++;
	begin = dt_now_us();
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	took = dt_now_us() - begin;
	if (took < 790000)
		FAIL("the end was reported after %llu us", (unsigned long long)took);
	ASSERT_EQ(p.b.ep.state, MSGEP_DOWN);
	end_close(&p.b);
	/* Closing while it is held back is silent. */
	join(&p.s, &p.pep, &p.a, &p.b);
	p.b.held_back = -1;
	end_close(&p.a);
	side_expect_no_event(&p.s, NULL);
	end_close(&p.b);
	side_expect_no_event(&p.s, NULL);
	teardown(&p);
}

TEST_ROWS(msgep_grace, sorts, grace_timer_expires)

/* An end that has been reported, or is delayed, does not keep waking threads. */
static void the_end_does_not_spin(const void *row)
{
	struct epoll_event ev;
	struct pair p;

	set_number("DAPL_OFI_GRACE_MS", "60000");
	setup(&p, row);
	end_close(&p.a);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	work(&p.s);
	ASSERT_EQ(epoll_wait(p.s.eq.epfd, &ev, 1, 50), 0);
	end_close(&p.b);
	join(&p.s, &p.pep, &p.a, &p.b);
	p.b.held_back = -1;
	end_close(&p.a);
	p.b.peer_ended_calls = 0;
	for (uint64_t end = dt_now_us() + 200000; dt_now_us() < end;)
		side_poll_and_work(&p.s, NULL, 50);
	/* Every 20 ms; and every 100 ms the other end in this process receives a byte and wakes
	 * it. */
	ASSERT(p.b.peer_ended_calls >= 2);
	ASSERT(p.b.peer_ended_calls <= 17);
	end_close(&p.b);
	teardown(&p);
}

TEST_ROWS(msgep_no_spin, sorts, the_end_does_not_spin)

static bool quiet(struct end *e)
{
	bool more;

	dofi_lock(&e->ep.lock);
	more = msgep_cm_quiet(&e->ep);
	dofi_unlock(&e->ep.lock);
	return more;
}

static void ring(struct end *e)
{
	dofi_lock(&e->ep.lock);
	msgep_cm_doorbell(&e->ep);
	dofi_unlock(&e->ep.lock);
}

static bool readable(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* Doorbells are received and consumed; the last message after them is not lost, whichever thread
 * reads it. */
TEST(msgep_doorbell, rings_and_leaves_the_last_words)
{
	struct pair p;

	for (int variant = 0; variant < 4; variant++) {
		setup(&p, &sorts[0]);
		ASSERT(!readable(p.b.ep.sock));
		ring(&p.a);
		ASSERT(readable(p.b.ep.sock));
		ASSERT(quiet(&p.b));
		ASSERT(!readable(p.b.ep.sock));
		for (int i = 0; i < 45; i++)
			ring(&p.a);
		if (variant == 1)
			ASSERT(quiet(&p.b));
		end_close(&p.a);
		if (variant >= 2)
			ASSERT(!quiet(&p.b));
		if (variant == 3)
			ASSERT(!quiet(&p.b));
		side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
		ASSERT(!p.b.died && !strcmp(p.b.last, "so long"));
		ASSERT(!quiet(&p.b));
		ring(&p.b);
		end_close(&p.b);
		teardown(&p);
	}
}

/* A peer that sends doorbells continuously delays no connection, and does not block this side's
 * doorbells to it. */
TEST(msgep_doorbell, rung_for_ever_stops_nobody)
{
	struct pair p;

	setup(&p, &sorts[0]);
	for (int i = 0; i < 100000; i++)
		ring(&p.a);
	/* The last message finds the socket full; it is sent when there is space. */
	ASSERT_EQ(fi_shutdown(&p.a.ep.fid, 0), 0);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.a);
	side_expect_no_event(&p.s, NULL);
	for (int i = 0; i < 100000 && quiet(&p.b); i++)
		work(&p.s);
	side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
	ASSERT(!p.b.died && !strcmp(p.b.last, "so long"));
	end_close(&p.a);
	end_close(&p.b);
	teardown(&p);
}

static int refusals;

/* The provider's calls, too. */
ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	if (refusals) {
		refusals--;
		errno = ENOBUFS;
		return -1;
	}
	return sendto(fd, buf, len, flags, NULL, 0);
}

/* The event queue rings a doorbell again for which the kernel had no memory: once, when it has. */
TEST(msgep_doorbell, rings_again_when_there_is_memory)
{
	struct pair p;

	for (int n = 1; n < 20; n += 9) {
		setup(&p, &sorts[0]);
		refusals = n;
		ring(&p.a);
		ASSERT_EQ(refusals, n - 1);
		while (refusals) {
			ASSERT(!readable(p.b.ep.sock));
			side_poll_and_work(&p.s, NULL, -1);
		}
		while (!readable(p.b.ep.sock))
			side_poll_and_work(&p.s, NULL, -1);
		ASSERT(quiet(&p.b));
		ASSERT(!readable(p.b.ep.sock));
		ASSERT(!p.a.ep.doorbell_pending);
		side_expect_no_event(&p.s, NULL);
		end_close(&p.a);
		side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
		end_close(&p.b);
		teardown(&p);
	}
}

/* Bytes that are neither doorbell nor message end the connection. */
TEST(msgep_doorbell, nonsense_ends_the_connection)
{
	struct pair p;

	for (int variant = 0; variant < 2; variant++) {
		setup(&p, &sorts[0]);
		ASSERT_EQ(send(p.a.ep.sock, "\0\0what?", 7, 0), 7);
		if (variant) {
			ASSERT(!quiet(&p.b));
			end_close(&p.a);
			side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
		} else {
			shutdown(p.a.ep.sock, SHUT_WR);
			side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
			end_close(&p.a);
		}
		ASSERT(p.b.died);
		side_expect_no_event(&p.s, NULL);
		end_close(&p.b);
		teardown(&p);
	}
}

struct play_arg {
	struct pair *p;
	_Atomic bool stop;
};

static void play_quiet(void *arg)
{
	struct play_arg *a = arg;

	while (!atomic_load(&a->stop)) {
		quiet(&a->p->b);
		ring(&a->p->a);
	}
}

/* Threads that poll queues read the same socket as the event queue. */
TEST(msgep_doorbell, threads_share_the_socket)
{
	struct play_arg arg;
	struct dt_thread t[2];
	struct pair p;

	for (int i = 0; i < 20; i++) {
		setup(&p, &sorts[0]);
		arg.p = &p;
		atomic_init(&arg.stop, false);
		dt_thread_start(&t[0], play_quiet, &arg);
		dt_thread_start(&t[1], play_quiet, &arg);
		ASSERT_EQ(fi_shutdown(&p.a.ep.fid, 0), 0);
		side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.a);
		side_await_only(&p.s, NULL, FI_SHUTDOWN, &p.b);
		ASSERT(!p.b.died);
		atomic_store(&arg.stop, true);
		dt_thread_join(&t[0]);
		dt_thread_join(&t[1]);
		end_close(&p.a);
		end_close(&p.b);
		teardown(&p);
	}
}
