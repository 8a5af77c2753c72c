/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that clients connect while a flood of idle connections arrives at the service point. The
 * flood has the address of the client, so a listener cannot distinguish them before the request.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "attack.h"
#include "rdat.h"

enum step { ST_LISTEN, ST_FLOOD, ST_DONE, ST_CEASED };

#define FLOOD 3000
#define CLIENTS 10
#define TIMEOUT_MS 10000

struct flood {
	const char *name;
	bool goes_on; /* the oldest is continually replaced */
};

static const struct flood floods[] = {
	{ "standing", false },
	{ "going-on", true },
};

static void server(void *arg)
{
	struct rd rd;
	DAT_EVENT ev;

	(void)arg;
	rd_open(&rd, 0, 64);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	/* More requests than clients: a client that was cut off connects again. */
	while (!rl_board->step[ST_DONE]) {
		DAT_CR_HANDLE cr;

		if (!rd_next(rd.cr, 100, &ev))
			continue;
		RL_CHECK(ev.event_number == DAT_CONNECTION_REQUEST_EVENT, "%s",
			 rd_event_text(ev.event_number));
		cr = ev.event_data.cr_arrival_event_data.cr_handle;
		rd.ep = rd_ep_create(&rd, 4);
		RD_OK(dat_cr_accept(cr, rd.ep, 0, NULL));
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, TIMEOUT_MS, &ev);
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, TIMEOUT_MS, &ev);
		RD_OK(dat_ep_free(rd.ep));
		rd.ep = DAT_HANDLE_NULL;
	}
	rl_await(ST_CEASED, 1, 10000);
	rd_close(&rd);
}

static void client(void *arg)
{
	uint64_t slowest = 0;
	struct rd rd;
	DAT_EVENT ev;

	(void)arg;
	test_fabric_network_only();
	rd_open(&rd, 0, 64);
	rl_await(ST_FLOOD, 1, 20000);
	for (int i = 0; i < CLIENTS; i++) {
		uint64_t began = rl_now();

		rl_activity("connecting for the %dth time", i);
		rd.ep = rd_ep_create(&rd, 4);
		rd_connect(&rd, rd.ep, TIMEOUT_MS, NULL, 0);
		RL_CHECK(rd_await(rd.conn, TIMEOUT_MS + 2000, &ev), "connect %d: no event", i);
		RL_CHECK(ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED,
			 "connect %d of %d: %s after %llu ms", i, CLIENTS,
			 rd_event_text(ev.event_number),
			 (unsigned long long)(rl_now() - began) / 1000);
		if (rl_now() - began > slowest)
			slowest = rl_now() - began;
		RD_OK(dat_ep_disconnect(rd.ep, DAT_CLOSE_ABRUPT_FLAG));
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, 3000, &ev);
		RD_OK(dat_ep_free(rd.ep));
		rd.ep = DAT_HANDLE_NULL;
	}
	rl_step(ST_DONE, 1);
	rl_note("%d idle connections, %d connects of %d ms at most: the slowest took %.1f ms",
		FLOOD, CLIENTS, TIMEOUT_MS, (double)slowest / 1000);
	rd_close(&rd);
}

/* The name of the service point's unix socket, as the kernel lists it: "dat-ofi...PORT". */
static socklen_t unix_name(struct sockaddr_un *un)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[256], ending[32];
	socklen_t len = 0;

	RL_CHECK(f, "no /proc/net/unix");
	snprintf(ending, sizeof(ending), ".%u\n", (unsigned int)rl_board->qual);
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	while (!len && fgets(line, sizeof(line), f)) {
		const char *name = strstr(line, "@dat-ofi.");

		if (!name || strlen(name) < strlen(ending) ||
		    strcmp(name + strlen(name) - strlen(ending), ending))
			continue;
		snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, "%.*s",
			 (int)strcspn(name + 1, "\n"), name + 1);
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strcspn(name, "\n"));
	}
	fclose(f);
	RL_CHECK(len, "the service point has no unix socket");
	return len;
}

static int connect_one(const struct sockaddr_un *un, socklen_t len)
{
	int fd;

	if (!len)
		return attack_connect();
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	RL_CHECK(fd >= 0, "socket: %s", strerror(errno));
	RL_CHECK(!connect(fd, (const struct sockaddr *)un, len), "connect: %s", strerror(errno));
	return fd;
}

static void flooder(void *arg)
{
	const struct flood *flood = arg;
	bool tcp = test_fabric_has(test_fabric(), "sockets");
	struct rlimit files;
	struct sockaddr_un un;
	socklen_t len = 0;
	static int fd[FLOOD];

	RL_CHECK(!getrlimit(RLIMIT_NOFILE, &files), "getrlimit");
	files.rlim_cur = files.rlim_max;
	RL_CHECK(!setrlimit(RLIMIT_NOFILE, &files) && files.rlim_max > FLOOD + 100,
		 "only %lu descriptors", (unsigned long)files.rlim_max);
	rl_await(ST_LISTEN, 1, 10000);
	if (!tcp)
		len = unix_name(&un);
	rl_activity("flooding");
	for (int i = 0; i < FLOOD; i++)
		fd[i] = connect_one(&un, len);
	rl_step(ST_FLOOD, 1);
	for (int i = 0; flood->goes_on && !rl_board->step[ST_DONE]; i++) {
		close(fd[i % FLOOD]);
		fd[i % FLOOD] = connect_one(&un, len);
	}
	rl_await(ST_DONE, 1, 60000);
	rl_step(ST_CEASED, 1);
	rl_exit_success();
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
		if (!rl_begin(floods[i].name, 90000))
			continue;
		rl_start("server", server, NULL);
		rl_start("client", client, NULL);
		rl_start("flooder", flooder, (void *)(uintptr_t)&floods[i]);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 200, run);
}
