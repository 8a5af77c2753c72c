/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a process of another user cannot get connections to this user's service point by
 * binding the name of its unix socket. Needs root.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rdat.h"

/* Users that need not have a name. */
#define IMPOSTER 65534
#define OTHER 65533
#define TIMEOUT_MS 10000

enum step { ST_LISTEN, ST_TAKEN, ST_OVER };

enum outcome { REJECTED, OVER_NETWORK, OVER_SHM };

struct scene {
	const char *name;
	const char *listener, *client; /* fabrics; they run as root */
	bool other_user;               /* but the listener, as OTHER */
	bool imposter;                 /* has the name of the listener's address */
	bool secret;
	enum outcome outcome;
};

static const struct scene scenes[] = {
	{ "name-taken", "tcp", "tcp+shm", false, true, false, OVER_NETWORK },
	{ "name-of-the-address-taken", "tcp+shm", "tcp+shm", false, true, false, OVER_SHM },
	{ "same-user", "tcp+shm", "tcp+shm", false, false, false, OVER_SHM },
	{ "owner-of-the-port", "tcp+shm", "tcp+shm", true, false, false, OVER_SHM },
	{ "owner-of-the-port-behind-an-imposter", "tcp", "tcp+shm", true, true, false,
	  OVER_NETWORK },
	{ "memory-alone-of-another-user", "shm", "shm", true, false, false, REJECTED },
	{ "memory-alone-of-another-user-to-both", "shm", "tcp+shm", true, false, false, REJECTED },
	{ "memory-alone-of-the-same-user", "shm", "shm", false, false, false, OVER_SHM },
	{ "memory-alone-with-a-secret", "shm", "shm", true, false, true, OVER_SHM },
};

static char log_path[64], secret_path[64];

static void set_user(uid_t uid)
{
	RL_CHECK(!setresuid(uid, uid, uid), "setresuid: %s", strerror(errno));
}

static const char *address(void)
{
	static char text[INET_ADDRSTRLEN];
	struct sockaddr_in in;

	memcpy(&in, rl_board->addr, sizeof(in));
	return inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
}

/* Counts connections over shared memory: each has one mapped segment. */
static int shm_connections(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	RL_CHECK(f, "no /proc/self/maps");
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "memfd:dat-ofi") != NULL;
	fclose(f);
	return n;
}

static void use(const struct scene *s, const char *fabric)
{
	setenv("DAPL_OFI_PROVIDER", fabric, 1);
	if (s->secret)
		setenv("DAPL_OFI_CM_SECRET_FILE", secret_path, 1);
}

static void listener(void *arg)
{
	const struct scene *s = arg;
	struct rd rd;
	DAT_EVENT ev;

	use(s, s->listener);
	rd_open(&rd, 0, 16);
	if (s->other_user)
		set_user(OTHER);
	rd.ep = rd_ep_create(&rd, 4);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	if (s->outcome == REJECTED) {
		rl_await(ST_OVER, 1, 30000);
		RL_CHECK(!rd_poll(rd.cr, &ev), "an unexpected request arrived");
	} else {
		rd_accept_up(&rd, rd.ep);
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, TIMEOUT_MS, &ev);
	}
	rd_close(&rd);
	/* A leak checker has no access to a process that has changed its user. */
	rl_exit_success();
}

/* No data may arrive, only the end of the connection. */
static void imposter(void *arg)
{
	struct sockaddr_un un;
	struct pollfd pfd = { .events = POLLIN };
	char buf[512];
	ssize_t n;
	int fd, len;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	set_user(IMPOSTER);
	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	len = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "dat-ofi.shm.%s.%u", address(),
		       (unsigned int)rl_board->qual);
	pfd.fd = socket(AF_UNIX, SOCK_STREAM, 0);
	RL_CHECK(pfd.fd >= 0 &&
			 !bind(pfd.fd, (struct sockaddr *)&un,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					   (size_t)len)) &&
			 !listen(pfd.fd, 16),
		 "taking the name: %s", strerror(errno));
	rl_step(ST_TAKEN, 1);
	RL_CHECK(poll(&pfd, 1, 20000) == 1, "no connection arrived");
	fd = accept(pfd.fd, NULL, NULL);
	RL_CHECK(fd >= 0, "accept: %s", strerror(errno));
	n = recv(fd, buf, sizeof(buf), 0);
	RL_CHECK(!n, "the imposter got %zd bytes", n);
	rl_await(ST_OVER, 1, 30000);
	rl_exit_success();
}

static void check_log(const struct scene *s)
{
	static char text[65536];
	FILE *f = fopen(log_path, "re");
	char port[64], user[32];
	size_t n;

	RL_CHECK(f, "no log: %s", strerror(errno));
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	snprintf(port, sizeof(port), "%s:%u: ", address(), (unsigned int)rl_board->qual);
	snprintf(user, sizeof(user), "user %d", s->imposter ? IMPOSTER : OTHER);
	RL_CHECK(strstr(text, port) && strstr(text, user) &&
			 strstr(text, strcmp(s->client, "shm") ? "over the network" : "refused"),
		 "the log contains \"%.200s\"", text);
}

static void client(void *arg)
{
	const struct scene *s = arg;
	struct rd rd;
	DAT_EVENT ev;

	use(s, s->client);
	setenv("DAPL_OFI_LOG", "2", 1);
	setenv("DAPL_OFI_LOG_FILE", log_path, 1);
	rd_open(&rd, 0, 16);
	rd.ep = rd_ep_create(&rd, 4);
	rl_await(s->imposter ? ST_TAKEN : ST_LISTEN, 1, 10000);
	if (s->outcome == REJECTED) {
		rd_connect(&rd, rd.ep, TIMEOUT_MS, "private", 7);
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 5000, &ev);
	} else {
		rd_connect_up(&rd, rd.ep);
		RL_CHECK(shm_connections() == (s->outcome == OVER_SHM),
			 "%d connections over shared memory", shm_connections());
		RD_OK(dat_ep_disconnect(rd.ep, DAT_CLOSE_ABRUPT_FLAG));
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, 5000, &ev);
	}
	if (s->outcome == REJECTED || s->imposter)
		check_log(s);
	rl_step(ST_OVER, 1);
	rd_close(&rd);
}

static void write_secret(void)
{
	FILE *f = fopen(secret_path, "we");

	if (f) {
		fputs("a secret of users of one host\n", f);
		fclose(f);
	}
	chmod(secret_path, 0600);
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 1);
	if (geteuid()) {
		rl_skip("imposter", "needs root to run as another user");
		return;
	}
	snprintf(log_path, sizeof(log_path), "/tmp/dat-imposter-%d.log", (int)getpid());
	snprintf(secret_path, sizeof(secret_path), "/tmp/dat-imposter-%d.key", (int)getpid());
	write_secret();
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		const struct scene *s = &scenes[i];

		if (!rl_begin(s->name, 40000))
			continue;
		unlink(log_path);
		rl_start("listener", listener, (void *)(uintptr_t)s);
		if (s->imposter)
			rl_start("imposter", imposter, NULL);
		rl_start("client", client, (void *)(uintptr_t)s);
		rl_end();
	}
	unlink(log_path);
	unlink(secret_path);
}

/* Always over shared memory and the network next to it, whatever else is tested; listeners are at
 * all addresses of the host. */
int main(int argc, char **argv)
{
	setenv("DAT_TEST_FABRIC", "tcp+shm", 1);
	setenv("DAT_TEST_PARAMS", "provider=tcp+shm", 1);
	return rl_main(argc, argv, 150, run);
}
