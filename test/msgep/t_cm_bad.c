/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that unknown and misbehaving peers are rejected and impair no others. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "msgep/cm/cm_int.h"
#include "rig.h"

struct target {
	struct side s;
	struct msgep_pep pep;
	const struct sort *sort;
};

static void setup(struct target *t, const struct sort *sort)
{
	memset(&play, 0, sizeof(play));
	t->sort = sort;
	side_open(&t->s, sort->local);
	ASSERT_EQ(pep_open(&t->pep, &t->s, "127.0.0.1", 0), 0);
}

static void teardown(struct target *t)
{
	ASSERT_EQ(t->s.events, 0);
	pep_close(&t->pep);
	side_close(&t->s);
}

static int visit(struct target *t)
{
	int fd = raw_connect(t->sort->local, "127.0.0.1", pep_port(&t->pep), NULL);

	ASSERT(fd >= 0);
	return fd;
}

/* The peer receives the end of the stream only; with `reject`, a rejection before it. */
static void shown_out(struct target *t, int fd, bool reject)
{
	struct msgep_cm_msg msg;
	uint8_t buf[MSGEP_CM_MAX];
	ssize_t n = raw_recv(&t->s, fd, buf, sizeof(buf));

	if (reject) {
		ASSERT_EQ(n, MSGEP_CM_HDR);
		ASSERT_EQ(msgep_cm_parse(buf, (size_t)n, &msg), 0);
		ASSERT_EQ(msg.kind, MSGEP_CM_REJECT);
		n = raw_recv(&t->s, fd, buf, sizeof(buf));
	}
	ASSERT(n == 0 || (n < 0 && errno == ECONNRESET));
	close(fd);
}

/* The listener still serves well-behaved clients. */
static void still_serves(struct target *t)
{
	struct msgep_event *event;
	struct end a, b;

	end_open(&a, &t->s, NULL);
	ASSERT_EQ(end_connect(&a, "127.0.0.1", pep_port(&t->pep), "ok", 2), 0);
	event = side_await_event(&t->s, NULL, FI_CONNREQ);
	ASSERT_EQ(event->len, 2);
	end_open(&b, &t->s, event->info);
	free(event);
	ASSERT_EQ(fi_accept(&b.ep.fid, NULL, 0), 0);
	side_await_only(&t->s, NULL, FI_CONNECTED, &b);
	side_await_only(&t->s, NULL, FI_CONNECTED, &a);
	end_close(&a);
	side_await_only(&t->s, NULL, FI_SHUTDOWN, &b);
	end_close(&b);
	t->s.events = 0;
}

static void silent_ones(const void *row)
{
	static const size_t sent[] = { 0, 1, 5, 31, 32, 38 };
	uint8_t buf[MSGEP_CM_MAX];
	uint64_t begin = dt_now_us();
	struct target t;
	int fd[6];

	set_number("DAPL_OFI_HALF_OPEN_MS", "300");
	setup(&t, row);
	raw_request(t.sort->local, buf, "data", 4);
	for (size_t i = 0; i < 6; i++) {
		fd[i] = visit(&t);
		ASSERT_EQ(send(fd[i], buf, sent[i], MSG_NOSIGNAL), sent[i]);
	}
	for (size_t i = 0; i < 6; i++)
		shown_out(&t, fd[i], false);
	ASSERT(dt_now_us() - begin >= 290000);
	still_serves(&t);
	teardown(&t);
}

TEST_ROWS(msgep_silent, sorts, silent_ones)

struct garbage {
	const char *what;
	size_t at;
	uint8_t bytes[2];
	size_t n;
	bool reject;
};

static const struct garbage garbage[] = {
	{ "magic", 0, { 'X' }, 1, false },
	{ "version", 4, { MSGEP_CM_VERSION + 1 }, 1, true },
	{ "kind 0", 5, { 0 }, 1, false },
	{ "kind 5", 5, { 5 }, 1, false },
	{ "busy, to a listener", 5, { MSGEP_CM_BUSY }, 1, false },
	{ "kind 99", 5, { 99 }, 1, false },
	{ "seal promised", 7, { 2 }, 1, false },
	{ "acceptance to a listener", 5, { MSGEP_CM_ACCEPT }, 1, false },
	{ "transport", 6, { 77 }, 1, true },
	{ "flags", 7, { 4 }, 1, false },
	{ "descriptor promised", 7, { 1 }, 1, false },
	{ "parameters too long", 8, { 0, MSGEP_PARAMS_MAX + 1 }, 2, false },
	{ "parameters much too long", 8, { 0xff, 0xff }, 2, false },
	{ "data too long", 10, { MSGEP_CM_DATA >> 8, (MSGEP_CM_DATA & 255) + 1 }, 2, false },
	{ "data much too long", 10, { 0xff, 0xff }, 2, false },
	{ "no port", 12, { 0, 0 }, 2, false },
	{ "sort of address", 14, { 5 }, 1, false },
	{ "class of packets", 15, { 64 }, 1, false },
	{ "zeros", 0, { 0, 0 }, 2, false },
};

static void rubbish(const void *row)
{
	uint8_t buf[MSGEP_CM_MAX];
	struct target t;
	size_t len;

	setup(&t, row);
	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		const struct garbage *g = &garbage[i];
		int fd = visit(&t);

		dt_note("%s", g->what);
		len = raw_request(t.sort->local, buf, "data", 4);
		memcpy(buf + g->at, g->bytes, g->n);
		ASSERT_EQ(send(fd, buf, len, MSG_NOSIGNAL), len);
		shown_out(&t, fd, g->reject);
	}
	still_serves(&t);
	teardown(&t);
}

TEST_ROWS(msgep_garbage, sorts, rubbish)

/* Random bytes, from a fixed seed, after a valid beginning. */
static void noise(const void *row)
{
	uint8_t buf[MSGEP_CM_MAX];
	unsigned int seed = 4711;
	struct target t;

	set_number("DAPL_OFI_HALF_OPEN_MS", "200");
	setup(&t, row);
	for (int i = 0; i < 100; i++) {
		size_t len = raw_request(t.sort->local, buf, "data", 4), n = 1 + rand_r(&seed) % 4;
		int fd = visit(&t);

		/* Never in the transport's bytes, the data or the address: that would be a good
		 * request. */
		while (n--)
			buf[rand_r(&seed) % 5] ^= (uint8_t)(1 + rand_r(&seed) % 255);
		if (!memcmp(buf, "RDMC\4", 5))
			buf[0] = 'r';
		send(fd, buf, len, MSG_NOSIGNAL);
		shown_out(&t, fd, !memcmp(buf, "RDMC", 4));
	}
	still_serves(&t);
	teardown(&t);
}

TEST_ROWS(msgep_noise, sorts, noise)

/* Requests that arrive byte by byte are accepted. */
static void dribble(const void *row)
{
	struct msgep_event *event;
	uint8_t buf[MSGEP_CM_MAX];
	struct target t;
	size_t len;
	int fd;

	setup(&t, row);
	len = raw_request(t.sort->local, buf, "data", 4);
	fd = visit(&t);
	for (size_t i = 0; i < len; i++) {
		ASSERT_EQ(send(fd, buf + i, 1, MSG_NOSIGNAL), 1);
		for (int k = 0; k < 3; k++)
			work(&t.s);
		ASSERT(i + 1 == len || !t.s.events);
	}
	event = side_await_event(&t.s, NULL, FI_CONNREQ);
	ASSERT_EQ(event->len, 4);
	ASSERT_EQ(fi_reject(&t.pep.fid, event->info->handle, NULL, 0), 0);
	dofi_own_info_free(event->info);
	free(event);
	shown_out(&t, fd, true);
	t.s.events = 0;
	teardown(&t);
}

TEST_ROWS(msgep_dribble, sorts, dribble)

/* A request that is neither accepted nor rejected. */
static void drop(struct target *t, struct msgep_event *event)
{
	pthread_mutex_lock(&t->s.eq.lock);
	msgep_cm_drop_request(event->info->handle);
	pthread_mutex_unlock(&t->s.eq.lock);
	dofi_own_info_free(event->info);
	free(event);
}

static int any_fd(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	ASSERT(fd >= 0);
	return fd;
}

/* One descriptor, if the message announces it; the harness finds leaked ones. */
TEST(msgep_fds, no_more_than_one_is_taken)
{
	int fds[4] = { any_fd(), any_fd(), any_fd(), any_fd() }, fd;
	uint8_t buf[MSGEP_CM_MAX];
	struct target t;
	size_t len;

	setup(&t, &sorts[0]);
	len = raw_request(true, buf, "data", 4);
	for (size_t n = 1; n <= 4; n++) {
		/* Without being announced, or too many. */
		buf[7] = n > 1;
		fd = visit(&t);
		raw_send_fds(fd, buf, len, fds, n);
		shown_out(&t, fd, false);
	}
	/* One with the header, one with the rest; then one after another until it fails. */
	fd = visit(&t);
	raw_send_fds(fd, buf, 32, fds, 1);
	raw_send_fds(fd, buf + 32, len - 32, fds, 1);
	shown_out(&t, fd, false);
	/* It may arrive after the first byte. */
	fd = visit(&t);
	ASSERT_EQ(send(fd, buf, 3, 0), 3);
	raw_send_fds(fd, buf + 3, len - 3, fds, 1);
	drop(&t, side_await_event(&t.s, NULL, FI_CONNREQ));
	shown_out(&t, fd, false);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	t.s.events = 0;
	still_serves(&t);
	teardown(&t);
}

/* The client receives BUSY, and nothing else. */
static void turned_away(struct target *t, int fd)
{
	struct msgep_cm_msg msg;
	uint8_t buf[MSGEP_CM_MAX];

	ASSERT_EQ(raw_recv(&t->s, fd, buf, sizeof(buf)), MSGEP_CM_HDR);
	ASSERT_EQ(msgep_cm_parse(buf, MSGEP_CM_HDR, &msg), 0);
	ASSERT_EQ(msg.kind, MSGEP_CM_BUSY);
	shown_out(t, fd, false);
}

static void still_there(int fd)
{
	ASSERT(recv(fd, &(char){ 0 }, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

/* Beyond the limit of half-open connections of a peer, its oldest one is closed, and no other. */
static void crowd(const void *row)
{
	struct target t;
	int fd[MSGEP_CM_HALF_OPEN_PEER + 1], other = -1;

	set_number("DAPL_OFI_HALF_OPEN_MS", "60000");
	setup(&t, row);
	if (!t.sort->local)
		other = raw_connect(false, "127.0.0.1", pep_port(&t.pep), "127.0.0.2");
	for (size_t i = 0; i <= MSGEP_CM_HALF_OPEN_PEER; i++) {
		fd[i] = visit(&t);
		work(&t.s);
	}
	turned_away(&t, fd[0]);
	for (int i = 0; i < 5; i++)
		side_poll_and_work(&t.s, NULL, 2);
	for (size_t i = 1; i <= MSGEP_CM_HALF_OPEN_PEER; i++)
		still_there(fd[i]);
	if (other >= 0)
		still_there(other);
	still_serves(&t);
	for (size_t i = 1; i <= MSGEP_CM_HALF_OPEN_PEER; i++)
		close(fd[i]);
	if (other >= 0)
		close(other);
	teardown(&t);
}

TEST_ROWS(msgep_crowd, sorts, crowd)

/* Many at once are not evicted if they send their requests in time. */
static void burst(const void *row)
{
	enum { MANY = 300 };
	static int fd[MANY];
	uint8_t buf[MSGEP_CM_MAX];
	struct target t;
	size_t len;

	setup(&t, row);
	for (int i = 0; i < MANY; i++)
		fd[i] = visit(&t);
	for (int i = 0; i < 10; i++)
		work(&t.s);
	ASSERT_EQ(((struct msgep_cm *)t.s.eq.cm)->n_half_open, MANY);
	len = raw_request(t.sort->local, buf, "data", 4);
	for (int i = 0; i < MANY; i++)
		ASSERT_EQ(send(fd[i], buf, len, MSG_NOSIGNAL), len);
	for (int i = 0; i < MANY; i++)
		drop(&t, side_await_event(&t.s, NULL, FI_CONNREQ));
	for (int i = 0; i < MANY; i++)
		shown_out(&t, fd[i], false);
	t.s.events = 0;
	still_serves(&t);
	teardown(&t);
}

TEST_ROWS(msgep_burst, sorts, burst)

/* In total, from all clients. */
TEST(msgep_crowd_of_all, is_bounded)
{
	struct rlimit room = { 4096, 4096 };
	static int fd[MSGEP_CM_HALF_OPEN_MAX];
	struct target t;
	char source[16];

	if (setrlimit(RLIMIT_NOFILE, &room))
		dt_skip("not enough descriptors");
	set_number("DAPL_OFI_HALF_OPEN_MS", "60000");
	setup(&t, &sorts[1]);
	for (int i = 0; i < MSGEP_CM_HALF_OPEN_MAX; i++) {
		snprintf(source, sizeof(source), "127.0.1.%d", 1 + i / 60);
		fd[i] = raw_connect(false, "127.0.0.1", pep_port(&t.pep), source);
		ASSERT(fd[i] >= 0);
		work(&t.s);
	}
	/* The new connection is served in place of the oldest. */
	still_serves(&t);
	turned_away(&t, fd[0]);
	for (int i = 1; i < MSGEP_CM_HALF_OPEN_MAX; i++)
		still_there(fd[i]);
	for (int i = 1; i < MSGEP_CM_HALF_OPEN_MAX; i++)
		close(fd[i]);
	for (int i = 0; i < 40; i++)
		side_poll_and_work(&t.s, NULL, 2);
	teardown(&t);
}

/* No descriptors left: waiting clients are accepted when there are some again. */
static void short_of_descriptors(const void *row)
{
	struct rlimit full, less;
	struct msgep_event *event;
	uint8_t buf[MSGEP_CM_MAX];
	struct target t;
	size_t len;
	int fd;

	setup(&t, row);
	fd = visit(&t);
	len = raw_request(t.sort->local, buf, "data", 4);
	ASSERT_EQ(send(fd, buf, len, MSG_NOSIGNAL), len);
	ASSERT(!getrlimit(RLIMIT_NOFILE, &full));
	less = full;
	less.rlim_cur = 3;
	ASSERT(!setrlimit(RLIMIT_NOFILE, &less));
	work(&t.s);
	for (int i = 0; i < 4; i++)
		side_poll_and_work(&t.s, NULL, 20);
	ASSERT_EQ(t.s.events, 0);
	ASSERT(!setrlimit(RLIMIT_NOFILE, &full));
	event = side_await_event(&t.s, NULL, FI_CONNREQ);
	ASSERT_EQ(event->len, 4);
	drop(&t, event);
	close(fd);
	t.s.events = 0;
	teardown(&t);
}

TEST_ROWS(msgep_short_of_fds, sorts, short_of_descriptors)

/* ---------------------------------------------------------------- listeners without room */

enum { SAYS_BUSY, RESETS_IT, CLOSES_LATE };
static const struct busy_row {
	const char *name;
	bool local;
	int how, times;
} busy_rows[] = {
	{ "unix-busy", true, SAYS_BUSY, 5 },          { "tcp-busy", false, SAYS_BUSY, 5 },
	{ "tcp-resets", false, RESETS_IT, 2 },        { "unix-closes-late", true, CLOSES_LATE, 2 },
	{ "tcp-closes-late", false, CLOSES_LATE, 2 },
};

/* A client that receives BUSY retries until there is room. */
static void tries_again(const void *row)
{
	const struct busy_row *how = row;
	uint8_t buf[MSGEP_CM_MAX], busy[MSGEP_CM_MAX];
	struct msgep_cm_msg msg = { .kind = MSGEP_CM_BUSY, .transport = how->local ? 7 : 8 };
	size_t len = msgep_cm_build(busy, &msg);
	uint16_t port = 0;
	struct end e;
	struct side s;
	int l, fd = -1;

	set_number("DAPL_OFI_HALF_OPEN_MS", "100");
	memset(&play, 0, sizeof(play));
	side_open(&s, how->local);
	l = raw_listen(how->local, "127.0.0.1", &port, 5);
	end_open(&e, &s, NULL);
	ASSERT_EQ(end_connect(&e, "127.0.0.1", port, "data", 4), 0);
	for (int i = 0; i <= how->times; i++) {
		ssize_t n;

		ASSERT_EQ(fcntl(l, F_SETFL, O_NONBLOCK), 0);
		while ((fd = accept(l, NULL, NULL)) < 0) {
			ASSERT_EQ(s.events, 0);
			side_poll_and_work(&s, NULL, 10);
		}
		n = raw_recv(&s, fd, buf, sizeof(buf));
		ASSERT(n > 0);
		ASSERT_EQ(msgep_cm_parse(buf, (size_t)n, &msg), 0);
		ASSERT_EQ(msg.kind, MSGEP_CM_REQUEST);
		ASSERT_EQ(msg.data_len, 4);
		ASSERT_EQ(memcmp(msg.data, "data", 4), 0);
		if (i == how->times)
			break;
		if (how->how == SAYS_BUSY)
			ASSERT_EQ(send(fd, busy, len, MSG_NOSIGNAL), len);
		else if (how->how == CLOSES_LATE)
			for (uint64_t end = dt_now_us() + 60000; dt_now_us() < end;)
				side_poll_and_work(&s, NULL, 10);
		else
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
				   sizeof(struct linger));
		close(fd);
	}
	msg = (struct msgep_cm_msg){ .kind = MSGEP_CM_ACCEPT,
				     .transport = how->local ? 7 : 8,
				     .params = (const uint8_t *)"passive",
				     .params_len = 8 };
	len = msgep_cm_build(busy, &msg);
	ASSERT_EQ(send(fd, busy, len, MSG_NOSIGNAL), len);
	side_await_only(&s, NULL, FI_CONNECTED, &e);
	end_close(&e);
	close(fd);
	close(l);
	side_close(&s);
}

TEST_ROWS(msgep_busy, busy_rows, tries_again)

/* ---------------------------------------------------------------- listeners that misbehave */

static void wrong_answers(const void *row)
{
	static const struct {
		const char *bytes;
		size_t len;
		int err;
	} answers[] = {
		{ "HTTP/1.1 400 Bad Request\r\n\r\n....", 32, EPROTO },
		{ "RDMC\377...........................", 32, EPROTONOSUPPORT },
		{ "RDMC\4\1\7\0\0\0\0\0\0\1\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32, EPROTO },
		{ "RDMC\4\2\115\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32, EPROTO },
		{ "RDMC\4\2\7\0\0\377\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32, EBADMSG },
		{ "RDMC\4\4\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32, EPROTO },
		{ "RDMC\4\2", 6, ECONNRESET },
		{ "", 0, ECONNRESET },
	};
	const struct sort *sort = row;
	struct msgep_event *event;
	uint16_t port = 0;
	struct end e;
	struct side s;
	int l, fd;

	memset(&play, 0, sizeof(play));
	side_open(&s, sort->local);
	l = raw_listen(sort->local, "127.0.0.1", &port, 5);
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		uint8_t buf[MSGEP_CM_MAX];
		struct msgep_cm_msg msg;
		ssize_t n;

		end_open(&e, &s, NULL);
		ASSERT_EQ(end_connect(&e, "127.0.0.1", port, "data", 4), 0);
		fd = accept(l, NULL, NULL);
		ASSERT(fd >= 0);
		n = raw_recv(&s, fd, buf, sizeof(buf));
		ASSERT(n > 0);
		ASSERT_EQ(msgep_cm_parse(buf, (size_t)n, &msg), 0);
		ASSERT_EQ(msg.data_len, 4);
		ASSERT_EQ(send(fd, answers[i].bytes, answers[i].len, MSG_NOSIGNAL), answers[i].len);
		close(fd);
		event = side_await_event(&s, NULL, 0);
		ASSERT_EQ(event->err, answers[i].err);
		ASSERT_EQ(event->len, 0);
		free(event);
		ASSERT(!e.up);
		end_close(&e);
	}
	close(l);
	side_close(&s);
}

TEST_ROWS(msgep_answers, sorts, wrong_answers)

/* A listener whose queue is full: clients wait their turn. */
TEST(msgep_queue, full_at_first_is_waited_for)
{
	uint8_t buf[MSGEP_CM_MAX];
	int l, fd[8], n = 0;
	uint16_t port = 0;
	const struct msgep_cm_conn *conn;
	struct end e;
	struct side s;

	memset(&play, 0, sizeof(play));
	side_open(&s, true);
	l = raw_listen(true, "127.0.0.1", &port, 0);
	/* The first one fits. */
	fd[n] = raw_connect(true, "127.0.0.1", port, NULL);
	ASSERT(fd[n++] >= 0);
	end_open(&e, &s, NULL);
	ASSERT_EQ(end_connect(&e, "127.0.0.1", port, "data", 4), 0);
	for (int i = 0; i < 10; i++)
		side_poll_and_work(&s, NULL, 5);
	ASSERT_EQ(s.events, 0);
	fd[n] = accept(l, NULL, NULL);
	ASSERT(fd[n++] >= 0);
	conn = e.ep.cm;
	while (!s.events && conn->state == MSGEP_CM_CONNECTING)
		side_poll_and_work(&s, NULL, 100);
	fd[n] = accept(l, NULL, NULL);
	ASSERT(fd[n++] >= 0);
	ASSERT(raw_recv(&s, fd[n - 1], buf, sizeof(buf)) > MSGEP_CM_HDR);
	/* Cancelled while waiting for room: nothing is leaked. */
	end_close(&e);
	end_open(&e, &s, NULL);
	fd[n] = raw_connect(true, "127.0.0.1", port, NULL);
	ASSERT(fd[n++] >= 0);
	ASSERT_EQ(end_connect(&e, "127.0.0.1", port, "data", 4), 0);
	side_poll_and_work(&s, NULL, 20);
	end_close(&e);
	while (n--)
		close(fd[n]);
	close(l);
	side_close(&s);
}
