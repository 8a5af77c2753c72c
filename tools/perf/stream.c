/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures bandwidth: keeps a window of operations filled, in one or both directions. */
#include "flow.h"
#include "proc.h"

/* The peak is the rate of the best of PARTS parts of a run. */
#define PARTS 20

struct meter {
	uint64_t start;
	uint64_t part;
	uint64_t part_at;
	uint64_t part_done;
	double peak;
};

/* Completions may come in batches: a part spans several windows. */
#define LEAST_WINDOWS 4

static void meter_start(struct meter *m, const struct perf_hub *hub, long count)
{
	uint64_t least = LEAST_WINDOWS * (uint64_t)hub->dev->c->window * (uint64_t)hub->sides;

	m->start = m->part_at = perf_now();
	m->part_done = hub->tx_done;
	m->part = (uint64_t)count / PARTS;
	if (m->part < least)
		m->part = least;
	m->peak = 0;
}

static inline void meter_tick(struct meter *m, uint64_t done)
{
	uint64_t now;
	double rate;

	if (done < m->part_done + m->part)
		return;
	now = perf_now();
	rate = (double)(done - m->part_done) * 1e9 / (double)(now - m->part_at + 1);
	if (rate > m->peak)
		m->peak = rate;
	m->part_at = now;
	m->part_done = done;
}

/* The peak of one of `directions` concurrent streams was measured. */
static void meter_result(const struct meter *m, const struct perf_case *c, int directions,
			 struct perf_figures *f)
{
	double seconds = (double)(perf_now() - m->start + 1) / 1e9;
	double peak = m->peak * directions;

	f->rate = (double)c->iters * directions / seconds;
	f->mbps = f->rate * (double)c->size / 1e6;
	f->peak_mbps = (peak > f->rate ? peak : f->rate) * (double)c->size / 1e6;
}

static int window_per_side(const struct perf_hub *hub, const struct perf_case *c)
{
	int reads = hub->dev->run->read_limit;

	return perf_fetches(c->op) && reads < c->window ? reads : c->window;
}

/* Posts as much as the window allows; in bursts only when it is empty. */
static int fill_window(struct perf_hub *hub, const struct perf_case *c, uint64_t end)
{
	bool burst = hub->dev->run->plan->burst;
	uint64_t window = (uint64_t)window_per_side(hub, c);
	uint64_t limit = hub->tx_done + window * (uint64_t)hub->sides;
	struct perf_side *s;
	int ret = 0;

	if (burst && hub->tx_posted > hub->tx_done)
		return 0;
	if (limit > end)
		limit = end;
	while (!ret && hub->tx_posted < limit) {
		s = hub->side[hub->next];
		if (s->tx_posted - s->tx_done >= window)
			break;
		s = perf_next(hub);
		ret = perf_post(s, c->op, c->size,
				burst && hub->tx_posted + (uint64_t)hub->sides < limit, false);
	}
	return ret;
}

/* Keeps the window filled until `count` operations have reached the peer. */
static int stream(struct perf_hub *hub, const struct perf_case *c, long count, struct meter *m)
{
	uint64_t end = hub->tx_done + (uint64_t)count;
	int ret = 0;

	meter_start(m, hub, count);
	while (!ret && hub->tx_done < end) {
		ret = fill_window(hub, c, end);
		if (!ret)
			ret = perf_until(hub, PERF_TX, &hub->tx_done, hub->tx_done + 1, c->window);
		meter_tick(m, hub->tx_done);
		perf_beat();
	}
	if (!ret)
		ret = perf_send_all(hub);
	return ret ? ret : perf_recv_all(hub);
}

int perf_initiate_bw(struct perf_hub *hub, const struct perf_case *c, struct perf_figures *f)
{
	struct meter m;
	int ret = c->warmup ? stream(hub, c, c->warmup, &m) : 0;

	if (!ret)
		ret = stream(hub, c, c->iters, &m);
	if (!ret)
		meter_result(&m, c, 1, f);
	return ret;
}

/* Sets the number of writes that each endpoint must have received, and checks their data. */
static int check_writes(struct perf_hub *hub, const struct perf_case *c, long count)
{
	long i;

	if ((c->op != PERF_WRITE && c->op != PERF_IMMED) || !hub->dev->run->plan->validate)
		return 0;
	for (i = 0; i < count; i++) {
		hub->side[hub->next_in]->written++;
		hub->next_in = (hub->next_in + 1) % hub->sides;
	}
	return perf_check_written(hub);
}

/* Receives messages and closing messages, and answers the latter. */
static int stream_receive(struct perf_hub *hub, const struct perf_case *c, long count)
{
	long messages = perf_takes_receive(c->op) ? count : 0;
	int ret = 0;

	hub->awaited += (uint64_t)messages + (uint64_t)hub->sides;
	hub->idle_target = !messages;
	while (!ret && hub->rx_done < hub->awaited) {
		ret = perf_until(hub, PERF_RX, &hub->rx_done, hub->rx_done + 1, c->recv_depth);
		if (!ret)
			ret = perf_refill(hub);
		perf_beat();
	}
	hub->idle_target = false;
	if (!ret)
		ret = check_writes(hub, c, count);
	return ret ? ret : perf_send_all(hub);
}

int perf_respond_bw(struct perf_hub *hub, const struct perf_case *c)
{
	int ret = c->warmup ? stream_receive(hub, c, c->warmup) : 0;

	return ret ? ret : stream_receive(hub, c, c->iters);
}

/* Reaps both queues of a bidirectional stream: 0 if nothing completed. */
static int reap_both(struct perf_hub *hub, const struct perf_case *c, struct perf_wait_state *p)
{
	int tx = hub->layer->reap(hub, PERF_TX, c->window);
	int rx = tx < 0 ? tx : hub->layer->reap(hub, PERF_RX, c->recv_depth);
	int limit = (int)hub->dev->run->plan->timeout_ms;

	if (rx < 0)
		return rx;
	if (tx + rx) {
		p->until = 0;
		return perf_refill(hub);
	}
	if (c->mode == PERF_CNO) {
		rx = hub->layer->wait_any(hub, limit);
	} else if (c->mode == PERF_WAIT) {
		rx = hub->layer->wait(hub, PERF_TX, c->window, limit);
		if (rx > 0)
			return perf_refill(hub);
	}
	return rx < 0 ? rx : perf_wait_check(p, hub, "bidirectional stream");
}

static int stream_both_ways(struct perf_hub *hub, const struct perf_case *c, long count,
			    struct meter *m)
{
	uint64_t sides = (uint64_t)hub->sides;
	uint64_t end = hub->tx_done + (uint64_t)count;
	struct perf_wait_state p = { 0, 0 };
	bool closed = false;
	uint64_t i;
	int ret = 0;

	hub->awaited += sides + (perf_takes_receive(c->op) ? (uint64_t)count : 0);
	meter_start(m, hub, count);
	while (!ret && (!closed || hub->tx_done < end + sides || hub->rx_done < hub->awaited)) {
		if (!closed)
			ret = fill_window(hub, c, end);
		if (!ret && !closed && hub->tx_done == end) {
			closed = true;
			for (i = 0; !ret && i < sides; i++)
				ret = perf_post(hub->side[i], PERF_SEND, 1, false, true);
		}
		if (!ret)
			ret = reap_both(hub, c, &p);
		if (!closed)
			meter_tick(m, hub->tx_done);
		perf_beat();
	}
	return ret;
}

/* Both processes call this; neither writes again before both have checked their memory. */
int perf_both_ways(struct perf_hub *hub, const struct perf_case *c, struct perf_figures *f)
{
	int limit = (int)hub->dev->run->plan->timeout_ms;
	int chan = hub->dev->run->chan;
	struct meter m;
	int ret = 0;

	if (c->warmup) {
		ret = stream_both_ways(hub, c, c->warmup, &m);
		if (!ret)
			ret = check_writes(hub, c, c->warmup);
		if (!ret)
			ret = perf_barrier(chan, limit);
	}
	if (!ret)
		ret = stream_both_ways(hub, c, c->iters, &m);
	if (!ret)
		meter_result(&m, c, 2, f);
	return ret ? ret : check_writes(hub, c, c->iters);
}
