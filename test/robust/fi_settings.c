/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that two processes with different settings of libfabric, or one of which ran out of memory
 * while it opened its adapter, either connect and transfer, or are rejected.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>

#include "../fabrics/fabrics.h"
#include "rdat.h"

#define SIZE 300000
#define BUFFER "FI_OFI_RXM_BUFFER_SIZE"

enum step { ST_LISTEN, ST_DONE };

struct pair {
	const char *name;
	const char *server, *client; /* values of the variable; NULL: not set */
	bool early;                  /* the client's program has used libfabric before */
	bool refused;
};

static const struct pair pairs[] = {
	{ "default-and-large", NULL, "65536", false, false },
	{ "large-and-default", "65536", NULL, false, false },
	{ "small-and-large", "2048", "131072", false, false },
	{ "used-before-with-less", NULL, "4096", true, false },
	{ "used-before-with-more", NULL, "131072", true, true },
};

/* ---------------------------------------------------------------- allocations that fail */

static _Atomic long fail_at, counted; /* 0: no failures */

#if !RL_SANITIZED
/* Only allocations of the provider fail, because other libraries would exit. */
static bool to_fail(const void *caller)
{
	Dl_info info;

	if (!fail_at || !dladdr(caller, &info) || !info.dli_fname ||
	    !strstr(info.dli_fname, "libdaplofi"))
		return false;
	return ++counted == fail_at;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	return to_fail(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
	return to_fail(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}
#endif

/* ---------------------------------------------------------------- players */

static char *area(void)
{
	static char buf[2 * SIZE];

	return buf;
}

/* Echoes each message. */
static void echo(struct rd *rd, struct rd_mem *mem)
{
	DAT_EVENT ev;

	rd->ep = rd_ep_create(rd, 4);
	RD_OK(rd_recv(rd->ep, mem, 0, SIZE, 1));
	rd_accept_up(rd, rd->ep);
	rd_expect_dto(rd->recv, 1, 10000);
	RD_OK(rd_send(rd->ep, mem, 0, SIZE, 2));
	rd_expect_dto(rd->req, 2, 10000);
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_DISCONNECTED, 10000, &ev);
	RD_OK(dat_ep_free(rd->ep));
	rd->ep = DAT_HANDLE_NULL;
}

static void transfer(struct rd *rd)
{
	struct rd_mem mem;
	DAT_EVENT ev;

	rd_reg(rd, &mem, area(), (size_t)2 * SIZE);
	rd->ep = rd_ep_create(rd, 4);
	rl_fill(mem.p, SIZE, 5);
	RD_OK(rd_recv(rd->ep, &mem, SIZE, SIZE, 1));
	rd_connect_up(rd, rd->ep);
	RD_OK(rd_send(rd->ep, &mem, 0, SIZE, 2));
	rd_expect_dto(rd->req, 2, 5000);
	rd_expect_dto(rd->recv, 1, 5000);
	RL_CHECK(rl_differs((char *)mem.p + SIZE, SIZE, 5) < 0, "other data came back");
	RD_OK(dat_ep_disconnect(rd->ep, DAT_CLOSE_GRACEFUL_FLAG));
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_DISCONNECTED, 10000, &ev);
	RD_OK(dat_ep_free(rd->ep));
	rd->ep = DAT_HANDLE_NULL;
	rd_unreg(&mem);
}

static void set(const char *value)
{
	if (value)
		setenv(BUFFER, value, 1);
	else
		unsetenv(BUFFER);
}

static void server(void *arg)
{
	const struct pair *pair = arg;
	struct rd_mem mem;
	struct rd rd;
	DAT_EVENT ev;

	set(pair->server);
	rd_open(&rd, 0, 64);
	rd_reg(&rd, &mem, area(), (size_t)2 * SIZE);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	if (pair->refused) {
		rd.ep = rd_ep_create(&rd, 4);
		RD_OK(dat_cr_accept(rd_request(&rd, 20000), rd.ep, 0, NULL));
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, 5000, &ev);
		rl_await(ST_DONE, 1, 10000);
	} else {
		echo(&rd, &mem);
	}
	rd_unreg(&mem);
	rd_close(&rd);
}

/* Uses libfabric before DAT, as a program may. */
static void use_libfabric(void)
{
	void (*release)(struct fi_info *);
	int (*get)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
		   struct fi_info **);
	struct fi_info *info = NULL;
	void *lib = dlopen("libfabric.so.1", RTLD_NOW);

	RL_CHECK(lib, "%s", dlerror());
	*(void **)&get = dlsym(lib, "fi_getinfo");
	*(void **)&release = dlsym(lib, "fi_freeinfo");
	RL_CHECK(get && release, "libfabric has no fi_getinfo");
	RL_CHECK(!get(FI_VERSION(1, 14), NULL, NULL, 0, NULL, &info), "fi_getinfo finds nothing");
	release(info);
}

static void client(void *arg)
{
	const struct pair *pair = arg;
	struct rd rd;
	DAT_EVENT ev;

	set(pair->client);
	if (pair->early)
		use_libfabric();
	rd_open(&rd, 0, 64);
	rl_await(ST_LISTEN, 1, 20000);
	if (pair->refused) {
		rd.ep = rd_ep_create(&rd, 4);
		rd_connect(&rd, rd.ep, 20000, NULL, 0);
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 5000, &ev);
		rl_step(ST_DONE, 1);
	} else {
		transfer(&rd);
	}
	rd_close(&rd);
}

static void many_clients_server(void *arg)
{
	struct rd_mem mem;
	struct rd rd;

	(void)arg;
	rd_open(&rd, 0, 64);
	rd_reg(&rd, &mem, area(), (size_t)2 * SIZE);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	/* One connection for each client. */
	for (int i = 1; !rl_board->step[ST_DONE]; i++) {
		DAT_EVENT ev;

		while (!rl_board->step[ST_DONE] && !rd_next(rd.cr, 50, &ev))
			;
		if (rl_board->step[ST_DONE])
			break;
		rd.ep = rd_ep_create(&rd, 4);
		RD_OK(rd_recv(rd.ep, &mem, 0, SIZE, 1));
		RD_OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, rd.ep, 0, NULL));
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, 10000, &ev);
		rd_expect_dto(rd.recv, 1, 10000);
		RD_OK(rd_send(rd.ep, &mem, 0, SIZE, 2));
		rd_expect_dto(rd.req, 2, 10000);
		rd_expect(rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, 10000, &ev);
		RD_OK(dat_ep_free(rd.ep));
		rd.ep = DAT_HANDLE_NULL;
	}
	rd_unreg(&mem);
	rd_close(&rd);
}

enum { NOT_REACHED = 1, NOT_OPENED, WORKS };

/* A child process, because a library is loaded once. */
static int open_and_transfer(long nth)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = RL_IA;
	DAT_RETURN ret;
	struct rd rd;

	/* Discards the reports of failed opens. */
	if (!freopen("/dev/null", "w", stderr))
		return 0;
	counted = 0;
	fail_at = nth;
	ret = dat_ia_openv(name, 8, &async, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_TRUE);
	fail_at = 0;
	if (ret)
		return NOT_OPENED;
	if (counted < nth)
		return NOT_REACHED;
	rd_open(&rd, 0, 64);
	transfer(&rd);
	return WORKS;
}

static void short_of_memory(void *arg)
{
	unsigned int opened = 0;
	int status = 0;
	long n;

	(void)arg;
	rl_await(ST_LISTEN, 1, 20000);
	for (n = 1; status != NOT_REACHED; n++) {
		pid_t pid;

		rl_activity("failing allocation %ld", n);
		pid = fork();
		if (!pid)
			_exit(open_and_transfer(n));
		RL_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status),
			 "the process with allocation %ld failing: status %x", n, status);
		status = WEXITSTATUS(status);
		RL_CHECK(status >= NOT_REACHED && status <= WORKS,
			 "the process with allocation %ld failing exited with %d", n, status);
		opened += status == WORKS;
	}
	rl_step(ST_DONE, 1);
	rl_note("%ld allocations failed, %u adapters opened nevertheless, and worked", n - 2,
		opened);
	RL_CHECK(n > 10, "only %ld allocations", n);
	rl_exit_success();
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct pair pair = pairs[i];

		/* Matters only for fabrics over rxm. */
		pair.refused = pair.refused &&
			       (strstr(test_fabric()->params, "rxm") ||
				strstr(test_fabric()->params, "constrained")) &&
			       !strstr(test_fabric()->params, "shm");
		if (!rl_begin(pair.name, 40000))
			continue;
		rl_start("server", server, &pair);
		rl_start("client", client, &pair);
		rl_end();
	}
	if (!RL_SANITIZED && rl_begin("short-of-memory", 120000)) {
		/* Loading libfabric is slow and not under test. */
		if (!dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL))
			rl_note("%s", dlerror());
		rl_start("server", many_clients_server, NULL);
		rl_start("client", short_of_memory, NULL);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 250, run);
}
