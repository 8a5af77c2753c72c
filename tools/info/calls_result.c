/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports the result of a call as a fact, and waits for events. Compiled once per API version. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "calls_run.h"
#include "facts.h"

#define CALLS "calls"
#define YES "yes"

struct info_run info_run;

/* ---- results ---- */

static void put_answer(const char *call, const char *use, const char *answer)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s%s", call, use ? "/" : "", use ? use : "");
	info_put_text(CALLS, name, answer);
}

bool info_run_missing(const char *call)
{
	put_answer(call, NULL, "this libdat has no such call");
	return false;
}

bool info_run_wrong(const char *call, const char *use, const char *reason)
{
	put_answer(call, use, reason);
	return false;
}

bool info_run_result(const char *call, const char *use, DAT_RETURN ret)
{
	const char *type = NULL, *subtype = NULL;
	char text[160];

	if (ret == DAT_SUCCESS) {
		put_answer(call, use, YES);
		return true;
	}
	D.dat_strerror(ret, &type, &subtype);
	snprintf(text, sizeof(text), "%s", type ? type : "unknown error");
	if (subtype && *subtype && strcmp(subtype, "DAT_NO_SUBTYPE"))
		snprintf(text, sizeof(text), "%s %s", type, subtype);
	return info_run_wrong(call, use, text);
}

bool info_run_effect(const char *call, const char *use, DAT_RETURN ret, bool came)
{
	if (ret == DAT_SUCCESS && !came)
		return info_run_wrong(call, use, info_run.why);
	return info_run_result(call, use, ret);
}

/* ---- events ---- */

bool info_run_event(DAT_EVD_HANDLE evd, int number, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	memset(event, 0, sizeof(*event));
	ret = D.dat_evd_wait(evd, info_run.wait_us, 1, event, &more);
	if (ret != DAT_SUCCESS) {
		snprintf(info_run.why, sizeof(info_run.why), "no event within %u seconds",
			 info_run.wait_us / 1000000);
		info_run.wait_us = RUN_WAIT_LATE_US;
		return false;
	}
	if ((int)event->event_number == number)
		return true;
	snprintf(info_run.why, sizeof(info_run.why), "event 0x%x instead of 0x%x",
		 (unsigned int)event->event_number, (unsigned int)number);
	return false;
}

bool info_run_dto(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_STATUS status;

	if (!info_run_event(evd, DAT_DTO_COMPLETION_EVENT, event))
		return false;
	status = event->event_data.dto_completion_event_data.status;
	if (status == DAT_DTO_SUCCESS)
		return true;
	snprintf(info_run.why, sizeof(info_run.why), "completed with status %d", (int)status);
	return false;
}
