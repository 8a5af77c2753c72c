/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which library called a function that a test program replaces. */
#ifndef TEST_CALLER_H
#define TEST_CALLER_H

#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum caller { CALLER_OTHER, CALLER_OURS /* libdat or the provider */, CALLER_LIBFABRIC };

/* The text segments of libdat, the provider and libfabric. */
struct callers {
	atomic_int count;
	struct {
		uintptr_t from, to;
		enum caller library;
	} range[16];
};

static inline int callers_note(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct callers *c = arg;
	enum caller library = strstr(info->dlpi_name, "libfabric") ? CALLER_LIBFABRIC : CALLER_OURS;
	int n = c->count;

	(void)size;
	if (library == CALLER_OURS && !strstr(info->dlpi_name, "libdaplofi") &&
	    !strstr(info->dlpi_name, "/libdat"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && n < 16; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		c->range[n].from = info->dlpi_addr + ph->p_vaddr;
		c->range[n].to = c->range[n].from + ph->p_memsz;
		c->range[n++].library = library;
	}
	c->count = n;
	return 0;
}

static inline void callers_find(struct callers *c)
{
	c->count = 0;
	dl_iterate_phdr(callers_note, c);
}

/* Sanitizers call replaced functions before their memory exists. */
static inline __attribute__((no_sanitize("address", "undefined", "thread"))) enum caller caller_at(
	struct callers *c, uintptr_t address)
{
	int n = atomic_load_explicit(&c->count, memory_order_acquire);

	for (int i = 0; i < n; i++)
		if (address >= c->range[i].from && address < c->range[i].to)
			return c->range[i].library;
	return CALLER_OTHER;
}

#endif
