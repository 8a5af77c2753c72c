/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that memory to be registered is mapped and accessible as requested.
 *
 * The software fabrics register any range. A peer's write to an unmapped or read-only page would
 * then kill this process inside the fabric's progress, so registration checks the mappings.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "object/mr.h"

struct mapping {
	uint64_t start, end;
	char perms[5];
};

static bool mem_check_parse(const char *line, struct mapping *m)
{
	unsigned long long start, end;

	if (sscanf(line, "%llx-%llx %4s", &start, &end, m->perms) != 3)
		return false;
	m->start = start;
	m->end = end;
	return true;
}

static int mem_check_usable(const struct mapping *m, bool write, bool shared)
{
	if (m->perms[0] != 'r' || (write && m->perms[1] != 'w'))
		return -EACCES;
	if (shared && m->perms[3] != 's')
		return -EINVAL;
	return 0;
}

int dofi_mem_check(uint64_t address, uint64_t length, bool write, bool shared)
{
	uint64_t next = address, end = address + length;
	FILE *maps;
	char line[512];
	int ret = 0;

	if (end < address)
		return -EFAULT;
	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return 0;	/* no /proc: accept the memory */
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
