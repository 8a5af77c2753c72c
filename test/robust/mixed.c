/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a 1.2 program and a 2.0 program interoperate.
 *
 * Built twice, as mixed-12 and as mixed-20. mixed-20 is the driver; a player of the other version
 * executes this program under the other name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdat.h"

enum step { ST_LISTEN, ST_MESSAGES = 3, ST_RDMA = 5, ST_READ = 7, ST_DOWN = 9 };

#define AREA ((size_t)1 << 20)
#define MESSAGES 10
#define MY_API (RL_API == 1 ? 12 : 20)

static const size_t lengths[MESSAGES] = { 1, 7, 8, 64, 1000, 4096, 0, 65536, 100000, 262144 };

/* Bits of board->value[0] */
enum { PASSIVE_ENDS = 1, GRACEFUL = 2, REJECTED = 4 };

/* Both sides reach a step; side 0 is passive. */
static void wait_for_both(int step, bool active)
{
	rl_step(step + active, 1);
	rl_await(step + !active, 1, 20000);
}

static void check_private(const void *data, DAT_COUNT size, int expected, uint32_t seed)
{
	RL_CHECK(size == expected, "%d bytes of private data instead of %d", (int)size, expected);
	RL_CHECK(rl_differs(data, (size_t)expected, seed) < 0, "wrong private data");
}

static void connect_side(struct rd *rd)
{
	unsigned char priv[100];
	DAT_EVENT ev;

	rl_fill(priv, sizeof(priv), 1);
	rl_await(ST_LISTEN, 1, 20000);
	rd_connect(rd, rd->ep, 10000, priv, sizeof(priv));
	if (rl_board->value[0] & REJECTED) {
		rd_expect(rd->conn, DAT_CONNECTION_EVENT_PEER_REJECTED, 10000, &ev);
		return;
	}
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_ESTABLISHED, 10000, &ev);
	check_private(ev.event_data.connect_event_data.private_data,
		      ev.event_data.connect_event_data.private_data_size, 196, 2);
}

static void accept_side(struct rd *rd)
{
	unsigned char priv[196];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	rl_fill(priv, sizeof(priv), 2);
	rd_listen(rd);
	rl_step(ST_LISTEN, 1);
	cr = rd_request(rd, 20000);
	RD_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	check_private(param.private_data, param.private_data_size, 100, 1);
	if (rl_board->value[0] & REJECTED) {
		RD_OK(rd_reject(cr));
		return;
	}
	RD_OK(dat_cr_accept(cr, rd->ep, sizeof(priv), priv));
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_ESTABLISHED, 10000, &ev);
}

/* Both send the same lengths; what is received must be what the other version sent. */
static void messages(struct rd *rd, struct rd_mem *mem, unsigned char *in, unsigned char *out,
		     bool active)
{
	struct rd_mem *base = mem;
	size_t in_off = (size_t)(in - (unsigned char *)base->p);
	size_t out_off = (size_t)(out - (unsigned char *)base->p);

	for (uint32_t i = 0; i < MESSAGES; i++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d;
		DAT_EVENT ev;

		RD_OK(rd_recv(rd->ep, mem, in_off, lengths[i] ? lengths[i] : 16, i));
		rl_fill(out, lengths[i], i * 2 + active);
		RD_OK(rd_send(rd->ep, mem, out_off, lengths[i], i));
		rd_expect_dto(rd->req, i, 10000);
		rd_expect(rd->recv, DAT_DTO_COMPLETION_EVENT, 10000, &ev);
		d = &ev.event_data.dto_completion_event_data;
		RL_CHECK(d->status == DAT_DTO_SUCCESS && d->user_cookie.as_64 == i,
			 "message %u: status %d", i, (int)d->status);
		RL_CHECK(d->transfered_length == lengths[i], "message %u: %llu bytes", i,
			 (unsigned long long)d->transfered_length);
		RL_CHECK(rl_differs(in, lengths[i], i * 2 + !active) < 0, "message %u differs", i);
	}
}

/* mem: 0 written by the peer, AREA read by the peer, then source and destination. */
static void rdma(struct rd *rd, struct rd_mem *mem, bool active)
{
	unsigned char *p = mem->p;

	rl_fill(p + AREA, AREA, 40 + active);
	rl_fill(p + 2 * AREA, AREA, 50 + active);
	wait_for_both(ST_RDMA, active);
	RD_OK(rd_write(rd->ep, mem, 2 * AREA, AREA, 100, !active, 0));
	rd_expect_dto(rd->req, 100, 10000);
	RD_OK(rd_read(rd->ep, mem, 3 * AREA, AREA, 101, !active, AREA));
	rd_expect_dto(rd->req, 101, 10000);
	RL_CHECK(rl_differs(p + 3 * AREA, AREA, 40 + !active) < 0, "read: wrong data");
	wait_for_both(ST_READ, active);
	RL_CHECK(rl_differs(p, AREA, 50 + !active) < 0, "written by the peer: wrong data");
}

static void end(struct rd *rd, bool active)
{
	bool mine = active != ((rl_board->value[0] & PASSIVE_ENDS) != 0);
	DAT_EVENT ev;

	wait_for_both(ST_DOWN, active);
	if (mine)
		RD_OK(dat_ep_disconnect(rd->ep, rl_board->value[0] & GRACEFUL
							? DAT_CLOSE_GRACEFUL_FLAG
							: DAT_CLOSE_ABRUPT_FLAG));
	rd_expect(rd->conn, DAT_CONNECTION_EVENT_DISCONNECTED, 5000, &ev);
}

static void run_side(bool active)
{
	unsigned char *p = rl_shared(4 * AREA);
	struct rd_mem mem;
	struct rd rd;

	rd_open(&rd, 0, 64);
	rd.ep = rd_ep_create(&rd, 16);
	rd_reg(&rd, &mem, p, 4 * AREA);
	rd_show(active, &mem);
	if (active)
		connect_side(&rd);
	else
		accept_side(&rd);
	if (!(rl_board->value[0] & REJECTED)) {
		wait_for_both(ST_MESSAGES, active);
		messages(&rd, &mem, p, p + 2 * AREA, active);
		rdma(&rd, &mem, active);
		end(&rd, active);
	}
	rl_activity("closing");
	rd_unreg(&mem);
	rd_close(&rd);
}

static void play(int api, bool active)
{
	char path[512];

	rl_activity("starting the program for %d.%d", api / 10, api % 10);
	if (api == MY_API) {
		run_side(active);
		return;
	}
	snprintf(path, sizeof(path), "%s/test/robust/mixed-%d", RL_BUILD, api);
	rl_exec(path, active ? "--active" : "--passive");
}

struct pair {
	const char *name;
	int active, passive;
	unsigned int word;
};

static const struct pair pairs[] = {
	{ "12-connects-to-20", 12, 20, GRACEFUL },
	{ "20-connects-to-12", 20, 12, GRACEFUL },
	{ "12-connects-to-20-passive-ends", 12, 20, PASSIVE_ENDS },
	{ "20-connects-to-12-passive-ends", 20, 12, PASSIVE_ENDS },
	{ "12-rejected-by-20", 12, 20, REJECTED },
	{ "20-rejected-by-12", 20, 12, REJECTED },
	{ "12-connects-to-12", 12, 12, PASSIVE_ENDS | GRACEFUL },
	{ "20-connects-to-20", 20, 20, PASSIVE_ENDS | GRACEFUL },
};

static void active_player(void *arg)
{
	play(((const struct pair *)arg)->active, true);
}

static void passive_player(void *arg)
{
	play(((const struct pair *)arg)->passive, false);
}

static void run(void)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!rl_begin(pairs[i].name, 20000))
			continue;
		rl_board->value[0] = pairs[i].word;
		rl_start("passive", passive_player, (void *)(uintptr_t)&pairs[i]);
		rl_start("active", active_player, (void *)(uintptr_t)&pairs[i]);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	bool active = argc == 2 && !strcmp(argv[1], "--active");

	if (active || (argc == 2 && !strcmp(argv[1], "--passive"))) {
		rl_attach();
		run_side(active);
		return 0;
	}
	return rl_main(argc, argv, 60, run);
}
