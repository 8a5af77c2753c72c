/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures patterns of messages: a ping-pong and a stream with one peer (eager), and exchanges
 * with many (halo).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "proc.h"
#include "transport.h"

#define ALIGNMENT 4096u
/* The answer to a window of messages. */
#define ANSWER 4u
/* The peak is the rate of the best of PARTS parts of a run. */
#define PARTS 20

/*
 * The buffers: with validation one for each message of the window, else one for each peer and
 * direction.
 */
struct exchange {
	struct perf_transport *t;
	uint8_t *mem;
	size_t mem_len;
	size_t stride;
	uint64_t slots;
	uint64_t sent[PERF_MAX_PEERS];
	uint64_t posted[PERF_MAX_PEERS];
	uint64_t checked[PERF_MAX_PEERS];
};

/* Four neighbours with the whole size, eight with an eighth, four with a 64th. */
static size_t halo_size(size_t size, int peer)
{
	size_t least = size < 8 ? size : 8;
	size_t len = peer < 4 ? size : peer < 12 ? size / 8 : size / 64;

	return len < least ? least : len;
}

static size_t message_size(const struct perf_case *c, int peer)
{
	return c->op == PERF_HALO ? halo_size(c->size, peer) : c->size;
}

static uint8_t *buffer(struct exchange *x, int peer, bool in, uint64_t k)
{
	uint64_t set = (uint64_t)peer * 2 + in;

	return x->mem + (set * x->slots + k % x->slots) * x->stride;
}

static int exchange_get(struct exchange *x, struct perf_transport *t)
{
	size_t size = t->c->size < ANSWER ? ANSWER : t->c->size;

	memset(x, 0, sizeof(*x));
	x->t = t;
	x->slots = t->run->plan->validate ? (uint64_t)t->c->window : 1;
	x->stride = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	x->mem_len = x->stride * x->slots * 2 * (size_t)t->peers;
	x->mem = mmap(NULL, x->mem_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (x->mem == MAP_FAILED)
		return perf_error(-errno, NULL, "mmap", "%zu bytes: %s", x->mem_len,
				  strerror(errno));
	return 0;
}

static int send_message(struct exchange *x, int peer, size_t len)
{
	uint64_t k = x->sent[peer]++;
	uint8_t *buf = buffer(x, peer, false, k);

	if (x->t->run->plan->validate)
		perf_fill_bytes(buf, len, k, len > ANSWER);
	perf_msg_post(&x->t->peer[peer].out, buf, len);
	return x->t->ops->start(x->t, peer);
}

static void post_receive(struct exchange *x, int peer, size_t len)
{
	perf_msg_post(&x->t->peer[peer].in, buffer(x, peer, true, x->posted[peer]++), len);
}

/* Moves everything until `*count` has reached `goal`. */
static int wait_for(struct exchange *x, const uint64_t *count, uint64_t goal, const char *what)
{
	struct perf_wait_state p = { 0, 0 };
	uint64_t before = *count;
	int ret;

	while (*count < goal) {
		ret = x->t->ops->progress(x->t);
		if (ret < 0)
			return ret;
		if (*count != before) {
			before = *count;
			p.until = 0;
		}
		ret = perf_transport_wait(&p, x->t, what);
		if (ret)
			return ret;
	}
	return 0;
}

static int await_sent(struct exchange *x, int peer)
{
	return wait_for(x, &x->t->peer[peer].out.done, x->sent[peer], "own completion");
}

/* Awaits the next message, checks it and clears its buffer, so that it cannot pass for another. */
static int await_message(struct exchange *x, int peer, size_t len)
{
	uint64_t k = x->checked[peer]++;
	uint8_t *buf = buffer(x, peer, true, k);
	int ret = wait_for(x, &x->t->peer[peer].in.done, k + 1, "message");

	if (ret || !x->t->run->plan->validate)
		return ret;
	ret = perf_check_bytes(x->t->ops->name, buf, len, k, "message");
	memset(buf, 0xa5, len);
	return ret;
}

/* ---------------------------------------------------------------- eager: ping-pong */

static int ping_pong(struct exchange *x, bool first)
{
	size_t size = x->t->c->size;
	int ret = 0;

	post_receive(x, 0, size);
	if (first)
		ret = send_message(x, 0, size);
	if (!ret)
		ret = await_message(x, 0, size);
	if (!ret && !first)
		ret = send_message(x, 0, size);
	return ret ? ret : await_sent(x, 0);
}

/* ---------------------------------------------------------------- halo */

static int halo(struct exchange *x)
{
	const struct perf_case *c = x->t->c;
	int peer, ret = 0;

	for (peer = 0; peer < x->t->peers; peer++)
		post_receive(x, peer, message_size(c, peer));
	for (peer = 0; !ret && peer < x->t->peers; peer++)
		ret = send_message(x, peer, message_size(c, peer));
	for (peer = 0; !ret && peer < x->t->peers; peer++)
		ret = await_message(x, peer, message_size(c, peer));
	for (peer = 0; !ret && peer < x->t->peers; peer++)
		ret = await_sent(x, peer);
	return ret;
}

/* ---------------------------------------------------------------- eager: stream */

static int window_send(struct exchange *x)
{
	int i, ret = 0;

	post_receive(x, 0, ANSWER);
	for (i = 0; !ret && i < x->t->c->window; i++)
		ret = send_message(x, 0, x->t->c->size);
	if (!ret)
		ret = await_sent(x, 0);
	return ret ? ret : await_message(x, 0, ANSWER);
}

static int window_receive(struct exchange *x)
{
	int i, ret = 0;

	for (i = 0; i < x->t->c->window; i++)
		post_receive(x, 0, x->t->c->size);
	for (i = 0; !ret && i < x->t->c->window; i++)
		ret = await_message(x, 0, x->t->c->size);
	if (!ret)
		ret = send_message(x, 0, ANSWER);
	return ret ? ret : await_sent(x, 0);
}

static int step(struct exchange *x)
{
	bool first = x->t->role == PERF_CLIENT;

	if (x->t->c->op == PERF_HALO)
		return halo(x);
	if (x->t->c->test == PERF_LAT)
		return ping_pong(x, first);
	return first ? window_send(x) : window_receive(x);
}

/* ---------------------------------------------------------------- measuring */

static int measure_latency(struct exchange *x, double *us)
{
	const struct perf_case *c = x->t->c;
	double part = c->op == PERF_HALO ? 1000.0 : 2000.0;
	uint64_t last = 0, now;
	int ret = 0;
	long i;

	for (i = 0; !ret && i < c->warmup + c->iters; i++) {
		if (i == c->warmup)
			last = perf_now();
		ret = step(x);
		now = perf_now();
		if (i >= c->warmup)
			us[i - c->warmup] = (double)(now - last) / part;
		last = now;
		perf_beat();
	}
	return ret;
}

/* Bytes and messages of one step, of a halo in both directions. */
static void step_volume(const struct perf_transport *t, double *bytes, double *messages)
{
	int peer;

	if (t->c->op != PERF_HALO) {
		*bytes = (double)t->c->size * t->c->window;
		*messages = t->c->window;
		return;
	}
	*messages = 2 * t->peers;
	for (*bytes = 0, peer = 0; peer < t->peers; peer++)
		*bytes += 2.0 * (double)message_size(t->c, peer);
}

static int measure_bandwidth(struct exchange *x, struct perf_figures *f)
{
	const struct perf_case *c = x->t->c;
	long unit = c->op == PERF_HALO ? 1 : c->window;
	long warmup = (c->warmup + unit - 1) / unit, steps = (c->iters + unit - 1) / unit;
	long part = steps < PARTS ? steps : steps / PARTS;
	uint64_t start = 0, part_at = 0, now = 0;
	double bytes, messages, rate, peak = 0;
	int ret = 0;
	long i;

	for (i = 0; !ret && i < warmup + steps; i++) {
		if (i == warmup)
			start = part_at = perf_now();
		ret = step(x);
		perf_beat();
		if (i < warmup || (i + 1 - warmup) % part)
			continue;
		now = perf_now();
		rate = (double)part * 1e9 / (double)(now - part_at + 1);
		peak = rate > peak ? rate : peak;
		part_at = now;
	}
	rate = (double)steps * 1e9 / (double)(perf_now() - start + 1);
	step_volume(x->t, &bytes, &messages);
	f->rate = rate * messages;
	f->mbps = rate * bytes / 1e6;
	f->peak_mbps = (peak > rate ? peak : rate) * bytes / 1e6;
	return ret;
}

int perf_pattern_messages(struct perf_transport *t, struct perf_figures *f)
{
	const struct perf_case *c = t->c;
	double *us = NULL;
	struct exchange x;
	int ret = exchange_get(&x, t);

	if (!ret && c->test != PERF_LAT) {
		ret = measure_bandwidth(&x, f);
	} else if (!ret) {
		us = malloc(sizeof(*us) * (size_t)c->iters);
		ret = us ? measure_latency(&x, us)
			 : perf_error(-ENOMEM, NULL, "malloc", "%ld samples", c->iters);
		if (!ret)
			perf_latency(f, us, c->iters);
	}
	if (!ret)
		munmap(x.mem, x.mem_len);
	free(us);
	return ret;
}
