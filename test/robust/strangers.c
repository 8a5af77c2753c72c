/* SPDX-License-Identifier: BSD-2-Clause */
/* Does a program that connects to something else than a service point get its one event, in time?
 *
 * Behind the port of the qualifier answers a TCP server that misbehaves, or a program that uses
 * libfabric without DAT.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack.h"
#include "cm_proto.h"
#include "rdat.h"
#include "rfab.h"

enum step { ST_ADDR, ST_LISTEN, ST_EVENT };

#define TIMEOUT_MS 700

struct stranger {
	const char *name;
	void (*answer)(int fd);		/* TCP */
	void (*serve)(struct rf *rf);	/* libfabric */
	const char *words;		/* connection events that the client may get */
	bool timed;			/* ... not before its timeout */
};

static void hold(int fd)
{
	/* The client must let go of it by itself. */
	RL_CHECK(attack_closed(fd, 6000), "the client keeps the connection open");
	close(fd);
}

static void say(int fd, const void *data, size_t len)
{
	RL_CHECK(send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len, "send: %s", strerror(errno));
}

/* TCP servers */

static void silent(int fd)
{
	hold(fd);
}

static void rubbish(int fd)
{
	char text[100];

	memset(text, '?', sizeof(text));
	say(fd, text, sizeof(text));
	hold(fd);
}

static void closes(int fd)
{
	close(fd);
}

static void resets(int fd)
{
	attack_reset(fd);
}

static void closes_after_request(int fd)
{
	char buf[300];

	RL_CHECK(recv(fd, buf, sizeof(buf), 0) > 0, "no request came");
	close(fd);
}

static void half_header(int fd)
{
	uint8_t buf[ATTACK_CM_HDR];

	attack_cm_header(buf, ATTACK_RESPONSE, 0);
	say(fd, buf, 11);
	hold(fd);
}

static void half_header_then_closes(int fd)
{
	uint8_t buf[ATTACK_CM_HDR];

	attack_cm_header(buf, ATTACK_RESPONSE, 0);
	say(fd, buf, 11);
	close(fd);
}

static void header_without_data(int fd)
{
	uint8_t buf[ATTACK_CM_HDR];

	attack_cm_header(buf, ATTACK_RESPONSE, 200);
	say(fd, buf, sizeof(buf));
	hold(fd);
}

static void too_much_data(int fd)
{
	static uint8_t buf[ATTACK_CM_HDR + 60000];

	attack_cm_header(buf, ATTACK_RESPONSE, 60000);
	say(fd, buf, sizeof(buf));
	hold(fd);
}

static void refuses_bare(int fd)
{
	uint8_t buf[ATTACK_CM_HDR];

	attack_cm_header(buf, ATTACK_NACK, 0);
	say(fd, buf, sizeof(buf));
	hold(fd);
}

/* libfabric programs */

static void await_end(struct rf *rf)
{
	enum rf_event event = rf_wait(rf, 3000);

	if (event == RF_CONNECTED)
		event = rf_wait(rf, 3000);
	RL_CHECK(event != RF_NOTHING, "the client keeps the connection open");
}

static size_t message(uint8_t *buf, enum dofi_cm_kind kind, uint16_t priv)
{
	static const uint8_t zero[DOFI_CM_MAX];
	struct dofi_cm_msg m = { .kind = kind, .fabric = 1, .api = 20, .priv_len = priv,
				 .reads_in = 4, .reads_out = 4, .priv = zero };

	return dofi_cm_build(buf, &m);
}

static void accepts_bare(struct rf *rf)
{
	rf_accept(rf, NULL, 0);
	await_end(rf);
}

static void accepts_rubbish(struct rf *rf)
{
	uint8_t buf[200];

	memset(buf, 'x', sizeof(buf));
	rf_accept(rf, buf, sizeof(buf));
	await_end(rf);
}

static void accepts_other_version(struct rf *rf)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = message(buf, DOFI_CM_ACCEPT, 0);

	buf[4]++;
	rf_accept(rf, buf, len);
	await_end(rf);
}

static void accepts_other_fabric(struct rf *rf)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = message(buf, DOFI_CM_ACCEPT, 0);

	buf[6] = 0xee;
	rf_accept(rf, buf, len);
	await_end(rf);
}

static void accepts_with_request(struct rf *rf)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = message(buf, DOFI_CM_REQUEST, 0);

	rf_accept(rf, buf, len);
	await_end(rf);
}

static void accepts_cut(struct rf *rf)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = message(buf, DOFI_CM_ACCEPT, 100);

	rf_accept(rf, buf, len - 1);
	await_end(rf);
}

static void rejects_bare(struct rf *rf)
{
	rf_reject(rf, NULL, 0);
}

static void rejects_rubbish(struct rf *rf)
{
	uint8_t buf[200];

	memset(buf, 'x', sizeof(buf));
	rf_reject(rf, buf, sizeof(buf));
}

static void rejects_with_accept(struct rf *rf)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = message(buf, DOFI_CM_ACCEPT, 0);

	rf_reject(rf, buf, len);
}

static void never_answers(struct rf *rf)
{
	(void)rf;
	RL_CHECK(rl_reached(ST_EVENT, 1, 6000), "the client got no event");
}

static void answers_well_then_leaves(struct rf *rf)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = message(buf, DOFI_CM_ACCEPT, 0);

	rf_accept(rf, buf, len);
	RL_CHECK(rf_wait(rf, 3000) == RF_CONNECTED, "not connected");
	rf_shutdown(rf);
	rl_reached(ST_EVENT, 1, 6000);
}

static const struct stranger strangers[] = {
	{ "tcp-silent", silent, NULL, "T", true },
	{ "tcp-rubbish", rubbish, NULL, "N", false },
	{ "tcp-closes", closes, NULL, "N|U", false },
	{ "tcp-resets", resets, NULL, "N|U", false },
	{ "tcp-closes-after-request", closes_after_request, NULL, "N|U", false },
	{ "tcp-half-header", half_header, NULL, "N|T", false },
	{ "tcp-half-header-then-closes", half_header_then_closes, NULL, "N|U", false },
	{ "tcp-header-without-data", header_without_data, NULL, "N|T", false },
	{ "tcp-too-much-data", too_much_data, NULL, "N", false },
	{ "tcp-refuses", refuses_bare, NULL, "N", false },
	{ "fabric-accepts-bare", NULL, accepts_bare, "N", false },
	{ "fabric-accepts-rubbish", NULL, accepts_rubbish, "N", false },
	{ "fabric-accepts-other-version", NULL, accepts_other_version, "N", false },
	{ "fabric-accepts-other-fabric", NULL, accepts_other_fabric, "N", false },
	{ "fabric-accepts-with-request", NULL, accepts_with_request, "N", false },
	{ "fabric-accepts-cut", NULL, accepts_cut, "N", false },
	{ "fabric-rejects-bare", NULL, rejects_bare, "N", false },
	{ "fabric-rejects-rubbish", NULL, rejects_rubbish, "N", false },
	{ "fabric-rejects-with-accept", NULL, rejects_with_accept, "N", false },
	{ "fabric-never-answers", NULL, never_answers, "T", true },
	{ "fabric-leaves", NULL, answers_well_then_leaves, "ED|EB", false },
};

/* Players */

static void client(void *arg)
{
	const struct stranger *s = arg;
	struct rd_ledger l;
	struct rd_mem mem;
	uint64_t began;
	char buf[64];
	struct rd rd;
	unsigned int ms;
	int fds;

	memset(&l, 0, sizeof(l));
	rd_warm_up();
	fds = rl_fds(0);
	rd_open(&rd, 0, 16);
	memcpy(rl_board->addr, &rd.addr, sizeof(rl_board->addr));
	rl_step(ST_ADDR, 1);
	rl_await(ST_LISTEN, 1, 10000);
	rd_reg(&rd, &mem, buf, sizeof(buf));
	rd.ep = l.ep = rd_ep_create(&rd, 4);
	for (int i = 0; i < 2; i++)
		rd_post(&l, RD_RECV, &mem, 0, 64, 0, 0);
	began = rl_now();
	rd_connect(&rd, rd.ep, TIMEOUT_MS, "hello", 5);
	rl_at("waiting for the event");
	while (!rd_complete(&l, s->words)) {
		ms = (unsigned int)((rl_now() - began) / 1000);
		RL_CHECK(ms < rl_bound(TIMEOUT_MS + 1000), "after %u ms: %s", ms,
			 rd_ledger_text(&l));
		rd_sweep(&rd, &l);
		rl_sleep_ms(1);
	}
	ms = (unsigned int)((rl_now() - began) / 1000);
	RL_CHECK(!s->timed || ms >= TIMEOUT_MS - 5, "timed out after %u ms already", ms);
	RL_CHECK(s->timed || strchr(s->words, 'T') || ms < rl_bound(TIMEOUT_MS - 100),
		 "only noticed after %u ms", ms);
	rl_step(ST_EVENT, 1);
	rl_sleep_ms(100);
	rd_sweep(&rd, &l);
	RL_CHECK(rd_complete(&l, s->words), "more events came: %s", rd_ledger_text(&l));
	RL_CHECK(rd_state(rd.ep) == DAT_EP_STATE_DISCONNECTED, "the EP is in state %d",
		 (int)rd_state(rd.ep));
	RD_OK(dat_ep_reset(rd.ep));
	rd_unreg(&mem);
	rd_close(&rd);
	RL_CHECK(rl_fds(0) == fds, "%d descriptors, before it were %d", rl_fds(0), fds);
}

static void stranger(void *arg)
{
	const struct stranger *s = arg;

	rl_await(ST_ADDR, 1, 10000);
	if (s->answer) {
		int fd, listener = attack_listen();

		rl_step(ST_LISTEN, 1);
		fd = accept(listener, NULL, NULL);
		RL_CHECK(fd >= 0, "accept: %s", strerror(errno));
		s->answer(fd);
	} else {
		struct rf *rf = rf_open(true);

		rl_step(ST_LISTEN, 1);
		RL_CHECK(rf_wait(rf, 6000) == RF_REQUEST, "no request came");
		s->serve(rf);
		/* What was said last leaves with the next look at the queue. */
		rf_wait(rf, 100);
		rf_close(rf);
	}
	rl_leave();
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	if (!rf_usable()) {
		rl_skip("strangers", "what they say is libfabric's tcp");
		return;
	}
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		if (!rl_begin(strangers[i].name, 15000))
			continue;
		rl_start("client", client, (void *)(uintptr_t)&strangers[i]);
		rl_start("stranger", stranger, (void *)(uintptr_t)&strangers[i]);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 90, run);
}
