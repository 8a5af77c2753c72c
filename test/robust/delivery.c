/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that all messages arrive whose sends completed before the sender disconnected.
 *
 * The sender waits for the completion of each send and then ends the connection in some way; the
 * receiver, which has receives posted and is sometimes slow, must get all messages first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "rdat.h"

enum step { ST_LISTEN, ST_UP, ST_SENT, ST_RECEIVED };

#define MESSAGES 200
#define SIZE 4096
#define RECVS 8

enum ending { GRACEFUL, ABRUPT, FREES, CLOSES, EXITS };

struct scene {
	const char *name;
	enum ending ending;
	unsigned int slow_us; /* delay of the receiver for each message */
	unsigned int late_ms; /* ... before the first */
	bool talks_back;      /* the receiver sends all the time */
	bool reads;           /* the sender has receives for that */
	bool stays;           /* ... and closes its IA only when all has arrived */
};

static const struct scene scenes[] = {
	{ "graceful", GRACEFUL, 0, 0, false, false, false },
	{ "graceful-slow", GRACEFUL, 2000, 0, false, false, false },
	{ "graceful-late", GRACEFUL, 0, 500, false, false, false },
	{ "graceful-talking-back", GRACEFUL, 500, 0, true, true, true },
	{ "graceful-talking-back-unread", GRACEFUL, 500, 0, true, false, true },
	{ "graceful-talking-back-closes", GRACEFUL, 500, 0, true, true, false },
	{ "abrupt", ABRUPT, 0, 0, false, false, false },
	{ "abrupt-slow", ABRUPT, 2000, 0, false, false, false },
	{ "abrupt-late", ABRUPT, 0, 500, false, false, false },
	{ "abrupt-talking-back", ABRUPT, 500, 0, true, true, true },
	{ "abrupt-talking-back-unread", ABRUPT, 500, 0, true, false, true },
	{ "abrupt-talking-back-closes", ABRUPT, 500, 0, true, true, false },
	{ "free-slow", FREES, 2000, 0, false, false, false },
	{ "close-slow", CLOSES, 2000, 0, false, false, false },
	{ "exit-slow", EXITS, 2000, 0, false, false, false },
};

static uint8_t area[(RECVS + 2) * SIZE];

/* Sends do not complete if the receiver posts no more receives. */
static unsigned int messages_of(const struct scene *s)
{
	return s->late_ms ? RECVS : MESSAGES;
}

static void sender(void *arg)
{
	const struct scene *s = arg;
	unsigned int done = 0, messages = messages_of(s);
	struct rd_mem mem;
	struct rd rd;
	DAT_EVENT ev;

	rd_open(&rd, 0, 1024);
	rd_reg(&rd, &mem, area, sizeof(area));
	rd.ep = rd_ep_create(&rd, 256);
	for (uint64_t i = 0; s->reads && i < RECVS; i++)
		RD_OK(rd_recv(rd.ep, &mem, (1 + i) * SIZE, SIZE, i));
	rl_await(ST_LISTEN, 1, 10000);
	rd_connect_up(&rd, rd.ep);
	rl_await(ST_UP, 1, 10000);
	rl_fill(area, SIZE, 9);
	for (uint64_t i = 0; i < messages; i++)
		RD_OK(rd_send(rd.ep, &mem, 0, SIZE, i));
	rl_activity("waiting for the sends");
	for (uint64_t give_up = rl_now() + 8000000; done < messages;) {
		RL_CHECK(rl_now() < give_up, "%u of %u sends have completed", done, messages);
		if (rd_next(rd.req, 1, &ev)) {
			RL_CHECK(!ev.event_data.dto_completion_event_data.status,
				 "send %u has status %d", done,
				 (int)ev.event_data.dto_completion_event_data.status);
			done++;
		}
		while (s->reads && rd_poll(rd.recv, &ev))
			RD_OK(rd_recv(rd.ep, &mem, SIZE, SIZE, 0));
	}
	rl_activity("ending");
	rl_step(ST_SENT, 1);
	switch (s->ending) {
	case GRACEFUL:
	case ABRUPT:
		RD_OK(dat_ep_disconnect(rd.ep, s->ending == GRACEFUL ? DAT_CLOSE_GRACEFUL_FLAG
								     : DAT_CLOSE_ABRUPT_FLAG));
		RL_CHECK(rd_await(rd.conn, 3000, &ev) &&
				 (ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
				  ev.event_number == DAT_CONNECTION_EVENT_BROKEN),
			 "no end of the connection");
		break;
	case FREES:
		RD_OK(dat_ep_free(rd.ep));
		rd.ep = DAT_HANDLE_NULL;
		break;
	case CLOSES:
		RD_OK(dat_ia_close(rd.ia, DAT_CLOSE_ABRUPT_FLAG));
		return;
	case EXITS:
		_exit(0);
	}
	if (s->stays)
		rl_await(ST_RECEIVED, 1, 5000);
	rd_unreg(&mem);
	rd_close(&rd);
}

static void talk_back(struct rd *rd, struct rd_mem *mem, unsigned int *out)
{
	DAT_EVENT ev;

	while (rd_poll(rd->req, &ev))
		(*out)--;
	if (*out < 16 && rd_state(rd->ep) == DAT_EP_STATE_CONNECTED &&
	    rd_send(rd->ep, mem, RECVS * SIZE, SIZE, 1) == DAT_SUCCESS)
		(*out)++;
}

static void receiver(void *arg)
{
	const struct scene *s = arg;
	unsigned int got = 0, out = 0, messages = messages_of(s);
	struct rd_mem mem;
	struct rd rd;
	DAT_EVENT ev;

	rd_open(&rd, 0, 1024);
	rd_reg(&rd, &mem, area, sizeof(area));
	rd.ep = rd_ep_create(&rd, 256);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	for (uint64_t i = 0; i < RECVS; i++)
		RD_OK(rd_recv(rd.ep, &mem, i * SIZE, SIZE, i));
	rd_accept_up(&rd, rd.ep);
	rl_step(ST_UP, 1);
	if (s->late_ms) {
		rl_await(ST_SENT, 1, 10000);
		rl_sleep_ms(s->late_ms);
	}
	while (got < messages) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev.event_data.dto_completion_event_data;
		uint64_t slot;

		rl_activity("receiving message %u", got);
		if (s->talks_back)
			talk_back(&rd, &mem, &out);
		RL_CHECK(rd_await(rd.recv, 4000, &ev), "message %u of %u does not arrive", got,
			 messages);
		RL_CHECK(d->status == DAT_DTO_SUCCESS, "message %u of %u: status %d", got, messages,
			 (int)d->status);
		slot = d->user_cookie.as_64;
		RL_CHECK(rl_differs(area + slot * SIZE, SIZE, 9) < 0, "message %u differs", got);
		got++;
		if (s->slow_us)
			usleep(s->slow_us);
		if (got + RECVS <= messages)
			RD_OK(rd_recv(rd.ep, &mem, slot * SIZE, SIZE, slot));
	}
	rl_step(ST_RECEIVED, 1);
	RL_CHECK(rd_await(rd.conn, 3000, &ev) &&
			 (ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			  ev.event_number == DAT_CONNECTION_EVENT_BROKEN),
		 "no end of the connection");
	rd_unreg(&mem);
	rd_close(&rd);
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (!rl_begin(scenes[i].name, 15000))
			continue;
		rl_start("receiver", receiver, (void *)(uintptr_t)&scenes[i]);
		rl_start("sender", sender, (void *)(uintptr_t)&scenes[i]);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 60, run);
}
