/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which calls fail: counts the calls of the libraries under test. */
#include "inject.h"

#include <execinfo.h>

#include "../lib/caller.h"

/*
 * Calls of one place in the code that count, in one run: loops and polls would make the rest of
 * the numbers useless.
 */
#define CALLS_PER_PLACE 12
#define PLACES 4096

static const struct {
	const char *name, *function;
	int how;
} kinds[] = {
#define SHORT FAULT_SHORT
#define ERROR_ENTRY FAULT_ERROR_ENTRY
#define FAULT(fn_, how_) { #fn_ ":" #how_, #fn_, how_ },
#include "faults.def"
#undef FAULT
#undef SHORT
#undef ERROR_ENTRY
};

static struct callers callers;
static atomic_bool counting;
static atomic_int failing; /* a kind; -1: none */
static bool failing_libfabric;
static atomic_long given;
static long nth;
static bool lasting;

static void *frames[FAULT_FRAMES];
static int frame_count;

/* Belongs to `busy`. */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static long calls[2][FN_COUNT]; /* of our libraries, of libfabric */
static struct {
	const void *caller;
	int first, calls;
} place[PLACES];

int fault_kinds(void)
{
	return FN_COUNT;
}

const char *fault_name(int kind)
{
	return kinds[kind].name;
}

int fault_error(int kind)
{
	return kinds[kind].how;
}

bool fault_from_provider(const void *caller)
{
	if (!callers.count)
		callers_find(&callers);
	return caller_at(&callers, (uintptr_t)caller) == CALLER_OURS;
}

static void begin(int kind, bool libfabric, long number, bool all)
{
	atomic_store(&counting, false);
	callers_find(&callers);
	memset(calls, 0, sizeof(calls));
	memset(place, 0, sizeof(place));
	failing_libfabric = libfabric;
	nth = number;
	lasting = all;
	atomic_store(&given, 0);
	frame_count = 0;
	atomic_store(&failing, kind);
	atomic_store(&counting, true);
}

void fault_start(int kind, bool libfabric, long number, bool all)
{
	begin(kind, libfabric, number, all);
}

void fault_count(void)
{
	begin(-1, false, 0, false);
}

void fault_stop(void)
{
	atomic_store(&failing, -1);
}

void fault_end(void)
{
	atomic_store(&failing, -1);
	atomic_store(&counting, false);
}

void fault_prepare(void)
{
	(void)backtrace(frames, FAULT_FRAMES);
}

int fault_where(void *out[FAULT_FRAMES])
{
	memcpy(out, frames, sizeof(frames));
	return frame_count;
}

long fault_given(void)
{
	return atomic_load(&given);
}

static int first_of(int kind)
{
	while (kind > 0 && !strcmp(kinds[kind - 1].function, kinds[kind].function))
		kind--;
	return kind;
}

long fault_calls(int kind, bool libfabric)
{
	return calls[libfabric][first_of(kind)];
}

bool fault_wanted(enum fault_fn kind)
{
	return atomic_load_explicit(&failing, memory_order_relaxed) == (int)kind;
}

/* The calls of this place before this one. */
static int place_visit(int first, const void *caller)
{
	size_t at = ((uintptr_t)caller * 31 + (size_t)first) % PLACES;

	for (int i = 0; i < PLACES; i++, at = (at + 1) % PLACES) {
		if (!place[at].calls) {
			place[at].caller = caller;
			place[at].first = first;
		}
		if (place[at].caller == caller && place[at].first == first)
			return place[at].calls++;
	}
	return CALLS_PER_PLACE;
}

FAULT_PLAIN int fault_now(enum fault_fn first, const void *caller)
{
	enum caller library = CALLER_OURS;
	int kind, how = 0;
	bool traced, libfabric;

	if (!atomic_load_explicit(&counting, memory_order_acquire))
		return 0;
	if (caller)
		library = caller_at(&callers, (uintptr_t)caller);
	if (library == CALLER_OTHER)
		return 0;
	libfabric = library == CALLER_LIBFABRIC;
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		;
	kind = atomic_load(&failing);
	if (kind >= 0 && (first_of(kind) != (int)first || libfabric != failing_libfabric))
		kind = -1;
	if (place_visit((int)first, caller) < CALLS_PER_PLACE) {
		calls[libfabric][first]++;
		if (kind >= 0 && calls[libfabric][first] == nth)
			how = kinds[kind].how;
	}
	if (kind >= 0 && lasting && calls[libfabric][first] >= nth)
		how = kinds[kind].how;
	traced = how && !atomic_fetch_add(&given, 1);
	atomic_flag_clear_explicit(&busy, memory_order_release);
	if (traced)
		frame_count = backtrace(frames, FAULT_FRAMES);
	return how;
}
