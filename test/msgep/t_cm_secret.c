/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which peers are accepted when a secret is configured. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "msgep/cm/cm_int.h"
#include "rig.h"

static void write_secret(char *path, const char *text, mode_t mode)
{
	int fd;

	strcpy(path, "/tmp/dat-ofi-secret-XXXXXX");
	fd = mkstemp(path);
	ASSERT(fd >= 0);
	ASSERT_EQ(write(fd, text, strlen(text)), strlen(text));
	ASSERT_EQ(fchmod(fd, mode), 0);
	close(fd);
}

/* Text NULL: this side has no secret. */
static void open_with(struct side *s, bool local, const char *text)
{
	char path[64];

	if (text) {
		write_secret(path, text, 0600);
		setenv("DAPL_OFI_CM_SECRET_FILE", path, 1);
	}
	side_open(s, local);
	unsetenv("DAPL_OFI_CM_SECRET_FILE");
	if (text)
		unlink(path);
	if (text && !((struct msgep_cm *)s->eq.cm)->secret)
		FAIL("the secret was not taken");
}

static const char good[] = "a secret of good length\n", same[] = "a secret of good length";
static const char other[] = "a secret of good lengtH";

static void those_who_know_connect(const void *row)
{
	const struct sort *sort = row;
	struct msgep_event *event;
	uint8_t data[MSGEP_CM_DATA];
	struct end c, l;
	struct side a, b;
	struct msgep_pep pep;

	memset(&play, 0, sizeof(play));
	memset(data, 'd', sizeof(data));
	play.with_fd = sort->local;
	open_with(&a, sort->local, good);
	open_with(&b, sort->local, same);
	ASSERT_EQ(pep_open(&pep, &a, "127.0.0.1", 0), 0);
	for (int i = 0; i < 2; i++) {
		end_open(&c, &b, NULL);
		ASSERT_EQ(end_connect(&c, "127.0.0.1", pep_port(&pep), data, sizeof(data)), 0);
		event = side_await_event(&a, &b, FI_CONNREQ);
		ASSERT_EQ(event->len, sizeof(data));
		if (i) {
			ASSERT_EQ(fi_reject(&pep.fid, event->info->handle, data, 9), 0);
			dofi_own_info_free(event->info);
			free(event);
			event = side_await_event(&b, &a, 0);
			ASSERT_EQ(event->err, ECONNREFUSED);
			ASSERT_EQ(event->len, 9);
			free(event);
			end_close(&c);
			continue;
		}
		end_open(&l, &a, event->info);
		free(event);
		ASSERT_EQ(fi_accept(&l.ep.fid, NULL, 0), 0);
		side_await_only(&a, &b, FI_CONNECTED, &l);
		side_await_only(&b, &a, FI_CONNECTED, &c);
		end_close(&c);
		side_await_only(&a, &b, FI_SHUTDOWN, &l);
		ASSERT(!l.died && !strcmp(l.last, "so long"));
		end_close(&l);
	}
	pep_close(&pep);
	side_close(&a);
	side_close(&b);
}

TEST_ROWS(msgep_secret_equal, sorts, those_who_know_connect)

static void others_do_not(const void *row)
{
	static const char *const secrets[][2] = {
		{ good, other },
		{ good, NULL },
		{ NULL, good },
	};
	const struct sort *sort = row;
	struct msgep_event *event;
	struct msgep_pep pep;
	struct side a, b;
	struct end c;

	memset(&play, 0, sizeof(play));
	for (size_t i = 0; i < 3; i++) {
		open_with(&a, sort->local, secrets[i][0]);
		open_with(&b, sort->local, secrets[i][1]);
		ASSERT_EQ(pep_open(&pep, &a, "127.0.0.1", 0), 0);
		end_open(&c, &b, NULL);
		ASSERT_EQ(end_connect(&c, "127.0.0.1", pep_port(&pep), "x", 1), 0);
		event = side_await_event(&b, &a, 0);
		ASSERT_EQ(event->err, EACCES);
		ASSERT_EQ(event->len, 0);
		free(event);
		end_close(&c);
		side_expect_no_event(&a, &b);
		ASSERT_EQ(a.events, 0);
		pep_close(&pep);
		side_close(&a);
		side_close(&b);
	}
}

TEST_ROWS(msgep_secret_other, sorts, others_do_not)

/* Does not know the secret but has recorded all messages of another client. */
static void what_was_heard_is_worth_nothing(const void *row)
{
	const struct sort *sort = row;
	uint8_t hello[MSGEP_CM_MAX], ask[MSGEP_CM_MAX], buf[MSGEP_CM_MAX];
	struct msgep_cm_msg msg;
	ssize_t hello_len, ask_len, n;
	struct msgep_pep pep;
	uint16_t port = 0;
	struct side a, b;
	struct end c;
	int l, fd, to;

	memset(&play, 0, sizeof(play));
	open_with(&a, sort->local, good);
	open_with(&b, sort->local, good);
	ASSERT_EQ(pep_open(&pep, &a, "127.0.0.1", 0), 0);
	/* Man in the middle between client and listener. */
	l = raw_listen(sort->local, "127.0.0.1", &port, 5);
	end_open(&c, &b, NULL);
	ASSERT_EQ(end_connect(&c, "127.0.0.1", port, "x", 1), 0);
	fd = accept(l, NULL, NULL);
	hello_len = raw_recv(&b, fd, hello, sizeof(hello));
	ASSERT_EQ(hello_len, MSGEP_CM_HDR + MSGEP_CM_NONCE);
	to = raw_connect(sort->local, "127.0.0.1", pep_port(&pep), NULL);
	ASSERT_EQ(send(to, hello, (size_t)hello_len, 0), hello_len);
	n = raw_recv(&a, to, buf, sizeof(buf));
	ASSERT_EQ(n, MSGEP_CM_HDR + MSGEP_CM_NONCE + MSGEP_CM_MAC);
	ASSERT_EQ(send(fd, buf, (size_t)n, 0), n);
	ask_len = raw_recv(&b, fd, ask, sizeof(ask));
	ASSERT_EQ(msgep_cm_parse(ask, (size_t)ask_len, &msg), 0);
	ASSERT(msg.sealed && msg.kind == MSGEP_CM_REQUEST);
	/* Modified in transit: rejected. Replayed unmodified on a new socket: rejected. */
	for (int i = 0; i < 3; i++) {
		if (!i)
			ask[MSGEP_CM_HDR + 9] ^= 1;
		ASSERT_EQ(send(to, ask, (size_t)ask_len, 0), ask_len);
		n = raw_recv(&a, to, buf, sizeof(buf));
		ASSERT_EQ(msgep_cm_parse(buf, (size_t)n, &msg), 0);
		ASSERT_EQ(msg.kind, MSGEP_CM_REJECT);
		close(to);
		if (!i)
			ask[MSGEP_CM_HDR + 9] ^= 1;
		if (i == 2)
			break;
		to = raw_connect(sort->local, "127.0.0.1", pep_port(&pep), NULL);
		if (i)
			continue; /* also without HELLO */
		ASSERT_EQ(send(to, hello, (size_t)hello_len, 0), hello_len);
		n = raw_recv(&a, to, buf, sizeof(buf));
		ASSERT_EQ(n, MSGEP_CM_HDR + MSGEP_CM_NONCE + MSGEP_CM_MAC);
	}
	side_expect_no_event(&a, &b);
	ASSERT_EQ(a.events, 0);
	end_close(&c);
	close(fd);
	close(l);
	pep_close(&pep);
	side_close(&a);
	side_close(&b);
}

TEST_ROWS(msgep_secret_heard, sorts, what_was_heard_is_worth_nothing)

/* A peer that leaves the challenge unanswered is reported as one that may not know the secret. */
static void silence_is_no_proof(const void *row)
{
	const struct sort *sort = row;
	uint8_t buf[MSGEP_CM_MAX], nonce[MSGEP_CM_NONCE] = { 1 };
	struct msgep_cm_msg hello = { .kind = MSGEP_CM_HELLO,
				      .params = nonce,
				      .params_len = sizeof(nonce) };
	int log = memfd_create("log", MFD_CLOEXEC), fd;
	size_t len = msgep_cm_build(buf, &hello);
	char text[512] = "";
	struct msgep_pep pep;
	struct side a;

	ASSERT(dup2(log, STDERR_FILENO) == STDERR_FILENO);
	set_number("DAPL_OFI_LOG", "2");
	set_number("DAPL_OFI_HALF_OPEN_MS", "100");
	open_with(&a, sort->local, good);
	ASSERT_EQ(pep_open(&pep, &a, "127.0.0.1", 0), 0);
	fd = raw_connect(sort->local, "127.0.0.1", pep_port(&pep), NULL);
	ASSERT_EQ(send(fd, buf, len, 0), len);
	ASSERT_EQ(raw_recv(&a, fd, buf, sizeof(buf)), MSGEP_CM_HDR + MSGEP_CM_NONCE + MSGEP_CM_MAC);
	ASSERT_EQ(raw_recv(&a, fd, buf, sizeof(buf)), 0);
	ASSERT(pread(log, text, sizeof(text) - 1, 0) > 0);
	ASSERT(strstr(text, "no proof of the secret within 100 ms"));
	close(log);
	close(fd);
	pep_close(&pep);
	side_close(&a);
}

TEST_ROWS(msgep_secret_silent, sorts, silence_is_no_proof)

/* A secret that others can read, or an invalid one, is an error, not a connection without
 * secret. */
TEST(msgep_secret_file, must_be_one)
{
	static const struct {
		const char *text;
		mode_t mode;
		int ret;
	} files[] = {
		{ good, 0600, 0 },
		{ good, 0640, 0 },
		{ good, 0604, -EPERM },
		{ good, 0602, -EPERM },
		{ "short", 0600, -ENODATA },
		{ "", 0600, -ENODATA },
		{ "fifteen bytes!!\n\n\n", 0600, -ENODATA },
		{ NULL, 0600, -EFBIG },
	};
	struct msgep_eq eq;
	char path[64], *big = calloc(1, 1026);

	ASSERT(big);
	memset(big, 'x', 1025);
	set_number("DAPL_OFI_LOG", "0");
	memset(&eq, 0, sizeof(eq));
	eq.epfd = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		write_secret(path, files[i].text ? files[i].text : big, files[i].mode);
		setenv("DAPL_OFI_CM_SECRET_FILE", path, 1);
		ASSERT_EQ(msgep_cm_open(&eq), files[i].ret);
		msgep_cm_close(&eq);
		unlink(path);
	}
	ASSERT_EQ(msgep_cm_open(&eq), -ENOENT);
	setenv("DAPL_OFI_CM_SECRET_FILE", "/tmp", 1);
	ASSERT_EQ(msgep_cm_open(&eq), -EINVAL);
	close(eq.epfd);
	free(big);
}
