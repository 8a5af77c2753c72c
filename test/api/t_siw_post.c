/* SPDX-License-Identifier: BSD-2-Clause */
/* Soft-iWARP: a request that the device has, although posting it failed, completes. */
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

/* Puts the function above into the place of the one of all soft-iWARP devices of this process. */
static void replace_post(void)
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
		all[i]->ops.post_send = post_and_fail;
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
	replace_post();
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
#else
TEST(siw, a_request_completes_although_posting_it_failed)
{
	dt_skip("compiled without the headers of libibverbs");
}
#endif
