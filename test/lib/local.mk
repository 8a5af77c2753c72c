# The library under all CUnit programs: cases, children, peers, time limits.
EXTRA_DIST += test/lib/libfabric.sh test/lib/self.sh test/lib/start
LOG_COMPILER = $(srcdir)/test/lib/start

if HAVE_CUNIT
check_LTLIBRARIES += libdattest.la
libdattest_la_SOURCES = \
	test/lib/check.c \
	test/lib/delay.c \
	test/lib/delay.h \
	test/lib/harness.c \
	test/lib/caller.h \
	test/lib/harness.h \
	test/lib/harness_int.h \
	test/lib/proc.c
libdattest_la_CFLAGS = $(AM_CFLAGS) $(CUNIT_CFLAGS)
libdattest_la_LIBADD = $(CUNIT_LIBS)

# Its own test.
check_PROGRAMS += test/lib/self
TESTS += test/lib/self.sh
test_lib_self_SOURCES = test/lib/self.c
test_lib_self_LDADD = libdattest.la
endif
