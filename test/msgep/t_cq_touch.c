/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls of a queue with many endpoints whose transport reports those that have news
 * (object/cq_touch.c), with a transport of the test's own. */
#include <stdlib.h>

#include "../lib/harness.h"
#include "msgep/object/cq_poll.h"

#define N_EPS 500u
/* How often a poll asks the transport, whatever the number of endpoints: of those that are always
 * polled, of one in turn, and of one that has been reported, twice each. */
#define ASKED_MOST (MSGEP_BUSY_LEAST + 2 + 2)

static struct msgep_domain domain;
static struct msgep_fabric fabric;
static struct msgep_cq *cq;
static struct msgep_ep *eps;
static struct msgep_ep *with_news, *stuck;
static unsigned int asked, processed;

static bool ready(struct msgep_ep *ep)
{
	asked++;
	return ep == with_news || ep == stuck;
}

static const struct msgep_frame *peek(struct msgep_ep *ep, int channel, const void **payload)
{
	(void)payload;
	if (channel == MSGEP_REQ) {
		processed += ep == with_news;
		with_news = ep == with_news ? NULL : with_news;
	}
	return NULL;
}

static bool quiet(struct msgep_ep *ep, bool space)
{
	(void)space;
	asked++;
	return ep != with_news;
}

static bool busy(struct msgep_domain *d)
{
	(void)d;
	return false;
}

static const struct msgep_transport transport = {
	.name = "test",
	.reports_news = true,
	.ready = ready,
	.peek = peek,
	.quiet = quiet,
	.busy = busy,
};

/* Returns how often the transport was asked. */
static unsigned int poll_once(void)
{
	asked = processed = 0;
	dofi_lock(&cq->poll);
	msgep_cq_poll_eps(cq, NULL, false, NULL);
	dofi_unlock(&cq->poll);
	return asked;
}

static void open_all(void)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA };
	struct fid_cq *fid;

	fabric.transport = &transport;
	domain.fabric = &fabric;
	dofi_list_init(&domain.cqs);
	dofi_lock_init(&domain.serve_lock);
	dofi_lock_init(&domain.wait_lock);
	ASSERT_EQ(msgep_cq_open(&domain.fid, &attr, &fid, NULL), 0);
	cq = dofi_container(fid, struct msgep_cq, fid);
	eps = calloc(N_EPS, sizeof(*eps));
	ASSERT(eps != NULL);
	for (unsigned int i = 0; i < N_EPS; i++) {
		dofi_lock_init(&eps[i].lock);
		eps[i].transport = &transport;
		eps[i].domain = &domain;
		ASSERT_EQ(msgep_cq_attach(cq, &eps[i]), 0);
		eps[i].rx_cq = eps[i].tx_cq = cq;
		atomic_store(&eps[i].state, MSGEP_UP);
		msgep_cq_rely_on_reports(cq, &eps[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		poll_once();
	ASSERT_EQ(atomic_load(&cq->n_touched), 0);
}

static void close_all(void)
{
	for (unsigned int i = 0; i < N_EPS; i++)
		msgep_cq_detach(cq, &eps[i]);
	ASSERT_EQ(cq->n_eps, 0);
	ASSERT_EQ(fi_close(&cq->fid.fid), 0);
	free(eps);
}

TEST(cq_touch, of_many_endpoints_the_reported_one_is_polled)
{
	open_all();
	for (unsigned int i = 0; i < 2 * N_EPS; i++) {
		with_news = &eps[i * 7 % N_EPS];
		msgep_ep_touch(with_news);
		ASSERT(poll_once() <= ASKED_MOST);
		ASSERT_EQ(processed, 1);
	}
	close_all();
}

/* One that waits for memory is not reported. */
TEST(cq_touch, one_that_is_not_reported_is_found_in_turn)
{
	unsigned int polls = 0;

	open_all();
	with_news = &eps[N_EPS / 2];
	do {
		ASSERT(polls++ < N_EPS);
		ASSERT(poll_once() <= ASKED_MOST);
	} while (!processed);
	close_all();
}

/* Nothing is left for the thread that blocks, and nothing keeps it from that. */
TEST(cq_touch, a_thread_blocks_if_none_is_reported)
{
	open_all();
	ASSERT_EQ(msgep_cq_trywait(cq), 0);
	with_news = &eps[N_EPS - 1];
	msgep_ep_touch(with_news);
	asked = processed = 0;
	ASSERT_EQ(msgep_cq_trywait(cq), 0);
	ASSERT_EQ(processed, 1);
	ASSERT(asked <= 3 * ASKED_MOST);
	close_all();
}

/* Of that a thread can process nothing: it waits for room that only the peer can make. */
TEST(cq_touch, one_whose_news_cannot_be_processed_is_not_reported_again)
{
	open_all();
	stuck = &eps[N_EPS - 1];
	msgep_ep_touch(stuck);
	ASSERT_EQ(msgep_cq_trywait(cq), 0);
	stuck = NULL;
	close_all();
}

/* The thread that holds the lock may have processed less. */
TEST(cq_touch, one_that_is_locked_is_reported_again)
{
	open_all();
	with_news = &eps[N_EPS - 1];
	dofi_lock(&with_news->lock);
	msgep_ep_touch(with_news);
	poll_once();
	ASSERT_EQ(processed, 0);
	dofi_unlock(&eps[N_EPS - 1].lock);
	poll_once();
	ASSERT_EQ(processed, 1);
	close_all();
}

TEST(cq_touch, one_that_has_been_detached_is_not_polled)
{
	open_all();
	with_news = &eps[N_EPS - 1];
	msgep_ep_touch(with_news);
	msgep_cq_detach(cq, with_news);
	msgep_ep_touch(with_news);
	ASSERT_EQ(atomic_load(&cq->n_touched), 0);
	poll_once();
	ASSERT_EQ(processed, 0);
	close_all();
}

/* A connection that is not up yet has no transport that could be asked. */
TEST(cq_touch, one_that_is_not_up_is_reported_when_it_is)
{
	open_all();
	with_news = &eps[N_EPS - 1];
	atomic_store(&with_news->state, MSGEP_CONNECTING);
	msgep_ep_touch(with_news);
	poll_once();
	ASSERT_EQ(processed, 0);
	atomic_store(&with_news->state, MSGEP_UP);
	msgep_ep_touch(with_news);
	poll_once();
	ASSERT_EQ(processed, 1);
	close_all();
}

int main(int argc, char **argv)
{
	static const struct dt_program program = { .name = "queue" };

	return dt_main(argc, argv, &program);
}
