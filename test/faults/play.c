/* SPDX-License-Identifier: BSD-2-Clause */
/* Goes through the sequence, and checks what is left afterwards. */
#include "play.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/counter_file.h"

#if RL_API == 2
#include <dat2/dat_ib_extensions.h>
#define ATOMIC DAT_IB_MEM_PRIV_REMOTE_ATOMIC
#else
#define ATOMIC 0
#endif

#define QLEN 32

static _Alignas(4096) unsigned char area[AREA];

static void make_evds(struct play *p)
{
	DAT_OS_WAIT_PROXY_AGENT none = { NULL, NULL };
	int dto = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG;

	if (p->merged) {
		CALL(dat_evd_create(p->ia, QLEN, DAT_HANDLE_NULL,
				    (DAT_EVD_FLAGS)(dto | DAT_EVD_CR_FLAG |
						    DAT_EVD_CONNECTION_FLAG),
				    &p->conn));
		p->cr = p->recv = p->req = p->conn;
		return;
	}
	CALL(dat_cno_create(p->ia, none, &p->cno));
	CALL(dat_evd_create(p->ia, QLEN, p->cno, DAT_EVD_CR_FLAG, &p->cr));
	CALL(dat_evd_create(p->ia, QLEN, p->cno, DAT_EVD_CONNECTION_FLAG, &p->conn));
	CALL(dat_evd_create(p->ia, QLEN, p->cno, DAT_EVD_DTO_FLAG, &p->recv));
	CALL(dat_evd_create(p->ia, QLEN, p->cno, (DAT_EVD_FLAGS)dto, &p->req));
}

static void register_area(struct play *p)
{
	DAT_MEM_PRIV_FLAGS rights = (DAT_MEM_PRIV_FLAGS)((int)DAT_MEM_PRIV_ALL_FLAG | ATOMIC);
	DAT_REGION_DESCRIPTION region = { .for_va = area };

	p->mem.p = area;
	p->mem.len = sizeof(area);
#if RL_API == 1
	CALL(dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(area), p->pz, rights,
			    &p->mem.lmr, &p->mem.lctx, &p->mem.rctx, NULL, NULL));
#else
	CALL(dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(area), p->pz, rights,
			    DAT_VA_TYPE_VA, &p->mem.lmr, &p->mem.lctx, &p->mem.rctx, NULL, NULL));
#endif
	rd_show(p->server, &p->mem);
}

/* True if the messages of this run have a cause. The parameters that were requested are none. */
static bool has_cause(void)
{
	static const char line[] = "\n  provider: ", params[] = "requested: ";
	char text[4000];
	ssize_t n = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	for (const char *at = text; (at = strstr(at, line)); at++)
		if (strncmp(at + strlen(line), params, strlen(params)))
			return true;
	return false;
}

static void open_adapter(struct play *p)
{
	DAT_NAME_PTR name = RL_IA;

	for (;;) {
		DAT_RETURN ret;

		p->async = DAT_HANDLE_NULL;
		ret = dat_ia_openv(name, 8, &p->async, &p->ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
				   DAT_TRUE);
		if (ret == DAT_SUCCESS || !call_failed(p, ret, "dat_ia_open", __LINE__))
			return;
		RL_CHECK(DAT_GET_SUBTYPE(ret) == DAT_RESOURCE_MEMORY || has_cause(),
			 "dat_ia_open returned %s, and no message has the cause", rd_text(ret));
	}
}

static void open_all(struct play *p)
{
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;

	rl_activity("opening");
	open_adapter(p);
	MUST(dat_ia_query(p->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	memcpy(&p->addr, attr.ia_address_ptr,
	       attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							  : sizeof(struct sockaddr_in));
	CALL(dat_pz_create(p->ia, &p->pz));
	make_evds(p);
	register_area(p);
	for (int i = 0; i < CONNS; i++)
		make_ep(p, i);
	if (!p->server)
		return;
	rl_activity("listening");
	CALL(dat_psp_create_any(p->ia, &qual, p->cr, DAT_PSP_CONSUMER_FLAG, &p->psp));
	rl_board->qual = qual;
	memcpy(rl_board->addr, &p->addr, sizeof(rl_board->addr));
}

static void close_all(struct play *p)
{
	rl_activity("closing");
	for (int i = 0; i < CONNS; i++)
		free_ep(p, i);
	if (p->server)
		MUST(dat_psp_free(p->psp));
	MUST(dat_lmr_free(p->mem.lmr));
	MUST(dat_evd_free(p->conn));
	if (!p->merged) {
		MUST(dat_evd_free(p->cr));
		MUST(dat_evd_free(p->recv));
		MUST(dat_evd_free(p->req));
		MUST(dat_cno_free(p->cno));
	}
	MUST(dat_pz_free(p->pz));
	MUST(dat_ia_close(p->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void sequence(struct play *p)
{
	open_all(p);
	meet(p);
	exchange(p, 0, post_receives, do_everything);
	exchange(p, 0, post_none, use_window);
	CALL(dat_evd_resize(p->recv, 4 * QLEN));
	hang_up(p, 0, false, DAT_CLOSE_GRACEFUL_FLAG);
	exchange(p, 0, post_one_receive, do_little);
	hang_up(p, 0, true, DAT_CLOSE_ABRUPT_FLAG);
	refuse(p, 0);
	exchange(p, 1, post_to_srq, use_srq);
	hang_up(p, 1, true, DAT_CLOSE_GRACEFUL_FLAG);
	/* The peer's process may still use what is closed. */
	meet(p);
	close_all(p);
}

static void pass(const struct fault *fault, bool server, bool again, struct play *p)
{
	static int met, round;

	memset(p, 0, sizeof(*p));
	p->fault = fault;
	p->server = server;
	p->faulty = !again && fault->kind >= 0 && fault->at_server == server;
	p->ended = again;
	p->merged = fault->nth & 1;
	p->met = met;
	p->round = round;
	if (p->faulty)
		fault_start(fault->kind, fault->libfabric, fault->nth, fault->lasting);
	else if (fault->kind < 0 && !again)
		fault_count();
	sequence(p);
	fault_end();
	if (p->faulty) {
		result->given = fault_given();
		result->frames = fault_where(result->where);
		result->lost = p->lost;
	}
	met = p->met;
	round = p->round;
}

/* ---- what is left ---- */

static int list_fds(char *text, size_t size)
{
	struct dirent *e;
	size_t at = 0;
	int n = 0;
	DIR *d = opendir("/proc/self/fd");

	text[0] = 0;
	while (d && (e = readdir(d))) {
		char path[300], name[80];
		ssize_t len;

		if (*e->d_name == '.' || atoi(e->d_name) == dirfd(d))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		len = readlink(path, name, sizeof(name) - 1);
		name[len > 0 ? len : 0] = 0;
		n++;
		if (at < size)
			at += (size_t)snprintf(text + at, size - at, " %s=%s", e->d_name, name);
	}
	if (d)
		closedir(d);
	return n;
}

static void check_names(const char *dir)
{
	char prefix[64];
	struct dirent *e;
	DIR *d = opendir(dir);

	snprintf(prefix, sizeof(prefix), DOFI_COUNTER_PREFIX "%ld.", (long)getpid());
	while (d && (e = readdir(d)))
		RL_CHECK(strncmp(e->d_name, prefix, strlen(prefix)) != 0, "%s/%s is left", dir,
			 e->d_name);
	if (d)
		closedir(d);
}

static void check_left(int fds)
{
	static char text[2000];
	int now = list_fds(text, sizeof(text));

	RL_CHECK(now <= fds, "%d descriptors are left:%.200s", now - fds, text);
	RL_CHECK(!fault_fi_objects(), "%d objects of libfabric are left", fault_fi_objects());
	for (int i = 0; rl_threads(0) > 1; i++) {
		RL_CHECK(i < 5000, "%d threads are left", rl_threads(0) - 1);
		rl_sleep_ms(1);
	}
	check_names("/dev/shm");
}

void play(const struct fault *fault, bool server)
{
	struct play p;
	char text[8];
	int fds = list_fds(text, sizeof(text));

	pass(fault, server, false, &p);
	RL_CHECK(!p.lost || fault->kind >= 0, "a connection was lost without a fault");
	if (fault->kind < 0)
		for (int i = 0; i < 2 * fault_kinds(); i++)
			result->calls[server][i & 1][i / 2] = fault_calls(i / 2, i & 1);
	pass(fault, server, true, &p);
	RL_CHECK(!p.lost, "a connection was lost after the faults");
	check_left(fds);
}
