/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that loads libdat itself, as several MPI libraries and runtimes do.
 *
 *   load MODE LIBRARY IA
 *
 *   open   dlopen with RTLD_LOCAL, open and close an IA
 *   close  connect to itself, take everything down, close gracefully, dlclose
 *   leave  connect to itself, try to close gracefully with endpoints alive, dlclose all the same
 *   again  the whole of it several times
 *
 * After dlclose it stays around for a while: a thread whose code is gone would end it.
 */
#include "api.h"

#include <dlfcn.h>

#if defined(__SANITIZE_ADDRESS__)
/* As in ../lib/check.c, for threads that are alive at exit. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "intercept_tls_get_addr=0";
}
#endif

/* clang-format off */
#define CALLS(C) \
	C(dat_ia_openv) C(dat_ia_query) C(dat_ia_close) C(dat_pz_create) C(dat_pz_free) \
	C(dat_evd_create) C(dat_evd_free) C(dat_evd_wait) C(dat_ep_create) C(dat_ep_free) \
	C(dat_ep_connect) C(dat_psp_create_any) C(dat_psp_free) C(dat_cr_accept)
/* clang-format on */

static struct {
	void *so;
#define MEMBER(name_) __typeof__(&name_) name_;
	CALLS(MEMBER)
} lib;

static void die(const char *what, DAT_RETURN ret)
{
	fprintf(stderr, "load: %s: %#x\n", what, ret);
	exit(1);
}

#define DO(call_) \
	do { \
		DAT_RETURN ret_ = lib.call_; \
		if (ret_ != DAT_SUCCESS) \
			die(#call_, ret_); \
	} while (0)

static void load(const char *path)
{
	lib.so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib.so) {
		fprintf(stderr, "load: %s\n", dlerror());
		exit(1);
	}
#define FIND(name_) \
	*(void **)&lib.name_ = dlsym(lib.so, #name_); \
	if (!lib.name_) \
		die(#name_ " is missing", 0);
	CALLS(FIND)
}

static DAT_EVENT next_event(DAT_EVD_HANDLE evd, int number)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	DO(dat_evd_wait(evd, 10000000, 1, &ev, &more));
	if ((int)ev.event_number != number)
		die("event", (DAT_RETURN)ev.event_number);
	return ev;
}

static DAT_IA_HANDLE open_ia(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	DO(dat_ia_openv((char *)(uintptr_t)name, 8, &async, &ia, DAT_VERSION_MAJOR,
			DAT_VERSION_MINOR, DAT_TRUE));
	return ia;
}

/* Connects two endpoints of one IA; takes them down again unless it shall leave them. */
static void play(const char *name, bool leave)
{
	DAT_IA_HANDLE ia = open_ia(name);
	DAT_EVD_HANDLE cm, dto;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE a, b;
	DAT_PZ_HANDLE pz;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
	DAT_EVENT ev;

	DO(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	DO(dat_pz_create(ia, &pz));
	DO(dat_evd_create(ia, 16, NULL, (DAT_EVD_FLAGS)(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG),
			  &cm));
	DO(dat_evd_create(ia, 16, NULL, DAT_EVD_DTO_FLAG, &dto));
	DO(dat_ep_create(ia, pz, dto, dto, cm, NULL, &a));
	DO(dat_ep_create(ia, pz, dto, dto, cm, NULL, &b));
	DO(dat_psp_create_any(ia, &qual, cm, DAT_PSP_CONSUMER_FLAG, &psp));
	DO(dat_ep_connect(a, attr.ia_address_ptr, qual, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
	ev = next_event(cm, DAT_CONNECTION_REQUEST_EVENT);
	DO(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, b, 0, NULL));
	next_event(cm, DAT_CONNECTION_EVENT_ESTABLISHED);
	next_event(cm, DAT_CONNECTION_EVENT_ESTABLISHED);
	if (leave) {
		if (lib.dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS)
			die("graceful close with endpoints alive succeeded", 0);
		return;
	}
	DO(dat_psp_free(psp));
	DO(dat_ep_free(a));
	DO(dat_ep_free(b));
	DO(dat_evd_free(cm));
	DO(dat_evd_free(dto));
	DO(dat_pz_free(pz));
	DO(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

int main(int argc, char **argv)
{
	int i, times;

	if (argc != 4)
		return 2;
	times = strcmp(argv[1], "again") ? 1 : 5;
	for (i = 0; i < times; i++) {
		load(argv[2]);
		if (!strcmp(argv[1], "open"))
			DO(dat_ia_close(open_ia(argv[3]), DAT_CLOSE_GRACEFUL_FLAG));
		else
			play(argv[3], !strcmp(argv[1], "leave"));
		if (dlclose(lib.so) != 0)
			die("dlclose", 0);
	}
	usleep(300000);
	return 0;
}
