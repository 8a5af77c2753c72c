/* SPDX-License-Identifier: BSD-2-Clause */
/* Soft-iWARP: a request that the device has, although posting it failed, completes; a read whose
 * completion the device reports twice completes once. */
#include "rig.h"

#if __has_include(<infiniband/verbs.h>)
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#define LEN ((size_t)256)
#define BATCH 8

static int (*device_post)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int posts, failed;
static int (*device_poll)(struct ibv_cq *cq, int most, struct ibv_wc *wc);
static struct ibv_wc repeated;
static int reads, repeats;

/* Does what the device's library does while a connection ends. */
static int post_and_fail(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int ret = device_post(qp, wr, bad);

	if (ret || ++posts % 5)
		return ret;
	failed++;
	errno = ENOTCONN;
	return -1;
}

/* Reports the completion of each read twice, as the driver does when the connection ends. */
static int poll_twice(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	int n;

	if (repeated.wr_id) {
		*wc = repeated;
		repeated.wr_id = 0;
		repeats++;
		return 1;
	}
	n = device_poll(cq, most, wc);
	if (n == 1 && wc->opcode == IBV_WC_RDMA_READ) {
		repeated = *wc;
		reads++;
	}
	return n;
}

/* The numbers of requests, in the order of the posts. */
static uint64_t ids[256];
static unsigned int posted, completed, overtaken;

static int post_and_note(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	ids[posted++ % 256] = wr->wr_id;
	return device_post(qp, wr, bad);
}

static int poll_and_compare(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	int n = device_poll(cq, most, wc);

	if (n == 1 && wc->opcode != IBV_WC_RECV)
		overtaken += wc->wr_id != ids[completed++ % 256];
	return n;
}

/* Puts functions into the place of those of all soft-iWARP devices of this process. */
static void replace(int (*post)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **),
		    int (*poll)(struct ibv_cq *, int, struct ibv_wc *))
{
	void *cm = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
	struct ibv_context **(*get)(int *);
	struct ibv_context **all;

	ASSERT(cm);
	*(void **)&get = dlsym(cm, "rdma_get_devices");
	ASSERT(get);
	all = get(NULL);
	ASSERT(all);
	for (int i = 0; all[i]; i++) {
		if (strncmp(all[i]->device->name, "siw", 3))
			continue;
		device_post = all[i]->ops.post_send;
		device_poll = all[i]->ops.poll_cq;
		if (post)
			all[i]->ops.post_send = post;
		if (poll)
			all[i]->ops.poll_cq = poll;
	}
	ASSERT(device_post);
}

static void exchange(struct pair *p, unsigned int round)
{
	for (unsigned int i = 0; i < BATCH; i++)
		OK(post_recv(&p->b, i * LEN, LEN, i));
	for (unsigned int i = 0; i < BATCH; i++) {
		fill(p->a.buf.mem + i * LEN, LEN, round + i);
		OK(post_send(&p->a, i * LEN, LEN, i));
	}
	for (unsigned int i = 0; i < BATCH; i++) {
		EV_DTO(p->a.req, p->a.ep, i, OP_SEND, LEN);
		EV_DTO(p->b.recv, p->b.ep, i, OP_RECV, LEN);
		CHECK_FILL(p->b.buf.mem + i * LEN, LEN, round + i);
	}
}

TEST(siw, a_request_completes_although_posting_it_failed)
{
	struct pair p;

	if (!fabric_is("iwarp"))
		dt_skip("needs soft-iWARP");
	replace(post_and_fail, NULL);
	pair_up(&p);
	for (unsigned int round = 0; round < 20; round++)
		exchange(&p, round);
	ASSERT_EQ(posts, 20 * BATCH);
	ASSERT_EQ(failed, 20 * BATCH / 5);
	pair_disconnect(&p);
	EV_EMPTY(p.a.req);
	EV_EMPTY(p.b.recv);
	pair_close(&p);
}

/* Sends in between get the records of reads whose second completion is still to come. */
TEST(siw, a_read_completes_once_although_the_device_reports_it_twice)
{
	struct pair p;

	if (!fabric_is("iwarp"))
		dt_skip("needs soft-iWARP");
	replace(NULL, poll_twice);
	pair_up(&p);
	for (unsigned int round = 0; round < 20; round++) {
		fill(p.b.buf.mem, BATCH * LEN, round);
		for (unsigned int i = 0; i < BATCH; i++)
			OK(post_read(&p.a, i * LEN, LEN, i, &p.b, i * LEN));
		for (unsigned int i = 0; i < BATCH; i++)
			EV_DTO(p.a.req, p.a.ep, i, OP_READ, LEN);
		CHECK_FILL(p.a.buf.mem, BATCH * LEN, round);
		exchange(&p, round);
	}
	ASSERT_EQ(reads, 20 * BATCH);
	ASSERT_EQ(repeats, reads);
	pair_disconnect(&p);
	EV_EMPTY(p.a.req);
	EV_EMPTY(p.b.recv);
	pair_close(&p);
}

/* The answer to a long read takes longer than the sends that follow. */
TEST(siw, a_request_does_not_overtake_a_read)
{
	const size_t half = SIDE_BUF / 2;
	struct pair p;

	if (!fabric_is("iwarp"))
		dt_skip("needs soft-iWARP");
	replace(post_and_note, poll_and_compare);
	pair_up(&p);
	for (unsigned int round = 0; round < 20; round++) {
		fill(p.b.buf.mem + half, half, round);
		fill(p.a.buf.mem, LEN, round);
		OK(post_recv(&p.b, 0, LEN, 1));
		OK(post_recv(&p.b, LEN, LEN, 2));
		OK(post_read(&p.a, half, half, 3, &p.b, half));
		OK(post_send(&p.a, 0, LEN, 4));
		OK(post_write(&p.a, 0, LEN, 5, &p.b, 2 * LEN));
		OK(post_send(&p.a, 0, LEN, 6));
		EV_DTO(p.a.req, p.a.ep, 3, OP_READ, half);
		EV_DTO(p.a.req, p.a.ep, 4, OP_SEND, LEN);
		EV_DTO(p.a.req, p.a.ep, 5, OP_WRITE, LEN);
		EV_DTO(p.a.req, p.a.ep, 6, OP_SEND, LEN);
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, LEN);
		EV_DTO(p.b.recv, p.b.ep, 2, OP_RECV, LEN);
		CHECK_FILL(p.a.buf.mem + half, half, round);
	}
	ASSERT_EQ(posted, 20 * 4);
	ASSERT_EQ(completed, posted);
	ASSERT_EQ(overtaken, 0);
	pair_disconnect(&p);
	pair_close(&p);
}
#else
TEST(siw, a_request_completes_although_posting_it_failed)
{
	dt_skip("compiled without the headers of libibverbs");
}

TEST(siw, a_read_completes_once_although_the_device_reports_it_twice)
{
	dt_skip("compiled without the headers of libibverbs");
}

TEST(siw, a_request_does_not_overtake_a_read)
{
	dt_skip("compiled without the headers of libibverbs");
}
#endif
