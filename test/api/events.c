/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the next event of a queue, in all fields, with the expected one. */
#include <sched.h>

#include "rig.h"

void check_ret(const char *file, int line, const char *call, DAT_RETURN got, DAT_RETURN want)
{
	const char *gmaj = "?", *gmin = "?", *wmaj = "?", *wmin = "?";

	if (got == want)
		return;
	(void)dat_strerror(got, &gmaj, &gmin);
	(void)dat_strerror(want, &wmaj, &wmin);
	dt_fail(file, line, "%s\n        gives %#x %s %s, expected %#x %s %s", call, got, gmaj,
		gmin, want, wmaj, wmin);
}

static const char *number_text(int number)
{
	switch (number) {
	case DAT_DTO_COMPLETION_EVENT:
		return "DTO_COMPLETION";
	case DAT_CONNECTION_REQUEST_EVENT:
		return "CONNECTION_REQUEST";
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "ACCEPT_COMPLETION_ERROR";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "TIMED_OUT";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	case DAT_SOFTWARE_EVENT:
		return "SOFTWARE";
	default:
		return "?";
	}
}

static void check_number(const char *file, int line, const DAT_EVENT *ev, int number)
{
	if ((int)ev->event_number != number)
		dt_fail(file, line, "event %#x %s, expected %#x %s", (unsigned int)ev->event_number,
			number_text((int)ev->event_number), (unsigned int)number,
			number_text(number));
}

/*
 * Programs poll as well as wait, which take different paths in the library: every other event is
 * polled for first, those that the other API version waits for.
 */
static bool asked_for(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	static _Atomic unsigned int events;
	uint64_t end;

	if ((events++ + (DAT_TEST_API == 12)) % 2)
		return false;
	end = dt_now_us() + US_ASK;
	do {
		if (dat_evd_dequeue(evd, ev) == DAT_SUCCESS)
			return true;
		sched_yield();
	} while (dt_now_us() < end);
	return false;
}

void poll_idle(DAT_EVD_HANDLE evd)
{
	uint64_t end = dt_now_us() + US_SHORT;
	DAT_EVENT ev;

	while (dt_now_us() < end)
		ASSERT_EQ(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
}

static void wait_for(const char *file, int line, DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	DAT_COUNT more = -7;
	DAT_RETURN ret;

	ret = dat_evd_wait(evd, US_EVENT * dt_slow(), 1, ev, &more);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		dt_fail(file, line, "no event within %u s", US_EVENT * dt_slow() / 1000000u);
	check_ret(file, line, "dat_evd_wait", ret, DAT_SUCCESS);
	if (more < 0)
		dt_fail(file, line, "nmore is %d", more);
}

void ev_next(const char *file, int line, DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	memset(ev, 0xa5, sizeof(*ev));
	if (!asked_for(evd, ev))
		wait_for(file, line, evd, ev);
	if (ev->evd_handle != evd)
		dt_fail(file, line, "evd_handle of the event is %p, not %p", ev->evd_handle, evd);
}

DAT_CONNECTION_EVENT_DATA ev_conn(const char *file, int line, DAT_EVD_HANDLE evd,
				  DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep)
{
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_EVENT ev;

	ev_next(file, line, evd, &ev);
	check_number(file, line, &ev, (int)number);
	d = &ev.event_data.connect_event_data;
	if (d->ep_handle != ep)
		dt_fail(file, line, "ep_handle is %p, not %p", d->ep_handle, ep);
	/* Only an acceptance (and in 2.0 a rejection) has private data. */
	if (number != DAT_CONNECTION_EVENT_ESTABLISHED &&
	    !(DAT_TEST_API == 20 && number == DAT_CONNECTION_EVENT_PEER_REJECTED) &&
	    d->private_data_size != 0)
		dt_fail(file, line, "private_data_size is %d", d->private_data_size);
	return *d;
}

DAT_CR_HANDLE ev_cr(const char *file, int line, DAT_EVD_HANDLE evd, DAT_HANDLE sp,
		    DAT_CONN_QUAL qual)
{
	DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_IA_ATTR attr;
	DAT_EVD_PARAM param;
	DAT_EVENT ev;

	ev_next(file, line, evd, &ev);
	check_number(file, line, &ev, DAT_CONNECTION_REQUEST_EVENT);
	d = &ev.event_data.cr_arrival_event_data;
	if (d->sp_handle.psp_handle != sp)
		dt_fail(file, line, "sp_handle is %p, not %p", d->sp_handle.psp_handle, sp);
	if (d->conn_qual != qual)
		dt_fail(file, line, "conn_qual is %#llx, not %#llx",
			(unsigned long long)d->conn_qual, (unsigned long long)qual);
	if (!d->cr_handle)
		dt_fail(file, line, "no cr_handle");
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	OK(dat_ia_query(param.ia_handle, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	if (!d->local_ia_address_ptr ||
	    d->local_ia_address_ptr->sa_family != attr.ia_address_ptr->sa_family)
		dt_fail(file, line, "local_ia_address_ptr is not of the IA's family");
#if DAT_TEST_API == 20
	if (d->truncate_flag != DAT_FALSE)
		dt_fail(file, line, "truncate_flag is %d", (int)d->truncate_flag);
#endif
	return d->cr_handle;
}

void check_dto(const char *file, int line, const DAT_EVENT *ev, DAT_EVD_HANDLE evd,
	       DAT_EP_HANDLE ep, uint64_t cookie, enum op op, DAT_DTO_COMPLETION_STATUS status,
	       size_t len)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;

	check_number(file, line, ev, DAT_DTO_COMPLETION_EVENT);
	if (ev->evd_handle != evd)
		dt_fail(file, line, "evd_handle is %p, not %p", ev->evd_handle, evd);
	if (d->ep_handle != ep)
		dt_fail(file, line, "ep_handle is %p, not %p", d->ep_handle, ep);
	if (d->user_cookie.as_64 != cookie)
		dt_fail(file, line, "user_cookie is %#llx, not %#llx (status %d)",
			(unsigned long long)d->user_cookie.as_64, (unsigned long long)cookie,
			(int)d->status);
	if (d->status != status)
		dt_fail(file, line, "status is %d, not %d (cookie %#llx)", (int)d->status,
			(int)status, (unsigned long long)cookie);
	if (status == DAT_DTO_SUCCESS && (size_t)d->transfered_length != len)
		dt_fail(file, line, "transfered_length is %llu, not %zu",
			(unsigned long long)d->transfered_length, len);
	if (!api_dto_is(d, op))
		dt_fail(file, line, "operation or rmr_context is wrong (cookie %#llx)",
			(unsigned long long)cookie);
}

void ev_dto(const char *file, int line, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
	    enum op op, DAT_DTO_COMPLETION_STATUS status, size_t len)
{
	DAT_EVENT ev;

	ev_next(file, line, evd, &ev);
	check_dto(file, line, &ev, evd, ep, cookie, op, status, len);
}

void ev_none(const char *file, int line, DAT_EVD_HANDLE evd, uint32_t us)
{
	DAT_COUNT more = -7;
	DAT_RETURN ret;
	DAT_EVENT ev;

	ret = dat_evd_wait(evd, us, 1, &ev, &more);
	if (ret == DAT_SUCCESS)
		dt_fail(file, line, "unexpected event %#x %s", (unsigned int)ev.event_number,
			number_text((int)ev.event_number));
	check_ret(file, line, "dat_evd_wait", ret, API_ERR(DAT_TIMEOUT_EXPIRED, 0));
	if (more != 0)
		dt_fail(file, line, "nmore is %d on an empty queue", more);
}

DAT_COUNT ev_queued(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;
	DAT_COUNT more = -7;
	DAT_EVENT ev;

	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ASSERT_RET(dat_evd_wait(evd, 0, param.evd_qlen, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	return more;
}

DAT_RETURN post_se(DAT_EVD_HANDLE evd, uintptr_t number)
{
	DAT_EVENT ev;

	memset(&ev, 0, sizeof(ev));
	ev.event_number = DAT_SOFTWARE_EVENT;
	ev.event_data.software_event_data.pointer = (DAT_PVOID)number;
	return dat_evd_post_se(evd, &ev);
}

void ev_se(const char *file, int line, DAT_EVD_HANDLE evd, uintptr_t number)
{
	DAT_EVENT ev;

	ev_next(file, line, evd, &ev);
	check_number(file, line, &ev, DAT_SOFTWARE_EVENT);
	if (number_of(&ev) != number)
		dt_fail(file, line, "pointer is %#lx, not %#lx", (unsigned long)number_of(&ev),
			(unsigned long)number);
}
