/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes figures from samples, and one figure from all rounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf.h"

/* All members of struct perf_figures are doubles: it is accessed as an array. */
#define FIGURES (sizeof(struct perf_figures) / sizeof(double))

uint64_t perf_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void perf_figures_none(struct perf_figures *f)
{
	double v[FIGURES];
	size_t i;

	for (i = 0; i < FIGURES; i++)
		v[i] = NAN;
	memcpy(f, v, sizeof(*f));
}

/* The smallest sample that at least `q` of all samples do not exceed. */
static double quantile(const double *sorted, long n, double q)
{
	long k = (long)ceil(q * (double)n) - 1;

	return sorted[k < 0 ? 0 : k];
}

/* Sorts `us`. */
void perf_latency(struct perf_figures *f, double *us, long n)
{
	double sum = 0, squares = 0, avg;
	long i;

	for (i = 0; i < n; i++)
		sum += us[i];
	avg = sum / (double)n;
	for (i = 0; i < n; i++)
		squares += (us[i] - avg) * (us[i] - avg);
	qsort(us, (size_t)n, sizeof(*us), by_value);
	f->lat_min = us[0];
	f->lat_p50 = quantile(us, n, 0.50);
	f->lat_p90 = quantile(us, n, 0.90);
	f->lat_p99 = quantile(us, n, 0.99);
	f->lat_p999 = quantile(us, n, 0.999);
	f->lat_max = us[n - 1];
	f->lat_avg = avg;
	f->lat_stdev = sqrt(squares / (double)n);
}

/* Reduces each figure to the median, or to the best, the lowest for a latency. */
void perf_pick(struct perf_figures *out, const struct perf_figures *round, int rounds, bool best)
{
	double *v = malloc(sizeof(*v) * (size_t)rounds);
	double picked[FIGURES];
	size_t i;
	int r, last = rounds - 1;

	if (!v)
		abort();
	for (i = 0; i < FIGURES; i++) {
		bool low = i < offsetof(struct perf_figures, mbps) / sizeof(double);

		for (r = 0; r < rounds; r++)
			memcpy(&v[r], (const double *)&round[r] + i, sizeof(v[r]));
		qsort(v, (size_t)rounds, sizeof(*v), by_value);
		picked[i] = best ? v[low ? 0 : last] : (v[last / 2] + v[rounds / 2]) / 2;
	}
	memcpy(out, picked, sizeof(*out));
	free(v);
}
