/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that one adapter serves more than 256 processes at once, also if some are killed; prints
 * the cost.
 *
 * One process listens; all others connect to it, and all wait until all are connected. Then each
 * pair sends, writes and reads in both directions. Some clients are killed at the start of that or
 * at its end; of the others half disconnect and half are disconnected.
 *
 * Options: n=COUNT clients.
 */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../fabrics/fabrics.h"
#include "rdat.h"

enum step { ST_LISTEN, ST_UP };

#define MESSAGE 256
#define BIG 16384                 /* bytes of a write or a read */
#define CLIENT_TIMEOUT 240000     /* of clients, until all others are connected */
#define SERVER_IDLE_TIMEOUT 30000 /* of the server, without any event */
/* Clients that open adapters at once: over some fabrics an open takes 0.1 s of a processor. */
#define AT_ONCE 32

/* The memory layout of a connection at each side. */
enum part {
	SOURCE = 0,  /* sent, written and read from here */
	FIRST = BIG, /* where messages are received */
	SECOND = FIRST + MESSAGE,
	UNUSED = SECOND + MESSAGE,  /* a receive that never finds a message */
	WRITTEN = UNUSED + MESSAGE, /* by the peer */
	READ = WRITTEN + BIG,       /* from the peer */
	AREA = READ + BIG,
};

enum deed { RECEIVED, SENT, WROTE, HAS_READ };

enum fate { DIES_FIRST, DIES_LAST, LEAVES, IS_LEFT };

static long count = 300;

static enum fate fate_of(long i)
{
	if (i % 10 == 3)
		return i % 20 == 3 ? DIES_FIRST : DIES_LAST;
	return i % 2 ? IS_LEFT : LEAVES;
}

/* The private data of a request. */
struct card {
	uint32_t index, rctx;
	uint64_t va;
};

static uint32_t seed(long i, bool of_client)
{
	return (uint32_t)(i * 2 + of_client);
}

static void check(const char *at, size_t len, long i, bool of_client, const char *what)
{
	long where = rl_differs(at, len, seed(i, of_client));

	RL_CHECK(where < 0, "%s, connection %ld: byte %ld is wrong", what, i, where);
}

/* ---- a client ---- */

struct client {
	long i;
	struct rd rd;
	struct rd_mem mem;
	char *area;
};

static void expect(struct client *c, enum deed deed, const char *doing)
{
	rl_activity("%s", doing);
	rd_expect_dto(deed == RECEIVED ? c->rd.recv : c->rd.req, deed, CLIENT_TIMEOUT);
}

static void client_transfers(struct client *c)
{
	size_t there = (size_t)c->i * AREA;

	expect(c, RECEIVED, "waiting until all are connected");
	check(c->area + FIRST, MESSAGE, c->i, false, "the first message");
	if (fate_of(c->i) == DIES_FIRST)
		raise(SIGKILL);
	RD_OK(rd_send(c->rd.ep, &c->mem, SOURCE, MESSAGE, SENT));
	expect(c, SENT, "sending");
	RD_OK(rd_read(c->rd.ep, &c->mem, READ, BIG, HAS_READ, 0, there + SOURCE));
	expect(c, HAS_READ, "reading");
	check(c->area + READ, BIG, c->i, false, "what a client has read");
	/* The message arrives after the write. */
	RD_OK(rd_write(c->rd.ep, &c->mem, SOURCE, BIG, WROTE, 0, there + WRITTEN));
	RD_OK(rd_send(c->rd.ep, &c->mem, SOURCE, MESSAGE, SENT));
	expect(c, WROTE, "writing");
	expect(c, SENT, "sending again");
	expect(c, RECEIVED, "waiting for the answer");
	check(c->area + SECOND, MESSAGE, c->i, false, "the answer");
	check(c->area + WRITTEN, BIG, c->i, false, "what a client was given");
}

static void client(void *arg)
{
	struct client ctx, *c = &ctx;
	struct card card;
	DAT_EVENT ev;

	memset(c, 0, sizeof(*c));
	c->i = (long)(intptr_t)arg;
	rl_activity("opening");
	rd_open(&c->rd, 0, 16);
	c->area = calloc(1, AREA);
	RL_CHECK(c->area, "no memory");
	rl_fill(c->area, BIG, seed(c->i, true));
	rd_reg(&c->rd, &c->mem, c->area, AREA);
	c->rd.ep = rd_ep_create(&c->rd, 4);
	RD_OK(rd_recv(c->rd.ep, &c->mem, FIRST, MESSAGE, RECEIVED));
	RD_OK(rd_recv(c->rd.ep, &c->mem, SECOND, MESSAGE, RECEIVED));
	card = (struct card){ (uint32_t)c->i, c->mem.rctx, (uintptr_t)c->area };
	rl_activity("connecting");
	rd_connect(&c->rd, c->rd.ep, CLIENT_TIMEOUT, &card, sizeof(card));
	rd_expect(c->rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, CLIENT_TIMEOUT, &ev);
	client_transfers(c);
	if (fate_of(c->i) == DIES_LAST)
		raise(SIGKILL);
	if (fate_of(c->i) == LEAVES)
		RD_OK(dat_ep_disconnect(c->rd.ep, DAT_CLOSE_GRACEFUL_FLAG));
	rl_activity("waiting for the end of the connection");
	rd_expect(c->rd.conn, DAT_CONNECTION_EVENT_DISCONNECTED, CLIENT_TIMEOUT, &ev);
	rl_activity("closing");
	rd_unreg(&c->mem);
	rd_close(&c->rd);
	free(c->area);
}

/* ---- the server ---- */

struct peer {
	DAT_EP_HANDLE ep;
	struct card card;
	unsigned int received, flushed;
	unsigned int sent, wrote, read;
	bool ended;
	bool answered; /* the answer has been posted */
};

struct server {
	struct rd rd;
	struct rd_mem mem;
	char *buf;
	struct peer *peers;
	long ended;
	long rss, pss;
	int fds, threads;
};

static char *area_of(struct server *s, long i)
{
	return s->buf + i * AREA;
}

static uint64_t cookie(long i, enum deed deed)
{
	return (uint64_t)i * 4 + deed;
}

static void set_up(struct server *s)
{
	memset(s, 0, sizeof(*s));
	rd_warm_up();
	s->fds = rl_fds(0);
	s->threads = rl_threads(0);
	rd_open(&s->rd, 0, (int)count * 8 + 16);
	s->buf = calloc((size_t)count, AREA);
	s->peers = calloc((size_t)count, sizeof(*s->peers));
	RL_CHECK(s->buf && s->peers, "no memory");
	for (long i = 0; i < count; i++) {
		memset(area_of(s, i), 1, AREA);
		rl_fill(area_of(s, i), BIG, seed(i, false));
	}
	rd_reg(&s->rd, &s->mem, s->buf, (size_t)count * AREA);
	rd_show(0, &s->mem);
	s->rss = rl_rss_kb(0);
	s->pss = rl_pss_kb(0);
	rd_listen(&s->rd);
	rl_step(ST_LISTEN, 1);
}

static struct peer *accept_one(struct server *s, DAT_CR_HANDLE cr)
{
	static const int places[] = { FIRST, SECOND, UNUSED };
	DAT_CR_PARAM param;
	struct card card;
	struct peer *p;
	DAT_CONTEXT c;

	RD_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	RL_CHECK(param.private_data_size == sizeof(card), "%d bytes of private data",
		 (int)param.private_data_size);
	memcpy(&card, param.private_data, sizeof(card));
	RL_CHECK(card.index < (uint32_t)count, "a request of client %u", card.index);
	p = &s->peers[card.index];
	RL_CHECK(!p->ep, "a second request of client %u", card.index);
	p->card = card;
	p->ep = rd_ep_create(&s->rd, 4);
	c.as_64 = card.index;
	RD_OK(dat_set_consumer_context(p->ep, c));
	for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++)
		RD_OK(rd_recv(p->ep, &s->mem, (size_t)card.index * AREA + (size_t)places[k],
			      MESSAGE, cookie(card.index, RECEIVED)));
	RD_OK(dat_cr_accept(cr, p->ep, 0, NULL));
	return p;
}

static void connect_all(struct server *s)
{
	for (long up = 0; up < count; rl_step(ST_UP, (int)++up)) {
		struct peer *p;
		DAT_EVENT ev;

		rl_activity("accepting: %ld are up", up);
		RL_CHECK(rd_await(s->rd.cr, SERVER_IDLE_TIMEOUT, &ev), "only %ld connections", up);
		p = accept_one(s, ev.event_data.cr_arrival_event_data.cr_handle);
		rd_expect(s->rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, SERVER_IDLE_TIMEOUT, &ev);
		RL_CHECK(ev.event_data.connect_event_data.ep_handle == p->ep,
			 "ESTABLISHED of another EP than that of client %u", p->card.index);
	}
}

static void report_cost(struct server *s, const char *when)
{
	double n = (double)count;

	rl_note("%ld processes at one adapter, %s: each %.1f KiB (PSS %.1f), %.3f descriptors; "
		"%d threads in all",
		count, when, (double)(rl_rss_kb(0) - s->rss) / n,
		(double)(rl_pss_kb(0) - s->pss) / n, (double)(rl_fds(0) - s->fds) / n,
		rl_threads(0) - s->threads);
}

static void answer(struct server *s, struct peer *p)
{
	long i = (long)p->card.index;

	if (p->received < 2 || !p->wrote || !p->read || p->answered)
		return;
	check(area_of(s, i) + SECOND, MESSAGE, i, true, "a second message");
	check(area_of(s, i) + WRITTEN, BIG, i, true, "what the server was given");
	check(area_of(s, i) + READ, BIG, i, true, "what the server has read");
	p->answered = true;
	RD_OK(rd_send(p->ep, &s->mem, (size_t)i * AREA + SOURCE, MESSAGE, cookie(i, SENT)));
}

static void received(struct server *s, struct peer *p)
{
	long i = (long)p->card.index;
	size_t off = (size_t)i * AREA;

	if (++p->received > 1)
		return;
	check(area_of(s, i) + FIRST, MESSAGE, i, true, "a first message");
	RD_OK(rd_rdma(p->ep, true, &s->mem, off + SOURCE, BIG, cookie(i, WROTE),
		      p->card.va + WRITTEN, p->card.rctx));
	RD_OK(rd_rdma(p->ep, false, &s->mem, off + READ, BIG, cookie(i, HAS_READ),
		      p->card.va + SOURCE, p->card.rctx));
}

/* Both messages are sent: the exchange is complete. */
static void sent(struct peer *p)
{
	if (++p->sent == 2 && fate_of((long)p->card.index) == IS_LEFT)
		RD_OK(dat_ep_disconnect(p->ep, DAT_CLOSE_GRACEFUL_FLAG));
}

/* Operations with a client that is killed may fail. */
static bool may_fail(const struct peer *p, enum deed deed)
{
	enum fate fate = fate_of((long)p->card.index);

	return deed == RECEIVED || (deed == SENT && (fate == DIES_FIRST || fate == DIES_LAST));
}

static void completed(struct server *s, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	long i = (long)(d->user_cookie.as_64 / 4);
	enum deed deed = (enum deed)(d->user_cookie.as_64 % 4);
	struct peer *p = &s->peers[i < count ? i : 0];

	RL_CHECK(i < count && p->ep == d->ep_handle, "a completion with a wrong cookie");
	if (d->status != DAT_DTO_SUCCESS) {
		RL_CHECK(d->status == DAT_DTO_ERR_FLUSHED && may_fail(p, deed),
			 "client %ld: deed %d ended with status %d", i, (int)deed, (int)d->status);
		p->flushed += deed == RECEIVED;
		p->sent += deed == SENT;
		return;
	}
	switch (deed) {
	case RECEIVED:
		received(s, p);
		break;
	case SENT:
		sent(p);
		break;
	case WROTE:
		p->wrote++;
		break;
	case HAS_READ:
		p->read++;
		break;
	}
	answer(s, p);
}

static void ended(struct server *s, const DAT_EVENT *ev)
{
	struct peer *p;
	DAT_CONTEXT c;

	RD_OK(dat_get_consumer_context(ev->event_data.connect_event_data.ep_handle, &c));
	p = &s->peers[c.as_64];
	RL_CHECK(!p->ended, "client %ld: %s after the end", (long)c.as_64,
		 rd_event_text(ev->event_number));
	RL_CHECK(ev->event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			 (ev->event_number == DAT_CONNECTION_EVENT_BROKEN &&
			  fate_of((long)c.as_64) <= DIES_LAST),
		 "client %ld: %s", (long)c.as_64, rd_event_text(ev->event_number));
	p->ended = true;
	s->ended++;
}

/* Everything that was posted to be received has completed or was flushed. */
static bool all_flushed(struct server *s)
{
	for (long i = 0; i < count; i++)
		if (s->peers[i].received + s->peers[i].flushed < 3 ||
		    s->peers[i].sent < 1u + s->peers[i].answered)
			return false;
	return true;
}

static void serve(struct server *s)
{
	struct rl_limit limit = rl_limit(2 * SERVER_IDLE_TIMEOUT);
	DAT_EVENT ev;

	for (long i = 0; i < count; i++)
		RD_OK(rd_send(s->peers[i].ep, &s->mem, (size_t)i * AREA + SOURCE, MESSAGE,
			      cookie(i, SENT)));
	while (s->ended < count || !all_flushed(s)) {
		rl_activity("serving: %ld have ended", s->ended);
		RL_CHECK(!rl_passed(&limit), "only %ld connections have ended", s->ended);
		/* Sleeps when idle, since clients need the processors. */
		if (rd_next(s->rd.recv, 1, &ev))
			completed(s, &ev);
		while (rd_poll(s->rd.recv, &ev) || rd_poll(s->rd.req, &ev))
			completed(s, &ev);
		while (rd_poll(s->rd.conn, &ev))
			ended(s, &ev);
	}
	for (long i = 0; i < count; i++) {
		struct peer *p = &s->peers[i];
		unsigned int messages = fate_of(i) == DIES_FIRST ? 0 : 2;

		RL_CHECK(p->received == messages && p->flushed == 3 - messages,
			 "client %ld: %u receives and %u flushes", i, p->received, p->flushed);
	}
}

static void server(void *arg)
{
	struct server s;
	uint64_t began;

	(void)arg;
	set_up(&s);
	began = rl_now();
	connect_all(&s);
	report_cost(&s, "connected");
	rl_note("started and connected in %.2f s", (double)(rl_now() - began) / 1e6);
	began = rl_now();
	serve(&s);
	rl_note("all data exchanged and all ended in %.2f s", (double)(rl_now() - began) / 1e6);
	report_cost(&s, "at the end");
	rl_activity("closing");
	for (long i = 0; i < count; i++)
		RD_OK(dat_ep_free(s.peers[i].ep));
	rd_unreg(&s.mem);
	rd_close(&s.rd);
	RL_CHECK(rl_fds(0) == s.fds, "%d descriptors, %d before it", rl_fds(0), s.fds);
	free(s.buf);
	free(s.peers);
}

/* ---- what is left ---- */

static pid_t pids[RL_PLAYERS];

/* True if the name contains the pid of one of the processes. */
static bool is_ours(const char *name)
{
	for (const char *p = name; *p; p++) {
		long number;
		char *end;

		if (!isdigit((unsigned char)*p))
			continue;
		number = strtol(p, &end, 10);
		for (int i = 0; i < RL_PLAYERS; i++)
			if (pids[i] && pids[i] == number)
				return true;
		p = end - 1;
	}
	return false;
}

static void check_leftovers(void *arg)
{
	DIR *dir = opendir("/dev/shm");
	struct dirent *entry;
	struct rd rd;

	(void)arg;
	RL_CHECK(dir, "/dev/shm cannot be read");
	/* The next open of an adapter may clean up. */
	rd_open(&rd, 0, 8);
	while ((entry = readdir(dir)))
		RL_CHECK(!is_ours(entry->d_name), "/dev/shm/%s is left", entry->d_name);
	closedir(dir);
	rd_close(&rd);
}

/*
 * Half of the available memory, at 64 MiB per client: over rxm a client takes 35 after opening its
 * adapter, and up to 68 after messages.
 */
static long affordable(void)
{
	char line[128];
	long kib = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %ld", &kib) != 1)
		;
	if (f)
		fclose(f);
	return kib ? kib / 2 / 65536 : count;
}

static void run(void)
{
	const struct test_fabric *fabric = test_fabric();
	struct rlimit limit;

	rl_option("n", &count);
	if (count > RL_PLAYERS - 1)
		count = RL_PLAYERS - 1;
	/* Over shm a client takes a hundredth of that. */
	if (strcmp(fabric->name, "shm") && count > affordable()) {
		count = affordable();
		rl_note("only %ld clients, for more there is not enough memory", count);
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	setenv("DAPL_OFI_LOG", "0", 0);
	if (!rl_begin("peers", CLIENT_TIMEOUT + 3 * SERVER_IDLE_TIMEOUT))
		return;
	rl_start("server", server, NULL);
	for (long i = 0; i < count; i++) {
		char name[32];

		if (!rl_reached(i ? ST_UP : ST_LISTEN, i ? (int)i - AT_ONCE : 1,
				SERVER_IDLE_TIMEOUT))
			break;
		snprintf(name, sizeof(name), "client %ld", i);
		if (fate_of(i) == DIES_FIRST || fate_of(i) == DIES_LAST)
			rl_start_victim(name, client, (void *)(intptr_t)i);
		else
			rl_start(name, client, (void *)(intptr_t)i);
	}
	for (int i = 0; i < rl_board->players; i++)
		pids[i] = rl_board->player[i].pid;
	if (rl_end() && rl_begin("peers-leave-no-file", 10000)) {
		rl_start("looker", check_leftovers, NULL);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 360, run);
}
