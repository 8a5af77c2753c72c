/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which calls fail: counts the calls of the libraries under test. */
#include "inject.h"

#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/*
 * Calls of one place in the code that count, in one run: loops and polls would make the rest of
 * the numbers useless.
 */
#define CALLS_PER_PLACE 12
#define PLACES 4096
#define RANGES 16

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

/* The text segments of the libraries. */
static struct {
	uintptr_t from, to;
	bool libfabric;
} range[RANGES];
static int ranges;

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

static int note_range(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool libfabric = strstr(info->dlpi_name, "libfabric") != NULL;

	(void)size;
	(void)arg;
	if (!libfabric && !strstr(info->dlpi_name, "libdaplofi") &&
	    !strstr(info->dlpi_name, "/libdat"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && ranges < RANGES; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		range[ranges].from = info->dlpi_addr + ph->p_vaddr;
		range[ranges].to = range[ranges].from + ph->p_memsz;
		range[ranges++].libfabric = libfabric;
	}
	return 0;
}

static int range_of(const void *caller)
{
	for (int i = 0; i < ranges; i++)
		if ((uintptr_t)caller >= range[i].from && (uintptr_t)caller < range[i].to)
			return i;
	return -1;
}

bool fault_from_provider(const void *caller)
{
	int i;

	if (!ranges)
		dl_iterate_phdr(note_range, NULL);
	i = range_of(caller);
	return i >= 0 && !range[i].libfabric;
}

static void begin(int kind, bool libfabric, long number, bool all)
{
	atomic_store(&counting, false);
	ranges = 0;
	dl_iterate_phdr(note_range, NULL);
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
	int kind, how = 0, at;
	bool traced, libfabric;

	if (!atomic_load_explicit(&counting, memory_order_acquire))
		return 0;
	at = caller ? range_of(caller) : 0;
	if (at < 0)
		return 0;
	libfabric = caller && range[at].libfabric;
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
