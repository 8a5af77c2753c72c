/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a program that loads the library at run time keeps its signal handlers, and that no
 * thread runs unmapped code after it unloads the library.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "rlib.h"

/* clang-format off */
static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE, SIGINT, SIGTERM, SIGPIPE,
			     SIGCHLD, SIGUSR1, SIGALRM };
/* clang-format on */
#define SIGNALS (sizeof(fatal) / sizeof(fatal[0]))

/* The program is not linked with the library: dlsym finds its functions. */
static struct {
	void *so;
	__typeof__(dat_ia_openv) *ia_openv;
	__typeof__(dat_ia_query) *ia_query;
	__typeof__(dat_ia_close) *ia_close;
	__typeof__(dat_registry_list_providers) *list;
	__typeof__(dat_pz_create) *pz_create;
	__typeof__(dat_pz_free) *pz_free;
	__typeof__(dat_evd_create) *evd_create;
	__typeof__(dat_evd_free) *evd_free;
	__typeof__(dat_evd_wait) *evd_wait;
	__typeof__(dat_psp_create_any) *psp_create_any;
	__typeof__(dat_psp_free) *psp_free;
	__typeof__(dat_cr_accept) *cr_accept;
	__typeof__(dat_ep_create) *ep_create;
	__typeof__(dat_ep_connect) *ep_connect;
	__typeof__(dat_ep_disconnect) *ep_disconnect;
	__typeof__(dat_ep_free) *ep_free;
	__typeof__(dat_ep_post_send) *post_send;
	__typeof__(dat_ep_post_recv) *post_recv;
} dat;

#define OK(call) \
	do { \
		DAT_RETURN ret_ = (call); \
		RL_CHECK(ret_ == DAT_SUCCESS, "%.60s returned 0x%x", #call, ret_); \
	} while (0)

static void *symbol(const char *name)
{
	void *p = dlsym(dat.so, name);

	RL_CHECK(p, "no symbol %s", name);
	return p;
}

static void load(void)
{
	static const struct {
		void *where;
		const char *name;
	} names[] = {
		{ &dat.ia_openv, "dat_ia_openv" },
		{ &dat.ia_query, "dat_ia_query" },
		{ &dat.ia_close, "dat_ia_close" },
		{ &dat.list, "dat_registry_list_providers" },
		{ &dat.pz_create, "dat_pz_create" },
		{ &dat.pz_free, "dat_pz_free" },
		{ &dat.evd_create, "dat_evd_create" },
		{ &dat.evd_free, "dat_evd_free" },
		{ &dat.evd_wait, "dat_evd_wait" },
		{ &dat.psp_create_any, "dat_psp_create_any" },
		{ &dat.psp_free, "dat_psp_free" },
		{ &dat.cr_accept, "dat_cr_accept" },
		{ &dat.ep_create, "dat_ep_create" },
		{ &dat.ep_connect, "dat_ep_connect" },
		{ &dat.ep_disconnect, "dat_ep_disconnect" },
		{ &dat.ep_free, "dat_ep_free" },
		{ &dat.post_send, "dat_ep_post_send" },
		{ &dat.post_recv, "dat_ep_post_recv" },
	};

	rl_activity("loading");
	dat.so = dlopen(RL_BUILD "/.libs/libdat2.so.2", RTLD_NOW | RTLD_LOCAL);
	RL_CHECK(dat.so, "dlopen: %s", dlerror());
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		*(void **)names[i].where = symbol(names[i].name);
}

static DAT_IA_HANDLE open_ia(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_NAME_PTR name = RL_IA;
	DAT_IA_HANDLE ia;

	rl_activity("opening");
	OK(dat.ia_openv(name, 8, &async, &ia, 2, 0, DAT_TRUE));
	return ia;
}

/* Signal handlers */

static void handler(int sig)
{
	(void)sig;
}

static void info_handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
}

static void get_handlers(struct sigaction *act)
{
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(fatal[i], NULL, &act[i]);
}

static void compare(const struct sigaction *before, const char *when)
{
	struct sigaction now[SIGNALS];

	get_handlers(now);
	for (size_t i = 0; i < SIGNALS; i++) {
		RL_CHECK(now[i].sa_flags == before[i].sa_flags &&
				 now[i].sa_sigaction == before[i].sa_sigaction,
			 "%s replaced the handler of %s", when, strsignal(fatal[i]));
		for (int sig = 1; sig < 32; sig++)
			RL_CHECK(sigismember(&now[i].sa_mask, sig) ==
					 sigismember(&before[i].sa_mask, sig),
				 "%s changed the mask of %s", when, strsignal(fatal[i]));
	}
}

static void through_all(const struct sigaction *before)
{
	DAT_COUNT n = 0;
	DAT_IA_HANDLE ia;

	load();
	compare(before, "loading");
	dat.list(0, &n, NULL);
	compare(before, "listing");
	ia = open_ia();
	compare(before, "opening");
	OK(dat.ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	compare(before, "closing");
	dlclose(dat.so);
	compare(before, "unloading");
}

static void default_handlers(void *arg)
{
	struct sigaction before[SIGNALS];

	(void)arg;
	get_handlers(before);
	through_all(before);
}

static void own_handlers(void *arg)
{
	struct sigaction before[SIGNALS], act;

	(void)arg;
	for (size_t i = 0; i < SIGNALS; i++) {
		memset(&act, 0, sizeof(act));
		if (i % 3 == 0) {
			act.sa_handler = handler;
			act.sa_flags = SA_RESTART;
			sigaddset(&act.sa_mask, SIGUSR2);
		} else if (i % 3 == 1) {
			act.sa_sigaction = info_handler;
			act.sa_flags = SA_SIGINFO | SA_NODEFER;
		} else {
			act.sa_handler = SIG_IGN;
		}
		sigaction(fatal[i], &act, NULL);
	}
	get_handlers(before);
	through_all(before);
}

/* A fatal signal must kill the program. */
static void fatal_signals_kill(void *arg)
{
	static const int deadly[] = { SIGSEGV, SIGABRT, SIGTERM, SIGINT };

	(void)arg;
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		pid_t pid = fork();
		int status;

		RL_CHECK(pid >= 0, "fork");
		if (!pid) {
			/* A shell ignores SIGINT for what it starts in the background. */
			signal(deadly[i], SIG_DFL);
			load();
			open_ia();
			raise(deadly[i]);
			_exit(0);
		}
		RL_CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
				 WTERMSIG(status) == deadly[i],
			 "%s does not kill an open program: 0x%x", strsignal(deadly[i]), status);
	}
}

/* A complete session within one IA and one thread */

struct life {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr, conn, dto;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep[2];
};

static void next(DAT_EVD_HANDLE evd, int number, DAT_EVENT *ev)
{
	DAT_COUNT more;

	rl_activity("waiting for event 0x%x", (unsigned int)number);
	OK(dat.evd_wait(evd, rl_bound(5000) * 1000, 1, ev, &more));
	RL_CHECK((int)ev->event_number == number, "got event 0x%x, expected 0x%x",
		 (unsigned int)ev->event_number, (unsigned int)number);
}

static void connect_to_self(struct life *l)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
	DAT_EVENT ev;

	l->ia = open_ia();
	OK(dat.ia_query(l->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	OK(dat.pz_create(l->ia, &l->pz));
	OK(dat.evd_create(l->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &l->cr));
	OK(dat.evd_create(l->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &l->conn));
	OK(dat.evd_create(l->ia, 32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &l->dto));
	for (int i = 0; i < 2; i++)
		OK(dat.ep_create(l->ia, l->pz, l->dto, l->dto, l->conn, NULL, &l->ep[i]));
	OK(dat.psp_create_any(l->ia, &qual, l->cr, DAT_PSP_CONSUMER_FLAG, &l->psp));
	OK(dat.post_recv(l->ep[1], 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat.ep_connect(l->ep[0], attr.ia_address_ptr, qual, 5000000, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	next(l->cr, DAT_CONNECTION_REQUEST_EVENT, &ev);
	OK(dat.cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, l->ep[1], 0, NULL));
	next(l->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
	next(l->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
	OK(dat.post_send(l->ep[0], 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	next(l->dto, DAT_DTO_COMPLETION_EVENT, &ev);
	next(l->dto, DAT_DTO_COMPLETION_EVENT, &ev);
}

static void end_life(struct life *l)
{
	DAT_EVENT ev;

	OK(dat.ep_disconnect(l->ep[0], DAT_CLOSE_GRACEFUL_FLAG));
	next(l->conn, DAT_CONNECTION_EVENT_DISCONNECTED, &ev);
	next(l->conn, DAT_CONNECTION_EVENT_DISCONNECTED, &ev);
	for (int i = 0; i < 2; i++)
		OK(dat.ep_free(l->ep[i]));
	OK(dat.psp_free(l->psp));
	OK(dat.evd_free(l->cr));
	OK(dat.evd_free(l->conn));
	OK(dat.evd_free(l->dto));
	OK(dat.pz_free(l->pz));
	rl_activity("closing");
	OK(dat.ia_close(l->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* A joined thread stays visible for a moment. A sanitizer may have its own threads. */
static void check_threads(int before)
{
	if (RL_SANITIZED)
		return;
	for (int i = 0; i < 500 && rl_threads(0) > before; i++)
		rl_sleep_ms(1);
	RL_CHECK(rl_threads(0) <= before, "%d threads after closing, %d before", rl_threads(0),
		 before);
}

static void unload_and_linger(void)
{
	rl_activity("unloading");
	dlclose(dat.so);
	memset(&dat, 0, sizeof(dat));
	/* A thread that runs unmapped code dies in this time. */
	rl_sleep_ms(300);
}

static void open_connect_close_unload(void *arg)
{
	struct life l;
	int threads = rl_threads(0);

	(void)arg;
	for (int i = 0; i < 3; i++) {
		load();
		connect_to_self(&l);
		end_life(&l);
		check_threads(threads);
		unload_and_linger();
	}
}

static void unload_with_eps_alive(void *arg)
{
	struct life l;
	DAT_RETURN ret;

	(void)arg;
	load();
	connect_to_self(&l);
	rl_activity("closing gracefully with objects alive");
	ret = dat.ia_close(l.ia, DAT_CLOSE_GRACEFUL_FLAG);
	RL_CHECK(DAT_GET_TYPE(ret) == DAT_INVALID_STATE, "0x%x instead of DAT_INVALID_STATE", ret);
	unload_and_linger();
}

static void unload_after_abrupt_close(void *arg)
{
	int threads = rl_threads(0);
	struct life l;

	(void)arg;
	load();
	connect_to_self(&l);
	rl_activity("closing abruptly");
	OK(dat.ia_close(l.ia, DAT_CLOSE_ABRUPT_FLAG));
	check_threads(threads);
	unload_and_linger();
}

static void exit_while_open(void *arg)
{
	struct life l;

	(void)arg;
	load();
	connect_to_self(&l);
	rl_activity("exiting");
	exit(0);
}

static void run(void)
{
	static const struct {
		const char *name;
		void (*play)(void *);
		bool sanitizer_interferes;
	} cases[] = {
		{ "default-handlers-stay", default_handlers, false },
		{ "own-handlers-stay", own_handlers, false },
		{ "signals-kill", fatal_signals_kill, true },
		{ "open-connect-close-unload", open_connect_close_unload, false },
		{ "unload-with-eps-alive", unload_with_eps_alive, true },
		{ "unload-after-abrupt-close", unload_after_abrupt_close, false },
		{ "exit-while-open", exit_while_open, true },
	};

	setenv("DAPL_OFI_LOG", "0", 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!rl_begin(cases[i].name, 15000))
			continue;
		if (RL_SANITIZED && cases[i].sanitizer_interferes) {
			rl_skip(cases[i].name, "sanitizers handle these signals themselves");
			continue;
		}
		rl_start("program", cases[i].play, NULL);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 60, run);
}
