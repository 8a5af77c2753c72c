/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Feeds messages of a hostile peer to an adapter that has connections with two peers.
 *
 * The input is a list of steps: messages of the peer, valid enough to pass the first checks;
 * actions of the program (posts, opens and closes regions and endpoints); long data and failures
 * of the fabric. Invariants: no other memory is accessed; an operation completes at most once, a
 * shared receive exactly once; a message that breaks the format, and no other, ends its pair;
 * connections of the other peer go on.
 */
#include <string.h>

#include "base/be_bytes.h"
#include "fabric_msg.h"
#include "fuzz.h"
#include "pairs.h"

/* ---------------------------------------------------------------- bulk endpoints */

/* The hostile peer presents the oldest token that it has been granted for one. */
static void connect_bulk(void)
{
	struct dofi_list *pos;
	uint8_t param[PAIR_PARAM];

	dofi_list_each(pos, &net()->tokens)
	{
		const struct pair_token *t = dofi_container(pos, struct pair_token, link);

		if (!t->conn || memcmp(t->name, peers[0].name, PAIR_NAME))
			continue;
		param_of(&peers[0], t->token, param);
		fabric_msg_event(FI_CONNREQ, NULL, param, sizeof(param) - byte() % 2);
		break;
	}
	read_events();
}

static void step_bulk(unsigned int i, uint8_t how)
{
	struct pair_conn *conn = eps[i] ? eps[i]->w.pair : NULL;
	const struct pair_bulk *bulk = conn ? conn->bulk : NULL;

	if (how % 8 == 0 && conn && conn->pair) {
		if (how % 32 == 8)
			send_control(&peers[0], conn, PAIR_BULK_END, byte() % 4);
		else if (how % 32 == 16)
			send_control(&peers[0], conn, PAIR_WANT_BULK, byte() % 2);
		else
			send_control(&peers[0], conn, conn->active ? PAIR_BULK : PAIR_WANT_BULK,
				     conn->active);
		connect_bulk();
		return;
	}
	if (!bulk || !bulk->ep)
		return;
	switch (how % 8) {
	case 1:
	case 2:
		fabric_msg_event(FI_CONNECTED, &bulk->ep->fid, NULL, 0);
		break;
	case 3:
		fabric_msg_event(FI_SHUTDOWN, &bulk->ep->fid, NULL, 0);
		break;
	case 4:
		fabric_msg_event_error(&bulk->ep->fid, FI_ECONNREFUSED);
		break;
	case 5:
		fabric_msg_arrive(bulk->ep, some(0), 0);
		break;
	case 6:
		if (byte() >= 0xf0)
			fabric_msg_arrive(bulk->ep, SIZE_MAX, FI_EIO);
		else
			carried(bulk->ep);
		break;
	default:
		fabric_msg_arrive_with(bulk->ep, PAIR_CARRY, "", 0);
		break;
	}
	read_events();
	look();
}

/* ---------------------------------------------------------------- steps */

static void peers_bye(struct msgep_ep *e)
{
	uint8_t bye[4 * MSGEP_CHANNELS + 4], out[MSGEP_PARAMS_MAX], *p = bye;
	const struct pair_conn *conn = e->w.pair;

	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		p = dofi_put_be(p, conn->came[ch] + (uint32_t)(int8_t)byte(), 4);
	dofi_put_be(p, conn->packets + (uint32_t)(int8_t)byte(), 4);
	dofi_lock(&e->lock);
	msgep_transport_pair.finished(e, bye, byte() < 0xf0 ? sizeof(bye) : byte() % sizeof(bye));
	msgep_transport_pair.drained(e, byte() & 1);
	MUST(msgep_transport_pair.finish(e, out) <= sizeof(out));
	dofi_unlock(&e->lock);
}

static void lose_pair(uint8_t how)
{
	const struct pair *pair = pair_of_peer(&peers[0]);

	if (!pair)
		return;
	if (how & 1)
		fabric_msg_event(FI_SHUTDOWN, &pair->ep->fid, NULL, 0);
	else
		fabric_msg_event_error(&pair->ep->fid, FI_ECONNRESET);
	read_events();
}

static void step(void)
{
	uint8_t what = byte();
	unsigned int i = what >> 4;
	uint8_t how;

	switch (what & 15) {
	default:
		packets();
		break;
	case 7:
		raw_bytes();
		break;
	case 8:
		post_receive(i % 2 || !eps[i / 2 % HONEST_ACTIVE]
				     ? srx
				     : &eps[i / 2 % HONEST_ACTIVE]->fid);
		break;
	case 9:
	case 10:
		i %= HONEST_ACTIVE;
		if (eps[i])
			post(eps[i], byte() % 3);
		break;
	case 11:
		step_bulk(i % HONEST_ACTIVE, byte());
		break;
	case 12:
		if (i & 1)
			open_region();
		else
			close_region();
		break;
	case 13:
		i %= HONEST_ACTIVE;
		close_ep(i);
		open_ep(i);
		break;
	case 14:
		how = byte();
		fabric_msg_hold(how & 1);
		fabric_msg_refuse(how >> 5);
		if (how & 2)
			fabric_msg_fail_send();
		shaken |= !!(how & 2);
		look();
		if (how >= 0xfc)
			lose_pair(how);
		break;
	case 15:
		how = byte();
		i %= EPS;
		if (!eps[i])
			break;
		if (how & 1)
			pairs_cm_set(eps[i], how >> 1, peers[is_honest(i)].route);
		else if (how & 2)
			pairs_cm_decide();
		else if (eps[i]->w.pair)
			peers_bye(eps[i]);
		break;
	}
	if (i & 1)
		look();
	pairs_cm_work(&adapter);
}

/* ---------------------------------------------------------------- invariants */

/* No data is acknowledged that was not sent. */
static void check_counts(const struct pair_conn *conn)
{
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		MUST(conn->sent[ch] - atomic_load(&conn->granted[ch]) <= PAIR_WINDOW);
	MUST(conn->packets - atomic_load(&conn->arrived) <= PAIR_PACKETS);
}

static void check(void)
{
	struct dofi_list *pos;
	unsigned int tokens = 0;

	for (unsigned int i = HONEST_ACTIVE; i < EPS && !shaken; i++) {
		MUST(pair_of_peer(&peers[1]));
		MUST(!atomic_load(&eps[i]->broken) && !eps[i]->failed && !eps[i]->aborted);
		MUST(eps[i]->w.pair->pair == pair_of_peer(&peers[1]));
	}
	dofi_list_each(pos, &net()->tokens)
		tokens += !!dofi_container(pos, struct pair_token, link)->conn;
	MUST(tokens <= EPS);
	for (unsigned int i = 0; i < EPS; i++) {
		const struct msgep_ep *e = eps[i];

		if (!e)
			continue;
		if (e->w.pair)
			check_counts(e->w.pair);
		MUST(e->txq.tail - e->txq.head <= e->txq.capacity);
		MUST(e->unacked.tail - e->unacked.head <= e->unacked.capacity);
		MUST(e->reads.tail - e->reads.head <= e->reads.capacity);
		MUST(e->target_read_tail - e->target_read_head <= MSGEP_TARGET_READS);
		MUST(e->inflight_tail - e->inflight_head <= e->inflight_capacity);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input.at = data;
	input.end = data + size;
	set_up();
	while (input.at < input.end) {
		step();
		check();
	}
	tear_down();
	return 0;
}
