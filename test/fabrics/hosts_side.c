/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the players on two hosts: open, connect, transfer, and detect the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosts.h"

/* Life */

size_t hosts_at(int kind, int chunk)
{
	return ((size_t)kind * CHUNKS + (size_t)chunk) * CHUNK;
}

void hosts_set_timeout(bool much)
{
	char seconds[8];

	snprintf(seconds, sizeof(seconds), "%d", much ? 10 : KEEPALIVE_S);
	setenv("DAPL_OFI_KEEPALIVE_S", seconds, 1);
}

void hosts_open(struct side *s, const struct role *role)
{
	char *p = malloc(AREA);

	memset(s, 0, sizeof(*s));
	net_enter(role->host);
	setenv("DAPL_OFI_DOMAIN", role->domain, 1);
	s->plan = role->plan;
	s->host = role->host;
	s->pair = role->pair;
	RL_CHECK(p, "no memory");
	rl_activity("opening");
	rd_open(&s->rd, 0, 64);
	memset(p, 0, AREA);
	rd_reg(&s->rd, &s->mem, p, AREA);
	rd_show(s->pair * 2 + s->host, &s->mem);
	s->l.ep = s->rd.ep = rd_ep_create(&s->rd, 32);
}

void hosts_close(struct side *s)
{
	void *p = s->mem.p;
	DAT_EVENT ev;

	rl_activity("closing");
	RL_CHECK(!rd_poll(s->rd.conn, &ev), "an additional connection event: %s",
		 rd_event_text(ev.event_number));
	RD_OK(dat_ep_free(s->rd.ep));
	s->rd.ep = NULL;
	rd_unreg(&s->mem);
	rd_close(&s->rd);
	free(p);
}

void hosts_sync(struct side *s)
{
	rl_activity("meeting");
	rl_step(ST_MEET + s->pair * 2 + s->host, ++s->meetings);
	rl_await(ST_MEET + s->pair * 2 + !s->host, s->meetings, 60000);
}

/* Waits until everything has completed and the connection events match one of the alternatives. */
void hosts_wait_until(struct side *s, const char *words, unsigned int ms, const char *what)
{
	struct rl_limit limit = rl_limit(ms);

	rl_activity("%s", what);
	while (!rd_complete(&s->l, words)) {
		rd_drain(&s->rd, &s->l);
		RL_CHECK(!rl_passed(&limit), "%s takes more than %u ms: %s", what, rl_bound(ms),
			 rd_ledger_text(&s->l));
		usleep(100);
	}
}

void hosts_connect(struct side *s)
{
	if (s->host) {
		rd_listen(&s->rd);
		rl_step(ST_LISTEN, s->pair + 1);
		RD_OK(dat_cr_accept(rd_request(&s->rd, 20000), s->rd.ep, 0, NULL));
	} else {
		rl_await(ST_LISTEN, s->pair + 1, 20000);
		rd_connect(&s->rd, s->rd.ep, 20000, NULL, 0);
	}
	hosts_wait_until(s, "E", 25000, "connecting");
	hosts_sync(s);
}

/* Transfers */

static uint32_t seed(int host, int kind, int i)
{
	return (uint32_t)(host * 1000 + kind * 100 + i + 1);
}

void hosts_fill(struct side *s, int kind, int host, int n)
{
	for (int i = 0; i < n; i++)
		rl_fill((char *)s->mem.p + hosts_at(kind, i), CHUNK, seed(host, kind, i));
}

void hosts_verify(struct side *s, int kind, int from, int to, int n, size_t len, const char *what)
{
	int host = !s->host; /* all of it came from the peer */

	for (int i = 0; i < n; i++)
		RL_CHECK(rl_differs((char *)s->mem.p + hosts_at(kind, to + i), len,
				    seed(host, 0, from + i)) < 0,
			 "%s: wrong data", what);
}

/* Messages, writes and reads both ways; each side's chunks 0 up of kind 0 are what it sends. */
void hosts_exchange(struct side *s)
{
	int peer = s->pair * 2 + !s->host;

	hosts_fill(s, 0, s->host, CHUNKS);
	for (int i = 0; i < ALWAYS_INLINE; i++)
		rd_post(&s->l, RD_RECV, &s->mem, hosts_at(1, i), PIECE, 0, 0);
	hosts_sync(s);
	for (int i = 0; i < ALWAYS_INLINE; i++) {
		rd_post(&s->l, RD_WRITE, &s->mem, hosts_at(0, ALWAYS_INLINE + i), PIECE, peer,
			hosts_at(2, i));
		rd_post(&s->l, RD_READ, &s->mem, hosts_at(1, ALWAYS_INLINE + i), PIECE, peer,
			hosts_at(0, i));
		rd_post(&s->l, RD_SEND, &s->mem, hosts_at(0, i), PIECE, 0, 0);
	}
	hosts_wait_until(s, "E", 60000, "an exchange");
	RL_CHECK(!s->l.flushed, "something was flushed");
	hosts_sync(s);
	hosts_verify(s, 1, 0, 0, ALWAYS_INLINE, PIECE, "messages");
	hosts_verify(s, 1, 0, ALWAYS_INLINE, ALWAYS_INLINE, PIECE, "reads");
	hosts_verify(s, 2, ALWAYS_INLINE, 0, ALWAYS_INLINE, PIECE, "writes");
	hosts_sync(s);
}

/* The bound counts from the fault; a stopped process cannot detect it until it continues. */
void hosts_detect_end(struct side *s)
{
	rl_await(ST_DONE, 1, 30000);
	hosts_wait_until(s, s->plan->words, GONE_MS, "noticing the end");
	rl_note("%s: host %d noticed after %.1f s, %u of %u operations flushed", s->plan->name,
		s->host, (double)(rl_now() - rl_board->t0) / 1e6, s->l.flushed, s->l.posted);
	RL_CHECK(s->plan->load != LOAD_RECEIVES || s->l.flushed == ALWAYS_INLINE,
		 "not all flushed");
	/* The first host cuts the link before much of its load can have been sent. */
	RL_CHECK(s->host || s->plan->deed != DEED_CUT || s->l.flushed, "nothing was flushed");
	rd_check_order(&s->l);
	RL_CHECK(rd_state(s->rd.ep) == DAT_EP_STATE_DISCONNECTED, "the endpoint's state");
}
