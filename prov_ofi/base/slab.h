/* SPDX-License-Identifier: BSD-2-Clause */
/* Type-stable memory: memory of an object type stays readable as that type.
 *
 * DAT programs use handles after they have freed them and expect an error, not a crash. Chunks are
 * therefore never freed while the library is mapped, and a freed object is reused as late as
 * possible (first freed, first reused). Memory of objects that programs have had a handle of is
 * never used for internal ones: a stale handle is never that of an internal object.
 */
#ifndef DOFI_SLAB_H
#define DOFI_SLAB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"

struct dofi_slab_node {
	struct dofi_slab_node *next;
};

struct dofi_slab_queue {
	struct dofi_slab_node *head, *tail;
};

struct dofi_slab_chunk {
	struct dofi_slab_chunk *next;
	char *first, *end;
	bool internal;
};

struct dofi_slab {
	size_t size; /* of one object, without the free-list node after it */
	size_t per_chunk;
	/* Called once per object when its memory is allocated: locks live as long as the memory. */
	void (*setup)(void *obj);
	struct dofi_slab_chunk *chunks;
	struct dofi_slab_queue unused[2]; /* for programs; for internal objects */
};

/* clang-format off */
#define DOFI_SLAB_INIT(type, count, setup_fn) \
	{ sizeof(type), (count), (setup_fn), NULL, { { NULL, NULL } } }
/* clang-format on */

/* Number of the first internal object. */
#define DOFI_SLAB_INTERNAL 1000001u

/* NULL: no memory. The object keeps the contents that its last user left. */
void *dofi_slab_get(struct dofi_slab *slab, bool internal);
/* `internal` as it was allocated. */
void dofi_slab_put(struct dofi_slab *slab, void *obj, bool internal);
/* True if ptr points to the start of an object of this slab, used or free. */
bool dofi_slab_owns(struct dofi_slab *slab, const void *ptr);
/* The same; *number identifies the object within the slab: from 1 on, internal ones from
 * DOFI_SLAB_INTERNAL on. */
bool dofi_slab_number(struct dofi_slab *slab, const void *ptr, unsigned int *number);
void dofi_slab_each(struct dofi_slab *slab, void (*fn)(void *obj));

#endif
