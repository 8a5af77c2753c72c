/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads events, and implements the ledger of posted and completed operations. */
#include <stdio.h>
#include <string.h>

#include "rdat.h"

#define COOKIE_TAG 0x5eed000000000000u

const char *rd_event_text(DAT_EVENT_NUMBER number)
{
	static char text[24];

	switch ((int)number) {
	case DAT_DTO_COMPLETION_EVENT:
		return "DTO completion";
	case DAT_CONNECTION_REQUEST_EVENT:
		return "connection request";
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
	default:
		snprintf(text, sizeof(text), "event 0x%x", (unsigned int)number);
		return text;
	}
}

static char event_letter(DAT_EVENT_NUMBER number)
{
	switch ((int)number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return 'E';
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return 'P';
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return 'N';
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return 'A';
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return 'D';
	case DAT_CONNECTION_EVENT_BROKEN:
		return 'B';
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return 'T';
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return 'U';
	default:
		return 0;
	}
}

/* Waiting */

bool rd_next(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *ev)
{
	uint64_t deadline = rl_now() + (uint64_t)ms * 1000;

	for (;;) {
		uint64_t now = rl_now();
		DAT_COUNT more;
		DAT_RETURN ret;

		memset(ev, 0, sizeof(*ev));
		ret = dat_evd_wait(evd, (DAT_TIMEOUT)(deadline > now ? deadline - now : 0), 1, ev,
				   &more);
		if (ret == DAT_SUCCESS) {
			RL_CHECK(ev->evd_handle == evd, "the event names another EVD");
			return true;
		}
		if (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
			continue;
		RL_CHECK(DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED, "dat_evd_wait returned %s",
			 rd_text(ret));
		return false;
	}
}

/* One wait, unless the machine was slow: a second one would hide a wakeup that was lost. */
bool rd_await(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *ev)
{
	struct rl_limit limit = rl_limit(ms);

	for (unsigned int left = rl_bound(ms); !rd_next(evd, left, ev);) {
		if (rl_passed(&limit))
			return false;
		left = (unsigned int)((limit.end + limit.granted - rl_now()) / 1000) + 1;
	}
	return true;
}

bool rd_poll(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	DAT_RETURN ret;

	memset(ev, 0, sizeof(*ev));
	ret = dat_evd_dequeue(evd, ev);
	if (ret == DAT_SUCCESS) {
		RL_CHECK(ev->evd_handle == evd, "the event names another EVD");
		return true;
	}
	RL_CHECK(DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY, "dat_evd_dequeue returned %s", rd_text(ret));
	return false;
}

void rd_expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, unsigned int ms, DAT_EVENT *ev)
{
	char wanted[32];

	snprintf(wanted, sizeof(wanted), "%s", rd_event_text(number));
	rl_activity("waiting for %s", wanted);
	RL_CHECK(rd_await(evd, ms, ev), "no %s within %u ms", wanted, rl_bound(ms));
	RL_CHECK(ev->event_number == number, "got %s, expected %s", rd_event_text(ev->event_number),
		 wanted);
}

void rd_expect_dto(DAT_EVD_HANDLE evd, uint64_t cookie, unsigned int ms)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT ev;

	rd_expect(evd, DAT_DTO_COMPLETION_EVENT, ms, &ev);
	d = &ev.event_data.dto_completion_event_data;
	RL_CHECK(d->status == DAT_DTO_SUCCESS, "completion of 0x%llx has status %d",
		 (unsigned long long)d->user_cookie.as_64, (int)d->status);
	RL_CHECK(d->user_cookie.as_64 == cookie, "got the completion of 0x%llx, expected 0x%llx",
		 (unsigned long long)d->user_cookie.as_64, (unsigned long long)cookie);
}

/* Ledger */

unsigned int rd_post(struct rd_ledger *l, enum rd_kind kind, const struct rd_mem *mem, size_t off,
		     size_t len, int remote, size_t remote_off)
{
	unsigned int n = l->posted;
	uint64_t cookie = COOKIE_TAG | n;

	RL_CHECK(n < RD_OPS, "the ledger is full");
	l->op[n].kind = kind;
	l->op[n].len = len;
	l->posted++;
	switch (kind) {
	case RD_SEND:
		RD_OK(rd_send(l->ep, mem, off, len, cookie));
		break;
	case RD_RECV:
		RD_OK(rd_recv(l->ep, mem, off, len, cookie));
		break;
	case RD_WRITE:
		RD_OK(rd_write(l->ep, mem, off, len, cookie, remote, remote_off));
		break;
	case RD_READ:
		RD_OK(rd_read(l->ep, mem, off, len, cookie, remote, remote_off));
		break;
	}
	return n;
}

static void ledger_add_dto(struct rd_ledger *l, const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	uint64_t n = d->user_cookie.as_64 ^ COOKIE_TAG;

	RL_CHECK(n < l->posted, "completion with the unknown cookie 0x%llx",
		 (unsigned long long)d->user_cookie.as_64);
	RL_CHECK(d->ep_handle == l->ep, "completion of operation %u names another EP",
		 (unsigned int)n);
	RL_CHECK(!l->op[n].got, "operation %u completed twice (status %d, then %d)",
		 (unsigned int)n, l->op[n].status, (int)d->status);
	l->op[n].got++;
	l->op[n].status = (int)d->status;
	l->completed++;
	if (d->status == DAT_DTO_SUCCESS) {
		if (l->ended)
			l->success_after_end = true;
		RL_CHECK(l->op[n].kind == RD_RECV ? d->transfered_length <= l->op[n].len
						  : d->transfered_length == l->op[n].len,
			 "operation %u of %zu bytes transferred %llu", (unsigned int)n,
			 l->op[n].len, (unsigned long long)d->transfered_length);
	} else {
		l->flushed += d->status == DAT_DTO_ERR_FLUSHED;
	}
}

void rd_ledger_add(struct rd_ledger *l, const DAT_EVENT *ev)
{
	const DAT_CONNECTION_EVENT_DATA *c = &ev->event_data.connect_event_data;
	size_t len = strlen(l->conn);

	if (ev->event_number == DAT_DTO_COMPLETION_EVENT) {
		ledger_add_dto(l, &ev->event_data.dto_completion_event_data);
		return;
	}
	RL_CHECK(event_letter(ev->event_number), "unexpected %s", rd_event_text(ev->event_number));
	RL_CHECK(c->ep_handle == l->ep, "%s of another EP", rd_event_text(ev->event_number));
	RL_CHECK(len + 1 < sizeof(l->conn), "too many connection events: %s", l->conn);
	l->conn[len] = event_letter(ev->event_number);
	l->ended = l->ended || event_letter(ev->event_number) != 'E';
}

int rd_drain(struct rd *rd, struct rd_ledger *l)
{
	DAT_EVD_HANDLE evds[4] = { rd->conn, rd->recv, rd->req, rd->cr };
	DAT_EVENT ev;
	int n = 0;

	for (int i = 0; i < 4; i++) {
		if (i && evds[i] == evds[0])
			continue;
		while (rd_poll(evds[i], &ev)) {
			rd_ledger_add(l, &ev);
			n++;
		}
	}
	return n;
}

bool rd_conn_events_match(const struct rd_ledger *l, const char *alternatives)
{
	size_t len = strlen(l->conn);
	const char *p = alternatives;

	for (;;) {
		size_t word = strcspn(p, "|");

		if (word == len && !memcmp(p, l->conn, len))
			return true;
		if (!p[word])
			return false;
		p += word + 1;
	}
}

bool rd_complete(const struct rd_ledger *l, const char *alternatives)
{
	return l->completed == l->posted && rd_conn_events_match(l, alternatives);
}

const char *rd_ledger_text(const struct rd_ledger *l)
{
	static const char *const kinds[] = { "send", "receive", "write", "read" };
	static char text[200];
	unsigned int first = 0;

	while (first < l->posted && l->op[first].got)
		first++;
	if (first < l->posted)
		snprintf(text, sizeof(text),
			 "%u of %u operations completed, %u flushed, first "
			 "missing: %u (%s); connection events: \"%s\"",
			 l->completed, l->posted, l->flushed, first, kinds[l->op[first].kind],
			 l->conn);
	else
		snprintf(text, sizeof(text),
			 "all %u operations completed, %u flushed; connection "
			 "events: \"%s\"",
			 l->posted, l->flushed, l->conn);
	return text;
}

void rd_check_order(const struct rd_ledger *l)
{
	bool failed[2] = { false, false };

	for (unsigned int i = 0; i < l->posted; i++) {
		bool *f = &failed[l->op[i].kind == RD_RECV];

		if (!l->op[i].got)
			continue;
		if (l->op[i].status)
			*f = true;
		else
			RL_CHECK(!*f, "operation %u succeeded after a failed one", i);
	}
}
