/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the least that a message between two processes costs, with a minimal ring in shared
 * memory. A slot has a sequence number, which is its position plus one, and holds a small message.
 * The receiver creates the memory and sends its path in /proc to the peer, a child of the same
 * parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layer.h"
#include "proc.h"

#define RING_SLOTS 256u
#define SLOT_SIZE 128

struct ring_slot {
	_Alignas(SLOT_SIZE) _Atomic uint64_t sequence;
	uint32_t len;
	uint8_t data[SLOT_SIZE - 16];
};

struct ring {
	_Alignas(SLOT_SIZE) _Atomic uint64_t head; /* published read position */
	struct ring_slot ring_slot[RING_SLOTS];
};

/* Posted buffers in order; capacity is a power of two. */
struct fifo {
	struct perf_slot **slot;
	uint32_t capacity, head, tail;
};

struct queue_side {
	struct perf_side base;
	struct ring *in, *out;
	uint64_t at, published; /* of `in` */
	uint64_t pos, acked;    /* of `out`: next to write, and the published head of the reader */
	int fd;
	struct fifo rx, tx;
	uint32_t tx_len[RING_SLOTS];
};

static struct queue_side *queue_side(struct perf_side *s)
{
	return (struct queue_side *)s;
}

static int fifo_get(struct fifo *f, uint32_t least)
{
	for (f->capacity = 1; f->capacity < least;)
		f->capacity *= 2;
	f->slot = calloc(f->capacity, sizeof(*f->slot));
	return f->slot ? 0 : perf_error(-ENOMEM, "queue", "calloc", "out of memory");
}

static inline struct perf_slot **fifo_at(struct fifo *f, uint32_t i)
{
	return &f->slot[i & (f->capacity - 1)];
}

/* ---------------------------------------------------------------- objects */

static int queue_open(struct perf_run *run, const struct perf_case *c, struct perf_dev **dev)
{
	struct perf_dev *d = calloc(1, sizeof(*d));

	if (!d)
		return perf_error(-ENOMEM, "queue", "calloc", "out of memory");
	*d = (struct perf_dev){ .layer = &perf_queue_layer, .run = run, .c = c };
	*dev = d;
	return 0;
}

static int queue_close(struct perf_dev *dev)
{
	free(dev);
	return 0;
}

static bool queue_supports(const struct perf_dev *dev)
{
	const struct perf_case *c = dev->c;

	return c->op == PERF_SEND && c->mode == PERF_POLL && !dev->run->plan->srq &&
	       c->size <= sizeof(((struct ring_slot *)NULL)->data);
}

static int queue_hub_open(struct perf_dev *dev, struct perf_hub **hub)
{
	struct perf_hub *h = calloc(1, sizeof(*h));

	if (!h)
		return perf_error(-ENOMEM, "queue", "calloc", "out of memory");
	h->layer = dev->layer;
	h->dev = dev;
	*hub = h;
	return queue_supports(dev) ? perf_memory_get(h) : -EOPNOTSUPP;
}

static int queue_hub_close(struct perf_hub *hub)
{
	perf_memory_put(hub);
	free(hub);
	return 0;
}

static int ring_map(int fd, struct ring **ring)
{
	void *mem = mmap(NULL, sizeof(**ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			 fd, 0);

	if (mem == MAP_FAILED)
		return perf_error(-errno, "queue", "mmap", "%s", strerror(errno));
	*ring = mem;
	return 0;
}

static int queue_side_open(struct perf_hub *hub, struct perf_side **side)
{
	struct queue_side *q = calloc(1, sizeof(*q));
	int ret;

	if (!q)
		return perf_error(-ENOMEM, "queue", "calloc", "out of memory");
	q->base.layer = hub->layer;
	q->base.hub = hub;
	*side = &q->base;
	q->fd = memfd_create("dat_perf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (q->fd < 0 || ftruncate(q->fd, sizeof(*q->in)) ||
	    fcntl(q->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return perf_error(-errno, "queue", "memfd_create", "%s", strerror(errno));
	ret = ring_map(q->fd, &q->in);
	if (!ret)
		ret = fifo_get(&q->rx, (uint32_t)hub->dev->c->recv_depth);
	if (!ret)
		ret = fifo_get(&q->tx, RING_SLOTS);
	if (!ret)
		ret = perf_memory_side(hub, *side);
	q->base.local.addr = (uint64_t)getpid();
	q->base.local.key = (uint64_t)q->fd;
	return ret;
}

static int queue_side_close(struct perf_side *s)
{
	struct queue_side *q = queue_side(s);

	munmap(q->in, sizeof(*q->in));
	if (q->out)
		munmap(q->out, sizeof(*q->out));
	close(q->fd);
	free(q->rx.slot);
	free(q->tx.slot);
	perf_memory_side_put(s);
	free(q);
	return 0;
}

/* ---------------------------------------------------------------- connecting */

static int queue_listen(struct perf_dev *dev, struct perf_listen_addr *listen_addr)
{
	(void)dev;
	memset(listen_addr, 0, sizeof(*listen_addr));
	return 0;
}

static int queue_connect(struct perf_side *s, const struct perf_listen_addr *listen_addr)
{
	(void)s;
	(void)listen_addr;
	return 0;
}

static int queue_nothing_to_do(struct perf_side *s)
{
	(void)s;
	return 0;
}

static int queue_exchange_paths(struct perf_side *s)
{
	struct queue_side *q = queue_side(s);
	struct stat st;
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/%lu/fd/%lu", (unsigned long)s->peer.addr,
		 (unsigned long)s->peer.key);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return perf_error(-errno, "queue", "open", "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) || st.st_size != (off_t)sizeof(*q->out))
		ret = perf_error(-EPROTO, "queue", "open", "%s is not the peer's queue", path);
	else
		ret = ring_map(fd, &q->out);
	close(fd);
	return ret;
}

/* ---------------------------------------------------------------- data */

static int queue_post_recv(struct perf_side *s, struct perf_slot *slot)
{
	struct queue_side *q = queue_side(s);

	*fifo_at(&q->rx, q->rx.tail++) = slot;
	return 0;
}

static int queue_post_shared(struct perf_hub *hub, struct perf_slot *slot)
{
	(void)hub;
	(void)slot;
	return perf_error(-EOPNOTSUPP, "queue", "post", "no shared receive queue");
}

static int queue_post(struct perf_side *s, const struct perf_work *w)
{
	struct queue_side *q = queue_side(s);
	struct ring_slot *ring_slot = &q->out->ring_slot[q->pos % RING_SLOTS];

	if (q->pos - q->acked == RING_SLOTS)
		q->acked = atomic_load_explicit(&q->out->head, memory_order_acquire);
	if (q->pos - q->acked == RING_SLOTS || q->tx.tail - q->tx.head == RING_SLOTS)
		return -EAGAIN;
	memcpy(ring_slot->data, w->slot->mem, w->len);
	ring_slot->len = (uint32_t)w->len;
	atomic_store_explicit(&ring_slot->sequence, ++q->pos, memory_order_release);
	q->tx_len[q->tx.tail % RING_SLOTS] = (uint32_t)w->len;
	*fifo_at(&q->tx, q->tx.tail++) = w->slot;
	return 0;
}

static int reap_tx(struct queue_side *q, int max)
{
	int n = 0, ret = 0;

	for (; !ret && n < max && q->tx.head != q->tx.tail; n++, q->tx.head++)
		ret = perf_completed(*fifo_at(&q->tx, q->tx.head),
				     q->tx_len[q->tx.head % RING_SLOTS]);
	return ret ? ret : n;
}

static int reap_rx(struct queue_side *q, int max)
{
	int n = 0, ret = 0;

	for (; !ret && n < max && q->rx.head != q->rx.tail; n++) {
		struct ring_slot *ring_slot = &q->in->ring_slot[q->at % RING_SLOTS];
		struct perf_slot *slot = *fifo_at(&q->rx, q->rx.head);

		if (atomic_load_explicit(&ring_slot->sequence, memory_order_acquire) != q->at + 1)
			break;
		if (ring_slot->len > sizeof(ring_slot->data) ||
		    ring_slot->len > q->base.hub->stride)
			return perf_error(-EPROTO, "queue", "receive", "%u bytes", ring_slot->len);
		memcpy(slot->mem, ring_slot->data, ring_slot->len);
		ret = perf_completed(slot, ring_slot->len);
		q->rx.head++;
		if (++q->at - q->published >= RING_SLOTS / 4) {
			q->published = q->at;
			atomic_store_explicit(&q->in->head, q->published, memory_order_release);
		}
	}
	return ret ? ret : n;
}

static int queue_reap(struct perf_hub *hub, enum perf_queue which, int max)
{
	int i, n = 0, got = 0;

	for (i = 0; got >= 0 && n < max && i < hub->sides; i++) {
		struct queue_side *q = queue_side(hub->side[i]);

		got = which == PERF_TX ? reap_tx(q, max - n) : reap_rx(q, max - n);
		n += got;
	}
	return got < 0 ? got : n;
}

/* Polled only: see queue_supports(). */
static int queue_wait(struct perf_hub *hub, enum perf_queue which, int max, int timeout_ms)
{
	(void)timeout_ms;
	return queue_reap(hub, which, max);
}

static int queue_wait_any(struct perf_hub *hub, int timeout_ms)
{
	(void)hub;
	(void)timeout_ms;
	return 0;
}

const struct perf_layer perf_queue_layer = {
	.name = "queue",
	.open = queue_open,
	.close = queue_close,
	.hub_open = queue_hub_open,
	.hub_close = queue_hub_close,
	.listen = queue_listen,
	.side_open = queue_side_open,
	.connect = queue_connect,
	.accept = queue_nothing_to_do,
	.established = queue_nothing_to_do,
	.exchange = queue_exchange_paths,
	.disconnect = queue_nothing_to_do,
	.side_close = queue_side_close,
	.post_recv = queue_post_recv,
	.post_shared = queue_post_shared,
	.post = queue_post,
	.reap = queue_reap,
	.wait = queue_wait,
	.wait_any = queue_wait_any,
};
