/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that memory to be registered is mapped and accessible as requested.
 *
 * The software fabrics register any range. A peer's write to an unmapped or read-only page would
 * then kill this process inside the fabric's progress, so registration checks the mappings.
 *
 * Linux 6.11 and later answer for one address, on a descriptor that the adapter keeps open; before
 * that the list of mappings is parsed, which takes longer with each of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "object/mem_check.h"

#define MAPS "/proc/self/maps"

/* The kernel's PROCMAP_QUERY, which the headers of older systems do not have. */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define QUERY _IOWR('f', 17, struct procmap_query)
#define VMA_READABLE 1
#define VMA_WRITABLE 2
#define VMA_SHARED 8

struct mapping {
	uint64_t start, end;
	bool readable, writable, shared;
};

static int mem_check_usable(const struct mapping *m, bool write, bool shared)
{
	if (!m->readable || (write && !m->writable))
		return -EACCES;
	if (shared && !m->shared)
		return -EINVAL;
	return 0;
}

/* ---------------------------------------------------------------- one query per mapping */

void dofi_mem_maps_init(struct dofi_mem_maps *maps)
{
	atomic_init(&maps->fd, DOFI_MAPS_CLOSED);
}

static void mem_maps_drop(struct dofi_mem_maps *maps, int instead)
{
	int fd = atomic_exchange(&maps->fd, instead);

	if (fd >= 0)
		dofi_forkfd_close(fd);
}

void dofi_mem_maps_close(struct dofi_mem_maps *maps)
{
	mem_maps_drop(maps, DOFI_MAPS_CLOSED);
}

static int mem_check_fd(struct dofi_mem_maps *maps)
{
	int fd = atomic_load_explicit(&maps->fd, memory_order_acquire), other = DOFI_MAPS_CLOSED;

	if (fd != DOFI_MAPS_CLOSED)
		return fd;
	fd = open(MAPS, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return DOFI_MAPS_UNUSABLE; /* this time; descriptors may be short */
	if (atomic_compare_exchange_strong(&maps->fd, &other, fd))
		return dofi_forkfd(fd);
	close(fd);
	return other;
}

/* 1: m is the mapping of this address; 0: there is none; negative: the kernel cannot answer. */
static int mem_check_query(int fd, uint64_t address, struct mapping *m)
{
	struct procmap_query query = { .size = sizeof(query), .query_addr = address };

	if (ioctl(fd, QUERY, &query))
		return errno == ENOENT ? 0 : -errno;
	m->start = query.vma_start;
	m->end = query.vma_end;
	m->readable = query.vma_flags & VMA_READABLE;
	m->writable = query.vma_flags & VMA_WRITABLE;
	m->shared = query.vma_flags & VMA_SHARED;
	return 1;
}

/* False: the kernel cannot answer, and the list has to be parsed. */
static bool mem_check_by_query(struct dofi_mem_maps *maps, uint64_t next, uint64_t end, bool write,
			       bool shared, int *ret)
{
	struct mapping m = { .end = 0 };
	int fd = mem_check_fd(maps), found;

	*ret = 0;
	if (fd < 0)
		return false;
	while (!*ret && next < end) {
		found = mem_check_query(fd, next, &m);
		if (found < 0 || (found && m.end <= next)) {
			mem_maps_drop(maps, DOFI_MAPS_UNUSABLE);
			return false;
		}
		*ret = found ? mem_check_usable(&m, write, shared) : -EFAULT;
		next = m.end;
	}
	return true;
}

/* ---------------------------------------------------------------- the list of mappings */

static bool mem_check_parse(const char *line, struct mapping *m)
{
	unsigned long long start, end;
	char perms[5];

	if (sscanf(line, "%llx-%llx %4s", &start, &end, perms) != 3)
		return false;
	m->start = start;
	m->end = end;
	m->readable = perms[0] == 'r';
	m->writable = perms[1] == 'w';
	m->shared = perms[3] == 's';
	return true;
}

static int mem_check_by_list(uint64_t next, uint64_t end, bool write, bool shared)
{
	FILE *maps = fopen(MAPS, "re");
	char line[512];
	int ret = 0;

	if (!maps)
		return 0; /* no /proc: accept the memory */
	while (!ret && next < end && fgets(line, sizeof(line), maps)) {
		struct mapping m;

		if (!mem_check_parse(line, &m) || m.end <= next)
			continue;
		if (m.start > next)
			break;
		ret = mem_check_usable(&m, write, shared);
		next = m.end;
	}
	fclose(maps);
	return ret ? ret : next < end ? -EFAULT : 0;
}

int dofi_mem_check(struct dofi_mem_maps *maps, uint64_t address, uint64_t length, bool write,
		   bool shared)
{
	uint64_t end = address + length;
	int ret;

	if (end < address)
		return -EFAULT;
	if (mem_check_by_query(maps, address, end, write, shared, &ret))
		return ret;
	return mem_check_by_list(address, end, write, shared);
}
