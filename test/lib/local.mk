# The library under all CUnit programs: cases, children, peers, time limits.
if HAVE_CUNIT
check_LTLIBRARIES += libdattest.la
libdattest_la_SOURCES = \
	test/lib/check.c \
	test/lib/harness.c \
	test/lib/harness.h \
	test/lib/harness_int.h \
	test/lib/proc.c
libdattest_la_CFLAGS = $(AM_CFLAGS) $(CUNIT_CFLAGS)
libdattest_la_LIBADD = $(CUNIT_LIBS)
endif
