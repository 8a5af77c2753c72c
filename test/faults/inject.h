/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares failures of the functions that the libraries under test and libfabric call.
 *
 * The program defines the C library's functions itself: the dynamic linker takes those of the
 * program first, also before those of a sanitizer. A call counts if its return address is in
 * libdat, in the provider or in libfabric. The objects of libfabric that the provider opens get
 * copies of their tables of operations (inject_fi.c).
 */
#ifndef TEST_INJECT_H
#define TEST_INJECT_H

#include <errno.h>
#include <stdbool.h>

enum fault_how { FAULT_SHORT = -1, FAULT_ERROR_ENTRY = -2 };

/* Returns the number of rows of faults.def. */
int fault_kinds(void);
/* "malloc:ENOMEM" */
const char *fault_name(int kind);
/* Its errno, or enum fault_how. */
int fault_error(int kind);
/*
 * Makes call number `nth` (from 1) of this kind fail, and if it is lasting all that follow: of our
 * libraries, or of libfabric.
 */
void fault_start(int kind, bool libfabric, long nth, bool lasting);
/* Only counts. */
void fault_count(void);
/* Ends the failures, not the counting. */
void fault_stop(void);
/* Ends both. */
void fault_end(void);
/* The number of calls that have failed since fault_start. */
long fault_given(void);
/* The number of such calls since fault_start or fault_count. */
long fault_calls(int kind, bool libfabric);
/*
 * Where the first call failed: the return addresses, the innermost first; returns their number.
 * fault_prepare loads what that needs.
 */
#define FAULT_FRAMES 12
int fault_where(void *frames[FAULT_FRAMES]);
void fault_prepare(void);
/* The libfabric objects that the provider has opened and not closed. */
int fault_fi_objects(void);

/* ---- for the functions ---- */

/* AddressSanitizer calls them before its memory exists. */
#define FAULT_PLAIN __attribute__((no_sanitize("address", "undefined")))

/* One for each function in faults.def; rows of the same function are neighbours. */
enum fault_fn {
#define FAULT(fn_, how_) FN_##fn_##_##how_,
#include "faults.def"
#undef FAULT
	FN_COUNT
};

/*
 * How this call fails: 0: not at all, an errno, or enum fault_how. `first` is the first row of the
 * function; `caller` is its return address, NULL: any.
 */
int fault_now(enum fault_fn first, const void *caller);
/* True if this kind is to fail, or has failed, so that the caller prepares for it. */
bool fault_wanted(enum fault_fn kind);
/* True if the address is in the libraries under test (libfabric: false). */
bool fault_from_provider(const void *caller);

#endif
