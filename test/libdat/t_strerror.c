/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that dat_strerror names every part of every value, and dat_strevent every event. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "rig.h"

#if DAT_API_MAJOR >= 2
#include <dat2/dat_ib_extensions.h>
#endif

static const char *major_of(DAT_RETURN value)
{
	const char *major = NULL, *minor = NULL;

	CHECK_RET(dat.strerror(value, &major, &minor), DAT_SUCCESS);
	return major;
}

static const char *minor_of(DAT_RETURN value)
{
	const char *major = NULL, *minor = NULL;

	CHECK_RET(dat.strerror(value, &major, &minor), DAT_SUCCESS);
	return minor;
}

/* The enumerators whose numbers both versions and both libraries share. */
static void common_values(void)
{
	rig_load("");
	CHECK_TEXT(major_of(DAT_SUCCESS), "DAT_SUCCESS");
	CHECK_TEXT(minor_of(DAT_SUCCESS), "");
	CHECK_TEXT(major_of(0x8005000B), "DAT_INVALID_HANDLE");
	CHECK_TEXT(minor_of(0x8005000B), "DAT_INVALID_HANDLE_IA");
	CHECK_TEXT(major_of(0x80010000), "DAT_ABORT");
	CHECK_TEXT(minor_of(0x80010000), "");
	CHECK_TEXT(major_of(0x80130001), "DAT_INTERRUPTED_CALL");
	CHECK_TEXT(minor_of(0x80130001), "DAT_SUB_INTERRUPTED");
	CHECK_TEXT(minor_of(RET_ARG1), "DAT_INVALID_ARG1");
	CHECK_TEXT(minor_of(RET_NOT_REGISTERED), "DAT_NAME_NOT_REGISTERED");
	rig_unload();
}

static void class_ignored(void)
{
	rig_load("");
	CHECK_TEXT(major_of(0x0005000B), "DAT_INVALID_HANDLE");
	CHECK_TEXT(major_of(0x4005000B), "DAT_INVALID_HANDLE");
	CHECK_TEXT(minor_of(0xC005000B), "DAT_INVALID_HANDLE_IA");
	rig_unload();
}

static void null_pointers(void)
{
	const char *major = NULL, *minor = "untouched";

	rig_load("");
	CHECK_RET(dat.strerror(0x80010000, &major, NULL), DAT_SUCCESS);
	CHECK_TEXT(major, "DAT_ABORT");
	CU_ASSERT_EQUAL(DAT_GET_TYPE(dat.strerror(0, NULL, &minor)), DAT_INVALID_PARAMETER);
	CHECK_TEXT(minor, "untouched");
	rig_unload();
}

/* Every type and subtype that the enumerations have. */
static void all_types(void)
{
	static const char *const names[] = {
		"DAT_SUCCESS",
		"DAT_ABORT",
		"DAT_CONN_QUAL_IN_USE",
		"DAT_INSUFFICIENT_RESOURCES",
		"DAT_INTERNAL_ERROR",
		"DAT_INVALID_HANDLE",
		"DAT_INVALID_PARAMETER",
		"DAT_INVALID_STATE",
		"DAT_LENGTH_ERROR",
		"DAT_MODEL_NOT_SUPPORTED",
		"DAT_PROVIDER_NOT_FOUND",
		"DAT_PRIVILEGES_VIOLATION",
		"DAT_PROTECTION_VIOLATION",
		"DAT_QUEUE_EMPTY",
		"DAT_QUEUE_FULL",
		"DAT_TIMEOUT_EXPIRED",
		"DAT_PROVIDER_ALREADY_REGISTERED",
		"DAT_PROVIDER_IN_USE",
		"DAT_INVALID_ADDRESS",
		"DAT_INTERRUPTED_CALL",
		"DAT_CONN_QUAL_UNAVAILABLE",
#if DAT_API_MAJOR >= 2
		"DAT_RESERVED_LMR",
		"DAT_PORT_IN_USE",
		"DAT_COMM_NOT_SUPPORTED",
#endif
	};
	unsigned int i, count = sizeof(names) / sizeof(names[0]);

	rig_load("");
	for (i = 0; i < count; i++)
		CHECK_TEXT(major_of(0x80000000u | i << 16), names[i]);
	CHECK_TEXT(major_of(0x80000000u | count << 16), "DAT_UNKNOWN_TYPE");
	CHECK_TEXT(major_of(RET_NO_CALL), "DAT_NOT_IMPLEMENTED");
	CHECK_TEXT(major_of(DAT_NOT_IMPLEMENTED), "DAT_NOT_IMPLEMENTED");
#if DAT_API_MAJOR >= 2
	CHECK_TEXT(major_of(0x10000000), "DAT_EXTENSION_BASE");
#endif
	rig_unload();
}

static void all_subtypes(void)
{
	/* Those where the versions differ, and the limits. */
	static const struct {
		unsigned int value[2];
		const char *name;
	} some[] = {
		{ { 0x02, 0x02 }, "DAT_RESOURCE_MEMORY" },
		{ { 0x19, 0x19 }, "DAT_INVALID_HANDLE_SRQ" },
		{ { 0x1A, 0x1B }, "DAT_INVALID_HANDLE1" },
		{ { 0x23, 0x24 }, "DAT_INVALID_HANDLE10" },
		{ { 0x2D, 0x2E }, "DAT_INVALID_ARG10" },
		{ { 0x2E, 0x2F }, "DAT_INVALID_STATE_EP_UNCONNECTED" },
		{ { 0x3D, 0x3E }, "DAT_INVALID_STATE_EP_EVD_CONNECT" },
		{ { 0x4F, 0x50 }, "DAT_INVALID_STATE_IA_IN_USE" },
		{ { 0x54, 0x55 }, "DAT_INVALID_STATE_SRQ_OPERATIONAL" },
		{ { 0x56, 0x57 }, "DAT_INVALID_STATE_SRQ_IN_USE" },
		{ { 0x57, 0x59 }, "DAT_PRIVILEGES_READ" },
		{ { 0x5E, 0x60 }, "DAT_PROTECTION_RDMA_WRITE" },
		{ { 0x61, 0x63 }, "DAT_INVALID_ADDRESS_MALFORMED" },
		{ { 0x65, 0x67 }, "DAT_THREAD_SAFETY_NOT_FOUND" },
		{ { 0x66, 0x68 }, "DAT_UNKNOWN_SUBTYPE" },
	};
	unsigned int i, last = DAT_API_MAJOR == 1 ? 0x65 : 0x67;

	rig_load("");
	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		CHECK_TEXT(minor_of(0x80060000u | some[i].value[DAT_API_MAJOR - 1]), some[i].name);
	for (i = 1; i <= last; i++) {
		CU_ASSERT_STRING_NOT_EQUAL(minor_of(i), "DAT_UNKNOWN_SUBTYPE");
		CU_ASSERT_STRING_NOT_EQUAL(minor_of(i), "");
	}
#if DAT_API_MAJOR >= 2
	CHECK_TEXT(minor_of(0x1A), "DAT_INVALID_HANDLE_CSP");
	CHECK_TEXT(minor_of(0x58), "DAT_INVALID_STATE_SRQ_SHUTDOWN");
#endif
	rig_unload();
}

static void any_value(void)
{
	DAT_RETURN value;

	rig_load("");
	for (value = 1; value; value <<= 1) {
		CU_ASSERT_PTR_NOT_NULL(major_of(value));
		CU_ASSERT_PTR_NOT_NULL(minor_of(value));
		CU_ASSERT_PTR_NOT_NULL(major_of(~value));
		CU_ASSERT_PTR_NOT_NULL(minor_of(~value));
	}
	rig_unload();
}

static void event_names(void)
{
	rig_load("");
#define EVENT(name) CHECK_TEXT(dat.strevent((DAT_EVENT_NUMBER)(name)), #name);
#include "../src/events.def"
#undef EVENT
	/* The numbers of both versions. */
	CHECK_TEXT(dat.strevent((DAT_EVENT_NUMBER)0x00001), "DAT_DTO_COMPLETION_EVENT");
	CHECK_TEXT(dat.strevent((DAT_EVENT_NUMBER)0x04006), "DAT_CONNECTION_EVENT_BROKEN");
	CHECK_TEXT(dat.strevent((DAT_EVENT_NUMBER)0x10001), "DAT_SOFTWARE_EVENT");
	CHECK_TEXT(dat.strevent((DAT_EVENT_NUMBER)0x40000),
		   DAT_API_MAJOR == 1 ? "DAT_UNKNOWN_EVENT" : "DAT_IB_DTO_EVENT");
	CHECK_TEXT(dat.strevent((DAT_EVENT_NUMBER)0), "DAT_UNKNOWN_EVENT");
	CHECK_TEXT(dat.strevent((DAT_EVENT_NUMBER)-1), "DAT_UNKNOWN_EVENT");
	rig_unload();
}

void add_strerror_suite(void)
{
	CU_pSuite s = CU_add_suite("dat_strerror", NULL, NULL);

	ADD(s, "types and subtypes are spelt like the enumerators", common_values);
	ADD(s, "the class bits are ignored", class_ignored);
	ADD_OURS(s, "the minor pointer may be NULL, the major pointer not", null_pointers);
	ADD_OURS(s, "every type has its name", all_types);
	ADD_OURS(s, "every subtype has its name", all_subtypes);
	ADD_OURS(s, "every event has its name", event_names);
	ADD_OURS(s, "every value sets both strings and succeeds", any_value);
}
