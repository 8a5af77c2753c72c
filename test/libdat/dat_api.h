/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the API version of a test, and defines its result values. */
#ifndef TEST_DAT_API_H
#define TEST_DAT_API_H

#if DAT_API_MAJOR == 1
#include <dat/udat.h>
#include <dat/dat_registry.h>
#define CALLS "calls_1.def"
#else
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#define CALLS "calls_2.def"
#endif

/* The values that the two versions number differently, as the tables give them. */
#if DAT_API_MAJOR == 1
#define RET_ARG1 0x80060024u
#define RET_ARG2 0x80060025u
#define RET_ARG3 0x80060026u
#define RET_NOT_REGISTERED 0x800A0062u
#define RET_BAD_HANDLE1 0x8005001Au
#define RET_NO_CALL 0xFFFF0000u
#else
#define RET_ARG1 0x80060025u
#define RET_ARG2 0x80060026u
#define RET_ARG3 0x80060027u
#define RET_NOT_REGISTERED 0x800A0064u
#define RET_BAD_HANDLE1 0x8005001Bu
#define RET_NO_CALL 0xBFFF0000u
#endif
#define RET_BAD_IA 0x8005000Bu
#define RET_ALREADY_REGISTERED 0x80100000u
#define RET_IN_USE 0x80110000u

/* Parameters a1..an of given types, and the list of their names. */
#define PARAMS_1(t1) t1 a1
#define PARAMS_2(t1, t2) PARAMS_1(t1), t2 a2
#define PARAMS_3(t1, t2, t3) PARAMS_2(t1, t2), t3 a3
#define PARAMS_4(t1, t2, t3, t4) PARAMS_3(t1, t2, t3), t4 a4
#define PARAMS_5(t1, t2, t3, t4, t5) PARAMS_4(t1, t2, t3, t4), t5 a5
#define PARAMS_6(t1, t2, t3, t4, t5, t6) PARAMS_5(t1, t2, t3, t4, t5), t6 a6
#define PARAMS_7(t1, t2, t3, t4, t5, t6, t7) PARAMS_6(t1, t2, t3, t4, t5, t6), t7 a7
#define PARAMS_8(t1, t2, t3, t4, t5, t6, t7, t8) PARAMS_7(t1, t2, t3, t4, t5, t6, t7), t8 a8
#define PARAMS_9(t1, t2, t3, t4, t5, t6, t7, t8, t9) PARAMS_8(t1, t2, t3, t4, t5, t6, t7, t8), t9 a9
#define PARAMS_11(t1, t2, t3, t4, t5, t6, t7, t8, t9, ta, tb) \
	PARAMS_9(t1, t2, t3, t4, t5, t6, t7, t8, t9), ta a10, tb a11
#define PARAMS_12(t1, t2, t3, t4, t5, t6, t7, t8, t9, ta, tb, tc) \
	PARAMS_11(t1, t2, t3, t4, t5, t6, t7, t8, t9, ta, tb), tc a12

/* F(value of type t) for each argument after the first. */
#define REST_1(F, t1)
#define REST_2(F, t1, t2) F(2, t2)
#define REST_3(F, t1, t2, t3) REST_2(F, t1, t2) F(3, t3)
#define REST_4(F, t1, t2, t3, t4) REST_3(F, t1, t2, t3) F(4, t4)
#define REST_5(F, t1, t2, t3, t4, t5) REST_4(F, t1, t2, t3, t4) F(5, t5)
#define REST_6(F, t1, t2, t3, t4, t5, t6) REST_5(F, t1, t2, t3, t4, t5) F(6, t6)
#define REST_7(F, t1, t2, t3, t4, t5, t6, t7) REST_6(F, t1, t2, t3, t4, t5, t6) F(7, t7)
#define REST_8(F, t1, t2, t3, t4, t5, t6, t7, t8) REST_7(F, t1, t2, t3, t4, t5, t6, t7) F(8, t8)
#define REST_9(F, t1, t2, t3, t4, t5, t6, t7, t8, t9) \
	REST_8(F, t1, t2, t3, t4, t5, t6, t7, t8) F(9, t9)
#define REST_11(F, t1, t2, t3, t4, t5, t6, t7, t8, t9, ta, tb) \
	REST_9(F, t1, t2, t3, t4, t5, t6, t7, t8, t9) F(10, ta) F(11, tb)
#define REST_12(F, t1, t2, t3, t4, t5, t6, t7, t8, t9, ta, tb, tc) \
	REST_11(F, t1, t2, t3, t4, t5, t6, t7, t8, t9, ta, tb) F(12, tc)

#endif /* TEST_DAT_API_H */
