/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a peer which sends long data without announcing it delays no other peer: over tcp that
 * data has no memory and waits in libfabric.
 *
 * The hostile peer repeats a long message on the socket on which its library has sent one. Then
 * more messages than there are receive buffers arrive at once from another peer.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../fabrics/fabrics.h"
#include "rdat.h"

/* Longer than a message of packets (PAIR_MESSAGE of prov_ofi/msgep/pair/pair.h). */
#define LONG_FROM (48 << 10)
#define WRITE_SIZE (64 << 10)
#define WRITES 1000
/* More than PAIR_RECEIVES and two more; libfabric reads them all at once. */
#define BURST 40
#define SIZE 8
#define LIMIT_MS 20000

enum step { ST_LISTEN, ST_CONNECTED, ST_UNASKED, ST_BEFORE, ST_DONE };
enum { HOSTILE, SENDER, PEERS };

/* Sanitizers call this function before their memory exists. */
#define EXPORT __attribute__((visibility("default"), no_sanitize("address", "undefined", "thread")))

/* The first long message that this process has sent. */
static struct {
	int fd;
	size_t len;
	char data[2 * WRITE_SIZE];
} seen = { .fd = -1 };

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	static _Atomic(__typeof__(&sendmsg)) kept;
	__typeof__(&sendmsg) real = atomic_load(&kept);
	size_t total = 0;

	if (!real) {
		*(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
		atomic_store(&kept, real);
	}
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		total += msg->msg_iov[i].iov_len;
	if (seen.fd >= 0 || total < LONG_FROM || total > sizeof(seen.data))
		return real(fd, msg, flags);
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		memcpy(seen.data + seen.len, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
		seen.len += msg->msg_iov[i].iov_len;
	}
	seen.fd = fd;
	return real(fd, msg, flags);
}

static char memory[WRITE_SIZE];

static void victim(void *arg)
{
	DAT_EP_HANDLE ep[PEERS];
	struct rd_mem mem;
	struct rd rd;

	(void)arg;
	rd_open(&rd, 0, 4 * BURST);
	rd_reg(&rd, &mem, memory, sizeof(memory));
	rd_show(0, &mem);
	for (int i = 0; i < PEERS; i++)
		ep[i] = rd_ep_create(&rd, 2 * BURST);
	for (int i = 0; i <= BURST; i++)
		RD_OK(rd_recv(ep[SENDER], &mem, (size_t)i * SIZE, SIZE, (uint64_t)i));
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	for (int i = 0; i < PEERS; i++) {
		rd_accept_up(&rd, ep[i]);
		rl_step(ST_CONNECTED, i + 1);
	}
	rl_await(ST_UNASKED, 1, LIMIT_MS);
	for (int i = 0; i <= BURST; i++) {
		rl_activity("receiving message %d", i);
		rd_expect_dto(rd.recv, (uint64_t)i, LIMIT_MS);
		if (!i)
			rl_step(ST_BEFORE, 1);
	}
	rl_step(ST_DONE, 1);
	for (int i = 0; i < PEERS; i++)
		RD_OK(dat_ep_free(ep[i]));
	rd_unreg(&mem);
	rd_close(&rd);
}

static void hostile(void *arg)
{
	struct rd_mem mem;
	ssize_t sent;
	struct rd rd;

	(void)arg;
	rd_open(&rd, 0, 16);
	rd_reg(&rd, &mem, memory, sizeof(memory));
	rd.ep = rd_ep_create(&rd, 8);
	rl_await(ST_LISTEN, 1, LIMIT_MS);
	rd_connect_up(&rd, rd.ep);
	for (int i = 0; i < WRITES && seen.fd < 0; i++) {
		RD_OK(rd_write(rd.ep, &mem, 0, WRITE_SIZE, (uint64_t)i, 0, 0));
		rd_expect_dto(rd.req, (uint64_t)i, LIMIT_MS);
	}
	RL_CHECK(seen.fd >= 0, "no long message was sent in %d writes", WRITES);
	sent = send(seen.fd, seen.data, seen.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	RL_CHECK(sent > 1024, "the socket took %zd bytes", sent);
	rl_step(ST_UNASKED, 1);
	rl_await(ST_DONE, 1, 3 * LIMIT_MS);
	RD_OK(dat_ep_free(rd.ep));
	rd.ep = DAT_HANDLE_NULL;
	rd_unreg(&mem);
	rd_close(&rd);
}

static void sender(void *arg)
{
	pid_t pid = rl_pid("victim");
	struct rd_mem mem;
	struct rd rd;

	(void)arg;
	rd_open(&rd, 0, 2 * BURST);
	rd_reg(&rd, &mem, memory, sizeof(memory));
	rd.ep = rd_ep_create(&rd, 2 * BURST);
	rl_await(ST_CONNECTED, HOSTILE + 1, LIMIT_MS);
	rd_connect_up(&rd, rd.ep);
	rl_await(ST_UNASKED, 1, LIMIT_MS);
	RD_OK(rd_send(rd.ep, &mem, 0, SIZE, 0));
	rl_await(ST_BEFORE, 1, LIMIT_MS);
	RL_CHECK(!kill(pid, SIGSTOP), "SIGSTOP");
	rl_wait_state(pid, 'T');
	/* Not in quick succession: packets of a burst share a message. */
	for (int i = 1; i <= BURST; i++) {
		RD_OK(rd_send(rd.ep, &mem, 0, SIZE, (uint64_t)i));
		rl_sleep_ms(1);
	}
	RL_CHECK(!kill(pid, SIGCONT), "SIGCONT");
	for (int i = 0; i <= BURST; i++) {
		rl_activity("awaiting the completion of send %d", i);
		rd_expect_dto(rd.req, (uint64_t)i, LIMIT_MS);
	}
	rl_await(ST_DONE, 1, LIMIT_MS);
	rd_unreg(&mem);
	rd_close(&rd);
}

static void run(void)
{
	const char *name = "data without an announcement delays no other peer";

	if (strcmp(test_fabric()->name, "tcp")) {
		rl_skip(name, "long data has endpoints of its own over tcp only");
		return;
	}
	if (!rl_begin(name, 3 * LIMIT_MS))
		return;
	rl_start("victim", victim, NULL);
	rl_start("hostile", hostile, NULL);
	rl_start("sender", sender, NULL);
	rl_end();
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 90, run);
}
