/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameter lists of the calls in calls.def, for functions that pass a call on.
 *
 * Pn: parameters a1..an of the given types; An: the list of arguments, whose first one, A1, the
 * including file defines.
 */
#ifndef DATI_CALL_PARAMS_H
#define DATI_CALL_PARAMS_H

#define P1(t1) t1 a1
#define P2(t1, t2) P1(t1), t2 a2
#define P3(t1, t2, t3) P2(t1, t2), t3 a3
#define P4(t1, t2, t3, t4) P3(t1, t2, t3), t4 a4
#define P5(t1, t2, t3, t4, t5) P4(t1, t2, t3, t4), t5 a5
#define P6(t1, t2, t3, t4, t5, t6) P5(t1, t2, t3, t4, t5), t6 a6
#define P7(t1, t2, t3, t4, t5, t6, t7) P6(t1, t2, t3, t4, t5, t6), t7 a7
#define P8(t1, t2, t3, t4, t5, t6, t7, t8) P7(t1, t2, t3, t4, t5, t6, t7), t8 a8
#define P9(t1, t2, t3, t4, t5, t6, t7, t8, t9) P8(t1, t2, t3, t4, t5, t6, t7, t8), t9 a9
#define P11(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11) \
	P9(t1, t2, t3, t4, t5, t6, t7, t8, t9), t10 a10, t11 a11
#define P12(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12) \
	P11(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11), t12 a12

#define A2 A1, a2
#define A3 A2, a3
#define A4 A3, a4
#define A5 A4, a5
#define A6 A5, a6
#define A7 A6, a7
#define A8 A7, a8
#define A9 A8, a9
#define A11 A9, a10, a11
#define A12 A11, a12

#endif
