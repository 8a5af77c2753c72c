/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that each call reaches its slot with its arguments, and rejects bad handles by kind. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "rig.h"

/* Subtypes of the tables for a NULL first handle, by the kind of the handle. */
#define NULL_IA 0x0Bu
#define NULL_EP 0x0Cu
#define NULL_LMR 0x0Du
#define NULL_RMR 0x0Eu
#define NULL_PZ 0x0Fu
#define NULL_PSP 0x10u
#define NULL_RSP 0x11u
#define NULL_CR 0x12u
#define NULL_CNO 0x13u
#define NULL_EVD 0x15u
#define NULL_SRQ 0x19u
#define NULL_CSP 0x1Au
#define NULL_ANY (RET_BAD_HANDLE1 & 0xFFFFu)

/* The first handles by which a call is found: an open IA by number, else an object. */
#define FIRST_IA ((DAT_HANDLE)1)
#define FIRST_ANY object
#define FIRST_EP object
#define FIRST_LMR object
#define FIRST_RMR object
#define FIRST_PZ object
#define FIRST_PSP object
#define FIRST_RSP object
#define FIRST_CR object
#define FIRST_CNO object
#define FIRST_EVD object
#define FIRST_SRQ object
#define FIRST_CSP object
#define OWN_IA fake_state.last_own
#define OWN_ANY object
#define OWN_EP object
#define OWN_LMR object
#define OWN_RMR object
#define OWN_PZ object
#define OWN_PSP object
#define OWN_RSP object
#define OWN_CR object
#define OWN_CNO object
#define OWN_EVD object
#define OWN_SRQ object
#define OWN_CSP object

/* Arguments that no two parameters share: every byte is the parameter's position. */
static void *pattern[FAKE_ARGS];

static int make_patterns(void)
{
	int i;

	for (i = 0; i < FAKE_ARGS; i++) {
		pattern[i] = malloc(16);
		if (!pattern[i])
			return 1;
		memset(pattern[i], i, 16);
	}
	return 0;
}

static int free_patterns(void)
{
	int i;

	for (i = 0; i < FAKE_ARGS; i++)
		free(pattern[i]);
	return 0;
}

#define PASS(n, type) , *(type *)pattern[n]

struct object {
	const DAT_PROVIDER *provider;
};

/* An object of the open IA's provider, as a call of that provider would have returned it. */
static struct object make_object(void)
{
	struct object o = { *(const DAT_PROVIDER **)fake_state.last_own };

	return o;
}

static bool passed(const char *name, int slot, void *own, int num, DAT_RETURN ret)
{
	bool ok = fake_state.slot == slot && fake_state.handle == own &&
		  fake_state.num_args == num && ret == FAKE_ANSWER(slot);
	int i;

	for (i = 2; i <= num && ok; i++)
		ok = !memcmp(fake_state.arg[i], pattern[i], fake_state.arg_size[i]);
	if (!ok)
		fprintf(stderr, "dat_%s: slot %d, %d arguments, 0x%08x\n", name, fake_state.slot,
			fake_state.num_args, ret);
	return ok;
}

static void null_handles(void)
{
	rig_load(LINE("a", ""));
#define CALL(slot, name, kind, n, ...) \
	CHECK_RET(dat.name(NULL REST_##n(PASS, __VA_ARGS__)), 0x80050000u | NULL_##kind);
#include CALLS
	CHECK_NO_LOG();
	rig_unload();
}

static void null_handles_21(void)
{
#if DAT_API_MAJOR >= 2
	rig_load(LINE("a", ""));
#include "calls_21.def"
	CHECK_NO_LOG();
	rig_unload();
#endif
#undef CALL
}

/* Neither an IA number in place of an object nor an unused number is dereferenced. */
static void number_handles(void)
{
	rig_load(LINE("a", ""));
	rig_must_open("a");
	rig_clear_log();
#define CALL(slot, name, kind, n, ...) \
	CHECK_RET(dat.name((DAT_HANDLE)7 REST_##n(PASS, __VA_ARGS__)), 0x80050000u | NULL_##kind); \
	if (NULL_##kind != NULL_IA && NULL_##kind != NULL_ANY) \
		CHECK_RET(dat.name((DAT_HANDLE)1 REST_##n(PASS, __VA_ARGS__)), \
			  0x80050000u | NULL_##kind);
#include CALLS
#if DAT_API_MAJOR >= 2
#include "calls_21.def"
#endif
#undef CALL
	CHECK_NO_LOG();
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* Invalid IA handles: an unused number, a stray pointer. */
static void bad_ia_handles(void)
{
	int stray;

	rig_load(LINE("a", ""));
	rig_must_open("a");
	rig_clear_log();
#define CALL(slot, name, kind, n, ...) \
	if (NULL_##kind == NULL_IA) { \
		CHECK_RET(dat.name((DAT_HANDLE)7 REST_##n(PASS, __VA_ARGS__)), RET_BAD_IA); \
		CHECK_RET(dat.name((DAT_HANDLE)&stray REST_##n(PASS, __VA_ARGS__)), RET_BAD_IA); \
	}
#include CALLS
#undef CALL
	CHECK_NO_LOG();
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* ia_query has a slot of its own in the fake provider: see query_passes. */
#define REACHES(slot, name, kind, n, ...) \
	if (slot != 3) { \
		DAT_RETURN ret = dat.name(FIRST_##kind REST_##n(PASS, __VA_ARGS__)); \
		CU_ASSERT(passed(#name, slot, OWN_##kind, n, ret)); \
	}

static void slots_reached(void)
{
	struct object o, *object = &o;

	rig_load(LINE("a", ""));
	rig_must_open("a");
	o = make_object();
#define CALL REACHES
#include CALLS
#undef CALL
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void slots_reached_21(void)
{
#if DAT_API_MAJOR >= 2
	struct object o, *object = &o;

	rig_load(LINE("a", ""));
	rig_must_open("a");
	o = make_object();
#define CALL REACHES
#include "calls_21.def"
#undef CALL
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
#endif
}

static void query_passes(void)
{
	DAT_PROVIDER_ATTR attr;
	DAT_EVD_HANDLE evd;
	DAT_IA_ATTR ia_attr;

	rig_load(LINE("a", ""));
	rig_must_open("a");
	rig_clear_log();
	memset(&attr, 0, sizeof(attr));
	CHECK_RET(dat.ia_query((DAT_IA_HANDLE)1, &evd, 0x12, &ia_attr, 0x34, &attr), DAT_SUCCESS);
	CHECK_LOG("query ia=12 provider=34 evd=given");
	CU_ASSERT_EQUAL(attr.dapl_version_major, MAJOR);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* With several IAs, the number selects its own. */
static void right_ia(void)
{
	DAT_PZ_HANDLE pz;
	void *one, *two;

	rig_load(LINE("a", "") LINE("b", ""));
	rig_must_open("a");
	one = fake_state.last_own;
	rig_must_open("b");
	two = fake_state.last_own;
	dat.pz_create((DAT_IA_HANDLE)1, &pz);
	CU_ASSERT_PTR_EQUAL(fake_state.handle, one);
	dat.pz_create((DAT_IA_HANDLE)2, &pz);
	CU_ASSERT_PTR_EQUAL(fake_state.handle, two);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.pz_create((DAT_IA_HANDLE)1, &pz), RET_BAD_IA);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)2, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* Context and type of an IA by its number, which fails in the original 1.2. */
static void any_handle(void)
{
	DAT_CONTEXT context = { .as_64 = 5 };
	DAT_HANDLE_TYPE type;
	void *own;

	rig_load(LINE("a", ""));
	rig_must_open("a");
	own = fake_state.last_own;
	CHECK_RET(dat.set_consumer_context((DAT_HANDLE)1, context), FAKE_ANSWER(5));
	CU_ASSERT_PTR_EQUAL(fake_state.handle, own);
	CHECK_RET(dat.get_consumer_context((DAT_HANDLE)1, &context), FAKE_ANSWER(6));
	CU_ASSERT_PTR_EQUAL(fake_state.handle, own);
	CHECK_RET(dat.get_handle_type((DAT_HANDLE)1, &type), FAKE_ANSWER(7));
	CU_ASSERT_PTR_EQUAL(fake_state.handle, own);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void empty_slots(void)
{
	struct object o, *object = &o;

	rig_load(LINE("a", "holes"));
	rig_must_open("a");
	o = make_object();
#define CALL(slot, name, kind, n, ...) \
	if (slot != 3) \
		CHECK_RET(dat.name(FIRST_##kind REST_##n(PASS, __VA_ARGS__)), RET_NO_CALL);
#include CALLS
#if DAT_API_MAJOR >= 2
#include "calls_21.def"
#endif
#undef CALL
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void table_layout(void)
{
#define CALL(slot, name, kind, n, ...) \
	CU_ASSERT_EQUAL(offsetof(DAT_PROVIDER, name##_func), slot * sizeof(void *));
#include CALLS
#if DAT_API_MAJOR >= 2
#include "calls_21.def"
	CU_ASSERT_EQUAL(offsetof(DAT_PROVIDER, ia_ha_related_func), 79 * sizeof(void *));
	CU_ASSERT_EQUAL(offsetof(DAT_PROVIDER, handle_extendedop_func), 80 * sizeof(void *));
#endif
#undef CALL
	CU_ASSERT_EQUAL(sizeof(DAT_PROVIDER), (DAT_API_MAJOR == 1 ? 70 : 81) * sizeof(void *));
}

void add_dispatch_suite(void)
{
	CU_pSuite s = CU_add_suite("dispatch", make_patterns, free_patterns);

	ADD(s, "the provider's table has the slots of the interface", table_layout);
	if (DAT_API_MAJOR >= 2)
		ADD(s, "a NULL handle gives the subtype of its kind", null_handles);
	else
		ADD_OURS(s, "a NULL handle gives the subtype of its kind", null_handles);
	ADD(s, "an IA number out of use or a stray pointer gives HANDLE_IA", bad_ia_handles);
	ADD_OURS(s, "a small number in an object's place is refused", number_handles);
	ADD(s, "each call reaches its slot with all arguments", slots_reached);
	ADD(s, "dat_ia_query reaches the IA with all arguments", query_passes);
	ADD(s, "an IA number leads to its own IA only", right_ia);
	if (DAT_API_MAJOR >= 2)
		ADD(s, "context and type work on an IA number", any_handle);
	else
		ADD_OURS(s, "context and type work on an IA number", any_handle);
	ADD_OURS(s, "a slot that the provider left empty gives NOT_IMPLEMENTED", empty_slots);
#if DAT_API_MAJOR >= 2
	ADD_OURS(s, "the calls of DAT_2.1 refuse NULL handles", null_handles_21);
	ADD_OURS(s, "the calls of DAT_2.1 reach their slots", slots_reached_21);
#else
	(void)null_handles_21;
	(void)slots_reached_21;
#endif
}
