/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a thousand endpoints between two processes connect, transfer and disconnect at once;
 * prints the cost.
 *
 * Options: n=COUNT endpoints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "rdat.h"

enum step { ST_LISTEN, ST_UP, ST_WRITTEN, ST_CHECKED, ST_DOWN, ST_GONE };

#define PIECE 256        /* bytes of each transfer */
#define SLOT (4 * PIECE) /* of one EP: send, receive, written by the peer, read result */

static long count = 1000;

struct plan {
	const char *name;
	long window;      /* connections requested at once */
	bool active_ends; /* which side disconnects */
};

struct side {
	const struct plan *plan;
	struct rd rd;
	struct rd_mem mem;
	char *buf;
	DAT_EP_HANDLE *ep;
	uint8_t *seen; /* events of each EP */
	long rss, pss;
	int fds, threads;
};

static const struct plan plans[] = {
	{ "64-at-a-time", 64, true },
	{ "all-at-once", 1 << 30, false },
};

static char *at(struct side *s, long i, int part)
{
	return s->buf + i * SLOT + part * PIECE;
}

static size_t off(long i, int part)
{
	return (size_t)i * SLOT + (size_t)part * PIECE;
}

static uint32_t seed(long i, int part, bool active)
{
	return (uint32_t)(i * 8 + part * 2 + active);
}

static void set_up(struct side *s, const struct plan *plan, bool active)
{
	memset(s, 0, sizeof(*s));
	s->plan = plan;
	rd_warm_up();
	rd_open(&s->rd, 0, (int)count * 2 + 16);
	s->buf = calloc((size_t)count, SLOT);
	s->ep = calloc((size_t)count, sizeof(*s->ep));
	s->seen = calloc((size_t)count, 1);
	RL_CHECK(s->buf && s->ep && s->seen, "no memory");
	rd_reg(&s->rd, &s->mem, s->buf, (size_t)count * SLOT);
	rd_show(active, &s->mem);
	for (long i = 0; i < count; i++)
		for (int part = 0; part < 4; part++)
			rl_fill(at(s, i, part), PIECE, seed(i, part, active));
	s->rss = rl_rss_kb(0);
	s->pss = rl_pss_kb(0);
	s->fds = rl_fds(0);
	s->threads = rl_threads(0);
	for (long i = 0; i < count; i++) {
		DAT_CONTEXT c = { .as_64 = (DAT_UINT64)i };

		s->ep[i] = rd_ep_create(&s->rd, 4);
		RD_OK(dat_set_consumer_context(s->ep[i], c));
		RD_OK(rd_recv(s->ep[i], &s->mem, off(i, 1), PIECE, (uint64_t)i));
	}
}

static long index_of(struct side *s, DAT_EP_HANDLE ep)
{
	DAT_CONTEXT c;

	RD_OK(dat_get_consumer_context(ep, &c));
	RL_CHECK(c.as_64 < (DAT_UINT64)count && s->ep[c.as_64] == ep, "an event of an unknown EP");
	return (long)c.as_64;
}

/* The next connection event must be one of two, and the first of its EP in this phase. */
static void expect_conn_event(struct side *s, unsigned int ms, int number, int other)
{
	DAT_EVENT ev;
	long i;

	RL_CHECK(rd_await(s->rd.conn, ms, &ev), "no connection event within %u ms", rl_bound(ms));
	i = index_of(s, ev.event_data.connect_event_data.ep_handle);
	RL_CHECK((int)ev.event_number == number || (int)ev.event_number == other, "%s on EP %ld",
		 rd_event_text(ev.event_number), i);
	RL_CHECK(!s->seen[i]++, "a second %s on EP %ld", rd_event_text(ev.event_number), i);
}

/* The time per connection between powers of ten: it should not grow with the number of them. */
static void report_pace(const struct side *s, long up, long *since, uint64_t *at)
{
	uint64_t now = rl_now();

	if (*since)
		rl_note("%s: connections %ld to %ld: %.1f us each", s->plan->name, *since + 1, up,
			(double)(now - *at) / (double)(up - *since));
	*since = up;
	*at = now;
}

static void connect_all(struct side *s)
{
	uint64_t began = rl_now(), mark_at = 0;
	long requested = 0, up = 0, mark = 0;
	double seconds;

	while (up < count) {
		rl_activity("connecting: %ld requested, %ld up", requested, up);
		if (requested < count && requested - up < s->plan->window) {
			uint32_t i = (uint32_t)requested;

			rd_connect(&s->rd, s->ep[requested++], 60000, &i, sizeof(i));
			continue;
		}
		expect_conn_event(s, 20000, DAT_CONNECTION_EVENT_ESTABLISHED, 0);
		up++;
		if (up == 100 || up == 1000 || up == count / 2 || up == count)
			report_pace(s, up, &mark, &mark_at);
	}
	seconds = (double)(rl_now() - began) / 1e6;
	rl_note("%s: %ld connections in %.3f s, %.0f/s", s->plan->name, count, seconds,
		(double)count / seconds);
}

static void accept_all(struct side *s)
{
	long up = 0, accepted = 0;
	DAT_EVENT ev;

	while (up < count) {
		rl_activity("accepting: %ld accepted, %ld up", accepted, up);
		while (accepted < count && rd_next(s->rd.cr, accepted == up ? 20000 : 0, &ev)) {
			DAT_CR_HANDLE cr = ev.event_data.cr_arrival_event_data.cr_handle;
			DAT_CR_PARAM param;
			uint32_t i;

			RD_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
			RL_CHECK(param.private_data_size == sizeof(i), "%d bytes of private data",
				 (int)param.private_data_size);
			memcpy(&i, param.private_data, sizeof(i));
			RL_CHECK(i < (uint32_t)count, "request number %u", i);
			RD_OK(dat_cr_accept(cr, s->ep[i], 0, NULL));
			accepted++;
		}
		if (accepted > up) {
			expect_conn_event(s, 20000, DAT_CONNECTION_EVENT_ESTABLISHED, 0);
			up++;
		}
	}
}

static void report_cost(struct side *s, const char *side)
{
	rl_note("%s: %s: %.1f KiB (PSS %.1f), %.3f descriptors, %.3f threads per connection",
		s->plan->name, side, (double)(rl_rss_kb(0) - s->rss) / (double)count,
		(double)(rl_pss_kb(0) - s->pss) / (double)count,
		(double)(rl_fds(0) - s->fds) / (double)count,
		(double)(rl_threads(0) - s->threads) / (double)count);
}

/* Reads `count` completions; each cookie must occur once, on its EP. */
static void completions(struct side *s, DAT_EVD_HANDLE evd, const char *what)
{
	memset(s->seen, 0, (size_t)count);
	for (long n = 0; n < count; n++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d;
		DAT_EVENT ev;

		rl_activity("%s: %ld of %ld", what, n, count);
		rd_expect(evd, DAT_DTO_COMPLETION_EVENT, 10000, &ev);
		d = &ev.event_data.dto_completion_event_data;
		RL_CHECK(d->status == DAT_DTO_SUCCESS, "%s: status %d", what, (int)d->status);
		RL_CHECK(d->user_cookie.as_64 < (uint64_t)count &&
				 s->ep[d->user_cookie.as_64] == d->ep_handle,
			 "%s: wrong cookie", what);
		RL_CHECK(!s->seen[d->user_cookie.as_64]++, "%s: completed twice", what);
		RL_CHECK(d->transfered_length == PIECE, "%s: %llu bytes", what,
			 (unsigned long long)d->transfered_length);
	}
}

static void verify(struct side *s, int part, uint32_t (*expected)(long), const char *what)
{
	for (long i = 0; i < count; i++)
		RL_CHECK(rl_differs(at(s, i, part), PIECE, expected(i)) < 0,
			 "%s: wrong data on %ld", what, i);
}

static uint32_t sent_by_active(long i)
{
	return seed(i, 0, true);
}

static uint32_t sent_by_passive(long i)
{
	return seed(i, 0, false);
}

static void send_all(struct side *s)
{
	for (long i = 0; i < count; i++)
		RD_OK(rd_send(s->ep[i], &s->mem, off(i, 0), PIECE, (uint64_t)i));
	completions(s, s->rd.req, "sends");
}

static void disconnect_all(struct side *s, bool mine)
{
	memset(s->seen, 0, (size_t)count);
	if (mine) {
		rl_board->t0 = rl_now();
		for (long i = 0; i < count; i++)
			RD_OK(dat_ep_disconnect(s->ep[i], DAT_CLOSE_ABRUPT_FLAG));
	}
	for (long n = 0; n < count; n++) {
		rl_activity("disconnecting: %ld of %ld", n, count);
		expect_conn_event(s, 10000, DAT_CONNECTION_EVENT_DISCONNECTED,
				  mine ? 0 : DAT_CONNECTION_EVENT_BROKEN);
	}
	rl_note("%s: all %ld disconnected %s after %.0f ms", s->plan->name, count,
		mine ? "here" : "at the peer", (double)(rl_now() - rl_board->t0) / 1000);
}

static void close_all(struct side *s)
{
	DAT_EVENT ev;
	int fds;

	rl_step(ST_GONE, rl_board->step[ST_GONE] + 1);
	rl_activity("closing");
	RL_CHECK(!rd_poll(s->rd.conn, &ev), "an additional connection event: %s",
		 rd_event_text(ev.event_number));
	for (long i = 0; i < count; i++)
		RD_OK(dat_ep_free(s->ep[i]));
	rd_unreg(&s->mem);
	rd_close(&s->rd);
	fds = rl_fds(0);
	RL_CHECK(fds < s->fds, "%d descriptors left, %d before", fds, s->fds);
	free(s->buf);
	free(s->ep);
	free(s->seen);
}

static void active(void *arg)
{
	struct side s;

	set_up(&s, arg, true);
	rl_await(ST_LISTEN, 1, 20000);
	connect_all(&s);
	report_cost(&s, "active side");
	rl_await(ST_UP, 1, 20000);
	send_all(&s);
	completions(&s, s.rd.recv, "receives");
	verify(&s, 1, sent_by_passive, "receives");
	for (long i = 0; i < count; i++)
		RD_OK(rd_write(s.ep[i], &s.mem, off(i, 0), PIECE, (uint64_t)i, 0, off(i, 2)));
	completions(&s, s.rd.req, "writes");
	rl_step(ST_WRITTEN, 1);
	for (long i = 0; i < count; i++)
		RD_OK(rd_read(s.ep[i], &s.mem, off(i, 3), PIECE, (uint64_t)i, 0, off(i, 0)));
	completions(&s, s.rd.req, "reads");
	verify(&s, 3, sent_by_passive, "reads");
	rl_step(ST_CHECKED, 1);
	rl_await(ST_DOWN, 1, 20000);
	disconnect_all(&s, s.plan->active_ends);
	close_all(&s);
}

static void passive(void *arg)
{
	struct side s;

	set_up(&s, arg, false);
	rd_listen(&s.rd);
	rl_step(ST_LISTEN, 1);
	accept_all(&s);
	report_cost(&s, "passive side");
	rl_step(ST_UP, 1);
	completions(&s, s.rd.recv, "receives");
	verify(&s, 1, sent_by_active, "receives");
	send_all(&s);
	rl_activity("waiting for the writes");
	rl_await(ST_WRITTEN, 1, 20000);
	verify(&s, 2, sent_by_active, "writes");
	rl_await(ST_CHECKED, 1, 20000);
	rl_step(ST_DOWN, 1);
	disconnect_all(&s, !s.plan->active_ends);
	close_all(&s);
}

static void run(void)
{
	struct rlimit limit;

	rl_option("n", &count);
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		if (!rl_begin(plans[i].name, 30000 + (unsigned int)count * 10))
			continue;
		if (limit.rlim_cur < (rlim_t)count + 100) {
			rl_skip(plans[i].name, "too few file descriptors");
			continue;
		}
		rl_start("passive", passive, (void *)(uintptr_t)&plans[i]);
		rl_start("active", active, (void *)(uintptr_t)&plans[i]);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 90, run);
}
