/* SPDX-License-Identifier: BSD-2-Clause */
/* How is the memory of a side laid out? */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layer.h"
#include "proc.h"

/* The closing message of a test is one byte, whatever size is measured. */
#define LEAST 64

int perf_memory_get(struct perf_side *s, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t half;
	uint8_t *mem;

	s->rx_len = size < LEAST ? LEAST : size;
	half = (s->rx_len + page - 1) / page * page;
	mem = mmap(NULL, 2 * half, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED)
		return perf_error(-errno, NULL, "mmap", "%zu bytes: %s", 2 * half,
				  strerror(errno));
	s->tx = mem;
	s->rx = mem + half;
	s->mem_len = 2 * half;
	return 0;
}

void perf_memory_put(struct perf_side *s)
{
	if (s->tx)
		munmap(s->tx, s->mem_len);
	s->tx = NULL;
}
