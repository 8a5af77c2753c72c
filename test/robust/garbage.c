/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a service point withstands any data that arrives at its port.
 *
 * During an attack a legitimate client keeps connecting, exchanging a message and disconnecting,
 * each time within a bound. The server's program gets no event of the attack, and afterwards has no
 * more descriptors, hardly more memory, and uses no processor time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/fabric.h>

#include "../fabrics/fabrics.h"
#include "attack.h"
#include "base/be_bytes.h"
#include "rdat.h"
#include "rfab.h"
#include "msgep/pair/pair.h"

enum step { ST_LISTEN, ST_IDLE, ST_ATTACKED, ST_STOP };

/* libfabric from 1.18 on forgets connections whose request is incomplete, and the memory of each
 * (msgep/pair/pair_reap.c). */
#if defined(__SANITIZE_ADDRESS__) && (FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18)
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:xnet_accept_sock";
}
#endif

#define CYCLE_MS 1500
#define GREETING "legitimate"

/* Server: serves one client after the other */

struct server {
	struct rd rd;
	struct rd_mem mem;
	char buf[256];
};

static void serve_one(struct server *s, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;

	RD_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	RL_CHECK(param.private_data_size == sizeof(GREETING) &&
			 !memcmp(param.private_data, GREETING, sizeof(GREETING)),
		 "a request of the attacker was reported (%d bytes of private data)",
		 (int)param.private_data_size);
	ep = rd_ep_create(&s->rd, 4);
	RD_OK(rd_recv(ep, &s->mem, 0, 64, 1));
	RD_OK(dat_cr_accept(cr, ep, 0, NULL));
	rd_expect(s->rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, 5000, &ev);
	rd_expect_dto(s->rd.recv, 1, 5000);
	RD_OK(rd_send(ep, &s->mem, 0, 64, 2));
	rd_expect_dto(s->rd.req, 2, 5000);
	rd_expect(s->rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, 5000, &ev);
	RD_OK(dat_ep_free(ep));
}

static void server(void *arg)
{
	struct server s;
	int before;

	(void)arg;
	memset(&s, 0, sizeof(s));
	rd_warm_up();
	before = rl_fds(0);
	rd_open(&s.rd, 0, 64);
	rd_reg(&s.rd, &s.mem, s.buf, sizeof(s.buf));
	rd_listen(&s.rd);
	rl_step(ST_LISTEN, 1);
	while (!rl_board->step[ST_STOP]) {
		DAT_EVENT ev;

		rl_activity("waiting for a request");
		if (!rd_next(s.rd.cr, 20, &ev))
			continue;
		RL_CHECK(ev.event_number == DAT_CONNECTION_REQUEST_EVENT, "%s on the CR EVD",
			 rd_event_text(ev.event_number));
		serve_one(&s, ev.event_data.cr_arrival_event_data.cr_handle);
	}
	rl_activity("closing");
	rd_unreg(&s.mem);
	rd_close(&s.rd);
	RL_CHECK(rl_fds(0) == before, "%d descriptors, %d before opening", rl_fds(0), before);
}

/* Client: proves that the server lives */

static unsigned int cycle(struct rd *rd, struct rd_mem *mem, uint32_t n)
{
	uint64_t began = rl_now();
	char *buf = mem->p;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;

	ep = rd_ep_create(rd, 4);
	rl_fill(buf, 64, n);
	memset(buf + 64, 0, 64);
	RD_OK(rd_recv(ep, mem, 64, 64, 3));
	rd_connect(rd, ep, 5000, GREETING, sizeof(GREETING));
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_ESTABLISHED, 6000, &ev);
	RD_OK(rd_send(ep, mem, 0, 64, 4));
	rd_expect_dto(rd->req, 4, 5000);
	rd_expect_dto(rd->recv, 3, 5000);
	RL_CHECK(rl_differs(buf + 64, 64, n) < 0, "the echo differs");
	RD_OK(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_DISCONNECTED, 5000, &ev);
	RD_OK(dat_ep_free(ep));
	return (unsigned int)((rl_now() - began) / 1000);
}

/* Closed connections keep their descriptors for a short time: waits until the count is stable. */
static int settled_fds(pid_t pid)
{
	int last = -1, same = 0;

	for (int i = 0; i < 500 && same < 20; i++) {
		int now = rl_fds(pid);

		same = now == last ? same + 1 : 0;
		last = now;
		rl_sleep_ms(10);
	}
	return last;
}

static void check_calm(pid_t server_pid, int fds, long rss)
{
	struct rl_limit limit = rl_limit(ATTACK_SILENT_MS + 3000);
	long grown;
	double cpu;

	rl_activity("waiting for the server's descriptors to be closed");
	while (rl_fds(server_pid) > fds) {
		RL_CHECK(!rl_passed(&limit), "the server has %d descriptors, %d before",
			 rl_fds(server_pid), fds);
		rl_sleep_ms(10);
	}
	grown = rl_rss_kb(server_pid) - rss;
	RL_CHECK(RL_SANITIZED || grown < 4096, "the server grew by %ld KiB", grown);
	/* It may still be busy with the end of the attack, but not for long. */
	limit = rl_limit(3000);
	do {
		cpu = rl_cpu_seconds(server_pid);
		rl_sleep_ms(300);
		cpu = rl_cpu_seconds(server_pid) - cpu;
	} while (cpu >= 0.045 && !rl_passed(&limit));
	RL_CHECK(cpu < 0.045, "the server uses %.0f %% of a processor after the attack",
		 cpu / 0.3 * 100);
}

static void client(void *arg)
{
	pid_t server_pid = rl_pid("server");
	unsigned int worst = 0, cycles = 0;
	struct rl_limit limit;
	char buf[128];
	struct rd_mem mem;
	struct rd rd;
	int fds;
	long rss;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	rd_open(&rd, 0, 16);
	rd_reg(&rd, &mem, buf, sizeof(buf));
	for (uint32_t i = 0; i < 5; i++)
		cycle(&rd, &mem, i);
	fds = settled_fds(server_pid);
	rss = rl_rss_kb(server_pid);
	rl_step(ST_IDLE, 1);
	while (!rl_board->step[ST_ATTACKED]) {
		unsigned int ms;

		limit = rl_limit(CYCLE_MS);
		ms = cycle(&rd, &mem, cycles++);
		rl_board->value[0] = cycles;
		worst = ms > worst ? ms : worst;
		RL_CHECK(!rl_passed(&limit), "a connection took %u ms during the attack", ms);
		rl_sleep_ms(5);
	}
	limit = rl_limit(CYCLE_MS);
	cycle(&rd, &mem, 99);
	RL_CHECK(!rl_passed(&limit), "connecting is slow after the attack");
	check_calm(server_pid, fds, rss);
	rl_note("%u connections during the attack, the slowest took %u ms", cycles, worst);
	rl_step(ST_STOP, 1);
	rd_unreg(&mem);
	rd_close(&rd);
}

/* Attacks through libfabric on the adapter's own listener (msgep/pair/pair.h) */

static size_t valid(uint8_t *buf)
{
	uint8_t *p = buf;

	memset(buf, 0x5a, PAIR_PARAM);
	p = dofi_put_be(p, PAIR_MAGIC, 4);
	p = dofi_put_be(p, PAIR_VERSION, 4);
	memset(p, 0, 16);
	return PAIR_PARAM;
}

static void request_with(const char *what, const uint8_t *data, size_t len)
{
	struct rf *rf = rf_open((uint16_t)rl_board->value[ATTACK_PORT]);
	enum rf_event event;

	rl_activity("connecting with %s", what);
	rf_connect(rf, data, len);
	event = rf_wait(rf, 3000);
	RL_CHECK(event == RF_REFUSED || event == RF_ERROR || event == RF_SHUTDOWN,
		 "a request with %s got %s", what, rf_event_text(event));
	rf_close(rf);
}

static void fabric_garbage(void)
{
	uint8_t buf[RF_CM_DATA];
	uint64_t seed = 7;

	memset(buf, 'x', sizeof(buf));
	request_with("no data", NULL, 0);
	request_with("1 byte", buf, 1);
	request_with("256 bytes", buf, sizeof(buf));
	for (int i = 0; i < 20; i++) {
		for (size_t j = 0; j < sizeof(buf); j++)
			buf[j] = (uint8_t)rl_random(&seed);
		request_with("random data", buf, rl_random(&seed) % (sizeof(buf) + 1));
	}
	for (size_t len = 4; len <= PAIR_PARAM; len += 4) {
		valid(buf);
		request_with("a token that was not granted", buf, len);
	}
	valid(buf);
	memset(buf + 24, 0, PAIR_PARAM - 24);
	request_with("no token", buf, PAIR_PARAM);
	for (size_t at = 0; at < 24; at++) {
		valid(buf);
		buf[at] ^= 1;
		request_with("another header", buf, PAIR_PARAM);
	}
}

/*
 * Requests of libfabric's tcp provider (protocol 3) without their data, which it waits for in a
 * blocking receive.
 */
static void half_requests(void)
{
	uint8_t request[32] = { 3, 0, 0, PAIR_PARAM };
	unsigned int met = (unsigned int)rl_board->value[0] + 5;
	int fds[20];

	for (int i = 0; i < 20; i++) {
		fds[i] = attack_connect();
		RL_CHECK(send(fds[i], request, sizeof(request), MSG_NOSIGNAL) > 0, "not sent");
	}
	while (rl_board->value[0] < met)
		rl_sleep_ms(10);
	for (int i = 0; i < 20; i++)
		close(fds[i]);
}

static const struct attack fabric_attack = { "fabric-garbage", fabric_garbage };
static const struct attack half_attack = { "half-requests", half_requests };

/* Driver */

static bool other_port; /* attack what else the server listens on */

static void attacker(void *arg)
{
	const struct attack *a = arg;

	rl_await(ST_IDLE, 1, 20000);
	if (other_port) {
		rl_board->value[ATTACK_PORT] =
			attack_other_port((int)rl_pid("server"), (uint16_t)rl_board->qual);
		RL_CHECK(rl_board->value[ATTACK_PORT], "the server listens on no other port");
	}
	/* Repeats short attacks, so that they overlap with connects of the client. */
	do {
		rl_activity("attacking");
		a->run();
	} while (rl_board->value[0] < 10);
	rl_step(ST_ATTACKED, 1);
	rl_exit_success();
}

static void run_attack(const struct attack *a, bool other)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", other ? "adapter/" : "", a->name);
	if (!rl_begin(name, 40000))
		return;
	other_port = other;
	rl_start("server", server, NULL);
	rl_start("client", client, NULL);
	rl_start("attacker", attacker, (void *)(uintptr_t)a);
	rl_end();
}

static void run(void)
{
	char ms[16];

	snprintf(ms, sizeof(ms), "%d", ATTACK_SILENT_MS);
	setenv("DAPL_OFI_HALF_OPEN_MS", ms, 1);
	setenv("DAPL_OFI_LOG", "0", 0);
	if (!test_fabric_has(test_fabric(), "sockets")) {
		rl_skip("garbage", "a service point is not a TCP port");
		return;
	}
	for (unsigned int i = 0; i < attack_count; i++)
		run_attack(&attacks[i], false);
	if (!rf_usable())
		return;
	run_attack(&fabric_attack, true);
	run_attack(&half_attack, true);
	for (unsigned int i = 0; i < attack_count; i++)
		run_attack(&attacks[i], true);
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 120, run);
}
