/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes one line for each traced call. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/param.h"
#include "base/log_file.h"
#include "trace/trace.h"

const DAT_PROVIDER *dofi_trace_next;

static struct dofi_log_file file = DOFI_LOG_FILE_INIT("DAPL_OFI_TRACE");

/* Repeated empty polls of one EVD would flood the trace: the first is printed, the others are
 * counted, and the count is printed before the next line or after this number of seconds. */
#define REPEAT_S 5

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pid_t thread;
	const void *evd;
	time_t since;
	unsigned long count;
	struct dofi_text text;
} repeats;

/* Offset of local time to UTC. Determined once: the C library takes a lock for it, which may be
 * held in a forked child. */
static long zone;

static void trace_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void trace_prepare(void)
{
	time_t now = time(NULL);
	struct tm tm;

	zone = localtime_r(&now, &tm) ? tm.tm_gmtoff : 0;
	pthread_atfork(NULL, NULL, trace_in_child);
}

void dofi_trace_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *value = dofi_param_path(DOFI_STR_TRACE);

	if (value)
		pthread_once(&once, trace_prepare);

	dofi_log_file_set(&file, value && strcmp(value, "1") ? value : NULL);
}

static void trace_add_time(struct dofi_text *t, const struct timespec *at)
{
	long s = (long)((at->tv_sec + zone) % 86400);

	dofi_text_add(t, "dat-ofi[%ld.%ld] %02ld:%02ld:%02ld.%06ld ", (long)getpid(),
		      (long)gettid(), s / 3600, s / 60 % 60, s % 60, at->tv_nsec / 1000);
}

static void trace_add_inputs(struct dofi_trace_call *call)
{
	const char *between = "";

	dofi_text_add(&call->text, "dat_%s(", call->name);
	for (unsigned int i = 0; i < call->num; i++) {
		if (!call->args[i].in)
			continue;
		dofi_text_add(&call->text, "%s%s=", between, call->args[i].name);
		call->args[i].in(&call->text, call->values, i);
		between = ", ";
	}
	dofi_text_add(&call->text, ")");
}

static void trace_add_outputs(struct dofi_trace_call *call)
{
	const char *between = " {";

	for (unsigned int i = 0; i < call->num; i++) {
		const void *target = NULL;

		if (!call->args[i].out)
			continue;
		memcpy(&target, call->values[i].at, sizeof(target));
		if (!target)
			continue;
		dofi_text_add(&call->text, "%s%s=", between, call->args[i].name);
		call->args[i].out(&call->text, call->values, i);
		between = ", ";
	}
	if (*between == ',')
		dofi_text_add(&call->text, "}");
}

static void trace_add_result(struct dofi_text *t, DAT_RETURN ret)
{
	const char *type = NULL, *subtype = NULL;

	if (dat_strerror(ret, &type, &subtype) != DAT_SUCCESS || !type)
		dofi_text_add(t, "0x%08x", ret);
	else if (DAT_GET_SUBTYPE(ret) && subtype)
		dofi_text_add(t, "%s %s", type, subtype);
	else
		dofi_text_add(t, "%s", type);
}

/* Caller holds `lock`. */
static void trace_write_line(struct dofi_text *t)
{
	/* A truncated line ends with a newline, too. */
	if (t->len == sizeof(t->buf) - 1)
		t->len--;
	t->buf[t->len++] = '\n';
	dofi_log_file_write(&file, t->buf, t->len);
}

static void trace_flush_repeats(void)
{
	if (repeats.count) {
		dofi_text_add(&repeats.text, "(%lu more empty polls)", repeats.count);
		trace_write_line(&repeats.text);
	}
	repeats.count = 0;
}

/* Ends a series of empty polls because another line follows. Caller holds `lock`. */
static void trace_end_repeat(void)
{
	trace_flush_repeats();
	repeats.evd = NULL;
}

__attribute__((destructor)) static void trace_flush_at_exit(void)
{
	trace_flush_repeats();
}

/* True if the line is only counted. Caller holds `lock`. */
static bool trace_is_again(const struct dofi_trace_call *call, DAT_RETURN ret)
{
	const void *evd;

	if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY || strcmp(call->name, "evd_dequeue")) {
		trace_end_repeat();
		return false;
	}
	memcpy(&evd, call->values[0].at, sizeof(evd));
	if (repeats.evd == evd && repeats.thread == gettid()) {
		repeats.text.len = 0;
		trace_add_time(&repeats.text, &call->wall);
		dofi_text_add(&repeats.text, "dat_evd_dequeue = DAT_QUEUE_EMPTY ");
		repeats.count++;
		if (call->wall.tv_sec - repeats.since >= REPEAT_S) {
			trace_flush_repeats();
			repeats.since = call->wall.tv_sec;
		}
		return true;
	}
	trace_end_repeat();
	repeats.evd = evd;
	repeats.thread = gettid();
	repeats.since = call->wall.tv_sec;
	return false;
}

/* True if the call may sleep. Such calls are printed when they begin, too, to show where a program
 * hangs. */
static bool trace_may_sleep(const struct dofi_trace_call *call)
{
	DAT_TIMEOUT timeout;

	if (strcmp(call->name, "evd_wait") && strcmp(call->name, "cno_wait"))
		return false;
	memcpy(&timeout, call->values[1].at, sizeof(timeout));
	return timeout != 0;
}

void dofi_trace_begin(struct dofi_trace_call *call)
{
	DOFI_NO_CANCEL();

	call->text.len = 0;
	clock_gettime(CLOCK_REALTIME, &call->wall);
	trace_add_time(&call->text, &call->wall);
	trace_add_inputs(call);
	if (trace_may_sleep(call)) {
		struct dofi_text begun = call->text;

		dofi_text_add(&begun, " ...");
		pthread_mutex_lock(&lock);
		trace_end_repeat();
		trace_write_line(&begun);
		pthread_mutex_unlock(&lock);
	}
	call->begun = dofi_now();
}

void dofi_trace_end(struct dofi_trace_call *call, DAT_RETURN ret)
{
	uint64_t took = dofi_now() - call->begun;

	DOFI_NO_CANCEL();
	dofi_text_add(&call->text, " = ");
	trace_add_result(&call->text, ret);
	if (ret == DAT_SUCCESS)
		trace_add_outputs(call);
	dofi_text_add(&call->text, " %llu.%03llu us", (unsigned long long)(took / 1000),
		      (unsigned long long)(took % 1000));
	pthread_mutex_lock(&lock);
	if (!trace_is_again(call, ret))
		trace_write_line(&call->text);
	pthread_mutex_unlock(&lock);
}
