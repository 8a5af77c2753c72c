/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests polling of event queues: its cost in system calls, that polling one queue serves the other
 * queues of the adapter, and that what is posted takes place without any poll. The kernel counts
 * read and write calls of a thread; this program counts those of epoll_wait, with which libfabric's
 * tcp provider begins each poll.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rig.h"

#define MESSAGES 100
#define ROUNDS 20
/* progress_wakeup.h: the progress thread leaves queues to consumers that call in each period. */
#define POLL_GAP_US 25

/* Calls of read and write that this thread has made; false: the kernel does not count them. */
static bool count_calls(unsigned long *calls)
{
	unsigned long reads = 0, writes = 0;
	FILE *f = fopen("/proc/thread-self/io", "re");
	char line[80];
	int found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		found += sscanf(line, "syscr: %lu", &reads) == 1;
		found += sscanf(line, "syscw: %lu", &writes) == 1;
	}
	if (f)
		fclose(f);
	*calls = reads + writes;
	return found == 2;
}

/* Returns the number of polls. */
static unsigned int poll_dto(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	uint64_t end = dt_now_us() + (uint64_t)US_EVENT * dt_slow();
	unsigned int polls = 1;

	/* Without a pause, in which the progress thread would take over. */
	for (; dat_evd_dequeue(evd, event) != DAT_SUCCESS; polls++)
		ASSERT(dt_now_us() < end);
	ASSERT_EQ(event->event_number, DAT_DTO_COMPLETION_EVENT);
	ASSERT_EQ(event->event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	return polls;
}

/* Returns the number of polls. */
static unsigned int one_message(struct pair *p)
{
	unsigned int polls;
	DAT_EVENT event;

	OK(post_recv(&p->b, 0, 64, 1));
	OK(post_send(&p->a, 0, 64, 2));
	polls = poll_dto(p->b.recv, &event);
	return polls + poll_dto(p->a.req, &event);
}

/* Returns whether the polls of this round were so close to each other as those of a consumer that
 * polls; then `calls` is the number of calls of read and write. */
static bool one_round(struct pair *p, unsigned long own, unsigned long *calls)
{
	unsigned long before, after;
	unsigned int polls = 0;
	uint64_t start;

	ASSERT(count_calls(&before));
	start = dt_now_us();
	for (int i = 0; i < MESSAGES; i++)
		polls += one_message(p);
	start = dt_now_us() - start;
	ASSERT(count_calls(&after));
	*calls = after - before - own;
	return start < (uint64_t)polls * POLL_GAP_US;
}

/* A busy machine pauses the consumer, and the progress thread takes over meanwhile; on a slow one,
 * or with a sanitizer, the polls may be too far apart. So rounds without that are looked for. */
TEST(look, of_a_consumer_that_polls_signals_no_one)
{
	unsigned long before, after, own, calls, least = ULONG_MAX;
	int polled = 0;
	struct pair p;

	if (!fabric_has("unsignalled"))
		dt_skip("here libfabric makes system calls to report a completion");
	if (!count_calls(&before) || !count_calls(&after))
		dt_skip("this kernel does not count system calls");
	own = after - before;
	pair_up(&p);
	for (int i = 0; i < MESSAGES; i++)
		one_message(&p);
	for (int i = 0; i < ROUNDS && least >= MESSAGES / 4; i++) {
		if (!one_round(&p, own, &calls))
			continue;
		polled++;
		if (calls < least)
			least = calls;
	}
	if (polled) {
		dt_note("%lu calls of read and write for %d messages", least, MESSAGES);
		ASSERT(least < MESSAGES / 4);
	}
	pair_close(&p);
	if (!polled)
		dt_skip("this machine is too slow or too busy to poll every 25 us");
}

/* Of this thread. */
static _Thread_local unsigned int epoll_waits;

/* libfabric finds this function before that of the C library. */
__attribute__((visibility("default"))) int epoll_wait(int fd, struct epoll_event *events, int n,
						      int ms)
{
	static _Atomic(void *) found;
	__typeof__(&epoll_wait) real;

	if (!atomic_load(&found))
		atomic_store(&found, dlsym(RTLD_NEXT, "epoll_wait"));
	*(void **)&real = atomic_load(&found);
	epoll_waits++;
	return real(fd, events, n, ms);
}

#define ARRIVALS 1000

/* Returns the system calls of the poll after the one that has received a message. */
static unsigned int calls_after_arrival(struct pair *p)
{
	unsigned int before;
	DAT_EVENT event;

	OK(post_recv(&p->b, 0, 64, 1));
	OK(post_send(&p->a, 0, 64, 2));
	poll_dto(p->b.recv, &event);
	before = epoll_waits;
	ASSERT_EQ(dat_evd_dequeue(p->b.recv, &event), DAT_QUEUE_EMPTY);
	before = epoll_waits - before;
	poll_dto(p->a.req, &event);
	return before;
}

/* If the consumer loses the processor between these polls, too much time passes (pair.h). */
TEST(look, after_an_arrival_makes_no_system_call)
{
	unsigned int without = 0;
	struct pair p;

	if (!fabric_is("tcp"))
		dt_skip("polls make no system call here, or all of them do");
	if (dt_slow() > 1)
		dt_skip("too slow to poll every 5 us");
	pair_up(&p);
	for (int i = 0; i < ARRIVALS; i++)
		without += !calls_after_arrival(&p);
	pair_close(&p);
	ASSERT(epoll_waits);
	dt_note("%u of %d polls after an arrival made no system call", without, ARRIVALS);
	ASSERT(without >= ARRIVALS / 2);
}

#define WRITES 51
#define WRITTEN 8
/* Of a queue, until something is found that other queues or requests must not delay. */
#define POLLS_MOST 64u

static int compare_counts(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

/* Polls `evd` until the write is in memory. Returns how often. */
static unsigned int poll_until(DAT_EVD_HANDLE evd, const char *mem, unsigned int seed)
{
	uint64_t end = dt_now_us() + (uint64_t)US_EVENT * dt_slow();
	unsigned int polls = 0;
	DAT_EVENT event;

	for (; !is_filled(mem, WRITTEN, seed); polls++) {
		dat_evd_dequeue(evd, &event);
		ASSERT(dt_now_us() < end);
	}
	return polls;
}

/* After this the progress thread leaves the queues to their consumer. */
static void poll_both_queues(const struct side *s)
{
	DAT_EVENT event;

	for (int k = 0; k < (dt_slow() > 1 ? 200 : 2000); k++) {
		ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(s->recv, &event)), DAT_QUEUE_EMPTY);
		ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(s->req, &event)), DAT_QUEUE_EMPTY);
	}
}

/* The consumer of b then polls another queue while it waits for a write to the memory of b. */
TEST(look, at_one_queue_serves_the_others)
{
	unsigned int polls[WRITES];
	DAT_EVENT event;
	struct pair p;

	if (!fabric_is("shm"))
		dt_skip("polls need not process what arrives here");
	pair_up(&p);
	for (int i = 0; i < WRITES; i++) {
		for (int k = 0; k < 2000; k++) {
			ASSERT_EQ(dat_evd_dequeue(p.b.recv, &event), DAT_QUEUE_EMPTY);
			ASSERT_EQ(dat_evd_dequeue(p.b.req, &event), DAT_QUEUE_EMPTY);
		}
		fill(p.a.buf.mem, WRITTEN, (unsigned int)i);
		OK(post_write(&p.a, 0, WRITTEN, (uint64_t)i, &p.b, 0));
		polls[i] = poll_until(p.a.recv, p.b.buf.mem, (unsigned int)i);
		poll_dto(p.a.req, &event);
	}
	qsort(polls, WRITES, sizeof(*polls), compare_counts);
	dt_note("%u polls, at most %u", polls[WRITES / 2], polls[WRITES - 1]);
	ASSERT(polls[WRITES / 2] <= POLLS_MOST);
	pair_close(&p);
}

#define UNMATCHED 8

/* Endpoints of one adapter, connected to those of another. */
struct two {
	struct node near, far;
	struct side a[2], b[2];
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
};

/* dtos: operations per queue; 0: the default. */
static void two_open(struct two *t, DAT_COUNT dtos)
{
	DAT_CONN_QUAL qual;
	DAT_EP_ATTR attr;

	memset(t, 0, sizeof(*t));
	node_open(&t->near);
	node_open(&t->far);
	t->cr_evd = evd_make(&t->far, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(t->far.ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &t->psp));
	attr = default_attr(&t->near);
	if (dtos)
		attr.max_recv_dtos = attr.max_request_dtos = dtos;
	for (int i = 0; i < 2; i++) {
		side_make(&t->a[i], &t->near, &attr);
		side_make(&t->b[i], &t->far, &attr);
		OK(connect_to(t->a[i].ep, t->far.attr.ia_address_ptr, qual));
		OK(dat_cr_accept(EV_CR(t->cr_evd, t->psp, qual), t->b[i].ep, 0, NULL));
		EV_CONN(t->b[i].conn, ESTABLISHED, t->b[i].ep);
		EV_CONN(t->a[i].conn, ESTABLISHED, t->a[i].ep);
	}
}

static void two_close(struct two *t)
{
	OK(dat_psp_free(t->psp));
	for (int i = 0; i < 2; i++) {
		side_free(&t->a[i]);
		side_free(&t->b[i]);
	}
	OK(dat_evd_free(t->cr_evd));
	node_close(&t->near);
	node_close(&t->far);
}

/* The progress thread sleeps, and the program makes no call after it has posted. The peer does not
 * answer the sends, because no receive is posted, so nothing arrives that would wake the thread. */
TEST(look, is_not_needed_for_what_was_posted_after_unanswered_sends)
{
	uint64_t end;
	struct two t;

	if (fabric_is("iwarp"))
		dt_skip("here a send without a receive ends the connection");
	two_open(&t, 0);
	fill(t.a[1].buf.mem, WRITTEN, 7);
	usleep(100000);
	for (int i = 0; i < UNMATCHED; i++)
		OK(post_send(&t.a[0], 0, WRITTEN, (uint64_t)i));
	OK(post_write(&t.a[1], 0, WRITTEN, 1, &t.b[1], 0));
	end = dt_now_us() + (uint64_t)US_EVENT * dt_slow();
	while (!is_filled(t.b[1].buf.mem, WRITTEN, 7)) {
		ASSERT(dt_now_us() < end);
		usleep(100);
	}
	for (int i = 0; i < UNMATCHED; i++)
		OK(post_recv(&t.b[0], 0, WRITTEN, (uint64_t)i));
	for (int i = 0; i < UNMATCHED; i++) {
		EV_DTO(t.b[0].recv, t.b[0].ep, (uint64_t)i, OP_RECV, WRITTEN);
		EV_DTO(t.a[0].req, t.a[0].ep, (uint64_t)i, OP_SEND, WRITTEN);
	}
	EV_DTO(t.a[1].req, t.a[1].ep, 1, OP_WRITE, WRITTEN);
	two_close(&t);
}

struct threshold_wait {
	DAT_EVD_HANDLE evd;
	DAT_COUNT threshold;
};

static void wait_for_threshold(void *arg)
{
	struct threshold_wait *w = arg;
	DAT_COUNT more;
	DAT_EVENT event;

	OK(dat_evd_wait(w->evd, DAT_TIMEOUT_INFINITE, w->threshold, &event, &more));
	ASSERT_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
}

#define BURSTS 3

/* The same while a thread waits on each queue, so that the progress thread has left them all. */
TEST(look, is_not_needed_for_what_was_posted_beside_waiting_threads)
{
	struct threshold_wait w[4];
	struct dt_thread thread[4];
	uint64_t end;
	struct two t;

	if (fabric_is("iwarp"))
		dt_skip("here a send without a receive ends the connection");
	two_open(&t, 64);
	for (int i = 0; i < 2; i++) {
		OK(post_recv(&t.a[i], 0, WRITTEN, 0));
		w[2 * i] = (struct threshold_wait){ t.a[i].recv, 1 };
		w[2 * i + 1] =
			(struct threshold_wait){ t.a[i].req, BURSTS * (i ? 1 : UNMATCHED) + 1 };
	}
	for (int i = 0; i < 4; i++)
		dt_thread_start(&thread[i], wait_for_threshold, &w[i]);
	for (unsigned int n = 1; n <= BURSTS; n++) {
		for (int i = 0; i < 4; i++)
			dt_thread_wait_blocked(&thread[i]);
		/* The progress thread looks a last time when the lease ends, and then sleeps. No
		 * event shows that; a shorter sleep makes the case easier, not wrong. */
		usleep(20000);
		fill(t.a[1].buf.mem, WRITTEN, n);
		for (int i = 0; i < UNMATCHED; i++)
			OK(post_send(&t.a[0], 0, WRITTEN, 0));
		OK(post_write(&t.a[1], 0, WRITTEN, n, &t.b[1], 0));
		end = dt_now_us() + (uint64_t)US_EVENT * dt_slow();
		while (!is_filled(t.b[1].buf.mem, WRITTEN, n)) {
			ASSERT(dt_now_us() < end);
			usleep(100);
		}
	}
	/* One more of each releases the threads. */
	OK(post_send(&t.a[0], 0, WRITTEN, 0));
	OK(post_write(&t.a[1], 0, WRITTEN, 0, &t.b[1], 0));
	for (int i = 0; i < BURSTS * UNMATCHED + 1; i++)
		OK(post_recv(&t.b[0], 0, WRITTEN, 0));
	for (int i = 0; i < 2; i++)
		OK(post_send(&t.b[i], 0, WRITTEN, 0));
	for (int i = 0; i < 4; i++)
		dt_thread_join(&thread[i]);
	two_close(&t);
}

/* Together longer than all that is on its way to a peer without receives. */
#define MANY 512
#define EACH 4096

/* Sends of a[0] wait for room. */
static void two_stuff(struct two *t)
{
	DAT_EVENT event;
	int sent = 0;

	if (fabric_is("verbs") || fabric_is("iwarp"))
		dt_skip("here the device sends what waits");
	two_open(t, MANY);
	OK(dat_evd_resize(t->a[0].req, MANY));
	OK(dat_evd_resize(t->b[0].recv, MANY));
	fill(t->a[0].buf.mem, EACH, 3);
	for (int i = 0; i < MANY; i++)
		OK(post_send(&t->a[0], 0, EACH, (uint64_t)i));
	/* The progress thread leaves the queues to this consumer. */
	for (int i = 0; i < 2000; i++)
		sent += dat_evd_dequeue(t->a[0].req, &event) == DAT_SUCCESS;
	ASSERT(sent < MANY);
}

/* Polls of the queue for each receive of the peer, and for what has not arrived by then: other
 * queues are visited less often while the progress thread polls them, which may lose the processor
 * while it holds a lock. */
#define POLLS_EACH 4
#define REST_MOST 2000u
#define REST_US 20000

/* One thread polls for both sides. Returns what the peer has got. */
static unsigned int poll_both(struct two *t, DAT_EVD_HANDLE evd, unsigned int got)
{
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(evd, &event);

	ASSERT(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	for (; dat_evd_dequeue(t->b[0].recv, &event) == DAT_SUCCESS; got++)
		CHECK_DTO(&event, t->b[0].recv, t->b[0].ep, got, OP_RECV, EACH);
	return got;
}

/* The peer posts receives. Polls of `evd` alone send all of it. */
static void check_sent(struct two *t, DAT_EVD_HANDLE evd)
{
	unsigned int got = 0, polls = 0;
	struct dt_start start;

	for (uint64_t i = 0; i < MANY; i++) {
		OK(post_recv(&t->b[0], 0, EACH, i));
		for (int k = 0; k < POLLS_EACH; k++)
			got = poll_both(t, evd, got);
	}
	dt_note("%u of %d have arrived", got, MANY);
	start = dt_start();
	for (; got < MANY; polls++) {
		ASSERT(polls < REST_MOST || dt_in_time(&start, REST_US));
		got = poll_both(t, evd, got);
	}
	CHECK_FILL(t->b[0].buf.mem, EACH, 3);
}

/* Sends that wait for room do not keep a poll of their queue from serving the others. */
TEST(look, at_a_queue_whose_sends_wait_serves_the_others)
{
	unsigned int polls[WRITES], writes = dt_slow() > 1 ? 11 : WRITES;
	DAT_EVENT event;
	struct two t;

	two_stuff(&t);
	for (unsigned int i = 0; i < writes; i++) {
		poll_both_queues(&t.a[1]);
		fill(t.b[1].buf.mem, WRITTEN, i);
		OK(post_write(&t.b[1], 0, WRITTEN, i, &t.a[1], 0));
		polls[i] = poll_until(t.a[0].req, t.a[1].buf.mem, i);
		poll_dto(t.b[1].req, &event);
	}
	qsort(polls, writes, sizeof(*polls), compare_counts);
	dt_note("%u polls, at most %u", polls[writes / 2], polls[writes - 1]);
	ASSERT(polls[writes / 2] <= POLLS_MOST);
	check_sent(&t, t.a[0].req);
	two_close(&t);
}

TEST(look, at_their_queue_sends_what_waits_for_room)
{
	struct two t;

	two_stuff(&t);
	check_sent(&t, t.a[0].req);
	two_close(&t);
}

TEST(look, at_another_queue_sends_what_waits_for_room)
{
	struct two t;

	two_stuff(&t);
	check_sent(&t, t.a[1].recv);
	two_close(&t);
}

#define LEFT 51
#define POLLED_US 20000

/* A consumer that has polled for a while makes no further call, or polls an event dispatcher
 * without completions only, while it spins on memory. It is served within a millisecond. */
TEST(look, is_followed_by_service_within_a_millisecond)
{
	int in_time[2] = { 0, 0 };
	struct dt_start start;
	DAT_EVENT event;
	struct two t;

	two_open(&t, 0);
	for (unsigned int i = 0; i < LEFT; i++) {
		uint64_t end = dt_now_us() + POLLED_US;

		while (dt_now_us() < end)
			for (int k = 0; k < 4; k++) {
				struct side *s = &t.b[k / 2];

				ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(k % 2 ? s->req : s->recv,
								       &event)),
					  DAT_QUEUE_EMPTY);
			}
		fill(t.a[0].buf.mem, WRITTEN, i);
		start = dt_start();
		OK(post_write(&t.a[0], 0, WRITTEN, i, &t.b[0], 0));
		end = dt_now_us() + (uint64_t)US_EVENT * dt_slow();
		while (!is_filled(t.b[0].buf.mem, WRITTEN, i)) {
			ASSERT(dt_now_us() < end);
			ASSERT(i % 2 || dat_evd_dequeue(t.b[0].conn, &event) != DAT_SUCCESS);
		}
		in_time[i % 2] += dt_in_time(&start, 1000);
		poll_dto(t.a[0].req, &event);
	}
	dt_note("%d and %d of %d in time", in_time[0], in_time[1], LEFT / 2);
	/* On a busy machine the thread may get no processor for longer. */
	ASSERT(in_time[0] >= LEFT / 4 && in_time[1] >= LEFT / 4);
	two_close(&t);
}
