/* SPDX-License-Identifier: BSD-2-Clause */
/* The program whose failures and calls are tested: runs one scenario, named by its argument.
 *
 *   player open NAME          open and close
 *   player probe NAME...      list the registry, then open one name after the other
 *   player port NAME QUAL...  a service point on each qualifier
 *   player session NAME       a little of everything, between two endpoints
 *   player connect NAME ADDRESS QUAL [US]
 *                             connect there, with that timeout; succeeds if the connect fails
 *   player meet NAME OTHER [MORE [US]]
 *                             connect to a service point of OTHER, MORE added to its qualifier;
 *                             succeeds if the connect fails
 *   player flags NAME         calls with flags of each kind, whether they succeed or not
 *   player slots NAME OTHER   checks that tracing replaces each slot of the jump table
 *   player fork NAME          calls in the parent, and one in a child, where handles are dead
 *
 * Exit status 0: success, 1: failure, 2: wrong usage.
 */
#include "../api/api.h"

#include <arpa/inet.h>
#include <sys/wait.h>

static int failed(const char *what, DAT_RETURN ret)
{
	printf("%s: 0x%08x\n", what, ret);
	return 1;
}

static DAT_RETURN open_as(const char *name, DAT_IA_HANDLE *ia, DAT_EVD_HANDLE *async)
{
	*async = DAT_HANDLE_NULL;
	return dat_ia_openv((char *)(uintptr_t)name, 8, async, ia, DAT_VERSION_MAJOR,
			    DAT_VERSION_MINOR, DAT_FALSE);
}

static DAT_IA_HANDLE must_open(const char *name)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret = open_as(name, &ia, &async);

	if (ret != DAT_SUCCESS)
		exit(failed("dat_ia_open", ret));
	return ia;
}

#define DO(call_) \
	do { \
		DAT_RETURN ret_ = (call_); \
		if (ret_ != DAT_SUCCESS) \
			exit(failed(#call_, ret_)); \
	} while (0)

static int play_open(char **argv)
{
	DO(dat_ia_close(must_open(argv[0]), DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}

static int play_probe(char **argv)
{
	DAT_PROVIDER_INFO info[64], *list[64];
	int good = 0;
	DAT_COUNT n;

	for (int i = 0; i < 64; i++)
		list[i] = &info[i];
	DO(dat_registry_list_providers(64, &n, list));
	for (; *argv; argv++) {
		DAT_EVD_HANDLE async;
		DAT_IA_HANDLE ia;

		if (open_as(*argv, &ia, &async) != DAT_SUCCESS)
			continue;
		good++;
		DO(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
	return !good;
}

static int play_port(char **argv)
{
	DAT_IA_HANDLE ia = must_open(argv[0]);
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret = DAT_SUCCESS;

	DO(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd));
	for (argv++; *argv; argv++) {
		ret = dat_psp_create(ia, strtoull(*argv, NULL, 0), evd, DAT_PSP_CONSUMER_FLAG,
				     &psp);
		if (ret == DAT_SUCCESS)
			DO(dat_psp_free(psp));
		else if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			return 2;
	}
	return ret == DAT_SUCCESS ? 0 : 1;
}

static char memory[8192];

static DAT_RETURN make_lmr(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_LMR_HANDLE *lmr,
			   DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	return api_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
			      DAT_MEM_PRIV_ALL_FLAG, lmr, local, remote, NULL, NULL);
}

static DAT_EVENT next_event(DAT_EVD_HANDLE evd, int number)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	DO(dat_evd_wait(evd, 20000000, 1, &ev, &more));
	if ((int)ev.event_number != number)
		exit(failed("event", (DAT_RETURN)ev.event_number));
	return ev;
}

struct session {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cm, dto;
	DAT_EP_HANDLE a, b;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
};

static void connect_session(struct session *s)
{
	DAT_IA_ATTR attr;
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	DO(dat_ia_query(s->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	DO(dat_psp_create_any(s->ia, &qual, s->cm, DAT_PSP_CONSUMER_FLAG, &s->psp));
	DO(dat_ep_connect(s->a, attr.ia_address_ptr, qual, 20000000, 7, memory, DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
	ev = next_event(s->cm, DAT_CONNECTION_REQUEST_EVENT);
	cr = ev.event_data.cr_arrival_event_data.cr_handle;
	DO(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	DO(dat_cr_accept(cr, s->b, 5, memory));
	next_event(s->cm, DAT_CONNECTION_EVENT_ESTABLISHED);
	next_event(s->cm, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void transfer(struct session *s)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0xc00c1e };
	DAT_LMR_TRIPLET from = { .lmr_context = s->local }, to[2] = { from, from };
	DAT_RMR_TRIPLET target = { .rmr_context = s->remote, .segment_length = 64 };
	DAT_EVENT ev;

	from.virtual_address = (DAT_VADDR)(uintptr_t)memory;
	from.segment_length = 64;
	to[0].virtual_address = to[1].virtual_address = from.virtual_address + 4096;
	to[0].segment_length = 16;
	to[1].segment_length = 100;
	api_rmr_addr(&target, from.virtual_address + 2048);
	if (dat_evd_dequeue(s->dto, &ev) != DAT_QUEUE_EMPTY ||
	    dat_evd_dequeue(s->dto, &ev) != DAT_QUEUE_EMPTY ||
	    dat_evd_dequeue(s->dto, &ev) != DAT_QUEUE_EMPTY)
		exit(failed("the queue is not empty", 0));
	DO(dat_ep_post_recv(s->b, 2, to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	DO(dat_ep_post_rdma_write(s->a, 1, &from, cookie, &target, DAT_COMPLETION_SUPPRESS_FLAG));
	DO(dat_ep_post_send(s->a, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	next_event(s->dto, DAT_DTO_COMPLETION_EVENT);
	next_event(s->dto, DAT_DTO_COMPLETION_EVENT);
}

static int play_session(char **argv)
{
	struct session s = { .ia = must_open(argv[0]) };

	DO(dat_pz_create(s.ia, &s.pz));
	DO(make_lmr(s.ia, s.pz, &s.lmr, &s.local, &s.remote));
	DO(dat_evd_create(s.ia, 16, DAT_HANDLE_NULL,
			  (DAT_EVD_FLAGS)(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG), &s.cm));
	DO(dat_evd_create(s.ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s.dto));
	DO(dat_ep_create(s.ia, s.pz, s.dto, s.dto, s.cm, NULL, &s.a));
	DO(dat_ep_create(s.ia, s.pz, s.dto, s.dto, s.cm, NULL, &s.b));
	connect_session(&s);
	transfer(&s);
	DO(dat_ep_disconnect(s.a, DAT_CLOSE_GRACEFUL_FLAG));
	next_event(s.cm, DAT_CONNECTION_EVENT_DISCONNECTED);
	next_event(s.cm, DAT_CONNECTION_EVENT_DISCONNECTED);
	DO(dat_ep_free(s.a));
	if (dat_ep_free(s.a) == DAT_SUCCESS)
		return failed("an endpoint was freed twice", 0);
	DO(dat_ep_free(s.b));
	DO(dat_psp_free(s.psp));
	DO(dat_lmr_free(s.lmr));
	DO(dat_evd_free(s.cm));
	DO(dat_evd_free(s.dto));
	DO(dat_pz_free(s.pz));
	DO(dat_ia_close(s.ia, DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}

/* Tries to connect; 0 if the connect failed. */
static int try_connect(DAT_IA_HANDLE ia, DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual,
		       DAT_TIMEOUT us)
{
	DAT_EVD_HANDLE cm, dto;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;
	DAT_COUNT more;
	DAT_RETURN ret;
	DAT_EVENT ev;

	DO(dat_pz_create(ia, &pz));
	DO(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &cm));
	DO(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto));
	DO(dat_ep_create(ia, pz, dto, dto, cm, NULL, &ep));
	ret = dat_ep_connect(ep, addr, qual, us, 0, NULL, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return DAT_GET_TYPE(ret) != DAT_INVALID_ADDRESS;
	DO(dat_evd_wait(cm, 30000000, 1, &ev, &more));
	return ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

static int play_connect(char **argv)
{
	DAT_IA_HANDLE ia = must_open(argv[0]);
	DAT_SOCK_ADDR6 addr = { .sin6_family = AF_INET6 };
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&addr;

	if (inet_pton(AF_INET, argv[1], &v4->sin_addr) == 1)
		v4->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, argv[1], &addr.sin6_addr) != 1)
		return 2;
	return try_connect(ia, (DAT_IA_ADDRESS_PTR)&addr, strtoull(argv[2], NULL, 0),
			   argv[3] ? (DAT_TIMEOUT)strtoul(argv[3], NULL, 0) : 20000000);
}

static int play_meet(char **argv)
{
	DAT_IA_HANDLE ia = must_open(argv[0]), other = must_open(argv[1]);
	DAT_IA_ATTR attr;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;

	DO(dat_ia_query(other, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	DO(dat_evd_create(other, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd));
	DO(dat_psp_create_any(other, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	return try_connect(ia, attr.ia_address_ptr,
			   qual + (argv[2] ? strtoull(argv[2], NULL, 0) : 0),
			   argv[2] && argv[3] ? (DAT_TIMEOUT)strtoul(argv[3], NULL, 0) : 20000000);
}

static int play_flags(char **argv)
{
	static const unsigned int rights[] = {
		0, 1, 2, 3, 0x10, 0x12, 0x20, 0x31, 0x33, 0x73, 0x80,
	};
	static const unsigned int streams[] = { 0x10, 0x60, 0x1f1, 0x200, 0x1000 };
	static const unsigned int completions[] = { 0, 1, 6, 0x19, 0x20, 0x40 };
	DAT_LMR_TRIPLET segment = { .segment_length = 0 };
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_IA_HANDLE ia = must_open(argv[0]);
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;

	DO(dat_pz_create(ia, &pz));
	for (size_t i = 0; i < sizeof(rights) / sizeof(*rights); i++)
		(void)api_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
				     (DAT_MEM_PRIV_FLAGS)rights[i], &lmr, &local, &remote, NULL,
				     NULL);
	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
		(void)dat_evd_create(ia, 4, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)streams[i], &evd);
	DO(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	DO(dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL, NULL, &ep));
	for (size_t i = 0; i < sizeof(completions) / sizeof(*completions); i++)
		(void)dat_ep_post_send(ep, 1, &segment, cookie,
				       (DAT_COMPLETION_FLAGS)completions[i]);
	(void)dat_ep_connect(ep, NULL, 1, 1, 0, NULL, (DAT_QOS)5, (DAT_CONNECT_FLAGS)3);
	return 0;
}

#define FIRST offsetof(DAT_PROVIDER, ia_open_func)
#define SLOTS ((sizeof(DAT_PROVIDER) - FIRST) / sizeof(void *))

/* The first member of an object points to its jump table. */
static const void *const *slots_of(const char *name)
{
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;

	DO(open_as(name, &ia, &async));
	return (const void *const *)(*(const char *const *)async + FIRST);
}

static int play_slots(char **argv)
{
	const void *const *plain = slots_of(argv[0]), *const * traced;
	size_t used = 0;

	setenv("DAPL_OFI_TRACE", "/dev/null", 1);
	traced = slots_of(argv[1]);
	for (size_t i = 0; i < SLOTS; i++) {
		used += plain[i] != NULL;
		if (plain[i] ? plain[i] == traced[i] : traced[i] != NULL)
			return failed("slot without a trace", (DAT_RETURN)i);
	}
	printf("%zu slots\n", used);
	return used < 60;
}

static int play_fork(char **argv)
{
	DAT_IA_HANDLE ia = must_open(argv[0]);
	int status = -1;
	DAT_PZ_HANDLE pz;
	pid_t pid = fork();

	if (!pid)
		_exit(dat_pz_create(ia, &pz) == DAT_SUCCESS);
	waitpid(pid, &status, 0);
	DO(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return status != 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run_player)(char **argv);
	} parts[] = {
		{ "open", play_open },       { "probe", play_probe },     { "port", play_port },
		{ "session", play_session }, { "connect", play_connect }, { "meet", play_meet },
		{ "flags", play_flags },     { "slots", play_slots },     { "fork", play_fork },
	};

	alarm(60);
	for (size_t i = 0; argc > 2 && i < sizeof(parts) / sizeof(*parts); i++)
		if (!strcmp(argv[1], parts[i].name))
			return parts[i].run_player(argv + 2);
	return 2;
}
