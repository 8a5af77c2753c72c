/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that promised events are reported whichever allocation fails. */
#include "rig.h"
#include "srq_rig.h"
#include "starve.h"

#define NEEDS_STARVE() \
	do { \
		if (!starve_works()) \
			dt_skip("the allocator is the sanitizer's"); \
	} while (0)
/* No case has more allocations to fail than that. */
#define MOST 2000

/* ---- events of a connection ---- */

#define US_TRY 2000000u

static bool is_refusal(DAT_EVENT_NUMBER number)
{
	return number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	       number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
	       number == DAT_CONNECTION_EVENT_UNREACHABLE ||
	       number == DAT_CONNECTION_EVENT_TIMED_OUT;
}

/* The event that must come; 0: none did. */
static DAT_EVENT_NUMBER outcome(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	if (dat_evd_wait(evd, 3 * US_TRY * dt_slow(), 1, &ev, &more))
		return 0;
	return ev.event_number;
}

/* Waits for a request or for the end of the attempt; true: accepted. */
static bool accept_request(struct pair *p)
{
	uint64_t end = dt_now_us() + 2ull * US_TRY * dt_slow();
	DAT_COUNT more;
	DAT_EVENT ev;
	DAT_RETURN ret;

	while (dat_evd_wait(p->cr_evd, 10000, 1, &ev, &more)) {
		if (ev_queued(p->a.conn) || dt_now_us() > end)
			return false;
	}
	ret = dat_cr_accept(cr_of(&ev), p->b.ep, 0, NULL);
	if (ret == DAT_SUCCESS)
		return true;
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	OK(api_cr_reject(cr_of(&ev)));
	return false;
}

/* True: both sides are connected. Otherwise each attempt has ended with one event. */
static bool try_to_connect(struct pair *p, int n)
{
	DAT_EVENT_NUMBER a, b = 0;
	bool accepted;
	DAT_RETURN ret;

	ret = dat_ep_connect(p->a.ep, p->node.attr.ia_address_ptr, p->qual, US_TRY * dt_slow(), 0,
			     NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret) {
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
		return false;
	}
	accepted = accept_request(p);
	a = outcome(p->a.conn);
	if (a != DAT_CONNECTION_EVENT_ESTABLISHED && !is_refusal(a))
		FAIL("allocation %d: the client got event %#x", n, a);
	if (accepted)
		b = outcome(p->b.conn);
	if (accepted && b != DAT_CONNECTION_EVENT_ESTABLISHED &&
	    b != DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR &&
	    b != DAT_CONNECTION_EVENT_DISCONNECTED && b != DAT_CONNECTION_EVENT_BROKEN)
		FAIL("allocation %d: the server got event %#x", n, b);
	return a == DAT_CONNECTION_EVENT_ESTABLISHED && b == a;
}

static void check_end(DAT_EVD_HANDLE evd, int n, const char *who)
{
	DAT_EVENT_NUMBER number = outcome(evd);

	if (number != DAT_CONNECTION_EVENT_DISCONNECTED && number != DAT_CONNECTION_EVENT_BROKEN)
		FAIL("allocation %d: the %s got event %#x", n, who, number);
}

/* Connects, moves data and disconnects while allocation n fails; false: there are fewer. */
static bool whole_life(int n)
{
	struct pair p;
	int failed;

	pair_open(&p);
	OK(post_recv(&p.b, 0, 100, 1));
	starve_from(n, 0);
	if (try_to_connect(&p, n)) {
		OK(post_send(&p.a, 0, 100, 2));
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 100);
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
		OK(post_recv(&p.b, 0, 100, 3));
		OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		check_end(p.a.conn, n, "client");
		check_end(p.b.conn, n, "server");
		EV_FLUSH(p.b.recv, p.b.ep, 3, OP_RECV);
	}
	failed = starve_end();
	pair_close(&p);
	return failed;
}

TEST_LIMIT(starve, events_of_a_connection_whichever_allocation_fails, 180)
{
	int n = 0;

	NEEDS_STARVE();
	while (whole_life(n))
		ASSERT(++n < MOST);
	dt_note("%d allocations", n);
	/* Else this proves nothing. */
	ASSERT(n > 1);
}

/* ---- completions ---- */

#define BURST 400

static DAT_EP_ATTR deep_attr(struct node *n)
{
	DAT_EP_ATTR attr = default_attr(n);

	attr.max_recv_dtos = attr.max_request_dtos = BURST;
	return attr;
}

static void make_deep(struct pair *p, struct side *s)
{
	DAT_EP_ATTR attr = deep_attr(&p->node);

	OK(dat_ep_free(s->ep));
	OK(dat_evd_free(s->recv));
	OK(dat_evd_free(s->req));
	s->recv = evd_make(&p->node, 8, DAT_EVD_DTO_FLAG);
	s->req = evd_make(&p->node, 8, DAT_EVD_DTO_FLAG);
	OK(dat_ep_create(p->node.ia, p->node.pz, s->recv, s->req, s->conn, &attr, &s->ep));
}

static void deep_pair(struct pair *p)
{
	pair_open(p);
	make_deep(p, &p->a);
	make_deep(p, &p->b);
	pair_connect(p);
}

/* More completions than the queues have room for, and no memory for more room, until they are
 * dequeued: all come, in order. */
TEST_LIMIT(starve, completions_that_find_no_room_come_later, 60)
{
	struct pair p;

	NEEDS_STARVE();
	deep_pair(&p);
	for (uint64_t i = 0; i < BURST; i++)
		OK(post_recv(&p.b, 0, 8, i));
	starve_from(0, -1);
	for (uint64_t i = 0; i < BURST; i++)
		OK(post_send(&p.a, 0, 8, i));
	for (uint64_t i = 0; i < BURST; i++)
		EV_DTO(p.a.req, p.a.ep, i, OP_SEND, 8);
	for (uint64_t i = 0; i < BURST; i++)
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 8);
	EV_NONE(p.b.recv);
	if (!starve_end())
		FAIL("no queue had to grow");
	pair_close(&p);
}

TEST_LIMIT(starve, flushes_that_find_no_room_come_later, 60)
{
	struct pair p;

	NEEDS_STARVE();
	deep_pair(&p);
	for (uint64_t i = 0; i < BURST; i++)
		OK(post_recv(&p.b, 0, 8, i));
	starve_from(0, -1);
	pair_disconnect(&p);
	for (uint64_t i = 0; i < BURST; i++)
		EV_FLUSH(p.b.recv, p.b.ep, i, OP_RECV);
	EV_NONE(p.b.recv);
	if (!starve_end())
		FAIL("no queue had to grow");
	pair_close(&p);
}

TEST_LIMIT(starve, messages_to_a_shared_queue_that_find_no_room_come_later, 60)
{
	struct hub h;
	int i;

	NEEDS_STARVE();
	hub_open(&h, 1, HUB_SLOTS, 0);
	OK(dat_evd_resize(h.on[0].recv, 8));
	for (i = 0; i < HUB_SLOTS; i++)
		OK(hub_post(&h, i, 100, (uint64_t)i));
	starve_from(0, -1);
	for (i = 0; i < HUB_SLOTS; i++)
		hub_send(&h, 0, 100, (unsigned int)i);
	for (i = 0; i < HUB_SLOTS; i++)
		HUB_GOT(&h, 0, (uint64_t)i, i, 100, (unsigned int)i);
	if (!starve_end())
		FAIL("no queue had to grow");
	hub_close(&h);
}

/* A message that arrives before there is a receive for it has to be kept. Without memory it is
 * lost, and the connection ends: later ones must not arrive before its end is reported. */
TEST_LIMIT(starve, nothing_arrives_after_a_message_that_could_not_be_kept, 60)
{
	int lost = 0;

	NEEDS_STARVE();
	/* Not over all fabrics does it need memory. */
	for (int i = 0; i < 20 && lost == i; i++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d;
		struct pair p;
		DAT_EVENT ev;
		uint64_t end;

		pair_up(&p);
		starve_from(0, -1);
		OK(post_send(&p.a, 0, 10, 1));
		end = dt_now_us() + 20000;
		while (!starve_failed() && dt_now_us() < end)
			ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(p.b.recv, &ev)), DAT_QUEUE_EMPTY);
		lost += starve_end() > 0;
		OK(post_recv(&p.b, 0, 100, 2));
		OK(post_send(&p.a, 0, 20, 3));
		EV_NEXT(p.b.recv, &ev);
		d = dto_of(&ev);
		if (d->status == DAT_DTO_SUCCESS)
			ASSERT_EQ(d->transfered_length, 10);
		else
			ASSERT_EQ(d->status, DAT_DTO_ERR_FLUSHED);
		pair_close(&p);
	}
	dt_note("%d messages found no memory", lost);
}

/* More endpoints with a shared queue than the asynchronous EVD has places: each reports that it
 * has no buffer any more. */
TEST_LIMIT(starve, asynchronous_events_of_shared_queues_find_room, 60)
{
	DAT_HANDLE ended[2 * HUB_EPS] = { NULL };
	struct hub h;
	DAT_EVENT ev;
	int i, k;

	NEEDS_STARVE();
	hub_open(&h, HUB_EPS, 8, HUB_BOTH);
	starve_from(0, -1);
	for (i = 0; i < HUB_EPS; i++) {
		OK(dat_ep_disconnect(h.peer[i].ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_CONN(h.peer[i].conn, DISCONNECTED, h.peer[i].ep);
		EV_CONN(h.on[i].conn, DISCONNECTED, h.on[i].ep);
	}
	for (i = 0; i < 2 * HUB_EPS; i++) {
		EV_NEXT(h.node.async, &ev);
		ASSERT_EQ(ev.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
		ended[i] = ev.event_data.asynch_error_event_data.dat_handle;
		for (k = 0; k < i; k++)
			ASSERT(ended[k] != ended[i]);
	}
	EV_NONE(h.node.async);
	starve_end();
	hub_close(&h);
}

/* ---- wakeups ---- */

static void await_message(void *arg)
{
	struct pair *p = arg;
	DAT_COUNT more;
	DAT_EVENT ev;

	OK(dat_evd_wait(p->b.recv, US_EVENT * dt_slow(), 1, &ev, &more));
	CHECK_DTO(&ev, p->b.recv, p->b.ep, 1, OP_RECV, 10);
}

/* The kernel has no memory for the byte that wakes the receiver. */
static void wake_without_memory(int refusals)
{
	struct dt_thread t;
	struct dt_start start;
	struct pair p;

	pair_up(&p);
	OK(post_recv(&p.b, 0, 10, 1));
	dt_thread_start(&t, await_message, &p);
	dt_thread_wait_blocked(&t);
	start = dt_start();
	starve_wakeups(refusals);
	OK(post_send(&p.a, 0, 10, 2));
	dt_thread_join(&t);
	ASSERT(dt_in_time(&start, 1000000));
	/* Until it is sent, even if the progress thread has found the message before. Other fabrics
	 * do not use this wakeup. */
	if (fabric_is("shm"))
		DT_UNTIL(!starve_wakeups_left(), US_EVENT);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 10);
	pair_close(&p);
}

TEST(starve, doorbell_that_finds_no_memory_rings_again)
{
	wake_without_memory(1);
	wake_without_memory(20);
}

/* ---- the registry ---- */

static int count_names(void)
{
	static DAT_PROVIDER_INFO info[256];
	DAT_PROVIDER_INFO *list[256];
	DAT_COUNT n = 0;

	for (int i = 0; i < 256; i++)
		list[i] = &info[i];
	return dat_registry_list_providers(256, &n, list) ? -1 : n;
}

/* Of a process whose allocation `n` fails at its first look: what the second one shows. */
struct reading {
	bool conf;
	int n;
};

static void read_registry(int fd, const void *arg)
{
	const struct reading *r = arg;
	int answer[2], first;

	if (!r->conf)
		unsetenv("DAT_OVERRIDE");
	if (r->n >= 0)
		starve_from(r->n, 0);
	first = count_names();
	answer[0] = r->n >= 0 ? starve_end() : 0;
	answer[1] = count_names();
	/* A partial list is an error. */
	if (first >= 0)
		ASSERT_EQ(first, answer[1]);
	dt_put(fd, answer, sizeof(answer));
}

static int names_after(bool conf, int n, int *failed)
{
	struct reading r = { conf, n };
	struct dt_peer peer;
	int answer[2];

	dt_peer_start(&peer, read_registry, &r);
	dt_get(peer.fd, answer, sizeof(answer));
	dt_peer_finish(&peer);
	*failed = answer[0];
	return answer[1];
}

static void check_names(bool conf)
{
	int failed, n, all = names_after(conf, -1, &failed);

	ASSERT(all > 0);
	for (n = 0; n < MOST; n++) {
		int seen = names_after(conf, n, &failed);

		if (!failed)
			break;
		if (seen != all)
			FAIL("allocation %d fails: %d names of %d", n, seen, all);
	}
	ASSERT(n > 2 && n < MOST);
}

TEST_LIMIT(starve, built_in_names_are_there_after_a_failed_allocation, 60)
{
	NEEDS_STARVE();
	check_names(false);
}

TEST_LIMIT(starve, names_of_the_registry_file_are_there_after_a_failed_allocation, 60)
{
	NEEDS_STARVE();
	check_names(true);
}
