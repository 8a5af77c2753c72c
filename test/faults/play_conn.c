/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects two endpoints, again if an attempt or the connection has failed, disconnects them. */
#include "play.h"

#include <string.h>

#define US_CONNECT 5000000u
#define TRIES 4
#define SEED_ACCEPT 1000
#define SEED_REJECT 2000

static bool has_request(struct play *p, int arg)
{
	(void)arg;
	return p->request != NULL;
}

static bool is_settled(struct play *p, int conn)
{
	return p->c[conn].state != CONN_TRYING;
}

static bool has_ended(struct play *p, int conn)
{
	return p->c[conn].state == CONN_ENDED;
}

/* Publishes how a step ended here; true if both sides succeeded. */
static bool both(struct play *p, int which, bool mine)
{
	bool all;

	rl_board->value[which + p->server] = (uint64_t)p->round * 2 + mine;
	meet(p);
	all = mine && rl_board->value[which + !p->server] == (uint64_t)p->round * 2 + 1;
	/* Both have read before either goes on. */
	meet(p);
	return all;
}

static void start_connect(struct play *p, int conn)
{
	struct conn *c = &p->c[conn];
	unsigned char priv[SMALL];
	struct sockaddr_storage addr;

	memcpy(&addr, rl_board->addr, sizeof(addr));
	memcpy(priv, &p->round, sizeof(p->round));
	rl_fill(priv + sizeof(p->round), sizeof(priv) - sizeof(p->round), (uint32_t)p->round);
	c->state = CONN_TRYING;
	CALL(dat_ep_connect(c->ep, (DAT_IA_ADDRESS_PTR)&addr, rl_board->qual, US_CONNECT,
			    sizeof(priv), priv, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static bool await_request(struct play *p)
{
	p->polls = true;
	pump(p, has_request, 0);
	p->polls = false;
	return p->request != NULL;
}

static void start_accept(struct play *p, int conn)
{
	struct conn *c = &p->c[conn];
	unsigned char priv[SMALL];
	DAT_CR_HANDLE cr;

	if (!await_request(p))
		return;
	rl_fill(priv, sizeof(priv), (uint32_t)(p->round + SEED_ACCEPT));
	cr = p->request;
	p->request = NULL;
	c->state = CONN_TRYING;
	CALL(dat_cr_accept(cr, c->ep, sizeof(priv), priv));
}

static void reset(struct play *p, int conn)
{
	struct conn *c = &p->c[conn];

	pump(p, all_done, conn);
	if (conn) {
		/* Buffers of the SRQ may have completed meanwhile; their cookies are used again. */
		free_ep(p, conn);
		drain(p);
		make_ep(p, conn);
	} else {
		CALL(dat_ep_reset(c->ep));
	}
	c->posted = c->done = c->failed = 0;
	c->state = CONN_NONE;
}

/* Rejects a request of the attempt that has failed. */
static void drop_request(struct play *p)
{
	DAT_CR_HANDLE cr = p->request;

	p->request = NULL;
	if (cr)
		CALL(rd_reject(cr));
}

/* After a failure: makes the endpoint usable again. */
static void recover(struct play *p, int conn)
{
	struct conn *c = &p->c[conn];
	DAT_RETURN ret;

	p->lost++;
	/* The failure has been reported, by an event. */
	end_failures(p);
	rl_activity("recovering after attempt %d", p->round);
	drop_request(p);
	if (c->state == CONN_UP) {
		ret = dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG);
		RL_CHECK(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INVALID_STATE,
			 "dat_ep_disconnect returned %s", rd_text(ret));
		pump(p, has_ended, conn);
	}
	if (c->state == CONN_ENDED)
		reset(p, conn);
	/* The client may have sent its request twice, and the second was read meanwhile. */
	drop_request(p);
}

static void link_up(struct play *p, int conn, void (*receives)(struct play *p, int conn))
{
	struct conn *c = &p->c[conn];

	for (int tries = 0;; tries++) {
		RL_CHECK(tries < TRIES, "%d attempts to connect failed, the last with %s", tries,
			 rd_event_text(c->outcome));
		p->round++;
		rl_activity("connecting, attempt %d", p->round);
		prepare(p);
		if (!c->posted)
			receives(p, conn);
		if (p->server)
			start_accept(p, conn);
		else
			start_connect(p, conn);
		pump(p, is_settled, conn);
		if (!p->server && c->state == CONN_UP)
			RL_CHECK(rl_differs(c->priv, sizeof(c->priv),
					    (uint32_t)(p->round + SEED_ACCEPT)) < 0,
				 "the private data of the answer is wrong");
		if (both(p, V_OUTCOME, c->state == CONN_UP))
			return;
		recover(p, conn);
	}
}

void exchange(struct play *p, int conn, void (*receives)(struct play *p, int conn),
	      void (*ops)(struct play *p, int conn))
{
	struct conn *c = &p->c[conn];

	for (int tries = 0;; tries++) {
		RL_CHECK(tries < TRIES, "a connection was lost %d times", tries);
		if (c->state != CONN_UP)
			link_up(p, conn, receives);
		rl_activity("using connection %d, attempt %d", conn, p->round);
		ops(p, conn);
		if (both(p, V_OK, c->state == CONN_UP && !c->failed))
			return;
		recover(p, conn);
	}
}

void hang_up(struct play *p, int conn, bool by_server, DAT_CLOSE_FLAGS flags)
{
	struct conn *c = &p->c[conn];
	bool failed = p->lost > 0 || p->faulty;

	rl_activity("disconnecting");
	if (p->server == by_server) {
		for (;;) {
			DAT_RETURN ret = dat_ep_disconnect(c->ep, flags);

			if (ret == DAT_SUCCESS ||
			    (failed && DAT_GET_TYPE(ret) == DAT_INVALID_STATE) ||
			    !call_failed(p, ret, "dat_ep_disconnect", __LINE__))
				break;
		}
	}
	pump(p, has_ended, conn);
	meet(p);
	reset(p, conn);
}

void refuse(struct play *p, int conn)
{
	struct conn *c = &p->c[conn];
	bool refused;

	for (int tries = 0;; tries++) {
		RL_CHECK(tries < TRIES, "no attempt was rejected by the peer, but with %s",
			 rd_event_text(c->outcome));
		p->round++;
		rl_activity("rejecting, attempt %d", p->round);
		if (p->server) {
			refused = await_request(p);
			if (refused) {
				DAT_CR_HANDLE cr = p->request;

				p->request = NULL;
				CALL(rd_reject(cr));
			}
		} else {
			start_connect(p, conn);
			pump(p, is_settled, conn);
			refused = c->outcome == DAT_CONNECTION_EVENT_PEER_REJECTED;
		}
		if (both(p, V_OUTCOME, refused)) {
			if (!p->server)
				reset(p, conn);
			return;
		}
		recover(p, conn);
	}
}
