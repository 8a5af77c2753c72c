/* SPDX-License-Identifier: BSD-2-Clause */
/* A small DAT client: hello_client ADDRESS QUALIFIER [ADAPTER] */
#include <dat2/udat.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(DAT_RETURN ret, const char *what)
{
	const char *type, *subtype;

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &subtype);
	fprintf(stderr, "%s: %s %s\n", what, type, subtype);
	exit(1);
}

/* Waits for the next event and checks that it is the expected one. */
static void expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	check(dat_evd_wait(evd, 10000000, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != number ||
	    (number == DAT_DTO_COMPLETION_EVENT &&
	     event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)) {
		fprintf(stderr, "event 0x%x was not expected\n", event.event_number);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *server;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_LMR_TRIPLET out, in;
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_REGION_DESCRIPTION region;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_EP_HANDLE ep;
	char text[2][64] = { "hello, server", "" };

	if (argc < 3 || getaddrinfo(argv[1], NULL, &hints, &server)) {
		fprintf(stderr, "usage: hello_client ADDRESS QUALIFIER [ADAPTER]\n");
		return 2;
	}
	check(dat_ia_open(argc > 3 ? argv[3] : "ofi", 8, &async, &ia), "dat_ia_open");
	check(dat_pz_create(ia, &pz), "dat_pz_create");
	check(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
			     &evd),
	      "dat_evd_create");
	region.for_va = text;
	check(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(text), pz,
			     DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			     DAT_VA_TYPE_VA, &lmr, &out.lmr_context, NULL, NULL, NULL),
	      "dat_lmr_create");
	check(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep), "dat_ep_create");
	out.virtual_address = (DAT_VADDR)(uintptr_t)text[0];
	out.segment_length = sizeof(text[0]);
	in = out;
	in.virtual_address = (DAT_VADDR)(uintptr_t)text[1];

	check(dat_ep_connect(ep, server->ai_addr, strtoull(argv[2], NULL, 0), 5000000, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
	      "dat_ep_connect");
	freeaddrinfo(server);
	expect(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	/* Post the receive for the answer before sending the request. */
	check(dat_ep_post_recv(ep, 1, &in, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	      "dat_ep_post_recv");
	/* The completion is suppressed: the answer implies that the message has arrived. */
	check(dat_ep_post_send(ep, 1, &out, cookie, DAT_COMPLETION_SUPPRESS_FLAG),
	      "dat_ep_post_send");
	expect(evd, DAT_DTO_COMPLETION_EVENT);
	text[1][sizeof(text[1]) - 1] = '\0';
	printf("received \"%s\"\n", text[1]);

	check(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	expect(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return 0;
}
