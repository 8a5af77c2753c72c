/* SPDX-License-Identifier: BSD-2-Clause */
/* Order across endpoints, between two processes: a message posted after the sends of others were
 * complete is reported behind theirs on the queue that the receivers share. Each message carries
 * the number of completed sends before it, as a Lamport clock does. */
#include <semaphore.h>

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

static void receiver_open(struct receiver *r, const struct play *play, int fd)
{
	DAT_CONN_QUAL qual;

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
	OK(dat_psp_create_any(r->n.ia, &qual, r->cr_evd, DAT_PSP_CONSUMER_FLAG, &r->psp));
	dt_put(fd, &qual, sizeof(qual));
	for (int i = 0; i < LANES; i++) {
		OK(dat_cr_accept(EV_CR(r->cr_evd, r->psp, qual), r->lane[i].ep, 0, NULL));
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

static void receive(int fd, const void *arg)
{
	const struct play *play = arg;
	struct receiver r;
	DAT_EVENT ev;

	receiver_open(&r, play, fd);
	for (uint32_t n = 0; n < MESSAGES; n++) {
		uint32_t number;
		int at;

		next_event(&r, &ev);
		ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
		ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
		at = (int)dto_of(&ev)->user_cookie.as_64;
		memcpy(&number, r.mem.mem + (size_t)at * SLOT, sizeof(number));
		ASSERT_EQ(number, n);
		post_slot(&r, at / LEG, at % LEG);
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

static void run(const struct play *play)
{
	struct dt_peer peer;
	struct sender s;
	DAT_CONN_QUAL qual;

	dt_peer_start(&peer, receive, play);
	memset(&s, 0, sizeof(s));
	s.fd = peer.fd;
	node_open(&s.n);
	dt_get(peer.fd, &qual, sizeof(qual));
	for (int i = 0; i < LANES; i++) {
		side_make(&s.lane[i], &s.n, NULL);
		OK(connect_to(s.lane[i].ep, s.n.attr.ia_address_ptr, qual));
		EV_CONN(s.lane[i].conn, ESTABLISHED, s.lane[i].ep);
	}
	if (play->threads)
		send_even(&s);
	else
		for (uint32_t n = 0; n < MESSAGES; n++)
			send_one(&s, n);
	dt_put_byte(peer.fd, 'e');
	for (int i = 0; i < LANES; i++)
		side_free(&s.lane[i]);
	node_close(&s.n);
	dt_peer_finish(&peer);
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
