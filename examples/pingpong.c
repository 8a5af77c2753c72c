/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the round trip of a message when both sides poll.
 *
 * pingpong [-a ADAPTER] [-n COUNT] [-s SIZE]                        the server
 * pingpong [-a ADAPTER] [-n COUNT] [-s SIZE] ADDRESS QUALIFIER      the client
 */
#include <time.h>

#include "common.h"

struct side {
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE conn, in, out;
	DAT_LMR_TRIPLET to_send, to_receive;
};

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* Polls for the next completion: lowest latency, but keeps a processor busy. */
static void poll_for(DAT_EVD_HANDLE evd)
{
	double give_up = now_us() + EX_PATIENCE;
	DAT_EVENT event;
	DAT_RETURN ret;

	while (DAT_GET_TYPE(ret = dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY)
		if (now_us() > give_up)
			ex_die("nothing came");
	ex_check(ret, "dat_evd_dequeue");
	ex_judge(&event, DAT_DTO_COMPLETION_EVENT);
}

/* Post the next receive before sending the message that the peer will answer. */
static void ping(struct side *s)
{
	ex_send(s->ep, s->to_send, 0);
	poll_for(s->out);
}

static void pong(struct side *s, int more)
{
	poll_for(s->in);
	if (more)
		ex_recv(s->ep, s->to_receive, 0);
}

static void serve(struct ex *ex, struct side *s)
{
	DAT_EVD_HANDLE cr = ex_evd(ex, DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	DAT_PSP_HANDLE psp = ex_listen(ex, cr);
	DAT_EVENT event;

	ex_wait(cr, DAT_TIMEOUT_INFINITE, DAT_CONNECTION_REQUEST_EVENT, &event);
	ex_check(dat_psp_free(psp), "dat_psp_free");
	ex_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->ep, 0, NULL),
		 "dat_cr_accept");
	ex_expect(s->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void play(struct side *s, const struct ex_args *args)
{
	double start = now_us();

	for (unsigned int i = 1; i <= args->count; i++) {
		if (args->address)
			ping(s);
		pong(s, i < args->count);
		if (!args->address)
			ping(s);
	}
	printf("%u round trips of %zu bytes, %.2f us one way\n", args->count, args->size,
	       (now_us() - start) / args->count / 2);
}

int main(int argc, char **argv)
{
	struct ex_args args = { .adapter = "ofi", .count = 1000, .size = 64 };
	struct ex_mem mem;
	struct side s;
	struct ex ex;

	ex_args(argc, argv, &args);
	ex_open(&ex, args.adapter);
	s.conn = ex_evd(&ex, DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL);
	s.in = ex_evd(&ex, DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	s.out = ex_evd(&ex, DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	ex_register(&ex, &mem, 2 * args.size);
	s.to_send = ex_segment(&mem, 0, args.size);
	s.to_receive = ex_segment(&mem, args.size, args.size);
	ex_check(dat_ep_create(ex.ia, ex.pz, s.in, s.out, s.conn, NULL, &s.ep), "dat_ep_create");
	ex_recv(s.ep, s.to_receive, 0);
	if (args.address) {
		ex_connect(s.ep, &args, NULL, 0);
		ex_expect(s.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	} else {
		serve(&ex, &s);
	}
	play(&s, &args);
	if (args.address)
		ex_check(dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	ex_expect(s.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	ex_check(dat_ep_free(s.ep), "dat_ep_free");
	ex_unregister(&mem);
	ex_close(&ex);
	return 0;
}
