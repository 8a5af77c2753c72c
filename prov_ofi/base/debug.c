/* SPDX-License-Identifier: BSD-2-Clause */
/* Assertions of debug builds, and each thread's record of the locks that it holds. */
#include "base/debug.h"

#ifdef DOFI_DEBUG

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A thread holds a handful of locks; twice that many would be a mistake. */
#define MOST_HELD 16

struct held_lock {
	const void *lock;
	const char *file; /* where it was taken */
	int line;
	bool writing;
};

static _Thread_local struct held_lock held[MOST_HELD];
static _Thread_local int n_held;

/* stderr may be buffered: one write per message, so that those of several threads do not mix. */
static void debug_print_held(FILE *to)
{
	if (!n_held)
		fputs("    this thread holds no lock\n", to);
	for (int i = 0; i < n_held; i++)
		fprintf(to, "    this thread holds %p%s, taken at %s:%d\n", held[i].lock,
			held[i].writing ? " (for writing)" : "", held[i].file, held[i].line);
}

static _Noreturn void debug_fail(const char *file, int line, const char *expr, const char *values,
				 va_list args)
{
	char text[4096] = "";
	FILE *to = fmemopen(text, sizeof(text) - 1, "w");

	if (to) {
		fprintf(to, "%s:%d: assertion failed: %s: ", file, line, expr);
		vfprintf(to, values, args);
		fputc('\n', to);
		debug_print_held(to);
		fclose(to);
	}
	fputs(text, stderr);
	fflush(stderr);
	abort();
}

void dofi_assert_failed(const char *file, int line, const char *expr, const char *values, ...)
{
	va_list args;

	va_start(args, values);
	debug_fail(file, line, expr, values, args);
	va_end(args);
}

static struct held_lock *debug_find(const void *lock)
{
	for (int i = n_held; i-- > 0;)
		if (held[i].lock == lock)
			return &held[i];
	return NULL;
}

void dofi_assert_locked(const void *lock, bool writing, const char *file, int line,
			const char *name)
{
	const struct held_lock *h = debug_find(lock);

	if (!h || (writing && !h->writing))
		dofi_assert_failed(file, line, name, "the caller must hold this lock%s, %p",
				   writing ? " for writing" : "", lock);
}

void dofi_assert_no_lock(const void *but, const char *file, int line, const char *name)
{
	if (n_held > 1 || (n_held && held[0].lock != but))
		dofi_assert_failed(file, line, name, "the caller may hold no lock but %p", but);
}

void dofi_lock_wanted(const void *lock, const char *file, int line)
{
	if (debug_find(lock))
		dofi_assert_failed(file, line, "lock", "%p is held by this thread", lock);
}

int dofi_lock_taken(const void *lock, bool writing, const char *file, int line)
{
	if (n_held == MOST_HELD)
		dofi_assert_failed(file, line, "lock", "%p is one lock too many", lock);
	held[n_held++] = (struct held_lock){ lock, file, line, writing };
	return 0;
}

void dofi_lock_released(const void *lock, const char *file, int line)
{
	if (!debug_find(lock))
		dofi_assert_failed(file, line, "unlock", "%p is not held by this thread", lock);
	dofi_lock_forgotten(lock);
}

void dofi_lock_forgotten(const void *lock)
{
	struct held_lock *h = debug_find(lock);

	if (!h)
		return;
	n_held--;
	for (; h < &held[n_held]; h++)
		h[0] = h[1];
}

#endif
