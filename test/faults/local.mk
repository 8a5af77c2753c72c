# Each call that can fail fails in turn, in one of two processes: make check-faults. make check-all
# runs a sample of the cases.
EXTRA_DIST += test/faults/README.md test/faults/faults.sh test/faults/sample.sh

# ThreadSanitizer calls the program's allocator before the program can initialise it.
if !TSAN
long_tests += test/faults/sample.sh
check_PROGRAMS += test/faults/faults

test_faults_faults_SOURCES = \
	test/faults/faults.c \
	test/faults/excluded.def test/faults/faults.def \
	test/faults/inject.c \
	test/faults/inject.h \
	test/faults/inject_fi.c \
	test/faults/inject_libc.c \
	test/faults/play.c \
	test/faults/play.h \
	test/faults/play_conn.c \
	test/faults/play_events.c \
	test/faults/play_ops.c
test_faults_faults_CPPFLAGS = $(robust_cppflags) $(LIBFABRIC_CFLAGS) -DRL_API=2
# The program's functions are found before those of the C library and of sanitizers.
test_faults_faults_LDFLAGS = $(robust_ldflags) -Wl,--export-dynamic
test_faults_faults_LDADD = $(robust_libs2)

check-faults: all
	$(MAKE) $(AM_MAKEFLAGS) test/faults/faults
	srcdir=$(srcdir) $(srcdir)/test/faults/faults.sh
else
check-faults:
	@echo 'a build with ThreadSanitizer has no test/faults' >&2; exit 1
endif
.PHONY: check-faults
