/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the footprint: what the first open of a process loads and what a thousand leave behind,
 * page faults of opening an adapter and of its first transfer, and the memory of connections.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../fabrics/fabrics.h"
#include "rdat.h"

/* A second open takes a few hundred; 8,400 would be a pool of 1024 messages of 32 KiB. */
#define FAULTS 2000
#define KIB 8192
#define SIZE 4096
/* Connections within the process, and the places of each queue of their endpoints. */
#define CONNECTIONS 1000
#define DTOS 4
/* Opens and closes in one process, and what may remain after them: less than the smallest piece of
 * memory for each. */
#define OPENS 1000
#define MAPS_MORE 4
#define BYTES_MORE 24000
#define KIB_MORE 4096
/* Bytes that an open without libfabric reads at most: the libraries' headers, /proc, /sys. */
#define READ_MOST (1 << 20)

/* KiB of an adapter with one connection at most, and of one end of a connection that has sent,
 * received, written and read a little. */
static const struct bound {
	const char *fabric;
	long adapter, end;
} bounds[] = {
	{ "tcp", 2048, 7 },
	{ NULL, KIB, 36 },
};

static const struct bound *bound(void)
{
	const char *name = test_fabric()->name;
	const struct bound *b = bounds;

	while (b->fabric && strcmp(b->fabric, name))
		b++;
	return b;
}

static long faults(void)
{
	struct rusage usage;

	RL_CHECK(!getrusage(RUSAGE_SELF, &usage), "getrusage");
	return usage.ru_minflt;
}

/* From 1.20 on libfabric's rxm keeps whole messages in its buffers. */
static bool keeps_messages(void)
{
	void *lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	uint32_t (*version)(void) = NULL;

	if (lib)
		*(void **)&version = dlsym(lib, "fi_version");
	return version && version() >= (1u << 16 | 20);
}

/* Both ends of a connection, and one message. */
static void use(struct rd *rd, struct rd_mem *mem, DAT_EP_HANDLE ep[2], int dtos)
{
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++)
		ep[i] = rd_ep_create(rd, dtos);
	RD_OK(rd_recv(ep[1], mem, 0, SIZE, 1));
	rd_connect(rd, ep[0], 10000, NULL, 0);
	RD_OK(dat_cr_accept(rd_request(rd, 10000), ep[1], 0, NULL));
	for (int i = 0; i < 2; i++)
		rd_expect(rd->conn, DAT_CONNECTION_EVENT_ESTABLISHED, 10000, &ev);
	RD_OK(rd_send(ep[0], mem, SIZE, SIZE, 2));
	rd_expect_dto(rd->req, 2, 10000);
	rd_expect_dto(rd->recv, 1, 10000);
}

static void play(void *arg)
{
	static char buf[2 * SIZE];
	DAT_EP_HANDLE ep[2];
	long kib, before, opened, used;
	int fds, fds_opened;
	struct rd_mem mem;
	struct rd rd;

	(void)arg;
	/* Permanent allocations of libraries. */
	rd_warm_up();
	memset(buf, 1, sizeof(buf));
	kib = rl_rss_kb(0);
	fds = rl_fds(0);
	before = faults();
	rl_activity("opening");
	rd_open(&rd, 0, 16);
	opened = faults();
	fds_opened = rl_fds(0);
	rd_reg(&rd, &mem, buf, sizeof(buf));
	rd_listen(&rd);
	use(&rd, &mem, ep, 4);
	used = faults();
	kib = rl_rss_kb(0) - kib;
	rl_note("%ld page faults to open, %ld to use it for the first time, %ld KiB; %d "
		"descriptors, "
		"then %d",
		opened - before, used - opened, kib, fds_opened - fds, rl_fds(0) - fds);
	if (!keeps_messages()) {
		RL_CHECK(opened - before < FAULTS, "%ld page faults to open", opened - before);
		RL_CHECK(used - opened < FAULTS, "%ld page faults for the first message",
			 used - opened);
		RL_CHECK(kib < bound()->adapter, "%ld KiB", kib);
	}
	for (int i = 0; i < 2; i++)
		RD_OK(dat_ep_free(ep[i]));
	rd_unreg(&mem);
	rd_close(&rd);
}

static void connections(void *arg)
{
	static DAT_EP_HANDLE ep[CONNECTIONS][2];
	static char buf[2 * SIZE];
	struct rd_mem mem;
	long kib = 0, fds = 0;
	struct rd rd;

	(void)arg;
	rd_open(&rd, 0, 64);
	rd_reg(&rd, &mem, buf, sizeof(buf));
	rd_show(0, &mem);
	rd_listen(&rd);
	for (int i = 0; i < CONNECTIONS; i++) {
		/* Excludes what the adapter and the pair of processes need once. */
		if (i == 1) {
			kib = rl_rss_kb(0);
			fds = rl_fds(0);
		}
		rl_activity("connection %d", i);
		use(&rd, &mem, ep[i], DTOS);
		RD_OK(rd_write(ep[i][0], &mem, 0, 64, 3, 0, SIZE));
		rd_expect_dto(rd.req, 3, 10000);
		RD_OK(rd_read(ep[i][0], &mem, 0, 64, 4, 0, SIZE));
		rd_expect_dto(rd.req, 4, 10000);
	}
	kib = rl_rss_kb(0) - kib;
	fds = rl_fds(0) - fds;
	rl_note("%.2f KiB, %.3f descriptors for one end of a connection",
		(double)kib / (2 * (CONNECTIONS - 1)), (double)fds / (2 * (CONNECTIONS - 1)));
	RL_CHECK(kib < bound()->end * 2 * (CONNECTIONS - 1), "%ld KiB for %d ends", kib,
		 2 * (CONNECTIONS - 1));
	for (int i = 0; i < CONNECTIONS; i++)
		for (int side = 0; side < 2; side++)
			RD_OK(dat_ep_free(ep[i][side]));
	rd_unreg(&mem);
	rd_close(&rd);
}

/* Bytes that the process has read so far; 0: not known. */
static long long bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	long long bytes = 0;

	if (f && fscanf(f, "rchar: %lld", &bytes) != 1)
		bytes = 0;
	if (f)
		fclose(f);
	return bytes;
}

/* Lines of /proc/self/maps that contain the text. */
static int maps(const char *text)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	RL_CHECK(f, "no /proc/self/maps");
	while (fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	fclose(f);
	return n;
}

/* The process has not opened an adapter before. */
static void first_open(void *arg)
{
	bool shm = !strcmp(test_fabric()->name, "shm");
	long long bytes;
	uint64_t began;
	struct rd rd;

	(void)arg;
	RL_CHECK(!maps("libfabric"), "libfabric is loaded before the first open");
	bytes = bytes_read();
	began = rl_now();
	rd_open(&rd, 0, 16);
	began = rl_now() - began;
	bytes = bytes_read() - bytes;
	rl_note("%.1f ms for the first open, %lld KiB read", (double)began / 1000, bytes / 1024);
	/* Initialising libfabric 1.17 reads all kernel symbols, 10 MiB. */
	RL_CHECK(!maps("libfabric") == shm, "libfabric is %s", shm ? "loaded" : "not loaded");
	if (shm)
		RL_CHECK(bytes < READ_MOST, "%lld bytes read", bytes);
	rd_close(&rd);
}

struct held {
	int fds, threads, maps;
	long bytes; /* allocated */
	long kib;   /* resident: depends on where malloc finds room */
};

static struct held held(void)
{
	long bytes = 0;

#if __GLIBC_PREREQ(2, 33)
	bytes = (long)mallinfo2().uordblks;
#endif
	return (struct held){ rl_fds(0), rl_threads(0), maps(""), bytes, rl_rss_kb(0) };
}

static void open_close(int n)
{
	struct rd rd;

	for (int i = 0; i < n; i++) {
		rl_activity("open %d", i);
		rd_open(&rd, 0, 16);
		rd_close(&rd);
	}
}

static void opens(void *arg)
{
	int n = RL_SANITIZED ? OPENS / 20 : OPENS;
	struct held before, after;

	(void)arg;
	/* What libraries keep after the first opens; the arenas of malloc. */
	open_close(n / 10);
	before = held();
	open_close(n);
	after = held();
	rl_note("after %d opens: %+d descriptors, %+d threads, %+d mappings, "
		"%+ld bytes allocated, %+ld KiB resident",
		n, after.fds - before.fds, after.threads - before.threads, after.maps - before.maps,
		after.bytes - before.bytes, after.kib - before.kib);
	RL_CHECK(after.fds == before.fds, "%d descriptors, %d before", after.fds, before.fds);
	RL_CHECK(after.threads == before.threads, "%d threads, %d before", after.threads,
		 before.threads);
	if (RL_SANITIZED)
		return;
	RL_CHECK(after.maps <= before.maps + MAPS_MORE, "%d mappings, %d before", after.maps,
		 before.maps);
	RL_CHECK(after.bytes < before.bytes + BYTES_MORE, "%ld bytes allocated, %ld before",
		 after.bytes, before.bytes);
	RL_CHECK(after.kib < before.kib + KIB_MORE, "%ld KiB resident, %ld before", after.kib,
		 before.kib);
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	if (rl_begin("first-open", 30000)) {
		rl_start("player", first_open, NULL);
		rl_end();
	}
	if (rl_begin("opens", 120000)) {
		rl_start("player", opens, NULL);
		rl_end();
	}
	if (RL_SANITIZED) {
		rl_skip("footprint", "a sanitizer takes memory of its own");
		return;
	}
	if (rl_begin("first-use", 30000)) {
		rl_start("player", play, NULL);
		rl_end();
	}
	if (rl_begin("connections", 60000)) {
		rl_start("player", connections, NULL);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 180, run);
}
