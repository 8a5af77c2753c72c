/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves DAT connections from a program's own event loop.
 *
 * event_loop [-a ADAPTER] [-n CLIENTS] [-s SIZE]                      the server: echoes messages,
 *                                       and exits after CLIENTS clients have disconnected
 * event_loop [-a ADAPTER] [-n MESSAGES] [-s SIZE] ADDRESS QUALIFIER   a client
 *
 * One CNO with a file descriptor serves all EVDs. When poll(2) reports that it is readable, the
 * program takes the trigger first and then dequeues the events of every EVD: an event that arrives
 * meanwhile makes the descriptor readable again.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

#include "common.h"

#define SLOTS 4

struct client;

struct slot {
	struct client *client;
	size_t offset;
	bool sending;
};

struct client {
	DAT_EP_HANDLE ep;
	struct ex_mem mem;
	struct slot slots[SLOTS];
};

struct server {
	struct ex ex;
	DAT_CNO_HANDLE cno;
	int fd;
	DAT_EVD_HANDLE requests; /* connection requests */
	DAT_EVD_HANDLE work;     /* connections and completions, in order */
	size_t size;
	unsigned int clients_left;
};

static void post_slot(struct client *c, struct slot *slot, size_t len)
{
	DAT_LMR_TRIPLET segment = ex_segment(&c->mem, slot->offset, len);
	DAT_DTO_COOKIE cookie = { .as_ptr = slot };

	if (slot->sending)
		ex_check(dat_ep_post_send(c->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
			 "dat_ep_post_send");
	else
		ex_check(dat_ep_post_recv(c->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
			 "dat_ep_post_recv");
}

static void accept_client(struct server *srv, DAT_CR_HANDLE request)
{
	struct client *c = calloc(1, sizeof(*c));
	DAT_CONTEXT context = { .as_ptr = c };

	if (!c)
		ex_die("no memory");
	ex_register(&srv->ex, &c->mem, SLOTS * srv->size);
	ex_check(dat_ep_create(srv->ex.ia, srv->ex.pz, srv->work, srv->work, srv->work, NULL,
			       &c->ep),
		 "dat_ep_create");
	/* Connection events name the endpoint only. */
	ex_check(dat_set_consumer_context(c->ep, context), "dat_set_consumer_context");
	for (int i = 0; i < SLOTS; i++) {
		c->slots[i].client = c;
		c->slots[i].offset = (size_t)i * srv->size;
		post_slot(c, &c->slots[i], srv->size);
	}
	ex_check(dat_cr_accept(request, c->ep, 0, NULL), "dat_cr_accept");
}

static void lose_client(struct server *srv, DAT_EP_HANDLE ep)
{
	DAT_CONTEXT context;
	struct client *c;

	ex_check(dat_get_consumer_context(ep, &context), "dat_get_consumer_context");
	c = context.as_ptr;
	ex_check(dat_ep_free(c->ep), "dat_ep_free");
	ex_unregister(&c->mem);
	free(c);
	srv->clients_left--;
}

/* Sends a message back from its receive buffer, which is then posted again. */
static void completed(const struct server *srv, const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	struct slot *slot = d->user_cookie.as_ptr;
	size_t len = srv->size;

	if (d->status != DAT_DTO_SUCCESS)
		return; /* the event that ends the connection follows */
	if (!slot->sending)
		len = d->transfered_length;
	slot->sending = !slot->sending;
	post_slot(slot->client, slot, len);
}

static void handle(struct server *srv, const DAT_EVENT *event)
{
	const DAT_EVENT_DATA *d = &event->event_data;

	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		accept_client(srv, d->cr_arrival_event_data.cr_handle);
		break;
	case DAT_DTO_COMPLETION_EVENT:
		completed(srv, &d->dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	default:
		lose_client(srv, d->connect_event_data.ep_handle);
		break;
	}
}

static void empty(struct server *srv, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(evd, &event)) == DAT_SUCCESS)
		handle(srv, &event);
	if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
		ex_check(ret, "dat_evd_dequeue");
}

static int signal_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void loop(struct server *srv, int signals)
{
	struct pollfd fds[2] = { { .fd = srv->fd, .events = POLLIN },
				 { .fd = signals, .events = POLLIN } };
	DAT_EVD_HANDLE hint;

	while (srv->clients_left && !(fds[1].revents & POLLIN)) {
		if (poll(fds, 2, -1) < 0 || !(fds[0].revents & POLLIN))
			continue;
		dat_cno_trigger(srv->cno, &hint);
		empty(srv, srv->requests);
		empty(srv, srv->work);
	}
}

static void serve(const struct ex_args *args)
{
	struct server srv = { .size = args->size, .clients_left = args->count };
	int signals = signal_fd();

	ex_open(&srv.ex, args->adapter);
	ex_check(dat_cno_fd_create(srv.ex.ia, &srv.fd, &srv.cno), "dat_cno_fd_create");
	srv.requests = ex_evd(&srv.ex, DAT_EVD_CR_FLAG, srv.cno);
	srv.work = ex_evd(&srv.ex, DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, srv.cno);
	ex_listen(&srv.ex, srv.requests);
	loop(&srv, signals);
	printf("%u clients have come and gone\n", args->count - srv.clients_left);
	ex_close(&srv.ex);
	close(signals);
}

int main(int argc, char **argv)
{
	struct ex_args args = { .adapter = "ofi", .count = 1, .size = 256 };
	struct ex ex;

	ex_args(argc, argv, &args);
	if (!args.address) {
		serve(&args);
		return 0;
	}
	ex_open(&ex, args.adapter);
	ex_echo_client(&ex, &args);
	ex_close(&ex);
	return 0;
}
