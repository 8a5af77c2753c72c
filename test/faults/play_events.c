/* SPDX-License-Identifier: BSD-2-Clause */
/* Judges results and events: which failures are allowed, and that each operation completes once. */
#include "play.h"

#include <string.h>

#if RL_API == 2
#include <dat2/dat_ib_extensions.h>
#endif

/* A wait that lasts so long while something fails ends the failures. */
#define US_FAILING 100000u
/* No event takes so long. */
#define US_LIMIT 15000000u
/* The server polls for the end of the client's attempt with this interval. */
#define US_POLL 2000u

bool end_failures(struct play *p)
{
	if (!p->faulty || p->ended || !fault_given())
		return false;
	fault_stop();
	p->ended = true;
	p->given = fault_given();
	result->frames = fault_where(result->where);
	return true;
}

/* Some calls of the system fail for reasons that DAT has a name for. */
static bool is_exact(const struct play *p, DAT_RETURN ret)
{
	static const struct {
		int how;
		DAT_RETURN ret;
	} other[] = {
		{ EADDRINUSE, DAT_CONN_QUAL_UNAVAILABLE },
		{ ENETUNREACH, DAT_INVALID_ADDRESS },
		{ EPERM, DAT_INVALID_ADDRESS }, /* of the peer: a firewall */
		{ EINTR, DAT_INTERRUPTED_CALL },
	};

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (fault_error(p->fault->kind) == other[i].how &&
		    DAT_GET_TYPE(ret) == other[i].ret)
			return true;
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES;
}

bool call_failed(struct play *p, DAT_RETURN ret, const char *what, int line)
{
	bool again = end_failures(p);

	rl_activity("%.40s, line %d", what, line);
	RL_CHECK(again, "%.60s (line %d) returned %s %s", what, line, rd_text(ret),
		 p->faulty ? "when nothing failed" : "in the other process");
	RL_CHECK(is_exact(p, ret), "%.60s (line %d) returned %s", what, line, rd_text(ret));
	result->returned++;
	return true;
}

/* ---- operations ---- */

DAT_DTO_COOKIE op_cookie(struct play *p, int conn, const char *what)
{
	struct conn *c = &p->c[conn];
	DAT_DTO_COOKIE cookie = { .as_64 = 0x5eed0000u + (unsigned int)conn * 256u +
					   (unsigned int)c->posted };

	RL_CHECK(c->posted < OPS, "too many operations");
	c->op[c->posted] = (struct op){ .what = what, .on_srq = *what == '*' };
	return cookie;
}

bool op_posted(struct play *p, int conn, DAT_RETURN ret, int line)
{
	struct conn *c = &p->c[conn];

	if (ret == DAT_SUCCESS) {
		c->posted++;
		return true;
	}
	/* The connection has been lost, or will be reported to be. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE && c->state != CONN_NONE) {
		c->failed++;
		return true;
	}
	call_failed(p, ret, c->op[c->posted].what, line);
	return false;
}

bool all_done(struct play *p, int conn)
{
	const struct conn *c = &p->c[conn];

	for (int n = 0; n < c->posted; n++)
		if (!c->op[n].done && (!c->op[n].on_srq || c->state == CONN_UP))
			return false;
	return true;
}

static void op_done(struct play *p, uint64_t cookie, int status, size_t len)
{
	unsigned int conn = (unsigned int)(cookie >> 8 & 255), n = (unsigned int)(cookie & 255);
	struct conn *c = &p->c[conn % CONNS];

	RL_CHECK(cookie >> 16 == 0x5eed && conn < CONNS && (int)n < c->posted,
		 "a completion has cookie %#llx", (unsigned long long)cookie);
	RL_CHECK(!c->op[n].done++, "%s (operation %u) completed twice", c->op[n].what, n);
	c->op[n].status = status;
	c->op[n].len = len;
	c->done++;
	c->failed += status != 0;
}

/* ---- events ---- */

static void on_connection(struct play *p, const DAT_EVENT *ev)
{
	const DAT_CONNECTION_EVENT_DATA *d = &ev->event_data.connect_event_data;
	struct conn *c = NULL;

	for (int i = 0; i < CONNS; i++)
		if (p->c[i].ep && p->c[i].ep == d->ep_handle)
			c = &p->c[i];
	RL_CHECK(c, "%s of no endpoint", rd_event_text(ev->event_number));
	switch ((int)ev->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		RL_CHECK(c->state == CONN_TRYING, "ESTABLISHED in state %d", (int)c->state);
		c->state = CONN_UP;
		memset(c->priv, 0, sizeof(c->priv));
		if (d->private_data_size > 0)
			memcpy(c->priv, d->private_data,
			       (size_t)d->private_data_size < sizeof(c->priv)
				       ? (size_t)d->private_data_size
				       : sizeof(c->priv));
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		RL_CHECK(c->state == CONN_UP || c->state == CONN_TRYING, "%s in state %d",
			 rd_event_text(ev->event_number), (int)c->state);
		c->state = CONN_ENDED;
		break;
	default:
		RL_CHECK(c->state == CONN_TRYING, "%s in state %d", rd_event_text(ev->event_number),
			 (int)c->state);
		c->state = CONN_ENDED;
	}
	c->outcome = ev->event_number;
}

static void on_request(struct play *p, const DAT_EVENT *ev)
{
	DAT_CR_HANDLE cr = ev->event_data.cr_arrival_event_data.cr_handle;
	DAT_CR_PARAM param;
	int attempt;

	MUST(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	RL_CHECK(param.private_data_size >= SMALL, "a request has %d bytes of private data",
		 (int)param.private_data_size);
	memcpy(&attempt, param.private_data, sizeof(attempt));
	RL_CHECK(rl_differs((char *)param.private_data + sizeof(attempt), SMALL - sizeof(attempt),
			    (uint32_t)attempt) < 0,
		 "the private data of a request is wrong");
	/* Of an attempt that the client has given up. */
	if (p->request || attempt != p->round) {
		CALL(rd_reject(cr));
		return;
	}
	p->request = cr;
}

static void on_event(struct play *p, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;

	switch ((int)ev->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		on_request(p, ev);
		break;
	case DAT_DTO_COMPLETION_EVENT:
#if RL_API == 2
	case DAT_IB_DTO_EVENT:
#endif
		op_done(p, d->user_cookie.as_64, (int)d->status, (size_t)d->transfered_length);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		op_done(p, ev->event_data.rmr_completion_event_data.user_cookie.as_64,
			(int)ev->event_data.rmr_completion_event_data.status, 0);
		break;
	default:
		RL_CHECK(ev->event_number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
				 ev->event_number <= DAT_CONNECTION_EVENT_UNREACHABLE,
			 "unexpected %s", rd_event_text(ev->event_number));
		on_connection(p, ev);
	}
}

/* The result of a wait that may have failed, and is repeated then. */
static bool waited(struct play *p, DAT_RETURN ret, DAT_RETURN none, const char *what)
{
	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != none)
		call_failed(p, ret, what, __LINE__);
	return ret == DAT_SUCCESS;
}

static bool take(struct play *p, DAT_EVENT *ev)
{
	DAT_EVD_HANDLE evds[] = { p->recv, p->req, p->conn, p->cr };

	for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
		if (dat_evd_dequeue(evds[i], ev) == DAT_SUCCESS)
			return true;
	return false;
}

/* Takes an event, or waits for one. */
static bool next(struct play *p, DAT_TIMEOUT us, DAT_EVENT *ev)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;
	bool woken;

	if (p->merged)
		return waited(p, dat_evd_wait(p->conn, us, 1, ev, &more), DAT_TIMEOUT_EXPIRED,
			      "dat_evd_wait");
	if (take(p, ev))
		return true;
	woken = waited(p, dat_cno_wait(p->cno, us, &evd), DAT_QUEUE_EMPTY, "dat_cno_wait");
	if (!take(p, ev))
		return false;
	RL_CHECK(woken || us < US_LIMIT, "an event has woken nothing for %u s", US_LIMIT / 1000000);
	return true;
}

void drain(struct play *p)
{
	DAT_EVENT ev;

	while (take(p, &ev))
		on_event(p, &ev);
}

static const char *undone(struct play *p)
{
	static char text[200];
	size_t at = 0;

	text[0] = 0;
	for (int i = 0; i < CONNS; i++) {
		struct conn *c = &p->c[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       " [state %d, %d of %d done:", (int)c->state, c->done,
				       c->posted);
		for (int n = 0; n < c->posted && at < sizeof(text) - 40; n++)
			if (!c->op[n].done)
				at += (size_t)snprintf(text + at, sizeof(text) - at, " %s",
						       c->op[n].what);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "]");
		if (at > sizeof(text) - 60)
			break;
	}
	return text;
}

/* The attempt of the client has failed. */
static bool client_gave_up(struct play *p)
{
	return rl_board->value[V_OUTCOME] == (uint64_t)p->round * 2;
}

void pump(struct play *p, bool (*until)(struct play *p, int arg), int arg)
{
	struct rl_limit limit = rl_limit(US_LIMIT / 1000);
	uint64_t began = rl_now();
	DAT_EVENT ev;

	while (!until(p, arg)) {
		bool failing = p->faulty && !p->ended;

		if (next(p, p->polls ? US_POLL : failing ? US_FAILING : US_LIMIT, &ev)) {
			on_event(p, &ev);
			continue;
		}
		if (p->polls && client_gave_up(p))
			return;
		if (rl_now() - began >= US_FAILING && end_failures(p))
			limit = rl_limit(US_LIMIT / 1000);
		RL_CHECK(!rl_passed(&limit), "no event:%s", undone(p));
	}
}

void meet(struct play *p)
{
	int mine = p->server, others = !p->server;

	rl_step(mine, ++p->met);
	for (int i = 0; !rl_reached(others, p->met, US_FAILING / 1000); i++) {
		end_failures(p);
		RL_CHECK(i < 200, "the other process does not come to step %d", p->met);
	}
}
