/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the fixture: the library under test, its registry file and the log of the fake
 * provider.
 */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include <stdbool.h>
#include <CUnit/CUnit.h>

#include "dat_api.h"
#include "fake.h"

/*
 * The library is loaded for each registry file and unloaded afterwards. All its functions are
 * called through this table, which dlsym fills; missing functions are NULL.
 */
struct dat_calls {
#define CALL(slot, name, kind, n, ...) __typeof__(dat_##name) *name;
#include CALLS
#if DAT_API_MAJOR >= 2
#include "calls_21.def"
	__typeof__(dat_extension_op) *extension_op;
	__typeof__(dat_registry_providers_related) *registry_providers_related;
#endif
#undef CALL
	__typeof__(dat_ia_openv) *ia_openv;
	__typeof__(dat_ia_close) *ia_close;
	__typeof__(dat_strerror) *strerror;
	const char *(*strevent)(DAT_EVENT_NUMBER number);
	__typeof__(dat_registry_add_provider) *registry_add_provider;
	__typeof__(dat_registry_remove_provider) *registry_remove_provider;
	__typeof__(dat_registry_list_providers) *registry_list_providers;
#if DAT_API_MAJOR == 1
	DAT_RETURN (*get_ia_handle)(unsigned long value, DAT_IA_HANDLE *handle);
#else
	DAT_RETURN (*get_ia_handle)(DAT_IA_HANDLE value, DAT_IA_HANDLE *handle);
#endif
};

extern struct dat_calls dat;

/* Set when another libdat is tested: skips cases of behaviour that only ours has. */
extern bool rig_foreign;

#define MAJOR DAT_API_MAJOR
#define MINOR (DAT_API_MAJOR == 1 ? 2 : 0)
#if DAT_API_MAJOR == 1
#define API "u1.2"
#define OTHER_API "u2.0"
#else
#define API "u2.0"
#define OTHER_API "u1.2"
#endif

/* A good registry line for the fake provider; FAKE is replaced by its path. */
#define LINE(name, params) name " " API " nonthreadsafe default FAKE fake.1.0 \"" params "\" \"\"\n"

void rig_start(char **argv);

/*
 * Loads the library with DAT_OVERRIDE set to a file of this text (NULL: unset); unloads it and
 * checks that nothing stays mapped.
 */
void rig_load(const char *conf);
void rig_load_path(const char *library, const char *conf);
void rig_unload(void);
const char *rig_conf_path(void);
const char *rig_dir(void);
const char *rig_library(void);
bool rig_fake_mapped(void);

/* Runs a case that leaves the library loaded in a child process. */
void rig_in_child(void (*test)(void));

/* Opens with this API's version, not thread-safe. */
DAT_RETURN rig_open(const char *name, DAT_IA_HANDLE *ia);
DAT_IA_HANDLE rig_must_open(const char *name);

/* The names of the registry in order, as "name/2.0/0 name/2.0/1 ". */
const char *rig_list(void);

/* Captures what is written to standard error between the two calls. */
void rig_capture_stderr(void);
const char *rig_captured(void);

/* True if the provider logged exactly these lines since the last check; NULL ends the list. */
bool rig_log_is(const char *first, ...);
#define CHECK_LOG(...) CU_ASSERT(rig_log_is(__VA_ARGS__, NULL))
#define CHECK_NO_LOG() CU_ASSERT(rig_log_is(NULL))
void rig_clear_log(void);

#define CHECK_RET(call, expected) CU_ASSERT(rig_same(#call, call, expected))
bool rig_same(const char *what, DAT_RETURN got, DAT_RETURN expected);
#define CHECK_TEXT(got, expected) CU_ASSERT(rig_same_text(got, expected))
bool rig_same_text(const char *got, const char *expected);

/* The suites. */
void add_conf_suite(void);
void add_list_suite(void);
void add_register_suite(void);
void add_open_suite(void);
void add_close_suite(void);
void add_dispatch_suite(void);
void add_extension_suite(void);
void add_related_suite(void);
void add_builtin_suite(void);
void add_strerror_suite(void);
void add_diag_suite(void);
void add_thread_suite(void);

/* With another libdat each case runs in a child, since it may not unload or may crash. */
void rig_add(CU_pSuite suite, const char *text, void (*test)(void));
#define ADD(suite, text, function) rig_add(suite, text, function)
/* A case of behaviour that only our libdat has. */
#define ADD_OURS(suite, text, function) \
	do { \
		if (!rig_foreign) \
			ADD(suite, text, function); \
	} while (0)

#endif /* TEST_RIG_H */
