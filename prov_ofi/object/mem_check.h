/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that memory to be registered is mapped and accessible as requested. */
#ifndef DOFI_MEM_CHECK_H
#define DOFI_MEM_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DOFI_MAPS_CLOSED (-1)
#define DOFI_MAPS_UNUSABLE (-2) /* the kernel answers no queries on it */

/* An adapter's descriptor of this process's mappings; opened when memory is registered first. */
struct dofi_mem_maps {
	_Atomic int fd;
};

void dofi_mem_maps_init(struct dofi_mem_maps *maps);
void dofi_mem_maps_close(struct dofi_mem_maps *maps);

/* Checks that this process can access [address, address + length) as requested. Returns 0, -EFAULT
 * (not mapped), -EACCES (not readable or writable) or -EINVAL (private, but requested shared). */
int dofi_mem_check(struct dofi_mem_maps *maps, uint64_t address, uint64_t length, bool write,
		   bool shared);

#endif
