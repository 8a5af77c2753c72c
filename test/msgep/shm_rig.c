/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates adapters and hostile peers. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/param.h"
#include "base/be_bytes.h"
#include "fabric/fab_info.h"
#include "shm_rig.h"

#define LIMIT 8000000u /* microseconds for any step */
#define PAGE 4096u

/* ---------------------------------------------------------------- stubs */

/* Not used: this library allocates the infos of its own fabrics. */
struct dofi_lib dofi_lib;

/* ---------------------------------------------------------------- sides */

void side_open(struct side *s)
{
	side_open_with(s, &msgep_transport_shm);
}

void side_open_with(struct side *s, const struct msgep_transport *transport)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_FD };
	size_t len = sizeof(s->at);

	dofi_param_load();
	memset(s, 0, sizeof(*s));
	s->row.transport = transport;
	s->fab.desc = &s->row;
	s->fab.info = &s->info;
	s->info.rx_attr = &s->rx;
	s->rx.size = 16;
	s->fab.addr.in.sin_family = AF_INET;
	s->fab.addr.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT_EQ(msgep_fabric(&s->fab, &s->fabric), 0);
	ASSERT_EQ(fi_domain(s->fabric, &s->info, &s->domain, NULL), 0);
	ASSERT_EQ(fi_eq_open(s->fabric, &eq, &s->eq, NULL), 0);
	ASSERT_EQ(fi_cq_open(s->domain, &cq, &s->cq, NULL), 0);
	s->info.src_addr = &s->fab.addr;
	s->info.src_addrlen = sizeof(s->fab.addr.in);
	ASSERT_EQ(fi_passive_ep(s->fabric, &s->info, &s->pep, NULL), 0);
	s->info.src_addr = NULL;
	ASSERT_EQ(fi_pep_bind(s->pep, &s->eq->fid, 0), 0);
	ASSERT_EQ(fi_listen(s->pep), 0);
	ASSERT_EQ(fi_getname(&s->pep->fid, &s->at, &len), 0);
}

void side_close(struct side *s)
{
	side_work(s);
	ASSERT_EQ(fi_close(&s->pep->fid), 0);
	ASSERT_EQ(fi_close(&s->cq->fid), 0);
	ASSERT_EQ(fi_close(&s->eq->fid), 0);
	ASSERT_EQ(fi_close(&s->domain->fid), 0);
	ASSERT_EQ(fi_close(&s->fabric->fid), 0);
}

/* Reads an event, of `fid` unless that is NULL; 0: there is none. */
static uint32_t next_event(struct side *s, struct fid *fid, struct fi_info **info)
{
	struct fi_eq_cm_entry entry;
	uint32_t event = 0;
	ssize_t n = fi_eq_read(s->eq, &event, &entry, sizeof(entry), 0);

	sched_yield();
	if (n == -FI_EAGAIN)
		return 0;
	ASSERT_EQ(n, sizeof(entry));
	if (fid)
		ASSERT_PTR(entry.fid, fid);
	if (info)
		*info = entry.info;
	return event;
}

static bool next_completion(struct side *s, void **context, int *err)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry error;
	ssize_t n = fi_cq_read(s->cq, &entry, 1);

	if (n == -FI_EAGAIN)
		return false;
	if (n == -FI_EAVAIL) {
		ASSERT_EQ(fi_cq_readerr(s->cq, &error, 0), 1);
		*context = error.op_context;
		*err = error.err;
		return true;
	}
	ASSERT_EQ(n, 1);
	*context = entry.op_context;
	*err = 0;
	return true;
}

void side_work(struct side *s)
{
	void *context;
	int err;

	for (int i = 0; i < 3; i++) {
		ASSERT(!next_completion(s, &context, &err));
		ASSERT_EQ(next_event(s, NULL, NULL), 0);
	}
}

int side_await(struct side *s, void *context)
{
	uint64_t end = dt_now_us() + (uint64_t)LIMIT * dt_slow();
	void *got;
	int err;

	while (!next_completion(s, &got, &err)) {
		ASSERT(dt_now_us() < end);
		sched_yield();
	}
	ASSERT_PTR(got, context);
	return err;
}

static void await_event(struct side *s, struct fid *fid, uint32_t want, struct fi_info **info)
{
	uint64_t end = dt_now_us() + (uint64_t)LIMIT * dt_slow();
	uint32_t event;

	while (!(event = next_event(s, fid, info)))
		ASSERT(dt_now_us() < end);
	ASSERT_EQ(event, want);
}

void side_await_end(struct side *s, struct fid_ep *ep)
{
	uint64_t end = dt_now_us() + (uint64_t)LIMIT * dt_slow();
	uint32_t event;
	void *context;
	int err;

	do {
		while (next_completion(s, &context, &err))
			;
		event = next_event(s, &ep->fid, NULL);
		ASSERT(dt_now_us() < end);
	} while (!event);
	ASSERT_EQ(event, FI_SHUTDOWN);
}

struct fid_mr *region(struct side *s, void *base, size_t len, uint32_t key, uint64_t access)
{
	struct iovec iov = { base, len };
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = access, .requested_key = key
	};
	struct fid_mr *mr;

	ASSERT_EQ(fi_mr_regattr(s->domain, &attr, 0, &mr), 0);
	return mr;
}

/* ---------------------------------------------------------------- ends */

static struct fid_ep *new_end(struct side *s, struct fi_info *info)
{
	struct fid_ep *ep;

	ASSERT_EQ(fi_endpoint(s->domain, info, &ep, NULL), 0);
	ASSERT_EQ(fi_ep_bind(ep, &s->eq->fid, 0), 0);
	ASSERT_EQ(fi_ep_bind(ep, &s->cq->fid, FI_RECV | FI_TRANSMIT), 0);
	ASSERT_EQ(fi_enable(ep), 0);
	return ep;
}

static struct fid_ep *take_request(struct side *s)
{
	struct fi_info *info;
	struct fid_ep *ep;

	await_event(s, &s->pep->fid, FI_CONNREQ, &info);
	ep = new_end(s, info);
	dofi_own_info_free(info);
	return ep;
}

void pair_open(struct side *s, struct fid_ep *ep[2])
{
	uint32_t first;

	ep[0] = new_end(s, &s->info);
	ASSERT_EQ(fi_connect(ep[0], &s->at, NULL, 0), 0);
	ep[1] = take_request(s);
	ASSERT_EQ(fi_accept(ep[1], NULL, 0), 0);
	for (int i = 0; i < 2; i++) {
		while (!(first = next_event(s, NULL, NULL)))
			;
		ASSERT_EQ(first, FI_CONNECTED);
	}
}

void pair_close(struct side *s, struct fid_ep *ep[2])
{
	(void)s;
	ASSERT_EQ(fi_close(&ep[0]->fid), 0);
	ASSERT_EQ(fi_close(&ep[1]->fid), 0);
}

ssize_t post_recv(struct fid_ep *ep, void *buf, size_t len, void *context)
{
	struct iovec iov = { buf, len };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = context };

	return fi_recvmsg(ep, &msg, 0);
}

unsigned int side_completions(struct side *s)
{
	struct fi_cq_data_entry entry[4];
	ssize_t n = fi_cq_read(s->cq, entry, 4);

	ASSERT(n > 0 || n == -FI_EAGAIN);
	return n > 0 ? (unsigned int)n : 0;
}

ssize_t post_send(struct fid_ep *ep, void *buf, size_t len, void *context)
{
	struct iovec iov = { buf, len };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = context };

	return fi_sendmsg(ep, &msg, 0);
}

ssize_t post_rma(struct fid_ep *ep, bool write, void *buf, size_t len, const void *remote,
		 uint32_t key, void *context)
{
	struct iovec iov = { buf, len };
	struct fi_rma_iov rma = { .addr = (uintptr_t)remote, .len = len, .key = key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .context = context };

	return write ? fi_writemsg(ep, &msg, 0) : fi_readmsg(ep, &msg, 0);
}

#define PAIR_KEY 77
#define PAIR_MOST 300000

void pair_check(struct side *s, struct fid_ep *ep[2])
{
	static const size_t lens[] = { 0, 100, 5000, 100000, PAIR_MOST };
	static char from[PAIR_MOST], to[PAIR_MOST];
	struct fid_mr *mr =
		region(s, from, sizeof(from), PAIR_KEY, FI_REMOTE_READ | FI_REMOTE_WRITE);
	int recv, other;

	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		size_t n = lens[i];

		memset(from, (int)i + 1, n);
		memset(to, 0, n);
		ASSERT_EQ(post_recv(ep[1], to, n, &recv), 0);
		ASSERT_EQ(post_send(ep[0], from, n, &recv), 0);
		ASSERT_EQ(side_await(s, &recv), 0);
		ASSERT_EQ(side_await(s, &recv), 0);
		ASSERT_MEM(to, from, n);
		memset(to, 90 + (int)i, n);
		ASSERT_EQ(post_rma(ep[0], true, to, n, from, PAIR_KEY, &other), 0);
		ASSERT_EQ(side_await(s, &other), 0);
		ASSERT_MEM(from, to, n);
		memset(to, 0, n);
		ASSERT_EQ(post_rma(ep[1], false, to, n, from, PAIR_KEY, &other), 0);
		ASSERT_EQ(side_await(s, &other), 0);
		ASSERT_MEM(to, from, n);
	}
	ASSERT_EQ(fi_close(&mr->fid), 0);
}

/* ---------------------------------------------------------------- hostile peers */

struct shm_params foe_params(void)
{
	static const uint64_t proof = 0x1122334455667788;

	return (struct shm_params){ .magic = 0x444f5348,
				    .version = 5,
				    .size = RING,
				    .nonce = 0xfeedfacecafebeef,
				    .pid = (uint64_t)getpid(),
				    .place = (uintptr_t)&proof,
				    .proof = proof,
				    .len = 64,
				    .mem = PAGE + 4 * RING,
				    .seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
}

static void make_memory(struct foe *f, const struct shm_params *o)
{
	f->fd = memfd_create("foe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ASSERT(f->fd >= 0 && !ftruncate(f->fd, o->mem));
	if (o->seals)
		ASSERT(!fcntl(f->fd, F_ADD_SEALS, o->seals));
	f->map_len = (size_t)o->mem;
	f->map = mmap(NULL, f->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	ASSERT(f->map != MAP_FAILED);
	f->control = (struct control *)(void *)f->map;
	f->nonce = o->nonce;
}

static void dial(struct foe *f, const struct side *s)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int n = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "dat-ofi.shm.127.0.0.1.%u",
			 dofi_addr_port(&s->at.sa));

	f->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT(f->sock >= 0);
	ASSERT(!connect(f->sock, (struct sockaddr *)&un,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)));
}

static void ask(struct foe *f, const struct side *s, const struct shm_params *o)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	uint8_t buf[MSGEP_CM_MAX], params[MSGEP_PARAMS_MAX] = { 0 }, *p = params;
	struct msgep_cm_msg cm = { .kind = MSGEP_CM_REQUEST,
				   .transport = msgep_transport_shm.id,
				   .port = 77,
				   .params = params,
				   .params_len = o->len,
				   .to = s->at,
				   .has_fd = !o->no_fd };
	struct iovec iov = { buf, 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	p = dofi_put_be(p, o->magic, 4);
	p = dofi_put_be(p, o->version, 4);
	p = dofi_put_be(p, o->size, 4);
	p = dofi_put_be(p, 0, 4);
	p = dofi_put_be(p, o->nonce, 8);
	p = dofi_put_be(p, o->pid, 8);
	p = dofi_put_be(p, o->place, 8);
	p = dofi_put_be(p, o->proof, 8);
	p = dofi_put_be(p, o->queue, 8);
	dofi_put_be(p, o->queue, 8);
	iov.iov_len = msgep_cm_build(buf, &cm);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &f->fd, sizeof(int));
	if (o->no_fd)
		msg.msg_controllen = 0;
	ASSERT_EQ(sendmsg(f->sock, &msg, MSG_NOSIGNAL), iov.iov_len);
}

static ssize_t recv_answer(struct foe *f, void *buf, size_t len)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { buf, len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	ssize_t n = recvmsg(f->sock, &msg, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	if (n > 0 && c)
		memcpy(&f->ready_fd, CMSG_DATA(c), sizeof(int));
	return n;
}

int foe_open(struct foe *f, struct side *s, const struct shm_params *o)
{
	struct shm_params usual = foe_params();
	uint8_t buf[MSGEP_CM_MAX];
	struct msgep_cm_msg msg;
	ssize_t n;
	int ret;

	memset(f, 0, sizeof(*f));
	f->s = s;
	f->ready_fd = -1;
	make_memory(f, o ? o : &usual);
	dial(f, s);
	ask(f, s, o ? o : &usual);
	f->ep = take_request(s);
	ret = fi_accept(f->ep, NULL, 0);
	if (ret)
		return ret;
	await_event(s, &f->ep->fid, FI_CONNECTED, NULL);
	n = recv_answer(f, buf, sizeof(buf));
	ASSERT(n > 0 && !msgep_cm_parse(buf, (size_t)n, &msg));
	ASSERT_EQ(msg.kind, MSGEP_CM_ACCEPT);
	ASSERT_EQ(msg.has_fd, f->ready_fd >= 0);
	return 0;
}

void foe_close(struct foe *f)
{
	ASSERT_EQ(fi_close(&f->ep->fid), 0);
	close(f->sock);
	close(f->fd);
	if (f->ready_fd >= 0)
		close(f->ready_fd);
	munmap(f->map, f->map_len);
}

static char *ring_of(struct foe *f, int direction, int channel)
{
	return f->map + PAGE + (size_t)RING * (unsigned int)(2 * direction + channel);
}

struct msgep_frame *foe_put(struct foe *f, int channel, const struct msgep_frame *frame,
			    const void *payload, size_t len)
{
	uint64_t pos = f->pos[channel];
	struct msgep_frame *at = (void *)(ring_of(f, 0, channel) + pos % RING);

	ASSERT(pos % RING + sizeof(*frame) + len <= RING);
	memcpy((char *)at + 8, (const char *)frame + 8, sizeof(*frame) - 8);
	if (len)
		memcpy(at + 1, payload, len);
	f->pos[channel] += (sizeof(*frame) + len + 63) / 64 * 64;
	atomic_store((_Atomic uint64_t *)(void *)&at->mark, f->nonce + pos);
	return at;
}

const struct msgep_frame *foe_get(struct foe *f, int channel)
{
	uint64_t at = f->at[channel];
	const struct msgep_frame *frame = (void *)(ring_of(f, 1, channel) + at % RING);

	if (atomic_load((const _Atomic uint64_t *)(const void *)&frame->mark) != f->nonce + at)
		return NULL;
	f->at[channel] += (sizeof(*frame) + frame->len + 63) / 64 * 64;
	atomic_store(&f->control[1].head[channel], f->at[channel]);
	return frame;
}

const struct msgep_frame *foe_await(struct foe *f, int channel)
{
	uint64_t end = dt_now_us() + (uint64_t)LIMIT * dt_slow();
	const struct msgep_frame *frame;

	while (!(frame = foe_get(f, channel))) {
		side_work(f->s);
		ASSERT(dt_now_us() < end);
	}
	return frame;
}
