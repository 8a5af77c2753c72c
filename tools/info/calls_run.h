/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the run behind dat_info --calls: every call of an API version is made once over an open
 * adapter, with two endpoints of this process. Each result is a fact: the call, or "call/use", and
 * "yes" or the reason. Compiled once per API version.
 */
#ifndef INFO_CALLS_RUN_H
#define INFO_CALLS_RUN_H

#include <stdbool.h>

#include "api.h"
#include "tools/info/call_names.h"

#if DAT_API_MAJOR == 1
#include <dat/dat_ofi.h>
#define INFO_RUN_CALLS INFO_CALLS_12
#else
#include <dat2/dat_ofi.h>
#define INFO_RUN_CALLS INFO_CALLS_20
#endif

/* Longest wait for an event, after the first that did not come in time: microseconds. */
#define RUN_WAIT_US 20000000u
#define RUN_WAIT_LATE_US 2000000u

/* All calls of the version that libdat exports; NULL: this libdat lacks it. */
struct info_run_calls {
#define X(name) __typeof__(name) *name;
	INFO_RUN_CALLS(X)
#undef X
};

struct info_run {
	struct info_run_calls dat;
	DAT_NAME_PTR name;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	unsigned int wait_us;
	char why[160]; /* why the last wait failed */
};

extern struct info_run info_run;
#define D info_run.dat

/* Makes a call and reports its result; true if it succeeded. */
#define TRY(call, ...) \
	(D.call ? info_run_result(#call, NULL, D.call(__VA_ARGS__)) : info_run_missing(#call))
/* The same for a use of the call that has a row of its own. */
#define TRY_USE(call, use, ...) \
	(D.call ? info_run_result(#call, use, D.call(__VA_ARGS__)) : info_run_missing(#call))

bool info_run_missing(const char *call);
bool info_run_result(const char *call, const char *use, DAT_RETURN ret);
/* Reports a call whose effect is an event: `came` is what the wait for it returned. */
bool info_run_effect(const char *call, const char *use, DAT_RETURN ret, bool came);
/* Reports that a call has not had its effect, for the given reason. */
bool info_run_wrong(const char *call, const char *use, const char *reason);

/* Waits for the next event; false unless it comes in time and has the number. */
bool info_run_event(DAT_EVD_HANDLE evd, int number, DAT_EVENT *event);
/* The completion of a post; false unless it succeeded. */
bool info_run_dto(DAT_EVD_HANDLE evd, DAT_EVENT *event);

/* An endpoint with its queues and memory. */
struct info_run_end {
	DAT_EVD_HANDLE recv, req, conn;
	DAT_EP_HANDLE ep;
	char *mem;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

#define RUN_MEM 8192
#define RUN_PRIV (DAT_MEM_PRIV_FLAGS)0x33 /* local and remote, reading and writing */

DAT_DTO_COOKIE info_run_cookie(uint64_t value);
DAT_LMR_TRIPLET info_run_local(const struct info_run_end *end, size_t len);
DAT_RMR_TRIPLET info_run_remote(DAT_VADDR address, size_t len, DAT_RMR_CONTEXT context);
/* Registers memory; `use` NULL: the row of the call itself. */
bool info_run_register(const char *use, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
		       size_t len, int priv, bool zero_based, struct info_run_end *end);

/* Both report the calls that they make. `srq` NULL: the endpoint has receives of its own. */
bool info_run_end_make(struct info_run_end *end, const DAT_EP_ATTR *attr, DAT_SRQ_HANDLE srq);
void info_run_end_free(struct info_run_end *end);
/* Connects two endpoints by the service point of the run; false: they are not connected. */
bool info_run_connect(struct info_run_end *a, struct info_run_end *b);
/* Ends the connection of both, if there is one, and makes the endpoints ready for another. */
void info_run_disconnect(struct info_run_end *a, struct info_run_end *b);

/* The parts of the run. */
void info_run_registry(void);
void info_run_events(void);
void info_run_memory(void);
void info_run_connections(void);
void info_run_data(struct info_run_end *a, struct info_run_end *b);
void info_run_srq(struct info_run_end *a);
#if DAT_API_MAJOR >= 2
void info_run_common(struct info_run_end *a, struct info_run_end *b);
void info_run_extension(struct info_run_end *a, struct info_run_end *b);
void info_run_immed_srq(struct info_run_end *a, struct info_run_end *b, DAT_SRQ_HANDLE srq);
void info_run_datagrams(void);
void info_run_collectives(void);
#endif

#endif
