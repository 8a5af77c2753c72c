/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the larger examples share: open, register, listen, connect, fail. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <dat2/udat.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long enough for a busy machine, short enough to notice a lost peer. */
#define EX_PATIENCE 30000000

struct ex {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
};

struct ex_mem {
	char *p;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT key;        /* for local segments */
	DAT_RMR_CONTEXT remote_key; /* for the peer */
};

/* Command line: [-a ADAPTER] [-n COUNT] [-s SIZE] [ADDRESS QUALIFIER] */
struct ex_args {
	char *adapter;
	unsigned int count;
	size_t size;
	char *address; /* NULL: this is the server */
	DAT_CONN_QUAL qual;
};

__attribute__((noreturn, format(printf, 1, 2))) static inline void ex_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static inline void ex_check(DAT_RETURN ret, const char *what)
{
	const char *type, *subtype;

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &subtype);
	ex_die("%s: %s %s", what, type, subtype);
}

static inline void ex_args(int argc, char **argv, struct ex_args *args)
{
	int c;

	while ((c = getopt(argc, argv, "a:n:s:")) != -1) {
		if (c == 'a')
			args->adapter = optarg;
		else if (c == 'n')
			args->count = (unsigned int)strtoul(optarg, NULL, 0);
		else if (c == 's')
			args->size = strtoul(optarg, NULL, 0);
		else
			exit(2);
	}
	if (argc - optind == 2) {
		args->address = argv[optind];
		args->qual = strtoull(argv[optind + 1], NULL, 0);
	} else if (argc != optind) {
		fprintf(stderr,
			"usage: %s [-a ADAPTER] [-n COUNT] [-s SIZE] "
			"[ADDRESS QUALIFIER]\n",
			argv[0]);
		exit(2);
	}
	if (!args->count || args->size < 4)
		ex_die("COUNT must be at least 1, SIZE at least 4");
}

static inline void ex_open(struct ex *ex, char *adapter)
{
	ex->async = DAT_HANDLE_NULL;
	ex_check(dat_ia_open(adapter, 8, &ex->async, &ex->ia), "dat_ia_open");
	ex_check(dat_pz_create(ex->ia, &ex->pz), "dat_pz_create");
}

/* An abrupt close destroys everything that was created in this instance. */
static inline void ex_close(struct ex *ex)
{
	ex_check(dat_ia_close(ex->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

static inline DAT_EVD_HANDLE ex_evd(struct ex *ex, DAT_EVD_FLAGS streams, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd;

	ex_check(dat_evd_create(ex->ia, 256, cno, streams, &evd), "dat_evd_create");
	return evd;
}

static inline void ex_register(struct ex *ex, struct ex_mem *mem, size_t len)
{
	DAT_REGION_DESCRIPTION region;

	mem->p = calloc(1, len);
	if (!mem->p)
		ex_die("no memory");
	mem->len = len;
	region.for_va = mem->p;
	ex_check(dat_lmr_create(ex->ia, DAT_MEM_TYPE_VIRTUAL, region, len, ex->pz,
				DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &mem->lmr, &mem->key,
				&mem->remote_key, NULL, NULL),
		 "dat_lmr_create");
}

static inline void ex_unregister(struct ex_mem *mem)
{
	ex_check(dat_lmr_free(mem->lmr), "dat_lmr_free");
	free(mem->p);
}

static inline DAT_LMR_TRIPLET ex_segment(const struct ex_mem *mem, size_t offset, size_t len)
{
	DAT_LMR_TRIPLET segment;

	segment.virtual_address = (DAT_VADDR)(uintptr_t)(mem->p + offset);
	segment.segment_length = (DAT_SEG_LENGTH)len;
	segment.lmr_context = mem->key;
	return segment;
}

/* Listens on a free qualifier and prints address and qualifier, the arguments of a client. */
static inline DAT_PSP_HANDLE ex_listen(struct ex *ex, DAT_EVD_HANDLE evd)
{
	char text[NI_MAXHOST];
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_IA_ATTR attr;

	ex_check(dat_psp_create_any(ex->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		 "dat_psp_create_any");
	ex_check(dat_ia_query(ex->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL),
		 "dat_ia_query");
	if (getnameinfo(attr.ia_address_ptr,
			attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								   : sizeof(struct sockaddr_in),
			text, sizeof(text), NULL, 0, NI_NUMERICHOST))
		ex_die("the adapter has no printable address");
	printf("listening on %s %llu\n", text, (unsigned long long)qual);
	fflush(stdout);
	return psp;
}

static inline void ex_connect(DAT_EP_HANDLE ep, const struct ex_args *args, void *priv,
			      size_t priv_len)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *server;

	if (getaddrinfo(args->address, NULL, &hints, &server))
		ex_die("%s is no address", args->address);
	ex_check(dat_ep_connect(ep, server->ai_addr, args->qual, EX_PATIENCE, (DAT_COUNT)priv_len,
				priv, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		 "dat_ep_connect");
	freeaddrinfo(server);
}

/* Exits at an event of another type or a failed operation. */
static inline void ex_judge(const DAT_EVENT *event, DAT_EVENT_NUMBER number)
{
	if (event->event_number != number)
		ex_die("event 0x%x instead of 0x%x", event->event_number, number);
	if (number == DAT_DTO_COMPLETION_EVENT &&
	    event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		ex_die("an operation ended with status %d",
		       event->event_data.dto_completion_event_data.status);
}

static inline void ex_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_EVENT_NUMBER number,
			   DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	do {
		ret = dat_evd_wait(evd, timeout, 1, event, &more);
	} while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
	ex_check(ret, "dat_evd_wait");
	ex_judge(event, number);
}

static inline void ex_expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	ex_wait(evd, EX_PATIENCE, number, &event);
}

static inline void ex_send(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, DAT_UINT64 number)
{
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	ex_check(dat_ep_post_send(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		 "dat_ep_post_send");
}

static inline void ex_recv(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET segment, DAT_UINT64 number)
{
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	ex_check(dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		 "dat_ep_post_recv");
}

/* The client of the two echo servers. */
static inline void ex_echo_client(struct ex *ex, const struct ex_args *args)
{
	DAT_EVD_HANDLE conn = ex_evd(ex, DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL);
	DAT_EVD_HANDLE in = ex_evd(ex, DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	DAT_EVD_HANDLE out = ex_evd(ex, DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	struct ex_mem mem;
	DAT_EP_HANDLE ep;

	ex_register(ex, &mem, 2 * args->size);
	ex_check(dat_ep_create(ex->ia, ex->pz, in, out, conn, NULL, &ep), "dat_ep_create");
	ex_recv(ep, ex_segment(&mem, args->size, args->size), 0);
	ex_connect(ep, args, NULL, 0);
	ex_expect(conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (unsigned int i = 0; i < args->count; i++) {
		memset(mem.p, 'a' + (int)(i % 26), args->size);
		ex_send(ep, ex_segment(&mem, 0, args->size), i);
		ex_expect(out, DAT_DTO_COMPLETION_EVENT);
		ex_expect(in, DAT_DTO_COMPLETION_EVENT);
		if (memcmp(mem.p, mem.p + args->size, args->size))
			ex_die("message %u came back changed", i);
		if (i + 1 < args->count)
			ex_recv(ep, ex_segment(&mem, args->size, args->size), i);
	}
	ex_check(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	ex_expect(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	ex_check(dat_ep_free(ep), "dat_ep_free");
	ex_unregister(&mem);
	printf("%u messages of %zu bytes came back\n", args->count, args->size);
}

#endif
