/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the frame protocol: no sequence of frames may make it access other memory, or complete
 * operations that were not posted.
 *
 * The input is a list of steps: frames of the peer, in which every field may be anything, and what
 * the consumer does meanwhile (posts, opens and closes its region). The transport delivers the
 * frames and discards ours. All buffers have exactly their usable length, so that the sanitizer
 * detects overruns. Invariants: a request completes once, in order; a receive that succeeds is no
 * longer than its buffer; and after a protocol violation no operation of the peer succeeds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fuzz.h"
#include "msgep/iov.h"
#include "msgep/msgep.h"

#define KEY 3
#define REGION 9000
#define BUFFER 600
#define SLOTS 1024

static struct {
	const uint8_t *at, *end;
} input;

static struct msgep_fabric fabric;
static struct msgep_domain domain;
static struct msgep_ep ep;
static struct msgep_cq tx_cq, rx_cq;
static struct fid_mr *mr;
static char *memory;                         /* the region */
static char *buffers[SLOTS];                 /* of what was posted, by its number */
static unsigned int posted[2], completed[2]; /* requests, receives */
static bool full, gone, back[MSGEP_CHANNELS];
static struct msgep_frame frame[MSGEP_CHANNELS];
static char *payload[MSGEP_CHANNELS];
static uint64_t revoked_bits;

/* ---------------------------------------------------------------- environment */

void dofi_log(enum dofi_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

bool msgep_srx_claim(struct msgep_srx *srx, struct msgep_ep *e)
{
	(void)srx;
	(void)e;
	return false;
}

/* No consumer sleeps. */
void msgep_ep_path_checked(struct msgep_ep *e)
{
	MUST(e == &ep);
}

void msgep_cq_wake(struct msgep_cq *cq)
{
	MUST(cq == &rx_cq || cq == &tx_cq);
}

/* Sends of one frame complete when they are sent, all others when they are answered. */
void msgep_cq_push(struct msgep_cq *cq, void *context, uint64_t flags, uint64_t len, uint64_t data,
		   int err)
{
	uintptr_t number = (uintptr_t)context;

	(void)data;
	MUST(err >= 0);
	if (cq == &rx_cq) {
		MUST(flags & (FI_RECV | FI_REMOTE_WRITE) && !ep.failed);
		MUST(number == completed[1]++);
		MUST(completed[1] <= posted[1]);
		/* The frame after a write has its length. */
		MUST(err || len <= (flags & FI_RECV ? BUFFER : REGION));
		return;
	}
	/* A message that fits a frame is sent until the end is detected. */
	MUST(!(flags & FI_RECV) && (!ep.failed || flags & FI_SEND));
	MUST(number < SLOTS && buffers[number]);
	/* The buffer belongs to the program again. */
	free(buffers[number]);
	buffers[number] = NULL;
	MUST(++completed[0] <= posted[0]);
}

/* ---------------------------------------------------------------- the transport */

static struct msgep_frame *reserve(struct msgep_ep *e, int channel, size_t want, size_t *space)
{
	static struct {
		struct msgep_frame f;
		char payload[2048];
	} out;

	(void)e;
	(void)channel;
	*space = want < sizeof(out.payload) ? want : sizeof(out.payload);
	if (*space < 24)
		*space = 24;
	return full ? NULL : &out.f;
}

static void commit(struct msgep_ep *e, int channel, struct msgep_frame *f)
{
	(void)e;
	MUST(f->len <= 2048);
	MUST(f->kind >= MSGEP_MSG && f->kind <= MSGEP_ACK);
	MUST((f->kind >= MSGEP_DATA) == (channel == MSGEP_ANS));
}

static const struct msgep_frame *peek(struct msgep_ep *e, int channel, const void **out)
{
	if (!back[channel] || e->failed)
		return NULL;
	*out = payload[channel];
	return &frame[channel];
}

static void release(struct msgep_ep *e, int channel)
{
	(void)e;
	MUST(back[channel]);
	back[channel] = false;
}

static size_t pull_size(struct msgep_ep *e)
{
	(void)e;
	return 256;
}

/* As the kernel does it: into what of `to` the segments fill. */
static bool pull(struct msgep_ep *e, struct iovec *to, const struct msgep_segment *from, size_t n)
{
	struct iovec local[MSGEP_IOV_MAX + 1];
	uint64_t total = 0;
	size_t locals;

	(void)e;
	MUST(n <= MSGEP_IOV_INLINE);
	for (size_t i = 0; i < n; i++)
		total += from[i].len;
	locals = msgep_iov_truncate(to, local, total);
	MUST(locals <= MSGEP_IOV_MAX);
	for (size_t i = 0; i < locals; i++)
		memset(local[i].iov_base, 'p', local[i].iov_len);
	return !gone;
}

static void grant(struct msgep_ep *e, uint32_t read)
{
	MUST(mr != NULL);
	MUST(read == e->target_read_head);
}

static void revoke(struct msgep_ep *e, uint64_t reads)
{
	(void)e;
	MUST(reads);
}

static void withdraw(struct msgep_ep *e)
{
	MUST(e->failed);
}

static bool revoked(struct msgep_ep *e, uint32_t read)
{
	(void)e;
	return revoked_bits >> (read % MSGEP_TARGET_READS) & 1;
}

/* clang-format off */
static const struct msgep_transport transport = {
	.reserve = reserve, .commit = commit, .peek = peek, .release = release,
	.pull_from = pull_size, .pull = pull, .pull_to = pull_size, .grant = grant,
	.revoke = revoke, .withdraw = withdraw, .revoked = revoked,
};
/* clang-format on */

/* ---------------------------------------------------------------- steps */

static uint64_t number(size_t bytes)
{
	uint64_t value = 0;

	while (bytes-- && input.at < input.end)
		value = value << 8 | *input.at++;
	return value;
}

/* A number that is small, near a bound, or anything. */
static uint64_t some(uint64_t bound)
{
	uint8_t sort = (uint8_t)number(1);

	switch (sort >> 6) {
	case 0:
		return sort & 63;
	case 1:
		return bound + (sort & 63) - 32;
	case 2:
		return number(2);
	default:
		return number(8);
	}
}

static void open_region(void)
{
	struct iovec iov = { memory, REGION };
	struct fi_mr_attr attr = { .mr_iov = &iov,
				   .iov_count = 1,
				   .requested_key = KEY,
				   .access = FI_REMOTE_READ | FI_REMOTE_WRITE };

	if (mr)
		return;
	if (msgep_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr))
		abort();
}

static void close_region(void)
{
	if (mr)
		fi_close(&mr->fid);
	mr = NULL;
}

static void post(unsigned int sort)
{
	uintptr_t n = posted[0];
	struct iovec iov = { NULL, some(BUFFER) % (BUFFER + 1) };
	struct fi_rma_iov rma = { .addr = 64, .key = 1, .len = iov.iov_len };
	struct fi_msg_rma op = { .msg_iov = &iov,
				 .iov_count = 1,
				 .rma_iov = &rma,
				 .rma_iov_count = 1,
				 .context = (void *)n };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = (void *)n };
	ssize_t ret;

	if (n == SLOTS)
		return;
	buffers[n] = calloc(1, iov.iov_len ? iov.iov_len : 1);
	iov.iov_base = buffers[n];
	/* It may complete in the call. */
	posted[0]++;
	if (sort == 0)
		ret = msgep_msg_ops.sendmsg(&ep.fid, &msg, 0);
	else
		ret = sort == 1 ? msgep_rma_ops.writemsg(&ep.fid, &op, 0)
				: msgep_rma_ops.readmsg(&ep.fid, &op, 0);
	MUST(!ret || ret == -FI_EAGAIN);
	if (ret) {
		posted[0]--;
		free(buffers[n]);
		buffers[n] = NULL;
	}
}

static char *receives[SLOTS];

static void post_receive(void)
{
	uintptr_t n = posted[1];
	struct iovec iov[2] = { { NULL, BUFFER / 3 }, { NULL, BUFFER - BUFFER / 3 } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2, .context = (void *)n };

	if (n == SLOTS)
		return;
	receives[n] = malloc(BUFFER);
	iov[0].iov_base = receives[n];
	iov[1].iov_base = receives[n] + BUFFER / 3;
	posted[1]++;
	if (msgep_msg_ops.recvmsg(&ep.fid, &msg, 0)) {
		free(receives[n]);
		receives[n] = NULL;
		posted[1]--;
	}
}

/* The payload has the length in the frame, which the transports ensure. */
static void deliver(int channel)
{
	struct msgep_frame *f = &frame[channel];
	struct msgep_segment segment;
	size_t n;

	if (back[channel])
		return;
	memset(f, 0, sizeof(*f));
	f->kind = (uint8_t)some(MSGEP_SWAP);
	f->flags = (uint8_t)number(1);
	f->segments = (uint8_t)some(MSGEP_IOV_INLINE);
	f->key = (uint32_t)some(KEY);
	f->total = some(REGION);
	f->value = some(0);
	if (number(1) & 1)
		f->value += (uintptr_t)memory;
	f->len = (uint32_t)some(64) % 1500;
	free(payload[channel]);
	payload[channel] = calloc(1, f->len ? f->len : 1);
	for (n = 0; f->flags & MSGEP_PULL && n < f->segments; n++) {
		if ((n + 1) * sizeof(segment) > f->len)
			break;
		segment = (struct msgep_segment){ some(0), some(f->total) };
		memcpy(payload[channel] + n * sizeof(segment), &segment, sizeof(segment));
	}
	back[channel] = true;
}

static void step(void)
{
	switch (number(1) % 12) {
	case 0:
	case 1:
	case 2:
		deliver(MSGEP_REQ);
		break;
	case 3:
	case 4:
		deliver(MSGEP_ANS);
		break;
	case 5:
		post_receive();
		break;
	case 6:
		post(0);
		break;
	case 7:
		post(1);
		break;
	case 8:
		post(2);
		break;
	case 9:
		if (number(1) & 1)
			open_region();
		else
			close_region();
		break;
	case 10:
		full = number(1) & 1;
		break;
	default:
		gone = number(1) & 1;
		revoked_bits = some(0);
		break;
	}
	dofi_lock(&ep.lock);
	msgep_proto_progress(&ep);
	MUST(ep.txq.tail - ep.txq.head <= ep.txq.capacity);
	MUST(ep.unacked.tail - ep.unacked.head <= ep.unacked.capacity);
	MUST(ep.reads.tail - ep.reads.head <= ep.reads.capacity);
	MUST(ep.target_read_tail - ep.target_read_head <= MSGEP_TARGET_READS);
	dofi_unlock(&ep.lock);
}

static struct msgep_tx *queue(struct msgep_txq *q, uint32_t room)
{
	q->capacity = room;
	return q->tx = malloc(room * sizeof(*q->tx));
}

static void set_up(void)
{
	memset(&domain, 0, sizeof(domain));
	memset(&ep, 0, sizeof(ep));
	fabric.transport = &transport;
	domain.fabric = &fabric;
	pthread_rwlock_init(&domain.mr_lock, NULL);
	dofi_key_map_init(&domain.mrs);
	dofi_list_init(&domain.ep_list);
	dofi_lock_init(&ep.lock);
	ep.domain = &domain;
	ep.transport = &transport;
	ep.sock = -1;
	ep.tx_cq = &tx_cq;
	ep.rx_cq = &rx_cq;
	ep.rx_capacity = 16;
	ep.rxq = malloc(ep.rx_capacity * sizeof(*ep.rxq));
	memory = malloc(REGION);
	if (!queue(&ep.txq, 8) || !queue(&ep.unacked, 16) ||
	    !queue(&ep.reads, MSGEP_TARGET_READS) || !ep.rxq || !memory)
		abort();
	atomic_store(&ep.state, MSGEP_UP);
	dofi_list_append(&domain.ep_list, &ep.link);
	full = gone = back[0] = back[1] = false;
	revoked_bits = 0;
	memset(posted, 0, sizeof(posted));
	memset(completed, 0, sizeof(completed));
	open_region();
}

static void tear_down(void)
{
	close_region();
	for (unsigned int i = 0; i < posted[0]; i++)
		free(buffers[i]);
	for (unsigned int i = 0; i < posted[1]; i++)
		free(receives[i]);
	memset(buffers, 0, sizeof(buffers));
	for (int c = 0; c < MSGEP_CHANNELS; c++) {
		free(payload[c]);
		payload[c] = NULL;
	}
	free(ep.txq.tx);
	free(ep.unacked.tx);
	free(ep.reads.tx);
	free(ep.rxq);
	free(ep.target_reads);
	free(memory);
	dofi_key_map_free(&domain.mrs);
	pthread_rwlock_destroy(&domain.mr_lock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input.at = data;
	input.end = data + size;
	set_up();
	while (input.at < input.end)
		step();
	tear_down();
	return 0;
}
