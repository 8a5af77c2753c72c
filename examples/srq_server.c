/* SPDX-License-Identifier: BSD-2-Clause */
/* A server whose connections share one pool of receive buffers.
 *
 * srq_server [-a ADAPTER] [-n CLIENTS] [-s SIZE]                      the server: echoes messages,
 *                                       and exits after CLIENTS clients have disconnected
 * srq_server [-a ADAPTER] [-n MESSAGES] [-s SIZE] ADDRESS QUALIFIER   a client
 *
 * Buffers belong to the shared receive queue until a message arrives on any connection. The
 * completion names the connection; the cookie names the buffer. Exit status 77: the adapter has no
 * shared receive queues.
 */
#include "common.h"

#define BUFFERS 32

struct server {
	struct ex ex;
	DAT_EVD_HANDLE work;
	DAT_SRQ_HANDLE srq;
	struct ex_mem mem; /* all buffers, one after the other */
	size_t size;
	unsigned int clients_left;
};

static int has_srqs(struct ex *ex)
{
	DAT_PROVIDER_ATTR attr;

	ex_check(dat_ia_query(ex->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
		 "dat_ia_query");
	return attr.srq_supported;
}

static void give_back(struct server *srv, DAT_UINT64 number)
{
	DAT_LMR_TRIPLET segment = ex_segment(&srv->mem, number * srv->size, srv->size);
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	ex_check(dat_srq_post_recv(srv->srq, 1, &segment, cookie), "dat_srq_post_recv");
}

static void make_srq(struct server *srv)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = BUFFERS,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };

	ex_register(&srv->ex, &srv->mem, BUFFERS * srv->size);
	ex_check(dat_srq_create(srv->ex.ia, srv->ex.pz, &attr, &srv->srq), "dat_srq_create");
	for (DAT_UINT64 i = 0; i < BUFFERS; i++)
		give_back(srv, i);
}

static void accept_client(struct server *srv, DAT_CR_HANDLE request)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.max_recv_dtos = DAT_HW_DEFAULT, /* no high watermark */
		.max_request_dtos = BUFFERS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EP_HANDLE ep;

	ex_check(dat_ep_create_with_srq(srv->ex.ia, srv->ex.pz, srv->work, srv->work, srv->work,
					srv->srq, &attr, &ep),
		 "dat_ep_create_with_srq");
	ex_check(dat_cr_accept(request, ep, 0, NULL), "dat_cr_accept");
}

static void completed(struct server *srv, const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	DAT_UINT64 number = d->user_cookie.as_64;

	/* A buffer that is not being sent returns to the SRQ, whatever the status. */
	if (d->operation == DAT_DTO_RECEIVE && d->status == DAT_DTO_SUCCESS)
		ex_send(d->ep_handle,
			ex_segment(&srv->mem, number * srv->size, d->transfered_length), number);
	else
		give_back(srv, number);
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
		ex_check(dat_ep_free(d->connect_event_data.ep_handle), "dat_ep_free");
		srv->clients_left--;
		break;
	}
}

static void serve(struct ex *ex, const struct ex_args *args)
{
	struct server srv = { .ex = *ex, .size = args->size, .clients_left = args->count };
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	/* One EVD for connection requests, connections and completions. */
	srv.work = ex_evd(ex, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
			  DAT_HANDLE_NULL);
	make_srq(&srv);
	ex_listen(ex, srv.work);
	while (srv.clients_left) {
		ret = dat_evd_wait(srv.work, DAT_TIMEOUT_INFINITE, 1, &event, &more);
		if (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
			continue;
		ex_check(ret, "dat_evd_wait");
		handle(&srv, &event);
	}
	printf("%u clients have come and gone\n", args->count);
	ex_check(dat_srq_free(srv.srq), "dat_srq_free");
	ex_unregister(&srv.mem);
}

int main(int argc, char **argv)
{
	struct ex_args args = { .adapter = "ofi", .count = 1, .size = 256 };
	struct ex ex;

	ex_args(argc, argv, &args);
	ex_open(&ex, args.adapter);
	if (!has_srqs(&ex)) {
		fprintf(stderr, "this adapter has no shared receive queues\n");
		ex_close(&ex);
		return 77;
	}
	if (args.address)
		ex_echo_client(&ex, &args);
	else
		serve(&ex, &args);
	ex_close(&ex);
	return 0;
}
