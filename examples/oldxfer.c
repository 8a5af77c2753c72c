/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file transfer for uDAPL 1.2, as programs were written in 2005; docs/walkthrough.md moves it to
 * dat-ofi.
 *
 *	cc -O -o oldxfer oldxfer.c -ldat
 *
 * Server, which prints what arrives and ends:
 *	oldxfer [-d adapter] port
 * Client, which writes the file, or "hello", to the server:
 *	oldxfer [-d adapter] [-n attempts] port host [file]
 *
 * The server's private data describes its buffer. The client writes to it by RDMA and then sends a
 * message with the length.
 */
#include <dat/udat.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADAPTER "OpenIB-cma"
#define BUFSIZE (64 * 1024)
#define MAGIC 0x58464552

struct hello {
	uint32_t magic;
	uint32_t key;
	uint64_t address;
};

static char *adapter = ADAPTER;
static int attempts = 100;
static char buf[BUFSIZE];
static uint32_t msg; /* the length of the file, in network order */

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, cr_evd, conn_evd, dto_evd;
static DAT_EP_HANDLE ep;
static DAT_LMR_CONTEXT buf_lkey, msg_lkey;
static DAT_RMR_CONTEXT buf_rkey;

static void check(DAT_RETURN ret, const char *what)
{
	const char *major, *minor;

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "oldxfer: %s: %s %s\n", what, major, minor);
	exit(1);
}

/* Waits for an event, for at most a minute, and ends the program if another one is reported. */
static DAT_EVENT expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	check(dat_evd_wait(evd, 60 * 1000000, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != number) {
		fprintf(stderr, "oldxfer: event 0x%x instead of 0x%x\n", event.event_number,
			number);
		exit(1);
	}
	return event;
}

static void wait_dto(void)
{
	DAT_EVENT event = expect(dto_evd, DAT_DTO_COMPLETION_EVENT);

	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS) {
		fprintf(stderr, "oldxfer: completion with status %d\n",
			(int)event.event_data.dto_completion_event_data.status);
		exit(1);
	}
}

static void reg(void *p, DAT_VLEN len, DAT_LMR_CONTEXT *lkey, DAT_RMR_CONTEXT *rkey)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;

	region.for_va = p;
	check(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, len, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
			     lkey, rkey, NULL, NULL),
	      "dat_lmr_create");
}

static void setup(void)
{
	DAT_RMR_CONTEXT unused;

	check(dat_ia_open(adapter, 8, &async_evd, &ia), "dat_ia_open");
	check(dat_pz_create(ia, &pz), "dat_pz_create");
	check(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd), "dat_evd_create");
	check(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd),
	      "dat_evd_create");
	check(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto_evd), "dat_evd_create");
	check(dat_ep_create(ia, pz, dto_evd, dto_evd, conn_evd, NULL, &ep), "dat_ep_create");
	reg(buf, sizeof(buf), &buf_lkey, &buf_rkey);
	reg(&msg, sizeof(msg), &msg_lkey, &unused);
}

static DAT_LMR_TRIPLET segment(void *p, DAT_LMR_CONTEXT lkey, uint32_t len)
{
	DAT_LMR_TRIPLET iov;

	memset(&iov, 0, sizeof(iov));
	iov.lmr_context = lkey;
	iov.virtual_address = (DAT_VADDR)(uintptr_t)p;
	iov.segment_length = len;
	return iov;
}

static void server(DAT_CONN_QUAL port)
{
	DAT_LMR_TRIPLET iov = segment(&msg, msg_lkey, sizeof(msg));
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	struct hello hello = { MAGIC, buf_rkey, (uintptr_t)buf };
	DAT_CR_HANDLE cr;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;

	check(dat_ep_post_recv(ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	      "dat_ep_post_recv");
	check(dat_psp_create(ia, port, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	for (;;) {
		cr = expect(cr_evd, DAT_CONNECTION_REQUEST_EVENT)
			     .event_data.cr_arrival_event_data.cr_handle;
		check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
		if (param.private_data_size >= 4 && !memcmp(param.private_data, "xfer", 4))
			break;
		check(dat_cr_reject(cr), "dat_cr_reject");
	}
	check(dat_cr_accept(cr, ep, sizeof(hello), &hello), "dat_cr_accept");
	expect(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	wait_dto();
	printf("received %u bytes: %.*s\n", ntohl(msg), (int)strcspn(buf, "\n"), buf);
	expect(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* The server may not listen yet. */
static struct hello connect_to(const char *host, DAT_CONN_QUAL port)
{
	struct hostent *he = gethostbyname(host);
	struct sockaddr_in sin;
	struct hello hello;
	DAT_EVENT event;
	DAT_COUNT more;

	if (!he) {
		fprintf(stderr, "oldxfer: unknown host %s\n", host);
		exit(1);
	}
	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	memcpy(&sin.sin_addr, he->h_addr_list[0], sizeof(sin.sin_addr));
	for (;;) {
		check(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&sin, port, 10 * 1000000, 4, "xfer",
				     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		      "dat_ep_connect");
		check(dat_evd_wait(conn_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more),
		      "dat_evd_wait");
		if (event.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED || --attempts <= 0)
			break;
		check(dat_ep_reset(ep), "dat_ep_reset");
	}
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		fprintf(stderr, "oldxfer: no connection, event 0x%x\n", event.event_number);
		exit(1);
	}
	memcpy(&hello, event.event_data.connect_event_data.private_data, sizeof(hello));
	if (event.event_data.connect_event_data.private_data_size < (int)sizeof(hello) ||
	    hello.magic != MAGIC) {
		fprintf(stderr, "oldxfer: %s is no oldxfer\n", host);
		exit(1);
	}
	return hello;
}

static void client(const char *host, DAT_CONN_QUAL port, const char *file)
{
	struct hello hello = connect_to(host, port);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	DAT_RMR_TRIPLET target;
	DAT_LMR_TRIPLET iov;
	size_t len = 6;
	FILE *f;

	strcpy(buf, "hello\n");
	if (file) {
		f = fopen(file, "r");
		if (!f) {
			perror(file);
			exit(1);
		}
		len = fread(buf, 1, sizeof(buf), f);
		fclose(f);
	}
	msg = htonl((uint32_t)len);
	memset(&target, 0, sizeof(target));
	target.rmr_context = hello.key;
	target.target_address = hello.address;
	target.segment_length = len;
	iov = segment(buf, buf_lkey, (uint32_t)len);
	check(dat_ep_post_rdma_write(ep, 1, &iov, cookie, &target, DAT_COMPLETION_SUPPRESS_FLAG),
	      "dat_ep_post_rdma_write");
	iov = segment(&msg, msg_lkey, sizeof(msg));
	check(dat_ep_post_send(ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	      "dat_ep_post_send");
	wait_dto();
	printf("wrote %u bytes to %s\n", (unsigned int)len, host);
	check(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	expect(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "d:n:")) == 'd' || opt == 'n') {
		if (opt == 'd')
			adapter = optarg;
		else
			attempts = atoi(optarg);
	}
	if (opt != -1 || argc - optind < 1 || argc - optind > 3) {
		fprintf(stderr, "usage: oldxfer [-d adapter] [-n attempts] port [host [file]]\n");
		return 2;
	}
	setup();
	if (argc - optind == 1)
		server(strtoul(argv[optind], NULL, 10));
	else
		client(argv[optind + 1], strtoul(argv[optind], NULL, 10), argv[optind + 2]);
	check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return 0;
}
