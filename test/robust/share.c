/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that many connections of two adapters send long data, in turn and all at once, with few
 * descriptors: over tcp an adapter has endpoints for long data for some of its connections only.
 *
 * Options: n=COUNT connections, kib=KIB of each message.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "rdat.h"

/* Descriptors beyond those of two adapters with one connection: PAIR_BULKS of
 * prov_ofi/msgep/pair/pair.h, and what comes and goes. */
#define FDS_MOST (64 + 16)
/* The limit of the process, as most systems have it. */
#define FDS_LIMIT 1024
#define FDS_SEEN 4096
#define TURNS 2

enum step { ST_LISTEN };
/* What a buffer of each connection is for. */
enum part { SENT, GOT, PARTS };

static long count = 300, kib = 256;

struct side {
	struct rd rd;
	struct rd_mem mem;
	char *buf;
	bool active;
	DAT_EP_HANDLE *ep;
	uint8_t *seen;
	int fds;
	int phase, turn;
	uint32_t salt; /* of the data of the present phase */
};

static size_t size(void)
{
	return (size_t)kib << 10;
}

static size_t off(long i, enum part part)
{
	return ((size_t)i * PARTS + (size_t)part) * size();
}

static bool bounded(void)
{
	return !strcmp(test_fabric()->name, "tcp");
}

static uint32_t seed(const struct side *s, long i, bool active)
{
	return s->salt * 7919 + (uint32_t)i * 2 + active;
}

static void check_fds(struct side *s)
{
	int fds = rl_fds(0) - s->fds;

	RL_CHECK(!bounded() || fds <= FDS_MOST, "%d descriptors for %ld connections", fds, count);
}

static void limit_fds(void)
{
	struct rlimit limit;

	RL_CHECK(!getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
	limit.rlim_cur = bounded() ? FDS_LIMIT : limit.rlim_max;
	RL_CHECK(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

static void set_up(struct side *s, bool active)
{
	memset(s, 0, sizeof(*s));
	s->active = active;
	rd_warm_up();
	limit_fds();
	rd_open(&s->rd, 0, (int)count * 4 + 16);
	s->buf = malloc((size_t)count * PARTS * size());
	s->ep = calloc((size_t)count, sizeof(*s->ep));
	s->seen = calloc((size_t)count, 1);
	RL_CHECK(s->buf && s->ep && s->seen, "no memory");
	rd_reg(&s->rd, &s->mem, s->buf, (size_t)count * PARTS * size());
	rd_show(active, &s->mem);
	for (long i = 0; i < count; i++)
		s->ep[i] = rd_ep_create(&s->rd, 4);
}

static void connect_one(struct side *s, long i)
{
	DAT_EVENT ev;

	rl_activity("connection %ld", i);
	if (s->active) {
		rd_connect(&s->rd, s->ep[i], 20000, NULL, 0);
	} else {
		rl_await(ST_LISTEN, 1, 20000);
		RD_OK(dat_cr_accept(rd_request(&s->rd, 20000), s->ep[i], 0, NULL));
	}
	rd_expect(s->rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, 20000, &ev);
}

/* What both sides are about to do concerns memory that neither uses any more. */
static void meet(struct side *s)
{
	s->phase++;
	atomic_fetch_add(&rl_board->value[s->phase % 32], 1);
	rl_activity("phase %d: waiting for the other side", s->phase);
	for (struct rl_limit limit = rl_limit(20000);
	     atomic_load(&rl_board->value[s->phase % 32]) < 2;) {
		RL_CHECK(!rl_passed(&limit), "the other side does not come to phase %d", s->phase);
		rl_sleep_ms(1);
	}
}

static void fill(struct side *s)
{
	s->salt++;
	for (long i = 0; i < count; i++)
		rl_fill(s->buf + off(i, SENT), size(), seed(s, i, s->active));
}

static void verify(struct side *s, long i, const char *what)
{
	RL_CHECK(rl_differs(s->buf + off(i, GOT), size(), seed(s, i, !s->active)) < 0,
		 "%s: wrong data on %ld", what, i);
}

/* Takes `n` completions of either queue, each cookie once. */
static void completions(struct side *s, DAT_EVD_HANDLE evd, long n, const char *what)
{
	memset(s->seen, 0, (size_t)count);
	for (long k = 0; k < n; k++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d;
		DAT_EVENT ev;

		rl_activity("%s: %ld of %ld", what, k, n);
		rd_expect(evd, DAT_DTO_COMPLETION_EVENT, 20000, &ev);
		d = &ev.event_data.dto_completion_event_data;
		RL_CHECK(d->status == DAT_DTO_SUCCESS, "%s: status %d", what, (int)d->status);
		RL_CHECK(d->user_cookie.as_64 < (uint64_t)count &&
				 s->ep[d->user_cookie.as_64] == d->ep_handle &&
				 !s->seen[d->user_cookie.as_64]++,
			 "%s: wrong cookie", what);
		RL_CHECK(d->transfered_length == size(), "%s: %llu bytes", what,
			 (unsigned long long)d->transfered_length);
		if (!(k % 16))
			check_fds(s);
	}
}

/* Bytes in both directions since then; the second round shows the lasting rate. */
static void report(const struct side *s, const char *what, uint64_t since)
{
	double seconds = (double)(rl_now() - since) / 1e6;

	if (s->active && s->turn)
		rl_note("%ld x %ld KiB %s: %.3f s, %.2f GB/s, %d descriptors", count, kib, what,
			seconds, 2 * (double)count * (double)size() / 1e9 / seconds,
			rl_fds(0) - s->fds);
}

static void receive_all(struct side *s)
{
	for (long i = 0; i < count; i++)
		RD_OK(rd_recv(s->ep[i], &s->mem, off(i, GOT), size(), (uint64_t)i));
}

static void send_one(struct side *s, long i)
{
	RD_OK(rd_send(s->ep[i], &s->mem, off(i, SENT), size(), (uint64_t)i));
}

/* One connection after the other: there and back. */
static void in_turn(struct side *s)
{
	uint64_t since;

	fill(s);
	receive_all(s);
	meet(s);
	since = rl_now();
	for (long i = 0; i < count; i++) {
		rl_activity("in turn: %ld", i);
		if (s->active)
			send_one(s, i);
		rd_expect_dto(s->rd.recv, (uint64_t)i, 20000);
		if (!s->active)
			send_one(s, i);
		rd_expect_dto(s->rd.req, (uint64_t)i, 20000);
		if (!(i % 16))
			check_fds(s);
	}
	report(s, "in turn", since);
	for (long i = 0; i < count; i++)
		verify(s, i, "in turn");
	meet(s);
}

static void at_once(struct side *s)
{
	uint64_t since;

	fill(s);
	receive_all(s);
	meet(s);
	since = rl_now();
	for (long i = 0; i < count; i++)
		send_one(s, i);
	completions(s, s->rd.recv, count, "receives at once");
	completions(s, s->rd.req, count, "sends at once");
	report(s, "at once", since);
	for (long i = 0; i < count; i++)
		verify(s, i, "at once");
	meet(s);
}

static void rdma_at_once(struct side *s, bool write)
{
	const char *what = write ? "writes at once" : "reads at once";
	enum part mine = write ? SENT : GOT, theirs = write ? GOT : SENT;
	uint64_t since;

	fill(s);
	meet(s);
	since = rl_now();
	for (long i = 0; i < count; i++)
		RD_OK((write ? rd_write : rd_read)(s->ep[i], &s->mem, off(i, mine), size(),
						   (uint64_t)i, !s->active, off(i, theirs)));
	completions(s, s->rd.req, count, what);
	report(s, what, since);
	/* A write of the peer is in memory when the peer has its completion. */
	meet(s);
	for (long i = 0; i < count; i++)
		verify(s, i, what);
	meet(s);
}

/* Returns how many descriptors have an inode that is not among the `n` known ones; adds those. */
static int new_sockets(ino_t *known, int *n)
{
	char path[300], to[64];
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int found = 0;
	ssize_t len;

	RL_CHECK(d, "/proc/self/fd");
	while ((e = readdir(d))) {
		ino_t inode;
		int i;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		len = readlink(path, to, sizeof(to) - 1);
		if (len < 0)
			continue;
		to[len] = '\0';
		if (strncmp(to, "socket:[", 8))
			continue;
		inode = (ino_t)strtoull(to + 8, NULL, 10);
		for (i = 0; i < *n && known[i] != inode; i++)
			;
		if (i < *n)
			continue;
		RL_CHECK(*n < FDS_SEEN, "too many sockets");
		known[(*n)++] = inode;
		found++;
	}
	closedir(d);
	return found;
}

/* One message each way on connection i; `last`, which the active side knows, is in it. */
static void message(struct side *s, long i, bool *last)
{
	RD_OK(rd_recv(s->ep[i], &s->mem, off(i, GOT), size(), (uint64_t)i));
	if (s->active) {
		memcpy(s->buf + off(i, SENT), last, sizeof(*last));
		send_one(s, i);
	}
	rd_expect_dto(s->rd.recv, (uint64_t)i, 20000);
	if (!s->active) {
		memcpy(last, s->buf + off(i, GOT), sizeof(*last));
		send_one(s, i);
	}
	rd_expect_dto(s->rd.req, (uint64_t)i, 20000);
	check_fds(s);
}

/* The `n` connections from `first` on send in turn until the active side has seen `wanted` new
 * sockets. */
static void send_until(struct side *s, long first, long n, int wanted)
{
	static ino_t known[FDS_SEEN];
	struct rl_limit limit = rl_limit(20000);
	bool last = !bounded();
	int n_known = 0, found = 0;
	long rounds = 0;

	first %= count;
	meet(s);
	new_sockets(known, &n_known);
	do {
		rl_activity("connection %ld and %ld others: round %ld", first, n - 1, rounds);
		if (s->active) {
			found += new_sockets(known, &n_known);
			last = last || found >= wanted;
			RL_CHECK(!rl_passed(&limit),
				 "connection %ld and %ld others got %d of %d "
				 "endpoints in %ld messages",
				 first, n - 1, found, wanted, rounds);
		}
		message(s, (first + rounds % n) % count, &last);
		rounds++;
	} while (!last);
	if (s->active && bounded())
		rl_note("connection %ld and %ld others got %d endpoints within %ld messages", first,
			n - 1, found, rounds);
	meet(s);
}

/* A connection that has been idle, when others have all endpoints, gets one of them. Whatever it
 * had before goes to the others first: old requests, one of each connection at most, are served in
 * their order, and the least recently used endpoint is closed for each. */
static void latecomer(struct side *s, long i)
{
	send_until(s, i + 1, count - 1, (int)count + FDS_MOST);
	send_until(s, i, 1, 1);
}

static void play(void *arg)
{
	bool active = arg;
	struct side s;

	set_up(&s, active);
	if (active) {
		rl_await(ST_LISTEN, 1, 20000);
	} else {
		rd_listen(&s.rd);
		rl_step(ST_LISTEN, 1);
	}
	for (long i = 0; i < count; i++) {
		connect_one(&s, i);
		if (!i)
			s.fds = rl_fds(0);
	}
	check_fds(&s);
	for (int turn = 0; turn < TURNS; turn++) {
		at_once(&s);
		in_turn(&s);
		rdma_at_once(&s, true);
		rdma_at_once(&s, false);
		s.turn++;
	}
	if (count > FDS_MOST || !bounded()) {
		latecomer(&s, count - 1);
		latecomer(&s, 0);
	}
	rl_activity("closing");
	for (long i = 0; i < count; i++)
		RD_OK(dat_ep_free(s.ep[i]));
	rd_unreg(&s.mem);
	rd_close(&s.rd);
	free(s.buf);
	free(s.ep);
	free(s.seen);
}

static void run(void)
{
	rl_option("n", &count);
	rl_option("kib", &kib);
	if (!rl_begin("share", 60000 + (unsigned int)count * 100))
		return;
	rl_start("passive", play, NULL);
	rl_start("active", play, &count);
	rl_end();
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 200, run);
}
