/* SPDX-License-Identifier: BSD-2-Clause */
/* Derives the cases from a plan: client and server derive the same list. */
#include <stdlib.h>

#include "perf.h"
#include "args.h"

/* About half a second each: enough for stable figures, short enough for a list of sizes. */
static long default_iters(enum perf_test test, enum perf_op op, enum perf_mode mode, size_t size)
{
	size_t moved = test == PERF_LAT ? (size_t)128 << 20 : (size_t)1 << 30;
	size_t most = test == PERF_LAT ? 20000 : 100000;
	size_t n = moved / size;

	if (n > most)
		n = most;
	if (mode == PERF_WAIT || mode == PERF_CNO)
		n /= 4;
	/* an exchange with all peers, and a turn that may wait for the progress thread, take
	 * longer */
	if (op == PERF_HALO || op == PERF_TWO_QUEUES)
		n /= 20;
	return n < 100 ? 100 : (long)n;
}

/* Default number of outstanding operations of each connection, and the limit of the default for all
 * connections together: twice this number of receives is posted, which takes memory. */
#define WINDOW 16
#define RATE_WINDOW 64
#define MAX_DEFAULT_WINDOWS 16384

static int default_window(enum perf_test test, int eps)
{
	int each = test == PERF_RATE ? RATE_WINDOW : WINDOW;
	int share = MAX_DEFAULT_WINDOWS / eps;

	return share < each ? share : each;
}

static struct perf_case make_case(const struct perf_plan *p, bool selfloop, enum perf_test test,
				  enum perf_op op, enum perf_mode mode, size_t size)
{
	struct perf_case c = { .test = test,
			       .op = op,
			       .mode = mode,
			       .size = perf_atomic(op) ? sizeof(uint64_t) : size };

	c.eps = selfloop ? 1 : (int)p->eps;
	c.iters = p->iters ? p->iters : default_iters(test, op, mode, c.size);
	c.warmup = p->warmup >= 0 ? p->warmup : c.iters / 10;
	/* Each connection is used several times, and before the measurement. */
	if (!p->iters && c.iters < 4l * c.eps)
		c.iters = 4l * c.eps;
	if (p->warmup < 0 && !p->iters && c.warmup < 2l * c.eps && c.eps > 1)
		c.warmup = 2l * c.eps;
	if (test == PERF_LAT || op == PERF_HALO || selfloop)
		c.window = 1;
	else
		c.window = p->window ? (int)p->window : default_window(test, c.eps);
	c.recv_depth = c.window < 2 ? 4 : 2 * c.window;
	/* one thread can wait on one queue only */
	c.merged = p->merged || (test == PERF_BIBW && mode == PERF_WAIT);
	return c;
}

/* A turn of two-queues has no stream, and the peers of a halo no window. */
static bool pattern_makes_sense(enum perf_test test, enum perf_op op, enum perf_mode mode)
{
	bool streams = (test == PERF_BW && op != PERF_TWO_QUEUES) ||
		       (test == PERF_RATE && op == PERF_EAGER);

	return mode == PERF_POLL && (test == PERF_LAT || streams);
}

/* A write wakes no waiter: write latency needs polling, and only writes have memory to poll. */
static bool makes_sense(enum perf_test test, enum perf_op op, enum perf_mode mode)
{
	bool seen_in_memory = test == PERF_LAT && op == PERF_WRITE;

	return mode == PERF_POLL || seen_in_memory == (mode == PERF_MEMORY);
}

static bool wanted(const struct perf_plan *p, int test, int op, int mode)
{
	return p->tests & 1 << test && p->ops & 1 << op && p->modes & 1 << mode &&
	       (perf_is_pattern((enum perf_op)op) ? pattern_makes_sense : makes_sense)(
		       (enum perf_test)test, (enum perf_op)op, (enum perf_mode)mode);
}

static long sizes_of(const struct perf_plan *p, int op)
{
	return perf_atomic((enum perf_op)op) ? 1 : p->sizes;
}

/* Returns the number of cases; tests follow each other, so that a table can be printed for each. */
int perf_cases(const struct perf_plan *p, bool selfloop, struct perf_case **list)
{
	struct perf_case *c =
		calloc((size_t)PERF_TESTS * PERF_ALL_OPS * PERF_MODES * PERF_MAX_SIZES, sizeof(*c));
	int t, op, m, s, n = 0;

	*list = c;
	for (t = 0; c && t < PERF_TESTS; t++)
		for (op = 0; op < PERF_ALL_OPS; op++)
			for (m = 0; m < PERF_MODES; m++)
				for (s = 0; wanted(p, t, op, m) && s < sizes_of(p, op); s++)
					c[n++] = make_case(p, selfloop, (enum perf_test)t,
							   (enum perf_op)op, (enum perf_mode)m,
							   p->size[s]);
	return n;
}
