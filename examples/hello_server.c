/* SPDX-License-Identifier: BSD-2-Clause */
/* A small DAT server, which answers one message: hello_server [ADAPTER] */
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
static DAT_EVENT expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	check(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != number ||
	    (number == DAT_DTO_COMPLETION_EVENT &&
	     event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)) {
		fprintf(stderr, "event 0x%x was not expected\n", event.event_number);
		exit(1);
	}
	return event;
}

static void tell_address(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual)
{
	char text[NI_MAXHOST];
	DAT_IA_ATTR attr;

	check(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL), "dat_ia_query");
	getnameinfo(attr.ia_address_ptr,
		    attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							       : sizeof(struct sockaddr_in),
		    text, sizeof(text), NULL, 0, NI_NUMERICHOST);
	printf("listening on %s %llu\n", text, (unsigned long long)qual);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET segment;
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_CONN_QUAL qual;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	char text[64] = "";

	check(dat_ia_open(argc > 1 ? argv[1] : "ofi", 8, &async, &ia), "dat_ia_open");
	check(dat_pz_create(ia, &pz), "dat_pz_create");
	/* One EVD for all events; the connection is reported before the first message. */
	check(dat_evd_create(ia, 8, DAT_HANDLE_NULL,
			     DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, &evd),
	      "dat_evd_create");
	region.for_va = text;
	check(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(text), pz,
			     DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			     DAT_VA_TYPE_VA, &lmr, &segment.lmr_context, NULL, NULL, NULL),
	      "dat_lmr_create");
	check(dat_psp_create_any(ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp),
	      "dat_psp_create_any");
	check(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep), "dat_ep_create");
	tell_address(ia, qual);

	/* Post the receive before the peer can send its first message. */
	segment.virtual_address = (DAT_VADDR)(uintptr_t)text;
	segment.segment_length = sizeof(text);
	check(dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	      "dat_ep_post_recv");
	event = expect(evd, DAT_CONNECTION_REQUEST_EVENT);
	check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
	      "dat_cr_accept");
	expect(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect(evd, DAT_DTO_COMPLETION_EVENT);
	text[sizeof(text) - 1] = '\0';
	printf("received \"%s\"\n", text);

	strcpy(text, "hello, client");
	check(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	      "dat_ep_post_send");
	expect(evd, DAT_DTO_COMPLETION_EVENT);
	expect(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* An abrupt close destroys everything that was created above. */
	check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return 0;
}
