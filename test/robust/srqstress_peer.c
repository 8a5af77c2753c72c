/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements a peer of the SRQ's endpoints: sends messages and ends connections. */
#include <stdlib.h>
#include <string.h>

#include "srqstress.h"

enum phase { PE_IDLE, PE_PENDING, PE_UP, PE_ENDING, PE_OVER };

struct slot {
	DAT_EP_HANDLE ep;
	enum phase phase;
	uint32_t conn, seq;
	int out;           /* sends not completed */
	unsigned int busy; /* bit per buffer */
	int budget;
	bool fills_queue;
	uint64_t since;
};

struct peer {
	uint32_t thread, epoch;
	uint64_t seed;
	struct rd rd;
	struct rd_mem mem;
	struct slot slot[SS_SLOTS];
};

static size_t offset(int slot, int buf)
{
	return ((size_t)slot * SS_SENDS + (size_t)buf) * (SS_LEN + 64);
}

static void start_connecting(struct peer *p, int i)
{
	struct slot *s = &p->slot[i];
	struct ss_hello hello = { p->epoch, (uint32_t)i, ++s->conn };
	struct sockaddr_storage addr;

	memcpy(&addr, rl_board->addr, sizeof(rl_board->addr));
	RD_OK(dat_ep_connect(s->ep, (DAT_IA_ADDRESS_PTR)&addr, ss_shared->qual[p->thread],
			     rl_bound(30000) * 1000, sizeof(hello), &hello, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG));
	s->seq = 0;
	s->fills_queue = rl_random(&p->seed) % 16 == 0;
	s->budget = 1 + (int)(rl_random(&p->seed) % 2000);
	s->phase = PE_PENDING;
}

/* These connections fill the buffers of the transport, so that their end truncates messages. */
static uint32_t random_length(struct peer *p, const struct slot *s)
{
	uint32_t least = sizeof(struct ss_head), kind = rl_random(&p->seed) % 100;
	uint32_t most = s->fills_queue ? SS_LEN : kind < 90 ? 256 : 2048;

	return least + rl_random(&p->seed) % (most - least + 1);
}

static void send_one(struct peer *p, int i, uint32_t len)
{
	struct slot *s = &p->slot[i];
	int b = __builtin_ctz(~s->busy);
	char *buf = (char *)p->mem.p + offset(i, b);
	struct ss_head head = { s->conn, s->seq++, len, rl_random(&p->seed) };

	memcpy(buf, &head, sizeof(head));
	rl_fill(buf + sizeof(head), len - sizeof(head), head.seed);
	s->busy |= 1u << b;
	s->out++;
	RD_OK(rd_send(s->ep, &p->mem, offset(i, b), len, (uint64_t)i << 8 | (uint64_t)b));
}

static void end_connection(struct peer *p, int i)
{
	struct slot *s = &p->slot[i];
	struct ss_note *note = &ss_shared->note[p->thread][i][s->conn % SS_NOTES];
	uint32_t kind = ss_shared->stop ? 9 : rl_random(&p->seed) % 10;

	s->phase = PE_ENDING;
	s->since = rl_now();
	if (kind == 0) {
		/* No buffer is long enough: the hub's side breaks the connection. */
		send_one(p, i, SS_LEN + 1);
		return;
	}
	if (kind < 4) {
		RD_OK(dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG));
		return;
	}
	note->epoch = p->epoch;
	note->messages = s->seq;
	note->conn = s->conn;
	RD_OK(dat_ep_disconnect(s->ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static void act(struct peer *p, int i)
{
	struct slot *s = &p->slot[i];

	switch (s->phase) {
	case PE_IDLE:
		if (!ss_shared->stop)
			start_connecting(p, i);
		break;
	case PE_UP:
		if (ss_shared->stop)
			s->budget = 0;
		while (s->budget && s->out < SS_SENDS) {
			s->budget--;
			send_one(p, i, random_length(p, s));
		}
		if (!s->budget && s->out < SS_SENDS)
			end_connection(p, i);
		break;
	case PE_ENDING:
		RL_CHECK(rl_now() - s->since < (uint64_t)rl_bound(60000) * 1000,
			 "thread %u, slot %d: connection %u does not end", p->thread, i, s->conn);
		break;
	case PE_OVER:
		if (s->out)
			break;
		RD_OK(dat_ep_reset(s->ep));
		s->phase = PE_IDLE;
		break;
	default:
		break;
	}
}

static void handle_send(struct peer *p, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	unsigned int i = (unsigned int)(d->user_cookie.as_64 >> 8), b = d->user_cookie.as_64 & 255;

	RL_CHECK(i < SS_SLOTS && p->slot[i].ep == d->ep_handle && p->slot[i].busy >> b & 1,
		 "a completion of slot %u, buffer %u", i, b);
	RL_CHECK(d->status == DAT_DTO_SUCCESS || d->status == DAT_DTO_ERR_FLUSHED,
		 "a send has status %d", (int)d->status);
	p->slot[i].busy &= ~(1u << b);
	p->slot[i].out--;
}

static void handle_conn_event(struct peer *p, const DAT_EVENT *ev)
{
	struct slot *s = NULL;

	for (int i = 0; i < SS_SLOTS; i++)
		if (p->slot[i].ep == ev->event_data.connect_event_data.ep_handle)
			s = &p->slot[i];
	RL_CHECK(s, "%s of an unknown EP", rd_event_text(ev->event_number));
	switch ((int)ev->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		RL_CHECK(s->phase == PE_PENDING, "ESTABLISHED in phase %d", (int)s->phase);
		s->phase = PE_UP;
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		RL_CHECK(s->phase == PE_UP || s->phase == PE_ENDING, "%s in phase %d",
			 rd_event_text(ev->event_number), (int)s->phase);
		s->phase = PE_OVER;
		break;
	default:
		RL_FAIL("%s, connection %u", rd_event_text(ev->event_number), s->conn);
	}
}

static bool idle(const struct peer *p)
{
	for (int i = 0; i < SS_SLOTS; i++)
		if (p->slot[i].phase != PE_IDLE)
			return false;
	return true;
}

static void serve(struct peer *p)
{
	DAT_EVENT ev;
	int n = 0;

	for (; rd_poll(p->rd.req, &ev); n++)
		handle_send(p, &ev);
	for (; rd_poll(p->rd.conn, &ev); n++)
		handle_conn_event(p, &ev);
	if (!n && rd_next(p->rd.req, 2, &ev))
		handle_send(p, &ev);
	for (int i = 0; i < SS_SLOTS; i++)
		act(p, i);
}

void ss_peer(uint32_t thread, uint32_t epoch)
{
	static struct peer peer;
	struct peer *p = &peer;
	size_t size = offset(SS_SLOTS, 0);
	void *mem = calloc(1, size);

	RL_CHECK(mem, "no memory");
	p->thread = thread;
	p->epoch = epoch;
	p->seed = (uint64_t)ss_seed * 100003 + epoch;
	rd_open(&p->rd, 0, 128);
	rd_reg(&p->rd, &p->mem, mem, size);
	for (int i = 0; i < SS_SLOTS; i++)
		p->slot[i].ep = rd_ep_create(&p->rd, SS_SENDS + 1);
	while (!ss_shared->stop || !idle(p))
		serve(p);
	for (int i = 0; i < SS_SLOTS; i++)
		RD_OK(dat_ep_free(p->slot[i].ep));
	rd_unreg(&p->mem);
	rd_close(&p->rd);
	free(mem);
}
