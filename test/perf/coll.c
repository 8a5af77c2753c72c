/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures collectives, of this library or of an MPI: prints the time of an operation in
 * microseconds, as operation, bytes and time. The first operation of each kind is checked.
 *
 * usage: coll [ADAPTER [PROCESSES [poll|wait]]], or by mpirun
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll.h"

#define MOST 65536
#define SECONDS 0.4 /* of each measurement, about */

static int rank, size;
static uint32_t *in, *out;

void coll_fail(const char *format, ...)
{
	va_list args;

	fputs("coll: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- operations ---- */

static void run_barrier(size_t len)
{
	(void)len;
	coll_barrier();
}

static void run_broadcast(size_t len)
{
	coll_broadcast(out, len);
}

static void run_allreduce(size_t len)
{
	coll_allreduce(in, out, len);
}

static void run_alltoall(size_t len)
{
	coll_alltoall(in, out, len);
}

/* What a process sends to process `to`, in word i. */
static uint32_t word(int from, int to, size_t i)
{
	return (uint32_t)(from * 1000 + to) + (uint32_t)i * 7;
}

static void fill(size_t words)
{
	for (int to = 0; to < size; to++)
		for (size_t i = 0; i < words; i++)
			in[(size_t)to * words + i] = word(rank, to, i);
	memset(out, 0, (size_t)size * words * sizeof(*out));
}

static void check_broadcast(size_t len)
{
	size_t words = len / sizeof(*out);

	for (size_t i = 0; rank == 0 && i < words; i++)
		out[i] = word(0, 0, i);
	coll_broadcast(out, len);
	for (size_t i = 0; i < words; i++)
		if (out[i] != word(0, 0, i))
			coll_fail("broadcast of %zu bytes: word %zu is wrong", len, i);
}

static void check_allreduce(size_t len)
{
	coll_allreduce(in, out, len);
	for (size_t i = 0; i < len / sizeof(*out); i++) {
		uint32_t sum = 0;

		for (int from = 0; from < size; from++)
			sum += word(from, 0, i);
		if (out[i] != sum)
			coll_fail("allreduce of %zu bytes: word %zu is wrong", len, i);
	}
}

static void check_alltoall(size_t len)
{
	size_t words = len / sizeof(*out);

	coll_alltoall(in, out, len);
	for (int from = 0; from < size; from++)
		for (size_t i = 0; i < words; i++)
			if (out[(size_t)from * words + i] != word(from, rank, i))
				coll_fail("alltoall of %zu bytes: word %zu of %d is wrong", len, i,
					  from);
}

static const struct {
	const char *name;
	void (*run)(size_t len);
	void (*check)(size_t len); /* NULL: there is no data */
} operations[] = {
	{ "barrier", run_barrier, NULL },
	{ "broadcast", run_broadcast, check_broadcast },
	{ "allreduce", run_allreduce, check_allreduce },
	{ "alltoall", run_alltoall, check_alltoall },
};

/* ---- measuring ---- */

static double time_of(void (*run)(size_t len), size_t len, uint32_t count)
{
	double start;

	coll_barrier();
	start = now();
	for (uint32_t i = 0; i < count; i++)
		run(len);
	/* The root of a broadcast may be ahead of the others. */
	coll_barrier();
	return now() - start;
}

/* Process 0 decides how many operations take long enough. */
static uint32_t agree(double each)
{
	uint32_t count[2] = { 1, 0 };

	if (rank == 0 && each < SECONDS)
		count[0] = (uint32_t)(SECONDS / each) + 1;
	coll_broadcast(count, sizeof(count));
	return count[0];
}

static void measure(size_t op, size_t len)
{
	uint32_t count;
	double took;

	fill(len / sizeof(*in));
	if (operations[op].check)
		operations[op].check(len);
	count = agree(time_of(operations[op].run, len, 20) / 20);
	took = time_of(operations[op].run, len, count);
	if (rank == 0) {
		printf("%s %zu %.2f\n", operations[op].name, len, took / count * 1e6);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static const size_t lens[] = { 8, 1024, MOST };

	coll_start(argc, argv, &rank, &size);
	in = calloc((size_t)size, MOST);
	out = calloc((size_t)size, MOST);
	if (!in || !out)
		coll_fail("no memory");
	measure(0, 0);
	for (size_t op = 1; op < sizeof(operations) / sizeof(*operations); op++)
		for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
			measure(op, lens[i]);
	coll_end();
	return 0;
}
