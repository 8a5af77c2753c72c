/* SPDX-License-Identifier: BSD-2-Clause */
/* Order across endpoints, between two processes: a message posted after the sends of others were
 * complete is reported behind theirs on the queue that the receivers share. Each message carries
 * the number of completed sends before it, as a Lamport clock does. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "srq_rig.h"

#define LANES 4
#define MESSAGES 1600
/*
 * After this number of messages the sender waits until all of them have been received and receives
 * for more are posted: fabrics that complete sends early do not run out of receives.
 */
#define LEG 64
#define SLOT 16

/* How the messages are received and sent. */
struct play {
	bool srq, cno, threads;
};

/* ---- the receiving process ---- */

struct receiver {
	struct node n;
	DAT_EVD_HANDLE evd, cr_evd;
	DAT_CNO_HANDLE cno;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_SRQ_HANDLE srq;
	struct side lane[LANES];
	struct buf mem; /* LEG slots of each lane */
};

static void post_slot(struct receiver *r, int lane, int slot)
{
	DAT_LMR_TRIPLET t = seg(&r->mem, (size_t)(lane * LEG + slot) * SLOT, SLOT);
	uint64_t cookie = (uint64_t)(lane * LEG + slot);

	if (r->srq)
		OK(dat_srq_post_recv(r->srq, 1, &t, ck(cookie)));
	else
		OK(dat_ep_post_recv(r->lane[lane].ep, 1, &t, ck(cookie),
				    DAT_COMPLETION_DEFAULT_FLAG));
}

static void lane_make(struct receiver *r, struct side *s, const struct play *play)
{
	DAT_EP_ATTR attr;

	if (play->srq) {
		side_make_srq(s, &r->n, r->srq, r->evd, NULL);
		return;
	}
	memset(s, 0, sizeof(*s));
	s->node = &r->n;
	s->req = evd_make(&r->n, 8, DAT_EVD_DTO_FLAG);
	s->conn = evd_make(&r->n, 8, DAT_EVD_CONNECTION_FLAG);
	attr = default_attr(&r->n);
	attr.max_recv_dtos = LEG;
	OK(dat_ep_create(r->n.ia, r->n.pz, r->evd, s->req, s->conn, &attr, &s->ep));
}

/* Makes everything; the sender has the qualifier then. */
static void receiver_prepare(struct receiver *r, const struct play *play, int fd)
{
	memset(r, 0, sizeof(*r));
	node_open(&r->n);
	if (play->cno)
		OK(dat_cno_create(r->n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &r->cno));
	r->evd = evd_make_cno(&r->n, LANES * LEG, DAT_EVD_DTO_FLAG, r->cno);
	r->cr_evd = evd_make(&r->n, 8, DAT_EVD_CR_FLAG);
	buf_make(&r->mem, &r->n, LANES * LEG * SLOT, PRIV_LOCAL);
	if (play->srq)
		r->srq = srq_make(&r->n, LANES * LEG, 1);
	for (int i = 0; i < LANES; i++) {
		lane_make(r, &r->lane[i], play);
		for (int k = 0; k < LEG; k++)
			post_slot(r, i, k);
	}
	OK(dat_psp_create_any(r->n.ia, &r->qual, r->cr_evd, DAT_PSP_CONSUMER_FLAG, &r->psp));
	dt_put(fd, &r->qual, sizeof(r->qual));
}

/* Connects the first `lanes` lanes. */
static void receiver_open(struct receiver *r, const struct play *play, int fd, int lanes)
{
	receiver_prepare(r, play, fd);
	for (int i = 0; i < lanes; i++) {
		OK(dat_cr_accept(EV_CR(r->cr_evd, r->psp, r->qual), r->lane[i].ep, 0, NULL));
		EV_CONN(r->lane[i].conn, ESTABLISHED, r->lane[i].ep);
	}
}

static void receiver_close(struct receiver *r, const struct play *play)
{
	OK(dat_psp_free(r->psp));
	for (int i = 0; i < LANES; i++) {
		struct side *s = &r->lane[i];

		OK(dat_ep_free(s->ep));
		if (play->srq)
			buf_free(&s->buf);
		OK(dat_evd_free(s->req));
		OK(dat_evd_free(s->conn));
	}
	if (play->srq)
		OK(dat_srq_free(r->srq));
	OK(dat_evd_free(r->evd));
	if (play->cno)
		OK(dat_cno_free(r->cno));
	OK(dat_evd_free(r->cr_evd));
	buf_free(&r->mem);
	node_close(&r->n);
}

/* The next event, for which the consumer with a CNO waits there. */
static void next_event(struct receiver *r, DAT_EVENT *ev)
{
	DAT_EVD_HANDLE evd;

	if (!r->cno) {
		EV_NEXT(r->evd, ev);
		return;
	}
	while (dat_evd_dequeue(r->evd, ev) != DAT_SUCCESS)
		OK(dat_cno_wait(r->cno, US_EVENT * dt_slow(), &evd));
}

/* The event is that of message n. */
static void expect_message(struct receiver *r, const DAT_EVENT *ev, uint32_t n)
{
	uint32_t number;
	int at;

	ASSERT_EQ(ev->event_number, DAT_DTO_COMPLETION_EVENT);
	ASSERT_EQ(dto_of(ev)->status, DAT_DTO_SUCCESS);
	at = (int)dto_of(ev)->user_cookie.as_64;
	memcpy(&number, r->mem.mem + (size_t)at * SLOT, sizeof(number));
	ASSERT_EQ(number, n);
	post_slot(r, at / LEG, at % LEG);
}

static void receive(int fd, const void *arg)
{
	const struct play *play = arg;
	struct receiver r;
	DAT_EVENT ev;

	receiver_open(&r, play, fd, LANES);
	for (uint32_t n = 0; n < MESSAGES; n++) {
		next_event(&r, &ev);
		expect_message(&r, &ev, n);
		if ((n + 1) % LEG == 0)
			dt_put_byte(fd, 'l');
	}
	dt_expect_byte(fd, 'e');
	receiver_close(&r, play);
}

/* ---- the sending process ---- */

struct sender {
	struct node n;
	struct side lane[LANES];
	int fd;
	sem_t turn[2];
};

/* Message n takes a lane that differs from the one before, and not in turn. */
static struct side *lane_of(struct sender *s, uint32_t n)
{
	return &s->lane[(n * 3 + n / LANES) % LANES];
}

static void send_one(struct sender *s, uint32_t n)
{
	struct side *lane = lane_of(s, n);

	memcpy(lane->buf.mem, &n, sizeof(n));
	OK(post_send(lane, 0, SLOT, n));
	EV_DTO(lane->req, lane->ep, n, OP_SEND, SLOT);
	if ((n + 1) % LEG == 0)
		dt_expect_byte(s->fd, 'l');
}

/* The odd messages, each after the even one before it is complete. */
static void send_odd(void *arg)
{
	struct sender *s = arg;

	for (uint32_t n = 1; n < MESSAGES; n += 2) {
		while (sem_wait(&s->turn[1]))
			;
		send_one(s, n);
		sem_post(&s->turn[0]);
	}
}

static void send_even(struct sender *s)
{
	struct dt_thread other;

	sem_init(&s->turn[0], 0, 1);
	sem_init(&s->turn[1], 0, 0);
	dt_thread_start(&other, send_odd, s);
	for (uint32_t n = 0; n < MESSAGES; n += 2) {
		while (sem_wait(&s->turn[0]))
			;
		send_one(s, n);
		sem_post(&s->turn[1]);
	}
	dt_thread_join(&other);
	sem_destroy(&s->turn[0]);
	sem_destroy(&s->turn[1]);
}

static void sender_open(struct sender *s, struct dt_peer *peer)
{
	DAT_CONN_QUAL qual;

	memset(s, 0, sizeof(*s));
	s->fd = peer->fd;
	node_open(&s->n);
	dt_get(peer->fd, &qual, sizeof(qual));
	for (int i = 0; i < LANES; i++) {
		side_make(&s->lane[i], &s->n, NULL);
		OK(connect_to(s->lane[i].ep, s->n.attr.ia_address_ptr, qual));
		EV_CONN(s->lane[i].conn, ESTABLISHED, s->lane[i].ep);
	}
}

static void sender_close(struct sender *s, struct dt_peer *peer)
{
	dt_put_byte(peer->fd, 'e');
	for (int i = 0; i < LANES; i++)
		side_free(&s->lane[i]);
	node_close(&s->n);
	dt_peer_finish(peer);
}

static void run(const struct play *play)
{
	struct dt_peer peer;
	struct sender s;

	dt_peer_start(&peer, receive, play);
	sender_open(&s, &peer);
	if (play->threads)
		send_even(&s);
	else
		for (uint32_t n = 0; n < MESSAGES; n++)
			send_one(&s, n);
	sender_close(&s, &peer);
}

TEST_LIMIT(order_across, endpoints_of_two_processes, 60)
{
	run(&(struct play){ 0 });
}

TEST_LIMIT(order_across, endpoints_that_two_threads_send_on, 60)
{
	run(&(struct play){ .threads = true });
}

TEST_LIMIT(order_across, endpoints_that_share_a_receive_queue, 60)
{
	run(&(struct play){ .srq = true });
}

TEST_LIMIT(order_across, endpoints_whose_consumer_waits_on_a_cno, 60)
{
	run(&(struct play){ .cno = true });
}

TEST_LIMIT(order_across, endpoints_with_all_of_that, 60)
{
	run(&(struct play){ .srq = true, .cno = true, .threads = true });
}

/* ---- one of the endpoints is being established ---- */

/* The thread that establishes a connection logs it when it has read the fabric's event, before the
 * consumer has one. There it is stopped. The consumer's thread is not, so that it must not
 * establish the connection itself. */
static struct {
	_Atomic bool armed;
	pthread_t consumer;
	sem_t stopped, go;
} late;

static void stop_establishing(void)
{
	if (pthread_equal(pthread_self(), late.consumer) || !atomic_exchange(&late.armed, false))
		return;
	sem_post(&late.stopped);
	while (sem_wait(&late.go))
		;
}

static ssize_t take_log(void *cookie, const char *text, size_t len)
{
	(void)cookie;
	if (atomic_load(&late.armed) && memmem(text, len, "connected to ", 13))
		stop_establishing();
	return (ssize_t)len;
}

/* Replaces stderr, to which the library writes. A thread that is stopped has not locked it, and
 * others may write meanwhile: it has no buffer. */
static void read_log(void)
{
	static const cookie_io_functions_t to_us = { .write = take_log };
	FILE *log = fopencookie(NULL, "w", to_us);

	ASSERT(log);
	setvbuf(log, NULL, _IONBF, 0);
	__fsetlocking(log, FSETLOCKING_BYCALLER);
	stderr = log;
	setenv("DAPL_OFI_LOG", "4", 1);
}

struct acceptance {
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
};

static void accept_late(void *arg)
{
	const struct acceptance *a = arg;

	OK(dat_cr_accept(a->cr, a->ep, 0, NULL));
}

/* No event is reported, whichever queue drives the adapter. */
static void poll_queues(struct receiver *r)
{
	DAT_EVENT ev;

	ASSERT_EQ(dat_evd_dequeue(r->evd, &ev), DAT_QUEUE_EMPTY);
	ASSERT_EQ(dat_evd_dequeue(r->lane[LANES - 1].req, &ev), DAT_QUEUE_EMPTY);
}

/* The consumer polls until the second message has been posted, and for a while after that. */
static void poll_meanwhile(struct receiver *r, int fd)
{
	uint64_t end = dt_now_us() + (uint64_t)US_EVENT * dt_slow();
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	while (!poll(&pfd, 1, 0)) {
		poll_queues(r);
		ASSERT(dt_now_us() < end);
	}
	dt_expect_byte(fd, 'p');
	end = dt_now_us() + US_SHORT;
	while (dt_now_us() < end)
		poll_queues(r);
}

static void receive_while_establishing(int fd, const void *arg)
{
	const struct play *play = arg;
	struct dt_thread other;
	struct acceptance a;
	struct receiver r;
	struct side *last = &r.lane[LANES - 1];
	DAT_EVENT ev;

	read_log();
	receiver_open(&r, play, fd, LANES - 1);
	a = (struct acceptance){ EV_CR(r.cr_evd, r.psp, r.qual), last->ep };
	sem_init(&late.stopped, 0, 0);
	sem_init(&late.go, 0, 0);
	late.consumer = pthread_self();
	atomic_store(&late.armed, true);
	dt_thread_start(&other, accept_late, &a);
	while (sem_wait(&late.stopped))
		;
	poll_meanwhile(&r, fd);
	sem_post(&late.go);
	dt_thread_join(&other);
	EV_CONN(last->conn, ESTABLISHED, last->ep);
	for (uint32_t n = 0; n < 2; n++) {
		next_event(&r, &ev);
		expect_message(&r, &ev, n);
	}
	dt_expect_byte(fd, 'e');
	receiver_close(&r, play);
}

/* The first message of the last lane, then one of another. */
static void run_establishing(const struct play *play)
{
	struct dt_peer peer;
	struct sender s;
	struct side *last = &s.lane[LANES - 1], *first = &s.lane[0];
	uint32_t number = 0;

	dt_peer_start(&peer, receive_while_establishing, play);
	sender_open(&s, &peer);
	memcpy(last->buf.mem, &number, sizeof(number));
	OK(post_send(last, 0, SLOT, 0));
	EV_DTO(last->req, last->ep, 0, OP_SEND, SLOT);
	number = 1;
	memcpy(first->buf.mem, &number, sizeof(number));
	OK(post_send(first, 0, SLOT, 1));
	dt_put_byte(peer.fd, 'p');
	EV_DTO(first->req, first->ep, 1, OP_SEND, SLOT);
	sender_close(&s, &peer);
}

TEST_LIMIT(order_across, endpoints_one_of_which_is_being_established, 60)
{
	run_establishing(&(struct play){ 0 });
}

TEST_LIMIT(order_across, endpoints_with_a_queue_one_of_which_is_being_established, 60)
{
	run_establishing(&(struct play){ .srq = true });
}
