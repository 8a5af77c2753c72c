/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the code of the EXAMPLES section of a page of section 3: snippets PAGE. snippets.sh writes
 * snippets.inc, a function per page, and compiles this file for each version of the API.
 *
 * The objects below are those that the code may use; dat(7) describes them. What else a page needs
 * it names with "given:", one of the situations in the table.
 */
#ifdef DAT12
#include <dat/dat_ofi.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>
#else
#include <dat2/dat_ib_counters.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_ofi.h>
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#endif
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 4096

enum given {
	GIVEN_CONNECTED,   /* ep is connected to an EP of the peer, which has posted receives */
	GIVEN_SENDER,      /* likewise, and the peer sends two messages */
	GIVEN_MESSAGE,     /* likewise, and two receives are posted to ep */
	GIVEN_LISTENER,    /* ep is not connected, the peer listens at host and port */
	GIVEN_REQUEST,     /* psp listens, and the peer's request is reported on cr_evd */
	GIVEN_CALLER,      /* the peer connects to port until there is a connection */
	GIVEN_UNCONNECTED, /* ep is not connected, port is free */
	GIVEN_MEMBERS,     /* the code runs in two processes, which know the members of both */
	GIVEN_GROUP,       /* likewise, and both are the group */
};

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, recv_evd, request_evd, connect_evd, cr_evd;
static DAT_CNO_HANDLE cno;
static DAT_PZ_HANDLE pz;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT context;
static DAT_RMR_HANDLE rmr;
static DAT_SRQ_HANDLE srq;
static DAT_PSP_HANDLE psp;
static DAT_EP_HANDLE ep;
static char *buffer;
static const unsigned int size = SIZE;
static DAT_RMR_TRIPLET remote;
static DAT_IA_ADDRESS_PTR host;
static DAT_CONN_QUAL port;

static struct {
	DAT_EVD_HANDLE recv, request, connect, cr;
	DAT_PZ_HANDLE pz;
	DAT_LMR_TRIPLET segment;
	char *buffer;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	enum given given;
} peer;

__attribute__((noreturn)) static void fail(const char *call, DAT_RETURN ret)
{
	const char *type, *subtype;

	dat_strerror(ret, &type, &subtype);
	errx(1, "%s: %s %s", call, type, subtype);
}

static void check(DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS)
		fail(call, ret);
}

/* What a page states in a hidden line behind its code. */
__attribute__((unused)) static void holds(int condition, const char *text)
{
	if (!condition)
		errx(1, "after the code this does not hold: %s", text);
}

static DAT_EVD_HANDLE make_evd(DAT_EVD_FLAGS streams, DAT_CNO_HANDLE its_cno)
{
	DAT_EVD_HANDLE evd;

	check(dat_evd_create(ia, 64, its_cno, streams, &evd), "dat_evd_create");
	return evd;
}

/* Registers SIZE bytes of shared pages, which every kind of region may use. */
static char *make_region(DAT_PZ_HANDLE its_pz, DAT_LMR_HANDLE *region_lmr, DAT_LMR_CONTEXT *key,
			 DAT_RMR_CONTEXT *remote_key)
{
	DAT_REGION_DESCRIPTION region;
	int rights = DAT_MEM_PRIV_ALL_FLAG;

	region.for_va = aligned_alloc(SIZE, SIZE);
	if (!region.for_va)
		errx(1, "no memory");
	memset(region.for_va, 0, SIZE);
#ifdef DAT12
	check(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, its_pz,
			     (DAT_MEM_PRIV_FLAGS)rights, region_lmr, key, remote_key, NULL, NULL),
	      "dat_lmr_create");
#else
	rights |= DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	check(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, its_pz,
			     (DAT_MEM_PRIV_FLAGS)rights, DAT_VA_TYPE_VA, region_lmr, key,
			     remote_key, NULL, NULL),
	      "dat_lmr_create");
#endif
	return region.for_va;
}

static void peer_make_ep(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	check(dat_ep_create(ia, peer.pz, peer.recv, peer.request, peer.connect, NULL, &peer.ep),
	      "dat_ep_create");
	for (int i = 0; i < 8; i++)
		check(dat_ep_post_recv(peer.ep, 1, &peer.segment, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_recv");
}

/* 1: the connection is there, 0: not, -1: the IA is being closed. */
static int peer_connection(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	do {
		if (dat_evd_wait(peer.connect, DAT_TIMEOUT_INFINITE, 1, &event, &more) !=
		    DAT_SUCCESS)
			return -1;
	} while (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	return event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

static void *peer_listen(void *unused)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_LMR_TRIPLET hello = peer.segment;
	DAT_EVENT event;
	DAT_COUNT more;

	(void)unused;
	hello.segment_length = 6;
	while (dat_evd_wait(peer.cr, DAT_TIMEOUT_INFINITE, 1, &event, &more) == DAT_SUCCESS) {
		peer_make_ep();
		check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, peer.ep, 0,
				    NULL),
		      "dat_cr_accept");
		if (peer_connection() < 0)
			break;
		if (peer.given != GIVEN_SENDER && peer.given != GIVEN_MESSAGE)
			continue;
		/* Either may fail: the code may have ended, and the IA is being closed. */
		for (int i = 0; i < 2; i++)
			(void)dat_ep_post_send(peer.ep, 1, &hello, cookie,
					       DAT_COMPLETION_DEFAULT_FLAG);
	}
	return NULL;
}

static DAT_RETURN peer_connect(void)
{
	return dat_ep_connect(peer.ep, host, port, 5000000, 6, (DAT_PVOID) "hello",
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void *peer_call(void *unused)
{
	(void)unused;
	while (peer_connect() == DAT_SUCCESS && !peer_connection()) {
		if (dat_ep_reset(peer.ep) != DAT_SUCCESS)
			break;
		usleep(10000);
	}
	return NULL;
}

static void start(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL))
		errx(1, "no thread");
	pthread_detach(thread);
}

static void make_objects(void)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 16, .max_recv_iov = 1 };
	DAT_IA_ATTR ia_attr;
	DAT_LMR_HANDLE peer_lmr;

	check(dat_ia_open((DAT_NAME_PTR) "ofi", 8, &async_evd, &ia), "dat_ia_open");
	check(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &ia_attr, 0, NULL),
	      "dat_ia_query");
	host = ia_attr.ia_address_ptr;
	check(dat_pz_create(ia, &pz), "dat_pz_create");
	check(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
	recv_evd = make_evd(DAT_EVD_DTO_FLAG, cno);
	request_evd = make_evd(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, DAT_HANDLE_NULL);
	connect_evd = make_evd(DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL);
	cr_evd = make_evd(DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	buffer = make_region(pz, &lmr, &context, NULL);
	check(dat_rmr_create(pz, &rmr), "dat_rmr_create");
	check(dat_srq_create(ia, pz, &srq_attr, &srq), "dat_srq_create");
	check(dat_ep_create(ia, pz, recv_evd, request_evd, connect_evd, NULL, &ep),
	      "dat_ep_create");

	check(dat_pz_create(ia, &peer.pz), "dat_pz_create");
	peer.recv = make_evd(DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	peer.request = make_evd(DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL);
	peer.connect = make_evd(DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL);
	peer.cr = make_evd(DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	peer.buffer =
		make_region(peer.pz, &peer_lmr, &peer.segment.lmr_context, &remote.rmr_context);
	strcpy(peer.buffer, "hello");
	peer.segment.virtual_address = (DAT_VADDR)(uintptr_t)peer.buffer;
	peer.segment.segment_length = SIZE;
#ifdef DAT12
	remote.target_address = peer.segment.virtual_address;
#else
	remote.virtual_address = peer.segment.virtual_address;
#endif
	remote.segment_length = SIZE;
}

static void post_recv(unsigned int offset)
{
	DAT_DTO_COOKIE cookie = { .as_64 = offset };
	DAT_LMR_TRIPLET segment;

	segment.lmr_context = context;
	segment.virtual_address = (DAT_VADDR)(uintptr_t)(buffer + offset);
	segment.segment_length = SIZE / 2;
	check(dat_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	      "dat_ep_post_recv");
}

static void connect_ep(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	check(dat_ep_connect(ep, host, port, 5000000, 0, NULL, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG),
	      "dat_ep_connect");
	check(dat_evd_wait(connect_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		errx(1, "no connection: %s", dat_strevent(event.event_number));
}

#ifdef DAT12
static void part_process(void)
{
}
static void make_group(enum given given)
{
	(void)given;
}
static int meet_process(void)
{
	return 0;
}
#else
static DAT_IB_COLLECTIVE_MEMBER members[2];
static DAT_COUNT count = 2;
static DAT_IB_COLLECTIVE_RANK rank;
static DAT_IB_COLLECTIVE_HANDLE group;
static DAT_EVD_HANDLE group_evd;
static int other_process; /* a socket */
static pid_t child;

static void part_process(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		err(1, "socketpair");
	child = fork();
	if (child < 0)
		err(1, "fork");
	rank = child == 0;
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	other_process = pair[rank];
	close(pair[!rank]);
}

static void exchange(const void *mine, void *theirs, size_t length)
{
	if (send(other_process, mine, length, MSG_NOSIGNAL) != (ssize_t)length ||
	    recv(other_process, theirs, length, MSG_WAITALL) != (ssize_t)length)
		errx(1, "the other process has ended");
}

/* Waits until the other process has run the code, too; its status in rank 0. */
static int meet_process(void)
{
	char byte = 0;
	int status = 0;

	exchange(&byte, &byte, 1);
	if (child && waitpid(child, &status, 0) != child)
		err(1, "waitpid");
	return status != 0;
}

static void make_group(enum given given)
{
	DAT_CONTEXT none = { .as_64 = 0 };
	DAT_IB_EXTENSION_EVENT_DATA *result;
	DAT_EVENT event;
	DAT_COUNT length, more;

	group_evd = make_evd((DAT_EVD_FLAGS)DAT_IB_EVD_EXTENSION_FLAG, DAT_HANDLE_NULL);
	check(dat_ib_collective_create_member(ia, NULL, &members[rank], &length),
	      "dat_ib_collective_create_member");
	members[!rank] = malloc((size_t)length);
	if (!members[!rank])
		errx(1, "no memory");
	exchange(members[rank], members[!rank], (size_t)length);
	if (given == GIVEN_MEMBERS)
		return;
	check(dat_ib_collective_create_group(members, count, rank, 1, NULL, group_evd, pz, none),
	      "dat_ib_collective_create_group");
	check(dat_evd_wait(group_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	result = (DAT_IB_EXTENSION_EVENT_DATA *)event.event_extension_data;
	if (result->status != DAT_OP_SUCCESS)
		errx(1, "no group");
	group = result->coll.handle;
}
#endif

static void arrange(enum given given)
{
	DAT_PSP_HANDLE any;

	if (given == GIVEN_MEMBERS || given == GIVEN_GROUP)
		part_process();
	make_objects();
	peer.given = given;
	switch (given) {
	case GIVEN_MEMBERS:
	case GIVEN_GROUP:
		make_group(given);
		break;
	case GIVEN_REQUEST:
		check(dat_psp_create_any(ia, &port, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		      "dat_psp_create_any");
		peer_make_ep();
		check(peer_connect(), "dat_ep_connect");
		break;
	case GIVEN_CALLER:
	case GIVEN_UNCONNECTED:
		check(dat_psp_create_any(ia, &port, peer.cr, DAT_PSP_CONSUMER_FLAG, &any),
		      "dat_psp_create_any");
		check(dat_psp_free(any), "dat_psp_free");
		peer_make_ep();
		if (given == GIVEN_CALLER)
			start(peer_call);
		break;
	default:
		check(dat_psp_create_any(ia, &port, peer.cr, DAT_PSP_CONSUMER_FLAG, &peer.psp),
		      "dat_psp_create_any");
		start(peer_listen);
		if (given == GIVEN_MESSAGE) {
			post_recv(0);
			post_recv(SIZE / 2);
		}
		if (given != GIVEN_LISTENER)
			connect_ep();
	}
}

struct page {
	const char *name;
	enum given given;
	void (*run)(void);
};

#include "snippets.inc" /* the functions, and pages[] */

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(pages) / sizeof(*pages); i++) {
		if (strcmp(argv[1], pages[i].name))
			continue;
		arrange(pages[i].given);
		pages[i].run();
		if (pages[i].given == GIVEN_MEMBERS || pages[i].given == GIVEN_GROUP)
			return meet_process();
		/* The code may have closed it; threads of the peer may be in a call. */
		(void)dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		return 0;
	}
	errx(2, "usage: snippets PAGE, with one of %u pages, size %u",
	     (unsigned int)(sizeof(pages) / sizeof(*pages)), size);
}
